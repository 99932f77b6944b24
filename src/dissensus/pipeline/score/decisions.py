"""Comparison of decisions by each rule, at each ratio of costs, and their effects on each group."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Final

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.score.decision_comparison import OVERRULED, Decision, DecisionComparison
from dissensus.pipeline.score.estimates import adjust_gaps, build_gaps, build_row
from dissensus.pipeline.score.groups import (
    GroupMembership,
    ScoredGroup,
    build_group_membership,
    read_group_ratings,
)
from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.rules import (
    RULES,
    WITHOUT_GAP,
    Blocks,
    BoundRule,
    Costs,
    RuleInput,
    bind_rules,
    share_unsafe,
    share_unsafe_of_others,
)
from dissensus.pipeline.score.settings import Adjustment, DecisionSettings, resolve_settings
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.item_scores import ItemScores
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.safety import read_expert_labels
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.cluster_robust import Floats
from dissensus.stats.counts import count_answers
from dissensus.stats.score.pseudo_values import Codes, GroupRatings, PseudoValues, average_ratings

Share = Callable[[GroupRatings], Floats]
Measured = tuple[ScoreRow, PseudoValues | None]
MOST_COST: Final = 1e9
_NEEDS: Final = (
    "group rules need an axis (--by), expert needs gold labels (--gold), dices and any-question need several "
    "questions, poststratified and score need a file (--population-labels, --scores)"
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
        any-group, worst-group, poststratified, expert, score.
    costs
        Pairs of the cost of blocking an item that is safe and of letting one through that is not.
    at_least
        Least share of one group at which the rule any-group blocks.
    questions
        The first is the question on which people are overruled, the others are those of the rules dices and
        any-question; by default the overall ones, ``Q_overall`` first.
    unsafe, by, cross, min_raters, suppress_below, confidence, adjust
        As for `score_chatbots`. Rules over groups count those with `min_raters` raters or more.
    gold
        Attribute of items with the label of experts, for the rule expert.
    scores
        Scores of models, for the rule score.
    populations
        Shares of unsafe answers of populations, for the rule poststratified.

    Returns
    -------
    DecisionComparison

    Raises
    ------
    NotFound
        An unknown question, axis or attribute.
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
    if not 0 < at_least <= 1:
        raise InvalidInput(f"at_least is {at_least!r}; give a share above 0 and up to 1, such as 0.5.")
    base = resolve_settings(
        ratings,
        questions=questions,
        unsafe=unsafe,
        by=by,
        cross=cross,
        min_raters=min_raters,
        suppress_below=suppress_below,
        confidence=confidence,
        adjust=adjust,
    )
    settings = DecisionSettings(
        **{name: getattr(base, name) for name in base.__dataclass_fields__},
        rules=_check_rules(rules),
        costs=_check_costs(costs),
        at_least=at_least,
        gold=gold,
    )
    membership = build_group_membership(ratings, settings)
    overall = read_group_ratings(ratings, settings.questions[0], settings.unsafe)
    of_items, of_others = (
        _read_input(ratings, settings, membership, scores, populations, judged) for judged in (None, overall)
    )
    bound = tuple(bind_rules(of_items, settings.rules, at_least))
    if rules and (unbound := [rule for rule in settings.rules if rule not in {part.rule for part in bound}]):
        raise InvalidInput(f"The data do not support the rules {', '.join(unbound)}: {_NEEDS}.")
    decisions = list(_decide(bound, settings, ratings.items[ITEM_ID]))
    by_others = [
        rule.block(costs) for rule in bind_rules(of_others, settings.rules, at_least) for costs in settings.costs
    ]
    statistics = [
        part
        for (decision, blocks), by_other in zip(decisions, by_others, strict=True)
        for group in membership.split(overall)
        for part in _measure(group, decision, blocks, by_other, settings)
    ]
    gaps = list(_build_overruled_gaps(statistics, [decision for decision, _ in decisions], settings))
    return DecisionComparison(
        decisions=tuple(decision for decision, _ in decisions),
        rows=tuple(row for row, _ in statistics),
        gaps=adjust_gaps(gaps, settings),
        settings=settings,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        n_ratings=ratings.n_ratings,
        notes=(*ratings.notes, *_describe_missing(settings, bound)),
        version=version("dissensus"),
    )


def _check_rules(rules: Sequence[str] | None) -> tuple[str, ...]:
    for rule in rules or ():
        if rule not in RULES:
            raise InvalidInput(
                f"{format_value(rule)} is not a rule; rules are {format_list(list(RULES))}.{suggest(rule, list(RULES))}"
            )
    return tuple(dict.fromkeys(rules)) if rules else tuple(RULES)


def _check_costs(costs: Sequence[Sequence[float]]) -> tuple[Costs, ...]:
    for pair in costs:
        if len(pair) != 2 or not all(0 < cost <= MOST_COST for cost in pair):
            raise InvalidInput(
                f"The costs {pair!r} are not two numbers above 0 and up to {MOST_COST:,.0f}, such as 1 and 5."
            )
    if not costs:
        raise InvalidInput("costs is empty; give the cost of blocking and of letting through, such as 1 and 1.")
    return tuple(dict.fromkeys(Costs(block=block, miss=miss) for block, miss in costs))


def _read_input(
    ratings: Ratings,
    settings: DecisionSettings,
    membership: GroupMembership,
    scores: ItemScores | None,
    populations: ItemScores | None,
    judged: GroupRatings | None,
) -> RuleInput:
    """Return the shares of each item; or, of each rating that is judged, those of its item without its rater."""
    first, *others = settings.questions
    answers = {name: read_group_ratings(ratings, name, settings.unsafe) for name in settings.questions}
    share: Share = (
        partial(share_unsafe, n_items=ratings.n_items)
        if judged is None
        else partial(share_unsafe_of_others, judged=judged)
    )
    items = np.arange(ratings.n_items) if judged is None else judged.items
    return RuleInput(
        share=share(answers[first]),
        plurality=_find_plurality(ratings, first, settings, of_others=judged is not None),
        questions={name: share(answers[name]) for name in others},
        worst=share(_read_worst(ratings, others, settings)) if len(others) > 1 else None,
        groups=dict(_share_groups(answers[first], share, membership, settings)),
        populations=_pick(ratings, populations if "poststratified" in settings.rules else None, items),
        experts=_read_experts(ratings, settings)[items] if settings.gold and "expert" in settings.rules else None,
        scores=_pick(ratings, scores if "score" in settings.rules else None, items),
    )


def _find_plurality(ratings: Ratings, question: str, settings: DecisionSettings, *, of_others: bool) -> Floats:
    """Return 1 for items whose most frequent answer is unsafe, 0 for others and for ties with a safe answer.

    Of the others of each rating: the same without the rating.
    """
    item, _, answer = ratings.codes(question)
    scale = ratings.scale(question)
    counts = count_answers(item, answer, n_items=ratings.n_items, n_categories=len(scale))
    unsafe = np.isin(scale, settings.unsafe)
    if of_others:
        counts = counts[item]
        counts[np.arange(len(item)), answer] -= 1
    return np.asarray(counts[:, unsafe].max(axis=1) > counts[:, ~unsafe].max(axis=1), dtype=np.float64)


def _read_worst(ratings: Ratings, questions: Sequence[str], settings: DecisionSettings) -> GroupRatings:
    """Return the worst answer of each rater of an item to the questions."""
    worst = take_worst(ratings.answers.select(questions))
    known = worst.is_not_null().to_numpy()
    items, raters = (ratings.answers[name].to_numpy().astype(np.int64)[known] for name in ("item", "rater"))
    unsafe = worst.is_in(settings.unsafe).fill_null(value=False).to_numpy().astype(np.float64)[known]
    return GroupRatings(items=items, raters=raters, unsafe=unsafe)


def _share_groups(
    answers: GroupRatings, share: Share, membership: GroupMembership, settings: DecisionSettings
) -> Iterator[tuple[str, Floats]]:
    """Yield the shares of the groups of each axis that have enough raters."""
    for axis in membership.axes:
        groups = (group for group in membership.split(answers) if group.axis == axis and not group.suppressed)
        shares = [share(group.ratings) for group in groups if group.ratings.n_raters >= settings.min_raters]
        if len(shares) > 1:
            yield axis, np.stack(shares)


def _pick(ratings: Ratings, scores: ItemScores | None, items: Codes) -> Mapping[str, Floats]:
    """Return the scores of some items; refuse rated items without one."""
    if scores is None:
        return {}
    rated = ratings.items.select(ITEM_ID).join(scores.table, on=ITEM_ID, how="left", maintain_order="left")
    columns = {name: rated[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in scores.models}
    for name, column in columns.items():
        if n := int(np.isnan(column).sum()):
            raise InvalidInput(
                f"{n:,} of {ratings.n_items:,} rated items have no score of {format_value(name)}, and a rule decides "
                "on every item. Give a score of each, or keep the items that have one."
            )
    return {name: column[items] for name, column in columns.items()}


def _read_experts(ratings: Ratings, settings: DecisionSettings) -> Floats:
    labels = read_expert_labels(ratings, settings.questions[0], str(settings.gold), settings.unsafe)
    if n := labels.null_count():
        raise InvalidInput(
            f"{n:,} of {ratings.n_items:,} rated items have no {settings.gold}, and a rule decides on every item. "
            "Leave the rule expert out, or keep the items that have one."
        )
    return (labels == "unsafe").cast(pl.Float64).to_numpy()


def _decide(
    rules: Sequence[BoundRule], settings: DecisionSettings, item_ids: pl.Series
) -> Iterator[tuple[Decision, Blocks]]:
    """Yield the decisions of each rule at each ratio of costs, with the items that differ from the first ones."""
    first = None
    for rule in rules:
        for costs in settings.costs:
            blocks = rule.block(costs)
            first = blocks if first is None else first
            yield (
                Decision(
                    name=f"{rule.name} at {costs}" if len(settings.costs) > 1 else rule.name,
                    rule=rule.rule,
                    block_cost=costs.block,
                    miss_cost=costs.miss,
                    n_blocked=int(blocks.sum()),
                    changed_items=tuple(item_ids.filter(pl.Series(blocks != first)).to_list()),
                    blocked_items=tuple(item_ids.filter(pl.Series(blocks)).to_list()),
                ),
                blocks,
            )


def _measure(
    group: ScoredGroup, decision: Decision, blocks: Blocks, by_others: Blocks, settings: DecisionSettings
) -> Iterator[Measured]:
    """Yield the shares of a group's ratings that the decision without their rater overrules, and their mean cost."""
    ratings = group.ratings
    is_blocked, unsafe = by_others[group.numbers], ratings.unsafe > 0
    safe_blocked, unsafe_passed = (part.astype(np.float64) for part in (is_blocked & ~unsafe, ~is_blocked & unsafe))
    cost = decision.block_cost * safe_blocked + decision.miss_cost * unsafe_passed
    keys = {"model": decision.name, "question": settings.questions[0]}
    for metric, values in (
        ("blocked", blocks[ratings.items].astype(np.float64)),
        (OVERRULED, safe_blocked + unsafe_passed),
        ("blocked_though_safe", safe_blocked),
        ("passed_though_unsafe", unsafe_passed),
        ("cost", cost),
    ):
        yield build_row(
            group, metric, partial(average_ratings, values=values, is_share=metric != "cost"), keys, settings
        )


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


def _describe_missing(settings: DecisionSettings, rules: Sequence[BoundRule]) -> Iterator[str]:
    """Yield a note on rules that were left out, with what they need."""
    left_out = [rule for rule in settings.rules if rule not in {bound.rule for bound in rules}]
    if left_out:
        yield f"Rules without their data: {', '.join(left_out)}; {_NEEDS}."
