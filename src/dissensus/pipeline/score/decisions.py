"""Comparison of decisions by each rule, at each ratio of costs, and their effects on each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.score.decision_comparison import OVERRULED, Decision, DecisionComparison
from dissensus.pipeline.score.decision_rules import WITHOUT_GAP, BoundRule, bind_rules
from dissensus.pipeline.score.estimates import adjust_gaps, build_gaps, build_row
from dissensus.pipeline.score.groups import (
    ScoredGroup,
    build_group_membership,
    read_group_ratings,
)
from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.rule_input import check_costs, check_rules, read_rule_input
from dissensus.pipeline.score.settings import (
    Adjustment,
    DecisionSettings,
    axis_of_seats,
    list_names,
    resolve_seats,
    resolve_settings,
)
from dissensus.schema.item_scores import ItemScores
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import BoolArray
from dissensus.stats.score.pseudo_values import Statistic, average_ratings

Measured = tuple[ScoreRow, Statistic | None]
"""Row of a statistic, and the statistic; None if it is undefined or withheld."""


class _RuleOutcome(NamedTuple):
    """Decisions of a rule at one ratio of costs, about each item and, without its rater, about that of each rating."""

    decision: Decision
    blocks: BoolArray  # True for blocked items, shape (I,)
    rest_blocks: BoolArray  # True for ratings whose item the others would block, shape (N,)
    rest_decides: BoolArray  # True for ratings whose item has other answers to decide on, shape (N,)


_NEEDS: Final = (
    "group rules need an axis (--by), expert needs gold labels (--gold), dices and any-question need several "
    "questions, poststratified and score need a file (--population-labels, --scores), jury needs --seats"
)


def compare_decisions(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings,
    *,
    rules: Sequence[str] | None = None,
    costs: Sequence[Sequence[float]] = ((1, 1),),
    at_least: float = 0.5,
    questions: str | Sequence[str] | None = None,
    unsafe: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    cross: str | Sequence[str] = (),
    gold: str | None = None,
    scores: ItemScores | None = None,
    populations: ItemScores | None = None,
    seats: Mapping[str, int] | None = None,
    min_raters: int = 8,
    suppress_below: int = 0,
    confidence: float = 0.95,
    adjust: Adjustment = "bh",
) -> DecisionComparison:
    """Compare which items each rule would block, and whom it overrules; no rule is chosen.

    Parameters
    ----------
    ratings
        The ratings.
    rules
        Rules by name; by default all that the data support: plurality, share, dices, any-question, group-balanced,
        any-group, worst-group, poststratified, expert, score, jury.
    costs
        Pairs of the cost of blocking an item that is safe and of letting one through that is not.
    at_least
        Threshold of the rule any-group: share of a group at which it blocks an item.
    questions
        The first is the question on which people are overruled, the others are those of the rules dices and
        any-question; by default the overall ones, ``Q_overall`` first.
    unsafe, by, cross, min_raters, suppress_below, confidence, adjust
        As for `score_chatbots`. Rules over groups count those with `min_raters` raters or more, and jurors are drawn
        from such groups.
    gold
        Attribute of items with the label of experts, for the rule expert.
    scores
        Scores of models, for the rule score.
    populations
        Shares of unsafe answers of populations, for the rule poststratified.
    seats
        Seats by group of one axis, such as ``{"gender=Woman": 6, "gender=Man": 6}``, for the rule jury; the axis is
        compared too.

    Returns
    -------
    DecisionComparison

    Raises
    ------
    NotFound
        An unknown question, axis, group or attribute.
    InvalidInput
        An unknown rule, costs that are not above 0, or a named rule that the data do not support.

    Examples
    --------
    >>> frame = pl.DataFrame({
    ...     "item_id": ["1", "1", "1", "2", "2"], "rater_id": ["ann", "bob", "cy", "ann", "bob"],
    ...     "Q_overall": ["Yes", "No", "No", "Yes", "Yes"],
    ... })
    >>> comparison = compare_decisions(Ratings.from_frame(frame), costs=[(1, 1), (1, 3)])
    >>> [(decision.name, decision.n_blocked, decision.changed_items) for decision in comparison.decisions]
    [('plurality at 1:1', 1, ()), ('plurality at 1:3', 1, ()), ('share at 1:1', 1, ()), ('share at 1:3', 2, ('1',))]
    """
    settings = _resolve_decision_settings(
        ratings,
        rules=rules,
        costs=costs,
        at_least=at_least,
        gold=gold,
        seats=seats,
        questions=questions,
        unsafe=unsafe,
        by=by,
        cross=cross,
        min_raters=min_raters,
        suppress_below=suppress_below,
        confidence=confidence,
        adjust=adjust,
    )
    membership = build_group_membership(ratings, settings)
    overall = read_group_ratings(ratings, settings.questions[0], settings.unsafe)
    of_items, of_others = (
        tuple(
            bind_rules(
                read_rule_input(ratings, settings, membership, scores, populations, judged), settings.rules, at_least
            )
        )
        for judged in (None, overall)
    )
    left_out = [rule for rule in settings.rules if rule not in {bound.rule for bound in of_items}]
    if rules and left_out:
        raise InvalidInput(f"The data do not support the rules {', '.join(left_out)}: {_NEEDS}.")
    outcomes = list(_decide(of_items, of_others, settings, ratings.items[ITEM_ID]))
    statistics = [
        part
        for outcome in outcomes
        for group in membership.split(overall)
        for part in _measure(group, outcome, settings)
    ]
    decisions = tuple(outcome.decision for outcome in outcomes)
    return DecisionComparison(
        decisions=decisions,
        rows=tuple(row for row, _ in statistics),
        gaps=adjust_gaps(list(_build_overruled_gaps(statistics, decisions, settings)), settings),
        settings=settings,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        n_ratings=ratings.n_ratings,
        notes=(*ratings.notes, *_describe_missing(left_out), *(scores.notes if scores else ())),
        warnings=tuple(filter(None, [scores.describe_unrated(ratings.items[ITEM_ID])])) if scores else (),
        version=version("dissensus"),
    )


def _resolve_decision_settings(
    ratings: Ratings,
    *,
    rules: Sequence[str] | None,
    costs: Sequence[Sequence[float]],
    at_least: float,
    gold: str | None,
    seats: Mapping[str, int] | None,
    by: str | Sequence[str],
    **options: Any,
) -> DecisionSettings:
    """Check settings against the ratings; the axis of the seats is compared too."""
    seated = None if seats is None else resolve_seats(ratings, seats)
    base = resolve_settings(ratings, by=(*list_names(by), *axis_of_seats(seated)), **options)
    settings = DecisionSettings(
        **{name: getattr(base, name) for name in base.__dataclass_fields__},
        rules=check_rules(rules),
        costs=check_costs(costs),
        at_least=at_least,
        gold=gold,
        seats=seated,
    )
    if seated and "jury" not in settings.rules:
        raise InvalidInput("There are seats, and the rule jury is not compared. Name it too, or leave the seats out.")
    return settings


def _decide(
    rules: Sequence[BoundRule], by_others: Sequence[BoundRule], settings: DecisionSettings, item_ids: pl.Series
) -> Iterator[_RuleOutcome]:
    """Yield the decisions of each rule at each ratio of costs, with the items on which they differ from the first."""
    first = None
    for rule, of_rest in zip(rules, by_others, strict=True):
        for costs in settings.costs:
            blocks = rule.block(costs)
            first = blocks if first is None else first
            decision = Decision(
                name=f"{rule.name} at {costs}" if len(settings.costs) > 1 else rule.name,
                rule=rule.rule,
                block_cost=costs.block,
                miss_cost=costs.miss,
                n_blocked=int(blocks.sum()),
                n_undecided=int((~rule.decides).sum()),
                n_lone_ratings=int((~of_rest.decides).sum()),
                changed_items=tuple(item_ids.filter(pl.Series(blocks != first)).to_list()),
                blocked_items=tuple(item_ids.filter(pl.Series(blocks)).to_list()),
            )
            yield _RuleOutcome(decision, blocks, of_rest.block(costs), of_rest.decides)


def _measure(group: ScoredGroup, outcome: _RuleOutcome, settings: DecisionSettings) -> Iterator[Measured]:
    """Yield the shares of a group's ratings that the decision without their rater overrules, and their mean cost.

    A rating on whose item nobody else gave an answer to decide on is overruled by nobody, and is left out.
    """
    decided, decision = outcome.rest_decides[group.indices], outcome.decision
    judged = replace(group, ratings=group.ratings.select(decided))
    is_blocked, unsafe = outcome.rest_blocks[group.indices][decided], judged.ratings.unsafe > 0
    safe_blocked, unsafe_passed = (part.astype(np.float64) for part in (is_blocked & ~unsafe, ~is_blocked & unsafe))
    cost = decision.block_cost * safe_blocked + decision.miss_cost * unsafe_passed
    keys = {"model": decision.name, "question": settings.questions[0]}
    for rated, metric, values in (
        (group, "blocked", outcome.blocks[group.ratings.items].astype(np.float64)),
        (judged, OVERRULED, safe_blocked + unsafe_passed),
        (judged, "blocked_though_safe", safe_blocked),
        (judged, "passed_though_unsafe", unsafe_passed),
        (judged, "cost", cost),
    ):
        compute = partial(average_ratings, rated.ratings, values=values, is_share=metric != "cost")
        yield build_row(rated, metric, compute, keys, settings)


def _build_overruled_gaps(
    statistics: Sequence[Measured], decisions: Sequence[Decision], settings: DecisionSettings
) -> Iterator[GapRow]:
    """Yield the gap of each decision, withheld where a rule does not judge the ratings of all groups alike."""
    rules = {decision.name: decision.rule for decision in decisions}
    for gap in build_gaps([part for part in statistics if part[0].metric == OVERRULED], settings):
        reason = WITHOUT_GAP.get(rules[str(gap.model)])
        yield (
            gap
            if reason is None
            else replace(
                gap,
                worst=None,
                best=None,
                estimate=None,
                by_chance=None,
                pair=None,
                p=None,
                reason=gap.reason or reason,
            )
        )


def _describe_missing(left_out: Sequence[str]) -> Iterator[str]:
    """Yield a note on rules that were left out, with what they need."""
    if left_out:
        yield f"Rules without their data: {', '.join(left_out)}; {_NEEDS}."
