"""Answers of a judge and of a group of raters to one question, and distances between answers."""

from dataclasses import dataclass

import numpy as np

from dissensus.stats.result import BoolArray, FloatArray, Int64Array, divide_or_nan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PanelRatings:
    """Answers of the raters of a group to one question, in any order.

    Parameters
    ----------
    items, raters, answers
        Item, rater and answer of each rating, numbered from 0, shape (N,).
    """

    items: Int64Array
    raters: Int64Array
    answers: Int64Array

    def select(self, mask: BoolArray) -> "PanelRatings":
        """Return the ratings where a mask is true, shape (N,)."""
        return PanelRatings(items=self.items[mask], raters=self.raters[mask], answers=self.answers[mask])

    def count(self, n_items: int, n_categories: int) -> FloatArray:
        """Return the number of answers of each category to each item, shape (I, K)."""
        cell = self.items * n_categories + self.answers
        return np.bincount(cell, minlength=n_items * n_categories).reshape(n_items, -1).astype(np.float64)


def equality_distance(n_categories: int) -> FloatArray:
    """Return the distances of answers of which only equality matters: 0 or 1, shape (K, K).

    Examples
    --------
    >>> equality_distance(2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return np.ones((n_categories, n_categories)) - np.eye(n_categories)


def step_distance(n_categories: int) -> FloatArray:
    """Return the distances of answers on an ordered scale: steps between them over all steps, shape (K, K).

    Examples
    --------
    >>> step_distance(3)[0].tolist()
    [0.0, 0.5, 1.0]
    """
    steps = np.arange(n_categories)
    return np.asarray(np.abs(steps[:, None] - steps) / max(n_categories - 1, 1), dtype=np.float64)


def spread_of_counts(counts: FloatArray, distance: FloatArray) -> FloatArray:
    """Return the mean distance between two of the answers to each item, shape (I,); NaN with fewer than two.

    Examples
    --------
    >>> spread_of_counts(np.array([[2.0, 1.0], [3.0, 0.0], [1.0, 0.0]]), equality_distance(2)).round(3).tolist()
    [0.667, 0.0, nan]
    """
    n = counts.sum(axis=1)
    pairs = n * (n - 1)
    total = np.einsum("ik,kl,il->i", counts, distance, counts)
    return divide_or_nan(total, pairs)
