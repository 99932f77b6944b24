"""What happened in a campaign as a chain of salted digests: whatever is changed or taken out later is found.

Each event has a digest over all that it says and a random salt. Each link is a digest over the link before it and that
of the event. What somebody withdraws is erased with its salt: the digest that stays tells nothing of it, and the chain
still holds. The scheme is that of hash chains with commitments, as in Haber and Stornetta (1991),
https://doi.org/10.1007/BF00196791.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "enter",
    "consent",
    "declare",
    "check",
    "feel",
    "offer",
    "submit",
    "skip",
    "begin",
    "say",
    "pick",
    "end",
    "notice",
    "stop",
    "go on",
    "withdraw",
    "recruiter",
    "create",
    "revise",
    "move",
    "items",
    "invite",
    "settle",
    "label",
    "export",
    "train",
    "see",
    "staff",
    "pay",
    "decide",
    "erase",
    "webhook",
    "erased",
]
"""What an event is; ``erased`` stands where one was that somebody withdrew."""

START: Final = "0" * 64
"""What stands before the first link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that somebody did, changed or saw."""

    kind: Kind
    at: datetime  # When, with its zone
    rater_id: str | None = None  # Who; both None for a recruiter, or for the platform itself
    staff_id: str | None = None
    content: Mapping[str, Any]  # What exactly: plain values for JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An event in its place, as it is kept."""

    place: int
    digest: str  # Of the event, and of the chain up to it; hexadecimal
    link: str
    salt: str | None  # None where they were erased
    event: Event | None


@dataclass(frozen=True, slots=True)
class Break:
    """Where a chain does not hold."""

    place: int  # Of the first entry that is not as it was
    why: str  # What is wrong, as a sentence


def digest_of(event: Event, salt: str) -> str:
    """Return the salted SHA-256 of an event, in hexadecimal.

    Examples
    --------
    >>> event = Event(kind="move", at=datetime(2030, 1, 2, tzinfo=UTC), staff_id="s", content={"to": "open"})
    >>> digest_of(event, "00" * 16)[:16]
    '33dd1ef891f374a7'
    """
    at = event.at.astimezone(UTC).isoformat(timespec="microseconds")
    said = [event.kind, at, event.rater_id, event.staff_id, event.content]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(bytes.fromhex(salt) + text.encode("ascii")).hexdigest()


def link_of(before: str, digest: str) -> str:
    """Return the link of an event after another link."""
    return hashlib.sha256(bytes.fromhex(before) + bytes.fromhex(digest)).hexdigest()


def first_break(entries: Iterable[Entry], *, n: int, head: str) -> Break | None:
    """Return where a chain first does not hold, None where all of it does."""
    before, place = START, 0
    for entry in entries:
        place += 1
        why = _why(entry, place, before)
        if why is not None:
            return Break(place, why)
        before = entry.link
    if place != n:
        return Break(place + 1, f"It is missing: the chain is to have {n:,} events, and {place:,} are there.")
    return None if before == head else Break(place, "Its link is not the one that is kept as the last.")


def _why(entry: Entry, place: int, before: str) -> str | None:
    """Return what is wrong with an entry that is to stand at a place after a link, None for nothing."""
    if entry.place != place:
        return f"It is missing: the next one that is there has the place {entry.place:,}."
    if (entry.event is None) != (entry.salt is None):
        return "Its content was erased and its salt was not, or the other way round."
    if entry.event is not None and entry.salt is not None and digest_of(entry.event, entry.salt) != entry.digest:
        return f"What it says is not what was written: {entry.event.kind}, {entry.event.at.isoformat()}."
    return None if link_of(before, entry.digest) == entry.link else "Its link does not follow from the one before it."
