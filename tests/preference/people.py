"""Simulated people whose groups like different words, as pairs; and what is true of them on comparisons kept apart."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dissensus.files.pairs.votes import read_people
from dissensus.pipeline.simulate import simulate_preferences
from dissensus.preference.data.examples import Examples
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.votes import collect_votes
from dissensus.preference.fit.logistic import PairChoices


class People(NamedTuple):
    """Votes to train on, and of fresh comparisons what men and women prefer, as log odds of the first answer."""

    votes: tuple[Pair, ...]
    fresh: tuple[Pair, ...]
    men: np.ndarray
    women: np.ndarray

    @property
    def opposed(self) -> np.ndarray:
        return np.asarray(np.sign(self.men) != np.sign(self.women))


def people(group_sd: float, *, seed: int = 0, known: int = 250, rater_sd: float = 0.0) -> People:
    """Draw people; genders differ by so much, ages and raters not unless told otherwise."""
    drawn = simulate_preferences(n_comparisons=known + 200, group_sd=group_sd, rater_sd=rater_sd, seed=seed)
    votes = collect_votes(drawn.preferences[:known], read_people(drawn.raters), purpose="helpful")
    fresh = tuple(Pair(one.context, one.b, one.a) for one in drawn.preferences[known:])
    men, women = (drawn.odds(f"rater_gender={one}")[known:] for one in ("Man", "Woman"))
    return People(votes.pairs, fresh, men, women)


def auroc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return how often a positive case scores higher than another one."""
    less = scores[positive][:, None] - scores[~positive][None, :]
    return float(np.mean((np.sign(less) + 1) / 2))


def examples_of(
    matrix: np.ndarray, choices: PairChoices, who: dict[str, Sequence[str | None]] | None = None
) -> Examples:
    """Return examples that have labels and nothing else: their features come with the matrix."""
    labels = {axis: np.array(values, dtype=np.object_) for axis, values in (who or {}).items()}
    return Examples({}, np.zeros(2 * len(matrix)), choices, np.arange(len(matrix)), labels)
