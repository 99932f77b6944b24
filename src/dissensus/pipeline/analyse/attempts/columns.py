"""Attempts as numeric columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.schema.records.attempt import MODEL_TYPES, Attempt
from dissensus.stats.clustered import Codes
from dissensus.stats.result import FloatArray

UNKNOWN_TYPE, UNKNOWN_SIZE = "type not known", "size not known"
_SIZE = re.compile(r"([\d.]+)\s*([KMBT]?)", re.IGNORECASE)
_POWER: Final = {"": 0, "k": 3, "m": 6, "b": 9, "t": 12}


@dataclass(frozen=True, slots=True, eq=False)
class AttemptColumns:
    """Columns of attempts as numbers; NaN marks a missing value."""

    # Model types, published ones first, and sizes from the smallest, those without a number last
    types: tuple[str, ...]
    sizes: tuple[str, ...]
    kind: Codes  # Places of type and size of each attempt in these, shape (N,)
    size: Codes
    red_teamer: Codes  # A number for the red-teamer of each, from 0
    rating: FloatArray  # Success as the red-teamer rates it, from 0 to 4, and whether it is as high as was asked for
    succeeded: FloatArray
    score: FloatArray  # The least harmlessness score of the transcript, and that of the description
    description_score: FloatArray
    upwork: FloatArray  # 1 for red-teamers from Upwork, 0 for others
    tags: tuple[tuple[str, ...] | None, ...]  # What reviewers said that it is about; None where nobody reviewed it

    def __len__(self) -> int:
        return len(self.tags)

    @property
    def n_red_teamers(self) -> int:
        """Return the number of red-teamers who made an attempt."""
        return int(self.red_teamer.max()) + 1


def read_columns(attempts: Sequence[Attempt], success_from: int) -> AttemptColumns:
    """Return attempts, one or more, as columns."""
    kinds = [attempt.model_type or UNKNOWN_TYPE for attempt in attempts]
    sizes = [attempt.num_params or UNKNOWN_SIZE for attempt in attempts]
    types, every_size = tuple(sorted(set(kinds), key=_published_order_key)), tuple(sorted(set(sizes), key=_size_key))
    rating = _numbers([attempt.rating for attempt in attempts])
    return AttemptColumns(
        types=types,
        sizes=every_size,
        kind=_index_values(kinds, types),
        size=_index_values(sizes, every_size),
        red_teamer=np.unique([attempt.red_team_member_id for attempt in attempts], return_inverse=True)[1],
        rating=rating,
        succeeded=mark_successes(rating, success_from),
        score=_numbers([attempt.min_harmlessness_score_transcript for attempt in attempts]),
        description_score=_numbers([attempt.task_description_harmlessness_score for attempt in attempts]),
        upwork=_numbers([attempt.is_upworker for attempt in attempts]),
        tags=tuple(attempt.tags for attempt in attempts),
    )


def mark_successes(rating: FloatArray, success_from: int) -> FloatArray:
    """Return 1 where a rating is high enough, 0 where it is not, NaN where there is none."""
    return np.where(np.isnan(rating), np.nan, (rating >= success_from).astype(np.float64))


def _index_values(values: Sequence[str], names: Sequence[str]) -> Codes:
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[value] for value in values], np.intp)


def _numbers(values: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _published_order_key(name: str) -> tuple[int, str]:
    return (MODEL_TYPES.index(name) if name in MODEL_TYPES else len(MODEL_TYPES), name)


def _size_key(name: str) -> tuple[float, str]:
    found = _SIZE.fullmatch(name.strip())
    try:
        return (float(found[1]) * 10 ** _POWER[found[2].lower()], name) if found else (np.inf, name)
    except ValueError:
        return (np.inf, name)


Bools = npt.NDArray[np.bool_]
