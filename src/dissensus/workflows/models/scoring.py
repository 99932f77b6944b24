"""Scores for a file of red-team attempts: from a file to a file, and on again after an interruption."""

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
from dissensus.files.attempts.tables import left_out, stream_attempts, write_attempts
from dissensus.files.raw import table_writer
from dissensus.files.raw.atomic_write import check_apart, check_place, write_whole
from dissensus.preference.evaluation.attempt_scores import Scores, Tally, scored, scores_of
from dissensus.preference.models.model import Identity, Model
from dissensus.schema.records.attempt import Attempt

BATCH: Final = 500
"""Attempts that are scored at a time, and after which an interruption loses nothing of them."""

Progress = Callable[[int, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is scored, and by whom.

    Parameters
    ----------
    source, target
        File of attempts, and the file to write.
    model, identity
        The model, and what it is told from others by.
    anew
        Whether scores that are there already are replaced.
    resume
        Whether to go on where an earlier run was interrupted.
    overwrite
        Whether a target that is there already may be replaced.
    """

    source: Path
    target: Path
    model: Model
    identity: Identity
    anew: bool = False
    resume: bool = False
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was scored: counts, how many attempts an earlier run had scored, and what the reader should know."""

    n_attempts: int
    n_resumed: int
    tally: Tally
    record: Path
    notes: tuple[str, ...]


def score_attempts(asked: Asked, *, progress: Progress | None = None) -> Done:
    """Write attempts with their scores to a file, and beside it which model gave them.

    Parameters
    ----------
    asked
        What is scored, and by whom.
    progress
        Called with the number of attempts that are done, and with the share of the file that they are.

    Returns
    -------
    Done
        What was scored. The same file, model and version give the same bytes, interrupted or not.

    Raises
    ------
    Conflict
        The target is there already, or an interrupted run is, and nothing was said of it.
    InvalidInput
        A record is no attempt, or an interrupted run was of another file, model or setting.
    """
    table_writer.extension_of(asked.target)
    check_place(asked.target)
    check_apart([asked.source], [asked.target])
    if asked.target.exists() and not asked.overwrite:
        raise Conflict(f"{asked.target} is there already. Name another file, or replace it with --overwrite.")
    unknown: dict[str, None] = {}
    journal = _Journal(asked.target.with_name(f"{asked.target.name}.partial"), _head(asked))
    known = journal.open(resume=asked.resume)
    tally, counted = Tally(), _Counted(progress)
    given = stream_attempts(asked.source, unknown, progress=counted.read)
    attempts = _scored(given, asked, known, journal, tally)
    try:
        write_attempts(counted(attempts), asked.target, overwrite=asked.overwrite)
    finally:
        journal.close()
    record = asked.target.with_name(f"{asked.target.name}.scores.json")
    write_whole(_json(_record(asked, counted.n, tally)), record)
    journal.remove()
    notes = (*left_out(unknown), *_notes(tally))
    return Done(n_attempts=counted.n, n_resumed=min(len(known), counted.n), tally=tally, record=record, notes=notes)


def _scored(
    attempts: Iterator[Attempt], asked: Asked, known: list[Scores], journal: "_Journal", tally: Tally
) -> Iterator[Attempt]:
    begin = 0
    while some := list(islice(attempts, BATCH)):
        scores, begin = known[begin : begin + BATCH], begin + BATCH
        if not scores:
            scores = scores_of(some, asked.model, anew=asked.anew)
            journal.add(scores)
        for attempt, given in zip(some, scores, strict=True):
            after = scored(attempt, given)
            tally.add(attempt, given, after)
            yield after


class _Counted:
    """How many attempts have gone by, and what share of the file was read."""

    def __init__(self, progress: Progress | None) -> None:
        self.n = 0
        self._share = 0.0
        self._progress = progress

    def read(self, share: float) -> None:
        """Note what share of the file was read."""
        self._share = share

    def __call__(self, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
        for attempt in attempts:
            yield attempt
            self.n += 1
            if not self.n % BATCH:
                self._tell()
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.n, self._share)


class _Journal:
    """The scores so far, a line a batch, below a line that says what they are of."""

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        self.path = path
        self._head = _line(head)
        self._begun = False

    def open(self, *, resume: bool) -> list[Scores]:
        """Begin, or go on; return the scores of whole batches that are there."""
        known: list[Scores] = []
        kept = self._head
        if self.path.exists():
            if not resume:
                raise Conflict(
                    f"{self.path} holds the scores of a run that was interrupted. Go on with --resume, or delete it."
                )
            kept, known = self._read()
        self._begun = bool(known)
        write_whole(kept, self.path)  # never less on the disk than before, whenever this is killed
        self._file = self.path.open("ab")
        return known

    def _read(self) -> tuple[bytes, list[Scores]]:
        head, *lines = self.path.read_bytes().splitlines(keepends=True) or [b""]
        if head != self._head and head.endswith(b"\n"):
            raise InvalidInput(
                f"{self.path} is of another file, model, setting or version of Dissensus. Delete it to begin anew."
            )
        whole = list(takewhile(bool, map(_scores, lines)))
        return b"".join([self._head, *lines[: len(whole)]]), list(chain.from_iterable(whole))

    def add(self, scores: list[Scores]) -> None:
        """Keep the scores of a batch, on the disk."""
        if len(scores) == BATCH:
            self._begun = True
            self._file.write(_line(scores))
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """End it, and keep it for who goes on, if there is anything in it."""
        self._file.close()
        if not self._begun:
            self.remove()

    def remove(self) -> None:
        """Forget it, because all is done."""
        self.path.unlink(missing_ok=True)


def _scores(line: bytes) -> list[Scores]:
    """Return the scores of a batch; none of a line that was cut."""
    try:
        found = json.loads(line) if line.endswith(b"\n") else []
        scores = [Scores(*both) for both in found]
    except (ValueError, TypeError):
        return []
    return scores if len(scores) == BATCH else []


def _line(values: object) -> bytes:
    return json.dumps(values, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()


def _head(asked: Asked) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "version": version("dissensus"),
        "input": {"name": asked.source.name, "sha256": _sha256(asked.source)},
        "model": {**asked.identity._asdict(), "purpose": asked.model.purpose},
        "replaced": asked.anew,
    }


def _record(asked: Asked, n: int, tally: Tally) -> dict[str, Any]:
    output = {"name": asked.target.name, "sha256": _sha256(asked.target)}
    return {**_head(asked), "output": output, "n_attempts": n, **asdict(tally)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _notes(tally: Tally) -> Iterator[str]:
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
