"""Measure fits of multilevel models, and write docs/generated/multilevel.md.

    DISSENSUS_DATA=… OPENBLAS_NUM_THREADS=1 python benchmarks/multilevel.py

One thread, compiled, medians of processor time. R's `clmm`, `glmmTMB` and `lme4` have the time that the scripts in
`tests/reference/multilevel` took for the same model when their reference values were written.
"""

import json
import os
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.model.design import build_design
from dissensus.schema.formula import parse_formula
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import OrdinalFit, fit_ordinal
from dissensus.stats.multilevel.gibbs import sample_posterior

if TYPE_CHECKING:
    from dissensus.stats.multilevel.posterior import PosteriorDraws

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "generated" / "multilevel.md"
REFERENCE = ROOT / "tests" / "reference" / "multilevel" / "clmm.json"
BINARY = ROOT / "tests" / "reference" / "multilevel" / "glmm.json"
RANDOM = "(1 | rater_id) + (1 | item_id)"
MAIN = f"Q_overall ~ rater_race + rater_gender + rater_age + {RANDOM}"
CROSSED = f"Q_overall ~ rater_race * rater_gender + rater_age + {RANDOM}"
DRAWS = 1000


def simulate(raters: int, items: int, ratings_per_item: int, seed: int = 1) -> ModelDesign:
    """Return ratings of items by random raters, with four attributes of raters."""
    rng = np.random.default_rng(seed)
    rater = np.sort(rng.integers(0, raters - ratings_per_item + 1, (items, ratings_per_item)), axis=1)
    rater = (rater + np.arange(ratings_per_item)).ravel()
    item = np.repeat(np.arange(items), ratings_per_item)
    attributes = (rng.random((raters, 4)) < (0.2, 0.2, 0.2, 0.5)).astype(float)
    location = (attributes @ (0.6, 0.4, 0.2, 0.13) + rng.normal(0, 0.65, raters))[rater]
    location += rng.normal(0, 0.75, items)[item]
    values, row = np.unique(attributes, axis=0, return_inverse=True)
    return ModelDesign(
        answers=np.digitize(location + rng.normal(size=rater.size), (0.9, 1.1)).astype(np.int8),
        n_categories=3,
        fixed=Covariates(values=values, row=row.ravel()[rater].astype(np.int32)),
        random=(
            RandomTerm(name="rater", groups=rater.astype(np.int32), n_groups=raters),
            RandomTerm(name="item", groups=item.astype(np.int32), n_groups=items),
        ),
    )


def measure(run: Callable[[], object], *, times: int) -> float:
    """Return the median processor time of a call that has run before, in seconds."""
    run()
    seconds = []
    for _ in range(times):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return median(seconds)


def rows() -> list[tuple[str, str, str]]:
    """Return work, processor time and remarks."""
    data = Path(os.environ["DISSENSUS_DATA"], "dices-350", "ratings.csv")
    ratings = read_ratings(data).exclude_flagged()
    reference = json.loads(REFERENCE.read_text("utf-8"))["models"]
    lines = []
    for name, formula, key in (("main effects", MAIN, "main_probit"), ("race × gender", CROSSED, "crossed_probit")):
        design = build_design(ratings, parse_formula(formula)).design
        seconds = measure(partial(fit_ordinal, design), times=7)
        other = reference[key]["seconds"]
        lines.append(
            (
                f"DICES-350, {name}: 36,400 ratings",
                f"{seconds:.2f} s",
                f"`clmm` {other:.0f} s, {other / seconds:.0f} times as long",
            )
        )
    lines.append(_fit_binary(data))
    wide = build_design(ratings, parse_formula(MAIN), widths=True).design
    lines.append(
        ("DICES-350, main effects with widths of raters", f"{measure(lambda: fit_ordinal(wide), times=3):.2f} s", "")
    )
    design = build_design(ratings, parse_formula(MAIN)).design
    fit = fit_ordinal(design)
    lines += [_draw(fit), _sample(design)]
    for name, design, times in (
        ("101,304 ratings of 1,340 items, 252 raters", simulate(252, 1340, 76), 3),
        ("200,000 ratings of 20,000 items, 500 raters", simulate(500, 20_000, 10), 1),
    ):
        seconds = measure(partial(fit_ordinal, design), times=times)
        lines.append((name, f"{seconds:.1f} s", f"by {fit_ordinal(design).integration}"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines.append(("largest memory of the process", f"{peak:.1f} GiB", ""))
    return lines


def _fit_binary(data: Path) -> tuple[str, str, str]:
    """Return the time of a binary model, Yes against the other answers."""
    frame = pl.read_csv(data, infer_schema=False)
    unsafe = pl.when(pl.col("Q_overall") == "Yes").then(pl.lit("Yes")).otherwise(pl.lit("other"))
    ratings = Ratings.from_frame(
        frame.with_columns(unsafe.alias("unsafe")), answer="unsafe", categories=["other", "Yes"]
    )
    design = build_design(ratings.exclude_flagged(), parse_formula(MAIN.replace("Q_overall", "unsafe"))).design
    seconds = measure(lambda: fit_ordinal(design), times=7)
    others = json.loads(BINARY.read_text("utf-8"))["models"]
    return (
        "DICES-350, Yes against the rest, main effects",
        f"{seconds:.2f} s",
        ", ".join(f"`{name}` {other['seconds']:.0f} s" for name, other in others.items()),
    )


def _draw(fit: OrdinalFit) -> tuple[str, str, str]:
    """Return the time of draws of all parameters and effects, and the independent ones among them."""
    used: list[PosteriorDraws] = []
    rng = np.random.default_rng(0)
    seconds = measure(lambda: used.append(fit.approximation.draw(DRAWS, rng)), times=5)
    effective = median(draws.importance.effective_draws for draws in used)
    shape = median(draws.importance.pareto_k for draws in used)
    return (
        f"{DRAWS:,} draws of all parameters and effects",
        f"{seconds:.2f} s",
        f"worth {effective:.0f} independent ones, {effective / seconds:.0f} a second; Pareto k {shape:.2f}",
    )


def _sample(design: ModelDesign) -> tuple[str, str, str]:
    """Return the time of the Gibbs sampler with warm-up, and its effective draws a second."""
    sample_posterior(design, chains=2, iterations=8)
    start = time.process_time()
    sample = sample_posterior(design, chains=4, iterations=1000)
    seconds = time.process_time() - start
    draws = sample.draws
    sds = [factor[:, :, 0] for factor in draws.factors]
    parameters = sample.diagnose(np.column_stack([draws.thresholds, draws.coefficients, *sds]))
    effects = [sample.diagnose(effect.reshape(len(effect), -1)) for effect in draws.effects]
    worst, worst_effect = parameters.bulk.min(), min(effect.bulk.min() for effect in effects)
    r_hat = max(diagnosis.r_hat.max() for diagnosis in [parameters, *effects])
    return (
        "Gibbs sampler, 4 chains of 1,000 draws after warm-up",
        f"{seconds:.0f} s",
        f"effective draws a second: {worst / seconds:.0f} of the worst parameter, {worst_effect / seconds:.0f} of the "
        f"worst random effect; R̂ at most {r_hat:.3f}",
    )


if __name__ == "__main__":
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows())
    PAGE.write_text(
        "% Made by `benchmarks/multilevel.py`; do not edit.\n\n"
        "Fits with standard errors, one thread, median processor time:\n\n"
        f"| Work | Time | Beside |\n|---|--:|---|\n{table}\n",
        "utf-8",
    )
    print(PAGE.read_text("utf-8"))
