"""Analysis of the items of each value of an attribute, such as topics or degrees of harm."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from dissensus.pipeline.analyse.result import Analysis, ItemRow, Row
from dissensus.pipeline.analyse.settings import AnalysisSettings
from dissensus.schema.ratings.columns import REST
from dissensus.schema.ratings.item_values import list_item_values
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.groups.coverage import FEWEST_ITEMS_OF_VALUE
from dissensus.stats.multiple_testing import adjust_tests, benjamini_hochberg, holm

OF_POOL: Final = ("answer_share", "answer_mean", "pairwise_agreement", "irr")
OF_GROUPS: Final = ("answer_share", "answer_mean", "mean_difference", "superiority", "group_distance", "between_share")
ALPHA: Final = 0.05

Run = Callable[[Ratings, AnalysisSettings], Analysis]


def analyse_item_attributes(
    ratings: Ratings, settings: AnalysisSettings, run: Run, report: Callable[[float], None]
) -> tuple[ItemRow, ...]:
    """Return statistics of the pool and of groups on the items of each value, with tests adjusted in one family."""
    parts = [
        (attribute, value, mask)
        for attribute in settings.by_item
        for value, mask in list_item_values(ratings, attribute)
    ]
    rows: list[ItemRow] = []
    for number, (attribute, value, mask) in enumerate(parts):
        rows += _analyse_part(ratings.select_items(mask), settings, attribute, value, run)
        report((number + 1) / len(parts))
    return tuple(_adjust(rows, settings))


def _analyse_part(part: Ratings, settings: AnalysisSettings, attribute: str, value: str, run: Run) -> Iterator[ItemRow]:
    """Yield the rows of one value: those of the pool, then of each axis with two groups that rated its items."""
    reasons = {axis: _explain_incomparable(part, axis, settings.against) for axis in settings.axes}
    axes = tuple(axis for axis, reason in reasons.items() if reason is None)
    own = replace(
        settings,
        axes=axes,
        by_item=(),
        differences=False,
        against=settings.against if axes else REST,
        permutations=settings.permutations if axes else 0,
    )
    analysis = run(part, own)
    for row in analysis.overall:
        if row.metric in OF_POOL:
            yield _name_part(row, attribute, value, part.n_items)
    for row in analysis.rows:
        if row.metric in OF_GROUPS:
            yield _name_part(row, attribute, value, part.n_items)
    for axis, reason in reasons.items():
        if reason is not None:
            blank = Row(
                axis=axis, group=None, against=None, metric="between_share", estimate=None, n_raters=0, n_items=0
            )
            yield _name_part(replace(blank, reason=reason), attribute, value, part.n_items)


def _explain_incomparable(part: Ratings, axis: str, against: str) -> str | None:
    """Return the reason why groups of an axis are not compared on some items, None if they are."""
    _, groups = part.group_codes(axis)
    if len(groups) < 2:
        raters = f"only {groups[0]} rated" if groups else "nobody of known group rated"
        return f"{raters} these items, so there is nobody to compare with"
    if against not in (REST, *groups):
        return f"nobody of {against} rated these items"
    return None


def _name_part(row: Row, attribute: str, value: str, n_items: int) -> ItemRow:
    few = f"fewer than {FEWEST_ITEMS_OF_VALUE} items" if n_items < FEWEST_ITEMS_OF_VALUE else None
    warning = "; ".join(text for text in (row.warning, few) if text) or None
    fields = {name: getattr(row, name) for name in Row.__dataclass_fields__} | {"warning": warning}
    if n_items == 1 and row.ci_low is not None:
        fields |= {"ci_low": None, "ci_high": None, "reason": "no interval: one item does not tell how items differ"}
    return ItemRow(attribute=attribute, value=value, n_items_of_value=n_items, **fields)


def _adjust(rows: list[ItemRow], settings: AnalysisSettings) -> Iterator[ItemRow]:
    """Yield rows whose p-values are adjusted over all of them; by Holm for max-T, since raters may differ by value."""
    adjusted = adjust_tests((row.p for row in rows), benjamini_hochberg if settings.adjust == "bh" else holm)
    for row, p in zip(rows, adjusted, strict=True):
        yield replace(row, p_adjusted=p)


def describe_attributes(ratings: Ratings, settings: AnalysisSettings) -> Iterator[str]:
    """Yield notes on sets, and on items without a value."""
    yield from ratings.describe_sets(settings.by_item)
    for attribute in settings.by_item:
        n = ratings.n_items - ratings.item_members(attribute)["row"].n_unique()
        if n:
            yield f"{n:,} of {ratings.n_items:,} items {'has' if n == 1 else 'have'} no {attribute}."


def warn_of_family(rows: Sequence[ItemRow], settings: AnalysisSettings) -> Iterator[str]:
    """Yield a warning if no two-sided test can remain below .05 after adjustment unless others are below it, too.

    Its smallest p-value is 2 / (permutations + 1), which is multiplied by the number of tests.
    """
    n_tests = sum(row.p is not None for row in rows)
    needed = math.ceil(2 * n_tests / ALPHA)
    if n_tests and settings.permutations < needed:
        yield (
            f"{n_tests} tests by {' and '.join(settings.by_item)} are adjusted together. With "
            f"{settings.permutations:,} permutations no two-sided one of them alone can remain below .05; {needed:,} "
            "suffice."
        )
