"""Precision of shares, differences and labels of items, by raters and ratings of an item."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.balance import split_ratings
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.plan.settings import MOST_RATERS
from dissensus.schema.numbers import check_whole
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.planning.contrast_power import ContrastDesign, DesignCell
from dissensus.stats.planning.precision import (
    HalfWidth,
    ItemPrecision,
    contrast_half_width,
    item_precision,
    pool_half_width,
    single_share,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRow:
    """Precision of one design."""

    n_raters: int
    per_item: int
    n_items: int
    items_per_rater: float
    share: HalfWidth
    group_share: HalfWidth  # of one of the groups
    difference: HalfWidth  # of two of the groups
    item: ItemPrecision
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionPlan(JsonResult):
    """Precision by the numbers of raters and of ratings of an item."""

    pilot: Pilot
    groups: int
    confidence: float
    rows: tuple[PrecisionRow, ...]
    rates: CostRates | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"schema_version": 1, "question": "precision", **asdict(self)}


def plan_precision(
    pilot: Pilot,
    *,
    raters: Sequence[int],
    per_item: Sequence[int],
    n_items: int,
    groups: int = 2,
    confidence: float = 0.95,
    rates: CostRates | None = None,
) -> PrecisionPlan:
    """Compute the widths of intervals for each number of raters and of ratings of an item.

    Raters and the ratings of an item are split evenly over `groups`. If `per_item` is empty, every rater rates every
    item.
    """
    check_whole("groups", groups, 2, 50)
    check_whole("n_items", n_items, 1)
    if not raters:
        raise InvalidInput("There is no number of raters. Give some, such as 50, 100 and 200.")
    for n in raters:
        check_whole("raters", n, 2, MOST_RATERS)
    for k in per_item:
        check_whole("per_item", k, 1, MOST_RATERS)
    rows = [
        _measure_design(pilot, n, k, n_items=n_items, groups=groups, confidence=confidence, rates=rates)
        for n in raters
        for k in (per_item or [n])
    ]
    return PrecisionPlan(pilot=pilot, groups=groups, confidence=confidence, rows=tuple(rows), rates=rates)


def _measure_design(
    pilot: Pilot,
    n_raters: int,
    per_item: int,
    *,
    n_items: int,
    groups: int,
    confidence: float,
    rates: CostRates | None,
) -> PrecisionRow:
    if n_raters < 2 * groups:
        raise InvalidInput(
            f"{n_raters} raters make groups of fewer than two. Plan {2 * groups} raters or more for {groups} groups."
        )
    share, model = pilot.share, pilot.model
    sizes = [n_raters // groups + (g < n_raters % groups) for g in range(groups)]
    counts = split_ratings(per_item, sizes)
    whole = single_share(share, n_raters, per_item, n_items)
    cells = [
        DesignCell(share=share, n_raters=size, per_item=k, weight=w)
        for size, k, w in zip(sizes[-2:], counts[-2:], (-1.0, 1.0), strict=True)
    ]
    load = whole.load(whole.cells[0])
    return PrecisionRow(
        n_raters=n_raters,
        per_item=per_item,
        n_items=n_items,
        items_per_rater=load,
        share=pool_half_width(model, whole, groups, confidence=confidence),
        group_share=contrast_half_width(
            model, single_share(share, sizes[-1], counts[-1], n_items), confidence=confidence
        ),
        difference=contrast_half_width(model, ContrastDesign(tuple(cells), n_items), confidence=confidence),
        item=item_precision(model, share, per_item, n_groups=groups, confidence=confidence),
        cost=rates.money(load, n_raters) if rates else None,
    )
