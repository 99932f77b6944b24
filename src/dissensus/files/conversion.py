"""File conversion of any family: dispatches to ratings, pairs or attempts."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.files.attempts import samples
from dissensus.files.attempts.tables import describe_unknown_keys, stream_attempts, write_attempts
from dissensus.files.pairs import writer
from dissensus.files.pairs.reader import STRENGTH
from dissensus.files.pairs.rows import CHOSEN, MARGIN, PROMPT, REJECTED, PairReadLog, stream_pairs
from dissensus.files.pairs.writer import LINES, SkippedCounts
from dissensus.files.ratings import conversion
from dissensus.files.ratings.conversion import check_options
from dissensus.files.ratings.kinds import KINDS, RatingsFileOptions
from dissensus.files.raw import content, table_writer
from dissensus.files.raw.atomic_write import check_distinct
from dissensus.files.raw.json_stream import stream_records
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.hints import format_list
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.attempt import KEYS, Attempt
from dissensus.schema.records.attempt_parser import RELEASED_SPELLING

PAIR_KINDS: Final = ("hh-rlhf", "pairs", "trl", "inspect")
ATTEMPT_KINDS: Final = ("red-team", "inspect", "pyrit")


class ConversionResult(NamedTuple):
    """Kinds and number of converted records, with notes."""

    read: str
    number: int
    what: str
    written: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionOptions:
    """Options of a conversion besides the names of the files."""

    source_kind: str | None = None  # None to detect it
    target_kind: str | None = None  # None to take it from the name
    said: RatingsFileOptions = field(default_factory=RatingsFileOptions)
    as_released: bool = False  # keep the spelling of the published file
    overwrite: bool = False


def convert_file(source: Path, target: Path, wanted: ConversionOptions) -> ConversionResult:
    """Read one file and write the other."""
    columns = read_column_names(source) if wanted.source_kind is None else ()
    kind = wanted.source_kind or detect_record_kind(columns)
    if kind in PAIR_KINDS:
        return _pairs(source, target, kind, wanted)
    if kind in ATTEMPT_KINDS:
        return _attempts(source, target, wanted)
    if wanted.as_released:
        raise InvalidInput(f"--as-released is about red-team attempts, and {source} holds none. Leave it out.")
    if wanted.target_kind not in (*KINDS, None):
        raise InvalidInput(
            f"{source} holds ratings, which are not written as {wanted.target_kind}: {format_list(list(KINDS))} can "
            "hold "
            "them."
        )
    read, done = conversion.convert_ratings(
        source,
        target,
        source_kind=wanted.source_kind,
        target_kind=wanted.target_kind,
        said=wanted.said,
        overwrite=wanted.overwrite,
    )
    return ConversionResult(read.kind, read.table.height, "ratings", done.kind, (*read.notes, *done.notes))


def read_column_names(path: Path) -> tuple[str, ...]:
    """Return the columns of a table, or the keys of the first object of a JSON file; nothing where it has none."""
    if content.detect_format(path) != "json":
        return tuple(read_frame(path).columns)
    try:
        return tuple(next(stream_records(path), ()))
    except InvalidInput:
        return ()  # one object over several lines, as LeWiDi has, or what its reader refuses


def detect_record_kind(columns: tuple[str, ...]) -> str | None:
    """Return the kind of pairs or attempts that has such columns; None for ratings.

    Examples
    --------
    >>> detect_record_kind(("chosen", "rejected")), detect_record_kind(("item_id", "rater_id", "Q_overall"))
    ('hh-rlhf', None)
    """
    given = set(columns)
    if {names.ITEM_ID, names.RATER_ID} <= given:
        return None
    if {CHOSEN, REJECTED} <= given:
        return "trl" if PROMPT in given else "hh-rlhf" if len(given) == 2 else "pairs"
    if "transcript" in given and len(given & {*KEYS, RELEASED_SPELLING}) > len(KEYS) / 2:
        return "red-team"
    return None


def _pairs(source: Path, target: Path, kind: str, wanted: ConversionOptions) -> ConversionResult:
    written = _target_kind(source, target, wanted, "pairs", PAIR_KINDS)
    seen = PairReadLog()
    lost = _PAIR_WRITERS[written](stream_pairs(source, seen), target, overwrite=wanted.overwrite)
    held = {"hh-rlhf": (), "trl": (STRENGTH, MARGIN)}.get(written, tuple(seen.columns))
    without = [name for name in seen.columns if name not in held]
    notes = [f"Left out, because {written} does not hold it: {format_list(without)}."] if without else []
    return ConversionResult(
        kind, seen.rows, "pairs", written, (*seen.notes(kept=not lost), *_describe_skipped(lost, "pair"), *notes)
    )


def _attempts(source: Path, target: Path, wanted: ConversionOptions) -> ConversionResult:
    written = _target_kind(source, target, wanted, "attempts", ATTEMPT_KINDS)
    if wanted.as_released and written != "red-team":
        raise InvalidInput(f"--as-released says nothing here: {target} is {written}. Leave it out.")
    unknown: dict[str, None] = {}
    count = Counter[str]()
    attempts = _counted(stream_attempts(source, unknown), count)
    if written == "red-team":
        write_attempts(attempts, target, as_released=wanted.as_released, overwrite=wanted.overwrite)
        lost: SkippedCounts = {}
    else:
        lost = _ATTEMPT_WRITERS[written](attempts, target, overwrite=wanted.overwrite)
    notes = (*_describe_skipped(lost, "attempt"), *describe_unknown_keys(unknown))
    return ConversionResult("red-team", count.total(), "attempts", written, notes)


def _counted(attempts: Iterable[Attempt], count: Counter[str]) -> Iterator[Attempt]:
    for attempt in attempts:
        count["read"] += 1
        yield attempt


def _target_kind(source: Path, target: Path, wanted: ConversionOptions, what: str, kinds: tuple[str, ...]) -> str:
    """Return the kind of a file to write, among those that hold what was read."""
    check_options(wanted.said, frozenset(), f"{source} holds {what}")
    check_distinct([source], [target])
    if wanted.source_kind is not None and wanted.source_kind in _WRITE_ONLY:
        raise InvalidInput(f"Files of the kind {wanted.source_kind} are written, not read.")
    extension = table_writer.extension_of(target)
    stem = target.name.lower().removesuffix(extension)
    named = [kind for kind in (*PAIR_KINDS, *ATTEMPT_KINDS, *KINDS) if stem.endswith(f".{kind}")]
    kind = wanted.target_kind or (named[0] if named else _default_kind(what, extension))
    if kind not in kinds:
        raise InvalidInput(
            f"{source} holds {what}, which are not written as {kind}: {format_list(kinds)} can hold them."
        )
    if kind == "pairs":
        table_writer.extension_of(target, (*LINES, ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz"))
    elif what == "pairs":
        table_writer.extension_of(target, LINES)
    return kind


def _default_kind(what: str, extension: str) -> str:
    if what == "attempts":
        return "red-team"
    return "hh-rlhf" if extension in LINES else "pairs"


def _describe_skipped(lost: SkippedCounts | None, what: str) -> Iterator[str]:
    for why, count in (lost or {}).items():
        yield f"{count:,} {what}{'s' * (count > 1)} left out: {why}."


_WRITE_ONLY: Final = ("inspect", "pyrit")

_PAIR_WRITERS: Final[Mapping[str, Callable[..., SkippedCounts | None]]] = {
    "hh-rlhf": writer.write_hh_rlhf,
    "pairs": writer.write_table,
    "trl": writer.write_trl,
    "inspect": writer.write_inspect,
}
_ATTEMPT_WRITERS: Final[Mapping[str, Callable[..., SkippedCounts]]] = {
    "inspect": samples.write_attempt_samples,
    "pyrit": samples.write_pyrit,
}
