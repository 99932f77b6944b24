"""Posterior predictive checks: new answers of the same raters to the same items, against those observed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.prediction import rater_columns
from dissensus.stats.multilevel.fit import Integration, OrdinalFit
from dissensus.stats.multilevel.posterior import PosteriorDraws
from dissensus.stats.multilevel.replication import replicate_answers
from dissensus.stats.raters.rest_correlation import rest_correlations
from dissensus.stats.result import IntArray

MOST_ANSWERS: Final = 20_000_000
"""New answers that are drawn at most, over all draws."""
FEWEST_DRAWS: Final = 26
COUNT: Final = "raters who never answer"
NOISE: Final = "sd over raters of the correlation with others"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveCheck:
    """A statistic of the observed answers, and of new answers that the model predicts."""

    check: str  # Such as "raters who never answer Unsure"
    answer: str | None  # None for a statistic of all answers
    axis: str | None  # Of groups
    observed: float
    replicated: float  # Mean
    ci_low: float
    ci_high: float
    p: float  # Twice the share of replications that lie as far out
    passes: bool  # The observed value lies in the interval

    @property
    def is_count(self) -> bool:
        """True for a number of raters, False for a share or the spread of shares."""
        return self.check.startswith(COUNT)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeModel:
    """The same model with widths of raters, or without them if it has them, and its predictive checks."""

    widths: bool
    log_likelihood: float
    integration: Integration
    n_parameters: int
    predictive_checks: tuple[PredictiveCheck, ...]


def check_predictions(
    named: NamedDesign, fit: OrdinalFit, draws: PosteriorDraws, rng: np.random.Generator, confidence: float
) -> Iterator[PredictiveCheck]:
    """Compare statistics of the answers with those of new answers by the same raters to the same items."""
    statistics = list(_list_statistics(named))
    observed = _measure(named, named.design.answers)
    n_draws = min(len(draws.thresholds), max(FEWEST_DRAWS, MOST_ANSWERS // fit.n_ratings))
    replications = np.array(
        [_measure(named, answers) for answers in replicate_answers(fit.approximation.likelihood, draws, n_draws, rng)]
    )
    low, high = np.quantile(replications, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    above, below = (replications >= observed).mean(0), (replications <= observed).mean(0)
    for index, (check, answer, axis) in enumerate(statistics):
        yield PredictiveCheck(
            check=check,
            answer=answer,
            axis=axis,
            observed=float(observed[index]),
            replicated=float(replications[:, index].mean()),
            ci_low=float(low[index]),
            ci_high=float(high[index]),
            p=min(1.0, 2 * float(min(above[index], below[index]))),
            passes=bool(low[index] <= observed[index] <= high[index]),
        )


class _Statistic(NamedTuple):
    check: str
    answer: str | None
    axis: str | None


def _list_statistics(named: NamedDesign) -> Iterator[_Statistic]:
    """Yield the statistics in the order of `_measure`."""
    for name in (
        "share of {}",
        COUNT + " {}",
        "sd over raters of the share of {}",
        "sd over items of the share of {}",
    ):
        yield from (_Statistic(name.format(answer), answer, None) for answer in named.categories)
    yield _Statistic(NOISE, None, None)
    for axis in list_axes(named):
        for answer in named.categories:
            yield _Statistic(f"range over {axis} of the share of {answer}", answer, axis)


def list_axes(named: NamedDesign) -> tuple[str, ...]:
    """Return the attributes of raters whose values are groups."""
    return tuple(name for name in rater_columns(named) if named.rows.columns[name].is_factor)


def _measure(named: NamedDesign, answers: IntArray) -> NDArray[np.float64]:
    """Return the statistics of some answers."""
    rows, n_answers = named.rows, len(named.categories)
    by_rater, by_item = (_count(codes, answers, n_answers) for codes in (rows.rater, rows.item))
    rated = by_rater.sum(1) > 0
    parts = [by_rater.sum(0) / len(answers), ((by_rater == 0) & rated[:, None]).sum(0)]
    parts += [_share(counts).std(0) for counts in (by_rater, by_item)]
    correlations = rest_correlations(rows.rater, rows.item, answers)
    parts.append(np.atleast_1d(np.nanstd(correlations) if np.isfinite(correlations).any() else 0.0))
    for axis in list_axes(named):
        column = rows.columns[axis]
        by_group = np.zeros((len(column.levels), n_answers))
        np.add.at(by_group, column.codes[: len(by_rater)][rated], by_rater[rated])
        parts.append(np.ptp(_share(by_group), axis=0))
    return np.concatenate(parts)


def _count(codes: NDArray[np.int32], answers: IntArray, n_answers: int) -> NDArray[np.int64]:
    """Return the number of each answer by rater or item."""
    size = int(codes.max()) + 1
    return np.bincount(codes * np.int64(n_answers) + answers, minlength=size * n_answers).reshape(size, n_answers)


def _share(counts: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the shares of answers in rows with any."""
    totals = counts.sum(1, keepdims=True)
    return np.asarray(counts[totals[:, 0] > 0] / totals[totals[:, 0] > 0], float)
