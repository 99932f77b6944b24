"""Webhooks of campaigns and their delivery state."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from sqlalchemy import ColumnElement, Connection, ForeignKey, Select, case, delete, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.audit_log import AuditEntry
from dissensus.campaign.webhooks.batches import MAX_BATCH_EVENTS
from dissensus.store import audit_log
from dissensus.store.audit_log import EventChainTable, EventTable
from dissensus.store.campaigns import CampaignTable
from dissensus.store.core.orm import HASH, ID, Base
from dissensus.store.members import MemberTable
from dissensus.store.staff import StaffTable


class WebhookTable(Base):
    """A webhook of a campaign; see `dissensus.campaign.webhooks.batches`."""

    __tablename__ = "webhook"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), doc="Responsible owner.")
    address: Mapped[str]
    kinds: Mapped[str] = mapped_column(doc="Separated by commas; empty for all, future ones too.")
    secret_hash: Mapped[str] = mapped_column(HASH, doc="Hash of the secret, which is derived from that of the site.")
    sequence: Mapped[int] = mapped_column(doc="Sequence number of the last delivered event.")
    retry_through: Mapped[int | None] = mapped_column(doc="Sequence number of the last event of a failed batch.")
    due_at: Mapped[datetime]
    n_failures: Mapped[int] = mapped_column(doc="Consecutive failures.")
    failing_since: Mapped[datetime | None]
    failure_reason: Mapped[str] = mapped_column(doc="Reason of the last failure; empty after a success.")
    pause_reason: Mapped[str] = mapped_column(doc="Reason of the pause; empty unless paused.")
    delivered_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


WebhookState: TypeAlias = Literal["active", "failing", "paused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRow:
    """A webhook with its delivery state."""

    id: str
    campaign_id: str
    campaign: str
    staff_id: str  # Responsible owner
    owner: str  # Name of the responsible owner
    owned: bool  # True while the responsible person is an owner
    address: str
    kinds: tuple[str, ...]  # Event kinds; empty for all
    secret_hash: str  # Hash of its secret, which is not stored
    sequence: int  # Sequence number of the last delivered event
    retry_through: int | None  # Sequence number of the last event of a failed batch
    last_sequence: int  # Sequence number of the last event of the chain
    due_at: datetime  # Time of the next delivery
    n_failures: int  # Consecutive failures
    failing_since: datetime | None
    failure_reason: str  # Reason of the last failure; empty after a success
    pause_reason: str  # Reason of the pause; empty unless paused
    delivered_at: datetime | None  # Time of the last successful delivery
    created_at: datetime

    @property
    def state(self) -> WebhookState:
        """Delivery state."""
        return "paused" if self.pause_reason else "failing" if self.n_failures else "active"


_COLUMNS = (
    WebhookTable.id,
    WebhookTable.campaign_id,
    WebhookTable.staff_id,
    WebhookTable.address,
    WebhookTable.kinds,
    WebhookTable.secret_hash,
    WebhookTable.sequence,
    WebhookTable.retry_through,
    WebhookTable.due_at,
    WebhookTable.n_failures,
    WebhookTable.failing_since,
    WebhookTable.failure_reason,
    WebhookTable.pause_reason,
    WebhookTable.delivered_at,
    WebhookTable.created_at,
)


def _select_webhooks(*where: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    is_member = (MemberTable.campaign_id == WebhookTable.campaign_id) & (MemberTable.staff_id == WebhookTable.staff_id)
    return (
        select(
            *_COLUMNS,
            CampaignTable.name.label("campaign"),
            StaffTable.name.label("owner"),
            EventChainTable.n_events.label("last_sequence"),
            MemberTable.role.label("role"),
        )
        .join(CampaignTable, CampaignTable.id == WebhookTable.campaign_id)
        .join(EventChainTable, EventChainTable.campaign_id == WebhookTable.campaign_id)
        .join(StaffTable, StaffTable.id == WebhookTable.staff_id)
        .outerjoin(MemberTable, is_member)
        .where(*where)
    )


def _to_row(row: Any) -> WebhookRow:
    fields = dict(row._mapping)
    role, kinds = fields.pop("role"), fields.pop("kinds")
    return WebhookRow(**fields, owned=role == "owner", kinds=tuple(kinds.split(",")) if kinds else ())


def add_webhook(
    tx: Connection,
    webhook_id: str,
    campaign_id: str,
    staff_id: str,
    *,
    address: str,
    kinds: Sequence[str],
    **columns: Any,
) -> None:
    """Insert a webhook; `columns` are its `secret_hash`, `sequence` and `created_at`."""
    row = {
        "id": webhook_id,
        "campaign_id": campaign_id,
        "staff_id": staff_id,
        "address": address,
        "kinds": ",".join(kinds),
    }
    initial = {"n_failures": 0, "failure_reason": "", "pause_reason": "", "due_at": columns["created_at"]}
    tx.execute(insert(WebhookTable).values(**row, **initial, **columns))


def count_webhooks(tx: Connection, campaign_id: str) -> int:
    """Count the webhooks of a campaign."""
    return tx.scalar(select(func.count()).where(WebhookTable.campaign_id == campaign_id)) or 0


def list_webhooks(tx: Connection, campaign_id: str) -> tuple[WebhookRow, ...]:
    """Return the webhooks of a campaign, the earliest first."""
    query = _select_webhooks(WebhookTable.campaign_id == campaign_id).order_by(WebhookTable.created_at, WebhookTable.id)
    return tuple(map(_to_row, tx.execute(query)))


def find_webhook(tx: Connection, campaign_id: str, webhook_id: str) -> WebhookRow | None:
    """Return a webhook of a campaign, or None."""
    row = tx.execute(
        _select_webhooks(WebhookTable.campaign_id == campaign_id, WebhookTable.id == webhook_id)
    ).one_or_none()
    return None if row is None else _to_row(row)


def delete_webhook(tx: Connection, webhook_id: str) -> None:
    """Delete a webhook."""
    tx.execute(delete(WebhookTable).where(WebhookTable.id == webhook_id))


def list_due_webhooks(tx: Connection, *, now: datetime) -> tuple[WebhookRow, ...]:
    """Return webhooks with pending events whose next delivery is due, the longest waiting first."""
    ready = (
        (WebhookTable.pause_reason == "")
        & (WebhookTable.due_at <= now)
        & (EventChainTable.n_events > WebhookTable.sequence)
    )
    return tuple(map(_to_row, tx.execute(_select_webhooks(ready).order_by(WebhookTable.due_at, WebhookTable.id))))


def list_pending_entries(tx: Connection, webhook: WebhookRow) -> tuple[AuditEntry, ...]:
    """Return the next entries to deliver: of the webhook's kinds, in order, without erased ones."""
    last = webhook.last_sequence if webhook.retry_through is None else webhook.retry_through
    in_campaign = (
        (EventTable.campaign_id == webhook.campaign_id)
        & (EventTable.sequence > webhook.sequence)
        & (EventTable.sequence <= last)
    )
    kind = EventTable.kind.in_(webhook.kinds) if webhook.kinds else EventTable.kind != "erased"
    query = select(EventTable.__table__).where(in_campaign, kind).order_by(EventTable.sequence).limit(MAX_BATCH_EVENTS)
    return tuple(map(audit_log.to_entry, tx.execute(query)))


def advance_webhook(
    tx: Connection, webhook: WebhookRow, through: int, *, now: datetime, delivered: bool = True
) -> None:
    """Record a delivery up to a sequence number, unless another process has advanced the webhook."""
    values = {"retry_through": None, "n_failures": 0, "failing_since": None, "failure_reason": "", "due_at": now}
    values |= {"sequence": through} | ({"delivered_at": now} if delivered else {})
    tx.execute(update(WebhookTable).where(_is_unchanged(webhook)).values(**values))


def record_failure(
    tx: Connection, webhook: WebhookRow, through: int, *, since: datetime, due_at: datetime, **reasons: str
) -> bool:
    """Record a failed batch and its next retry, and return whether the webhook was unchanged; `reasons` are columns.

    A webhook that an owner resumed meanwhile stays as it is.
    """
    values = {"retry_through": through, "n_failures": webhook.n_failures + 1, "failing_since": since, "due_at": due_at}
    unchanged = _is_unchanged(webhook) & (WebhookTable.n_failures == webhook.n_failures)
    return tx.execute(update(WebhookTable).where(unchanged).values(**values, **reasons)).rowcount > 0


def pause_webhook(tx: Connection, webhook: WebhookRow, reason: str) -> bool:
    """Pause a webhook, and return whether it was active and of the same owner."""
    active = (
        (WebhookTable.id == webhook.id)
        & (WebhookTable.staff_id == webhook.staff_id)
        & (WebhookTable.pause_reason == "")
    )
    return tx.execute(update(WebhookTable).where(active).values(pause_reason=reason)).rowcount > 0


def resume_webhook(tx: Connection, webhook_id: str, staff_id: str, *, now: datetime) -> None:
    """Resume delivery, with a new responsible owner."""
    values = {"pause_reason": "", "n_failures": 0, "failing_since": None, "failure_reason": "", "due_at": now}
    tx.execute(update(WebhookTable).where(WebhookTable.id == webhook_id).values(staff_id=staff_id, **values))


def count_webhooks_by_state(tx: Connection) -> dict[WebhookState, int]:
    """Count all webhooks by state."""
    state = case((WebhookTable.pause_reason != "", "paused"), (WebhookTable.n_failures > 0, "failing"), else_="active")
    counts: dict[str, int] = dict(tx.execute(select(state, func.count(WebhookTable.id)).group_by(state)).all())
    return {name: counts.get(name, 0) for name in get_args(WebhookState)}


def _is_unchanged(webhook: WebhookRow) -> ColumnElement[bool]:
    return (WebhookTable.id == webhook.id) & (WebhookTable.sequence == webhook.sequence)
