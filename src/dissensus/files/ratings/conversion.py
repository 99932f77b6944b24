"""Conversion between kinds of ratings files, through the long table."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.ratings.kinds import (
    Content,
    Notes,
    RatingsFileOptions,
    detect_kind,
    get_kind,
    kind_from_name,
    lewidi,
    long,
)
from dissensus.files.raw import content, delimited, json_table, table_writer
from dissensus.files.raw.table_reader import is_path, name_source, read_frame, to_polars
from dissensus.schema.questionnaire.shipped import published_questionnaires
from dissensus.schema.ratings.rater_kind import drop_models


class LongTable(NamedTuple):
    """A long table, the kind of its file, and notes."""

    table: pl.DataFrame
    kind: str
    notes: Notes


class WrittenFile(NamedTuple):
    """Kind of a written file, and notes on what it does not hold."""

    kind: str
    notes: Notes


def read_long(  # noqa: PLR0913 - options are keyword-only
    path: Any,
    kind: str | None = None,
    *,
    item: str | None = None,
    rater: str | None = None,
    answer: str | None = None,
    question: str | None = None,
    rater_columns: str | None = None,
    item_columns: str | None = None,
    annotators: str | os.PathLike[str] | None = None,
) -> LongTable:
    r"""Read a file of any kind as a long table, one row per rating.

    Parameters
    ----------
    path
        The file, or a table in memory.
    kind
        ``long``, ``wide``, ``lewidi``, ``dices-350`` or ``dices-990``; detected by default.
    item, rater
        Columns with the ids of items and raters; default ``item_id`` and ``rater_id``.
    answer
        Column with the answers of a long table, if it is not named ``Q…``.
    question
        Name of those answers, or of the answers of a wide table or of LeWiDi entries; default ``Q_label``.
    rater_columns, item_columns
        Template of the column names of a wide table whose columns are raters, or items: ``label_{rater_id}``.
    annotators
        LeWiDi file with the attributes of the raters.

    Returns
    -------
    LongTable
        The table, its kind and notes. From text files all columns are text as written, and empty text is null.

    Raises
    ------
    DissensusError
        The file cannot be read or contradicts itself, or its rows may be items or raters.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "posts.csv")
    ...     _ = path.write_text("id,text,label_1_M,label_2_F\n7,good morning,fine,\n8,go away,fine,rude\n")
    ...     table, kind, notes = read_long(path, rater_columns="label_{rater_id}_{rater_gender}")
    >>> kind, table.columns
    ('wide', ['item_id', 'item_text', 'rater_id', 'rater_gender', 'Q_label'])
    >>> table["Q_label"].to_list()
    ['fine', 'fine', 'rude']
    """
    options = RatingsFileOptions(
        item=item,
        rater=rater,
        answer=answer,
        question=question,
        rater_columns=rater_columns,
        item_columns=item_columns,
        annotators=None if annotators is None else Path(annotators),
    )
    read = _read(Path(path), kind, options) if is_path(path) else _read_table(path, kind, options)
    check_options(options, get_kind(read.kind).read_options, f"{path if is_path(path) else 'the table'} is {read.kind}")
    return read


def write_long(
    table: Any,
    path: str | os.PathLike[str],
    kind: str | None = None,
    *,
    question: str | None = None,
    rater_columns: str | None = None,
    overwrite: bool = False,
) -> WrittenFile:
    """Write a long table, one row per rating, as a file of any kind.

    Parameters
    ----------
    table
        A pandas, polars or Arrow table with the columns of the data contract.
    path
        Target; the extension determines the format: csv, tsv, jsonl, json (these also gzipped) or parquet.
    kind
        By default taken from the name: ``*.wide.csv`` is wide, ``*.lewidi.json`` LeWiDi, ``*.dices-350.csv`` and
        ``diverse_safety_adversarial_dialog_350.csv`` are official, everything else is long.
    question
        Question of a wide table or of LeWiDi entries; default ``Q_overall``, else the only one.
    rater_columns
        Template of the column names of a wide table; default ``rater_{rater_id}``. Rater attributes in it, as in
        ``label_{rater_id}_{rater_gender}``, are kept in the names.
    overwrite
        True to replace an existing file.

    Returns
    -------
    WrittenFile
        The kind, and notes on what the file does not hold.

    Raises
    ------
    DissensusError
        The kind cannot hold the table, or the file cannot be written, as for `write_frame`.
    """
    options = RatingsFileOptions(question=question, rater_columns=rater_columns)
    target = _choose_kind(Path(path), kind, overwrite=overwrite)
    check_options(options, get_kind(target).write_options, f"{path} is {target}")
    return _write(to_polars(table), Path(path), target, options, overwrite=overwrite)


def convert_ratings(
    source: Path,
    target: Path,
    *,
    source_kind: str | None = None,
    target_kind: str | None = None,
    options: RatingsFileOptions = RatingsFileOptions(),  # noqa: B008 - frozen
    overwrite: bool = False,
) -> tuple[LongTable, WrittenFile]:
    """Convert a ratings file; each option applies to the source or the target."""
    written_kind = _choose_kind(target, target_kind, overwrite=overwrite)
    read = _read(source, source_kind, options)
    allowed = get_kind(read.kind).read_options | get_kind(written_kind).write_options
    check_options(options, allowed, f"{source} is {read.kind} and {target} {written_kind}")
    return read, _write(read.table, target, written_kind, options, overwrite=overwrite)


def _read(path: Path, kind: str | None, options: RatingsFileOptions) -> LongTable:
    raw = _read_content(path)
    if kind is None:
        kind = detect_kind(raw, options)
    with name_source(path):
        table, notes = get_kind(kind).read(raw, options)
    if kind in published_questionnaires() and content.detect_format(path) == "csv" and isinstance(raw, pl.DataFrame):
        notes = (*notes, *_describe_formatting(raw, path))
    return LongTable(table, kind, notes)


def _read_table(source: Any, kind: str | None, options: RatingsFileOptions) -> LongTable:
    frame = long.normalise(to_polars(source))
    if frame.is_empty():
        raise InvalidInput("The table has no row with a value.")
    kind = kind or detect_kind(frame, options)
    table, notes = get_kind(kind).read(frame, options)
    return LongTable(table, kind, notes)


def _write(table: pl.DataFrame, path: Path, kind: str, options: RatingsFileOptions, *, overwrite: bool) -> WrittenFile:
    if table.is_empty():
        raise InvalidInput(f"There are no ratings to write to {path}.")
    n_left_out = 0
    if kind != "long":  # Other kinds cannot tell models from people
        table, n_left_out = drop_models(table)
    if table.is_empty():
        raise InvalidInput(f"Every rater is of kind model, which {kind} files cannot tell. Name another kind of file.")
    encoded, notes = get_kind(kind).write(table, options)
    table_writer.write_content(encoded, path, overwrite=overwrite)
    if n_left_out:
        ratings = (
            "1 rating by a rater of kind model is"
            if n_left_out == 1
            else f"{n_left_out:,} ratings by raters of kind model are"
        )
        notes = (*notes, f"{ratings} left out, which {kind} files cannot tell.")
    return WrittenFile(kind, notes)


def _read_content(path: Path) -> Content:
    if content.detect_format(path) == "json":
        value = json_table.one_object(content.read_content(path), path)
        if lewidi.is_lewidi(value):
            return value
    frame = long.normalise(read_frame(path))
    if frame.is_empty():
        raise InvalidInput(f"{path} has no row with a value.")
    return frame


def _choose_kind(path: Path, kind: str | None, *, overwrite: bool) -> str:
    """Return the kind of file to write; raise if it cannot be written."""
    if kind is None:
        extension = table_writer.extension_of(path)
        kind = kind_from_name(path.name.lower().removesuffix(extension))
    table_writer.extension_of(path, get_kind(kind).extensions)
    table_writer.check_overwrite(path, overwrite=overwrite)
    return kind


def check_options(options: RatingsFileOptions, allowed: frozenset[str], context: str) -> None:
    """Raise if an option has no effect."""
    implied = {"question"} if options.answer is not None and "answer" in allowed else set()
    unused = [name for name, value in asdict(options).items() if value is not None and name not in allowed | implied]
    if unused:
        # The option is --rater-attribute, once for each attribute.
        option = unused[0].replace("_", "-").replace("attributes", "attribute")
        raise InvalidInput(f"--{option} has no effect here: {context}. Leave it out, or name the kind.")


def _describe_formatting(frame: pl.DataFrame, path: Path) -> Notes:
    if delimited.dump(frame, separator=",") == content.read_content(path):
        return ()
    return (
        f"{path} uses different quoting or line endings from those we write, so converting back preserves its cells, "
        "but not its bytes.",
    )
