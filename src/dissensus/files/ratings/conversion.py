"""Files of one kind to files of another, by way of the long table."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.ratings.kinds import Content, Notes, Said, asked_by, kind_named, lewidi, long, told
from dissensus.files.raw import content, delimited, json_table, table_writer
from dissensus.files.raw.frames import to_polars
from dissensus.files.raw.table_reader import named, read_frame
from dissensus.schema.questionnaire.shipped import published_questionnaires


class Long(NamedTuple):
    """A file as a long table, the kind it was of, and what the reader should know."""

    table: pl.DataFrame
    kind: str
    notes: Notes


class Written(NamedTuple):
    """The kind of a file that was written, and what it does not hold."""

    kind: str
    notes: Notes


def read_long(
    path: str | os.PathLike[str],
    kind: str | None = None,
    *,
    item: str | None = None,
    rater: str | None = None,
    answer: str | None = None,
    question: str | None = None,
    rater_columns: str | None = None,
    item_columns: str | None = None,
    annotators: str | os.PathLike[str] | None = None,
) -> Long:
    r"""Read a file of any kind as a long table, one row a rating.

    Parameters
    ----------
    path
        The file.
    kind
        ``long``, ``wide``, ``lewidi``, ``dices-350`` or ``dices-990``. By default its content tells.
    item, rater
        Column with the ids of items, or of raters, where they are not called ``item_id`` and ``rater_id``.
    answer
        Column with the answers of a long table, if it is not named ``Q…``.
    question
        What those answers, or the answers of a wide table or of LeWiDi entries, are called; by default ``Q_label``.
    rater_columns, item_columns
        How the columns of a wide table are named, if they are raters, or if they are items: ``label_{rater_id}``.
    annotators
        LeWiDi file with the attributes of the raters.

    Returns
    -------
    Long
        The table, its kind and notes. From text files all columns are text as it is written, and empty text is null.

    Raises
    ------
    DissensusError
        The file cannot be read, contradicts itself, or its rows could be items or raters.

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
    said = Said(
        item=item,
        rater=rater,
        answer=answer,
        question=question,
        rater_columns=rater_columns,
        item_columns=item_columns,
        annotators=None if annotators is None else Path(annotators),
    )
    read = _read(Path(path), kind, said)
    check_said(said, kind_named(read.kind).reads, f"{path} is {read.kind}")
    return read


def write_long(
    table: Any,
    path: str | os.PathLike[str],
    kind: str | None = None,
    *,
    question: str | None = None,
    rater_columns: str | None = None,
    overwrite: bool = False,
) -> Written:
    """Write a long table, one row a rating, as a file of any kind.

    Parameters
    ----------
    table
        A pandas, polars or Arrow table with the columns of the data contract.
    path
        Where to write; the end of the name says how: csv, tsv, jsonl, json (these also gzipped) or parquet.
    kind
        By default the name tells: ``*.wide.csv`` is wide, ``*.lewidi.json`` LeWiDi, ``*.dices-350.csv`` and
        ``diverse_safety_adversarial_dialog_350.csv`` are official, everything else is long.
    question
        The question that a wide table or LeWiDi entries hold; by default ``Q_overall``, else the only one.
    rater_columns
        How to name the columns of a wide table, by default ``rater_{rater_id}``. Attributes of raters that stand in it,
        as in ``label_{rater_id}_{rater_gender}``, are kept in the names.
    overwrite
        Whether a file that is there already may be replaced.

    Returns
    -------
    Written
        The kind, and notes on what the file does not hold.

    Raises
    ------
    DissensusError
        The kind cannot hold the table, or the file cannot be written, as for `write_frame`.
    """
    said = Said(question=question, rater_columns=rater_columns)
    target = _target(Path(path), kind, overwrite=overwrite)
    check_said(said, kind_named(target).writes, f"{path} is {target}")
    return _write(to_polars(table), Path(path), target, said, overwrite=overwrite)


def convert(
    source: Path,
    target: Path,
    *,
    source_kind: str | None = None,
    target_kind: str | None = None,
    said: Said = Said(),  # noqa: B008 - frozen
    overwrite: bool = False,
) -> tuple[Long, Written]:
    """Read one file and write the other; what the person says may be about either."""
    written_kind = _target(target, target_kind, overwrite=overwrite)
    read = _read(source, source_kind, said)
    allowed = kind_named(read.kind).reads | kind_named(written_kind).writes
    check_said(said, allowed, f"{source} is {read.kind} and {target} {written_kind}")
    return read, _write(read.table, target, written_kind, said, overwrite=overwrite)


def _read(path: Path, kind: str | None, said: Said) -> Long:
    held = _content(path)
    if kind is None:
        kind = told(held, said)
    with named(path):
        table, notes = kind_named(kind).read(held, said)
    if kind in published_questionnaires() and content.kind_of(path) == "csv" and isinstance(held, pl.DataFrame):
        notes = (*notes, *_otherwise_written(held, path))
    return Long(table, kind, notes)


def _write(table: pl.DataFrame, path: Path, kind: str, said: Said, *, overwrite: bool) -> Written:
    held, notes = kind_named(kind).write(table, said)
    table_writer.place(held, path, overwrite=overwrite)
    return Written(kind, notes)


def _content(path: Path) -> Content:
    if content.kind_of(path) == "json":
        whole = json_table.one_object(content.contents(path), path)
        if lewidi.found(whole):
            return whole
    frame = long.normal(read_frame(path))
    if frame.is_empty():
        raise InvalidInput(f"{path} has no row with a value.")
    return frame


def _target(path: Path, kind: str | None, *, overwrite: bool) -> str:
    """Return the kind of a file to write, once it is clear that it can be written."""
    if kind is None:
        extension = table_writer.extension_of(path)
        kind = asked_by(path.name.lower().removesuffix(extension))
    table_writer.extension_of(path, kind_named(kind).extensions)
    table_writer.check_free(path, overwrite=overwrite)
    return kind


def check_said(said: Said, allowed: frozenset[str], what: str) -> None:
    """Refuse what the person said where it says nothing."""
    beside = {"question"} if said.answer is not None and "answer" in allowed else set()
    unused = [name for name, value in asdict(said).items() if value is not None and name not in allowed | beside]
    if unused:
        raise InvalidInput(
            f"--{unused[0].replace('_', '-')} says nothing here: {what}. Leave it out, or name the kind."
        )


def _otherwise_written(frame: pl.DataFrame, path: Path) -> Notes:
    if delimited.dump(frame, separator=",") == content.contents(path):
        return ()
    return (f"{path} has other quotes or line ends than we write, so going back gives its cells, not its bytes.",)
