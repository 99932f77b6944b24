"""Enrolment, consent and sessions of raters."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.recruit.entry import RecruitEntry, entry_parameters, parse_entry
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_value
from dissensus.store import campaigns, consents, raters, recruits
from dissensus.store.campaigns import CampaignRow
from dissensus.store.consents import ConsentRow
from dissensus.store.core.orm import new_id, new_key
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import RaterContext, check_not_withdrawn, load_rater
from dissensus.workflows.rater.invite_links import NO_IDS, LinkTarget, campaign_of_link, find_recruit, resolve_link
from dissensus.workflows.rater.next_step import RaterStep, claim_seat, find_next_step
from dissensus.workflows.rater.rate_limits import limit_entry

SESSION_LIFETIME = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A visitor with a link who has not consented yet."""

    campaign: str
    key: str  # key of the open link or a personal one; any value for a preview
    language: str
    rater_id: str | None = None  # id from `new_entry_id`; makes the consent form idempotent
    recruit_entry: RecruitEntry | None = None  # recruiter ids, None without a recruiter

    @property
    def ids(self) -> Mapping[str, str]:
        """Recruiter ids as in the query of the entry link."""
        return NO_IDS if self.recruit_entry is None else self.recruit_entry.query


def enrol_rater(
    platform: Platform,
    arrival: Arrival,
    purposes: Mapping[str, bool],
    *,
    rehearsal: bool = False,
    text_digest: str | None = None,
    address: str | None = None,
    now: datetime,
) -> tuple[RaterRow, str]:
    """Enrol a rater who consents and return the rater and a session key.

    A rater who entered before is signed in again. `text_digest` is that of the consent text on the page, `address` the
    keyed digest of the visitor's address, by which entries are limited.
    """
    with platform.database.writing() as tx:
        campaign_row = campaigns.get_campaign_by_name(tx, arrival.campaign, lock=True)
        campaign = platform.definitions.load(tx, campaign_row)
        target = LinkTarget() if rehearsal else resolve_link(tx, campaign_row, campaign, arrival.key)
        rater = _find_earlier_rater(tx, arrival, target)
        if rater is None:
            agreed = _validate_consent(campaign, purposes, text_digest)
            if campaign_row.state != "open" and not rehearsal:
                raise Conflict(f"{campaign_row.name} takes no raters now: it is {campaign_row.state}.")
            if not rehearsal and target.invitation is None:
                limit_entry(tx, platform, campaign_row.id, target.cell, address=address, now=now)
            rater = _add_rater(tx, campaign_row, campaign, arrival, target, rehearsal=rehearsal, now=now)
            _store_consent(tx, rater, campaign_row, campaign, agreed, now)
        elif rater.campaign_id != campaign_row.id:
            raise NotAllowed("This personal link is of another campaign.")
        else:
            # Refuses too many sessions, each of which is a write.
            load_rater(tx, platform, rater, now=now)
        session = new_key()
        raters.add_rater_session(tx, rater.id, session, expires_at=now + SESSION_LIFETIME)
    return rater, session


def _find_earlier_rater(tx: Connection, arrival: Arrival, target: LinkTarget) -> RaterRow | None:
    """Return the rater who entered before by this form, link or submission."""
    rater = None if arrival.rater_id is None else raters.find_rater(tx, arrival.rater_id)
    rater = rater or (raters.find_invited_rater(tx, target.invitation) if target.invitation else None)
    return rater or (_find_recruited_rater(tx, arrival.recruit_entry) if arrival.recruit_entry else None)


def _add_rater(
    tx: Connection,
    campaign_row: CampaignRow,
    campaign: Campaign,
    arrival: Arrival,
    target: LinkTarget,
    *,
    rehearsal: bool,
    now: datetime,
) -> RaterRow:
    rater = raters.add_rater(
        tx,
        campaign_row.id,
        arrival.rater_id or new_id(now),
        language=arrival.language,
        invitation=target.invitation,
        cell=target.cell,
        rehearsal=rehearsal,
        now=now,
    )
    log_rater_event(tx, rater, "entered", now, language=arrival.language, cell=target.cell)
    if arrival.recruit_entry is not None:
        _add_recruit(tx, rater, arrival.recruit_entry, now)
    if target.cell is not None and not claim_seat(tx, RaterContext(rater, campaign_row, campaign), now=now):
        raise Conflict("All places of this link are taken. Nothing about you was stored.")
    return rater


def _add_recruit(tx: Connection, rater: RaterRow, entry: RecruitEntry, now: datetime) -> None:
    if find_recruit(tx, rater.campaign_id, entry) is not None:
        raise Conflict("You entered this campaign before with another submission. Nothing more about you was stored.")
    recruits.add_recruit(
        tx,
        rater.campaign_id,
        rater.id,
        person=entry.person,
        submission=entry.submission,
        now=now,
    )


def _find_recruited_rater(tx: Connection, entry: RecruitEntry, *, lock: bool = False) -> RaterRow | None:
    return recruits.find_recruited_rater(tx, entry.person, entry.submission, lock=lock)


def new_entry_id(now: datetime) -> str:
    """Return the id that a visitor will have after consent; nothing is stored yet."""
    return new_id(now)


def renew_consent(
    platform: Platform, rater: RaterRow, purposes: Mapping[str, bool], *, text_digest: str | None = None, now: datetime
) -> RaterStep:
    """Store a rater's consent to a changed text."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        check_not_withdrawn(context.rater)
        agreed = _validate_consent(context.campaign, purposes, text_digest)
        _store_consent(tx, context.rater, context.campaign_row, context.campaign, agreed, now)
    return find_next_step(platform, rater, now=now)


def _validate_consent(campaign: Campaign, purposes: Mapping[str, bool], text_digest: str | None) -> dict[str, bool]:
    """Return the consent per purpose; reject missing required ones and outdated texts."""
    if text_digest not in (None, campaign.consent.digest):
        raise Conflict("The text has changed since you read it, and nothing was stored. Go back and read it again.")
    names = {purpose.name for purpose in campaign.consent.purposes}
    unknown = sorted(set(purposes) - names)
    if unknown:
        raise InvalidInput(f"{format_value(unknown[0])} is not a purpose of the consent text.")
    if any(purpose.required and not purposes.get(purpose.name, False) for purpose in campaign.consent.purposes):
        raise NotAllowed("You can take part only if you agree to the required purposes. Nothing about you was stored.")
    return {name: purposes.get(name, False) for name in sorted(names)}


def _store_consent(
    tx: Connection,
    rater: RaterRow,
    campaign_row: CampaignRow,
    campaign: Campaign,
    agreed: Mapping[str, bool],
    now: datetime,
) -> None:
    text_id, version = consents.ensure_consent_text(tx, campaign_row.id, campaign.consent, now=now)
    if not consents.has_answered_text(tx, rater.id, text_id):
        consents.add_consents(tx, rater.id, text_id, agreed, now=now)
        content = {"text": campaign.consent.digest, "version": version, "agreed": dict(agreed)}
        log_rater_event(tx, rater, "consented", now, **content)


def list_consents(platform: Platform, rater: RaterRow) -> tuple[ConsentRow, ...]:
    """Return a rater's consents to each version of the text, latest first."""
    with platform.database.reading() as tx:
        return consents.list_consents(tx, rater.id)


def resume_session(
    platform: Platform, name: str, key: str, ids: Mapping[str, str] = NO_IDS, *, now: datetime
) -> tuple[RaterRow, str] | None:
    """Sign in a rater who entered before by a personal link or submission; None if nobody did."""
    with platform.database.reading() as tx:
        # Most visitors have no such link, and should not wait for the write lock.
        if _find_entered_rater(tx, platform, name, key, ids) is None:
            return None
    with platform.database.writing() as tx:
        rater = _find_entered_rater(tx, platform, name, key, ids, lock=True)
        if rater is None:
            return None
        load_rater(tx, platform, rater, now=now)
        session = new_key()
        raters.add_rater_session(tx, rater.id, session, expires_at=now + SESSION_LIFETIME)
    return rater, session


def _find_entered_rater(
    tx: Connection, platform: Platform, name: str, key: str, ids: Mapping[str, str], *, lock: bool = False
) -> RaterRow | None:
    """Return the rater who entered by a personal link or a recruiter's submission."""
    campaign_row = campaign_of_link(tx, name)
    rater = raters.find_invited_rater(tx, key, lock=lock)
    recruit = None if rater is not None or not ids else platform.definitions.load(tx, campaign_row).recruit
    if recruit is not None:
        # Faults in the ids are reported by `check_entry`, to visitors with a valid key.
        with suppress(InvalidInput):
            rater = _find_recruited_rater(tx, parse_entry(recruit, campaign_row.id, ids), lock=lock)
    return rater if rater is not None and rater.campaign_id == campaign_row.id else None


def is_participant(
    platform: Platform, name: str, session: str, ids: Mapping[str, str] = NO_IDS, *, now: datetime
) -> bool:
    """Return whether the visitor is the rater of a session; one with a recruiter's ids is another person."""
    with platform.database.reading() as tx:
        rater = raters.find_signed_in_rater(tx, session, now=now)
        if rater is None or rater.rehearsal or rater.state == "withdrawn":
            return False
        campaign_row = campaigns.get_campaign(tx, rater.campaign_id)
        recruit = platform.definitions.load(tx, campaign_row).recruit
        if recruit is not None and any(parameter in ids for parameter in entry_parameters(recruit)):
            return False
        return campaign_row.name == name


def sign_out_rater(platform: Platform, session: str) -> None:
    """End a session, so that the next user of the device is not signed in."""
    with platform.database.writing() as tx:
        raters.end_rater_session(tx, session)


def rater_of_session(platform: Platform, session: str, *, now: datetime) -> RaterRow | None:
    """Return the rater of a session; None if it has expired."""
    with platform.database.reading() as tx:
        return raters.find_signed_in_rater(tx, session, now=now)
