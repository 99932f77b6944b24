"""Audit a campaign: verify its hash-chained event log and compare the stored data with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import digest_save
from dissensus.campaign.event_log import ChainBreak, EventKind, find_chain_break
from dissensus.errors import Unavailable
from dissensus.pipeline.collect.chat import digest_message, digest_pick
from dissensus.store import audit as store
from dissensus.store import campaigns, events
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

MAX_FAULTS: Final = 20
"""Faults listed in a report."""
MAX_LINK_ROUNDS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Result of an audit."""

    n: int  # events in the chain
    n_erased: int  # events whose content was erased
    head: str  # last link; keep it elsewhere to prove later that nothing before it changed
    first_break: ChainBreak | None  # first break of the chain, None if it is intact
    contains_head: bool | None  # True if the given link is in the chain, None if none was given
    faults: tuple[str, ...]  # first disagreements between stored data and events

    @property
    def holds(self) -> bool:
        """True if the audit found no fault."""
        return self.first_break is None and self.contains_head is not False and not self.faults


def log_view(platform: Platform, name: str, view: str, *, staff_id: str, now: datetime) -> None:
    """Log that a member of staff viewed data of individual raters."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        log_staff_event(tx, campaign_row.id, "viewed", staff_id, now, view=view)


def link_pending_events(platform: Platform) -> int:
    """Link the unlinked events of all campaigns into their chains and return their number."""
    with platform.database.reading() as tx:
        campaign_ids = events.list_unchained_campaigns(tx)
    return sum(_link_campaign(platform, campaign_id) for campaign_id in campaign_ids)


def _link_campaign(platform: Platform, campaign_id: str) -> int:
    n_linked = 0
    for _ in range(MAX_LINK_ROUNDS):
        with platform.database.writing() as tx:
            n = events.chain_events(tx, campaign_id)
        n_linked += n
        if n < events.BATCH_SIZE:
            return n_linked
    raise Unavailable("Events arrive faster than they can be linked. Try again when the site is less busy.")


def audit_campaign(platform: Platform, name: str, *, known: str | None = None) -> AuditReport:
    """Link pending events and compare all stored data with the chain; `known` is an earlier last link."""
    with platform.database.reading() as tx:
        campaign_id = campaigns.get_campaign_by_name(tx, name).id
    _link_campaign(platform, campaign_id)
    with platform.database.reading() as tx:
        n, head = events.get_chain_head(tx, campaign_id)
        first_break = find_chain_break(events.iterate_entries(tx, campaign_id), n=n, head=head)
        return AuditReport(
            n=n,
            n_erased=events.count_erased_events(tx, campaign_id),
            head=head,
            first_break=first_break,
            contains_head=None if known is None else events.has_chain_digest(tx, campaign_id, known),
            faults=tuple(islice(_find_faults(tx, campaign_id), MAX_FAULTS)),
        )


def _find_faults(tx: Connection, campaign_id: str) -> Iterator[str]:
    yield from _find_answer_faults(tx, campaign_id)
    yield from _find_chat_faults(tx, campaign_id)
    for item, stored, counted in store.iterate_wrong_loads(tx, campaign_id):
        yield f"Item {item} should have {stored:,} raters, and has {counted:,}."
    n_raters, counted = store.count_raters(tx, campaign_id)
    if counted > n_raters:
        yield f"The campaign should have {n_raters:,} raters, and has {counted:,}."


def _find_answer_faults(tx: Connection, campaign_id: str) -> Iterator[str]:
    """Compare submitted answers with the digests in the event log."""
    since = store.find_first_event_time(tx, campaign_id)
    if since is None:
        return
    digests = {
        str(event.content["save"]): str(event.content["digest"])
        for event in events.iterate_events(tx, campaign_id, "item_submitted")
    }
    for key, save in store.iterate_final_saves(tx, campaign_id, since=since):
        digest = digests.pop(key, None)
        if digest is None:
            yield f"The answers {key} are stored, and the log has no submission of them."
        elif digest != digest_save(save):
            yield f"The answers {key} differ from those that were submitted."
    for key in digests:
        yield f"The answers {key} were submitted, and are missing."


def _find_chat_faults(tx: Connection, campaign_id: str) -> Iterator[str]:
    """Compare chat messages and picks with the digests in the event log."""
    messages, picks = (_load_exchange_digests(tx, campaign_id, kind) for kind in ("message_sent", "response_picked"))
    for exchange_id, exchange in store.iterate_exchanges(tx, campaign_id):
        if messages.pop(exchange_id, None) != digest_message(exchange):
            yield f"The message in the exchange {exchange_id} differs from the one that was sent."
        if exchange.pick is not None and picks.pop(exchange_id, None) != digest_pick(exchange):
            yield f"The preference in the exchange {exchange_id} differs from the one that was picked."
    for exchange_id in {*messages, *picks}:
        yield f"Parts of the exchange {exchange_id} are missing."


def _load_exchange_digests(tx: Connection, campaign_id: str, kind: EventKind) -> dict[str, str]:
    """Return the logged digest of each exchange."""
    return {
        str(event.content["exchange"]): str(event.content["digest"])
        for event in events.iterate_events(tx, campaign_id, kind)
    }
