"""Rows of a scorecard: statistics of groups, and gaps between groups."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One statistic of a chatbot, or of the scores of a model, for one group.

    Parameters
    ----------
    model
        The chatbot, the scored model, the human ceiling or the decision; None for a statistic of the ratings alone.
    question
        The question.
    attribute, value
        Attribute of items and the value of those that count; None for all items.
    axis, group
        The group; None for the whole pool.
    metric
        Name of the statistic.
    estimate, ci_low, ci_high
        The value and its interval; None if undefined.
    n_raters, n_items, n_ratings
        Raters of the group who rated these items, the items, and their ratings.
    reason
        Reason why a value is None.
    warning
        Caveat about the row.
    """

    model: str | None = None
    question: str
    attribute: str | None = None
    value: str | None = None
    axis: str | None = None
    group: str | None = None
    metric: str
    estimate: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    n_raters: int
    n_items: int
    n_ratings: int
    reason: str | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRow:
    """Gap of one statistic between the groups of an axis.

    Parameters
    ----------
    model, question, attribute, value, axis, metric
        As for `ScoreRow`.
    worst, best
        Groups with the worst and with the best value.
    estimate, by_chance
        Difference of their values, and its mean for groups that do not differ.
    pair
        The two groups that differ most surely.
    p, p_adjusted
        P-value of the test that no two groups differ, and adjusted over all gaps; None without a test.
    n_groups
        Groups compared: those with enough raters.
    reason
        Reason why a value is None.
    """

    model: str | None = None
    question: str
    attribute: str | None = None
    value: str | None = None
    axis: str
    metric: str
    worst: str | None = None
    best: str | None = None
    estimate: float | None = None
    by_chance: float | None = None
    pair: tuple[str, str] | None = None
    p: float | None = None
    p_adjusted: float | None = None
    n_groups: int
    reason: str | None = None
