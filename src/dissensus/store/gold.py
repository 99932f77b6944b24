"""What experts said of the items of a campaign."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from dissensus.campaign.gold_labels import Decision, Label, Said
from dissensus.store import tables as t
from dissensus.store.core.ids import new_id

WINDOW: Final = 1_000
"""Items whose attributes are held at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An item that experts may label, without its conversation."""

    id: str
    position: int
    name: str
    attributes: Mapping[str, str]  # What the file of the items said of it
    withheld: bool  # Whether a rater reported it, so that nobody is shown it


_TARGET = (
    t.Item.id,
    t.Item.position,
    t.Item.name,
    t.Item.content["attributes"].label("attributes"),
    t.Item.withheld,
)


def targets_of(tx: Connection, campaign_id: str, *, start: int = 0, most: int | None = None) -> tuple[Target, ...]:
    """Return the items of a campaign in their order, or some of them from a place on."""
    here = (t.Item.campaign_id == campaign_id) & (t.Item.position >= start)
    query = select(*_TARGET).where(here).order_by(t.Item.position).limit(most)
    return tuple(Target(**row._mapping) for row in tx.execute(query.execution_options(yield_per=WINDOW)))


def targets_named(tx: Connection, campaign_id: str, names: Collection[str]) -> tuple[Target, ...]:
    """Return the items of a campaign that have one of these ids in files."""
    query = select(*_TARGET).where(t.Item.campaign_id == campaign_id, t.Item.name.in_(names))
    return tuple(Target(**row._mapping) for row in tx.execute(query))


def target_at(tx: Connection, campaign_id: str, position: int) -> Target | None:
    """Return one item of a campaign, None where there is none."""
    query = select(*_TARGET).where(t.Item.campaign_id == campaign_id, t.Item.position == position)
    row = tx.execute(query).one_or_none()
    return None if row is None else Target(**row._mapping)


def labels_of(
    tx: Connection, campaign_id: str, *, item_ids: Collection[str] | None = None
) -> Mapping[str, Sequence[Label]]:
    """Return all that experts said of the items of a campaign, or of some, by the ids of items."""
    query = (
        select(t.GoldLabel, t.Staff.name)
        .join(t.Item, t.Item.id == t.GoldLabel.item_id)
        .join(t.Staff, t.Staff.id == t.GoldLabel.staff_id)
        .where(_among(campaign_id, item_ids))
    )
    found: defaultdict[str, list[Label]] = defaultdict(list)
    for row in tx.execute(query).mappings():
        known = {name: row[name] for name in ("staff_id", "name", "part", "place", "revision", "at")}
        found[row["item_id"]].append(Label(**known, said=_said(row["said"])))
    return found


def decisions_of(
    tx: Connection, campaign_id: str, *, item_ids: Collection[str] | None = None
) -> Mapping[str, Sequence[Decision]]:
    """Return all that was decided about the items of a campaign, or about some, by the ids of items, in order."""
    query = (
        select(t.GoldDecision, t.Staff.name)
        .join(t.Item, t.Item.id == t.GoldDecision.item_id)
        .join(t.Staff, t.Staff.id == t.GoldDecision.staff_id)
        .where(_among(campaign_id, item_ids))
        .order_by(t.GoldDecision.part, t.GoldDecision.revision)
    )
    found: defaultdict[str, list[Decision]] = defaultdict(list)
    for row in tx.execute(query).mappings():
        known = {name: row[name] for name in ("staff_id", "name", "part", "revision", "why", "at")}
        found[row["item_id"]].append(Decision(**known, said=_said(row["said"])))
    return found


def _among(campaign_id: str, item_ids: Collection[str] | None) -> ColumnElement[bool]:
    here = t.Item.campaign_id == campaign_id
    return here if item_ids is None else here & t.Item.id.in_(item_ids)


def _said(content: Mapping[str, Any]) -> Said:
    return {name: tuple(one) if isinstance(one, list) else one for name, one in content.items()}


def has_labels(tx: Connection, campaign_id: str) -> bool:
    """Tell whether experts have labelled any item of a campaign."""
    query = select(t.GoldLabel.id).join(t.Item, t.Item.id == t.GoldLabel.item_id)
    return tx.scalar(query.where(t.Item.campaign_id == campaign_id).limit(1)) is not None


def n_said(tx: Connection, campaign_id: str) -> int:
    """Return how many labels and decisions there are, corrections among them: one more whenever somebody says more."""
    said = (
        select(func.count()).select_from(table).join(t.Item, t.Item.id == table.item_id)
        for table in (t.GoldLabel, t.GoldDecision)
    )
    return sum(tx.scalar(query.where(t.Item.campaign_id == campaign_id)) or 0 for query in said)


def add_label(tx: Connection, item_id: str, label: Label) -> None:
    """Keep what an expert said; the campaign must be locked."""
    known = {name: getattr(label, name) for name in ("staff_id", "part", "place", "revision", "at")}
    row = {"id": new_id(label.at), "item_id": item_id, "said": dict(label.said), **known}
    tx.execute(insert(t.GoldLabel).values(**row))


def add_decision(tx: Connection, item_id: str, decision: Decision) -> None:
    """Keep what somebody decided; the campaign must be locked."""
    known = {name: getattr(decision, name) for name in ("staff_id", "part", "revision", "why", "at")}
    row = {"id": new_id(decision.at), "item_id": item_id, "said": dict(decision.said), **known}
    tx.execute(insert(t.GoldDecision).values(**row))


def set_attributes(tx: Connection, campaign_id: str, changed: Mapping[str, Mapping[str, str]]) -> None:
    """Keep other attributes of items, by the ids of items; all of each are given."""
    for item_id, attributes in changed.items():
        mine = (t.Item.id == item_id) & (t.Item.campaign_id == campaign_id)
        content = tx.execute(select(t.Item.content).where(mine)).scalar_one()
        tx.execute(update(t.Item).where(mine).values(content={**content, "attributes": dict(attributes)}))
