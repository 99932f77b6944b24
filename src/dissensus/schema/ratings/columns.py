"""Names of the columns that a ratings table may have."""

from typing import Final

ITEM_ID: Final = "item_id"
RATER_ID: Final = "rater_id"

OVERALL: Final = "Q_overall"
QUESTION_PREFIX: Final = "Q"

ANSWER_TIME: Final = "answer_time_ms"
"""Time for all questions about one item by one rater."""

GOLD: Final = "safety_gold"
"""What experts call an item, on the scale of the overall question."""
PLATINUM: Final = "safety_platinum"
"""What an earlier, diverse crowd called it."""

RATER_PREFIX: Final = "rater_"
ITEM_PREFIXES: Final = ("item_", GOLD, PLATINUM)
ITEM_ATTRIBUTES: Final = ("context", "response", "phase", "harm_type", "degree_of_harm")

FLAG: Final = "rater_flagged"
REMOVED: Final = "removed_by_authors"
"""What DICES derivatives call the flag column; read as `FLAG`."""

CHECKS_PASSED: Final = "checks_passed"
CHECKS_FAILED: Final = "checks_failed"
"""How many checks of a campaign the rater passed and failed: neither a question nor a group of raters."""

OWN_WORDS: Final = "_text"
"""How a column ends that holds what somebody wrote in their own words beside an answer; it groups nobody."""

REST: Final = "rest"
"""What a group is compared with unless another group is named: everybody else on the axis."""

CROSS: Final = "*"
"""Joins the names of crossed axes: ``rater_race*rater_gender``."""

CROSSED: Final = " × "
"""Joins the values of a group of crossed axes."""


def is_question(column: str) -> bool:
    """Tell whether a column holds answers by its name alone."""
    return column.startswith(QUESTION_PREFIX) and not column.endswith(OWN_WORDS)


def is_rater_attribute(column: str) -> bool:
    """Tell whether a column describes the rater."""
    return column.startswith(RATER_PREFIX) and column not in {RATER_ID, FLAG} and not column.endswith(OWN_WORDS)


def is_item_attribute(column: str) -> bool:
    """Tell whether a column describes the item."""
    return column in ITEM_ATTRIBUTES or (column.startswith(ITEM_PREFIXES) and column != ITEM_ID)
