"""Whether what is kept of a campaign is what was written: its chain of events, and what must agree with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import digest_of
from dissensus.campaign.event_log import Break, Kind, first_break
from dissensus.errors import Unavailable
from dissensus.pipeline.collect.chat import picked_digest, said_digest
from dissensus.store import audit as store
from dissensus.store import campaigns, events
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

MAX_FAULTS: Final = 20
"""Faults that a report names."""
MAX_LINK_ROUNDS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit found."""

    n: int  # Events in the chain, and how many of them were erased with what they told of
    n_erased: int
    head: str  # The last link. Whoever keeps it elsewhere can show later that nothing before it was changed.
    broken: Break | None  # Where the chain first does not hold; None where all of it does
    knows: bool | None  # Whether a link that was asked about is in the chain; None where none was
    faults: tuple[str, ...]  # What does not agree with the events, or with itself, as sentences; the first of them

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.broken is None and self.knows is not False and not self.faults


def log_view(platform: Platform, name: str, what: str, *, staff_id: str, now: datetime) -> None:
    """Keep that somebody of the staff is shown what single raters did or said."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        log_staff_event(tx, kept.id, "see", staff_id, now, what=what)


def link_pending_events(platform: Platform) -> int:
    """Link all events that are not yet, of all campaigns, and return how many."""
    with platform.database.reading() as tx:
        campaign_ids = events.loose(tx)
    return sum(_link_campaign(platform, campaign_id) for campaign_id in campaign_ids)


def _link_campaign(platform: Platform, campaign_id: str) -> int:
    linked = 0
    for _ in range(MAX_LINK_ROUNDS):
        with platform.database.writing() as tx:
            n = events.link(tx, campaign_id)
        linked += n
        if n < events.AT_ONCE:
            return linked
    raise Unavailable("Events come faster than they can be linked. Try again when less is going on.")


def audit_campaign(platform: Platform, name: str, *, known: str | None = None) -> AuditReport:
    """Link what is not linked yet, and compare all that is kept with it."""
    with platform.database.reading() as tx:
        campaign_id = campaigns.campaign_named(tx, name).id
    _link_campaign(platform, campaign_id)
    with platform.database.reading() as tx:
        n, head = events.end_of(tx, campaign_id)
        broken = first_break(events.entries_of(tx, campaign_id), n=n, head=head)
        return AuditReport(
            n=n,
            n_erased=events.n_erased(tx, campaign_id),
            head=head,
            broken=broken,
            knows=None if known is None else events.has_link(tx, campaign_id, known),
            faults=tuple(islice(_find_faults(tx, campaign_id), MAX_FAULTS)),
        )


def _find_faults(tx: Connection, campaign_id: str) -> Iterator[str]:
    yield from _find_answer_faults(tx, campaign_id)
    yield from _find_chat_faults(tx, campaign_id)
    for item, kept, counted in store.wrong_loads(tx, campaign_id):
        yield f"Item {item} is said to have {kept:,} raters, and has {counted:,}."
    n_raters, counted = store.n_raters(tx, campaign_id)
    if counted > n_raters:
        yield f"The campaign is said to have let in {n_raters:,} raters, and has {counted:,}."


def _find_answer_faults(tx: Connection, campaign_id: str) -> Iterator[str]:
    """Compare what was submitted with what was told of it when it came."""
    since = store.first_event(tx, campaign_id)
    if since is None:
        return
    told = {str(one.content["save"]): str(one.content["digest"]) for one in events.events_of(tx, campaign_id, "submit")}
    for key, save in store.submitted(tx, campaign_id, since=since):
        digest = told.pop(key, None)
        if digest is None:
            yield f"The answers {key} were never submitted, by what is told."
        elif digest != digest_of(save):
            yield f"The answers {key} are not what was submitted."
    for key in told:
        yield f"The answers {key} were submitted, and are gone."


def _find_chat_faults(tx: Connection, campaign_id: str) -> Iterator[str]:
    """Compare what was said to chatbots, and picked, with what was told of it when it came."""
    told: dict[Kind, dict[str, str]] = {}
    for kind in ("say", "pick"):
        found = events.events_of(tx, campaign_id, kind)
        told[kind] = {str(one.content["exchange"]): str(one.content["digest"]) for one in found}
    for one, exchange in store.chatted(tx, campaign_id):
        if told["say"].pop(one, None) != said_digest(exchange):
            yield f"What stands in the exchange {one} is not what was said."
        if exchange.pick is not None and told["pick"].pop(one, None) != picked_digest(exchange):
            yield f"The preference in the exchange {one} is not what was picked."
    for one in {*told["say"], *told["pick"]}:
        yield f"The exchange {one} is not whole any more."
