"""Reader of ratings in a folder or glob of Parquet files, in bounded memory."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.ratings.partitions.coder import RatingsCoder
from dissensus.files.ratings.partitions.distinct_values import DistinctValues, leave_out_items, read_distinct_values
from dissensus.files.ratings.partitions.executor_blocks import code_on_cluster
from dissensus.files.ratings.partitions.folder import find_folder
from dissensus.files.ratings.partitions.rater_times import split_times
from dissensus.files.raw.table_reader import name_source, to_plain_frame
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.pipeline.engine.spark import connect_spark
from dissensus.pipeline.engine.stream import MapParts, map_ahead
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cleaning import Duplicates, check_rules
from dissensus.schema.ratings.column_choice import AUTO, choose_columns
from dissensus.schema.ratings.rater_kind import RaterKind, select_rater_kind
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import BlockedDesign

EngineName = Literal["local", "spark"]


def read_partitions(  # noqa: PLR0913 - options are keyword-only
    source: str | os.PathLike[str],
    *,
    raters: Any = None,
    item: str = names.ITEM_ID,
    rater: str = names.RATER_ID,
    answer: str | None = None,
    question: str | None = None,
    rater_attributes: Sequence[str] = (),
    categories: Sequence[str] | None = None,
    missing: Sequence[str] = (),
    duplicates: Duplicates = "refuse",
    bins: Mapping[str, Sequence[float]] | None = None,
    where: Sequence[tuple[str, str]] = (),
    exclude_flagged: bool = False,
    rater_kind: RaterKind = "person",
    items_as_text: bool = True,
    with_items: bool = False,
    with_times: bool = False,
    engine: EngineName = "local",
) -> PartitionedRatings:
    """Read and check one question of a folder or glob of Parquet files.

    Only the raters are held in memory. Coded ratings lie in a temporary folder (`TMPDIR`), with about six bytes each,
    until the result is deleted.

    Parameters
    ----------
    source
        A folder, whose files ``*.parquet`` are read at any depth, or a glob. Names of folders such as
        ``rater_locale=IN`` are columns.
    raters, item, rater, answer, rater_attributes, categories, missing, duplicates, bins, rater_kind
        As for `read_ratings`.
    question
        Column with the answers, if there are several.
    where
        Attributes of raters and values; only ratings of raters with all of them are read.
    exclude_flagged
        Whether to leave out flagged raters.
    items_as_text
        Whether to order items whose ids are whole numbers as text, as `read_ratings` does. Resamples of items and
        permutations follow the order of the items; without both, the order of numbers gives the same results and may
        save a sort.
    with_items, with_times
        Whether to keep the ids of the items, for labels, and the times of the ratings, for evidence on raters.
    engine
        "local", or "spark" to read and to count on the executors of Spark, with the same results to the last bit.

    Raises
    ------
    DissensusError
        No file, files of different columns or types, damage, or what `read_ratings` refuses; the message names the file
        and the row. PySpark or Java is missing.

    Notes
    -----
    Rows may lie in any order. If they are not sorted by item, they are sorted through temporary Parquet files.
    Attributes of items are not read.
    """
    folder = find_folder(Path(source))
    cluster = connect_spark() if engine == "spark" else None
    run: MapParts = map_ahead if cluster is None else cluster.map
    if cluster is not None:
        folder = replace(folder, base=Path.cwd())  # Executors begin in folders of their own
    rules = check_rules(missing, False, duplicates)
    if AUTO in rater_attributes and AUTO not in folder.schema:
        raise InvalidInput("--rater-attribute auto is not available for a folder of Parquet files. Name the columns.")
    with folder.name_damage(), name_source(source):
        columns = list(folder.schema)
        questions = None if question is None else [question]
        choice = choose_columns(
            columns, item=item, rater=rater, questions=questions, answer=answer, rater_attributes=rater_attributes
        )
        _refuse_items(where, [choice.item, names.ITEM_ID, *choice.item_attributes])
        time = choice.time if with_times else None
        choice = leave_out_items(choice)
        distinct = read_distinct_values(folder, choice, categories, rules, run)
        pool = _select_raters(
            distinct, raters, rater, rules.missing, bins, where, rater_kind, exclude_flagged=exclude_flagged
        )
        final_codes = np.full(len(distinct.rater_ids), -1, np.int32)
        final_codes[distinct.rater_ids.search_sorted(pool.raters[names.RATER_ID]).to_numpy()] = np.arange(pool.n_raters)
        coder = RatingsCoder(folder, choice, distinct, duplicates, final_codes, items_as_text, with_items, time)
        n_categories = len(pool.scale(choice.questions[0]))
        blocks = coder.code(n_categories) if cluster is None else code_on_cluster(cluster, coder, n_categories)
    if not blocks.n_ratings:
        raise InvalidInput("No ratings are left.")
    if not blocks.loads.all():
        pool = pool.select_ratings(pl.Series(blocks.drop_idle_raters()))
    design = BlockedDesign(
        engine=blocks.engine(),
        n_items=blocks.n_items,
        n_raters=blocks.n_raters,
        n_categories=n_categories,
        n_ratings=blocks.n_ratings,
        most_ratings=blocks.most_ratings,
        loads=blocks.loads,
        answer_counts=blocks.answer_counts,
    )
    return PartitionedRatings(
        replace(pool, notes=(*pool.notes, *coder.notes(blocks.n_blank, blocks.n_dropped))),
        design,
        blocks.read_items if with_items else None,
        None if time is None else partial(split_times, blocks),
    )


def _refuse_items(where: Sequence[tuple[str, str]], columns: Sequence[str]) -> None:
    """Refuse a choice by attributes of items, which are not read."""
    for column, _ in where:
        if column in columns:
            raise InvalidInput(
                f"{column} is of items, and attributes of items are not read from folders. Choose by an attribute of "
                "raters, or write the files of the items that are wanted."
            )


def _select_raters(
    distinct: DistinctValues,
    raters: Any,
    rater: str,
    missing: Sequence[str],
    bins: Mapping[str, Sequence[float]] | None,
    where: Sequence[tuple[str, str]],
    rater_kind: RaterKind,
    *,
    exclude_flagged: bool,
) -> Ratings:
    """Return the raters to read, with attributes of a table and in intervals."""
    pool = distinct.pool
    if raters is not None:
        table = to_plain_frame(raters)
        with name_source(raters):
            column = rater if rater in table.columns else names.RATER_ID
            pool = pool.with_raters(table, rater=column, missing=missing)
    for axis, edges in (bins or {}).items():
        pool = pool.with_bins(axis, edges)
    pool = select_rater_kind(pool, rater_kind, distinct.loads)
    for column, value in where:
        pool = pool.where(column, value)
    return pool.exclude_flagged() if exclude_flagged else pool
