"""Campaigns with their items, consent texts and links."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dissensus.errors import Conflict, NotFound
from dissensus.schema.campaign.definition import Campaign, Consent, State
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.hints import count_rest, format_value
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store import events
from dissensus.store import tables as t
from dissensus.store.core.ids import hashed, new_id

# Definitions that a worker has at hand.
MOST_AT_HAND = 64
MOST_NAMED: Final = 500
"""Items that one statement names."""
ERASED: Final = "(withdrawn by who wrote it)"
"""What stands in the place of a conversation whose rater took it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A campaign as it is kept."""

    id: str  # Which one, and who made it
    name: str
    staff_id: str
    state: State  # Where it is in its life
    digest: str
    key: str | None  # Of the open link; None where entry is by invitation alone
    n_raters: int
    created_at: datetime  # When it was made, and when its definition or state last changed
    changed_at: datetime


_COLUMNS = [getattr(t.Campaign, name) for name in Kept.__dataclass_fields__]
_OF = select(*_COLUMNS).where(t.Campaign.id == bindparam("one"))


def add_campaign(tx: Connection, campaign: Campaign, *, staff_id: str, key: str | None, now: datetime) -> str:
    """Keep a new draft, which who made it owns, and return its id."""
    campaign_id = new_id(now)
    row = {"id": campaign_id, "staff_id": staff_id, "state": "draft", "key": key, "n_raters": 0, "created_at": now}
    try:
        tx.execute(insert(t.Campaign).values(**row, **_defined(campaign, now)))
    except IntegrityError:
        raise Conflict(f"There is a campaign called {campaign.name}. Choose another name.") from None
    owns = {"campaign_id": campaign_id, "staff_id": staff_id, "role": "owner", "created_at": now}
    tx.execute(insert(t.Membership).values(**owns))
    events.add_chain(tx, campaign_id)
    return campaign_id


def change_campaign(tx: Connection, campaign_id: str, campaign: Campaign, *, now: datetime) -> None:
    """Keep another definition of a campaign."""
    tx.execute(update(t.Campaign).where(t.Campaign.id == campaign_id).values(**_defined(campaign, now)))


def _defined(campaign: Campaign, now: datetime) -> dict[str, Any]:
    mapping = campaign.as_mapping()
    return {"name": campaign.name, "definition": mapping, "digest": campaign.digest, "changed_at": now}


def set_state(tx: Connection, campaign_id: str, state: State, *, now: datetime) -> None:
    """Keep the state that a campaign moved to."""
    tx.execute(update(t.Campaign).where(t.Campaign.id == campaign_id).values(state=state, changed_at=now))


def campaign_named(tx: Connection, name: str, *, lock: bool = False) -> Kept:
    """Return a campaign by its name; `lock` keeps others from planning in it until the transaction ends."""
    row = tx.execute(_locked(select(*_COLUMNS).where(t.Campaign.name == name), lock)).one_or_none()
    if row is None:
        raise NotFound(f"There is no campaign {format_value(name)}.")
    return Kept(**row._mapping)


def campaign_of(tx: Connection, campaign_id: str, *, lock: bool = False) -> Kept:
    """Return a campaign by its id."""
    return Kept(**tx.execute(_locked(_OF, lock), {"one": campaign_id}).one()._mapping)


def campaigns_of(tx: Connection, staff_id: str) -> tuple[Kept, ...]:
    """Return the campaigns that somebody belongs to, the latest first."""
    theirs = select(t.Membership.campaign_id).where(t.Membership.staff_id == staff_id)
    query = select(*_COLUMNS).where(t.Campaign.id.in_(theirs)).order_by(t.Campaign.id.desc())
    return tuple(Kept(**row._mapping) for row in tx.execute(query))


def all_campaigns(tx: Connection) -> tuple[Kept, ...]:
    """Return all campaigns, the latest first."""
    return tuple(Kept(**row._mapping) for row in tx.execute(select(*_COLUMNS).order_by(t.Campaign.id.desc())))


def _locked(query: Select[Any], lock: bool) -> Select[Any]:
    # SQLite has one writer at a time, and knows no such lock.
    return query.with_for_update() if lock else query


class Definitions:
    """The definitions of campaigns that one worker has at hand: parsing one takes milliseconds."""

    def __init__(self) -> None:
        self._known: dict[str, Campaign] = {}

    def of(self, tx: Connection, kept: Kept) -> Campaign:
        """Return the definition of a campaign; its digest tells whether the one at hand is the one that is kept."""
        known = self._known.get(kept.digest)
        if known is not None:
            return known
        # Both from one row: what is kept may have changed since `kept` was read.
        row = tx.execute(select(t.Campaign.definition, t.Campaign.digest).where(t.Campaign.id == kept.id)).one()
        found = parse_campaign(row.definition)
        if len(self._known) >= MOST_AT_HAND:
            self._known = {}
        self._known[row.digest] = found
        return found


def add_items(tx: Connection, campaign_id: str, items: Sequence[Item], *, now: datetime) -> None:
    """Keep more items of a campaign, which must be locked or new, after those that it has."""
    known = set(tx.scalars(select(t.Item.name).where(t.Item.campaign_id == campaign_id)))
    times = Counter(item.item_id for item in items)
    twice = [name for name, n in times.items() if n > 1 or name in known]
    if twice:
        raise Conflict(
            f"There is an item {format_value(twice[0])} already, and nothing was added. Give the other one another id, or "
            f"leave it out.{count_rest(len(twice) - 1, 'such item')}"
        )
    rows = [
        {
            "id": new_id(now),
            "campaign_id": campaign_id,
            "position": len(known) + place,
            "name": item.item_id,
            "content": _content(item),
            "load": 0,
        }
        for place, item in enumerate(items)
    ]
    if rows:
        tx.execute(insert(t.Item), rows)


def _content(item: Item) -> dict[str, Any]:
    content = {"turns": item.conversation.to_dicts(), "attributes": dict(item.attributes)}
    return content if item.response_b is None else {**content, "response_b": item.response_b}


def n_items(tx: Connection, campaign_id: str) -> int:
    """Return how many items a campaign has."""
    return tx.scalar(select(func.count()).select_from(t.Item).where(t.Item.campaign_id == campaign_id)) or 0


def items_of(tx: Connection, campaign_id: str, *, start: int = 0, most: int | None = None) -> Iterator[Item]:
    """Yield the items of a campaign in their order, from a place on."""
    query = (
        select(t.Item.name, t.Item.content)
        .where(t.Item.campaign_id == campaign_id, t.Item.position >= start)
        .order_by(t.Item.position)
        .limit(most)
    )
    yield from (item_from(name, content) for name, content in tx.execute(query))


def item_from(name: str, content: Mapping[str, Any]) -> Item:
    """Return an item as it was kept."""
    turns, attributes = Conversation.from_dicts(content["turns"]), content["attributes"]
    return Item(name, turns, attributes, content.get("response_b"))


@dataclass(frozen=True, slots=True)
class Copy:
    """An item as one campaign has it: its id and campaign here, and what it is."""

    id: str
    campaign_id: str
    item: Item


def items_named(tx: Connection, names: Sequence[str]) -> Iterator[Copy]:
    """Yield the items of all campaigns that have one of some names."""
    columns = (t.Item.id, t.Item.campaign_id, t.Item.name, t.Item.content)
    for start in range(0, len(names), MOST_NAMED):
        query = select(*columns).where(t.Item.name.in_(names[start : start + MOST_NAMED])).order_by(t.Item.id)
        for row in tx.execute(query).all():
            yield Copy(row.id, row.campaign_id, item_from(row.name, row.content))


def erase_item(tx: Connection, item_id: str) -> None:
    """Erase the text of an item, and what its attributes say of it; what was said of it stays."""
    turns = [{"speaker": speaker, "text": ERASED} for speaker in ("human", "bot")]
    tx.execute(update(t.Item).where(t.Item.id == item_id).values(content={"turns": turns, "attributes": {}}))


def remove_items(tx: Connection, campaign_id: str) -> int:
    """Take all items out of a draft, with what previews and dry runs made of them, and return how many there were."""
    items = select(t.Item.id).where(t.Item.campaign_id == campaign_id)
    theirs = select(t.Assignment.id).where(t.Assignment.item_id.in_(items))
    tx.execute(delete(t.Save).where(t.Save.assignment_id.in_(theirs)))
    tx.execute(update(t.Notice).where(t.Notice.assignment_id.in_(theirs)).values(assignment_id=None))
    tx.execute(delete(t.Assignment).where(t.Assignment.item_id.in_(items)))
    return tx.execute(delete(t.Item).where(t.Item.campaign_id == campaign_id)).rowcount


def consent_text(tx: Connection, campaign_id: str, consent: Consent, *, now: datetime) -> tuple[str, int]:
    """Return id and version of a consent text, which is kept as the next version where it differs from the last."""
    last = tx.execute(
        select(t.ConsentText.id, t.ConsentText.version, t.ConsentText.digest)
        .where(t.ConsentText.campaign_id == campaign_id)
        .order_by(t.ConsentText.version.desc())
        .limit(1)
    ).one_or_none()
    if last is not None and last.digest == consent.digest:
        return last.id, last.version
    text_id, version = new_id(now), 1 if last is None else last.version + 1
    row = {"id": text_id, "campaign_id": campaign_id, "version": version, "digest": consent.digest}
    tx.execute(insert(t.ConsentText).values(**row, content=to_mapping(consent), created_at=now))
    return text_id, version


def invite(tx: Connection, campaign_id: str, keys: Sequence[str], *, cell: str | None, now: datetime) -> None:
    """Keep personal links, by the hashes of their keys, for a cell where the recruiter chooses by cells."""
    same = {"campaign_id": campaign_id, "cell": cell, "created_at": now}
    rows = [same | {"key_hash": hashed(key)} for key in keys]
    if rows:
        tx.execute(insert(t.Invitation), rows)
