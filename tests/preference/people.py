"""Simulated people whose groups have different preferences: votes, and fresh comparisons with the truth."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dissensus.files.pairs.votes import read_people
from dissensus.pipeline.simulate import simulate_preferences
from dissensus.preference.data.examples import Examples
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.votes import collect_votes
from dissensus.preference.data.weighting import PairChoices


class People(NamedTuple):
    """Training votes, and fresh comparisons with the log odds of the first answer for men and for women."""

    votes: tuple[Pair, ...]
    fresh: tuple[Pair, ...]
    men: np.ndarray
    women: np.ndarray

    @property
    def opposed(self) -> np.ndarray:
        return np.asarray(np.sign(self.men) != np.sign(self.women))


def people(group_sd: float, *, seed: int = 0, n_training: int = 250, rater_sd: float = 0.0) -> People:
    """Simulate people whose genders differ, and by `rater_sd` individual raters."""
    simulation = simulate_preferences(n_comparisons=n_training + 200, group_sd=group_sd, rater_sd=rater_sd, seed=seed)
    votes = collect_votes(simulation.preferences[:n_training], read_people(simulation.raters), purpose="helpful")
    fresh = tuple(Pair(one.context, one.b, one.a) for one in simulation.preferences[n_training:])
    men, women = (simulation.log_odds(f"rater_gender={one}")[n_training:] for one in ("Man", "Woman"))
    return People(votes.pairs, fresh, men, women)


def auroc(scores: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve; a tie counts as half."""
    less = scores[positive][:, None] - scores[~positive][None, :]
    return float(np.mean((np.sign(less) + 1) / 2))


def examples_of(
    matrix: np.ndarray, choices: PairChoices, labels: dict[str, Sequence[str | None]] | None = None
) -> Examples:
    """Return examples with labels and without features, which come with the matrix."""
    arrays = {axis: np.array(values, dtype=np.object_) for axis, values in (labels or {}).items()}
    return Examples({}, np.zeros(2 * len(matrix)), choices, np.arange(len(matrix)), arrays)
