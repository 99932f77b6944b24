"""Measure how often the outlier score of vetting lies above its limit, and write docs/generated/outliers.md.

    python benchmarks/outliers.py [CAMPAIGNS]

Simulated campaigns in the shape of DICES-350, with its careless raters and six that click at random. A tenth of the
careful raters have reversed answers: they are careful, and differ from all others.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from dissensus.pipeline.simulate import preset, simulate
from dissensus.pipeline.vet import vet
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.vetting import outlier_limit

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "outliers.md"
CAMPAIGNS = 40
SHARE_REVERSED = 0.1
ANSWERS = ("No", "Unsure", "Yes")
# With all questions: time, entropy, agreement, comprehension and flat items; with one: the first three.
MEASURES = {"all": 5, "Q_overall": 3}
KINDS = ("careful", "careful, reversed answers", "speeder", "straight-liner", "clicker")


def measure(seed: int) -> pl.DataFrame:
    """Return kind, questions and whether the score lies above its limit, a row for each rater and set of questions."""
    campaign = preset("dices-350")
    campaign = replace(campaign, careless=replace(campaign.careless, clickers=6))
    simulation = simulate(campaign, seed=seed)
    careful = simulation.truth.raters.filter(kind="careful")["rater_id"]
    rng = np.random.default_rng(seed)
    reversed_ids = rng.choice(careful.to_numpy(), round(SHARE_REVERSED * len(careful)), replace=False).tolist()
    questions = list(simulation.ratings("all").questions)
    swap = pl.col("rater_id").is_in(reversed_ids)
    frame = simulation.frame.with_columns(
        pl.when(swap)
        .then(pl.col(name).cast(pl.String).replace({"No": "Yes", "Yes": "No"}))
        .otherwise(pl.col(name).cast(pl.String))
        .alias(name)
        for name in questions
        if set(simulation.frame[name].drop_nulls().cast(pl.String).unique()) <= set(ANSWERS)
    )
    kinds = simulation.truth.raters.select(
        "rater_id",
        kind=pl.when(pl.col("rater_id").is_in(reversed_ids)).then(pl.lit(KINDS[1])).otherwise(pl.col("kind")),
    )
    parts = []
    for asked, n_measures in MEASURES.items():
        ratings = Ratings.from_frame(frame, questions="all" if asked == "all" else [asked])
        raters = vet(ratings, by=[], question="Q_overall").raters.select("rater_id", "outlier_score")
        above = raters.join(kinds, on="rater_id").with_columns(
            above=pl.col("outlier_score") > outlier_limit(n_measures), asked=pl.lit(asked)
        )
        parts.append(above)
    return pl.concat(parts)


def page(results: pl.DataFrame, campaigns: int) -> str:
    """Return the table of shares above the limit."""
    lines = [
        "% Made by `benchmarks/outliers.py`; do not edit.\n",
        f"Share of raters above the limit of 2.5 % in {campaigns} simulated campaigns in the shape of DICES-350:\n",
        "| Raters | Number | All questions (5 measures) | One question (3 measures) |",
        "|---|--:|--:|--:|",
    ]
    for kind in KINDS:
        own = results.filter(kind=kind)
        shares = [own.filter(asked=asked)["above"].cast(pl.Float64).to_numpy().mean() for asked in MEASURES]
        cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
        lines.append(f"| {kind} | {own.height // len(MEASURES):,} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else CAMPAIGNS
    PAGE.write_text(page(pl.concat([measure(seed) for seed in range(n)]), n), encoding="utf-8")
    print(f"Wrote {PAGE}.")
