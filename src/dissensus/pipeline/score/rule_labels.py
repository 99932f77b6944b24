"""Labels of items by one decision rule."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.score.decision_rules import OVER_GROUPS, bind_rules
from dissensus.pipeline.score.groups import build_group_membership
from dissensus.pipeline.score.rule_input import check_costs, check_rules, read_rule_input
from dissensus.pipeline.score.settings import DecisionSettings, axis_of_seats, resolve_seats, resolve_settings
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.item_scores import ItemScores
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.safety import SAFE_UNSAFE
from dissensus.schema.ratings.table import Ratings

LABEL_RULES: Final = ("share", "any-question", *OVER_GROUPS, "expert", "score", "jury")
"""Rules that call items safe or unsafe; plurality, dices and poststratified have functions of their own."""


def label_by_rule(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings,
    rule: str,
    *,
    costs: Sequence[float] = (1, 1),
    at_least: float = 0.5,
    questions: str | Sequence[str] | None = None,
    unsafe: str | Sequence[str] | None = None,
    by: str | None = None,
    min_raters: int = 8,
    gold: str | None = None,
    scores: ItemScores | None = None,
    seats: Mapping[str, int] | None = None,
) -> pl.DataFrame:
    """Label items as safe or unsafe by a decision rule.

    Parameters
    ----------
    ratings
        The ratings.
    rule
        share, any-question, group-balanced, any-group, worst-group, expert, score or jury.
    costs
        Cost of blocking an item that is safe, and of letting one through that is not.
    at_least
        Share of one group from which on the rule any-group calls an item unsafe.
    questions, unsafe, min_raters
        As for `compare_decisions`.
    by
        Axis of the rules over groups.
    gold
        Attribute of items with the label of experts, for the rule expert.
    scores
        Scores of one model, for the rule score.
    seats
        Seats by group of one axis, such as ``{"gender=Woman": 6, "gender=Man": 6}``, for the rule jury.

    Returns
    -------
    DataFrame
        ``item_id``, ``n_ratings`` (with an answer to a question of the rule) and ``label`` (Enum of safe and unsafe,
        null where the rule has no answer to decide on, or no rater for a seat), one row for each item.

    Raises
    ------
    InvalidInput
        An unknown rule, or one that the data do not support.

    Examples
    --------
    >>> frame = pl.DataFrame({
    ...     "item_id": ["1", "1", "1", "2", "2"], "rater_id": ["ann", "bob", "cy", "ann", "bob"],
    ...     "Q_overall": ["Yes", "No", "No", "Yes", "Yes"],
    ... })
    >>> label_by_rule(Ratings.from_frame(frame), "share", costs=(1, 3)).rows()
    [('1', 3, 'unsafe'), ('2', 2, 'unsafe')]
    """
    (name,) = check_rules([rule])
    if name not in LABEL_RULES:
        raise InvalidInput(f"The rule {name} labels by another function; rules here are {format_list(LABEL_RULES)}.")
    _check_needs(name, by=by, gold=gold, scores=scores, seats=seats)
    seated = None if seats is None else resolve_seats(ratings, seats)
    axes = axis_of_seats(seated) if by is None else by
    base = resolve_settings(ratings, questions=questions, unsafe=unsafe, by=axes, min_raters=min_raters)
    settings = DecisionSettings(
        **{field: getattr(base, field) for field in base.__dataclass_fields__},
        rules=(name,),
        costs=check_costs([costs]),
        at_least=at_least,
        gold=gold,
        seats=seated,
    )
    rule_input = read_rule_input(ratings, settings, build_group_membership(ratings, settings), scores, None, None)
    bound = next(bind_rules(rule_input, settings.rules, at_least), None)
    if bound is None:
        raise InvalidInput(
            f"The ratings do not support the rule {name}: any-question needs further questions, and rules over groups "
            f"two groups with {settings.min_raters:,} raters or more."
        )
    blocks = bound.block(settings.costs[0])
    first, *others = settings.questions
    has_answer = pl.any_horizontal(pl.col(others if name == "any-question" else [first]).is_not_null())
    counts = ratings.answers.group_by("item").agg(has_answer.sum().alias("n")).sort("item")["n"]
    labels = [
        ("unsafe" if block else "safe") if known else None
        for block, known in zip(blocks.tolist(), bound.decides.tolist(), strict=True)
    ]
    return pl.DataFrame(
        [ratings.items[ITEM_ID], counts.alias("n_ratings"), pl.Series("label", labels, dtype=SAFE_UNSAFE)]
    )


def _check_needs(
    rule: str, *, by: str | None, gold: str | None, scores: ItemScores | None, seats: Mapping[str, int] | None
) -> None:
    """Refuse a rule without the data that it decides by, and data by which it does not decide."""
    if rule in OVER_GROUPS and by is None:
        raise InvalidInput(f"The rule {rule} is over groups. Name their axis: --by AXIS (in Python: by=...).")
    if rule not in OVER_GROUPS and by is not None:
        raise InvalidInput(f"The rule {rule} hears all raters alike. Leave the axis out: --by (in Python: by).")
    for name, value, need in (
        ("expert", gold, "labels of experts, --gold COLUMN (in Python: gold=...)"),
        ("score", scores, "scores of a model, --scores FILE (in Python: scores=...)"),
        ("jury", seats, "seats, such as --seats gender=Woman:6,gender=Man:6 (in Python: seats=...)"),
    ):
        if rule == name and value is None:
            raise InvalidInput(f"The rule {rule} needs {need}.")
        if rule != name and value is not None:
            raise InvalidInput(f"The rule {rule} does not decide by {need}. Leave them out, or name the rule {name}.")
    if scores is not None and len(scores.models) > 1:
        raise InvalidInput(
            f"There are scores of {format_list(scores.models)}. A label is that of one model: name its column, "
            f"--score-column {format_value(scores.models[0])} (in Python: read_scores(..., models=[...]))."
        )
