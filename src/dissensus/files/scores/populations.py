"""Reader of labels of populations as scores: the shares of unsafe answers by poststratification."""

import os
from collections.abc import Sequence

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.raw.table_reader import name_source, read_frame
from dissensus.schema.hints import format_list
from dissensus.schema.item_scores import ItemScores, build_item_scores
from dissensus.schema.ratings.columns import ITEM_ID

POPULATION = "population"


def read_population_labels(path: str | os.PathLike[str], unsafe: Sequence[str]) -> ItemScores:
    """Read the labels that `aggregate --rule poststratified` writes as CSV, each population as a model."""
    frame = read_frame(path)
    with name_source(path):
        missing = [name for name in (ITEM_ID, POPULATION, *unsafe) if name not in frame.columns]
        if missing:
            raise InvalidInput(
                f"There is no column {missing[0]!r}. Labels of populations have {ITEM_ID}, {POPULATION} and the share "
                "of each answer, as aggregate --rule poststratified --format csv writes them; these columns are "
                f"{format_list(frame.columns)}."
            )
        shares = frame.with_columns(share=pl.sum_horizontal(pl.col(name).cast(pl.Float64) for name in unsafe))
        return build_item_scores(
            shares.pivot(on=POPULATION, index=ITEM_ID, values="share", aggregate_function="first", maintain_order=True)
        )
