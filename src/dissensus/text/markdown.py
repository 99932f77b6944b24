"""Markdown of campaign texts and of responses, as HTML without raw HTML, remote images or other addresses."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

SCHEMES: Final = re.compile(r"(https?|mailto|tel):", re.IGNORECASE)
"""Schemes of links in campaign texts."""

LOWEST_HEADING: Final = 6
"""Lowest level of headings in HTML."""


def render_text(text: str, level: int = 2, *, draw_image: Callable[[str, str], str] | None = None) -> str:
    r"""Render a text of a campaign as HTML.

    Parameters
    ----------
    text
        Markdown. Links lead to web pages, mail addresses and telephone numbers alone; web pages open in a new tab, and
        get no referrer. Raw HTML is shown as text, and an image as its alternative text.
    level
        Level of the highest headings of the text; those below follow it without a gap.
    draw_image
        Function that returns the HTML of an image from its address and alternative text. Where it returns an empty
        text, and without a function, the alternative text is shown.

    Examples
    --------
    >>> print(render_text("Ask [us](mailto:a@example.org), not <b>them</b>.").strip())
    <p>Ask <a href="mailto:a@example.org" rel="noopener noreferrer">us</a>, not &lt;b&gt;them&lt;/b&gt;.</p>
    >>> print(render_text("# Scale\n[x](javascript:alert)", level=3).strip())
    <h3>Scale</h3>
    <p><a>x</a></p>
    """
    parser = _parser()
    tokens = parser.parse(text)
    depths = sorted({token.tag for token in tokens if token.type == "heading_open"})
    for token in _all_tokens(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(level + depths.index(token.tag), LOWEST_HEADING)}"
        elif token.type == "link_open":
            token.attrs = _link_attributes(str(token.attrs["href"]))
        elif token.type == "image":
            alternative = _alternative(token)
            drawn = draw_image(str(token.attrs["src"]), alternative) if draw_image is not None else ""
            _make_text(token, drawn or alternative)
            token.type = "html_inline" if drawn else "text"
    return str(parser.renderer.render(tokens, parser.options, {}))


def render_response(text: str) -> str:
    r"""Render a response of a chatbot as HTML: addresses are shown and lead nowhere.

    Images and raw HTML are shown as they are written, and line breaks are preserved.

    Examples
    --------
    >>> print(render_response("See [my *bank*](https://evil.example).").strip())
    <p>See <u>my <em>bank</em></u> <span class="address">(https://evil.example)</span>.</p>
    >>> print(render_response("![a](https://evil.example/a.png)").strip())
    <p><code>![a](https://evil.example/a.png)</code></p>
    """
    parser = _parser()
    tokens = parser.parse(text)
    for token in _all_tokens(tokens):
        if token.type in ("heading_open", "heading_close"):  # Not among the headings of the page
            token.tag, token.attrs = "p", {"class": "heading"} if token.nesting == 1 else {}
        elif token.type == "softbreak":
            token.type = "hardbreak"
        elif token.type == "image":
            token.type, token.tag = "code_inline", "code"
            token.content, token.attrs = f"![{_alternative(token)}]({token.attrs['src']})", {}
        if token.children:
            token.children = list(_disarm_links(token.children))
    return str(parser.renderer.render(tokens, parser.options, {}))


def find_images(text: str) -> tuple[tuple[str, str], ...]:
    """Return the addresses and alternative texts of the images in a text of a campaign.

    Examples
    --------
    >>> find_images("See ![scale](https://a.example/scale.png) and `![b](c)`.")
    (('https://a.example/scale.png', 'scale'),)
    """
    tokens = _all_tokens(_parser().parse(text))
    return tuple((str(token.attrs["src"]), _alternative(token)) for token in tokens if token.type == "image")


@cache
def _parser() -> MarkdownIt:
    """Return the parser; all addresses are read, since the tokens are changed before they are rendered."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = lambda _: True  # type: ignore[method-assign,assignment]
    # The first text completes the lists of rules; until then a second thread could read incomplete ones.
    parser.parse("text")
    return parser


def _all_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all_tokens(token.children or ())


def _link_attributes(address: str) -> dict[str, str | int | float]:
    scheme = SCHEMES.match(address)
    if scheme is None:
        return {}
    target = {"target": "_blank"} if scheme[1].lower().startswith("http") else {}
    return {"href": address, "rel": "noopener noreferrer", **target}


def _alternative(image: Token) -> str:
    """Return the alternative text of an image, with that of images in it."""
    return "".join(
        token.content if token.type in ("text", "code_inline") else " " * token.type.endswith("break")
        for token in _all_tokens(image.children or ())
    )


def _make_text(token: Token, text: str) -> None:
    token.type, token.tag, token.content, token.children, token.attrs = "text", "", text, None, {}


def _disarm_links(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield inline tokens with links as underlined text, each with its address unless that is the text."""
    addresses: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            addresses.append("" if token.info == "auto" else str(token.attrs["href"]))
            token.tag, token.attrs = "u", {}
        elif token.type == "link_close":
            token.tag = "u"
        yield token
        if token.type == "link_close" and (address := addresses.pop()):
            yield Token("text", "", 0, content=" ")
            yield Token("address_open", "span", 1, attrs={"class": "address"})
            yield Token("text", "", 0, content=f"({address})")
            yield Token("address_close", "span", -1)
