"""Writers of attempts for PyRIT and Inspect."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.files.pairs.writer import SkippedCounts, write_lines
from dissensus.files.raw import table_writer
from dissensus.files.raw.table_stream import open_for_writing
from dissensus.schema.records.attempt import KEYS, SUCCESS, Attempt
from dissensus.text.messages import write_messages
from dissensus.text.transcripts import parse_hh
from dissensus.text.turns import Turns

UNRATED: Final = "nobody rated it"
NO_OBJECTIVE: Final = "it has no description that PyRIT can read"
NO_INPUT: Final = "nothing comes before what the bot says, and an Inspect sample has an input"

COLUMNS: Final = ("assistant_response", "human_score", "objective", "data_type")
VERSION: Final = "# dataset_version=1.0\n"
"""First line; without it PyRIT asks for a version."""

_MISSING: Final = frozenset(
    {
        *("", "#n/a", "n/a", "na", "<na>", "null", "nan", "-nan", "none", "#na", "#n/a n/a"),
        *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
    }
)
"""Values that pandas reads as missing, in lower case; PyRIT rejects files with them."""


def write_pyrit(attempts: Iterable[Attempt], path: Path, *, overwrite: bool = False) -> SkippedCounts:
    """Write attempts as a human-labelled data set of PyRIT about the success of attacks.

    The objective is the description, the response the whole transcript, which is what raters rated, and the score 1 if
    the rating is `dissensus.schema.records.attempt.SUCCESS` or more, else 0.
    """
    table_writer.extension_of(path, (".csv",))
    table_writer.check_overwrite(path, overwrite=overwrite)
    skipped: SkippedCounts = {}
    with open_for_writing(path) as out:
        out.write((VERSION + ",".join(COLUMNS) + "\n").encode())
        count = 0
        for row in _label_attempts(attempts, skipped):
            out.write(_line(row))
            count += 1
        if not count:
            reason = ", ".join(skipped) or "there is none"
            raise InvalidInput(f"No attempt can be written to {path}: {reason}.")
    return skipped


def _label_attempts(attempts: Iterable[Attempt], skipped: SkippedCounts) -> Iterator[tuple[str | int, ...]]:
    for attempt in attempts:
        objective = attempt.task_description.strip()
        reason = UNRATED if attempt.rating is None else NO_OBJECTIVE if objective.casefold() in _MISSING else None
        if reason is not None:
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        yield attempt.transcript.strip(), int((attempt.rating or 0) >= SUCCESS), objective, "text"


def _line(row: tuple[str | int, ...]) -> bytes:
    # Quote all texts: PyRIT reads an unquoted # as the start of a comment.
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerow(row)
    return out.getvalue().encode()


def write_attempt_samples(attempts: Iterable[Attempt], path: Path, *, overwrite: bool = False) -> SkippedCounts:
    """Write attempts as Inspect samples: the turns before the last answer as input, the intent as target."""
    skipped: SkippedCounts = {}
    write_lines(_samples(attempts, skipped), path, overwrite=overwrite)
    return skipped


def _samples(attempts: Iterable[Attempt], skipped: SkippedCounts) -> Iterator[dict[str, object]]:
    for number, attempt in enumerate(attempts, start=1):
        before, response = _split_response(parse_hh(attempt.transcript))
        if not before:
            skipped[NO_INPUT] = skipped.get(NO_INPUT, 0) + 1
            continue
        metadata = {key: getattr(attempt, key) for key in KEYS if key not in ("transcript", "task_description")}
        yield {
            "id": str(number),
            "input": write_messages(before),
            "target": attempt.task_description,
            "metadata": {"response": response, **metadata},
        }


def _split_response(turns: Turns) -> tuple[Turns, str | None]:
    """Split off the last turn if it is the bot's; the response is None otherwise."""
    return (turns[:-1], turns[-1][1]) if turns[-1][0] == "bot" else (turns, None)
