"""Multilevel models of Homan et al. on DICES-350, as docs/generated/intersectional.md.

    DISSENSUS_DATA=FOLDER python reproduce/intersectional.py

Homan et al. (2023), arXiv 2306.11530: their seven models with their priors, shares by race and gender, and labels of
two populations. Nothing of a conversation is written.
"""

import os
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import polars as pl

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.model import ModelEffect, MultilevelModel, fit_model
from dissensus.pipeline.model.presets import PRESETS
from dissensus.pipeline.tables import format_short
from dissensus.schema.ratings.table import Ratings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reproduce.comparison import table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "intersectional.md"
BASE = {"race": "White", "gender": "Man"}
CROSSED = "Q_overall ~ race * gender + age + (1 | rater_id) + (1 | item_id)"
AXIS = "rater_race*rater_gender"
ASIAN_WOMEN = "Asian/Asian subcontinent × Woman"
# An assumption, not a census.
MARGINS = {
    "race": {
        "White": 62,
        "Black/African American": 12,
        "LatinX, Latino, Hispanic or Spanish Origin": 17,
        "Asian/Asian subcontinent": 6,
        "Multiracial": 3,
    },
    "gender": {"Man": 49, "Woman": 51},
    "age": {"gen x+": 52, "millenial": 27, "gen z": 21},
}
SHOWN = 10


def read(folder: Path) -> Ratings:
    """Return the ratings of the raters whom the authors kept."""
    path = folder / "dices-350"
    return read_ratings(path / "ratings.csv", items=path / "items.csv").exclude_flagged()


def populations(ratings: Ratings) -> dict[str, pl.DataFrame]:
    """Return a population with equal shares of all cells of race and gender, and one with assumed margins."""
    races, genders = (ratings.raters[f"rater_{name}"].unique().sort().to_list() for name in ("race", "gender"))
    ages = ratings.raters["rater_age"].value_counts()
    cells = [
        {"race": race, "gender": gender, "age": age, "count": float(count)}
        for race, gender in product(races, genders)
        for age, count in ages.iter_rows()
    ]
    margins = [
        {"column": column, "level": level, "count": count}
        for column, levels in MARGINS.items()
        for level, count in levels.items()
    ]
    return {"equal cells": pl.DataFrame(cells), "assumed margins": pl.DataFrame(margins)}


def page(folder: Path) -> str:
    """Return the whole page."""
    ratings = read(folder)
    crossed = fit_model(ratings, CROSSED, base=BASE, populations=populations(ratings))
    parts = (_models(ratings), _cells(crossed), _labels(crossed))
    return "\n".join(
        ["% Made by `reproduce/intersectional.py`; do not edit.", *(line for part in parts for line in part)]
    )


def _models(ratings: Ratings) -> Iterator[str]:
    models = {
        name: fit_model(ratings, preset=name, base=None if name == "AD-null" else BASE, priors="published", draws=0)
        for name in PRESETS
    }
    yield "\n### Models\n"
    yield from table(
        ("Model", "Ratings", "Parameters", "Log-likelihood", "Sd of raters", "Sd of items"),
        (
            (
                name,
                f"{model.n_ratings:,}",
                f"{model.n_parameters}",
                f"{model.log_likelihood:,.1f}",
                format_short(model.sd["rater_id"], 3),
                format_short(model.sd["item_id"], 3),
            )
            for name, model in models.items()
        ),
        right=range(1, 6),
    )
    n_effects = sum(len(model.effects) for model in models.values())
    shown = [(name, row) for name, model in models.items() for row in model.effects if _is_beyond(row)]
    yield (
        f"\nOf their {n_effects} effects {len(shown)} have an interval that excludes 0. First levels are White, Man, "
        "gen x+ and Benign; P is the probability of a direction, and of an effect beyond ±.05 and ±.30.\n"
    )
    yield from table(
        ("Model", "Effect", "Estimate", "95 % interval", "P(direction)", "P(>.05)", "P(>.30)"),
        ((name, *_describe_effect(row)) for name, row in shown),
        right=(2, 4, 5, 6),
    )
    asian = next(row for row in models["AD-intersectional"].effects if row.level == ASIAN_WOMEN)
    yield (
        "\nThe effect of Asian × Woman beyond those of race and gender in AD-intersectional is "
        f"{format_short(asian.estimate)} (95 % interval {_describe_interval(asian.ci_low, asian.ci_high)}).\n"
    )


def _is_beyond(row: ModelEffect) -> bool:
    return row.ci_low > 0 or row.ci_high < 0


def _describe_effect(row: ModelEffect) -> tuple[str, ...]:
    return (
        f"{row.term.replace('rater_', '').replace('_', ' ').replace(':', ' × ')} = {row.level}",
        format_short(row.estimate),
        _describe_interval(row.ci_low, row.ci_high),
        *map(
            format_short,
            (row.probability_of_direction, row.probability_beyond_small, row.probability_beyond_large),
            (3, 3, 3),
        ),
    )


def _describe_interval(low: float | None, high: float | None) -> str:
    return "–" if low is None else f"{format_short(low)} to {format_short(high)}"


def _cells(model: MultilevelModel) -> Iterator[str]:
    yield "### Race and gender\n"
    yield (
        f"Predicted shares by `{model.formula}`, without priors; differences are from the largest cell, and P(highest) "
        "is the probability that a cell has the largest share.\n"
    )
    rows = model.predictions.shares if model.predictions else ()
    yield from table(
        ("Cell", "Raters", "Yes", "95 % interval", "Difference", "95 % interval", "P(highest)"),
        (
            (
                row.group,
                f"{row.n_raters}",
                format_short(row.estimate, 3),
                _describe_interval(row.ci_low, row.ci_high),
                format_short(row.difference, 3),
                _describe_interval(row.difference_ci_low, row.difference_ci_high),
                format_short(row.probability_highest),
            )
            for row in rows
            if row.axis == AXIS and row.answer == "Yes"
        ),
        right=(1, 2, 4, 6),
    )
    yield ""


def _labels(model: MultilevelModel) -> Iterator[str]:
    predictions = model.predictions
    assert predictions is not None
    margins = "; ".join(
        f"{column}: {', '.join(f'{level} {share} %' for level, share in levels.items())}"
        for column, levels in MARGINS.items()
    )
    yield "### Two populations\n"
    yield (
        "One has equal shares of the cells of race and gender, with the ages of the raters. The other has these "
        f"margins, which are an assumption and no census: {margins}.\n"
    )
    shares = {row.group: row for row in predictions.shares if row.axis is None and row.answer == "Yes"}
    yield from table(
        ("Population", "Yes", "95 % interval"),
        (
            (name, format_short(row.estimate, 3), _describe_interval(row.ci_low, row.ci_high))
            for name, row in shares.items()
        ),
        right=(1,),
    )
    changed = predictions.changed
    yield (
        f"\n{len(changed)} of {model.n_items} items change sides between them"
        f"{f', the {SHOWN} most certain of which are' if len(changed) > SHOWN else ''}:\n"
    )
    yield from table(
        ("Item", *shares, "P(labels differ)"),
        (
            (item.item_id, *(item.labels[name] for name in shares), format_short(item.probability))
            for item in changed[:SHOWN]
        ),
        right=(len(shares) + 1,),
    )
    yield ""


if __name__ == "__main__":
    text = page(Path(os.environ["DISSENSUS_DATA"]))
    PAGE.write_text(text, encoding="utf-8")
    print(f"Wrote {PAGE}.")
