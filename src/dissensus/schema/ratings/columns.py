"""Names of the columns that a ratings table may have."""

from typing import Final

ITEM_ID: Final = "item_id"
RATER_ID: Final = "rater_id"

OVERALL: Final = "Q_overall"
QUESTION_PREFIX: Final = "Q"

ANSWER_TIME: Final = "answer_time_ms"
"""Time for all questions about one item by one rater."""
OPEN_TIME: Final = "open_time_ms"
"""Time for which the rater had uncovered a covered conversation."""
BULK_QUESTIONS: Final = "bulk_questions"
"""Questions of a rating that were answered in bulk, as a JSON list."""
BULK_SHARE: Final = "bulk_share"
"""Share of the answers of a rating that were given in bulk."""
MEASURES: Final = (ANSWER_TIME, BULK_SHARE)
"""Columns that are read beside the answers of a rating."""

GOLD: Final = "safety_gold"
"""Label of experts, on the scale of the overall question."""
PLATINUM: Final = "safety_platinum"
"""Label of an earlier, diverse crowd."""

CORRECTION_TIME: Final = "correction_time_ms"
"""Time of the visits in which a rater corrected submitted answers; empty without a correction."""
CORRECTED_AT: Final = "corrected_at"
"""Time of the last correction."""

REPEAT: Final = "repeat"
"""Showing of an item to its rater: 1, or 2 where the rater saw it a second time."""

RATER_PREFIX: Final = "rater_"
ITEM_PREFIXES: Final = ("item_", GOLD, PLATINUM)
DEGREE: Final = "degree_of_harm"
DEGREES: Final = ("Benign", "Debatable", "Moderate", "Extreme")
"""Values of `DEGREE` in published files, from none to the worst."""
ITEM_ATTRIBUTES: Final = ("context", "response", "phase", "harm_type", DEGREE)

TEXT: Final = "text"
ITEM_TEXT: Final = "item_text"
"""Text of an item that is not a conversation."""
INTENT: Final = "item_intent"
"""Goal of the person in a conversation."""
TEXTS: Final = ("context", "response", ITEM_TEXT)

FLAG: Final = "rater_flagged"
REMOVED: Final = "removed_by_authors"
"""Name of the flag column in DICES derivatives; read as `FLAG`."""

RATER_KIND: Final = "rater_kind"
"""Kind of a rater: `MODEL` for a judge; empty, or any other text, for people."""
MODEL: Final = "model"
RATER_MODEL: Final = "rater_model"
"""Name of the model, of a rater of kind `MODEL`."""
RATER_PERSONA: Final = "rater_persona"
"""Group under whose label a model answered, as axis=group."""
OF_MODELS: Final = (RATER_KIND, RATER_MODEL, RATER_PERSONA)
"""Columns that are empty for people."""

CHECKS_PASSED: Final = "checks_passed"
CHECKS_FAILED: Final = "checks_failed"
"""Checks that a rater passed and failed: neither questions nor attributes of raters."""

OWN_WORDS: Final = "_text"
"""Suffix of columns with free text beside an answer; they are not attributes of raters."""

REST: Final = "rest"
"""Default reference of a group: all other raters on the axis."""

CROSS: Final = "*"
"""Separator of crossed axes: ``rater_race*rater_gender``."""

CROSSED: Final = " × "
"""Separator of the values of a crossed group."""


def is_question(column: str) -> bool:
    """Return whether a column holds answers, by its name."""
    return column.startswith(QUESTION_PREFIX) and not column.endswith(OWN_WORDS)


def is_rater_attribute(column: str) -> bool:
    """Return whether a column describes the rater."""
    return column.startswith(RATER_PREFIX) and column not in {RATER_ID, FLAG} and not column.endswith(OWN_WORDS)


def is_item_attribute(column: str) -> bool:
    """Return whether a column describes the item."""
    return column in ITEM_ATTRIBUTES or (column.startswith(ITEM_PREFIXES) and column != ITEM_ID)
