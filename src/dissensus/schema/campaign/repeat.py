"""Repeated items: settings and their parser."""

from dataclasses import dataclass
from typing import Final

from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.questionnaire.faults import describe_number

MAX_SHARE: Final = 0.5
MAX_DISTANCE: Final = 10_000
DEFAULT_DISTANCE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatSettings:
    """Items that each rater sees a second time, to separate stable opinion from noise."""

    share: float  # of the items that have enough others after them
    distance: int = DEFAULT_DISTANCE  # least number of items between the two showings


def parse_repeat(table: DefinitionTable) -> RepeatSettings | None:
    """Parse the settings of repeated items; None if the share is missing or invalid."""
    table.check_keys(("share", "distance"))
    share = table.data.get("share")
    distance = table.get_number("distance", DEFAULT_DISTANCE, MAX_DISTANCE)
    if isinstance(share, (int, float)) and not isinstance(share, bool) and 0 < share <= MAX_SHARE:
        return RepeatSettings(share=float(share), distance=distance)
    problem = "It is missing." if share is None else f"It is {describe_number(share)}."
    table.add_error(
        "share", f"{problem} Write the share of items to repeat, above 0 and up to {MAX_SHARE}: share = 0.05."
    )
    return None
