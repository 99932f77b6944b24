"""Pages: templates that are filled with a context, in the language of who reads."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dissensus.pipeline.monitor import CELL
from dissensus.schema.campaign.definition import worded
from dissensus.schema.money import to_major_units
from dissensus.web.core.translations import chosen, direction, languages, phrases


class Context(Protocol):
    """What a page shows: a frozen dataclass whose `template` names its file."""

    template: ClassVar[str]

    @property
    def language(self) -> str:
        """What its reader reads."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Renders pages."""

    environment: Environment

    def render(self, context: Context) -> str:
        """Return a page."""
        return self.fragment(context.template, language=context.language, page=context)

    def fragment(self, template: str, *, language: str, **values: Any) -> str:
        """Return a part of a page."""
        known = {"t": _Phrases(language), "language": language, "direction": direction(language)}
        return self.environment.get_template(template).render(**known, **values)


class _Phrases:
    """The phrases of a language, as a template asks for them: ``t("rate.progress", done=3, all=10)``.

    A campaign may speak a language that the interface does not; then the interface speaks its first one.
    """

    def __init__(self, language: str) -> None:
        self._known = phrases(chosen(language, languages()))

    def __call__(self, name: str, **values: Any) -> str:
        return self._known[name].format(**values) if values else self._known[name]

    def group(self, name: str) -> dict[str, str]:
        """Return all phrases of a group, for scripts."""
        return {key.partition(".")[2]: text for key, text in self._known.items() if key.startswith(f"{name}.")}


@cache
def make_pages() -> Pages:
    """Return what renders the pages that come with the package."""
    environment = Environment(
        loader=PackageLoader("dissensus.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["asset"] = asset
    environment.filters["worded"] = worded
    environment.filters["language_name"] = language_name
    environment.filters["direction"] = direction
    environment.filters["amount"] = amount
    environment.filters["money"] = money
    environment.filters["duration"] = duration
    environment.filters["taken"] = taken
    environment.filters["away"] = away
    environment.filters["axis_name"] = axis_name
    return Pages(environment)


def language_name(language: str) -> str:
    """Return what a language calls itself, its tag where the interface does not speak it.

    Examples
    --------
    >>> language_name("de"), language_name("tlh")
    ('Deutsch', 'tlh')
    """
    return phrases(language)["page.language"] if language in languages() else language


def amount(minor: int, currency: str) -> str:
    """Return an amount in minor units as people write it where the currency is known.

    Examples
    --------
    >>> amount(123_450, "GBP")
    '1,234.50'
    """
    return f"{to_major_units(currency, minor):,}"


def money(minor: int, currency: str) -> str:
    """Return an amount in minor units as people write it.

    Examples
    --------
    >>> money(123_450, "GBP")
    '1,234.50 GBP'
    """
    return f"{amount(minor, currency)} {currency}"


def duration(ms: int) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> duration(59_999), duration(750_000), duration(3_900_000)
    ('59 s', '12 min 30 s', '1 h 5 min')
    """
    seconds = ms // 1000
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"


def taken(ms: float) -> str:
    """Return an answer time as people read it.

    Examples
    --------
    >>> taken(860.0), taken(41_234.0), taken(90_000.0)
    ('0.9 s', '41 s', '1.5 min')
    """
    seconds = ms / 1000
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def away(then: datetime, now: datetime) -> str:
    """Return how long it is until then.

    Examples
    --------
    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> away(noon + timedelta(minutes=50), noon), away(noon + timedelta(hours=30), noon)
    ('an hour', '30 hours')
    >>> away(noon + timedelta(days=9), noon)
    '9 days'
    """
    hours = (then - now) / timedelta(hours=1)
    if hours <= 1:
        return "an hour"
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:,.0f} days"


def axis_name(axis: str) -> str:
    """Return an axis as it is read.

    Examples
    --------
    >>> axis_name("rater_age"), axis_name("cell")
    ('Age', 'Cell of the quota')
    """
    return "Cell of the quota" if axis == CELL else axis.removeprefix("rater_").replace("_", " ").capitalize()


def asset(name: str) -> str:
    """Return the address of a static file, so that browsers may keep it.

    The address is another one when any static file changes: scripts name each other by relative addresses, and must
    never meet one of another version.
    """
    return f"/static/{_digest()}/{name}"


@cache
def _digest() -> str:
    every = sorted((files("dissensus.web") / "static").iterdir(), key=lambda file: file.name)
    digest = hashlib.sha256()
    for file in every:
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]
