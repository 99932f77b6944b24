"""Recognition of files of pairs and attempts."""

from pathlib import Path
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.files.pairs.columns import CHOSEN, PROMPT, REJECTED
from dissensus.files.raw import content
from dissensus.files.raw.json_stream import stream_records
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.attempt import KEYS
from dissensus.schema.records.attempt_parser import RELEASED_SPELLING

PAIR_KINDS: Final = ("hh-rlhf", "pairs", "trl", "inspect")
RED_TEAM: Final = "red-team"
ATTEMPT_KINDS: Final = (RED_TEAM, "inspect", "pyrit")


def read_column_names(path: Path) -> tuple[str, ...]:
    """Return the columns of a table, or the keys of the first object of a JSON file; empty if there is none."""
    if content.detect_format(path) != "json":
        return tuple(read_frame(path).columns)
    try:
        return tuple(next(stream_records(path), ()))
    except InvalidInput:
        return ()  # one object over several lines, as in LeWiDi, or an invalid file


def detect_record_kind(columns: tuple[str, ...]) -> str | None:
    """Return the kind of pairs or attempts that has these columns; None for ratings.

    Examples
    --------
    >>> detect_record_kind(("chosen", "rejected")), detect_record_kind(("item_id", "rater_id", "Q_overall"))
    ('hh-rlhf', None)
    """
    keys = set(columns)
    if {names.ITEM_ID, names.RATER_ID} <= keys:
        return None
    if {CHOSEN, REJECTED} <= keys:
        return "trl" if PROMPT in keys else "hh-rlhf" if len(keys) == 2 else "pairs"
    if "transcript" in keys and len(keys & {*KEYS, RELEASED_SPELLING}) > len(KEYS) / 2:
        return RED_TEAM
    return None
