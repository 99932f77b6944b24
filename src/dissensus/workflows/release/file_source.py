"""Source of a release from plain files."""

from pathlib import Path
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.catalogue import identify_dataset, load_source_notice
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.release.publication import redact
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.rater_kind import drop_models
from dissensus.schema.records.source_notice import SOURCE
from dissensus.schema.release.plan import ReleasePlan

AGREED: Final = frozenset({"yes", "true", "1"})
REFUSED: Final = frozenset({"no", "false", "0", ""})


def read_source(plan: ReleasePlan, folder: Path) -> ReleaseSource:
    """Read the files of a plan, whose paths are relative to its folder."""
    path = folder / str(plan.ratings)
    table = read_frame(path)
    for name in (names.ITEM_ID, names.RATER_ID):
        if name not in table.columns:
            raise InvalidInput(
                f"{path} has no column {name}. Columns are {format_list(table.columns, 60)}. `dissensus convert` "
                "writes ratings of other kinds as such a table."
            )
    if n := drop_models(table)[1]:
        raise InvalidInput(
            f"{path} has {n:,} ratings by raters of kind model, and a release is of people. Leave these rows out."
        )
    # As readers of ratings do: else a rater with a blank behind the id would have no consent.
    table = table.with_columns(pl.col(names.ITEM_ID, names.RATER_ID).cast(pl.String).str.strip_chars())
    if plan.items is not None:
        table = _join_items(table, folder / plan.items)
    consented = None if plan.consents is None else _read_consents(folder / plan.consents, plan.purpose)
    return ReleaseSource(
        table=table,
        consented=consented,
        purposes=(plan.purpose,),
        notices=tuple(map(load_source_notice, _list_datasets(table, plan, folder))),
    )


def _list_datasets(table: pl.DataFrame, plan: ReleasePlan, folder: Path) -> list[str]:
    """Return the datasets that items are from: those that the table names, and those of which the files are."""
    named = table[SOURCE].drop_nulls().cast(pl.String).unique() if SOURCE in table.columns else ()
    files = (identify_dataset(folder / file) for file in (plan.ratings, plan.items) if file is not None)
    return sorted({*map(redact, named), *filter(None, files)})


def _join_items(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Return the table with the attributes that only a table of items has."""
    items = read_frame(path)
    if names.ITEM_ID not in items.columns:
        raise InvalidInput(f"{path} has no column {names.ITEM_ID}. Columns are {format_list(items.columns, 60)}.")
    items = items.with_columns(pl.col(names.ITEM_ID).cast(pl.String).str.strip_chars())
    duplicates = items.filter(items[names.ITEM_ID].is_duplicated())[names.ITEM_ID]
    if len(duplicates):
        raise InvalidInput(f"{path} has item {format_value(duplicates[0])} twice. Leave each item once.")
    if not items[names.ITEM_ID].is_in(table[names.ITEM_ID].to_list()).any():
        raise InvalidInput(
            f"{path} has none of the rated items, such as {format_value(table[names.ITEM_ID].first())}. Name the table "
            "of the items of these ratings: items"
        )
    new = [name for name in items.columns if name not in table.columns]
    return table.join(items.select(names.ITEM_ID, *new), on=names.ITEM_ID, how="left", maintain_order="left")


def _read_consents(path: Path, purpose: str) -> frozenset[str]:
    """Return the raters who agreed to a purpose; of several rows of a rater, one refusal decides."""
    consents = read_frame(path)
    for name in (names.RATER_ID, purpose):
        if name not in consents.columns:
            raise InvalidInput(
                f"{path} has no column {format_value(name)}. It has one row per rater, with {names.RATER_ID} and a "
                f"column of yes or no for each purpose; columns are {format_list(consents.columns, 60)}."
            )
    answers = consents[purpose].cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    unknown = answers.filter(~answers.is_in([*AGREED, *REFUSED]))
    if len(unknown):
        raise InvalidInput(f"{path}: {format_value(unknown[0])} is not a consent to {purpose}. Write yes or no.")
    raters = consents[names.RATER_ID].cast(pl.String).str.strip_chars()
    refused = set(raters.filter(answers.is_in([*REFUSED])))
    return frozenset(set(raters) - refused)
