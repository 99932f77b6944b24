"""People to invite so that every cell of a quota ends with enough raters."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from math import prod
from typing import Any, Final

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.cost import CostRates
from dissensus.schema.campaign.quota import REST, Quota, QuotaCell
from dissensus.schema.campaign.quota_parser import MAX_AXES, MAX_MARGIN
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.numbers import check_number, check_whole
from dissensus.schema.ratings.columns import CROSSED
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.planning.recruitment import (
    binomial_at_least,
    chance_of_enough,
    open_call_confidence,
    people_for_cells,
    people_for_open_call,
)

MOST_CELLS: Final = 500
ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Cells of a quota, the people that can be recruited for them, and their work."""

    axes: Mapping[str, Mapping[str, float]]  # share of the pool of each group of each axis
    seats: int = 10  # usable raters of each cell
    dropout: float = 0.0  # share of those who begin that does not finish
    removal: float = 0.0  # share of those who finish that is removed for its quality
    group_removal: Mapping[str, float] = field(default_factory=dict)  # of some groups of one axis
    confidence: float = 0.9  # that all cells have their raters
    n_items: int = 350
    per_item: int | None = None  # ratings of an item; None if every rater rates every item
    rates: CostRates | None = None

    def __post_init__(self) -> None:
        check_whole("seats", self.seats, 1, 100_000)
        check_whole("n_items", self.n_items, 1)
        check_number("dropout", self.dropout, 0, 0.99)
        check_number("confidence", self.confidence, 0.01, 0.9999)
        for value in (self.removal, *self.group_removal.values()):
            check_number("removal", value, 0, 0.99)
        if not self.axes:
            raise InvalidInput(
                "There is no axis. Name one with the shares of its groups, such as gender=Man:.5,Woman:.5."
            )
        for axis, groups in self.axes.items():
            _check_shares(axis, groups)
        if prod(len(groups) for groups in self.axes.values()) > MOST_CELLS:
            raise InvalidInput(f"The axes make more than {MOST_CELLS} cells. Use fewer groups or axes.")
        if len(self.axes) > MAX_AXES:
            raise InvalidInput(f"There are {len(self.axes)} axes, and a quota has {MAX_AXES} at most. Use fewer.")
        removed = [self._find_group(name) for name in self.group_removal]
        if len(set(removed)) < len(removed):
            raise InvalidInput("A group has two rates of removal. Give it one.")
        if len({axis for axis, _ in removed}) > 1:
            raise InvalidInput(
                "Rates of removal are given for groups of two axes, so that a cell has two. Give those of one axis, or "
                "cross the axes in one."
            )

    def _find_group(self, name: str) -> tuple[str, str]:
        """Return the axis and the group that a name, GROUP or AXIS.GROUP, means."""
        pairs = [(axis, group) for axis, groups in self.axes.items() for group in groups]
        matches = [pair for pair in pairs if name in (pair[1], f"{pair[0]}.{pair[1]}")]
        if len(matches) == 1:
            return matches[0]
        names = [group for _, group in pairs]
        if matches:
            raise InvalidInput(
                f"{name!r} is a group of several axes. Write {format_list([f'{a}.{group}' for a, group in matches])}."
            )
        raise InvalidInput(
            f"There is no group {name!r} to be removed from.{suggest(name, names)} Groups are {format_list(names)}."
        )

    @property
    def removal_by_group(self) -> dict[tuple[str, str], float]:
        """Share of removed raters by axis and group."""
        return {self._find_group(name): value for name, value in self.group_removal.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruitedCell:
    """A cell of a quota with the people that it takes."""

    cell: str
    share: float  # of the pool
    needed: int  # usable raters
    removal: float
    seats: int  # raters who finish, so that enough remain
    begun: int  # people who begin, so that enough finish
    expected_begun: float  # people who begin until all seats are taken, on average
    chance: float  # that enough of the seats remain
    chance_begun: float  # that enough remain of so many people who begin


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan(JsonResult):
    """People to invite for each cell, and the quota of a campaign."""

    settings: PoolSettings
    cells: tuple[RecruitedCell, ...]
    margin_percent: int  # of all cells, if they need equal numbers of seats; else 0, and the campaign lists its cells
    confidence: float  # that enough of the seats of all cells remain
    open_call: int  # people of the whole pool who begin, until all seats are taken
    open_call_confidence: float
    rest: int  # target of people outside all groups
    rest_seats: int  # with the margin
    minutes_per_rater: int | None
    cost: float | None  # of so many people who begin, and of those outside all groups who are expected to
    expected_cost: float | None  # of all seats, with as many drop-outs as are expected
    campaign: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"schema_version": 1, "question": "pool", **asdict(self)}


def plan_pool(settings: PoolSettings) -> PoolPlan:
    """Compute the seats of each cell and the people to invite, by exact probabilities."""
    crossed = list(product(*settings.axes.values()))
    shares = [
        prod(settings.axes[axis][group] for axis, group in zip(settings.axes, cell, strict=True)) for cell in crossed
    ]
    removal = [_find_removal(settings, cell) for cell in crossed]
    needed = [settings.seats] * len(crossed)
    seats = people_for_cells(needed, [1 - r for r in removal], settings.confidence)
    quota = _fit_quota(settings, crossed, seats, shares)
    total = sum(quota.targets.values())
    if settings.per_item is not None and settings.per_item > total:
        raise InvalidInput(
            f"{settings.per_item:,} ratings of an item cannot come from {total:,} raters, who rate an item once. Plan "
            "more seats, or fewer ratings of an item."
        )
    capacity = [quota.capacities[CROSSED.join(cell)] for cell in crossed]
    finish = 1 - settings.dropout
    begun = people_for_cells(capacity, [finish] * len(crossed), settings.confidence)
    finishing = [share * finish for share in shares]
    call = people_for_open_call(finishing, capacity, settings.confidence)
    n_raters = sum(quota.capacities.values())
    # Nobody plans how many people outside all groups begin: of these the mean number drops out.
    dropped = sum(begun) - sum(capacity) + quota.capacities[REST] * settings.dropout / finish
    chances = [binomial_at_least(n, 1 - r, settings.seats) for n, r in zip(capacity, removal, strict=True)]
    load = settings.n_items if settings.per_item is None else settings.n_items * settings.per_item / n_raters
    rates = settings.rates
    return PoolPlan(
        settings=settings,
        cells=tuple(
            RecruitedCell(
                cell=CROSSED.join(cell),
                share=s,
                needed=settings.seats,
                removal=r,
                seats=n,
                begun=b,
                expected_begun=n / finish,
                chance=chance,
                chance_begun=chance_of_enough(b, finish, n, 1 - r, settings.seats),
            )
            for cell, s, r, n, b, chance in zip(crossed, shares, removal, capacity, begun, chances, strict=True)
        ),
        margin_percent=quota.margin_percent,
        confidence=prod(chances),
        open_call=call,
        open_call_confidence=open_call_confidence(call, finishing, capacity),
        rest=quota.rest,
        rest_seats=quota.capacities[REST],
        minutes_per_rater=rates.minutes(load) if rates else None,
        cost=_compute_cost(rates, load, n_raters, dropped) if rates else None,
        expected_cost=_compute_cost(rates, load, n_raters, n_raters * settings.dropout / finish) if rates else None,
        campaign=_write_campaign(settings, quota),
    )


def _fit_quota(
    settings: PoolSettings, crossed: Sequence[tuple[str, ...]], seats: Sequence[int], shares: Sequence[float]
) -> Quota:
    """Return the quota with so many seats: by a margin if all cells need equal numbers, else by cells of their own."""
    axes = {axis: {group: (group,) for group in groups} for axis, groups in settings.axes.items()}
    if len(set(seats)) == 1 and (margin := _margin_for(settings.seats, seats[0])) <= MAX_MARGIN:
        rest = _rest_seats(shares, settings.seats * len(crossed))
        return Quota(axes=axes, seats=settings.seats, rest=rest, margin_percent=margin)
    cells = tuple(
        QuotaCell(groups=dict(zip(settings.axes, cell, strict=True)), seats=n)
        for cell, n in zip(crossed, seats, strict=True)
        if n != min(seats)
    )
    return Quota(axes=axes, seats=min(seats), rest=_rest_seats(shares, sum(seats)), cells=cells)


def _check_shares(axis: str, groups: Mapping[str, float]) -> None:
    if not groups:
        raise InvalidInput(f"{axis} has no groups. Give their shares, such as Man:.5,Woman:.5.")
    for group, share in groups.items():
        if not 0 < share <= 1:
            raise InvalidInput(f"The share of {group} in {axis} is {share:g}; give a number above 0, up to 1.")
    total = sum(groups.values())
    if total > 1 + ROUNDING:
        raise InvalidInput(
            f"The shares of {axis} add up to {total:.3f}. Give shares of the pool that add up to 1, or to less if some "
            "people are in no group."
        )


def _find_removal(settings: PoolSettings, cell: tuple[str, ...]) -> float:
    rates = settings.removal_by_group
    return next((rates[pair] for pair in zip(settings.axes, cell, strict=True) if pair in rates), settings.removal)


def _margin_for(target: int, seats: int) -> int:
    """Return the smallest margin in percent with which a target has so many seats."""
    return max(0, -(-(100 * (seats - 1) + 1 - 100 * target) // target)) if seats > target else 0


def _rest_seats(shares: Sequence[float], total: int) -> int:
    """Return the seats of people outside all groups, at least one: declining must not exclude a rater."""
    outside = max(0.0, 1 - sum(shares))
    return max(1, round(total * outside / max(sum(shares), ROUNDING)))


def _compute_cost(rates: CostRates, load: float, finished: int, dropped: float) -> float:
    """Return the pay of all who finish, and of those who drop out for half of their items."""
    return round(rates.money(load, finished) + replace(rates, finished=0.0).money(load / 2, dropped), 2)


def _write_campaign(settings: PoolSettings, quota: Quota) -> dict[str, Any]:
    """Return the part of a campaign's definition that follows from the plan."""
    values: dict[str, Any] = {
        "axes": {axis: {group: [group] for group in groups} for axis, groups in settings.axes.items()},
        "seats": quota.seats,
        "rest": quota.rest,
        "margin_percent": quota.margin_percent,
    }
    if quota.cells:
        values["cells"] = [{"groups": dict(cell.groups), "seats": cell.seats} for cell in quota.cells]
    if settings.per_item is None:
        return {"quota": values}
    # A quota can be balanced only if every cell has a rater of each item.
    balance = {"balanced": True} if min(quota.shares(settings.per_item).values()) else {}
    return {"replication": settings.per_item, "quota": {**values, **balance}}
