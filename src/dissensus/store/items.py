"""Items of campaigns."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_hex
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    false,
    func,
    insert,
    select,
    true,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.audit_log import SALT_BYTES, digest_item, digest_sequence
from dissensus.errors import Conflict
from dissensus.schema.campaign.gold import COLUMNS
from dissensus.schema.hints import count_rest, format_value
from dissensus.schema.ratings.columns import GOLD
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.core.orm import HASH, ID, Base, list_rows, new_id


class ItemTable(Base):
    """A conversation whose last turn is rated, alone or compared with another response."""

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("campaign_id", "name"),
        UniqueConstraint("campaign_id", "position"),
        Index("ix_item_campaign_id_load", "campaign_id", "load"),
        Index("ix_item_campaign_id_withheld", "campaign_id", "withheld", "gold_of_file", "in_gold_sample"),
        Index("ix_item_campaign_id_safety_gold", "campaign_id", "safety_gold"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    position: Mapped[int]
    name: Mapped[str] = mapped_column(doc="The item_id in files.")
    content: Mapped[dict[str, Any]] = mapped_column(doc="Turns, attributes, and response B of a pair.")
    salt: Mapped[str | None] = mapped_column(String(32), doc="Salt of the digest; null once the text was erased.")
    digest: Mapped[str] = mapped_column(HASH, doc="Salted digest of name and content; the audit log has that of all.")
    load: Mapped[int] = mapped_column(
        default=0, doc="First showings to raters that are open or done, without rehearsals."
    )
    withheld: Mapped[bool] = mapped_column(
        default=False,
        server_default=false(),
        doc="True if it is hidden from raters after reports of illegal content.",
    )
    shown_by_decision: Mapped[bool | None] = mapped_column(
        doc="Last decision about a report of it: true to show it to raters, false to withhold it; null without one."
    )
    gold_of_file: Mapped[bool] = mapped_column(
        default=False, server_default=false(), doc="True if its file has the gold labels of all parts."
    )
    in_gold_sample: Mapped[bool] = mapped_column(
        default=True, server_default=true(), doc="False if experts label a sample without it."
    )
    search_text: Mapped[str] = mapped_column(doc="Name and turns without differences of case, which searches read.")
    safety_gold: Mapped[str | None] = mapped_column(doc="Gold label of safety of its file.")


SEARCH_INDEX: Final = "ix_item_search_text"
"""Index of trigrams that the migration creates where the server of PostgreSQL offers them."""


MAX_IDS_PER_STATEMENT: Final = 500
"""Ids or names in a statement, whose parameters databases limit."""


ERASED_TEXT: Final = "(withdrawn by its author)"
"""Text that replaces an erased conversation."""


ERASED_CONTENT: Final = {
    "turns": [{"speaker": speaker, "text": ERASED_TEXT} for speaker in ("human", "bot")],
    "attributes": {},
}


def add_items(tx: Connection, campaign_id: str, items: Sequence[Item], *, now: datetime) -> None:
    """Append items to a campaign, which must be locked or new."""
    existing = set(tx.scalars(select(ItemTable.name).where(ItemTable.campaign_id == campaign_id)))
    counts = Counter(item.item_id for item in items)
    duplicates = [name for name, n in counts.items() if n > 1 or name in existing]
    if duplicates:
        raise Conflict(
            f"There is an item {format_value(duplicates[0])} already, and nothing was added. Give the other one "
            f"another id, or leave it out.{count_rest(len(duplicates) - 1, 'such item')}"
        )
    rows = [
        {
            "id": new_id(now),
            "campaign_id": campaign_id,
            "position": position,
            "name": item.item_id,
            **_content_columns(item.item_id, _to_content(item)),
            "load": 0,
        }
        for position, item in enumerate(items, len(existing))
    ]
    if rows:
        tx.execute(insert(ItemTable), rows)


def _to_content(item: Item) -> dict[str, Any]:
    content = {"turns": item.conversation.to_dicts(), "attributes": dict(item.attributes)}
    return content if item.response_b is None else {**content, "response_b": item.response_b}


def _content_columns(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    salt = token_hex(SALT_BYTES)
    return {
        "content": content,
        "salt": salt,
        "digest": digest_item(name, content, salt),
        **derive_columns(name, content),
    }


def derive_columns(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of lists and searches, which follow from name and content."""
    attributes = content["attributes"]
    return {
        "gold_of_file": all(column in attributes for column in COLUMNS.values()),
        "search_text": "\n".join([name, *(turn["text"] for turn in content["turns"])]).casefold(),
        "safety_gold": attributes.get(GOLD),
    }


def contains_text(text: str) -> ColumnElement[bool]:
    """Return the condition that the name or a turn of an item contains a text, whatever its case."""
    return ItemTable.search_text.contains(text.casefold(), autoescape=True)


def digest_items(tx: Connection, campaign_id: str) -> str:
    """Return the digest of all items of a campaign in their order, for the audit log."""
    query = select(ItemTable.digest).where(ItemTable.campaign_id == campaign_id).order_by(ItemTable.position)
    return digest_sequence(tx.scalars(query))


def count_items(tx: Connection, campaign_id: str) -> int:
    """Count the items of a campaign, whose positions are 0, 1, 2 and so on."""
    # MAX(position) is one look-up in an index; COUNT(*) reads it all.
    last = tx.scalar(select(func.max(ItemTable.position)).where(ItemTable.campaign_id == campaign_id))
    return 0 if last is None else last + 1


def find_items(tx: Connection, campaign_id: str, names: Sequence[str]) -> dict[str, Item]:
    """Return the items of a campaign with some names, by name."""
    items: dict[str, Item] = {}
    for start in range(0, len(names), MAX_IDS_PER_STATEMENT):
        query = select(ItemTable.name, ItemTable.content).where(
            ItemTable.campaign_id == campaign_id, ItemTable.name.in_(names[start : start + MAX_IDS_PER_STATEMENT])
        )
        items |= {name: to_item(name, content) for name, content in tx.execute(query)}
    return items


def iterate_items(tx: Connection, campaign_id: str, *, start: int = 0, most: int | None = None) -> Iterator[Item]:
    """Yield the items of a campaign in their order, from a position on."""
    query = (
        select(ItemTable.name, ItemTable.content)
        .where(ItemTable.campaign_id == campaign_id, ItemTable.position >= start)
        .order_by(ItemTable.position)
        .limit(most)
    )
    yield from (to_item(name, content) for name, content in tx.execute(query))


def iterate_visible_items(tx: Connection, campaign_id: str) -> Iterator[Item]:
    """Yield the items of a campaign that are neither withheld nor erased, in their order."""
    query = select(ItemTable.name, ItemTable.content).where(ItemTable.campaign_id == campaign_id)
    visible = query.where(~ItemTable.withheld, ItemTable.salt.is_not(None)).order_by(ItemTable.position)
    yield from (to_item(name, content) for name, content in tx.execute(visible))


def to_item(name: str, content: Mapping[str, Any]) -> Item:
    """Return the item of a row."""
    turns, attributes = Conversation.from_dicts(content["turns"]), content["attributes"]
    return Item(name, turns, attributes, content.get("response_b"))


@dataclass(frozen=True, slots=True)
class ItemCopy:
    """An item of a campaign that copies a conversation of another one."""

    id: str
    campaign_id: str
    item: Item


def iterate_item_copies(tx: Connection, names: Sequence[str]) -> Iterator[ItemCopy]:
    """Yield the items with these names, from all campaigns."""
    columns = (ItemTable.id, ItemTable.campaign_id, ItemTable.name, ItemTable.content)
    for start in range(0, len(names), MAX_IDS_PER_STATEMENT):
        query = (
            select(*columns)
            .where(ItemTable.name.in_(names[start : start + MAX_IDS_PER_STATEMENT]))
            .order_by(ItemTable.id)
        )
        for row in tx.execute(query).all():
            yield ItemCopy(row.id, row.campaign_id, to_item(row.name, row.content))


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemState:
    """Visibility of an item for raters."""

    id: str
    position: int
    name: str
    withheld: bool
    erased: bool


def list_item_states(tx: Connection, campaign_id: str, positions: Sequence[int]) -> tuple[ItemState, ...]:
    """Return items at some positions of a campaign, at most `MAX_IDS_PER_STATEMENT`, in their order."""
    columns = (ItemTable.id, ItemTable.position, ItemTable.name, ItemTable.withheld)
    query = select(*columns, ItemTable.salt.is_(None).label("erased")).where(ItemTable.campaign_id == campaign_id)
    return list_rows(tx, query.where(ItemTable.position.in_(positions)).order_by(ItemTable.position), ItemState)


def erase_item(tx: Connection, item_id: str) -> None:
    """Erase the text and attributes of an item, and the salt of its digest; its ratings stay."""
    name = tx.scalar(select(ItemTable.name).where(ItemTable.id == item_id))
    columns = derive_columns(str(name), ERASED_CONTENT)
    tx.execute(update(ItemTable).where(ItemTable.id == item_id).values(content=ERASED_CONTENT, salt=None, **columns))


def set_item_attributes(tx: Connection, campaign_id: str, attributes_of: Mapping[str, Mapping[str, str]]) -> None:
    """Replace the attributes of items, by item id; Conflict if the text of one was erased."""
    for item_id, attributes in attributes_of.items():
        is_item = (ItemTable.id == item_id) & (ItemTable.campaign_id == campaign_id)
        name, content, salt = tx.execute(select(ItemTable.name, ItemTable.content, ItemTable.salt).where(is_item)).one()
        if salt is None:
            raise Conflict(
                f"The text of item {format_value(name)} was erased at a withdrawal, and nothing was stored. Leave the "
                "item out."
            )
        columns = _content_columns(name, {**content, "attributes": dict(attributes)})
        tx.execute(update(ItemTable).where(is_item).values(**columns))
