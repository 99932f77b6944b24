"""Ratings of the pool and of the groups of each axis, safe or unsafe."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dissensus.pipeline.score.settings import ScoreSettings
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import BoolArray, Int32Array, Int64Array
from dissensus.stats.score.pseudo_values import GroupRatings
from dissensus.stats.suppression import select_publishable_groups


class RatedGroup(Protocol):
    """A group whose statistics are rows; the whole pool if it has no axis."""

    @property
    def axis(self) -> str | None:
        """Its axis."""

    @property
    def group(self) -> str | None:
        """Its name."""

    @property
    def suppressed(self) -> bool:
        """True if its numbers are withheld."""

    @property
    def is_people(self) -> bool:
        """False for labels of experts, one for each item."""

    @property
    def n_raters(self) -> int:
        """Number of raters."""

    @property
    def n_items(self) -> int:
        """Number of items."""

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""

    @property
    def unsafe_share(self) -> float:
        """Share of the ratings that are unsafe."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredGroup:
    """Ratings of a group; of the whole pool if it has no axis."""

    axis: str | None
    group: str | None
    ratings: GroupRatings
    suppressed: bool = False  # True if its numbers are withheld
    is_people: bool = True  # False for labels of experts, one for each item
    indices: Int64Array | None = None  # Of its ratings among those of the pool

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return self.ratings.n_raters

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.ratings.n_items

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return self.ratings.n_ratings

    @property
    def unsafe_share(self) -> float:
        """Share of the ratings that are unsafe."""
        return float(self.ratings.unsafe.mean())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupMembership:
    """Group of each rater on each axis, and the number of raters below which numbers are withheld."""

    axes: tuple[str, ...]
    codes: Int32Array  # Group of each rater, -1 if unknown, shape (A, R)
    names: tuple[tuple[str, ...], ...]  # Of the groups of each axis
    suppress_below: int = 0

    def split(self, ratings: GroupRatings, parts: Sequence[GroupRatings] = ()) -> Iterator[ScoredGroup]:
        """Yield the ratings of the pool, then of the groups of each axis that rated these items.

        Groups with few raters are withheld, and so are those with few raters in one of `parts`, whose numbers would
        follow from differences of rows.
        """
        pool, published = self.select_published(np.unique(ratings.raters))
        for part in parts:
            pool_of_part, of_part = self.select_published(np.unique(part.raters))
            pool, published = pool and pool_of_part, published & of_part
        indices = np.arange(len(ratings.items))
        yield ScoredGroup(axis=None, group=None, ratings=ratings, suppressed=not pool, indices=indices)
        for axis, codes, names, is_published in zip(self.axes, self.codes, self.names, published, strict=True):
            rating_codes = codes[ratings.raters]
            for g, name in enumerate(names):
                if (mask := rating_codes == g).any():
                    yield ScoredGroup(
                        axis=axis,
                        group=name,
                        ratings=ratings.select(mask),
                        suppressed=not bool(is_published[g]),
                        indices=indices[mask],
                    )

    def select_published(self, raters: Int64Array) -> tuple[bool, BoolArray]:
        """Return True if the pool of these raters is published, and a mask of the groups that are, shape (A, G).

        A group without any of these raters counts as published.
        """
        published = np.ones((len(self.axes), max(map(len, self.names), default=0)), np.bool_)
        if not self.suppress_below or not len(raters):
            return True, published
        codes = self.codes[:, raters]
        if len(self.axes):
            publishable = select_publishable_groups(codes, min_cell=self.suppress_below)
            has_raters = (codes[:, :, None] == np.arange(publishable.shape[1])).any(axis=1)
            published[:, : publishable.shape[1]] = publishable | ~has_raters
        return len(raters) >= self.suppress_below, published


def build_group_membership(ratings: Ratings, settings: ScoreSettings) -> GroupMembership:
    """Return the group of each rater on the axes of the settings."""
    grouped = [ratings.group_codes(axis) for axis in settings.axes]
    names = tuple(groups for _, groups in grouped)
    codes = np.stack([codes for codes, _ in grouped]) if grouped else np.empty((0, ratings.n_raters), np.int32)
    return GroupMembership(axes=settings.axes, codes=codes, names=names, suppress_below=settings.suppress_below)


def read_group_ratings(ratings: Ratings, question: str, unsafe: Sequence[str]) -> GroupRatings:
    """Return all ratings that answer a question, as unsafe or safe."""
    item, rater, answer = ratings.codes(question)
    is_unsafe = np.isin(ratings.scale(question), unsafe)
    return GroupRatings(
        items=item.astype(np.int64), raters=rater.astype(np.int64), unsafe=is_unsafe[answer].astype(np.float64)
    )
