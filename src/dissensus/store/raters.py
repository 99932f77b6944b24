"""Raters with their sessions, consents and what they say of themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from dissensus.errors import NotAllowed
from dissensus.schema.campaign.definition import Consent, consent_from
from dissensus.store import events
from dissensus.store import tables as t
from dissensus.store.core.ids import hashed, new_id

Standing: TypeAlias = Literal["rating", "finished", "stopped", "withdrawn"]

SHUT: Final = "This link is not valid (any more). Ask whoever sent it for a new one."
"""What strangers are told of a key that opens nothing, be there such a campaign or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater as they are kept."""

    id: str  # Who, in which campaign, and the how manieth to enter it, from 0
    campaign_id: str
    number: int
    cell: str | None  # Of the quota; None where there is none, or before it is known
    left_out: str | None  # Topics that they do not want to meet, one a line; None before they were asked
    state: Standing  # Whether they go on
    language: str
    rehearsal: bool  # Whether it is a preview or a dry run


_COLUMNS = [getattr(t.Rater, name) for name in Rater.__dataclass_fields__]

# What every submit asks is put together once: that takes longer than the database needs for the answer.
_SEEN = update(t.Rater).where(t.Rater.id == bindparam("one")).values(seen_at=bindparam("now")).returning(*_COLUMNS)
_SIGNED_IN = (
    select(*_COLUMNS)
    .join(t.Session, t.Session.rater_id == t.Rater.id)
    .where(t.Session.key_hash == bindparam("key_hash"), t.Session.expires_at > bindparam("now"))
)
_LAST_VERSION = select(func.max(t.ConsentText.version)).where(t.ConsentText.campaign_id == bindparam("campaign"))
_SAID_TO_LAST = (
    select(func.count(t.Consent.purpose))
    .select_from(t.ConsentText)
    .outerjoin(t.Consent, (t.Consent.consent_text_id == t.ConsentText.id) & (t.Consent.rater_id == bindparam("rater")))
    .where(t.ConsentText.campaign_id == bindparam("campaign"), t.ConsentText.version == _LAST_VERSION.scalar_subquery())
    .group_by(t.ConsentText.id)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a rater said to one version of a consent text."""

    version: int  # Which one, and the text as it was
    consent: Consent
    given: Mapping[str, bool]  # Whether they agreed, by the name of the purpose
    at: datetime  # When they said it


def add_rater(
    tx: Connection,
    campaign_id: str,
    rater_id: str,
    *,
    language: str,
    invitation: str | None,
    cell: str | None,
    rehearsal: bool,
    now: datetime,
) -> Rater:
    """Keep a new rater, with the next number of the campaign, which must be locked."""
    campaign = t.Campaign.id == campaign_id
    number = tx.scalar(select(t.Campaign.n_raters).where(campaign)) or 0
    tx.execute(update(t.Campaign).where(campaign).values(n_raters=number + 1))
    rater = Rater(
        id=rater_id,
        campaign_id=campaign_id,
        number=number,
        cell=cell,
        left_out=None,
        state="rating",
        language=language,
        rehearsal=rehearsal,
    )
    row = {name: getattr(rater, name) for name in Rater.__dataclass_fields__}
    times = {"entered_at": now, "seen_at": now, "changed_at": now}
    tx.execute(insert(t.Rater).values(**row, **times, invitation_hash=hashed(invitation) if invitation else None))
    return rater


def check_invitation(tx: Connection, campaign_id: str, key: str) -> str | None:
    """Return the cell that a personal link is for, if any, and refuse a key that is none of the campaign."""
    known = tx.execute(
        select(t.Invitation.campaign_id, t.Invitation.revoked_at, t.Invitation.cell).where(
            t.Invitation.key_hash == hashed(key)
        )
    ).one_or_none()
    if known is None or known.campaign_id != campaign_id or known.revoked_at is not None:
        raise NotAllowed(SHUT)
    return None if known.cell is None else str(known.cell)


def rater_invited(tx: Connection, key: str, *, lock: bool = False) -> Rater | None:
    """Return the rater who entered by a personal link, None where nobody has; `lock` keeps others from erasing them."""
    query = select(*_COLUMNS).where(t.Rater.invitation_hash == hashed(key))
    row = tx.execute(query.with_for_update(read=True, key_share=True) if lock else query).one_or_none()
    return None if row is None else Rater(**row._mapping)


def rater_sent(tx: Connection, person: str, submission: str, *, lock: bool = False) -> Rater | None:
    """Return the rater whom a recruiter sent by these ids, None where there is none; `lock` as above."""
    sent = (t.Recruit.person == person) & (t.Recruit.submission == submission)
    query = select(*_COLUMNS).join(t.Recruit, t.Recruit.rater_id == t.Rater.id).where(sent)
    locked = query.with_for_update(read=True, key_share=True, of=t.Rater)
    row = tx.execute(locked if lock else query).one_or_none()
    return None if row is None else Rater(**row._mapping)


def rater_of(tx: Connection, rater_id: str) -> Rater | None:
    """Return a rater by their id."""
    row = tx.execute(select(*_COLUMNS).where(t.Rater.id == rater_id)).one_or_none()
    return None if row is None else Rater(**row._mapping)


def seen(tx: Connection, rater_id: str, *, now: datetime) -> Rater | None:
    """Keep that a rater gave a sign, and return them; until the transaction ends nobody else changes or erases them."""
    row = tx.execute(_SEEN, {"one": rater_id, "now": now}).one_or_none()
    return None if row is None else Rater(**row._mapping)


def rater_signed_in(tx: Connection, key: str, *, now: datetime) -> Rater | None:
    """Return the rater of a session, None where there is no such session or it has ended."""
    row = tx.execute(_SIGNED_IN, {"key_hash": hashed(key), "now": now}).one_or_none()
    return None if row is None else Rater(**row._mapping)


def sign_in(tx: Connection, rater_id: str, key: str, *, expires_at: datetime) -> None:
    """Keep a session of a rater, by the hash of its key."""
    tx.execute(insert(t.Session).values(key_hash=hashed(key), rater_id=rater_id, expires_at=expires_at))


def sign_out(tx: Connection, key: str) -> None:
    """End a session of a rater."""
    tx.execute(delete(t.Session).where(t.Session.key_hash == hashed(key), t.Session.rater_id.is_not(None)))


def set_standing(tx: Connection, rater_id: str, state: Standing, *, now: datetime) -> None:
    """Keep whether a rater goes on."""
    tx.execute(update(t.Rater).where(t.Rater.id == rater_id).values(state=state, changed_at=now, seen_at=now))


def erase(tx: Connection, rater_id: str) -> None:
    """Erase all that a rater said and by which link they came; what stays is that somebody took part and withdrew."""
    theirs = select(t.Rater.invitation_hash).where(t.Rater.id == rater_id)
    invitation = tx.scalar(theirs)
    for table in (t.Session, t.Notice, t.Declaration, t.Consent, t.CheckAnswer, t.Feeling, t.Recruit, t.FlagDecision):
        tx.execute(delete(table).where(table.rater_id == rater_id))
    events.erase(tx, rater_id)
    tx.execute(update(t.Rater).where(t.Rater.id == rater_id).values(cell=None, left_out=None, invitation_hash=None))
    if invitation is not None:
        tx.execute(delete(t.Invitation).where(t.Invitation.key_hash == invitation))


def leave_out(tx: Connection, rater_id: str, topics: Sequence[str]) -> None:
    """Keep what a rater does not want to meet."""
    tx.execute(update(t.Rater).where(t.Rater.id == rater_id).values(left_out="\n".join(topics)))


def numbers_of(tx: Connection, campaign_id: str) -> dict[str, int]:
    """Return the how manieth each rater of a campaign is, from 0."""
    return dict(tx.execute(select(t.Rater.id, t.Rater.number).where(t.Rater.campaign_id == campaign_id)).all())


def set_cell(tx: Connection, rater_id: str, cell: str) -> None:
    """Keep of which cell of the quota a rater is."""
    tx.execute(update(t.Rater).where(t.Rater.id == rater_id).values(cell=cell))


def forget(tx: Connection, rater_id: str) -> None:
    """Erase somebody who was turned away before they rated anything; their personal link lets nobody in any more."""
    erase(tx, rater_id)
    tx.execute(delete(t.Rater).where(t.Rater.id == rater_id))


def consent(tx: Connection, rater_id: str, text_id: str, given: Mapping[str, bool], *, now: datetime) -> None:
    """Keep what a rater said to each purpose of a consent text."""
    rows = [
        {"rater_id": rater_id, "consent_text_id": text_id, "purpose": purpose, "given": said, "at": now}
        for purpose, said in given.items()
    ]
    tx.execute(insert(t.Consent), rows)


def said(tx: Connection, rater_id: str) -> tuple[Said, ...]:
    """Return what a rater said to each version of the consent text, the latest version first."""
    query = (
        select(t.ConsentText.version, t.ConsentText.content, t.Consent.purpose, t.Consent.given, t.Consent.at)
        .join(t.Consent, t.Consent.consent_text_id == t.ConsentText.id)
        .where(t.Consent.rater_id == rater_id)
        .order_by(t.ConsentText.version.desc())
    )
    found = []
    for version, together in groupby(tx.execute(query), key=attrgetter("version")):
        rows = list(together)
        given = {row.purpose: row.given for row in rows}
        found.append(Said(version=version, consent=consent_from(rows[0].content), given=given, at=rows[0].at))
    return tuple(found)


def has_consented(tx: Connection, rater_id: str, text_id: str) -> bool:
    """Tell whether a rater answered this version of the consent text."""
    query = select(func.count()).where(t.Consent.rater_id == rater_id, t.Consent.consent_text_id == text_id)
    return bool(tx.scalar(query))


def has_consented_last(tx: Connection, rater: Rater) -> bool:
    """Tell whether a rater answered the consent text that holds; in a draft there may be none yet."""
    return tx.scalar(_SAID_TO_LAST, {"campaign": rater.campaign_id, "rater": rater.id}) != 0


def declare(tx: Connection, rater_id: str, content: Mapping[str, Any], *, now: datetime) -> None:
    """Keep what a rater said of themselves, after what they said before, be the clock set back."""
    last = tx.scalar(select(func.max(t.Declaration.at)).where(t.Declaration.rater_id == rater_id))
    now = now if last is None or now > last else last + timedelta(microseconds=1)
    tx.execute(insert(t.Declaration).values(id=new_id(now), rater_id=rater_id, content=dict(content), at=now))


def declared(tx: Connection, rater_id: str) -> dict[str, Any] | None:
    """Return what a rater said of themselves last, None where nothing."""
    query = (
        select(t.Declaration.content)
        .where(t.Declaration.rater_id == rater_id)
        .order_by(t.Declaration.at.desc())
        .limit(1)
    )
    return tx.scalar(query)


def has_notified(tx: Connection, rater_id: str, kind: str, text: str, *, assignment_id: str | None) -> bool:
    """Tell whether a rater has said just that, and nobody has dealt with it yet."""
    same = (t.Notice.rater_id == rater_id) & (t.Notice.kind == kind) & (t.Notice.text == text)
    open_ = t.Notice.answered_at.is_(None) & t.Notice.assignment_id.is_not_distinct_from(assignment_id)
    return bool(tx.scalar(select(func.count()).where(same, open_)))


def notify(
    tx: Connection,
    rater_id: str,
    kind: Literal["help", "illegal"],
    text: str,
    *,
    assignment_id: str | None,
    now: datetime,
) -> None:
    """Keep that a rater needs help, or reports what must not be shown."""
    row = {
        "id": new_id(now),
        "rater_id": rater_id,
        "assignment_id": assignment_id,
        "kind": kind,
        "text": text,
        "at": now,
    }
    tx.execute(insert(t.Notice).values(**row))
