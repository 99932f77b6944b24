"""Conversion of files of ratings, pairs and attempts."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.files.attempts import samples
from dissensus.files.attempts.tables import describe_unknown_keys, stream_attempts, write_attempts
from dissensus.files.pairs import writer
from dissensus.files.pairs.columns import MARGIN
from dissensus.files.pairs.reader import STRENGTH
from dissensus.files.pairs.rows import PairReadLog, read_pair_columns, stream_pairs
from dissensus.files.pairs.writer import LINES, SkippedCounts
from dissensus.files.ratings import conversion
from dissensus.files.ratings.conversion import check_options
from dissensus.files.ratings.kinds import KINDS, RatingsFileOptions
from dissensus.files.raw import table_writer
from dissensus.files.raw.atomic_write import check_distinct
from dissensus.files.record_kinds import ATTEMPT_KINDS, PAIR_KINDS, RED_TEAM, detect_record_kind, read_column_names
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.records.attempt import Attempt


class ConversionResult(NamedTuple):
    """Kinds and number of converted records, with notes."""

    source_kind: str
    n_records: int
    family: str
    target_kind: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionOptions:
    """Options of a conversion, except the paths."""

    source_kind: str | None = None  # detected if None
    target_kind: str | None = None  # taken from the file name if None
    ratings: RatingsFileOptions = field(default_factory=RatingsFileOptions)
    as_released: bool = False  # use the spelling of the published file
    overwrite: bool = False


def convert_file(source: Path, target: Path, options: ConversionOptions) -> ConversionResult:
    """Convert a file of ratings, pairs or attempts."""
    columns = read_column_names(source) if options.source_kind is None else ()
    kind = options.source_kind or detect_record_kind(columns)
    if kind in PAIR_KINDS:
        return _convert_pairs(source, target, kind, options)
    if kind in ATTEMPT_KINDS:
        return _convert_attempts(source, target, options)
    if options.as_released:
        raise InvalidInput(f"--as-released is about red-team attempts, and {source} holds none. Leave it out.")
    if options.target_kind not in (*KINDS, None):
        raise InvalidInput(
            f"{source} holds ratings, which are not written as {options.target_kind}: {format_list(list(KINDS))} can "
            "hold them."
        )
    read, target_file = conversion.convert_ratings(
        source,
        target,
        source_kind=options.source_kind,
        target_kind=options.target_kind,
        options=options.ratings,
        overwrite=options.overwrite,
    )
    return ConversionResult(
        read.kind, read.table.height, "ratings", target_file.kind, (*read.notes, *target_file.notes)
    )


def _convert_pairs(source: Path, target: Path, kind: str, options: ConversionOptions) -> ConversionResult:
    target_kind = _choose_target_kind(source, target, options, "pairs", PAIR_KINDS)
    log = PairReadLog()
    is_fixed = target_kind == "trl" or table_writer.extension_of(target) == ".parquet"
    columns = {"columns": read_pair_columns(source)} if is_fixed else {}
    skipped = _PAIR_WRITERS[target_kind](stream_pairs(source, log), target, overwrite=options.overwrite, **columns)
    target_columns = {"hh-rlhf": (), "trl": (STRENGTH, MARGIN)}.get(target_kind, tuple(log.columns))
    missing = [name for name in log.columns if name not in target_columns]
    notes = [f"Left out, because {target_kind} does not hold it: {format_list(missing)}."] if missing else []
    return ConversionResult(
        kind,
        log.n_rows,
        "pairs",
        target_kind,
        (*log.notes(in_output=not skipped), *_describe_skipped(skipped, "pair"), *notes),
    )


def _convert_attempts(source: Path, target: Path, options: ConversionOptions) -> ConversionResult:
    target_kind = _choose_target_kind(source, target, options, "attempts", ATTEMPT_KINDS)
    if options.as_released and target_kind != RED_TEAM:
        raise InvalidInput(f"--as-released has no effect here: {target} is {target_kind}. Leave it out.")
    unknown: dict[str, None] = {}
    count = Counter[str]()
    attempts = _count_attempts(stream_attempts(source, unknown), count)
    if target_kind == RED_TEAM:
        write_attempts(attempts, target, as_released=options.as_released, overwrite=options.overwrite)
        skipped: SkippedCounts = {}
    else:
        skipped = _ATTEMPT_WRITERS[target_kind](attempts, target, overwrite=options.overwrite)
    notes = (*_describe_skipped(skipped, "attempt"), *describe_unknown_keys(unknown))
    return ConversionResult(RED_TEAM, count.total(), "attempts", target_kind, notes)


def _count_attempts(attempts: Iterable[Attempt], count: Counter[str]) -> Iterator[Attempt]:
    for attempt in attempts:
        count["read"] += 1
        yield attempt


def _choose_target_kind(
    source: Path, target: Path, options: ConversionOptions, family: str, kinds: tuple[str, ...]
) -> str:
    """Return the kind of file to write, among those that can hold the records."""
    check_options(options.ratings, frozenset(), f"{source} holds {family}")
    check_distinct([source], [target])
    if options.source_kind is not None and options.source_kind in _WRITE_ONLY:
        raise InvalidInput(f"Files of the kind {options.source_kind} are written, not read.")
    extension = table_writer.extension_of(target)
    stem = target.name.lower().removesuffix(extension)
    kinds_in_name = [kind for kind in (*PAIR_KINDS, *ATTEMPT_KINDS, *KINDS) if stem.endswith(f".{kind}")]
    kind = options.target_kind or (kinds_in_name[0] if kinds_in_name else _default_kind(family, extension))
    if kind not in kinds:
        raise InvalidInput(
            f"{source} holds {family}, which are not written as {kind}: {format_list(kinds)} can hold them."
        )
    if kind == "pairs":
        table_writer.extension_of(target, (*LINES, ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz"))
    elif family == "pairs":
        table_writer.extension_of(target, LINES)
    return kind


def _default_kind(family: str, extension: str) -> str:
    if family == "attempts":
        return RED_TEAM
    return "hh-rlhf" if extension in LINES else "pairs"


def _describe_skipped(skipped: SkippedCounts | None, noun: str) -> Iterator[str]:
    for reason, count in (skipped or {}).items():
        yield f"{count_noun(count, noun)} left out: {reason}."


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
