"""Gold labels of experts, decisions on contested parts, and the progress of each item."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, ForeignKey, Index, UniqueConstraint, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.audit_log import digest_sequence
from dissensus.campaign.gold_labels import Entry, GoldAnswers, GoldDecision, GoldLabel
from dissensus.schema.campaign.gold import ITEM_STATES, PARTS, GoldItemState
from dissensus.store.core.orm import ID, Base, Document, check_in, find_row, list_columns, list_rows, new_id
from dissensus.store.items import MAX_IDS_PER_STATEMENT, ItemTable
from dissensus.store.staff import StaffTable


class GoldLabelTable(Base):
    """A label of an expert for a part of an item; a correction is another row."""

    __tablename__ = "gold_label"
    __table_args__ = (
        UniqueConstraint("item_id", "part", "position", "revision"),
        UniqueConstraint("item_id", "part", "staff_id", "revision"),
        check_in("part", *PARTS),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    item_id: Mapped[str] = mapped_column(ForeignKey("item.id"))
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    part: Mapped[str]
    position: Mapped[int] = mapped_column(doc="0 for the first expert, whose label others verify or check.")
    revision: Mapped[int]
    answers: Mapped[dict[str, Any]]
    at: Mapped[datetime]


class GoldDecisionTable(Base):
    """A decision on a contested part; the last one is current."""

    __tablename__ = "gold_decision"
    __table_args__ = (UniqueConstraint("item_id", "part", "revision"), check_in("part", *PARTS))

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    item_id: Mapped[str] = mapped_column(ForeignKey("item.id"))
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    part: Mapped[str]
    revision: Mapped[int]
    answers: Mapped[dict[str, Any]]
    reason: Mapped[str]
    at: Mapped[datetime]


class GoldProgressTable(Base):
    """State of the labels of an item with some, and its settled label; both follow from labels and decisions."""

    __tablename__ = "gold_progress"
    __table_args__ = (
        check_in("state", *ITEM_STATES),
        Index("ix_gold_progress_campaign_id_state", "campaign_id", "state", "position"),
        Index("ix_gold_progress_campaign_id_safety", "campaign_id", "safety"),
    )

    item_id: Mapped[str] = mapped_column(ForeignKey("item.id"), primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    position: Mapped[int] = mapped_column(doc="Position of the item, by which lists are sorted.")
    state: Mapped[str]
    safety: Mapped[str | None] = mapped_column(doc="Settled gold label; null before.")
    n_safety: Mapped[int] = mapped_column(doc="Labels of safety that the item still needs.")
    n_degree: Mapped[int]
    n_topics: Mapped[int]
    labellers: Mapped[dict[str, dict[str, int]]] = mapped_column(
        Document, doc="Number of labels by the member of staff who gave them and by part."
    )


WINDOW: Final = 1_000
"""Items whose attributes are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTarget:
    """An item that experts may label, without its conversation."""

    id: str
    position: int
    name: str
    attributes: Mapping[str, str]  # Attributes from the file of the items
    withheld: bool  # True if it is hidden from everybody after reports of raters
    gold_of_file: bool  # True if its file has the labels of all parts
    in_gold_sample: bool  # False if experts label a sample without it


_TARGET_COLUMNS = (
    ItemTable.id,
    ItemTable.position,
    ItemTable.name,
    ItemTable.content["attributes"].label("attributes"),
    ItemTable.withheld,
    ItemTable.gold_of_file,
    ItemTable.in_gold_sample,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldProgressRow:
    """State of the labels of an item."""

    position: int  # Of the item
    state: GoldItemState
    safety: str | None  # Settled gold label
    n_safety: int  # Labels that each part still needs
    n_degree: int
    n_topics: int
    labellers: Mapping[str, Mapping[str, int]]  # Labels by the id of who gave them and by part


def list_targets(tx: Connection, campaign_id: str, positions: Collection[int] | None = None) -> tuple[GoldTarget, ...]:
    """Return all items of a campaign, or those at some positions, in their order."""
    query = select(*_TARGET_COLUMNS).where(ItemTable.campaign_id == campaign_id).order_by(ItemTable.position)
    query = query if positions is None else query.where(ItemTable.position.in_(positions))
    return list_rows(tx, query.execution_options(yield_per=WINDOW), GoldTarget)


def list_targets_by_name(tx: Connection, campaign_id: str, names: Collection[str]) -> tuple[GoldTarget, ...]:
    """Return the items of a campaign with some names."""
    query = select(*_TARGET_COLUMNS).where(ItemTable.campaign_id == campaign_id, ItemTable.name.in_(names))
    return list_rows(tx, query, GoldTarget)


def set_sample(tx: Connection, campaign_id: str, names: Sequence[str] | None) -> None:
    """Mark the items that experts label, by their names; None for all."""
    in_campaign = ItemTable.campaign_id == campaign_id
    tx.execute(update(ItemTable).where(in_campaign).values(in_gold_sample=names is None))
    for start in range(0, len(names or ()), MAX_IDS_PER_STATEMENT):
        is_in_sample = ItemTable.name.in_((names or ())[start : start + MAX_IDS_PER_STATEMENT])
        tx.execute(update(ItemTable).where(in_campaign, is_in_sample).values(in_gold_sample=True))


def digest_sample(tx: Connection, campaign_id: str) -> str:
    """Return the digest of the names of the items that experts label, in their order, for the audit log."""
    query = select(ItemTable.name).where(ItemTable.campaign_id == campaign_id, ItemTable.in_gold_sample)
    names = tx.scalars(query.order_by(ItemTable.position))
    return digest_sequence(sha256(name.encode()).hexdigest() for name in names)


def find_target(tx: Connection, campaign_id: str, position: int) -> GoldTarget | None:
    """Return an item of a campaign by its position, or None."""
    query = select(*_TARGET_COLUMNS).where(ItemTable.campaign_id == campaign_id, ItemTable.position == position)
    return find_row(tx, query, GoldTarget)


def load_labels(
    tx: Connection, campaign_id: str, *, item_ids: Collection[str] | None = None
) -> Mapping[str, Sequence[GoldLabel]]:
    """Return all labels of the items of a campaign, or of some, by item id."""
    return _load_by_item(tx, GoldLabelTable, GoldLabel, _is_item_of(campaign_id, item_ids))


def load_decisions(
    tx: Connection, campaign_id: str, *, item_ids: Collection[str] | None = None
) -> Mapping[str, Sequence[GoldDecision]]:
    """Return all decisions on the items of a campaign, or on some, by item id and in order."""
    order = (GoldDecisionTable.part, GoldDecisionTable.revision)
    return _load_by_item(tx, GoldDecisionTable, GoldDecision, _is_item_of(campaign_id, item_ids), *order)


def _load_by_item(
    tx: Connection, table: Any, entry: type[Entry], condition: ColumnElement[bool], *order: Any
) -> Mapping[str, Sequence[Entry]]:
    query = (
        select(table.item_id, *list_columns(table, entry, joined={"name"}), StaffTable.name)
        .join(ItemTable, ItemTable.id == table.item_id)
        .join(StaffTable, StaffTable.id == table.staff_id)
        .where(condition)
        .order_by(*order)
    )
    result: defaultdict[str, list[Entry]] = defaultdict(list)
    for row in tx.execute(query):
        fields = dict(row._mapping)
        item_id, answers = fields.pop("item_id"), _parse_answers(fields.pop("answers"))
        result[item_id].append(entry(**fields, answers=answers))
    return result


def _is_item_of(campaign_id: str, item_ids: Collection[str] | None) -> ColumnElement[bool]:
    in_campaign = ItemTable.campaign_id == campaign_id
    # Items alone, so that the index of items is used.
    return in_campaign if item_ids is None else ItemTable.id.in_(item_ids)


def _parse_answers(content: Mapping[str, Any]) -> GoldAnswers:
    return {name: tuple(answer) if isinstance(answer, list) else answer for name, answer in content.items()}


def has_labels(tx: Connection, campaign_id: str) -> bool:
    """Return whether experts have labelled any item of a campaign."""
    query = select(GoldLabelTable.id).join(ItemTable, ItemTable.id == GoldLabelTable.item_id)
    return tx.scalar(query.where(ItemTable.campaign_id == campaign_id).limit(1)) is not None


def count_labels_and_decisions(tx: Connection, campaign_id: str) -> int:
    """Count all labels and decisions with their corrections: a version number of the gold labels."""
    counts = (
        select(func.count()).select_from(table).join(ItemTable, ItemTable.id == table.item_id)
        for table in (GoldLabelTable, GoldDecisionTable)
    )
    return sum(tx.scalar(query.where(ItemTable.campaign_id == campaign_id)) or 0 for query in counts)


def add_label(tx: Connection, item_id: str, label: GoldLabel) -> None:
    """Insert a label; the campaign must be locked."""
    _add_entry(tx, GoldLabelTable, item_id, label)


def add_decision(tx: Connection, item_id: str, decision: GoldDecision) -> None:
    """Insert a decision; the campaign must be locked."""
    _add_entry(tx, GoldDecisionTable, item_id, decision)


def _add_entry(tx: Connection, table: type[Base], item_id: str, entry: GoldLabel | GoldDecision) -> None:
    fields = {name: getattr(entry, name) for name in entry.__dataclass_fields__ if name not in ("name", "answers")}
    row = {"id": new_id(entry.at), "item_id": item_id, "answers": dict(entry.answers), **fields}
    tx.execute(insert(table).values(**row))


def set_progress(tx: Connection, campaign_id: str, item_id: str, progress: GoldProgressRow) -> None:
    """Store the state of the labels of an item; the campaign must be locked."""
    columns = asdict(progress)
    stored = tx.execute(update(GoldProgressTable).where(GoldProgressTable.item_id == item_id).values(**columns))
    if not stored.rowcount:
        tx.execute(insert(GoldProgressTable).values(item_id=item_id, campaign_id=campaign_id, **columns))


def load_progress(tx: Connection, campaign_id: str) -> dict[str, GoldProgressRow]:
    """Return the stored states of labels by item id."""
    table = GoldProgressTable
    query = select(table.item_id, *list_columns(table, GoldProgressRow)).where(table.campaign_id == campaign_id)
    result = {}
    for row in tx.execute(query):
        fields = dict(row._mapping)
        item_id = fields.pop("item_id")
        result[item_id] = GoldProgressRow(**fields)
    return result


def load_settled_labels(tx: Connection, campaign_id: str) -> dict[str, str]:
    """Return the gold labels that experts settled, by the name of the item."""
    query = select(ItemTable.name, GoldProgressTable.safety).join(ItemTable, ItemTable.id == GoldProgressTable.item_id)
    settled = (GoldProgressTable.campaign_id == campaign_id) & GoldProgressTable.safety.is_not(None)
    return {row.name: row.safety for row in tx.execute(query.where(settled)) if row.safety is not None}
