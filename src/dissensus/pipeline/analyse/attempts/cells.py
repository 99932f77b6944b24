"""Means by model type and size, by self-rating, and by tag."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns
from dissensus.pipeline.analyse.attempts.result import QUANTILES, AttemptCell, Level, Relation, Tag
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import MAX_RATING
from dissensus.stats.cluster_bootstrap import (
    BootstrapEstimate,
    bootstrap_means,
    bootstrap_rank_correlation,
    draw_clusters,
)
from dissensus.stats.result import FloatArray, IndexArray, check_confidence

MOST_CELLS: Final = 2_000
"""Largest number of combinations of model type and size."""

MOST_TAGS: Final = 200
"""Largest number of tags, the most frequent ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Resampling:
    """Bootstrap draws of red-teamers, and the confidence level."""

    draws: FloatArray
    confidence: float

    @classmethod
    def draw(cls, columns: AttemptColumns, bootstrap: int, seed: int, confidence: float) -> "Resampling":
        """Draw the red-teamers of each replicate; raise for an option that is out of range."""
        check_whole("bootstrap", bootstrap)
        if bootstrap == 1:
            raise InvalidInput("bootstrap is 1; one replicate has no spread. Give 0, or 1000 for a stable interval.")
        check_whole("seed", seed)
        check_confidence(confidence)
        return cls(draw_clusters(columns.n_red_teamers, bootstrap, seed), confidence)

    def means(
        self, values: FloatArray, cells: IndexArray, red_teamer: IndexArray, n_cells: int
    ) -> tuple[BootstrapEstimate, ...]:
        """Return the mean of each cell, clustered by red-teamer."""
        return bootstrap_means(values, cells, red_teamer, self.draws, n_cells=n_cells, confidence=self.confidence)

    def mean(self, values: FloatArray, red_teamer: IndexArray) -> BootstrapEstimate:
        """Return the mean of all values, clustered by red-teamer."""
        return self.means(values, np.zeros(len(values), np.intp), red_teamer, 1)[0]


def compute_mean_cells(
    columns: AttemptColumns, values: FloatArray, resampling: Resampling, *, quantiles: bool = False
) -> tuple[AttemptCell, ...]:
    """Return the means of all attempts, by model type, by size, and by combinations of both that occur."""
    return tuple(_cells(columns, values, resampling, quantiles=quantiles))


def _cells(
    columns: AttemptColumns, values: FloatArray, resampling: Resampling, *, quantiles: bool
) -> Iterator[AttemptCell]:
    if len(columns.types) * len(columns.sizes) > MOST_CELLS:
        raise InvalidInput(
            f"{len(columns.types):,} model types by {len(columns.sizes):,} sizes are more than {MOST_CELLS:,} models "
            "to compare. Give like models one model_type and one num_params."
        )
    crossing = [(kind, size) for kind in columns.types for size in columns.sizes]
    partitions: list[tuple[IndexArray, list[tuple[str | None, str | None]]]] = [
        (np.zeros(len(columns), np.intp), [(None, None)]),
        (columns.kind, [(kind, None) for kind in columns.types]),
        (columns.size, [(None, size) for size in columns.sizes]),
        (columns.kind * len(columns.sizes) + columns.size, [*crossing]),
    ]
    for codes, names in partitions:
        n_attempts = np.bincount(codes, minlength=len(names)).tolist()
        means = resampling.means(values, codes, columns.red_teamer, len(names))
        for code, ((kind, size), n, mean) in enumerate(zip(names, n_attempts, means, strict=True)):
            if n:
                spread = _quantiles(values[codes == code]) if quantiles else None
                yield AttemptCell(model_type=kind, size=size, n_attempts=n, mean=mean, quantiles=spread)


def _quantiles(values: FloatArray) -> tuple[float, ...] | None:
    values = values[np.isfinite(values)]
    return tuple(np.quantile(values, QUANTILES).tolist()) if len(values) else None


def relate_to_rating(columns: AttemptColumns, values: FloatArray, resampling: Resampling) -> Relation:
    """Return the relation of an outcome to the rating of the red-teamer."""
    rating = np.where(np.isnan(columns.rating), -1, columns.rating).astype(np.intp)
    means = resampling.means(values, rating, columns.red_teamer, MAX_RATING + 1)
    return Relation(
        levels=tuple(Level(rating=rating, mean=mean) for rating, mean in enumerate(means)),
        spearman=bootstrap_rank_correlation(
            columns.rating, values, columns.red_teamer, resampling.draws, confidence=resampling.confidence
        ),
    )


def count_tags(columns: AttemptColumns, resampling: Resampling) -> tuple[Tag, ...]:
    """Return the tags, the most frequent first."""
    reviewed = np.array([tags is not None for tags in columns.tags])
    indices: dict[str, list[int]] = {}
    for index, tags in enumerate(columns.tags):
        for tag in dict.fromkeys(tags or ()):
            indices.setdefault(tag, []).append(index)
    order = sorted(indices, key=lambda tag: (-len(indices[tag]), tag))[:MOST_TAGS]
    return tuple(_tag(tag, indices[tag], reviewed, columns, resampling) for tag in order)


def _tag(tag: str, indices: list[int], reviewed: FloatArray, columns: AttemptColumns, resampling: Resampling) -> Tag:
    has_tag = np.zeros(len(columns))
    has_tag[indices] = 1
    successful = columns.succeeded == 1
    return Tag(
        tag=tag,
        n=len(indices),
        n_successful=int(successful[indices].sum()),
        share=resampling.mean(np.where(reviewed, has_tag, np.nan), columns.red_teamer),
        share_of_successful=resampling.mean(np.where(reviewed & successful, has_tag, np.nan), columns.red_teamer),
        success=resampling.mean(np.where(has_tag == 1, columns.succeeded, np.nan), columns.red_teamer),
    )
