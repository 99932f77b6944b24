"""Publication: the table of a release, made from its source by the plan."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.release.cells import blank_small_cells, mark_small_cells, widen_groups
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings import columns as names
from dissensus.schema.release.plan import ReleasePlan, Timestamps
from dissensus.text.personal_data import find_personal_data

ROW_NUMBER: Final = "id"
DURATIONS: Final = (names.ANSWER_TIME, names.OPEN_TIME, names.CORRECTION_TIME)
MOMENTS: Final = ("answer_timestamp", names.CORRECTED_AT)
PLAIN: Final = (
    *(ROW_NUMBER, names.ITEM_ID, names.RATER_ID, names.FLAG, names.REPEAT, names.CHECKS_PASSED, names.CHECKS_FAILED),
    *(*DURATIONS, *MOMENTS, "shown_first"),
)
"""Columns that are neither answers, attributes nor texts."""
_UNITS: Final[Mapping[Timestamps, str]] = {"month": "1mo", "day": "1d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScreen:
    """Free texts of a release, and what in them looks like personal data."""

    n_texts: int
    spans: pl.DataFrame  # `column`, `item_id`, `kind`, `n`
    redacted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A table as it is published, with what was done to it."""

    table: pl.DataFrame
    axes: tuple[str, ...]  # attributes of raters that are published
    raters: pl.DataFrame  # one row per published rater
    left_out: frozenset[str]  # raters of small cells, by the ids of the source
    blanked: Mapping[str, int]  # raters who lost a value, by axis
    screen: TextScreen


def publish(source: ReleaseSource, plan: ReleasePlan, pseudonyms: Pseudonyms) -> Publication:
    """Return the table that a plan publishes; the same source, plan and key give the same table."""
    table = select_columns(source, plan)
    axes = tuple(name for name in table.columns if names.is_rater_attribute(name))
    _check_axes(plan, axes)
    raters = table.select(names.RATER_ID, *axes).unique(maintain_order=True)
    _check_groups(plan, raters)
    widened = widen_groups(raters, plan.anonymity.groups)
    protected = _protect(widened, plan, axes)
    left_out = frozenset(raters.join(protected, on=names.RATER_ID, how="anti")[names.RATER_ID].to_list())
    released = table.drop(axes).join(protected, on=names.RATER_ID, maintain_order="left").select(table.columns)
    released, screen = _screen_texts(_coarsen_times(released, plan), source, plan)
    ids = {rater: pseudonyms.rater_id(rater) for rater in raters[names.RATER_ID]}
    return Publication(
        table=_order(released.with_columns(pl.col(names.RATER_ID).replace_strict(ids, return_dtype=pl.String))),
        axes=axes,
        raters=protected.with_columns(pl.col(names.RATER_ID).replace_strict(ids, return_dtype=pl.String)).sort(
            names.RATER_ID
        ),
        left_out=left_out,
        blanked=_count_blanked(widened, protected, axes),
        screen=screen,
    )


def select_columns(source: ReleaseSource, plan: ReleasePlan) -> pl.DataFrame:
    """Return the columns of a source that a plan publishes, under the ids of the source."""
    table = source.table
    for name in plan.drop:
        if name not in table.columns:
            raise InvalidInput(
                f"drop: There is no column {format_value(name)}.{suggest(name, table.columns)} Columns are "
                f"{format_list(table.columns, 60)}."
            )
        if name in (names.RATER_ID, names.ITEM_ID):
            raise InvalidInput(f"drop: {name} tells ratings apart, and is needed. Ids of raters are replaced anyway.")
    texts = {name for name in table.columns if name in source.texts or name.endswith(names.OWN_WORDS)}
    hidden = {*plan.drop, *(() if plan.with_text else texts), *list_unknown_columns(source, plan)}
    table = table.drop(name for name in table.columns if name in hidden)
    # Blanks around a value would make two raters, or two groups, of one.
    plain = (name for name in table.columns if names.is_rater_attribute(name))
    return table.with_columns(
        pl.col(name).cast(pl.String).str.strip_chars().replace("", None)
        for name in (names.ITEM_ID, names.RATER_ID, *plain)
    )


def list_unknown_columns(source: ReleaseSource, plan: ReleasePlan) -> list[str]:
    """Return the columns of which nothing is known, so that they may hold anything."""
    known = {*PLAIN, *source.questions, *source.texts, *plan.drop, names.REMOVED}
    return [name for name in source.table.columns if name not in known and not _is_known(name)]


def _is_known(column: str) -> bool:
    return (
        names.is_question(column)
        or names.is_rater_attribute(column)
        or names.is_item_attribute(column)
        or column in (names.FLAG, names.TEXT)
        or column.endswith(names.OWN_WORDS)
    )


def _check_axes(plan: ReleasePlan, axes: tuple[str, ...]) -> None:
    for key, chosen in (("groups", plan.anonymity.groups), ("blank_first", plan.anonymity.blank_first)):
        for axis in chosen:
            if axis not in axes:
                raise InvalidInput(
                    f"anonymity.{key}: {format_value(axis)} is not a published attribute of raters."
                    f"{suggest(axis, axes)} They are {format_list(axes) or 'none'}."
                )


def _check_groups(plan: ReleasePlan, raters: pl.DataFrame) -> None:
    """Raise for a wider group of a value that nobody has: it may be a slip of the pen."""
    for axis, groups in plan.anonymity.groups.items():
        values = raters[axis].drop_nulls().unique().sort().to_list()
        for value in (value for members in groups.values() for value in members):
            if value not in values:
                raise InvalidInput(
                    f"anonymity.groups.{axis}: No rater has {format_value(value)}.{suggest(value, values)} Values are "
                    f"{format_list(values, 60)}."
                )


def _protect(raters: pl.DataFrame, plan: ReleasePlan, axes: tuple[str, ...]) -> pl.DataFrame:
    """Return the raters as they are published: all of them, with blanks, or without those of small cells."""
    rule = plan.anonymity
    if rule.small_cells == "blank":
        order = (*rule.blank_first, *(axis for axis in reversed(axes) if axis not in rule.blank_first))
        return blank_small_cells(raters, order, rule.k)
    if rule.small_cells == "leave out":
        return raters.filter(~mark_small_cells(raters, axes, rule.k))
    return raters


def _count_blanked(before: pl.DataFrame, after: pl.DataFrame, axes: tuple[str, ...]) -> dict[str, int]:
    """Return the raters who lost a value, by axis."""
    present = before.join(after, on=names.RATER_ID, how="semi")
    counts = {axis: after[axis].null_count() - present[axis].null_count() for axis in axes}
    return {axis: n for axis, n in counts.items() if n}


def _coarsen_times(table: pl.DataFrame, plan: ReleasePlan) -> pl.DataFrame:
    """Return the table with rounded durations, and moments of the plan's precision."""
    step = plan.round_times_ms
    durations = [
        ((pl.col(name).cast(pl.Float64) / step).round() * step).cast(pl.Int64).alias(name)
        for name in DURATIONS
        if name in table.columns
    ]
    moments = [_coarsen_moment(table[name], plan.timestamps) for name in MOMENTS if name in table.columns]
    return table.with_columns(*durations, *moments)


def _coarsen_moment(column: pl.Series, precision: Timestamps) -> pl.Series:
    """Return the first moment of the month or day of each moment, in its own format; nothing for "none"."""
    if precision == "none":
        return pl.Series(column.name, [None] * len(column), column.dtype)
    unit = _UNITS[precision]
    seconds = column.cast(pl.Int64, strict=False)
    if seconds.null_count() == column.null_count():
        start = pl.from_epoch(seconds, time_unit="s").dt.truncate(unit)
        return start.dt.epoch("s").cast(column.dtype).alias(column.name)
    starts = [None if text is None else _start_of(text, column.name, precision) for text in column]
    return pl.Series(column.name, starts, pl.String)


def _start_of(text: str, column: str, precision: Timestamps) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{column}: {format_value(text)} is not a time in ISO 8601 or Unix seconds. Correct it, or drop the column."
        ) from None
    day = moment.astimezone(UTC) if moment.tzinfo else moment
    return f"{day:%Y-%m}" if precision == "month" else f"{day:%Y-%m-%d}"


def _screen_texts(table: pl.DataFrame, source: ReleaseSource, plan: ReleasePlan) -> tuple[pl.DataFrame, TextScreen]:
    """Return the table with personal data redacted, and what was found in its texts."""
    questions = {*source.questions, *filter(names.is_question, table.columns)} - source.texts
    columns = [
        name
        for name, dtype in table.schema.items()
        if dtype == pl.String and name not in {*PLAIN, *questions} and not names.is_rater_attribute(name)
    ]
    spans_by_text: list[tuple[str, str, str, int]] = []
    n_texts = 0
    for name in columns:
        texts = table.select(names.ITEM_ID, name).drop_nulls().unique(maintain_order=True)
        replacements = {}
        for item_id, text in texts.sort(names.ITEM_ID, name).iter_rows():
            n_texts += 1
            spans = find_personal_data(text)
            for kind in dict.fromkeys(span.kind for span in spans):
                spans_by_text.append((name, item_id, kind, sum(span.kind == kind for span in spans)))
            if spans:
                replacements[text] = _redact(text)
        if plan.redact and replacements:
            table = table.with_columns(pl.col(name).replace(replacements))
    schema = {**dict.fromkeys(("column", "item_id", "kind"), pl.String), "n": pl.Int64}
    rows = pl.DataFrame(spans_by_text, schema=schema, orient="row")
    return table, TextScreen(n_texts=n_texts, spans=rows, redacted=plan.redact)


def _redact(text: str) -> str:
    """Return a text with the kind of each span in its place.

    Examples
    --------
    >>> _redact("Write to ann@example.org!")
    'Write to [email address]!'
    """
    for span in reversed(find_personal_data(text)):
        text = f"{text[: span.start]}[{span.kind.replace('_', ' ')}]{text[span.end :]}"
    return text


def _order(table: pl.DataFrame) -> pl.DataFrame:
    """Return rows by item and pseudonym, so that their order tells nothing, with new row numbers."""
    repeat = [names.REPEAT] if names.REPEAT in table.columns else []
    table = table.sort(names.ITEM_ID, names.RATER_ID, *repeat)
    if ROW_NUMBER in table.columns:
        table = table.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(ROW_NUMBER))
    return table
