"""Diversity of answers: what the attributes of a rater say about their answers.

A cell has l different answers to an item (distinct l-diversity, Machanavajjhala et al. 2007,
https://doi.org/10.1145/1217299.1217302). With a single one, an outsider who knows the attributes of a rater knows the
answer too.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

CELL: Final = "cell"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDiversity:
    """Answers of cells to items."""

    n_pairs: int  # of a cell and an item that it rated
    n_below: int  # with fewer than l different answers


def measure_diversity(answers: pl.DataFrame, least: int) -> AnswerDiversity:
    """Count the cells that give fewer than `least` different answers to an item, and all cells and items.

    Examples
    --------
    >>> answers = pl.DataFrame({"item_id": ["1", "1", "2", "2"], "cell": [0, 0, 0, 0], "answer": [1, 0, 1, 1]})
    >>> measure_diversity(answers, 2)
    AnswerDiversity(n_pairs=2, n_below=1)
    """
    pairs = answers.group_by("item_id", CELL).agg(pl.col("answer").n_unique().alias("n"))
    return AnswerDiversity(n_pairs=pairs.height, n_below=int((pairs["n"] < least).sum()))
