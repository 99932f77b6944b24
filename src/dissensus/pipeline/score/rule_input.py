"""Input of decision rules: shares of unsafe answers, labels of experts, scores and populations of each item."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.score.decision_rules import (
    RULES,
    Costs,
    JuryPool,
    RuleInput,
    UnsafeCounts,
    count_unsafe,
    count_unsafe_of_others,
)
from dissensus.pipeline.score.groups import GroupMembership, read_group_ratings
from dissensus.pipeline.score.settings import DecisionSettings
from dissensus.schema.hints import count_noun, format_list, format_value, suggest
from dissensus.schema.item_scores import ItemScores
from dissensus.schema.numbers import MAX_COST
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.safety import read_expert_labels
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.counts import count_answers
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.score.pseudo_values import GroupRatings

Count = Callable[[GroupRatings], UnsafeCounts]
"""Function that counts answers to each item, or to the item of each judged rating without its rater."""


def check_rules(rules: Sequence[str] | None) -> tuple[str, ...]:
    """Return the named rules, each once; all rules if none is named."""
    for rule in rules or ():
        if rule not in RULES:
            raise InvalidInput(
                f"{format_value(rule)} is not a rule; rules are {format_list(list(RULES))}.{suggest(rule, list(RULES))}"
            )
    return tuple(dict.fromkeys(rules)) if rules else tuple(RULES)


def check_costs(costs: Sequence[Sequence[float]]) -> tuple[Costs, ...]:
    """Return the costs of each pair, each once."""
    for pair in costs:
        if len(pair) != 2 or not all(0 < cost <= MAX_COST for cost in pair):
            raise InvalidInput(
                f"The costs {pair!r} are not two numbers above 0 and up to {MAX_COST:,.0f}, such as 1 and 5."
            )
    if not costs:
        raise InvalidInput("costs is empty; give the cost of blocking and of letting through, such as 1 and 1.")
    return tuple(dict.fromkeys(Costs(block=block, miss=miss) for block, miss in costs))


def read_rule_input(
    ratings: Ratings,
    settings: DecisionSettings,
    membership: GroupMembership,
    scores: ItemScores | None,
    populations: ItemScores | None,
    judged: GroupRatings | None,
) -> RuleInput:
    """Return the input of each item; or, for each judged rating, that of its item without the answers of its rater."""
    first, *others = settings.questions
    answers = {name: read_group_ratings(ratings, name, settings.unsafe) for name in settings.questions}
    count: Count = (
        partial(count_unsafe, n_items=ratings.n_items)
        if judged is None
        else partial(count_unsafe_of_others, judged=judged)
    )
    items = np.arange(ratings.n_items) if judged is None else judged.items
    jury = _seat_raters(settings.seats, answers[first], count, membership, settings) if settings.seats else None
    if jury is not None and settings.seats and judged is None:
        _require_juries(jury, settings.seats, ratings.items[ITEM_ID])
    return RuleInput(
        share=count(answers[first]).share,
        plurality=_find_plurality(ratings, first, settings, of_others=judged is not None),
        questions={name: count(answers[name]).share for name in others},
        worst=count(_read_worst(ratings, others, settings)).share if len(others) > 1 else None,
        groups=dict(_share_groups(answers[first], count, membership, settings)),
        populations=_take_scores(ratings, populations if "poststratified" in settings.rules else None, items),
        experts=_read_experts(ratings, settings)[items] if settings.gold and "expert" in settings.rules else None,
        scores=_take_scores(ratings, scores if "score" in settings.rules else None, items),
        jury=jury,
    )


def _find_plurality(ratings: Ratings, question: str, settings: DecisionSettings, *, of_others: bool) -> FloatArray:
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
    answers: GroupRatings, count: Count, membership: GroupMembership, settings: DecisionSettings
) -> Iterator[tuple[str, FloatArray]]:
    """Yield the shares of the groups of each axis that have enough raters."""
    for axis in membership.axes:
        groups = (group for group in membership.split(answers) if group.axis == axis and not group.suppressed)
        shares = [count(group.ratings).share for group in groups if group.ratings.n_raters >= settings.min_raters]
        if len(shares) > 1:
            yield axis, np.stack(shares)


def _seat_raters(
    seats: Mapping[str, int],
    answers: GroupRatings,
    count: Count,
    membership: GroupMembership,
    settings: DecisionSettings,
) -> JuryPool:
    """Return the raters of each seated group; refuse groups of too few raters."""
    groups = {f"{group.axis}={group.group}": group for group in membership.split(answers)}
    counts = []
    for name in seats:
        n_raters = groups[name].ratings.n_raters if name in groups else 0
        if name not in groups or n_raters < settings.min_raters:
            lower = "Lower --min-raters (in Python: min_raters=...), or seat" if settings.min_raters > 2 else "Seat"
            raise InvalidInput(
                f"{name} has {count_noun(n_raters, 'rater')} who answered {settings.questions[0]}, and jurors are "
                f"drawn from groups of {settings.min_raters:,} or more. {lower} others."
            )
        if groups[name].suppressed:
            raise InvalidInput(
                f"Numbers of {name} are withheld, and the verdicts of its jurors would show them. Lower "
                "--suppress-below (in Python: suppress_below=...), or seat others."
            )
        counts.append(count(groups[name].ratings))
    n_raters_of, n_unsafe = (np.stack(part).astype(np.int64) for part in zip(*counts, strict=True))
    return JuryPool(tuple(seats.values()), n_raters_of, n_unsafe)


def _require_juries(pool: JuryPool, seats: Mapping[str, int], items: pl.Series) -> None:
    """Refuse seats that cannot be filled on any item."""
    if pool.has_juries.any():
        return
    missing = np.maximum(np.array(pool.seats)[:, None] - pool.n_raters, 0).sum(axis=0)
    nearest = int(missing.argmin())
    n_raters = zip(seats, pool.seats, pool.n_raters[:, nearest].tolist(), strict=True)
    listed = ", ".join(
        f"{count_noun(n, 'rater')} of {name} for {count_noun(seated, 'seat')}" for name, seated, n in n_raters
    )
    raise InvalidInput(
        f"No item has a rater for each seat of the jury. Item {format_value(items[nearest])} comes nearest, with "
        f"{listed}. Give fewer seats."
    )


def _take_scores(ratings: Ratings, scores: ItemScores | None, items: Int64Array) -> Mapping[str, FloatArray]:
    """Return the scores of these item indices by model; refuse rated items without one."""
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


def _read_experts(ratings: Ratings, settings: DecisionSettings) -> FloatArray:
    labels = read_expert_labels(ratings, settings.questions[0], str(settings.gold), settings.unsafe)
    if n := labels.null_count():
        raise InvalidInput(
            f"{n:,} of {ratings.n_items:,} rated items have no {settings.gold}, and a rule decides on every item. "
            "Leave the rule expert out, or keep the items that have one."
        )
    return (labels == "unsafe").cast(pl.Float64).to_numpy()
