"""Attempts as numeric columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import MAX_RATING, MODEL_TYPES, Attempt
from dissensus.stats.result import FloatArray, IndexArray

UNKNOWN_TYPE, UNKNOWN_SIZE = "type not known", "size not known"
_SIZE = re.compile(r"([\d.]+)\s*([KMBT]?)", re.IGNORECASE)
_POWER: Final = {"": 0, "k": 3, "m": 6, "b": 9, "t": 12}


@dataclass(frozen=True, slots=True, eq=False)
class AttemptColumns:
    """Columns of attempts as numbers; NaN marks a missing value."""

    types: tuple[str, ...]  # Model types, published ones first
    sizes: tuple[str, ...]  # Ascending, those without a number last
    kind: IndexArray  # Index of each attempt's type, shape (N,)
    size: IndexArray  # Index of each attempt's size, shape (N,)
    red_teamer: IndexArray  # Numbered from 0
    rating: FloatArray  # Success rated by the red-teamer, 0 to 4
    succeeded: FloatArray  # 1 for ratings of at least `success_from`
    score: FloatArray  # Least harmlessness score of the transcript
    description_score: FloatArray
    upwork: FloatArray  # 1 for red-teamers from Upwork, 0 for others
    tags: tuple[tuple[str, ...] | None, ...]  # Tags by reviewers; None without a review

    def __len__(self) -> int:
        return len(self.tags)

    @property
    def n_red_teamers(self) -> int:
        """Number of red-teamers."""
        return int(self.red_teamer.max()) + 1


def read_columns(attempts: Sequence[Attempt], success_from: int) -> AttemptColumns:
    """Convert one or more attempts to columns; raise for a rating that cannot be the least success."""
    check_whole("success_from", success_from, 1, MAX_RATING)
    kinds = [attempt.model_type or UNKNOWN_TYPE for attempt in attempts]
    sizes = [attempt.num_params or UNKNOWN_SIZE for attempt in attempts]
    types, ordered_sizes = tuple(sorted(set(kinds), key=_published_order_key)), tuple(sorted(set(sizes), key=_size_key))
    rating = _numbers([attempt.rating for attempt in attempts])
    return AttemptColumns(
        types=types,
        sizes=ordered_sizes,
        kind=_index_values(kinds, types),
        size=_index_values(sizes, ordered_sizes),
        red_teamer=np.unique([attempt.red_team_member_id for attempt in attempts], return_inverse=True)[1],
        rating=rating,
        succeeded=mark_successes(rating, success_from),
        score=_numbers([attempt.min_harmlessness_score_transcript for attempt in attempts]),
        description_score=_numbers([attempt.task_description_harmlessness_score for attempt in attempts]),
        upwork=_numbers([attempt.is_upworker for attempt in attempts]),
        tags=tuple(attempt.tags for attempt in attempts),
    )


def mark_successes(rating: FloatArray, success_from: int) -> FloatArray:
    """Return 1 for ratings of at least `success_from`, 0 for others, NaN for missing ones."""
    return np.where(np.isnan(rating), np.nan, (rating >= success_from).astype(np.float64))


def _index_values(values: Sequence[str], names: Sequence[str]) -> IndexArray:
    index = {name: number for number, name in enumerate(names)}
    return np.array([index[value] for value in values], np.intp)


def _numbers(values: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _published_order_key(name: str) -> tuple[int, str]:
    return (MODEL_TYPES.index(name) if name in MODEL_TYPES else len(MODEL_TYPES), name)


def _size_key(name: str) -> tuple[float, str]:
    match = _SIZE.fullmatch(name.strip())
    try:
        return (float(match[1]) * 10 ** _POWER[match[2].lower()], name) if match else (np.inf, name)
    except ValueError:
        return (np.inf, name)
