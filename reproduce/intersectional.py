"""Multilevel models of Homan et al. on DICES-350, as docs/generated/intersectional.md.

    DISSENSUS_DATA=FOLDER python reproduce/intersectional.py

Homan et al. (2023), arXiv 2306.11530: their seven models, shares by race and gender, widths of raters, and labels for
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
from dissensus.schema.ratings.table import Ratings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reproduce.comparison import table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "intersectional.md"
BASE = {"race": "White", "gender": "Man"}
CROSSED = "Q_overall ~ race * gender + age + (1 | rater_id) + (1 | item_id)"
AXIS = "rater_race*rater_gender"
# An assumption, not a census: margins of adults of a country in rounded shares, for the shape of a real one.
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
    parts = (_presets(ratings), _cells(crossed), _widths(ratings, crossed), _labels(crossed))
    return "\n".join(
        ["% Made by `reproduce/intersectional.py`; do not edit.", *(line for part in parts for line in part)]
    )


def _presets(ratings: Ratings) -> Iterator[str]:
    models = {
        name: fit_model(ratings, preset=name, base=None if name == "AD-null" else BASE, draws=0) for name in PRESETS
    }
    yield "\n### Models\n"
    yield (
        "The paper fits DICES-350 and DICES-990 together, with priors and finer races. It reports crossed effects of "
        "South and East Asian women, and a stronger dependence on the degree of harm among South Asian and Indigenous "
        "raters. These files have five races, so that its effects cannot be compared one by one.\n"
    )
    yield from table(
        ("Model", "Ratings", "Parameters", "Log-likelihood", "Sd of raters", "Sd of items"),
        (
            (
                name,
                f"{model.n_ratings:,}",
                f"{model.n_parameters}",
                f"{model.log_likelihood:,.1f}",
                f"{model.sd['rater_id']:.3f}"[1:],
                f"{model.sd['item_id']:.3f}"[1:],
            )
            for name, model in models.items()
        ),
        right=range(1, 6),
    )
    yield "\nEffects whose interval excludes 0, with the first levels White and Man:\n"
    yield from table(
        ("Model", "Effect", "Estimate", "95 % interval"),
        ((name, *_effect(row)) for name, model in models.items() for row in model.effects if _is_beyond(row)),
        right=(2,),
    )
    yield ""


def _is_beyond(row: ModelEffect) -> bool:
    return row.ci_low > 0 or row.ci_high < 0


def _effect(row: ModelEffect) -> tuple[str, str, str]:
    name = f"{row.term.replace('rater_', '').replace(':', ' × ')} = {row.level}"
    return name, f"{row.estimate:.2f}", f"{row.ci_low:.2f} to {row.ci_high:.2f}"


def _cells(model: MultilevelModel) -> Iterator[str]:
    yield "### Race and gender\n"
    yield f"Predicted shares by `{model.formula}`; differences are from the largest cell.\n"
    rows = model.predictions.shares if model.predictions else ()
    yield from table(
        ("Cell", "Raters", "Yes", "95 % interval", "Difference", "95 % interval"),
        (
            (
                row.group,
                f"{row.n_raters}",
                f"{row.estimate:.3f}"[1:],
                f"{row.ci_low:.2f} to {row.ci_high:.2f}",
                "–" if row.difference is None else f"{row.difference:.3f}",
                "–" if row.difference is None else f"{row.difference_ci_low:.2f} to {row.difference_ci_high:.2f}",
            )
            for row in rows
            if row.axis == AXIS and row.answer == "Yes"
        ),
        right=(1, 2, 4),
    )
    yield ""


def _widths(ratings: Ratings, model: MultilevelModel) -> Iterator[str]:
    wide = fit_model(ratings, CROSSED, base=BASE, widths=True, draws=0)
    yield "### Widths of raters\n"
    yield (
        f"A width of Unsure for each rater raises the log-likelihood from {model.log_likelihood:,.1f} to "
        f"{wide.log_likelihood:,.1f}. Effects are in standard deviations of the latent error in both.\n"
    )
    yield from table(
        ("Effect", "Same thresholds", "95 % interval", "Widths", "95 % interval"),
        ((*_effect(row), *_effect(other)[1:]) for row, other in zip(model.effects, wide.effects, strict=True)),
        right=(1, 3),
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
        ((name, f"{row.estimate:.3f}"[1:], f"{row.ci_low:.2f} to {row.ci_high:.2f}") for name, row in shares.items()),
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
            (item.item_id, *(item.labels[name] for name in shares), f"{item.probability:.2f}"[1:])
            for item in changed[:SHOWN]
        ),
        right=(len(shares) + 1,),
    )
    yield ""


if __name__ == "__main__":
    text = page(Path(os.environ["DISSENSUS_DATA"]))
    PAGE.write_text(text, encoding="utf-8")
    print(f"Wrote {PAGE}.")
