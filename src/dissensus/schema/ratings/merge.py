"""Merge of the ratings of several tables: items apart by table, raters with one id as one."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_rest, format_list, format_value
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings

ITEM_FILE: Final = "item_file"
"""Attribute of items with the name of their table."""


def merge_ratings(parts: Sequence[Ratings], labels: Sequence[str]) -> Ratings:
    """Return the ratings of several tables as one, whose items are called ``label:item_id``.

    Questions are those of all tables. Attributes of raters and items are those of any table, null where unknown.

    Examples
    --------
    >>> frame = pl.DataFrame({"item_id": ["1", "1"], "rater_id": ["a", "b"], "Q_overall": ["Yes", "No"]})
    >>> merged = merge_ratings([Ratings.from_frame(frame)] * 2, ["first", "second"])
    >>> merged.items["item_id"].to_list(), merged.n_raters
    (['first:1', 'second:1'], 2)
    """
    # In the order of the ids of items, which begin with the label and a colon.
    order = sorted(range(len(parts)), key=lambda part: f"{labels[part]}:")
    parts, labels = [parts[part] for part in order], [labels[part] for part in order]
    _refuse_mixed_ids(parts, labels)
    questions = _share_questions(parts, labels)
    raters, codes = _merge_raters(parts, labels)
    offsets = [0, *accumulate(part.n_items for part in parts)]
    answers, repeats = (
        _concatenate(tables, offsets, codes, questions)
        for tables in ([part.answers for part in parts], [part.repeats for part in parts])
    )
    items = pl.concat(
        [_name_items(part.items, label) for part, label in zip(parts, labels, strict=True)], how="diagonal"
    )
    notes = _describe(parts, labels, questions)
    return Ratings(answers, raters, items, repeats, tuple(dict.fromkeys(notes)))


def _concatenate(
    tables: Sequence[pl.DataFrame],
    offsets: Sequence[int],
    codes: Sequence[pl.Series | None],
    questions: Sequence[str],
) -> pl.DataFrame:
    """Return the answers of all tables, with the codes that items and raters have together."""
    measures = [name for name in names.MEASURES if any(name in table.columns for table in tables)]
    return pl.concat(
        [
            table.select("item", "rater", *(name for name in measures if name in table.columns), *questions)
            .with_columns(pl.col("item") + offset, *([] if code is None else [code.gather(table["rater"])]))
            .with_columns(pl.col("item").cast(pl.UInt32))
            for table, offset, code in zip(tables, offsets, codes, strict=False)
        ],
        how="diagonal",
    ).select("item", "rater", *measures, *questions)


def _refuse_mixed_ids(parts: Sequence[Ratings], labels: Sequence[str]) -> None:
    """Raise if some tables have rater ids and others do not."""
    without = [label for part, label in zip(parts, labels, strict=True) if not part.has_raters]
    if 0 < len(without) < len(parts):
        raise InvalidInput(
            f"The raters of {format_list(without)} are unknown, and those of the other tables are known. Read all as "
            "counts: --no-raters (in Python: rater=None); or leave some out."
        )


def _share_questions(parts: Sequence[Ratings], labels: Sequence[str]) -> list[str]:
    """Return the questions of all tables; raise if there are none, or if their answers differ."""
    shared = [name for name in parts[0].questions if all(name in part.questions for part in parts)]
    if not shared:
        listed = "; ".join(
            f"{label} has {format_list(part.questions)}" for part, label in zip(parts, labels, strict=True)
        )
        raise InvalidInput(
            f"The files answer different questions: {listed}. Give one name to those that are the same: "
            "--rename OLD=NEW (in Python: rename={old: new}), or name the same column with --answer."
        )
    for question in shared:
        scales = {part.scale(question): label for part, label in zip(parts, labels, strict=True)}
        if len(scales) > 1:
            listed = "; ".join(f"{label} has {format_list(scale)}" for scale, label in scales.items())
            raise InvalidInput(
                f"{question} has different answers: {listed}. Name all answers in order, --categories (in Python: "
                f"categories=[...]), or rename those that are the same: --rename '{question}:OLD=NEW'."
            )
    return shared


def _merge_raters(parts: Sequence[Ratings], labels: Sequence[str]) -> tuple[pl.DataFrame, list[pl.Series | None]]:
    """Return one row for each rater, and the new code of each rater of each table."""
    if not parts[0].has_raters:
        return parts[0].raters, [None] * len(parts)
    tables = [part.raters.with_columns(pl.col(part.axes).cast(pl.String)) for part in parts]
    lines = pl.concat(
        [table.with_columns(table=pl.lit(label)) for table, label in zip(tables, labels, strict=True)], how="diagonal"
    )
    attributes = [name for name in lines.columns if name not in (names.RATER_ID, names.FLAG, "table")]
    for attribute in attributes:
        _refuse_conflicts(lines, attribute)
    flag = [pl.col(names.FLAG).max().fill_null(value=False)] if names.FLAG in lines.columns else []
    raters = lines.group_by(names.RATER_ID).agg(pl.col(attributes).drop_nulls().first(), *flag).sort(names.RATER_ID)
    raters = raters.with_columns(_restore_order(parts, attribute, raters[attribute]) for attribute in attributes)
    rows = dict(zip(raters[names.RATER_ID], range(raters.height), strict=True))
    codes = [
        pl.Series("rater", [rows[rater] for rater in part.raters[names.RATER_ID]], dtype=pl.UInt32) for part in parts
    ]
    return raters, list(codes)


def _refuse_conflicts(lines: pl.DataFrame, attribute: str) -> None:
    """Raise if a rater has two values of an attribute, in two tables."""
    known = lines.select(names.RATER_ID, attribute, "table").drop_nulls(attribute)
    values = known.group_by(names.RATER_ID).agg(pl.col(attribute).n_unique().alias("n"))
    raters = values.filter(pl.col("n") > 1)[names.RATER_ID].sort()
    if raters.is_empty():
        return
    occurrences = known.filter(pl.col(names.RATER_ID) == raters[0]).rows()
    listed = ", ".join(f"{format_value(value)} in {label}" for _, value, label in occurrences)
    raise InvalidInput(
        f"Rater {format_value(raters[0])} has {attribute} {listed}.{count_rest(len(raters) - 1, 'such rater')} If the "
        f"values mean the same, rename one of them: --rename '{attribute}:OLD=NEW'. If the column means something else "
        "in one file, give it another name there; if the ids are those of different people, make them different."
    )


def _restore_order(parts: Sequence[Ratings], attribute: str, values: pl.Series) -> pl.Series:
    """Return an attribute with the order of its values, if all tables that have it agree on one."""
    dtypes = {part.raters[attribute].dtype for part in parts if attribute in part.raters.columns}
    return values.cast(dtypes.pop()) if len(dtypes) == 1 else values


def _name_items(items: pl.DataFrame, label: str) -> pl.DataFrame:
    if ITEM_FILE in items.columns:
        raise InvalidInput(
            f"{label} has a column {ITEM_FILE}, which names the file of an item. Call it differently: "
            f"--rename {ITEM_FILE}=item_source."
        )
    named = pl.concat_str(pl.lit(f"{label}:"), pl.col(names.ITEM_ID)).alias(names.ITEM_ID)
    return items.with_columns(pl.lit(label).alias(ITEM_FILE), named)


def _describe(parts: Sequence[Ratings], labels: Sequence[str], questions: Sequence[str]) -> Iterator[str]:
    """Yield notes on the merge, and those of each table."""
    sizes = [f"{label} ({part.n_items:,} items)" for part, label in zip(parts, labels, strict=True)]
    yield f"{len(parts)} files are read as one: {', '.join(sizes)}. Items are told apart by file ({ITEM_FILE})."
    if parts[0].has_raters:
        ids = pl.concat([part.raters[names.RATER_ID] for part in parts])
        yield f"{ids.filter(ids.is_duplicated()).n_unique():,} of {ids.n_unique():,} raters are in several files."
    dropped = dict.fromkeys(name for part in parts for name in part.questions if name not in questions)
    if dropped:
        yield f"Left out, because they are not questions of all files: {format_list(list(dropped))}."
    flagged = [names.FLAG in part.raters.columns for part in parts]
    if any(flagged) and not all(flagged):
        without = [label for label, known in zip(labels, flagged, strict=True) if not known]
        yield f"No flags in {format_list(without)}: raters are flagged only where another file flags them."
    for part, label in zip(parts, labels, strict=True):
        yield from (f"{label}: {note}" for note in part.notes)


def label_sources(paths: Sequence[str | None]) -> list[str]:
    """Return short, different names of tables: file names without extension, with folders where they repeat.

    Tables in memory, whose path is None, have their number.

    Examples
    --------
    >>> label_sources(["a/dices-350/ratings.csv", "a/dices-990/ratings.csv.gz", None])
    ['dices-350/ratings', 'dices-990/ratings', '3']
    """
    parts = [[str(number)] if path is None else _split_path(path) for number, path in enumerate(paths, 1)]
    labels = ["/".join(part[-1:]) for part in parts]
    for depth in range(2, max(map(len, parts)) + 1):
        labels = [
            "/".join(part[-depth:]) if labels.count(label) > 1 else label
            for label, part in zip(labels, parts, strict=True)
        ]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        if len(set(paths)) < len(paths):
            raise InvalidInput(f"{format_value(twice)} is named twice. Name each file once.")
        raise InvalidInput(
            f"Two files have the name {format_value(twice)}, without extension and with colons as underscores. "
            "It would begin the ids of the items of both. Rename one."
        )
    return labels


def _split_path(path: str) -> list[str]:
    """Return folders and file name without extension; colons, which end labels in ids of items, become underscores."""
    *folders, name = path.replace("\\", "/").replace(":", "_").split("/")
    return [*(folder for folder in folders if folder), name.split(".")[0] or name]
