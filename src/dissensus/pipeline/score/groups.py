"""Ratings of the pool and of the groups of each axis, safe or unsafe."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.pipeline.score.settings import ScoreSettings
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.score.pseudo_values import GroupRatings
from dissensus.stats.suppression import select_publishable_groups


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredGroup:
    """Ratings of a group; of the whole pool if it has no axis."""

    axis: str | None
    group: str | None
    ratings: GroupRatings
    suppressed: bool = False  # True if its numbers are withheld
    is_people: bool = True  # False for labels of experts, one for each item


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupMembership:
    """Group of each rater on each axis, and the groups whose numbers are withheld."""

    axes: tuple[str, ...]
    codes: npt.NDArray[np.int32]  # Group of each rater, -1 if unknown, shape (A, R)
    names: tuple[tuple[str, ...], ...]  # Of the groups of each axis
    published: npt.NDArray[np.bool_]  # False for groups whose numbers are withheld, shape (A, G)

    def split(self, ratings: GroupRatings) -> Iterator[ScoredGroup]:
        """Yield the ratings of the pool, then of the groups of each axis that rated these items."""
        yield ScoredGroup(axis=None, group=None, ratings=ratings)
        for axis, codes, names, published in zip(self.axes, self.codes, self.names, self.published, strict=True):
            of_rating = codes[ratings.raters]
            for g, name in enumerate(names):
                if (mask := of_rating == g).any():
                    yield ScoredGroup(
                        axis=axis, group=name, ratings=ratings.select(mask), suppressed=not bool(published[g])
                    )


def build_group_membership(ratings: Ratings, settings: ScoreSettings) -> GroupMembership:
    """Return the group of each rater on the axes of the settings."""
    grouped = [ratings.group_codes(axis) for axis in settings.axes]
    names = tuple(groups for _, groups in grouped)
    shape = (len(grouped), max(map(len, names), default=0))
    codes = np.stack([codes for codes, _ in grouped]) if grouped else np.empty((0, ratings.n_raters), np.int32)
    published = np.ones(shape, np.bool_)
    if settings.suppress_below and grouped:
        chosen = select_publishable_groups(codes, min_cell=settings.suppress_below)
        published = np.zeros(shape, np.bool_)
        published[:, : chosen.shape[1]] = chosen
    return GroupMembership(axes=settings.axes, codes=codes, names=names, published=published)


def read_group_ratings(ratings: Ratings, question: str, unsafe: Sequence[str]) -> GroupRatings:
    """Return all ratings that answer a question, as unsafe or safe."""
    item, rater, answer = ratings.codes(question)
    is_unsafe = np.isin(ratings.scale(question), unsafe)
    return GroupRatings(
        items=item.astype(np.int64), raters=rater.astype(np.int64), unsafe=is_unsafe[answer].astype(np.float64)
    )
