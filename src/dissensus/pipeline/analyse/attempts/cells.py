"""Means by model type and size, by self-rating, and by tag."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns
from dissensus.pipeline.analyse.attempts.result import QUANTILES, AttemptCell, Level, Relation, Tag
from dissensus.schema.records.attempt import MAX_RATING
from dissensus.stats.clustered import Clustered, Codes, clustered_means, rank_correlation
from dissensus.stats.result import FloatArray

MOST_CELLS: Final = 2_000
"""Models by type and size that can be compared."""

MOST_TAGS: Final = 200
"""The most frequent tags are told of."""


@dataclass(frozen=True, slots=True, eq=False)
class Resampling:
    """Draws of red-teamers, and the level of intervals."""

    draws: FloatArray
    level: float

    def means(self, values: FloatArray, cells: Codes, red_teamer: Codes, n_cells: int) -> tuple[Clustered, ...]:
        """Return the mean of each cell, clustered by red-teamer."""
        return clustered_means(values, cells, red_teamer, self.draws, n_cells=n_cells, level=self.level)

    def mean(self, values: FloatArray, red_teamer: Codes) -> Clustered:
        """Return the mean of all values, clustered by red-teamer."""
        return self.means(values, np.zeros(len(values), np.intp), red_teamer, 1)[0]


def compute_mean_cells(
    columns: AttemptColumns, values: FloatArray, resampling: Resampling, *, quantiles: bool = False
) -> tuple[AttemptCell, ...]:
    """Return the mean of all attempts, of each type, of each size, and of each type and size that occur."""
    return tuple(_cells(columns, values, resampling, quantiles=quantiles))


def _cells(
    columns: AttemptColumns, values: FloatArray, resampling: Resampling, *, quantiles: bool
) -> Iterator[AttemptCell]:
    if len(columns.types) * len(columns.sizes) > MOST_CELLS:
        raise InvalidInput(
            f"{len(columns.types):,} model types by {len(columns.sizes):,} sizes are more than {MOST_CELLS:,} models "
            "to compare. Give like models one model_type and one num_params."
        )
    both = [(kind, size) for kind in columns.types for size in columns.sizes]
    ways: list[tuple[Codes, list[tuple[str | None, str | None]]]] = [
        (np.zeros(len(columns), np.intp), [(None, None)]),
        (columns.kind, [(kind, None) for kind in columns.types]),
        (columns.size, [(None, size) for size in columns.sizes]),
        (columns.kind * len(columns.sizes) + columns.size, [*both]),
    ]
    for codes, names in ways:
        there = np.bincount(codes, minlength=len(names)).tolist()
        means = resampling.means(values, codes, columns.red_teamer, len(names))
        for place, ((kind, size), mean) in enumerate(zip(names, means, strict=True)):
            if there[place]:
                spread = _quantiles(values[codes == place]) if quantiles else None
                yield AttemptCell(model_type=kind, size=size, n_attempts=there[place], mean=mean, quantiles=spread)


def _quantiles(values: FloatArray) -> tuple[float, ...] | None:
    known = values[np.isfinite(values)]
    return tuple(np.quantile(known, QUANTILES).tolist()) if len(known) else None


def relate_to_rating(columns: AttemptColumns, values: FloatArray, resampling: Resampling) -> Relation:
    """Return how something goes with the rating of the red-teamer."""
    rating = np.where(np.isnan(columns.rating), -1, columns.rating).astype(np.intp)
    means = resampling.means(values, rating, columns.red_teamer, MAX_RATING + 1)
    return Relation(
        levels=tuple(Level(rating=place, mean=mean) for place, mean in enumerate(means)),
        spearman=rank_correlation(columns.rating, values, columns.red_teamer, resampling.draws, level=resampling.level),
    )


def count_tags(columns: AttemptColumns, resampling: Resampling) -> tuple[Tag, ...]:
    """Return the tags, the most frequent first."""
    reviewed = np.array([given is not None for given in columns.tags])
    having: dict[str, list[int]] = {}
    for place, given in enumerate(columns.tags):
        for tag in dict.fromkeys(given or ()):
            having.setdefault(tag, []).append(place)
    order = sorted(having, key=lambda tag: (-len(having[tag]), tag))[:MOST_TAGS]
    return tuple(_tag(tag, having[tag], reviewed, columns, resampling) for tag in order)


def _tag(tag: str, places: list[int], reviewed: FloatArray, columns: AttemptColumns, resampling: Resampling) -> Tag:
    has = np.zeros(len(columns))
    has[places] = 1
    successful = columns.succeeded == 1
    return Tag(
        tag=tag,
        n=len(places),
        n_successful=int(successful[places].sum()),
        share=resampling.mean(np.where(reviewed, has, np.nan), columns.red_teamer),
        share_of_successful=resampling.mean(np.where(reviewed & successful, has, np.nan), columns.red_teamer),
        success=resampling.mean(np.where(has == 1, columns.succeeded, np.nan), columns.red_teamer),
    )
