"""Small simulated campaigns and summaries of their answers."""

from dataclasses import replace
from typing import Any

import polars as pl

from dissensus.pipeline.simulate import (
    Careless,
    Pool,
    SimulatedEffects,
    SimulatedItems,
    SimulationDesign,
    cross_axes,
    preset,
)

ANSWERS = ("No", "Unsure", "Yes")
GENDERS = ["Man", "Woman"]
AGES = ["gen z", "millenial", "gen x+"]


def items(count: int) -> SimulatedItems:
    """Return settings of that many items like those of DICES-350."""
    return replace(preset("dices-350").items, count=count)


def small(**options: Any) -> SimulationDesign:
    """Return DICES-350 with 40 items and 4 careful raters in each cell of gender × age."""
    settings: dict[str, Any] = {
        "items": items(40),
        "pool": Pool(
            axes=("rater_gender", "rater_age"), cells=cross_axes({"rater_gender": GENDERS, "rater_age": AGES}, raters=4)
        ),
        "effects": SimulatedEffects(),
        "careless": Careless(),
    }
    return replace(preset("dices-350"), **(settings | options))


def shares(answers: pl.Series) -> list[float]:
    return [float((answers == answer).sum()) / len(answers) for answer in ANSWERS]


def worst_by_hand(frame: pl.DataFrame, questions: tuple[str, ...]) -> list[str]:
    """Apply the DICES rule row by row."""
    rows = frame.select(questions).rows()
    return ["Yes" if "Yes" in row else "Unsure" if "Unsure" in row else "No" for row in rows]
