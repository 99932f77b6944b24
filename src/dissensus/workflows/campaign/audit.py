"""Audit a campaign: verify its hash-chained event log and compare the stored data with it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.audit_log import ChainBreak, ChainVerifier, digest_sequence
from dissensus.campaign.audit_replay import LogReplay
from dissensus.errors import DissensusError, Unavailable
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.quota import Quota
from dissensus.schema.canonical_json import digest_json
from dissensus.store import audit as store
from dissensus.store import audit_log, campaigns, gold
from dissensus.store.erasure import has_campaign_rows
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.monitoring import discard_figures, find_summary_faults
from dissensus.workflows.gold.labelling import find_progress_faults
from dissensus.workflows.platform.platform import Platform

MAX_LINK_ROUNDS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """Result of an audit."""

    name: str  # of the campaign
    campaign_id: str
    n: int  # events in the chain
    n_erased: int  # events whose content was erased
    n_withdrawals: int  # raters who withdrew
    head: str  # last link; keep it elsewhere to prove later that nothing before it changed
    first_break: ChainBreak | None  # first break of the chain, None if it is intact
    missing_heads: tuple[str, ...] | None  # earlier heads that are not in the chain, None if none were given
    faults: tuple[str, ...]  # disagreements between stored data and events
    compares_summaries: bool  # True if summaries of items and raters were compared: answers hold, and none is newer

    @property
    def holds(self) -> bool:
        """True if the audit found no fault."""
        return self.first_break is None and not self.missing_heads and not self.faults


def log_view(platform: Platform, name: str, view: str, *, staff_id: str, now: datetime) -> None:
    """Log that a member of staff viewed data of individual raters."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        log_staff_event(tx, campaign_row.id, "viewed", staff_id, now, view=view)


def link_pending_events(platform: Platform) -> int:
    """Link the unlinked events of all campaigns into their chains and return their number."""
    with platform.database.reading() as tx:
        campaign_ids = audit_log.list_unchained_campaigns(tx)
    return sum(_link_campaign(platform, campaign_id) for campaign_id in campaign_ids)


def _link_campaign(platform: Platform, campaign_id: str) -> int:
    n_linked = 0
    for _ in range(MAX_LINK_ROUNDS):
        with platform.database.writing() as tx:
            n = audit_log.chain_events(tx, campaign_id)
        n_linked += n
        if n < audit_log.BATCH_SIZE:
            return n_linked
    raise Unavailable("Events arrive faster than they can be linked. Try again when the site is less busy.")


def load_campaign_ids(platform: Platform) -> dict[str, str]:
    """Return the id of each campaign by its name, the earliest created first."""
    with platform.database.reading() as tx:
        return campaigns.list_campaign_ids(tx)


def audit_campaign(platform: Platform, name: str, *, heads: Collection[str] | None = None) -> AuditReport:
    """Link pending events and compare all stored data with the chain; `heads` are earlier heads of it.

    Figures that do not match the answers are deleted, and the next refresh of the monitoring computes them anew.
    """
    with platform.database.reading() as tx:
        campaign_id = campaigns.list_campaign_ids(tx).get(name) or campaigns.get_campaign_by_name(tx, name).id
    _link_campaign(platform, campaign_id)
    with platform.database.reading() as tx:
        n, head = audit_log.get_chain_head(tx, campaign_id)
        verifier, replay, missing = ChainVerifier(), LogReplay(), dict.fromkeys(heads or ())
        for entry in audit_log.iterate_entries(tx, campaign_id):
            missing.pop(entry.chain_digest, None)
            if verifier.verify(entry) and entry.event is not None:
                replay.add(entry.event, entry.subject_id)
            elif entry.event is None:
                replay.add_erased(entry.sequence, entry.subject_id)
        verifier.finish(n=n, head=head)
        for event, subject_id in audit_log.iterate_unchained(tx, campaign_id):
            replay.add(event, subject_id)
        faults = tuple(_find_faults(tx, campaign_id, replay))
        is_comparable = verifier.first_break is None and not faults and not replay.is_deleted
        summary_faults = find_summary_faults(platform, tx, campaign_id) if is_comparable else None
        if is_comparable:
            campaign_row = campaigns.get_campaign(tx, campaign_id)
            faults += tuple(find_progress_faults(tx, campaign_row, platform.definitions.load(tx, campaign_row)))
        report = AuditReport(
            name=name,
            campaign_id=campaign_id,
            n=n,
            n_erased=replay.n_erased,
            n_withdrawals=len(replay.withdrawn),
            head=head,
            first_break=verifier.first_break,
            missing_heads=None if heads is None else tuple(missing),
            faults=faults + (summary_faults or ()),
            compares_summaries=summary_faults is not None,
        )
    if summary_faults:
        discard_figures(platform, campaign_id)
    return report


def _find_faults(tx: Connection, campaign_id: str, replay: LogReplay) -> Iterator[str]:
    stored_campaign = store.load_stored_campaign(tx, campaign_id)
    if stored_campaign.deleted_at is not None or replay.is_deleted:
        yield from _find_deletion_faults(tx, campaign_id, stored_campaign, replay)
        return
    yield from replay.iterate_faults()
    yield from _find_campaign_faults(stored_campaign, replay)
    yield from _find_consent_text_faults(tx, campaign_id)
    yield from _find_item_faults(tx, campaign_id, replay)
    yield from _find_withdrawal_faults(tx, campaign_id, replay)
    yield from _find_seat_faults(tx, campaign_id, _parse_quota(stored_campaign), replay)
    yield from replay.compare_records(store.iterate_records(tx, campaign_id))
    for rater_id, item, state in store.iterate_wrong_assignments(tx, campaign_id):
        yield f"Item {item} of rater {rater_id} is {state}, which its submitted answers contradict."
    for item, stored, counted in store.iterate_wrong_loads(tx, campaign_id):
        yield f"Item {item} should have {stored:,} raters, and has {counted:,}."
    n_raters, counted = store.count_raters(tx, campaign_id)
    if counted > n_raters:
        yield f"The campaign should have {n_raters:,} raters, and has {counted:,}."


def _find_deletion_faults(
    tx: Connection, campaign_id: str, stored: store.StoredCampaign, replay: LogReplay
) -> Iterator[str]:
    """Yield the faults of a deleted campaign: its log has the deletion, and nothing else is stored."""
    if not replay.is_deleted:
        yield "The campaign is deleted, and the log has no deletion."
    if stored.deleted_at is None:
        yield "The campaign is stored, and deleted according to the log."
    if has_campaign_rows(tx, campaign_id):
        yield "The campaign is deleted according to the log, and rows of it are stored."


def _parse_quota(stored: store.StoredCampaign) -> Quota | None:
    """Return the quota of a campaign, None if the definition has none or cannot be parsed."""
    try:
        return parse_campaign(stored.definition).quota
    except DissensusError:
        return None


def _find_campaign_faults(stored: store.StoredCampaign, replay: LogReplay) -> Iterator[str]:
    # The stored mapping is digested, since another version of the program may write other default values.
    if (stored.definition_name, digest_json(stored.definition)) != (stored.name, stored.digest):
        yield "The definition of the campaign does not match its stored digest or name."
    if stored.digest != replay.definition:
        yield "The definition of the campaign is not the last one in the log."
    if stored.state != replay.state:
        yield f"The campaign is {stored.state}, and {replay.state} according to the log."


def _find_consent_text_faults(tx: Connection, campaign_id: str) -> Iterator[str]:
    for version, digest, content in store.iterate_consent_texts(tx, campaign_id):
        if digest_json(content) != digest:
            yield f"Version {version} of the consent text does not match its digest."


def _find_item_faults(tx: Connection, campaign_id: str, replay: LogReplay) -> Iterator[str]:
    digests = []
    for name, digest, valid in store.iterate_items(tx, campaign_id):
        digests.append(digest)
        if valid is None and name not in replay.erased_items:
            yield f"The text of item {name} was erased, and the log has no erasure of it."
        if valid is False:
            yield f"The name, text or attributes of item {name} changed after the log was written."
    if digest_sequence(digests) != replay.items:
        yield "The items are not those in the log: some were added, removed, replaced or reordered."
    if replay.gold_sample is not None and replay.gold_sample != gold.digest_sample(tx, campaign_id):
        yield "The sample of items that experts label is not the one in the log."


def _find_withdrawal_faults(tx: Connection, campaign_id: str, replay: LogReplay) -> Iterator[str]:
    n = 0
    for rater_id in store.iterate_withdrawn_raters(tx, campaign_id):
        n += 1
        if rater_id in replay.raters:
            yield f"Rater {rater_id} is stored as withdrawn, and the log has no withdrawal of this rater."
    if n != len(replay.withdrawn):
        yield f"{n:,} raters are stored as withdrawn, and the log has {len(replay.withdrawn):,} withdrawals."


def _find_seat_faults(tx: Connection, campaign_id: str, quota: Quota | None, replay: LogReplay) -> Iterator[str]:
    for rater_id, seat_cell, rater_cell in store.iterate_wrong_seats(tx, campaign_id):
        yield f"Rater {rater_id} of the quota cell {rater_cell} has a seat in {seat_cell}."
    if store.count_screen_outs(tx, campaign_id) != replay.turned_away:
        yield "The numbers of raters who were turned away, by quota cell, are not those in the log."
    if quota is None or replay.state == "draft":
        return
    seats, capacities = store.count_seats(tx, campaign_id), quota.capacities
    for cell in sorted({*seats, *capacities}):
        if cell not in capacities or seats[cell] < capacities[cell]:
            yield f"The quota cell {cell} has {seats[cell]:,} seats, and its capacity is {capacities.get(cell, 0):,}."
