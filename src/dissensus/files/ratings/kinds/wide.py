"""Wide tables: one row per item and one column per rater, or transposed on request."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.ratings.kinds import orientation
from dissensus.files.ratings.kinds.long import check_question_name, describe_losses, rename_columns, select_question
from dissensus.files.raw import limits
from dissensus.schema.advice import Advice
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.column_choice import require_column
from dissensus.schema.ratings.findings import raise_failed_check

DEFAULT_TEMPLATE: Final = "rater_{rater_id}"
"""Default template of rater columns."""
Wide = tuple[pl.DataFrame, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Template:
    """Text with named gaps."""

    text: str
    fields: tuple[str, ...]
    shortest: re.Pattern[str]  # non-greedy
    longest: re.Pattern[str]  # greedy; a different match means ambiguity

    def values(self, name: str) -> dict[str, str] | None:
        """Return the values in a name; None if it does not match.

        Examples
        --------
        >>> parse_template("label_{rater_id}_{rater_gender}", "rater_id", lambda name: True).values("label_7_F")
        {'rater_id': '7', 'rater_gender': 'F'}
        """
        matches = self.shortest.fullmatch(name), self.longest.fullmatch(name)
        short, long = (dict(zip(self.fields, match.groups(), strict=True)) if match else None for match in matches)
        if short != long:
            raise InvalidInput(
                f"{format_value(name)} matches {self.text!r} in two ways: {short} and {long}. "
                "Rename the columns, or give a template whose parts can be told apart."
            )
        return short

    def name(self, values: Mapping[str, str]) -> str:
        """Return the name with the values filled in."""
        return self.text.format_map(values)


def parse_template(text: str, required: str, allowed: Callable[[str], bool]) -> Template:
    """Parse a template; all gaps must be allowed, and one is required."""
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise InvalidInput(f"{text!r} is not a template: {error}. Write one like 'rater_{{{required}}}'.") from None
    gaps = [(field, spec, conversion) for _, field, spec, conversion in pieces if field is not None]
    fields = tuple(field for field, _, _ in gaps)
    invalid = [field for field, spec, conversion in gaps if spec or conversion or not allowed(field)]
    if invalid or required not in fields or len(set(fields)) < len(fields):
        prefix = required.removesuffix("id")
        raise InvalidInput(
            f"{text!r} is not a template: its gaps must be {{{required}}} and, if you like, others named "
            f"{{{prefix}…}}, each once."
        )
    patterns = (_pattern(pieces, gap) for gap in ("(.+?)", "(.+)"))
    return Template(text, fields, *patterns)


def _pattern(pieces: list[tuple[str, str | None, str | None, str | None]], gap: str) -> re.Pattern[str]:
    parts = (re.escape(literal) + (gap if field is not None else "") for literal, field, _, _ in pieces)
    return re.compile("".join(parts), re.DOTALL)


class TableSide(NamedTuple):
    """One side of a wide table: items or raters."""

    name: str
    id: str
    prefix: str
    is_attribute: Callable[[str], bool]
    usual_id: re.Pattern[str]

    def attribute(self, name: str) -> str:
        """Return the name in the long table of a column that describes this side."""
        return name if self.is_attribute(name) else self.prefix + name

    def template(self, text: str) -> Template:
        """Parse a template of columns of this side."""
        return parse_template(text, self.id, lambda field: field == self.id or self.is_attribute(field))


def _describes_raters(name: str) -> bool:
    return names.is_rater_attribute(name) or name in (names.FLAG, names.REMOVED)


ITEMS: Final = TableSide(
    "item", names.ITEM_ID, "item_", names.is_item_attribute, re.compile(r"id|items?|.*[\W_]id", re.I)
)
RATERS: Final = TableSide(
    "rater",
    names.RATER_ID,
    names.RATER_PREFIX,
    _describes_raters,
    re.compile(r"id|.*[\W_]id|rater|annotator|worker", re.I),
)


def read(
    frame: pl.DataFrame,
    *,
    rater_columns: str | None = None,
    item_columns: str | None = None,
    item: str | None = None,
    rater: str | None = None,
    question: str | None = None,
) -> Wide:
    """Return the long table, with notes on what was detected and left out."""
    if rater_columns is not None and item_columns is not None:
        raise InvalidInput(
            "Columns are raters (--rater-columns) or items (--item-columns), not both. Give one of the two."
        )
    if (rater if item_columns is None else item) is not None:
        raise InvalidInput(
            "The rows are items, named by --item, unless --item-columns is given; then they are raters (--rater)."
        )
    question = check_question_name(question)
    if rater_columns is None and item_columns is None:
        return _read_by_content(frame, item, question)
    rows, columns, form = (ITEMS, RATERS, rater_columns) if item_columns is None else (RATERS, ITEMS, item_columns)
    row_id = _row_id(frame, rows, item or rater)
    return _melt(
        frame, rows, row_id, columns, _match_columns(frame, rows, row_id, columns.template(str(form))), question
    )


def write(frame: pl.DataFrame, *, question: str | None = None, rater_columns: str | None = None) -> Wide:
    """Return the wide table of one question, with notes on what it does not hold."""
    source = select_question(frame, question)
    form = RATERS.template(rater_columns or DEFAULT_TEMPLATE)
    missing = [field for field in form.fields if field not in source.raters.columns]
    if missing:
        raise NotFound(
            f"{form.text!r} asks for {format_list(missing)}. The raters have {format_list(source.raters.columns)}."
        )
    columns = [_column_name(form, values) for values in source.raters.select(form.fields).iter_rows(named=True)]
    n_items, n_raters = source.items.height, source.raters.height
    if n_raters > limits.MAX_COLUMNS or n_items * n_raters > limits.max_cells():
        raise InvalidInput(
            f"{n_items:,} items by {n_raters:,} raters are more columns or cells than can be read back. Keep it long."
        )
    empty = pl.Series([None], dtype=pl.String).new_from_index(0, n_items * n_raters)
    table = empty.scatter(pl.Series(source.item * n_raters + source.rater), source.answers)
    answers = [table.gather_every(n_raters, column).alias(name) for column, name in enumerate(columns)]
    return source.items.hstack(answers), describe_losses(frame, source, form.fields, "a wide table")


def _row_id(frame: pl.DataFrame, rows: TableSide, column: str | None) -> str:
    first = column or frame.columns[0]
    if column is not None:
        require_column(column, frame.columns, rows.name)
    elif not rows.usual_id.fullmatch(first):
        raise InvalidInput(
            f"The first column, {first!r}, is not named like ids of {rows.name}s. Name theirs with --{rows.name}; "
            f"the columns are {format_list(frame.columns)}."
        )
    return first


def _read_by_content(frame: pl.DataFrame, item: str | None, question: str) -> Wide:
    """Return the long table, with rater columns detected by content."""
    columns = _find_rater_columns(frame, item)
    row_id = _row_id(frame, ITEMS, item)
    filled = [name for name in frame.columns if name in columns or frame[name].null_count() < frame.height]
    left_out = [name for name in frame.columns if name not in filled]
    long, notes = _melt(frame.select(filled), ITEMS, row_id, RATERS, columns, question)
    sentence = f"{len(columns)} columns are read as raters: {format_list(list(columns), 3)}."
    note = Advice(f"{sentence} Use --rater-columns to override that.", site=sentence)
    empty = f"Columns without a value are left out: {format_list(left_out)}."
    return long, (note, *notes, *((empty,) * bool(left_out)))


def _find_rater_columns(frame: pl.DataFrame, item: str | None) -> dict[str, dict[str, str]]:
    """Detect the rater columns, and return each with its id."""
    row_id = frame.columns[0] if item is None else _row_id(frame, ITEMS, item)
    candidates = [name for name in frame.columns if name != row_id and not names.is_item_attribute(name)]
    columns = orientation.answer_columns(frame.select(candidates))
    if not columns:
        reason = (
            "No columns share a small set of answers, so none is read as a rater; they are "
            f"{format_list(frame.columns)}."
        )
        remedy = (
            "If the table has one rating per row, name its columns with --item, --rater and --answer, or give --from "
            "long. If it has one column per rater, or per item, give their names: --rater-columns "
            "'label_{rater_id}', --item-columns 'item_{item_id}'."
        )
        raise InvalidInput(Advice(f"{reason} {remedy}", site=f"{reason} {orientation.ONE_RATING_PER_ROW}"))
    orientation.check_rows_are_items(frame, row_id, columns)
    values = {name: RATERS.template(DEFAULT_TEMPLATE).values(name) for name in columns}
    return {name: values[name] or {} if all(values.values()) else {names.RATER_ID: name} for name in columns}


def _match_columns(frame: pl.DataFrame, rows: TableSide, row_id: str, form: Template) -> dict[str, dict[str, str]]:
    """Return the columns that match a template, with the values in each name."""
    candidates = [name for name in frame.columns if name != row_id and not rows.is_attribute(name)]
    values = {name: form.values(name) for name in candidates}
    columns = {name: match for name, match in values.items() if match is not None}
    if not columns:
        raise NotFound(f"No column is named like {form.text!r}. The columns are {format_list(frame.columns)}.")
    return columns


def _melt(
    frame: pl.DataFrame,
    rows: TableSide,
    row_id: str,
    columns: TableSide,
    cells_of: Mapping[str, Mapping[str, str]],
    question: str,
) -> Wide:
    ids = cells.read_ids(frame[row_id], raise_failed_check, trim=False)
    _check_unique(ids, rows.name, "rows")
    heads = pl.DataFrame(list(cells_of.values()), orient="row")
    heads = heads.select(columns.id, pl.exclude(columns.id))
    _check_unique(heads[columns.id], columns.name, "columns")
    attributes = frame.drop(row_id, *cells_of)
    clash = next((name for name in attributes.columns if rows.attribute(name) == rows.id), None)
    if clash is not None:
        raise InvalidInput(
            f"Column {clash!r} would be named {rows.id!r}, as the ids in {row_id!r} are. Rename or drop it, or name it "
            f"with --{rows.name} if it has the ids."
        )
    row_table = rename_columns(attributes, {name: rows.attribute(name) for name in attributes.columns})
    row_table = row_table.insert_column(0, ids.alias(rows.id))
    cell = pl.int_range(frame.height * heads.height, eager=True)
    sides = {rows.id: row_table[cell // heads.height], columns.id: heads[cell % heads.height]}
    answers = frame.select(pl.concat_list(cells.to_text(frame[name]) for name in cells_of).explode().alias(question))
    table = sides[names.ITEM_ID].hstack(sides[names.RATER_ID]).hstack(answers).filter(pl.col(question).is_not_null())
    if table.is_empty():
        raise InvalidInput(f"There are no answers in {format_list(list(cells_of))}.")
    return table, tuple(
        f"{count_noun(count, side.name)} without a single answer left out."
        for side, all_ids in ((rows, ids), (columns, heads[columns.id]))
        if (count := len(all_ids) - table[side.id].n_unique())
    )


def _check_unique(ids: pl.Series, noun: str, where: str) -> None:
    twice = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise InvalidInput(
            f"{noun.capitalize()} {format_value(twice[0])} is in {(ids == twice[0]).sum()} {where}. Each {noun} has "
            f"one; merge them, or name another column of ids."
        )


def _column_name(form: Template, values: Mapping[str, str | None]) -> str:
    rater = format_value(values[names.RATER_ID])
    filled = {field: value for field, value in values.items() if value is not None}
    if len(filled) < len(values):
        missing = format_list([field for field in values if field not in filled])
        raise InvalidInput(f"Rater {rater} has no {missing}, which {form.text!r} puts into the name of its column.")
    name = form.name(filled)
    clashes = name == names.ITEM_ID or names.is_item_attribute(name)
    if clashes or len(name) > limits.MAX_NAME_LENGTH or form.values(name) != filled:
        raise InvalidInput(
            f"Rater {rater} would get the column {format_value(name)}, which cannot be read back. Name the "
            "columns in another way, with --rater-columns."
        )
    return name
