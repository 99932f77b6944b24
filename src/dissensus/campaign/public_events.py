"""What programs are told of the log of a campaign: no rater, and no answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from dissensus.campaign.event_log import Entry, Kind

By: TypeAlias = Literal["staff", "rater", "other"]

UNTOLD: Final = frozenset({"digest", "save", "said", "why"})
"""Of events: a digest of one answer of three can be guessed, and says what somebody answered; what an expert said is
for nobody before all labels are in; reasons may be about a rater."""

MEANINGS: Final[Mapping[Kind, str]] = {
    "enter": "a rater came in",
    "consent": "a rater agreed to purposes, or changed that",
    "declare": "a rater said something of themselves",
    "check": "a rater answered a check",
    "feel": "a rater was asked how they feel",
    "offer": "a rater was shown an item",
    "submit": "a rater finished an item",
    "skip": "a rater left an item out",
    "begin": "a rater began a conversation",
    "say": "a rater said something to a chatbot",
    "pick": "a rater preferred one of two responses",
    "end": "a rater ended a conversation",
    "notice": "a rater needs help, or reported an item",
    "stop": "a rater stopped",
    "go on": "a rater went on after a stop",
    "withdraw": "a rater withdrew, and is not named",
    "recruiter": "a recruiter told what became of a submission",
    "create": "the campaign was made",
    "revise": "its definition changed",
    "move": "it was opened, paused or closed",
    "items": "items were added or removed",
    "invite": "personal links were made",
    "settle": "a notice was settled",
    "label": "an expert labelled an item",
    "export": "ratings were taken out",
    "train": "a model line learned from what raters preferred",
    "see": "somebody of the staff was shown what single raters did or said",
    "staff": "somebody came to belong to the campaign, changed or left",
    "pay": "a payment was noted or taken back",
    "decide": "somebody decided about a rater, a submission or a label",
    "erase": "the ids of a recruiter were erased",
    "webhook": "a webhook was added or removed, was paused, or went on",
}
"""Every kind of event that is told, in words; what was erased is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An event in its place, as programs see it."""

    place: int  # Where in the chain, its digest, and that of the chain up to it
    kind: Kind
    at: datetime | None  # When, and by whom; None where it was erased, and `staff` the id of a member
    by: By | None
    staff: str | None
    content: Mapping[str, Any]
    digest: str
    link: str

    def as_mapping(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return {
            "place": self.place,
            "kind": self.kind,
            "at": None if self.at is None else in_zulu(self.at),
            "by": self.by,
            "staff": self.staff,
            "content": dict(self.content),
            "digest": self.digest,
            "link": self.link,
        }


def told(entry: Entry) -> Told:
    """Return what programs are told of an entry of the log."""
    event, chained = entry.event, {"place": entry.place, "digest": entry.digest, "link": entry.link}
    if event is None:
        return Told(kind="erased", at=None, by=None, staff=None, content={}, **chained)  # type: ignore[arg-type]
    return Told(
        kind=event.kind,
        at=event.at,
        by="staff" if event.staff_id else "rater" if event.rater_id else "other",
        staff=event.staff_id,
        content={name: value for name, value in event.content.items() if name not in UNTOLD},
        **chained,  # type: ignore[arg-type]
    )


def in_zulu(at: datetime) -> str:
    """Return a time as the API writes it.

    Examples
    --------
    >>> in_zulu(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2030-01-02T03:04:05Z'
    """
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
