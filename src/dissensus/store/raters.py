"""Raters with their sessions, consents and what they say of themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, delete, func, insert, select, update

from dissensus.errors import NotAllowed
from dissensus.store import tables as t
from dissensus.store.ids import hashed, new_id

Standing: TypeAlias = Literal["rating", "finished", "stopped", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """A rater as they are kept.

    Parameters
    ----------
    id, campaign_id, number
        Who, in which campaign, and the how manieth to enter it, from 0.
    state
        Whether they go on.
    language
        What they read.
    rehearsal
        Whether it is a preview or a dry run.
    """

    id: str
    campaign_id: str
    number: int
    state: Standing
    language: str
    rehearsal: bool


_COLUMNS = [getattr(t.Rater, name) for name in Rater.__dataclass_fields__]


def add_rater(
    tx: Connection, campaign_id: str, *, language: str, invitation: str | None, rehearsal: bool, now: datetime
) -> Rater:
    """Keep a new rater, with the next number of the campaign, which must be locked.

    Raises
    ------
    NotAllowed
        The personal link is of another campaign, was revoked, or somebody else entered by it.
    """
    if invitation is not None:
        check_invitation(tx, campaign_id, invitation)
    campaign = t.Campaign.id == campaign_id
    number = tx.scalar(select(t.Campaign.n_raters).where(campaign)) or 0
    tx.execute(update(t.Campaign).where(campaign).values(n_raters=number + 1))
    rater = Rater(
        id=new_id(now), campaign_id=campaign_id, number=number, state="rating", language=language, rehearsal=rehearsal
    )
    row = {name: getattr(rater, name) for name in Rater.__dataclass_fields__}
    times = {"entered_at": now, "seen_at": now, "changed_at": now}
    tx.execute(insert(t.Rater).values(**row, **times, invitation_hash=hashed(invitation) if invitation else None))
    return rater


def check_invitation(tx: Connection, campaign_id: str, key: str) -> None:
    """Refuse a key that is no personal link of a campaign."""
    known = tx.execute(
        select(t.Invitation.campaign_id, t.Invitation.revoked_at).where(t.Invitation.key_hash == hashed(key))
    ).one_or_none()
    if known is None or known.campaign_id != campaign_id or known.revoked_at is not None:
        raise NotAllowed("This personal link is not valid (any more). Ask whoever sent it for a new one.")


def rater_invited(tx: Connection, key: str) -> Rater | None:
    """Return the rater who entered by a personal link, None where nobody has."""
    row = tx.execute(select(*_COLUMNS).where(t.Rater.invitation_hash == hashed(key))).one_or_none()
    return None if row is None else Rater(**row._mapping)


def rater_of(tx: Connection, rater_id: str, *, lock: bool = False) -> Rater | None:
    """Return a rater by their id; `lock` keeps others from changing or erasing them until the transaction ends."""
    query = select(*_COLUMNS).where(t.Rater.id == rater_id)
    row = tx.execute(query.with_for_update(key_share=True) if lock else query).one_or_none()
    return None if row is None else Rater(**row._mapping)


def rater_signed_in(tx: Connection, key: str, *, now: datetime) -> Rater | None:
    """Return the rater of a session, None where there is no such session or it has ended."""
    query = (
        select(*_COLUMNS)
        .join(t.Session, t.Session.rater_id == t.Rater.id)
        .where(t.Session.key_hash == hashed(key), t.Session.expires_at > now)
    )
    row = tx.execute(query).one_or_none()
    return None if row is None else Rater(**row._mapping)


def sign_in(tx: Connection, rater_id: str, key: str, *, expires_at: datetime) -> None:
    """Keep a session of a rater, by the hash of its key."""
    tx.execute(insert(t.Session).values(key_hash=hashed(key), rater_id=rater_id, expires_at=expires_at))


def sign_out(tx: Connection, rater_id: str) -> None:
    """End all sessions of a rater."""
    tx.execute(delete(t.Session).where(t.Session.rater_id == rater_id))


def set_standing(tx: Connection, rater_id: str, state: Standing, *, now: datetime) -> None:
    """Keep whether a rater goes on."""
    tx.execute(update(t.Rater).where(t.Rater.id == rater_id).values(state=state, changed_at=now, seen_at=now))


def seen(tx: Connection, rater_id: str, *, now: datetime) -> None:
    """Keep that a rater gave a sign."""
    tx.execute(update(t.Rater).where(t.Rater.id == rater_id).values(seen_at=now))


def consent(tx: Connection, rater_id: str, text_id: str, given: Mapping[str, bool], *, now: datetime) -> None:
    """Keep what a rater said to each purpose of a consent text."""
    rows = [
        {"rater_id": rater_id, "consent_text_id": text_id, "purpose": purpose, "given": said, "at": now}
        for purpose, said in given.items()
    ]
    tx.execute(insert(t.Consent), rows)


def has_consented(tx: Connection, rater_id: str, text_id: str) -> bool:
    """Tell whether a rater answered this version of the consent text."""
    query = select(func.count()).where(t.Consent.rater_id == rater_id, t.Consent.consent_text_id == text_id)
    return bool(tx.scalar(query))


def declare(tx: Connection, rater_id: str, content: Mapping[str, Any], *, now: datetime) -> None:
    """Keep what a rater said of themselves, beside what they said before."""
    tx.execute(insert(t.Declaration).values(id=new_id(now), rater_id=rater_id, content=dict(content), at=now))


def declared(tx: Connection, rater_id: str) -> dict[str, Any] | None:
    """Return what a rater said of themselves last, None where nothing."""
    query = (
        select(t.Declaration.content)
        .where(t.Declaration.rater_id == rater_id)
        .order_by(t.Declaration.at.desc(), t.Declaration.id.desc())
        .limit(1)
    )
    return tx.scalar(query)


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
