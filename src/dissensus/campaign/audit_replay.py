"""Replay of an audit log: the stored rows that its events commit to, for comparison with the database."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from dissensus.campaign.audit_log import AuditEvent, EventKind, digest_values, format_time
from dissensus.schema.hints import count_noun

RecordKind: TypeAlias = Literal[
    "rater",
    "quota cell",
    "consent",
    "demographic answers",
    "excluded topics",
    "check answer",
    "survey",
    "answers",
    "flag decision",
    "conversation",
    "conversation end",
    "message",
    "preference",
    "gold label",
    "gold decision",
    "image",
]

FIELDS: Final[Mapping[RecordKind, tuple[str, ...]]] = {
    "rater": ("language",),
    "quota cell": ("cell",),
    "consent": ("text", "purposes", "time"),
    "demographic answers": ("rater", "answers"),
    "excluded topics": ("topics",),
    "check answer": ("answer", "time"),
    "survey": ("answers", "time"),
    "answers": ("rater", "item", "answers", "time"),
    "flag decision": ("rater", "decision"),
    "conversation": ("rater", "mode or intent"),
    "conversation end": ("messages, responses or outcome",),
    "message": ("rater", "text"),
    "preference": ("preference",),
    "gold label": ("answers", "time"),
    "gold decision": ("answers or reason", "time"),
    "image": ("content",),
}
"""Names of the values of a record, by its kind."""

MAX_NAMED_FAULTS: Final = 20
"""Faults of one kind that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Record:
    """A stored row, or its description by an event: a key that is unique among its kind, and values to compare."""

    kind: RecordKind
    key: str
    values: tuple[str | None, ...]  # in the order of `FIELDS`


def consent_record(rater_id: str, version: int, text: str, agreed: Mapping[str, bool], at: str) -> Record:
    """Return the record of a rater's consent to a version of the text; `text` is the digest of the text."""
    purposes = ", ".join(f"{name} {'yes' if value else 'no'}" for name, value in sorted(agreed.items()))
    return Record("consent", f"{rater_id} to version {version}", (text, purposes, at))


def check_record(rater_id: str, name: str, attempt: int, digest: str, at: str) -> Record:
    """Return the record of an answer to a check."""
    return Record("check answer", f"{rater_id} to {name}, attempt {attempt}", (digest, at))


def survey_record(rater_id: str, number: int, digest: str, at: str) -> Record:
    """Return the record of a wellbeing survey."""
    return Record("survey", f"{rater_id}, number {number + 1}", (digest, at))


def gold_label_record(item: str, part: str, staff_id: str, revision: int, digest: str, at: str) -> Record:
    """Return the record of an expert's label."""
    return Record("gold label", f"{item}, {part}, {staff_id}, revision {revision}", (digest, at))


def gold_decision_record(item: str, part: str, revision: int, digest: str, at: str) -> Record:
    """Return the record of an adjudication."""
    return Record("gold decision", f"{item}, {part}, revision {revision}", (digest, at))


def digest_declaration(content: Mapping[str, Any], at: datetime) -> str:
    """Return the digest of demographic answers; of several the last one is current, so the time counts."""
    return digest_values(content, format_time(at))


def digest_survey(answers: Mapping[str, Any], *, notify_contact: bool, contact_info: str | None) -> str:
    """Return the digest of the answers to a wellbeing survey."""
    return digest_values(answers, notify_contact, contact_info)


def digest_flag_decision(verdict: str, reason: str, evidence: str, staff_id: str, at: datetime) -> str:
    """Return the digest of a decision about a flagged rater; of several the last one is current."""
    return digest_values(verdict, reason, evidence, staff_id, format_time(at))


def list_event_records(event: AuditEvent) -> Iterable[Record]:
    """Return the records that an event describes; a later record replaces one with its key."""
    read = _READERS.get(event.kind)
    return () if read is None else read(event, str(event.rater_id), format_time(event.at))


def _read_entry(event: AuditEvent, rater_id: str, _at: str) -> Iterable[Record]:
    yield Record("rater", rater_id, (event.content["language"],))
    yield Record("quota cell", rater_id, (event.content["cell"],))


def _read_consent(event: AuditEvent, rater_id: str, at: str) -> Iterable[Record]:
    yield consent_record(rater_id, event.content["version"], event.content["text"], event.content["agreed"], at)


def _read_declaration(event: AuditEvent, rater_id: str, _at: str) -> Iterable[Record]:
    if "declaration" not in event.content:
        yield Record("excluded topics", rater_id, (event.content["digest"],))
        return
    yield Record("demographic answers", event.content["declaration"], (rater_id, event.content["digest"]))
    if "cell" in event.content:
        yield Record("quota cell", rater_id, (event.content["cell"],))


def _read_check(event: AuditEvent, rater_id: str, at: str) -> Iterable[Record]:
    yield check_record(rater_id, event.content["name"], event.content["attempt"], event.content["digest"], at)


def _read_survey(event: AuditEvent, rater_id: str, at: str) -> Iterable[Record]:
    yield survey_record(rater_id, event.content["number"], event.content["digest"], at)


def _read_submission(event: AuditEvent, rater_id: str, at: str) -> Iterable[Record]:
    values = (rater_id, event.content["item"], event.content["digest"], at)
    yield Record("answers", event.content["save"], values)


def _read_conversation(event: AuditEvent, rater_id: str, _at: str) -> Iterable[Record]:
    yield Record("conversation", event.content["chat"], (rater_id, event.content["digest"]))


def _read_conversation_end(event: AuditEvent, _rater_id: str, _at: str) -> Iterable[Record]:
    yield Record("conversation end", event.content["chat"], (event.content["digest"],))


def _read_message(event: AuditEvent, rater_id: str, _at: str) -> Iterable[Record]:
    yield Record("message", event.content["exchange"], (rater_id, event.content["digest"]))


def _read_preference(event: AuditEvent, _rater_id: str, _at: str) -> Iterable[Record]:
    yield Record("preference", event.content["exchange"], (event.content["digest"],))


def _read_label(event: AuditEvent, _rater_id: str, at: str) -> Iterable[Record]:
    content, digest = event.content, digest_values(event.content["answers"])
    yield gold_label_record(content["item"], content["part"], str(event.staff_id), content["revision"], digest, at)


def _read_decision(event: AuditEvent, rater_id: str, at: str) -> Iterable[Record]:
    content = event.content
    if "verdict" in content:
        yield Record("flag decision", content["decision"], (rater_id, content["digest"]))
    if "part" in content:
        digest = digest_values(content["answers"], content["reason"], event.staff_id)
        yield gold_decision_record(content["item"], content["part"], content["revision"], digest, at)


def _read_images(event: AuditEvent, _rater_id: str, _at: str) -> Iterable[Record]:
    for name, digest in event.content.get("added", {}).items():
        yield Record("image", name, (digest,))


_READERS: Final[Mapping[EventKind, Callable[[AuditEvent, str, str], Iterable[Record]]]] = {
    "entered": _read_entry,
    "consented": _read_consent,
    "declared": _read_declaration,
    "check_answered": _read_check,
    "survey_answered": _read_survey,
    "item_submitted": _read_submission,
    "item_corrected": _read_submission,
    "conversation_begun": _read_conversation,
    "conversation_ended": _read_conversation_end,
    "message_sent": _read_message,
    "response_picked": _read_preference,
    "item_labelled": _read_label,
    "decision_recorded": _read_decision,
    "images_changed": _read_images,
}


class LogReplay:
    """State that the events of a log describe: add them in their order, then compare."""

    def __init__(self) -> None:
        self.definition: str | None = None  # digest of the definition
        self.state = "draft"
        self.is_deleted = False
        self.items: str | None = None  # digest of all items
        self.gold_sample: str | None = None  # digest of the items that experts label; None for all
        self.erased_items: set[str] = set()
        self.records: dict[tuple[RecordKind, str], tuple[str | None, ...]] = {}
        self.withdrawn: set[str] = set()  # subject ids
        self.turned_away: Counter[str] = Counter()  # number of raters by quota cell
        self.raters: dict[str, str] = {}  # subject id by rater id
        self.n_erased = 0
        self._erased: dict[str | None, int] = {}  # sequence number of the first erased event by subject id
        self._ended: set[str] = set()  # subject ids of raters who withdrew or were turned away
        self._faults: list[str] = []

    def add(self, event: AuditEvent, subject_id: str | None) -> None:
        """Replay an event."""
        if event.kind in ("withdrawn", "turned_away"):
            self._add_end(event, subject_id)
        elif event.rater_id is not None and self.raters.setdefault(event.rater_id, str(subject_id)) != subject_id:
            self._faults.append(f"Events of rater {event.rater_id} have different subject ids, or none.")
        for record in list_event_records(event):
            self.records[record.kind, record.key] = record.values
        self._add_campaign_change(event)

    def add_erased(self, sequence: int, subject_id: str | None) -> None:
        """Replay an erased event."""
        self.n_erased += 1
        self._erased.setdefault(subject_id, sequence)

    def _add_end(self, event: AuditEvent, subject_id: str | None) -> None:
        if subject_id is None or subject_id in self._ended:
            self._faults.append(f"The log has a second end of one rater, or one without a rater: {event.kind}.")
            return
        self._ended.add(subject_id)
        if event.kind == "withdrawn":
            self.withdrawn.add(subject_id)
        else:
            self.turned_away[event.content["cell"]] += 1

    def _add_campaign_change(self, event: AuditEvent) -> None:
        content = event.content
        if event.kind in ("created", "revised"):
            self.definition = content["definition"]
        if event.kind in ("created", "items_changed") and "items_digest" in content:
            self.items = content["items_digest"]
        if event.kind in ("created", "revised") or "gold_sample" in content:
            self.gold_sample = content.get("gold_sample")
        if event.kind == "items_changed" and "erased" in content:
            self.erased_items.add(content["erased"])
        if event.kind == "images_changed" and "removed" in content:
            self.records = {key: values for key, values in self.records.items() if key[0] != "image"}
        if event.kind == "state_changed":
            self.state = content["state"]
        if event.kind == "deleted":
            self.is_deleted = True

    def iterate_faults(self) -> Iterator[str]:
        """Yield faults of erasures: each needs an end of its rater, which erases all of their events."""
        yield from self._faults
        for subject_id, sequence in self._erased.items():
            if subject_id not in self._ended:
                yield f"Event {sequence:,} was erased, and the log has no withdrawal of its rater."
        for rater_id, subject_id in self.raters.items():
            if subject_id in self._ended:
                yield (
                    f"Rater {rater_id} withdrew or was turned away according to the log, and not all of their events "
                    "were erased."
                )

    def compare_records(self, stored: Iterable[Record]) -> Iterator[str]:
        """Yield the differences between stored rows and the replayed events; records that both have are dropped."""
        counts: Counter[RecordKind] = Counter()
        for kind, fault in self._find_differences(stored):
            counts[kind] += 1
            if counts[kind] <= MAX_NAMED_FAULTS:
                yield fault
        for kind, n in counts.items():
            if n > MAX_NAMED_FAULTS:
                yield f"{kind.capitalize()}: {count_noun(n - MAX_NAMED_FAULTS, 'further fault')}."

    def _find_differences(self, stored: Iterable[Record]) -> Iterator[tuple[RecordKind, str]]:
        for record in stored:
            name, logged = f"{record.kind.capitalize()} {record.key}", self.records.pop((record.kind, record.key), None)
            if logged is None:
                yield record.kind, f"{name}: stored, and not in the log."
            elif logged != record.values:
                fields = zip(FIELDS[record.kind], logged, record.values, strict=True)
                changed = ", ".join(field for field, before, after in fields if before != after)
                yield record.kind, f"{name}: changed after the log was written: {changed}."
        for kind, key in self.records:
            yield kind, f"{kind.capitalize()} {key}: in the log, and not stored."
