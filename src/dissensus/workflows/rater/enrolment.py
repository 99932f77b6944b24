"""How raters come into a campaign: by a link, once they agreed."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.recruit.prolific import ProlificEntry, parse_entry
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import campaigns, raters, recruits
from dissensus.store.campaigns import Kept
from dissensus.store.core.ids import new_id, new_key
from dissensus.store.raters import Rater, Said
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.invite_links import NO_IDS, Way, named_by_link, recruit_of, way_of
from dissensus.workflows.rater.journey import Present, Step, check_here, claim_seat, present, step

SESSION = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody who came by a link and has not agreed yet.

    Parameters
    ----------
    campaign
        What they came to, by name.
    key
        That of the open link, or of a personal one, and any for a rehearsal. By a personal link somebody who entered
        before goes on.
    language
        What they read.
    rater_id
        The id of the new rater, as `entry_id` made it for who saw the warning: a form that is sent twice makes one
        rater, who is signed in again; what they said first holds, and who has withdrawn sees that they have. Without
        it a new id is made.
    sent
        By whom they were sent, and as whom they are known there; None for nobody.
    """

    campaign: str
    key: str
    language: str
    rater_id: str | None = None
    sent: ProlificEntry | None = None

    @property
    def ids(self) -> Mapping[str, str]:
        """The ids by which a recruiter knows them, as in the address that they came by; none for nobody."""
        return NO_IDS if self.sent is None else self.sent.query


def agree(
    platform: Platform,
    arrival: Arrival,
    purposes: Mapping[str, bool],
    *,
    rehearsal: bool = False,
    read: str | None = None,
    now: datetime,
) -> tuple[Rater, str]:
    """Let somebody in who agreed to the consent text, and return the rater and the key of their session.

    Parameters
    ----------
    platform, arrival
        Who came, and to which campaign.
    purposes
        What they said to each purpose.
    rehearsal
        Whether it is a preview or a dry run; a draft lets nobody else in.
    read
        Digest of the consent text that they read, where it is known.
    now
        The time.

    Raises
    ------
    NotAllowed
        The link does not open the campaign, or a purpose that is required was not agreed to. Nothing is kept then.
    Conflict
        The campaign is not open, or the consent text has changed since they read it, or the same person came before.
    """
    with platform.database.writing() as tx:
        kept = campaigns.campaign_named(tx, arrival.campaign, lock=True)
        campaign = platform.definitions.of(tx, kept)
        way = Way() if rehearsal else way_of(tx, kept, campaign, arrival.key)
        rater = _known(tx, arrival, way)
        if rater is None:
            given = _agreed(campaign, purposes, read)
            if kept.state != "open" and not rehearsal:
                raise Conflict(f"{kept.name} takes no raters now: it is {kept.state}.")
            rater = _let_in(tx, kept, campaign, arrival, way, rehearsal=rehearsal, now=now)
            _keep_consent(tx, rater, kept, campaign, given, now)
        elif rater.campaign_id != kept.id:
            raise NotAllowed("This personal link is of another campaign.")
        session = new_key()
        raters.sign_in(tx, rater.id, session, expires_at=now + SESSION)
    return rater, session


def _known(tx: Connection, arrival: Arrival, way: Way) -> Rater | None:
    """Return who somebody is who entered before: by this form, by this link or by this submission."""
    rater = None if arrival.rater_id is None else raters.rater_of(tx, arrival.rater_id)
    rater = rater or (raters.rater_invited(tx, way.invitation) if way.invitation else None)
    return rater or (_rater_sent(tx, arrival.sent) if arrival.sent else None)


def _let_in(
    tx: Connection,
    kept: Kept,
    campaign: Campaign,
    arrival: Arrival,
    way: Way,
    *,
    rehearsal: bool,
    now: datetime,
) -> Rater:
    rater = raters.add_rater(
        tx,
        kept.id,
        arrival.rater_id or new_id(now),
        language=arrival.language,
        invitation=way.invitation,
        cell=way.cell,
        rehearsal=rehearsal,
        now=now,
    )
    log_rater_event(tx, rater, "enter", now, language=arrival.language, cell=way.cell)
    if arrival.sent is not None:
        _keep_recruit(tx, rater, arrival.sent, now)
    if way.cell is not None and not claim_seat(tx, Present(rater, kept, campaign), now=now):
        raise Conflict("All places for which this link is are taken. Nothing about you was kept.")
    return rater


def _keep_recruit(tx: Connection, rater: Rater, sent: ProlificEntry, now: datetime) -> None:
    if recruit_of(tx, rater.campaign_id, sent) is not None:
        raise Conflict("You came to this campaign before, by another submission. Nothing more about you was kept.")
    ids = {"person": sent.pid, "study": sent.study, "submission": sent.submission}
    recruits.add_recruit(tx, rater.campaign_id, rater.id, **ids, now=now)


def _rater_sent(tx: Connection, sent: ProlificEntry, *, lock: bool = False) -> Rater | None:
    return raters.rater_sent(tx, sent.pid, sent.submission, lock=lock)


def entry_id(now: datetime) -> str:
    """Return an id for who saw the warning, which is theirs as a rater if they agree; nothing is kept of it before."""
    return new_id(now)


def agree_again(
    platform: Platform, rater: Rater, purposes: Mapping[str, bool], *, read: str | None = None, now: datetime
) -> Step:
    """Keep what a rater said to a consent text that changed."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        check_here(here.rater)
        given = _agreed(here.campaign, purposes, read)
        _keep_consent(tx, here.rater, here.kept, here.campaign, given, now)
    return step(platform, rater, now=now)


def _agreed(campaign: Campaign, purposes: Mapping[str, bool], read: str | None) -> dict[str, bool]:
    """Return what was said to each purpose, and refuse who does not agree to what is required, or read another text."""
    if read not in (None, campaign.consent.digest):
        raise Conflict("The text has changed since you read it, and nothing was kept. Go back, and read it again.")
    names = {purpose.name for purpose in campaign.consent.purposes}
    unknown = sorted(set(purposes) - names)
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is no purpose of the consent text.")
    refused = [one.name for one in campaign.consent.purposes if one.required and not purposes.get(one.name, False)]
    if refused:
        raise NotAllowed("Without agreeing to what is required one cannot take part. Nothing about you was kept.")
    return {name: purposes.get(name, False) for name in sorted(names)}


def _keep_consent(
    tx: Connection, rater: Rater, kept: Kept, campaign: Campaign, given: Mapping[str, bool], now: datetime
) -> None:
    text_id, _ = campaigns.consent_text(tx, kept.id, campaign.consent, now=now)
    if not raters.has_consented(tx, rater.id, text_id):
        raters.consent(tx, rater.id, text_id, given, now=now)
        log_rater_event(tx, rater, "consent", now, text=campaign.consent.digest, given=dict(given))


def said(platform: Platform, rater: Rater) -> tuple[Said, ...]:
    """Return what a rater said to each version of the consent text that they were shown, the latest first."""
    with platform.database.reading() as tx:
        return raters.said(tx, rater.id)


def resume(
    platform: Platform, name: str, key: str, ids: Mapping[str, str] = NO_IDS, *, now: datetime
) -> tuple[Rater, str] | None:
    """Sign in who entered a campaign before, by a personal link or by the same submission, on any device.

    None where nobody has.
    """
    with platform.database.reading() as tx:
        # Most who come have no such link, and keep no other from writing.
        if _entered(tx, platform, name, key, ids) is None:
            return None
    with platform.database.writing() as tx:
        rater = _entered(tx, platform, name, key, ids, lock=True)
        if rater is None:
            return None
        session = new_key()
        raters.sign_in(tx, rater.id, session, expires_at=now + SESSION)
    return rater, session


def _entered(
    tx: Connection, platform: Platform, name: str, key: str, ids: Mapping[str, str], *, lock: bool = False
) -> Rater | None:
    """Return who entered a campaign by a personal link, or by the submission that a recruiter names."""
    kept = named_by_link(tx, name)
    rater = raters.rater_invited(tx, key, lock=lock)
    if rater is None and ids and platform.definitions.of(tx, kept).prolific is not None:
        # What is wrong with ids is told at the entrance, to who has its key.
        with suppress(InvalidInput):
            rater = _rater_sent(tx, parse_entry(ids), lock=lock)
    return rater if rater is not None and rater.campaign_id == kept.id else None


def takes_part(platform: Platform, name: str, session: str, *, now: datetime) -> bool:
    """Tell whether the rater of a session takes part in a campaign: who comes by an open link again goes on."""
    with platform.database.reading() as tx:
        rater = raters.rater_signed_in(tx, session, now=now)
        if rater is None or rater.rehearsal or rater.state == "withdrawn":
            return False
        return campaigns.campaign_of(tx, rater.campaign_id).name == name


def sign_out(platform: Platform, session: str) -> None:
    """End a session, so that whoever has the device next is nobody here."""
    with platform.database.writing() as tx:
        raters.sign_out(tx, session)


def signed_in(platform: Platform, session: str, *, now: datetime) -> Rater | None:
    """Return the rater of a session, None where it has ended."""
    with platform.database.reading() as tx:
        return raters.rater_signed_in(tx, session, now=now)
