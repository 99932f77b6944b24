"""Labels of items by one decision rule."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.score.groups import build_group_membership
from dissensus.pipeline.score.rule_input import check_costs, check_rules, read_rule_input
from dissensus.pipeline.score.rules import OVER_GROUPS, bind_rules
from dissensus.pipeline.score.settings import DecisionSettings, resolve_settings
from dissensus.schema.hints import format_list
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.safety import SAFE_UNSAFE
from dissensus.schema.ratings.table import Ratings

OF_RATINGS: Final = ("share", "any-question", *OVER_GROUPS)
"""Rules that label items by ratings alone, besides the plurality."""


def label_by_rule(
    ratings: Ratings,
    rule: str,
    *,
    costs: Sequence[float] = (1, 1),
    at_least: float = 0.5,
    questions: str | Sequence[str] | None = None,
    unsafe: str | Sequence[str] | None = None,
    by: str | None = None,
    min_raters: int = 8,
) -> pl.DataFrame:
    """Label items as safe or unsafe by a decision rule over ratings.

    Parameters
    ----------
    ratings
        The ratings.
    rule
        share, any-question, group-balanced, any-group or worst-group.
    costs
        Cost of blocking an item that is safe, and of letting one through that is not.
    at_least
        Share of one group from which on the rule any-group calls an item unsafe.
    questions, unsafe, min_raters
        As for `compare_decisions`.
    by
        Axis of the rules over groups.

    Returns
    -------
    DataFrame
        ``item_id``, ``n_ratings`` (with an answer to a question of the rule) and ``label`` (Enum of safe and unsafe,
        null where the rule has no answer to decide on), one row for each item.

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
    if name not in OF_RATINGS:
        raise InvalidInput(f"The rule {name} needs more than ratings; rules of ratings are {format_list(OF_RATINGS)}.")
    if name in OVER_GROUPS and by is None:
        raise InvalidInput(f"The rule {name} is over groups. Name their axis: --by AXIS (in Python: by=...).")
    if name not in OVER_GROUPS and by is not None:
        raise InvalidInput(f"The rule {name} hears all raters alike. Leave the axis out: --by (in Python: by).")
    base = resolve_settings(
        ratings, questions=questions, unsafe=unsafe, by=() if by is None else by, min_raters=min_raters
    )
    settings = DecisionSettings(
        **{field: getattr(base, field) for field in base.__dataclass_fields__},
        rules=(name,),
        costs=check_costs([costs]),
        at_least=at_least,
    )
    data = read_rule_input(ratings, settings, build_group_membership(ratings, settings), None, None, None)
    bound = next(bind_rules(data, settings.rules, at_least), None)
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
