"""Draft of the plan of a release: what is required, with the questions that only a person can answer."""

from collections.abc import Iterator
from datetime import date

from dissensus.pipeline.release.datasheet import SECTIONS


def draft_plan(campaign: str, version: str, released: date) -> str:
    """Return a plan in TOML whose texts are to be filled in.

    Examples
    --------
    >>> print(draft_plan("pilot", "1.0", date(2026, 11, 25)).splitlines()[1])
    campaign = "pilot"
    """
    return "\n".join(_lines(campaign, version, released)) + "\n"


def _lines(campaign: str, version: str, released: date) -> Iterator[str]:
    yield f'name = "{campaign}"'
    yield f'campaign = "{campaign}"'
    yield f'version = "{version}"'
    yield f"released = {released.isoformat()}"
    yield 'creators = ["…"]  # who is to be cited'
    yield 'contact = "…"  # address of users and raters'
    yield 'licence = "…"  # such as CC-BY-4.0'
    yield ""
    yield "[anonymity]"
    yield "k = 5  # raters who share each combination of attributes"
    yield 'small_cells = "refuse"  # or "blank", or "leave out"'
    yield ""
    yield "[answers]"
    for questions in SECTIONS.values():
        for question in questions:
            if question.fill is None:
                yield f"# {question.text}"
                yield f'# {question.key} = "…"'
