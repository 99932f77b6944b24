"""Items in lists of experts and owners, by the state of their gold labels."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from dissensus.schema.campaign.gold import ITEM_STATES, PARTS, GoldItemState, GoldPart
from dissensus.store.gold import GoldProgressTable
from dissensus.store.items import ItemTable


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldCounts:
    """Items that experts label by the state of their gold labels."""

    states: Mapping[GoldItemState, int]
    n_of_file: int  # Items with all labels from their file
    n_withheld: int
    n_first: int  # Items that experts may label, and nobody has


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenItems:
    """Items in progress that need the same labels, and of which an expert labelled the same parts."""

    missing: Mapping[GoldPart, int]  # Labels that each part needs
    labelled: Collection[GoldPart]  # Parts that the expert labelled
    n: int
    first: int  # Position of the first one

    @property
    def wanted(self) -> tuple[GoldPart, ...]:
        """Parts that need a label of this expert."""
        return tuple(part for part, n in self.missing.items() if n and part not in self.labelled)

    @property
    def are_correctable(self) -> bool:
        """True if the expert may still correct a label."""
        return any(self.missing[part] for part in self.labelled)


def count_gold_items(tx: Connection, campaign_id: str) -> GoldCounts:
    """Count the items that experts label, all of a campaign or its sample, by the state of their labels."""
    progress, item = GoldProgressTable, ItemTable
    in_campaign = and_(item.campaign_id == campaign_id, item.in_gold_sample)
    flags = (item.withheld, item.gold_of_file)
    items = tx.execute(select(*flags, func.count()).where(in_campaign).group_by(*flags)).all()
    begun = select(progress.state, func.count()).where(progress.campaign_id == campaign_id).group_by(progress.state)
    counted = dict(tx.execute(begun).all())
    states = {state: counted.get(state, 0) for state in ITEM_STATES}
    hidden = select(func.count()).select_from(item).join(progress, progress.item_id == item.id)
    n_labelled = sum(states.values()) - (tx.scalar(hidden.where(in_campaign, item.withheld.is_(True))) or 0)
    n_of_file = sum(n for _, of_file, n in items if of_file)
    return GoldCounts(
        states={
            **states,
            "unlabelled": sum(n for _, _, n in items) - n_of_file - sum(states.values()),
            "settled": states["settled"] + n_of_file,
        },
        n_of_file=n_of_file,
        n_withheld=sum(n for withheld, _, n in items if withheld),
        n_first=sum(n for withheld, of_file, n in items if not withheld and not of_file) - n_labelled,
    )


def count_open_items(tx: Connection, campaign_id: str, staff_id: str) -> tuple[OpenItems, ...]:
    """Count the items in progress that are shown to experts, by the labels that they need and have of one of them."""
    columns = [*_MISSING.values(), *(_has_label(staff_id, part).label(part) for part in PARTS)]
    query = select(func.count(), func.min(GoldProgressTable.position), *columns)
    groups = tx.execute(query.where(_is_open(campaign_id)).group_by(*columns))
    return tuple(
        OpenItems(
            missing=dict(zip(PARTS, values[: len(PARTS)], strict=True)),
            labelled=[part for part, has_label in zip(PARTS, values[len(PARTS) :], strict=True) if has_label],
            n=n,
            first=first,
        )
        for n, first, *values in groups
    )


def list_correctable_positions(tx: Connection, campaign_id: str, staff_id: str, *, most: int) -> tuple[int, ...]:
    """Return the positions of the first items in progress whose labels an expert may correct."""
    correctable = or_(*(and_(_MISSING[part] > 0, _has_label(staff_id, part)) for part in PARTS))
    query = select(GoldProgressTable.position).where(_is_open(campaign_id), correctable)
    return tuple(tx.scalars(query.order_by(GoldProgressTable.position).limit(most)))


_MISSING: Final[Mapping[GoldPart, InstrumentedAttribute[int]]] = {
    "safety": GoldProgressTable.n_safety,
    "degree": GoldProgressTable.n_degree,
    "topics": GoldProgressTable.n_topics,
}


def _is_open(campaign_id: str) -> ColumnElement[bool]:
    return and_(_is_visible(campaign_id), GoldProgressTable.state == "in_progress")


def _is_visible(campaign_id: str) -> ColumnElement[bool]:
    """Return the condition that an item with labels is of a campaign, and not withheld from everybody."""
    # Withheld items are few, so that no other one is read.
    withheld = select(ItemTable.id).where(ItemTable.campaign_id == campaign_id, ItemTable.withheld.is_(True))
    return and_(GoldProgressTable.campaign_id == campaign_id, GoldProgressTable.item_id.not_in(withheld))


def _has_label(staff_id: str, part: GoldPart | None = None) -> ColumnElement[bool]:
    """Return the condition that a member of staff labelled an item, or a part of it."""
    labels: Any = GoldProgressTable.labellers[staff_id]
    has_label: ColumnElement[bool] = (labels if part is None else labels[part]).as_string().is_not(None)
    return has_label


def find_unlabelled_position(tx: Connection, campaign_id: str) -> int | None:
    """Return the position of the first item that experts may label and nobody has, or None."""
    query = select(ItemTable.position).where(_is_in_state(campaign_id, "unlabelled"), ~ItemTable.withheld)
    return tx.scalar(query.order_by(ItemTable.position).limit(1))


def count_disputes(tx: Connection, campaign_id: str, staff_id: str) -> int:
    """Count the disputed items that are shown to raters, and that a member of staff did not label."""
    query = select(func.count()).select_from(GoldProgressTable)
    return tx.scalar(query.where(_is_to_decide(campaign_id, staff_id))) or 0


def list_disputes(tx: Connection, campaign_id: str, staff_id: str, *, most: int) -> tuple[int, ...]:
    """Return the positions of the first items that `count_disputes` counts."""
    query = select(GoldProgressTable.position).where(_is_to_decide(campaign_id, staff_id))
    return tuple(tx.scalars(query.order_by(GoldProgressTable.position).limit(most)))


def _is_to_decide(campaign_id: str, staff_id: str) -> ColumnElement[bool]:
    return and_(_is_visible(campaign_id), GoldProgressTable.state == "disputed", ~_has_label(staff_id))


def list_positions(
    tx: Connection, campaign_id: str, state: GoldItemState | None, *, start: int = 0, offset: int = 0, most: int
) -> tuple[int, ...]:
    """Return the positions of items that experts label, in a state or all, from a position on."""
    query = select(ItemTable.position).where(_is_in_state(campaign_id, state), ItemTable.position >= start)
    return tuple(tx.scalars(query.order_by(ItemTable.position).offset(offset).limit(most)))


def _is_in_state(campaign_id: str, state: GoldItemState | None) -> ColumnElement[bool]:
    progress = GoldProgressTable
    in_campaign = and_(ItemTable.campaign_id == campaign_id, ItemTable.in_gold_sample)
    if state is None:
        return in_campaign
    if state == "unlabelled":
        begun = select(progress.item_id).where(progress.item_id == ItemTable.id).exists()
        return and_(in_campaign, ~ItemTable.gold_of_file, ~begun)
    labelled = select(progress.item_id).where(progress.campaign_id == campaign_id, progress.state == state)
    in_state = ItemTable.id.in_(labelled)
    return and_(in_campaign, or_(ItemTable.gold_of_file, in_state) if state == "settled" else in_state)
