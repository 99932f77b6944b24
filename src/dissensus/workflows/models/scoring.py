"""Score a file of red-team attempts, resumable after an interruption."""

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
from dissensus.files.raw.content import digest_file
from dissensus.preference.evaluation.attempt_scores import AttemptScores, ScoreTally, add_scores, score_attempts
from dissensus.preference.models.model import Model, ModelIdentity
from dissensus.schema.records.attempt import Attempt

BATCH_SIZE: Final = 500
"""Attempts scored at once; completed batches survive an interruption."""

ScoringProgress = Callable[[int, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """Input, output and options of scoring."""

    source: Path
    target: Path
    model: Model
    identity: ModelIdentity
    replace_scores: bool = False  # score again what has a score
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


def score_attempt_file(options: ScoringOptions, *, progress: ScoringProgress | None = None) -> ScoringSummary:
    """Write attempts with their scores, and a record of the model beside the file.

    The same file, model and version give the same bytes, interrupted or not. `progress` gets the number of
    attempts done and the share of the file read.
    """
    target = options.target
    table_writer.extension_of(target)
    check_folder(target)
    check_distinct([options.source], [target])
    if target.exists() and not options.overwrite:
        raise Conflict(f"{target} is there already. Name another file, or replace it with --overwrite.")
    unknown: dict[str, None] = {}
    journal = _Journal(target.with_name(f"{target.name}.partial"), _journal_head(options))
    resumed = journal.open(resume=options.resume)
    tally, counter = ScoreTally(), _ProgressCounter(progress)
    attempts = stream_attempts(options.source, unknown, progress=counter.set_share)
    scored = _score_batches(attempts, options, resumed, journal, tally)
    try:
        write_attempts(counter(scored), target, overwrite=options.overwrite)
    finally:
        journal.close()
    record = target.with_name(f"{target.name}.scores.json")
    write_atomically(_pretty_json(_scoring_record(options, counter.n, tally)), record)
    journal.remove()
    notes = (*describe_unknown_keys(unknown), *_tally_notes(tally))
    return ScoringSummary(
        n_attempts=counter.n, n_resumed=min(len(resumed), counter.n), tally=tally, record=record, notes=notes
    )


def _score_batches(
    attempts: Iterator[Attempt],
    options: ScoringOptions,
    resumed: list[AttemptScores],
    journal: "_Journal",
    tally: ScoreTally,
) -> Iterator[Attempt]:
    start = 0
    while batch := list(islice(attempts, BATCH_SIZE)):
        scores, start = resumed[start : start + BATCH_SIZE], start + BATCH_SIZE
        if not scores:
            scores = score_attempts(batch, options.model, replace_scores=options.replace_scores)
            journal.add(scores)
        for attempt, attempt_scores in zip(batch, scores, strict=True):
            scored = add_scores(attempt, attempt_scores)
            tally.add(attempt, attempt_scores, scored)
            yield scored


class _ProgressCounter:
    """Count the attempts and the share of the file read."""

    def __init__(self, progress: ScoringProgress | None) -> None:
        self.n = 0
        self._share = 0.0
        self._progress = progress

    def set_share(self, share: float) -> None:
        """Set the share of the file read."""
        self._share = share

    def __call__(self, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
        for attempt in attempts:
            yield attempt
            self.n += 1
            if not self.n % BATCH_SIZE:
                self._report()
        self._report()

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self.n, self._share)


class _Journal:
    """Append-only journal of scored batches, headed by a line that identifies the run."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        self.path = path
        self._head = _json_line(head)
        self._has_batches = False

    def open(self, *, resume: bool) -> list[AttemptScores]:
        """Start or resume the journal and return the scores of complete batches."""
        scores: list[AttemptScores] = []
        content = self._head
        if self.path.exists():
            if not resume:
                raise Conflict(
                    f"{self.path} holds the scores of a run that was interrupted. Continue with --resume, or delete it."
                )
            content, scores = self._read()
        self._has_batches = bool(scores)
        write_atomically(content, self.path)  # no batch is lost if the process is killed here
        self._file = self.path.open("ab")
        return scores

    def _read(self) -> tuple[bytes, list[AttemptScores]]:
        head, *lines = self.path.read_bytes().splitlines(keepends=True) or [b""]
        if head != self._head and head.endswith(b"\n"):
            raise InvalidInput(
                f"{self.path} is of another file, model, setting or version of Dissensus. Delete it to start again."
            )
        batches = list(takewhile(bool, map(_parse_batch, lines)))
        return b"".join([self._head, *lines[: len(batches)]]), list(chain.from_iterable(batches))

    def add(self, scores: list[AttemptScores]) -> None:
        """Append the scores of a batch and flush them to disk."""
        if len(scores) == BATCH_SIZE:
            self._has_batches = True
            self._file.write(_json_line(scores))
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the journal; keep it for a later resume unless it is empty."""
        self._file.close()
        if not self._has_batches:
            self.remove()

    def remove(self) -> None:
        """Delete the journal after completion."""
        self.path.unlink(missing_ok=True)


def _parse_batch(line: bytes) -> list[AttemptScores]:
    """Return the scores of a batch; empty for a truncated line."""
    try:
        batch = json.loads(line) if line.endswith(b"\n") else []
        scores = [AttemptScores(*values) for values in batch]
    except (ValueError, TypeError):
        return []
    return scores if len(scores) == BATCH_SIZE else []


def _json_line(values: object) -> bytes:
    return json.dumps(values, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _pretty_json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()


def _journal_head(options: ScoringOptions) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "version": version("dissensus"),
        "input": {"name": options.source.name, "sha256": digest_file(options.source)},
        "model": {**options.identity._asdict(), "purpose": options.model.purpose},
        "replaced": options.replace_scores,
    }


def _scoring_record(options: ScoringOptions, n: int, tally: ScoreTally) -> dict[str, Any]:
    output = {"name": options.target.name, "sha256": digest_file(options.target)}
    return {**_journal_head(options), "output": output, "n_attempts": n, **asdict(tally)}


def _tally_notes(tally: ScoreTally) -> Iterator[str]:
    if tally.silent_transcripts:
        yield f"{tally.silent_transcripts:,} attempts have no score, since the bot says nothing in them."
    if tally.empty_descriptions:
        yield f"{tally.empty_descriptions:,} descriptions have no score, since they are empty."
    n_kept = tally.kept_transcripts + tally.kept_descriptions
    if n_kept:
        yield (
            f"{n_kept:,} scores were there before and are kept; those of two models cannot be compared. "
            "--replace scores all again."
        )
