"""Unsafe answers to a question, and the labels of experts as safe or unsafe."""

from collections.abc import Sequence

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.advice import Advice
from dissensus.schema.hints import count_rest, format_list, format_value, suggest
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings

SAFE_UNSAFE = pl.Enum(["safe", "unsafe"])


def check_unsafe_answers(ratings: Ratings, question: str, unsafe: Sequence[str]) -> None:
    """Raise unless the unsafe answers are some of the scale of a question, neither all nor none."""
    scale = ratings.scale(question)
    for answer in unsafe:
        if answer not in scale:
            hint = suggest(answer, scale)
            raise InvalidInput(
                f"{format_value(answer)} is not an answer to {question}; its answers are {format_list(scale)}.{hint}"
            )
    if not set() < set(unsafe) < set(scale):
        raise InvalidInput(
            f"Name some answers to {question} as unsafe, not all or none; they are {format_list(scale)}."
        )


def read_expert_labels(ratings: Ratings, question: str, name: str, unsafe: Sequence[str]) -> pl.Series:
    """Return the expert label of each item as safe or unsafe, null if missing."""
    attributes = ratings.items.columns[1:]
    if name not in attributes:
        available = f"Attributes of items are {format_list(attributes)}." if attributes else "Items have no attributes."
        reason = f"The items have no {format_value(name)}.{suggest(name, attributes)} {available}"
        raise NotFound(
            Advice(
                f"{reason} A table with one row per item can be joined: --items FILE (in Python: items=...).",
                site=f'{reason} Experts label items once "Gold labels of experts" is set in the definition of the '
                "campaign.",
            )
        )
    scale, values = ratings.scale(question), ratings.items[name]
    wrong = (~values.is_in(scale)).fill_null(value=False).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInput(
            f"Item {format_value(ratings.items[ITEM_ID][row])} has {name} {format_value(values[row])}, which is not an "
            f"answer to {question}; its answers are {format_list(scale)}.{suggest(values[row], scale)}"
            f"{count_rest(len(wrong) - 1, 'such item')}"
        )
    return _safe_or_unsafe(values.is_in(unsafe))


def _safe_or_unsafe(unsafe: pl.Series) -> pl.Series:
    return pl.Series(SAFE_UNSAFE.categories, dtype=SAFE_UNSAFE).gather(unsafe.cast(pl.UInt32))
