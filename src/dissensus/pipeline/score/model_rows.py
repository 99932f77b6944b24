"""Further rows of a scorecard of models: ranks, paired differences, threshold curves, calibration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRow:
    """Place of a model in the leaderboard of a group.

    Parameters
    ----------
    axis, group
        The group; None for the whole pool.
    metric
        Statistic by which models are ranked.
    model, estimate
        The model and its value.
    rank
        One more than the number of models that are significantly better. Models of one rank may differ, and models of
        several ranks may not: `ties` tells.
    worst_rank
        Number of models less those that are significantly worse; the true rank lies between `rank` and this one.
    ties
        Models from which it does not differ significantly, or with which it was not compared.
    """

    axis: str | None
    group: str | None
    metric: str
    model: str
    estimate: float
    rank: int
    worst_rank: int
    ties: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """Paired difference of two models against the same ratings.

    Parameters
    ----------
    axis, group, metric
        As for `RankRow`.
    first, second
        The models.
    estimate, ci_low, ci_high
        Value of the first less that of the second.
    p, p_adjusted
        P-value, and adjusted by Holm's method over the pairs of models of the group.
    """

    axis: str | None
    group: str | None
    metric: str
    first: str
    second: str
    estimate: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdRow:
    """Errors of the labels of a model at one threshold, for one group.

    Parameters
    ----------
    model, axis, group
        The model and the group.
    threshold
        Lowest score that is labelled unsafe.
    labelled_unsafe
        Share of items labelled unsafe.
    error, miss_rate, false_alarm_rate
        Shares of all, of unsafe and of safe ratings that the label contradicts; None where there are none, or where
        few raters gave them.
    """

    model: str
    axis: str | None
    group: str | None
    threshold: float
    labelled_unsafe: float
    error: float
    miss_rate: float | None
    false_alarm_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BinRow:
    """Items of similar score, with the share of unsafe answers of one group.

    Parameters
    ----------
    model, axis, group
        The model and the group.
    low, high, score
        Ends of the bin, and the mean score of its items.
    share, ci_low, ci_high
        Mean share of unsafe answers, with its interval.
    n_items
        Number of items.
    """

    model: str
    axis: str | None
    group: str | None
    low: float
    high: float
    score: float
    share: float
    ci_low: float | None
    ci_high: float | None
    n_items: int
