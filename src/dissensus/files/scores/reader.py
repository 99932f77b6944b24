"""Reader of scores of items from files and tables."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.conversations import to_text_column
from dissensus.files.raw import content
from dissensus.files.raw.json_decoder import strict_decoder
from dissensus.files.raw.table_reader import is_path, name_source, to_plain_frame, to_polars
from dissensus.files.scores import archives
from dissensus.files.scores.logs import (
    ScoreTable,
    is_helm_log,
    is_inspect_log,
    tabulate_helm_log,
    tabulate_inspect_log,
)
from dissensus.schema.item_scores import (
    ItemScores,
    build_item_scores,
    check_columns,
    check_model_names,
    join_item_scores,
)
from dissensus.schema.ratings.columns import ITEM_ID

MODEL: Final = "model"
PLAIN: Final = ("score", "scores", "label", "prediction", "probability")
"""Names of columns that do not name a model: the model has the name of the file."""

Source = str | os.PathLike[str] | Any


def read_scores(
    source: Source | Sequence[Source],
    *,
    item: str = ITEM_ID,
    models: Sequence[str] | None = None,
    labels: Mapping[str, float] | None = None,
    reverse: Sequence[str] = (),
) -> ItemScores:
    """Read scores of items: what models, such as guards and classifiers, say of each item.

    Parameters
    ----------
    source
        A file (csv, tsv, jsonl, json, these also gzipped, parquet or xlsx), a table in memory, or several of them. A
        table has one row an item: its id, and one column a model; or one row an item and model, with the columns
        ``model`` and ``score`` or ``label``. A file may be a log of Inspect (``.eval`` or JSON), whose ids of samples
        are those of items, or the per-instance statistics of HELM.
    item
        Column with the ids of items.
    models
        Columns to read, or models of files and long tables; by default all that are scores or labels.
    labels
        Value of each further label, 1 for unsafe and 0 for safe, besides safe, unsafe, true and false.
    reverse
        Models whose scores are 1 for safe; those of HELM Safety are known to be.

    Returns
    -------
    ItemScores
        A column called score, label, prediction or probability has the name of its file.

    Raises
    ------
    InvalidInput
        A missing or repeated id, a score outside 0 to 1 or not finite, a label that is not known, two models of one
        name.

    Examples
    --------
    >>> scores = read_scores(pl.DataFrame({"item_id": ["1", "2"], "guard": [0.9, 0.2], "words": ["unsafe", "safe"]}))
    >>> scores.models, scores.label_models
    (('guard', 'words'), ('words',))
    """
    sources = [source]
    if isinstance(source, (list, tuple)) and not (source and all(isinstance(row, dict) for row in source)):
        sources = list(source)
    tables = [(part, _name_models(part, item, models, labels)) for part in sources]
    if models is not None:
        check_columns(models, list(dict.fromkeys(name for _, table in tables for name in table.frame.columns)))
        tables = [(part, table) for part, table in tables if not set(models).isdisjoint(table.frame.columns)]
    scores = join_item_scores([_read(part, table, item, models, labels, reverse) for part, table in tables])
    check_columns(reverse, scores.models)
    return scores


def _name_models(
    source: Source, item: str, models: Sequence[str] | None, labels: Mapping[str, float] | None
) -> ScoreTable:
    """Read a table, and name its columns by models; columns that the caller names stay as they are."""
    table = _read_table(source, models, labels or {})
    frame = table.frame
    if not set(models or ()).isdisjoint(frame.columns):
        return table
    if MODEL in frame.columns:
        with name_source(source):
            return ScoreTable(_widen(frame, item))
    if is_path(source):
        stem = _stem(Path(source))
        plain = [name for name in frame.columns if name.lower() in PLAIN]
        if len(plain) == 1 and stem not in frame.columns:
            return table._replace(frame=frame.rename({plain[0]: stem}))
    return table


def _read(
    source: Source,
    table: ScoreTable,
    item: str,
    models: Sequence[str] | None,
    labels: Mapping[str, float] | None,
    reverse: Sequence[str],
) -> ItemScores:
    """Return the scores of one table, of the named models that it has."""
    names = table.frame.columns
    with name_source(source):
        scores = build_item_scores(
            table.frame,
            item=item,
            models=table.models if models is None else [name for name in models if name in names],
            labels=labels,
            reverse=[name for name in names if name in reverse or name in table.reverse],
        )
    return replace(scores, notes=(*table.notes, *scores.notes))


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def _read_table(source: Source, models: Sequence[str] | None, labels: Mapping[str, float]) -> ScoreTable:
    if not is_path(source):
        frame = to_polars(source)
        others = [
            column for column in frame if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.String))
        ]
        return ScoreTable(frame.with_columns(map(to_text_column, others)))
    path = Path(source)
    if models is not None and _stem(path) in models:
        models = (*models, *PLAIN)
    if path.name.lower().endswith(archives.EXTENSION):
        log = archives.read_inspect_archive(path)
        with name_source(path):
            return tabulate_inspect_log(log, models, labels)
    document: Any = _parse_json(path) if content.detect_format(path) == "json" else None
    with name_source(path):
        if is_inspect_log(document):
            return tabulate_inspect_log(document, models, labels)
        if is_helm_log(document):
            return tabulate_helm_log(document, models)
    return ScoreTable(to_plain_frame(path))


def _parse_json(path: Path) -> Any:
    """Parse a JSON document; None for JSON Lines and invalid JSON, which the reader of tables reports."""
    try:
        return strict_decoder("The log", nan_as_null=True).decode(
            content.read_content(path).decode("utf-8-sig").strip()
        )
    except (ValueError, RecursionError):
        return None


def _widen(frame: pl.DataFrame, item: str) -> pl.DataFrame:
    """Return one row an item and one column a model."""
    values = [name for name in frame.columns if name.lower() in PLAIN]
    if item not in frame.columns or len(values) != 1:
        raise InvalidInput(
            f"A table with a column {MODEL!r} has one row an item and model, with the columns {item}, {MODEL} and one "
            f"of {', '.join(PLAIN)}; its columns are {', '.join(frame.columns)}."
        )
    keys = frame.select(item, MODEL)
    if keys.is_duplicated().any():
        row = keys.filter(keys.is_duplicated()).row(0)
        raise InvalidInput(f"Item {row[0]!r} has several scores of {row[1]!r}. Give one for each item and model.")
    check_model_names(frame[MODEL].unique(maintain_order=True).to_list())
    return frame.pivot(on=MODEL, index=item, values=values[0], maintain_order=True)
