"""Everything that is wrong with files of preference pairs and of red-team attempts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.attempts.tables import conversation_of, left_out
from dissensus.files.conversion import ATTEMPT_KINDS, PAIR_KINDS, columns_of, told
from dissensus.files.pairs.rows import HUMAN, Seen, pair_row
from dissensus.files.raw import content
from dissensus.files.raw.json_stream import records
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.ratings.findings import FailedCheck, Severity
from dissensus.schema.ratings.validation import Validation, unreadable_validation
from dissensus.schema.records.attempt import KEYS
from dissensus.schema.records.attempt_parser import AS_RELEASED, attempt_from

_PAIR: Final = "A pair has 'chosen' and 'rejected', each a transcript that the bot ends."
_KEPT: Final = "Nothing can be compared there: evaluation and training leave such a pair out, writing keeps it."
_CORRECT: Final = "Correct the row or drop it."


@dataclass(slots=True)
class _Check:
    """What fails one check: rows, counted from 0, and what is wrong with each."""

    severity: Severity
    allowed: str
    remedy: str
    found: dict[int, str] = field(default_factory=dict)

    def finding(self, name: str) -> FailedCheck:
        return FailedCheck(
            check=name,
            column=None,
            rows=np.array(list(self.found), np.int64),
            value=lambda _: None,
            what=lambda row: f"Row {row + 1:,}: {self.found[row]}",
            allowed=self.allowed,
            remedy=self.remedy,
            severity=self.severity,
        )


_Checks = dict[str, _Check]


def is_pairs_or_attempts(path: Path) -> bool:
    """Tell whether a file holds something else than ratings."""
    try:
        return told(columns_of(path)) is not None
    except DissensusError:
        return False


def validate_records(path: Path) -> Validation:
    """List everything that is wrong with a file of pairs or of attempts, and stop at nothing but what is no file.

    Errors are rows that cannot be read. Warnings are what can be and may surprise: pairs that cannot be compared, and
    attempts in which the bot says nothing.
    """
    kind = told(columns_of(path))
    look = _look_at_attempts if kind in ATTEMPT_KINDS and kind not in PAIR_KINDS else _look_at_pairs
    checks: _Checks = {}
    notes: dict[str, None] = {}
    number = 0
    try:
        for number, record in enumerate(_records(path), start=1):
            look(record, number - 1, checks, notes)
    except DissensusError as error:
        fatal = unreadable_validation(str(path), error).findings
    else:
        fatal = ()
    findings = (*fatal, *(check.finding(name) for name, check in checks.items()))
    return Validation(
        source=str(path),
        kind=kind or "",
        n_rows=number,
        findings=tuple(sorted(findings, key=lambda finding: finding.severity != "error")),
        notes=left_out(notes),
    )


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    return records(path) if content.kind_of(path) == "json" else read_frame(path).iter_rows(named=True)


def _look_at_pairs(record: Mapping[str, Any], row: int, checks: _Checks, _: dict[str, None]) -> None:
    try:
        read = pair_row(record, Seen())
    except InvalidInput as error:
        _add(checks, "no pair", _Check("error", _PAIR, _CORRECT), row, str(error))
        return
    for why in read.faults():
        wrong = _Check("error", _PAIR, _CORRECT) if why == HUMAN else _Check("warning", _KEPT, "")
        _add(checks, why, wrong, row, f"{why}.")


def _look_at_attempts(record: Mapping[str, Any], row: int, checks: _Checks, notes: dict[str, None]) -> None:
    notes |= {key: None for key in record if key not in KEYS and key != AS_RELEASED}
    try:
        attempt = attempt_from(record)
        talk = conversation_of(attempt)
    except InvalidInput as error:
        _add(checks, "no attempt", _Check("error", "", _CORRECT), row, str(error))
        return
    if all(turn.speaker == "human" for turn in talk.turns):
        silent = _Check("warning", "There is nothing to score or to rate.", "Is the transcript cut?")
        _add(checks, "the bot says nothing", silent, row, "no turn is by the bot.")


def _add(checks: _Checks, name: str, check: _Check, row: int, what: str) -> None:
    checks.setdefault(name, check).found[row] = what
