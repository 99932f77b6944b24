"""Publication: the table of a release, made from its source by the plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.release.cells import blank_small_cells, mark_small_cells, widen_groups
from dissensus.pipeline.release.columns import (
    FLAGS,
    PLAIN,
    ROW_NUMBER,
    list_answer_columns,
    list_quasi_identifiers,
    select_columns,
)
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.pipeline.release.times import coarsen_times
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.image import IMAGE
from dissensus.schema.release.plan import ReleasePlan
from dissensus.text.personal_data import find_personal_data


@dataclass(frozen=True, slots=True, kw_only=True)
class TextScreen:
    """Free texts of a release, and what in them looks like personal data."""

    columns: tuple[str, ...]
    n_texts: int
    spans: pl.DataFrame  # `column`, `item_id`, `kind`, `n`
    redacted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A table as it is published, with what was done to it."""

    table: pl.DataFrame
    axes: tuple[str, ...]  # attributes of raters that are published
    quasi_identifiers: tuple[str, ...]  # axes, flags and checks: all that is counted towards k
    raters: pl.DataFrame  # one row per published rater
    unanswered: int  # raters without an answer, who are left out
    left_out: frozenset[str]  # raters of small cells, by the ids of the source
    blanked: Mapping[str, int]  # raters who lost a value, by axis
    screen: TextScreen


def publish(source: ReleaseSource, plan: ReleasePlan, pseudonyms: Pseudonyms) -> Publication:
    """Return the table that a plan publishes; the same source, plan and key give the same table."""
    selected = select_columns(source, plan)
    answers = tuple(name for name in list_answer_columns(source) if name in selected.columns)
    # An author is in the release by the conversation, with or without an answer.
    table = selected if source.by_authors else _drop_unanswered(selected, answers)
    axes = tuple(name for name in table.columns if names.is_rater_attribute(name))
    quasi_identifiers = list_quasi_identifiers(table.columns)
    _check_axes(plan, axes, quasi_identifiers)
    raters = _list_raters(table, quasi_identifiers)
    _check_groups(plan, raters)
    widened = widen_groups(raters, plan.anonymity.groups)
    protected = _protect(widened, plan, quasi_identifiers)
    left_out = frozenset(raters.join(protected, on=names.RATER_ID, how="anti")[names.RATER_ID].to_list())
    released = table.drop(quasi_identifiers).join(protected, on=names.RATER_ID, maintain_order="left")
    released, screen = _screen_texts(coarsen_times(released.select(table.columns), plan), answers, plan)
    ids = {rater: pseudonyms.rater_id(rater) for rater in raters[names.RATER_ID]}
    pseudonymous = pl.col(names.RATER_ID).replace_strict(ids, return_dtype=pl.String)
    return Publication(
        table=_order(released.with_columns(pseudonymous)),
        axes=axes,
        quasi_identifiers=quasi_identifiers,
        raters=protected.with_columns(pseudonymous).sort(names.RATER_ID),
        unanswered=selected[names.RATER_ID].n_unique() - raters.height,
        left_out=left_out,
        blanked=_count_blanked(widened, protected, quasi_identifiers),
        screen=screen,
    )


def rename_raters(publication: Publication, ids: Mapping[str, str]) -> Publication:
    """Return a publication under other ids of raters, in their order."""
    renamed = pl.col(names.RATER_ID).replace_strict(ids, return_dtype=pl.String)
    return replace(
        publication,
        table=_order(publication.table.with_columns(renamed)),
        raters=publication.raters.with_columns(renamed).sort(names.RATER_ID),
    )


def _drop_unanswered(table: pl.DataFrame, answers: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows of raters with an answer: others would count towards k, and hide nobody."""
    answered = table.filter(pl.any_horizontal(pl.col(answers).is_not_null()))
    return table.join(answered.select(names.RATER_ID).unique(), on=names.RATER_ID, how="semi", maintain_order="left")


def _list_raters(table: pl.DataFrame, quasi_identifiers: tuple[str, ...]) -> pl.DataFrame:
    """Return one row per rater, with the value that any of their rows has; raise for two values."""
    raters = table.group_by(names.RATER_ID, maintain_order=True)
    counts = raters.agg(pl.col(name).drop_nulls().n_unique() for name in quasi_identifiers)
    for name in quasi_identifiers:
        several = counts.filter(pl.col(name) > 1)[names.RATER_ID]
        if len(several):
            values = table.filter(pl.col(names.RATER_ID) == several[0])[name].drop_nulls().unique().sort()
            raise InvalidInput(
                f"Rater {format_value(several[0])} has several values of {name}: {format_list(values.to_list())}. "
                "Correct them, or drop the column."
            )
    return raters.agg(pl.col(name).drop_nulls().first() for name in quasi_identifiers)


def _check_axes(plan: ReleasePlan, axes: tuple[str, ...], quasi_identifiers: tuple[str, ...]) -> None:
    may_be_blank = tuple(name for name in quasi_identifiers if name not in FLAGS)
    rule = plan.anonymity
    for key, names_in_plan, allowed in (
        ("groups", rule.groups, axes),
        ("blank_first", rule.blank_first, may_be_blank),
    ):
        for axis in names_in_plan:
            if axis not in allowed:
                raise InvalidInput(
                    f"anonymity.{key}: {format_value(axis)} is not a published attribute of raters."
                    f"{suggest(axis, allowed)} They are {format_list(allowed) or 'none'}."
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
        # Readers need the flag of every rater.
        order = (*rule.blank_first, *(axis for axis in reversed(axes) if axis not in (*rule.blank_first, *FLAGS)))
        return blank_small_cells(raters, order, rule.k, fixed=[axis for axis in axes if axis in FLAGS])
    if rule.small_cells == "leave out":
        return raters.filter(~mark_small_cells(raters, axes, rule.k))
    return raters


def _count_blanked(before: pl.DataFrame, after: pl.DataFrame, axes: tuple[str, ...]) -> dict[str, int]:
    """Return the raters who lost a value, by axis."""
    present = before.join(after, on=names.RATER_ID, how="semi")
    counts = {axis: after[axis].null_count() - present[axis].null_count() for axis in axes}
    return {axis: n for axis, n in counts.items() if n}


def _screen_texts(table: pl.DataFrame, answers: tuple[str, ...], plan: ReleasePlan) -> tuple[pl.DataFrame, TextScreen]:
    """Return the table with personal data redacted, and what was found in its texts."""
    columns = tuple(
        name
        for name, dtype in table.schema.items()
        if dtype == pl.String and name not in {*PLAIN, *answers} and not names.is_rater_attribute(name)
    )
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
                replacements[text] = redact(text)
        if plan.redact and replacements:
            table = table.with_columns(pl.col(name).replace(replacements))
    schema = {**dict.fromkeys(("column", "item_id", "kind"), pl.String), "n": pl.Int64}
    rows = pl.DataFrame(spans_by_text, schema=schema, orient="row")
    return table, TextScreen(columns=columns, n_texts=n_texts, spans=rows, redacted=plan.redact)


def redact(text: str) -> str:
    """Return a text with the kind of each span in its place.

    Examples
    --------
    >>> redact("Write to ann@example.org!")
    'Write to [email address]!'
    """
    for span in reversed(find_personal_data(text)):
        text = f"{text[: span.start]}[{span.kind.replace('_', ' ')}]{text[span.end :]}"
    return text


def list_images(table: pl.DataFrame) -> tuple[str, ...]:
    """Return the names of the images that items of a table show."""
    return tuple(table[IMAGE].drop_nulls().unique().sort()) if IMAGE in table.columns else ()


def _order(table: pl.DataFrame) -> pl.DataFrame:
    """Return rows by item and pseudonym, so that their order tells nothing, with new row numbers."""
    repeat = [names.REPEAT] if names.REPEAT in table.columns else []
    table = table.sort(names.ITEM_ID, names.RATER_ID, *repeat)
    if ROW_NUMBER in table.columns:
        table = table.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(ROW_NUMBER))
    return table
