"""Page renderer: Jinja templates, filters and localised phrases."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import count, islice
from typing import Any, ClassVar, Final, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from dissensus.pipeline.monitor import CELL
from dissensus.schema.axes import format_axis
from dissensus.schema.campaign.definition import ResponseFormat, localise
from dissensus.schema.hints import count_noun
from dissensus.schema.money import to_major_units
from dissensus.schema.records.image import IMAGE_NAME
from dissensus.schema.records.item import Item
from dissensus.text import markdown
from dissensus.web.core.translations import languages, load_phrases, negotiate_language, text_direction

MAX_RENDERED_LENGTH: Final = 100_000
"""Maximum characters of a conversation whose responses are rendered as Markdown."""

PAGE_PATH: Final = re.compile(r"(?<!\S)/(?:sign-in|account|campaigns)(?:/[\w-]+)*")
"""Address of a page in a message for staff."""


class PageContext(Protocol):
    """Page context: a frozen dataclass whose `template` names its file."""

    template: ClassVar[str]

    @property
    def language(self) -> str:
        """Language of the page."""


@dataclass(frozen=True, slots=True)
class PageRenderer:
    """Renders pages from templates."""

    environment: Environment

    def render(self, context: PageContext) -> str:
        """Render a page."""
        return self.render_fragment(context.template, language=context.language, page=context)

    def render_fragment(self, template: str, *, language: str, **values: Any) -> str:
        """Render a fragment of a page."""
        variables = {"t": _Phrases(language), "language": language, "direction": text_direction(language)}
        return self.environment.get_template(template).render(**variables, **values)


class _Phrases:
    """Phrases of a language, or of the default one if it has none: ``t("rate.progress", done=3, all=10)``."""

    def __init__(self, language: str) -> None:
        self._phrases = load_phrases(negotiate_language(language, languages()))

    def __call__(self, name: str, **values: Any) -> str:
        return self._phrases[name].format(**values) if values else self._phrases[name]

    def group(self, name: str) -> dict[str, str]:
        """Return all phrases of a group, for scripts."""
        return {key.partition(".")[2]: text for key, text in self._phrases.items() if key.startswith(f"{name}.")}


@cache
def create_renderer() -> PageRenderer:
    """Create the renderer of the packaged templates."""
    environment = Environment(
        loader=PackageLoader("dissensus.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["asset"] = asset_url
    environment.filters["localise"] = localise
    environment.filters["markdown"] = format_text
    environment.filters["response"] = format_response
    environment.filters["response_format"] = choose_response_format
    environment.filters["language_name"] = language_name
    environment.filters["direction"] = text_direction
    environment.filters["amount"] = format_amount
    environment.filters["money"] = format_money
    environment.filters["decimal"] = format_decimal
    environment.filters["duration"] = format_duration
    environment.filters["answer_time"] = format_answer_time
    environment.filters["remaining_time"] = format_remaining_time
    environment.filters["axis_name"] = name_axis
    environment.filters["count_noun"] = count_noun
    environment.filters["linked"] = link_pages
    environment.filters["labelled"] = label_cells
    return PageRenderer(environment)


def label_cells(table: str) -> Markup:
    """Add the heading of its column to each cell of a table, whose rows are cards on a phone.

    Examples
    --------
    >>> print(label_cells("<table><thead><tr><th>Rater</th><th>Rated</th></tr></thead><tr><th>1</th><td>9</td></tr>"))
    <table><thead><tr><th>Rater</th><th>Rated</th></tr></thead><tr><th>1</th><td data-label="Rated">9</td></tr>
    """
    head, end, body = str(table).partition("</thead>")
    headings = [TAG.sub("", cell).strip() for cell in HEADING.findall(head)]
    rows = [_label_row(row, headings) for row in body.split("<tr")]
    return Markup(head + end + "<tr".join(rows))  # noqa: S704 - an escaped table, with its own headings


HEADING: Final = re.compile(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", re.DOTALL)
CELL_TAG: Final = re.compile(r"<(t[hd])\b([^>]*)>")
COLSPAN: Final = re.compile(r'\bcolspan="(\d+)"')
TAG: Final = re.compile(r"<[^>]*>")


def _label_row(row: str, headings: list[str]) -> str:
    columns = iter(headings)

    def label(tag: re.Match[str]) -> str:
        if span := COLSPAN.search(tag[2]):
            list(islice(columns, int(span[1])))
            return tag[0]
        heading = next(columns, "")
        return f'<td{tag[2]} data-label="{heading}">' if heading and tag[1] == "td" else tag[0]

    return CELL_TAG.sub(label, row)


def format_text(text: str, level: int = 2, images: str = "", label: str = "") -> Markup:
    """Format a text of a campaign, which is Markdown; images below a path are blurred until a box is ticked."""
    ids = (f"image-{level}-{number}" for number in count(1))

    def draw_image(address: str, alternative: str) -> str:
        if not (images and IMAGE_NAME.fullmatch(address) and alternative.strip()):
            return ""
        return PICTURE.format(id=next(ids), label=label, address=f"{images}/{address}", alternative=alternative)

    return Markup(markdown.render_text(text, level, draw_image=draw_image))  # noqa: S704 - made of escaped text


PICTURE: Final = Markup(
    '<span class="picture"><input class="unveil" type="checkbox" id="{id}"><label for="{id}">{label}</label>'
    '<span class="frame"><img src="{address}" alt="{alternative}" loading="lazy"></span></span>'
)
"""Image in a text of a campaign."""


def format_response(text: str) -> Markup:
    """Format a response of a chatbot that is shown as Markdown."""
    return Markup(markdown.render_response(text))  # noqa: S704 - made of escaped text


def choose_response_format(item: Item, response_format: ResponseFormat) -> ResponseFormat:
    """Return the format of the responses of an item: plain if they are too long to be rendered for each view."""
    texts = (*(turn.text for turn in item.conversation.turns), item.response_b or "")
    return response_format if sum(map(len, texts)) <= MAX_RENDERED_LENGTH else "plain"


def language_name(language: str) -> str:
    """Return the native name of a language, its tag if the interface does not have it.

    Examples
    --------
    >>> language_name("de"), language_name("tlh")
    ('Deutsch', 'tlh')
    """
    return load_phrases(language)["page.language"] if language in languages() else language


def format_amount(minor: int, currency: str) -> str:
    """Format an amount in minor units without its currency.

    Examples
    --------
    >>> format_amount(123_450, "GBP")
    '1,234.50'
    """
    return f"{to_major_units(currency, minor):,}"


def format_money(minor: int, currency: str) -> str:
    """Format an amount in minor units with its currency.

    Examples
    --------
    >>> format_money(123_450, "GBP")
    '1,234.50 GBP'
    """
    return f"{format_amount(minor, currency)} {currency}"


def format_duration(ms: int) -> str:
    """Format a duration.

    Examples
    --------
    >>> format_duration(59_999), format_duration(750_000), format_duration(3_900_000)
    ('59 s', '12 min 30 s', '1 h 5 min')
    """
    seconds = ms // 1000
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def format_decimal(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """Format a number with this many decimals and a minus sign; a dash if it is unknown.

    Examples
    --------
    >>> format_decimal(-0.25), format_decimal(-0.0001, 2), format_decimal(0.5, 2, signed=True), format_decimal(None)
    ('−0.250', '0.00', '+0.50', '–')
    """
    return "–" if value is None else f"{value:{'+' if signed else ''}z.{digits}f}".replace("-", "−")


def format_answer_time(ms: float) -> str:
    """Format an answer time.

    Examples
    --------
    >>> format_answer_time(860.0), format_answer_time(41_234.0), format_answer_time(90_000.0)
    ('0.9 s', '41 s', '1.5 min')
    """
    seconds = ms / 1000
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def format_remaining_time(then: datetime, now: datetime) -> str:
    """Format the time that remains.

    Examples
    --------
    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> format_remaining_time(noon + timedelta(minutes=10), noon)
    '10 minutes'
    >>> format_remaining_time(noon + timedelta(minutes=58), noon)
    'an hour'
    >>> format_remaining_time(noon + timedelta(hours=30), noon)
    '30 hours'
    >>> format_remaining_time(noon + timedelta(hours=48), noon)
    '2 days'
    >>> format_remaining_time(noon + timedelta(days=9), noon)
    '9 days'
    """
    hours = (then - now) / timedelta(hours=1)
    if hours < 0.9:
        return f"{max(2, round(60 * hours))} minutes"
    if hours < 1.5:
        return "an hour"
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"


def name_axis(axis: str) -> str:
    """Return an axis as a heading.

    Examples
    --------
    >>> name_axis("rater_age"), name_axis("cell")
    ('Age', 'Quota cell')
    """
    words = "quota cell" if axis == CELL else format_axis(axis)
    return words[:1].upper() + words[1:]


def link_pages(text: str) -> Markup:
    """Return an escaped text in which addresses of staff pages are links.

    Examples
    --------
    >>> print(link_pages("Not <b>signed in</b>. Begin again at /sign-in."))
    Not &lt;b&gt;signed in&lt;/b&gt;. Begin again at <a href="/sign-in">/sign-in</a>.
    """
    return Markup(PAGE_PATH.sub(r'<a href="\g<0>">\g<0></a>', str(escape(text))))  # noqa: S704 - escaped


def asset_url(name: str) -> str:
    """Return the cacheable URL of a static file.

    The URL changes with any static file: scripts import each other by relative URLs and must all be of one version.
    """
    return f"/static/{_digest()}/{name}"


@cache
def _digest() -> str:
    paths = sorted((files("dissensus.web") / "static").iterdir(), key=lambda path: path.name)
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
