"""Webhooks of campaigns, and how far each has been told."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from sqlalchemy import ColumnElement, Connection, Select, case, delete, func, insert, select, update

from dissensus.campaign.event_log import Entry
from dissensus.campaign.webhook_batches import MOST_EVENTS
from dissensus.store import events
from dissensus.store import tables as t

State: TypeAlias = Literal["going", "failing", "paused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address that is told what happens in a campaign."""

    id: str  # Which one, and of which campaign, by its id and its name
    campaign_id: str
    campaign: str
    staff_id: str  # Who answers for it, by id and name, and whether they are an owner
    by: str
    owned: bool
    address: str  # Where, and of what; no kinds for all
    kinds: tuple[str, ...]
    secret_hash: str  # Of its secret, which is kept nowhere
    place: int  # The last place that was delivered, and that of a batch that failed and is tried again
    through: int | None
    head: int  # The last place of the chain
    due_at: datetime  # When it is tried next, how often it failed in a row, and since when
    n_failures: int
    failing_since: datetime | None
    # Why the last delivery was not taken, and why nothing is delivered any more; empty where it was, and is
    trouble: str
    paused: str
    delivered_at: datetime | None  # When the last delivery was taken, and when it was added
    created_at: datetime

    @property
    def state(self) -> State:
        """Whether it is told what happens."""
        return "paused" if self.paused else "failing" if self.n_failures else "going"


_OWN = (
    *(t.Webhook.id, t.Webhook.campaign_id, t.Webhook.staff_id, t.Webhook.address, t.Webhook.kinds),
    *(t.Webhook.secret_hash, t.Webhook.place, t.Webhook.through, t.Webhook.due_at, t.Webhook.n_failures),
    *(t.Webhook.failing_since, t.Webhook.trouble, t.Webhook.paused, t.Webhook.delivered_at, t.Webhook.created_at),
)


def _webhooks(*where: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    role = t.Membership.role.label("role")
    theirs = (t.Membership.campaign_id == t.Webhook.campaign_id) & (t.Membership.staff_id == t.Webhook.staff_id)
    return (
        select(*_OWN, t.Campaign.name.label("campaign"), t.Staff.name.label("by"), t.Chain.n.label("head"), role)
        .join(t.Campaign, t.Campaign.id == t.Webhook.campaign_id)
        .join(t.Chain, t.Chain.campaign_id == t.Webhook.campaign_id)
        .join(t.Staff, t.Staff.id == t.Webhook.staff_id)
        .outerjoin(t.Membership, theirs)
        .where(*where)
    )


def _webhook(row: Any) -> Webhook:
    found = dict(row._mapping)
    role, kinds = found.pop("role"), found.pop("kinds")
    return Webhook(**found, owned=role == "owner", kinds=tuple(kinds.split(",")) if kinds else ())


def add(
    tx: Connection, one: str, campaign_id: str, staff_id: str, *, address: str, kinds: Sequence[str], **kept: Any
) -> None:
    """Keep a new webhook by its id; `kept` has its `secret_hash`, `place` and `created_at`."""
    row = {"id": one, "campaign_id": campaign_id, "staff_id": staff_id, "address": address, "kinds": ",".join(kinds)}
    blank = {"n_failures": 0, "trouble": "", "paused": "", "due_at": kept["created_at"]}
    tx.execute(insert(t.Webhook).values(**row, **blank, **kept))


def count(tx: Connection, campaign_id: str) -> int:
    """Return how many webhooks a campaign has."""
    return tx.scalar(select(func.count()).where(t.Webhook.campaign_id == campaign_id)) or 0


def webhooks_of(tx: Connection, campaign_id: str) -> tuple[Webhook, ...]:
    """Return the webhooks of a campaign, the earliest first."""
    query = _webhooks(t.Webhook.campaign_id == campaign_id).order_by(t.Webhook.created_at, t.Webhook.id)
    return tuple(map(_webhook, tx.execute(query)))


def webhook_of(tx: Connection, campaign_id: str, one: str) -> Webhook | None:
    """Return a webhook of a campaign; None where it has none of that id."""
    row = tx.execute(_webhooks(t.Webhook.campaign_id == campaign_id, t.Webhook.id == one)).one_or_none()
    return None if row is None else _webhook(row)


def remove(tx: Connection, one: str) -> None:
    """Forget a webhook."""
    tx.execute(delete(t.Webhook).where(t.Webhook.id == one))


def due(tx: Connection, *, now: datetime) -> tuple[Webhook, ...]:
    """Return the webhooks that have something to be told, those first that wait longest."""
    ready = (t.Webhook.paused == "") & (t.Webhook.due_at <= now) & (t.Chain.n > t.Webhook.place)
    return tuple(map(_webhook, tx.execute(_webhooks(ready).order_by(t.Webhook.due_at, t.Webhook.id))))


def entries_for(tx: Connection, webhook: Webhook) -> tuple[Entry, ...]:
    """Return what a webhook is told next: of its kinds, in the order of the chain, nothing that was erased."""
    last = webhook.head if webhook.through is None else webhook.through
    here = (t.Event.campaign_id == webhook.campaign_id) & (t.Event.place > webhook.place) & (t.Event.place <= last)
    kind = t.Event.kind.in_(webhook.kinds) if webhook.kinds else t.Event.kind != "erased"
    query = select(t.Event.__table__).where(here, kind).order_by(t.Event.place).limit(MOST_EVENTS)
    return tuple(map(events.entry_from, tx.execute(query)))


def move_on(tx: Connection, webhook: Webhook, through: int, *, now: datetime, delivered: bool = True) -> None:
    """Keep that a webhook was told all up to a place; one that another process moved meanwhile stays where it is."""
    blank = {"through": None, "n_failures": 0, "failing_since": None, "trouble": "", "due_at": now}
    taken = {"delivered_at": now} if delivered else {}
    tx.execute(update(t.Webhook).where(_as_it_was(webhook)).values(place=through, **blank, **taken))


def fail(tx: Connection, webhook: Webhook, through: int, *, since: datetime, due_at: datetime, **why: str) -> bool:
    """Keep that a batch was not taken, when the same is tried again, and its `trouble`; `paused` where it is not.

    One that an owner let go on meanwhile does so. Tell whether it was kept.
    """
    values = {"through": through, "n_failures": webhook.n_failures + 1, "failing_since": since, "due_at": due_at}
    same = _as_it_was(webhook) & (t.Webhook.n_failures == webhook.n_failures)
    return tx.execute(update(t.Webhook).where(same).values(**values, **why)).rowcount > 0


def pause(tx: Connection, webhook: Webhook, why: str) -> bool:
    """Deliver nothing to a webhook any more, and tell whether that is new; one for which another answers goes on."""
    same = (t.Webhook.id == webhook.id) & (t.Webhook.staff_id == webhook.staff_id) & (t.Webhook.paused == "")
    return tx.execute(update(t.Webhook).where(same).values(paused=why)).rowcount > 0


def go_on(tx: Connection, one: str, staff_id: str, *, now: datetime) -> None:
    """Deliver to a webhook again, for which somebody answers from now on."""
    blank = {"paused": "", "n_failures": 0, "failing_since": None, "trouble": "", "due_at": now}
    tx.execute(update(t.Webhook).where(t.Webhook.id == one).values(staff_id=staff_id, **blank))


def by_state(tx: Connection) -> dict[State, int]:
    """Return how many webhooks there are by state, in all campaigns."""
    state = case((t.Webhook.paused != "", "paused"), (t.Webhook.n_failures > 0, "failing"), else_="going")
    counted: dict[str, int] = dict(tx.execute(select(state, func.count(t.Webhook.id)).group_by(state)).all())
    return {name: counted.get(name, 0) for name in get_args(State)}


def _as_it_was(webhook: Webhook) -> ColumnElement[bool]:
    return (t.Webhook.id == webhook.id) & (t.Webhook.place == webhook.place)
