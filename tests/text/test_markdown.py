"""Markdown of campaign texts and responses: published examples of attacks, markup, size."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_linearly
from tests.support.hostile_texts import HOSTILE

from dissensus.text import markdown
from dissensus.text.markdown import render_response, render_text

TAGS = {
    *("p", "a", "em", "strong", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br"),
    *("h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
RESPONSE_TAGS = TAGS - {"a", "h2", "h3", "h4", "h5", "h6"} | {"u", "span"}
# OWASP's list of evasions, and those of Markdown renderers.
ATTACKS = (
    *HOSTILE,
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](  javascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/logout)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    "[x](https://a.example/\"onmouseover='alert(1)')",
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    '![" onerror="alert(1)](x)',
    "![![x](y)](https://evil.example)",
    '```"><script>alert(1)</script>\n<b>\n```',
    '```x" onclick="alert(1)\ncode\n```',
    "<img src=x onerror=alert(1)>",
    "<a href=https://evil.example>x</a>",
    "<!-- -->\n<style>*{display:none}</style>",
    "<svg><script>alert(1)</script></svg>",
    "| a |\n|:-:|\n| <script>alert(1)</script> |",
    "3. c\n4. d",
    "&lt;script&gt; &#60;b&#62;",
    "a\x00b",
)


class Elements(HTMLParser):
    """Elements with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def check_text(html: str) -> None:
    for tag, attributes in Elements(html).elements:
        assert tag in TAGS, html
        if tag == "a" and attributes:
            address = attributes.pop("href") or ""
            assert address.lower().startswith(("http:", "https:", "mailto:", "tel:")), html
            assert attributes.pop("rel") == "noopener noreferrer"
            assert attributes.pop("target", "_blank") == "_blank"
        check_attributes(tag, attributes, html)


def check_attributes(tag: str, attributes: dict[str, str | None], html: str) -> None:
    """No attribute but the number of a list, the language of code, and the alignment of a cell."""
    allowed = {"ol": {"start"}, "code": {"class"}, "td": {"style"}, "th": {"style"}}.get(tag, set())
    assert set(attributes) <= allowed, html


def check_response(html: str) -> None:
    for tag, attributes in Elements(html).elements:
        assert tag in RESPONSE_TAGS, html
        if tag in ("p", "span"):
            assert attributes.pop("class", "heading") in ("heading", "address")
        check_attributes(tag, attributes, html)


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_markdown_is_text(attack: str) -> None:
    check_text(render_text(attack))
    check_response(render_response(attack))


@given(st.text(alphabet="[]()<>!&\"'`*_#:/-|\\ \n\tajhtps;=", max_size=80))
def test_any_markdown_has_allowed_elements_alone(text: str) -> None:
    check_text(render_text(text, 3))
    check_response(render_response(text))


def test_plain_texts_look_as_typed() -> None:
    text = "We keep your answers & times.\nFor 5 years, if < 10 take part.\n\nTaking part is your own choice."
    assert render_text(text) == (
        "<p>We keep your answers &amp; times.\nFor 5 years, if &lt; 10 take part.</p>\n"
        "<p>Taking part is your own choice.</p>\n"
    )


def test_markup_of_texts() -> None:
    html = render_text(
        "# Scale\n\n- **Yes**\n- *No*\n\nSee [it](https://a.example/b?c=d&e) or [call](tel:112).\n\n> quoted", 3
    )
    assert "<h3>Scale</h3>" in html
    assert "<li><strong>Yes</strong></li>" in html
    assert '<a href="https://a.example/b?c=d&amp;e" rel="noopener noreferrer" target="_blank">it</a>' in html
    assert '<a href="tel:112" rel="noopener noreferrer">call</a>' in html
    assert "<blockquote>" in html
    # Headings follow that of the page without a gap, whatever depth the text begins with.
    assert re.findall("<h.>", render_text("## a\n#### b\n##### c\n## d\n", 3)) == ["<h3>", "<h4>", "<h5>", "<h3>"]
    assert re.findall("<h.>", render_text("# a\n## b\n### c\n#### d", 4)) == ["<h4>", "<h5>", "<h6>", "<h6>"]


def test_responses_show_their_addresses_and_their_code() -> None:
    html = render_response(
        "# Steps\nfirst\nsecond\n\n```python\nif a < b:\n    pass\n```\n\n`x`, [bank](https://evil.example/%20ä), "
        "<https://plain.example>, ![alt *text*](https://evil.example/a.png)"
    )
    assert '<p class="heading">Steps</p>' in html
    assert "first<br />\nsecond" in html
    assert '<pre><code class="language-python">if a &lt; b:\n    pass\n</code></pre>' in html
    assert '<u>bank</u> <span class="address">(https://evil.example/%20%C3%A4)</span>' in html
    assert "<u>https://plain.example</u>" in html
    assert "![alt text](https://evil.example/a.png)" in Elements(html).text
    assert "href" not in html


def test_an_image_in_an_image_is_read_once() -> None:
    assert render_text("![a ![b](c) `d`](e)", 2) == "<p>a b d</p>\n"
    assert Elements(render_response("![a ![b](c)](d)")).text.strip() == "![a b](d)"


@pytest.mark.parametrize("pattern", ["[", "*a ", "![a](", "![[]()", "> ", "_a_*b*", "|a", "1. a\n", "~~a", "<a@", "`a"])
def test_rendering_takes_linear_time(pattern: str) -> None:
    """Nested and unclosed markup of 20,000 characters; what is quadratic would take minutes."""
    assert grows_linearly(lambda length: check_response(render_response((pattern * length)[:length])), 2_500)


def test_first_texts_in_several_threads_look_as_later_ones() -> None:
    text = "# Heading\n\n*Stress* and [a link](https://a.example)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    expected = render_text(text)
    interval, begin = sys.getswitchinterval(), Barrier(4)

    def render(_: int) -> str:
        begin.wait()
        return render_text(text)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(150):
                markdown._parser.cache_clear()
                markdown._parser()
                assert set(pool.map(render, range(4))) == {expected}
    finally:
        sys.setswitchinterval(interval)
