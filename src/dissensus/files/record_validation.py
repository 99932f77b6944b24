"""Validation of preference pairs and red-team attempts: lists every problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.attempts.tables import conversation_of, describe_unknown_keys
from dissensus.files.pairs.rows import HUMAN, PairReadLog, parse_pair_row
from dissensus.files.raw.table_reader import iterate_records
from dissensus.files.record_kinds import RED_TEAM, detect_record_kind, read_column_names
from dissensus.schema.ratings.findings import FailedCheck, Severity
from dissensus.schema.ratings.validation import Validation, unreadable_validation
from dissensus.schema.records.attempt import KEYS
from dissensus.schema.records.attempt_parser import RELEASED_SPELLING, parse_attempt
from dissensus.text.speakers import describe_unknown_speaker, find_unknown_speakers

_PAIR: Final = "A pair has 'chosen' and 'rejected', each a transcript that the bot ends."
_NOT_COMPARABLE: Final = "Nothing can be compared there: evaluation and training leave the pair out, writing keeps it."
_CORRECT: Final = "Correct the row or drop it."


@dataclass(slots=True)
class _RecordCheck:
    """Rows that fail one check."""

    severity: Severity
    allowed: str
    remedy: str
    messages: dict[int, str] = field(default_factory=dict)

    def finding(self, name: str) -> FailedCheck:
        return FailedCheck(
            check=name,
            column=None,
            rows=np.array(list(self.messages), np.int64),
            value=lambda _: None,
            message=lambda row: f"Row {row + 1:,}: {self.messages[row]}",
            allowed=self.allowed,
            remedy=self.remedy,
            severity=self.severity,
        )


_Checks = dict[str, _RecordCheck]


def holds_records(path: Path) -> bool:
    """Return whether a file holds pairs or attempts."""
    try:
        return detect_record_kind(read_column_names(path)) is not None
    except DissensusError:
        return False


def validate_records(path: Path) -> Validation:
    """List all problems of a file of pairs or attempts.

    Errors are rows that cannot be read. Warnings are pairs that cannot be compared, and attempts without a turn of the
    bot.
    """
    kind = detect_record_kind(read_column_names(path))
    check_record = _check_attempt if kind == RED_TEAM else _check_pair
    checks: _Checks = {}
    notes: dict[str, None] = {}
    n_rows = 0
    try:
        for n_rows, record in enumerate(iterate_records(path), start=1):
            check_record(record, n_rows - 1, checks, notes)
    except DissensusError as error:
        fatal = unreadable_validation(str(path), error).findings
    else:
        fatal = ()
    findings = (*fatal, *(check.finding(name) for name, check in checks.items()))
    return Validation(
        source=str(path),
        kind=kind or "",
        n_rows=n_rows,
        findings=tuple(sorted(findings, key=lambda finding: finding.severity != "error")),
        notes=describe_unknown_keys(notes),
    )


def _check_pair(record: Mapping[str, Any], row: int, checks: _Checks, _: dict[str, None]) -> None:
    try:
        pair = parse_pair_row(record, PairReadLog())
    except InvalidInput as error:
        _add(checks, "no pair", _RecordCheck("error", _PAIR, _CORRECT), row, str(error))
        return
    texts = dict.fromkeys(text for turns in pair.turns for _, text in turns)
    _warn_of_speakers(find_unknown_speakers(texts, paragraphs=True), checks, row)
    for fault in pair.faults():
        check = (
            _RecordCheck("error", _PAIR, _CORRECT) if fault == HUMAN else _RecordCheck("warning", _NOT_COMPARABLE, "")
        )
        _add(checks, fault, check, row, f"{fault}.")


def _check_attempt(record: Mapping[str, Any], row: int, checks: _Checks, notes: dict[str, None]) -> None:
    notes |= {key: None for key in record if key not in KEYS and key != RELEASED_SPELLING}
    try:
        attempt = parse_attempt(record)
        conversation = conversation_of(attempt)
    except InvalidInput as error:
        _add(checks, "no attempt", _RecordCheck("error", "", _CORRECT), row, str(error))
        return
    texts = [turn.text for turn in conversation.turns]
    _warn_of_speakers(find_unknown_speakers(texts, paragraphs=True), checks, row)
    if all(turn.speaker == "human" for turn in conversation.turns):
        check = _RecordCheck("warning", "There is nothing to score or to rate.", "Is the transcript cut?")
        _add(checks, "the bot says nothing", check, row, "no turn is by the bot.")


def _warn_of_speakers(names: Sequence[str], checks: _Checks, row: int) -> None:
    check = _RecordCheck("warning", "Speakers are Human and Assistant.", "If it is a speaker, rename it.")
    for name in names:
        _add(checks, "unknown speaker", check, row, f"{describe_unknown_speaker(name)}.")


def _add(checks: _Checks, name: str, check: _RecordCheck, row: int, message: str) -> None:
    checks.setdefault(name, check).messages[row] = message
