"""Reader of labels of populations as scores: the shares of unsafe answers by poststratification."""

import os
from collections.abc import Sequence
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.conversations import to_text_column
from dissensus.files.raw.table_reader import name_source, to_plain_frame
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.item_scores import ItemScores, build_item_scores, check_model_names
from dissensus.schema.ratings.columns import ITEM_ID

POPULATION: Final = "population"
ROUNDING: Final = 1e-9


def read_population_labels(path: str | os.PathLike[str], unsafe: Sequence[str]) -> ItemScores:
    """Read the labels that `aggregate --rule poststratified` writes as CSV, each population as a model."""
    frame = to_plain_frame(path)
    with name_source(path):
        missing = [name for name in (ITEM_ID, POPULATION, *unsafe) if name not in frame.columns]
        if missing:
            raise InvalidInput(
                f"There is no column {missing[0]!r}. Labels of populations have {ITEM_ID}, {POPULATION} and the share "
                "of each answer, as aggregate --rule poststratified --format csv writes them; these columns are "
                f"{format_list(frame.columns)}."
            )
        check_model_names(frame[POPULATION].unique(maintain_order=True).to_list())
        keys = frame.select(ITEM_ID, POPULATION)
        if keys.is_duplicated().any():
            item, population = keys.filter(keys.is_duplicated()).row(0)
            raise InvalidInput(
                f"Item {format_value(item)} has several rows of the population {format_value(population)}. Give one "
                "for each item and population."
            )
        numbers = [to_text_column(frame[name]).cast(pl.Float64, strict=False) for name in unsafe]
        for number in numbers:
            if len(unknown := number.is_null().arg_true()):
                row = int(unknown[0])
                share = "" if frame[number.name][row] is None else frame[number.name][row]
                raise InvalidInput(
                    f"Item {format_value(frame[ITEM_ID][row])} has the share {format_value(share)} "
                    f"of {format_value(number.name)}; give a number from 0 to 1 in every row."
                )
        total = sum(numbers, start=pl.zeros(frame.height, eager=True))
        # A sum of shares that are rounded may exceed 1 by a rounding error.
        total = pl.select(pl.when(total.is_between(1, 1 + ROUNDING)).then(1.0).otherwise(total)).to_series()
        shares = frame.select(ITEM_ID, POPULATION, share=total)
        return build_item_scores(
            shares.pivot(on=POPULATION, index=ITEM_ID, values="share", aggregate_function="first", maintain_order=True)
        )
