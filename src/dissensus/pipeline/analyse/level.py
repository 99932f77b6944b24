"""Level of measurement of the answers: their numbers, and notes that tell how they are compared."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_list
from dissensus.stats.groups.scale import OrderedScale, build_ordered_scale
from dissensus.stats.result import IntArray, none_if_not_finite

Level = Literal["nominal", "ordinal", "interval"]
NOMINAL: Final = "negentropy, cross_negentropy, plurality_size and voting_agreement are nominal: they ignore the order"


def build_scale(level: Level, categories: Sequence[str], answers: IntArray) -> OrderedScale | None:
    """Return the scale of ordered answers, None at the nominal level."""
    if level == "nominal":
        return None
    marginals = np.bincount(answers, minlength=len(categories))
    return build_ordered_scale(level, number_answers(categories), marginals)


def number_answers(categories: Sequence[str]) -> tuple[float, ...]:
    """Return the numbers of ordered answers: what they say, or 1, 2, … if none is a number.

    Examples
    --------
    >>> number_answers(("-2", "0", "2.5"))
    (-2.0, 0.0, 2.5)
    >>> number_answers(("No", "Unsure", "Yes"))
    (1.0, 2.0, 3.0)
    """
    numbers = [_read_number(category) for category in categories]
    if all(number is None for number in numbers):
        return tuple(float(position + 1) for position in range(len(categories)))
    words = [category for category, number in zip(categories, numbers, strict=True) if number is None]
    if words:
        raise InvalidInput(
            f"{format_list(words)} is not a number, and other answers are, so their order is open. If it means that "
            "there is no answer, name it: --missing (in Python: missing=)."
        )
    known = tuple(number for number in numbers if number is not None)
    if np.any(np.diff(known) <= 0):
        raise InvalidInput(
            f"The answers are numbers that do not increase: {format_list(categories)}. Name them from the lowest "
            "to the highest: --categories (in Python: categories=)."
        )
    return known


def describe_level(level: Level, categories: Sequence[str]) -> Iterator[str]:
    """Yield how the answers were compared, where it is not obvious."""
    numeric = all(_read_number(category) is not None for category in categories)
    if level == "nominal":
        if numeric and len(categories) > 2:
            first, second, last = categories[0], categories[1], categories[-1]
            compared = (
                f"The answers are numbers, compared as nominal: {first} differs from {second} as much as from {last}."
            )
            yield Advice(
                f"{compared} If their order matters, name their level: --level ordinal or --level interval (in Python: "
                "level=).",
                site=compared,
            )
        return
    numbers = number_answers(categories)
    named = ", ".join(f"{category} = {n:g}" for category, n in zip(categories, numbers, strict=True))
    yield f"The answers are {level}{'' if numeric else f': {named}'}; {NOMINAL}."


def _read_number(category: str) -> float | None:
    try:
        return none_if_not_finite(float(category))
    except ValueError:
        return None
