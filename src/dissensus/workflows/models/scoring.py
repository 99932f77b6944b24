"""Score a file of red-team attempts, resumable after an interruption."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, Final

from dissensus.errors import Conflict, InvalidInput
from dissensus.files.attempts.tables import describe_unknown_keys, stream_attempts, write_attempts
from dissensus.files.raw import table_writer
from dissensus.files.raw.atomic_write import check_distinct, check_folder, write_atomically
from dissensus.preference.evaluation.attempt_scores import AttemptScores, ScoreTally, add_scores, score_attempt
from dissensus.preference.models.model import Model, ModelIdentity
from dissensus.schema.records.attempt import Attempt

BATCH_SIZE: Final = 500
"""Attempts that are scored at a time, and after which an interruption loses nothing of them."""

ScoringProgress = Callable[[int, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """Input, output and options of scoring."""

    source: Path
    target: Path
    model: Model
    identity: ModelIdentity
    anew: bool = False  # replace existing scores
    resume: bool = False  # continue an interrupted run
    overwrite: bool = False  # replace an existing target


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringSummary:
    """Counts and notes of a scoring run."""

    n_attempts: int
    n_resumed: int  # attempts scored by an earlier run
    tally: ScoreTally
    record: Path
    notes: tuple[str, ...]


def score_attempts(asked: ScoringOptions, *, progress: ScoringProgress | None = None) -> ScoringSummary:
    """Write attempts with their scores, and a record of the model beside the file.

    The same file, model and version give the same bytes, interrupted or not. `progress` gets the number of
    attempts done and the share of the file read.
    """
    table_writer.extension_of(asked.target)
    check_folder(asked.target)
    check_distinct([asked.source], [asked.target])
    if asked.target.exists() and not asked.overwrite:
        raise Conflict(f"{asked.target} is there already. Name another file, or replace it with --overwrite.")
    unknown: dict[str, None] = {}
    journal = _Journal(asked.target.with_name(f"{asked.target.name}.partial"), _journal_head(asked))
    known = journal.open(resume=asked.resume)
    tally, counted = ScoreTally(), _ProgressCounter(progress)
    given = stream_attempts(asked.source, unknown, progress=counted.read)
    attempts = _score_batches(given, asked, known, journal, tally)
    try:
        write_attempts(counted(attempts), asked.target, overwrite=asked.overwrite)
    finally:
        journal.close()
    record = asked.target.with_name(f"{asked.target.name}.scores.json")
    write_atomically(_pretty_json(_scoring_record(asked, counted.n, tally)), record)
    journal.remove()
    notes = (*describe_unknown_keys(unknown), *_tally_notes(tally))
    return ScoringSummary(
        n_attempts=counted.n, n_resumed=min(len(known), counted.n), tally=tally, record=record, notes=notes
    )


def _score_batches(
    attempts: Iterator[Attempt],
    asked: ScoringOptions,
    known: list[AttemptScores],
    journal: "_Journal",
    tally: ScoreTally,
) -> Iterator[Attempt]:
    begin = 0
    while some := list(islice(attempts, BATCH_SIZE)):
        scores, begin = known[begin : begin + BATCH_SIZE], begin + BATCH_SIZE
        if not scores:
            scores = score_attempt(some, asked.model, anew=asked.anew)
            journal.add(scores)
        for attempt, given in zip(some, scores, strict=True):
            after = add_scores(attempt, given)
            tally.add(attempt, given, after)
            yield after


class _ProgressCounter:
    """Count the attempts and the share of the file read."""

    def __init__(self, progress: ScoringProgress | None) -> None:
        self.n = 0
        self._share = 0.0
        self._progress = progress

    def read(self, share: float) -> None:
        """Record the share of the file read."""
        self._share = share

    def __call__(self, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
        for attempt in attempts:
            yield attempt
            self.n += 1
            if not self.n % BATCH_SIZE:
                self._tell()
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.n, self._share)


class _Journal:
    """Append-only journal of scored batches, headed by a line that identifies the run."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        self.path = path
        self._head = _json_line(head)
        self._begun = False

    def open(self, *, resume: bool) -> list[AttemptScores]:
        """Start or resume the journal and return the scores of complete batches."""
        known: list[AttemptScores] = []
        kept = self._head
        if self.path.exists():
            if not resume:
                raise Conflict(
                    f"{self.path} holds the scores of a run that was interrupted. Go on with --resume, or delete it."
                )
            kept, known = self._read()
        self._begun = bool(known)
        write_atomically(kept, self.path)  # never less on the disk than before, whenever this is killed
        self._file = self.path.open("ab")
        return known

    def _read(self) -> tuple[bytes, list[AttemptScores]]:
        head, *lines = self.path.read_bytes().splitlines(keepends=True) or [b""]
        if head != self._head and head.endswith(b"\n"):
            raise InvalidInput(
                f"{self.path} is of another file, model, setting or version of Dissensus. Delete it to begin anew."
            )
        whole = list(takewhile(bool, map(_parse_batch, lines)))
        return b"".join([self._head, *lines[: len(whole)]]), list(chain.from_iterable(whole))

    def add(self, scores: list[AttemptScores]) -> None:
        """Append the scores of a batch and flush them to disk."""
        if len(scores) == BATCH_SIZE:
            self._begun = True
            self._file.write(_json_line(scores))
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the journal; keep it for a later resume unless it is empty."""
        self._file.close()
        if not self._begun:
            self.remove()

    def remove(self) -> None:
        """Delete the journal after completion."""
        self.path.unlink(missing_ok=True)


def _parse_batch(line: bytes) -> list[AttemptScores]:
    """Return the scores of a batch; empty for a truncated line."""
    try:
        found = json.loads(line) if line.endswith(b"\n") else []
        scores = [AttemptScores(*both) for both in found]
    except (ValueError, TypeError):
        return []
    return scores if len(scores) == BATCH_SIZE else []


def _json_line(values: object) -> bytes:
    return json.dumps(values, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _pretty_json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()


def _journal_head(asked: ScoringOptions) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "version": version("dissensus"),
        "input": {"name": asked.source.name, "sha256": _sha256(asked.source)},
        "model": {**asked.identity._asdict(), "purpose": asked.model.purpose},
        "replaced": asked.anew,
    }


def _scoring_record(asked: ScoringOptions, n: int, tally: ScoreTally) -> dict[str, Any]:
    output = {"name": asked.target.name, "sha256": _sha256(asked.target)}
    return {**_journal_head(asked), "output": output, "n_attempts": n, **asdict(tally)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tally_notes(tally: ScoreTally) -> Iterator[str]:
    if tally.silent_transcripts:
        yield f"{tally.silent_transcripts:,} attempts have no score, since the bot says nothing in them."
    if tally.empty_descriptions:
        yield f"{tally.empty_descriptions:,} descriptions have no score, since they are empty."
    kept = tally.kept_transcripts + tally.kept_descriptions
    if kept:
        yield (
            f"{kept:,} scores were there before and are kept; those of two models cannot be compared. "
            "--replace scores all anew."
        )
