"""Bootstrap intervals of the comparison of gold labels with crowd labels, over raters and items."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.stats.bootstrap import Resample, draw_resamples, interval
from dissensus.stats.design import chunks
from dissensus.stats.result import BoolArray, FloatArray, Int32Array

SAFE, TIED, UNSAFE, UNRATED = range(4)
INTERVALS = ("disagreement", "alpha")
"""Statistics with intervals, in order."""
_DENSE = 30
"""Cells of raters, items and answers for each rating, up to which a product of matrices counts faster."""


@dataclass(frozen=True, eq=False)
class LabelledAnswers:
    """Answers to items with a gold label, as codes of items I, raters R and answers K; raters are unknown if R is 0."""

    items: Int32Array  # Of each rating, shape (N,)
    raters: Int32Array
    answers: Int32Array
    n_items: int
    n_raters: int
    n_categories: int
    unsafe: BoolArray  # True for each unsafe answer, shape (K,)
    gold: BoolArray  # True for each item that is unsafe by gold, shape (I,)
    tie: int  # Class of a tied item: SAFE, TIED or UNSAFE

    def label(self, group: int, codes: Int32Array, rater_weight: Int32Array | None = None) -> Int32Array:
        """Return the crowd label of each item by the raters of a group, shape (B, I).

        `rater_weight` has how often each rater is drawn in each of B replicates; without it B is 1.
        """
        is_member = (codes[self.raters] == group) if self.n_raters else np.ones(self.items.size, dtype=np.bool_)
        cell = (self.items.astype(np.int64) * self.n_categories + self.answers)[is_member]
        size = self.n_items * self.n_categories
        if rater_weight is None:
            return self._classify(np.bincount(cell, minlength=size)[None])
        members, position = np.unique(self.raters[is_member], return_inverse=True)
        if size * members.size <= _DENSE * cell.size:
            # Whole numbers below 2**24 are exact.
            answered = np.zeros((members.size, size), np.float32)
            answered[position, cell] = 1
            return self._classify(rater_weight[:, members].astype(np.float32) @ answered)
        drawn = rater_weight[:, self.raters[is_member]]
        return self._classify(np.stack([np.bincount(cell, weights=weight, minlength=size) for weight in drawn]))

    def _classify(self, flat: npt.NDArray[Any]) -> Int32Array:
        """Return the label of each item by its counts of answers, shape (B, I K)."""
        counts = flat.reshape(len(flat), self.n_items, self.n_categories)
        safe, unsafe = (counts[..., of_kind].max(axis=2, initial=0) for of_kind in (~self.unsafe, self.unsafe))
        label = np.where(safe == unsafe, self.tie, np.where(unsafe > safe, UNSAFE, SAFE))
        return np.where(np.maximum(safe, unsafe) > 0, label, UNRATED).astype(np.int32)

    def compare(self, crowd: Int32Array, weight: npt.NDArray[np.generic]) -> FloatArray:
        """Return the statistics of `INTERVALS`, shape (B, 2), NaN where they are undefined.

        Labels and weights of the items have the shape (B, I) or (1, I).
        """
        rated = np.asarray((crowd != UNRATED) * weight, dtype=np.float64)
        settled = rated * (crowd != TIED)
        n, n_settled = rated.sum(axis=1), settled.sum(axis=1)
        differ = (settled * ((crowd == UNSAFE) != self.gold)).sum(axis=1)
        n_unsafe = (settled * ((crowd == UNSAFE) + self.gold.astype(np.float64))).sum(axis=1)
        labels = 2 * n_settled
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = 2 * n_unsafe * (labels - n_unsafe) / (labels * (labels - 1))
            alpha = np.where(expected > 0, 1 - differ / n_settled / expected, np.nan)
            return np.stack([differ / n, alpha], axis=1)


def compute_gold_intervals(
    answers: LabelledAnswers,
    codes: Int32Array,
    members: Sequence[tuple[int, BoolArray]],
    *,
    replicates: int,
    confidence: float,
    seed: int,
) -> Iterator[FloatArray]:
    """Yield the ends of the intervals of `INTERVALS`, shape (2, 2), of each group of raters on some items.

    Raters are drawn within groups, and items from all; unknown raters are not drawn. Deviations by raters and by items
    are added, so that their interaction counts twice: a plurality is not smooth in its raters, and the two-way interval
    that subtracts the interaction was measured to be too narrow.
    """
    resample: Resample = "both" if answers.n_raters else "items"
    drawn: list[list[FloatArray]] = [[] for _ in members]
    seeds = np.random.SeedSequence(seed).spawn(replicates)
    labels = {group: answers.label(group, codes) for group, _ in members}
    for chunk in chunks(replicates, 24 * answers.n_items * answers.n_categories + 12 * answers.items.size):
        rater_weight, item_weight = draw_resamples([seeds[b] for b in chunk], codes, answers.n_items, resample)
        of_drawn = (
            {} if rater_weight is None else {group: answers.label(group, codes, rater_weight) for group in labels}
        )
        for part, (group, items) in zip(drawn, members, strict=True):
            replicate = answers.compare(labels[group], np.asarray(item_weight) * items)
            if group in of_drawn:
                replicate = replicate + answers.compare(of_drawn[group], items[None])
            part.append(replicate)
    for part, (group, items) in zip(drawn, members, strict=True):
        observed = answers.compare(labels[group], items[None])[0]
        yield np.stack(interval(observed, np.concatenate(part), confidence=confidence, n=int(items.sum())))
