"""Measure fits of multilevel models, and write docs/generated/multilevel.md.

    DISSENSUS_DATA=… OPENBLAS_NUM_THREADS=1 python -m benchmarks.multilevel [TEXT]

One thread, compiled, medians of processor time; the Gibbs sampler and the fit to 200,000 ratings are measured once. For
R's `clmm`, `glmmTMB` and `lme4` and for NumPyro the time is the processor time that the scripts in
`tests/reference/multilevel` took for the same model when their reference values were written. With a text only the
lines that contain it are measured again, and the others stay as they are on the page.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from tests.stats.multilevel.designs import keep_items

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.model.design import build_design
from dissensus.schema.formula import parse_formula
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import fit_ordinal
from dissensus.stats.multilevel.gibbs import sample_posterior

if TYPE_CHECKING:
    from dissensus.stats.multilevel.posterior import PosteriorDraws

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "generated" / "multilevel.md"
REFERENCE = ROOT / "tests" / "reference" / "multilevel" / "clmm.json"
BINARY = ROOT / "tests" / "reference" / "multilevel" / "glmm.json"
SAMPLED = ROOT / "tests" / "reference" / "multilevel" / "nuts.json"
RANDOM = "(1 | rater_id) + (1 | item_id)"
MAIN = f"Q_overall ~ rater_race + rater_gender + rater_age + {RANDOM}"
CROSSED = f"Q_overall ~ rater_race * rater_gender + rater_age + {RANDOM}"
DRAWS = 1000
SAMPLED_ITEMS = 60
"""Items of tests/reference/multilevel/nuts.py."""
HEAD = """% Made by `benchmarks/multilevel.py`; do not edit.

Fits with standard errors, one thread, processor time: medians, but for the sampler and the last fit, measured once:

| Work | Time | Beside |
|---|--:|---|
"""


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


@cache
def data() -> Path:
    """Return the ratings of DICES-350."""
    return Path(os.environ["DISSENSUS_DATA"], "dices-350", "ratings.csv")


@cache
def dices(formula: str, *, widths: bool = False) -> ModelDesign:
    """Return the design of DICES-350 without flagged raters."""
    return build_design(read_ratings(data()).exclude_flagged(), parse_formula(formula), widths=widths).design


def lines() -> Iterator[tuple[str, Callable[[], tuple[str, str]]]]:
    """Yield work, and the function that returns its processor time and remarks."""
    yield "DICES-350, main effects: 36,400 ratings", partial(_fit, MAIN, "main_probit")
    yield "DICES-350, race × gender: 36,400 ratings", partial(_fit, CROSSED, "crossed_probit")
    yield "whole command on DICES-350, race × gender, in a process of its own", _run_command
    yield "DICES-350, Yes against the rest, main effects", _fit_binary
    yield "DICES-350, main effects with widths of raters", _fit_widths
    yield f"{DRAWS:,} draws of all parameters and effects", _draw
    yield "Gibbs sampler, 4 chains of 1,000 draws after warm-up", _sample_all
    yield f"the same on the first {SAMPLED_ITEMS} items: 6,240 ratings", _sample_some
    yield "101,840 ratings of 1,340 items, 252 raters", partial(_fit_simulated, 252, 1340, 76)
    yield "200,000 ratings of 20,000 items, 500 raters", partial(_fit_simulated, 500, 20_000, 10)
    yield "largest memory of the process", _measure_memory


def _fit(formula: str, key: str) -> tuple[str, str]:
    design = dices(formula)
    seconds = measure(partial(fit_ordinal, design), times=7)
    other = json.loads(REFERENCE.read_text("utf-8"))["models"][key]["seconds"]
    return f"{seconds:.2f} s", f"`clmm` {other:.0f} s, {other / seconds:.0f} times as long"


def _run_command() -> tuple[str, str]:
    """Return the processor time of `dissensus model` with predicted shares, and that of the fit in the same minute."""
    program = str(Path(sys.executable).parent / "dissensus")
    command = [program, "model", str(data()), "--exclude-flagged", "--formula", CROSSED, "--format", "json"]
    seconds = []
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    fit = measure(partial(fit_ordinal, dices(CROSSED)), times=7)
    return f"{median(seconds[1:]):.1f} s", f"the fit alone in the same minute {fit:.2f} s"


def _fit_binary() -> tuple[str, str]:
    """Return the time of a binary model, Yes against the other answers."""
    frame = pl.read_csv(data(), infer_schema=False)
    unsafe = pl.when(pl.col("Q_overall") == "Yes").then(pl.lit("Yes")).otherwise(pl.lit("other"))
    ratings = Ratings.from_frame(
        frame.with_columns(unsafe.alias("unsafe")), answer="unsafe", categories=["other", "Yes"]
    )
    design = build_design(ratings.exclude_flagged(), parse_formula(MAIN.replace("Q_overall", "unsafe"))).design
    seconds = measure(lambda: fit_ordinal(design), times=7)
    others = json.loads(BINARY.read_text("utf-8"))["models"]
    return f"{seconds:.2f} s", ", ".join(f"`{name}` {other['seconds']:.0f} s" for name, other in others.items())


def _fit_widths() -> tuple[str, str]:
    design = dices(MAIN, widths=True)
    return f"{measure(lambda: fit_ordinal(design), times=3):.2f} s", ""


def _draw() -> tuple[str, str]:
    """Return the time of draws of all parameters and effects, and the independent ones among them."""
    fit = fit_ordinal(dices(MAIN))
    used: list[PosteriorDraws] = []
    rng = np.random.default_rng(0)
    seconds = measure(lambda: used.append(fit.approximation.draw(DRAWS, rng)), times=5)
    effective = median(draws.importance.effective_draws for draws in used)
    shape = median(draws.importance.pareto_k for draws in used)
    return (
        f"{seconds:.2f} s",
        f"worth {effective:.0f} independent ones, {effective / seconds:.0f} a second; Pareto k {shape:.2f}",
    )


def _sample_all() -> tuple[str, str]:
    return _sample(dices(MAIN))


def _sample_some() -> tuple[str, str]:
    """Return the time of the sampler beside NumPyro's, and the effective draws of both."""
    seconds, remark = _sample(keep_items(dices(MAIN), SAMPLED_ITEMS))
    other = json.loads(SAMPLED.read_text("utf-8"))["dices"]
    worst, worst_effect = (min(min(other[name]["ess"]) for name in names) for names in (("cut", "b", "sd"), ("u",)))
    return seconds, (
        f"{remark}; NumPyro {other['seconds']} s, {worst / other['seconds']:.1f} of the worst parameter and "
        f"{worst_effect / other['seconds']:.1f} of the worst of eight raters"
    )


def _sample(design: ModelDesign) -> tuple[str, str]:
    """Return the time of the Gibbs sampler with warm-up, and its effective draws a second."""
    sample_posterior(design, chains=2, iterations=8, seed=0)
    start = time.process_time()
    sample = sample_posterior(design, chains=4, iterations=1000, seed=0)
    seconds = time.process_time() - start
    draws = sample.draws
    sds = [factor[:, :, 0] for factor in draws.factors]
    parameters = sample.diagnose(np.column_stack([draws.thresholds, draws.coefficients, *sds]))
    effects = [sample.diagnose(effect.reshape(len(effect), -1)) for effect in draws.effects]
    worst, worst_effect = parameters.bulk.min(), min(effect.bulk.min() for effect in effects)
    r_hat = max(diagnosis.r_hat.max() for diagnosis in [parameters, *effects])
    return (
        f"{seconds:.0f} s",
        f"effective draws a second: {worst / seconds:.0f} of the worst parameter, {worst_effect / seconds:.0f} of the "
        f"worst random effect; R̂ at most {r_hat:.3f}",
    )


def _fit_simulated(raters: int, items: int, ratings_per_item: int) -> tuple[str, str]:
    design = simulate(raters, items, ratings_per_item)
    seconds = measure(partial(fit_ordinal, design), times=3 if items < 10_000 else 1)
    return f"{seconds:.1f} s", f"by {fit_ordinal(design).integration}"


def _measure_memory() -> tuple[str, str]:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB", ""


def main() -> None:
    """Measure all lines, or those with a text, and write the page."""
    text = sys.argv[1] if len(sys.argv) > 1 else ""
    earlier = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.read_text("utf-8").splitlines()}
    table = [
        f"| {' | '.join((work, *run()))} |" if text in work else earlier[work]
        for work, run in lines()
        if text in work or work in earlier
    ]
    PAGE.write_text(HEAD + "\n".join(table) + "\n", "utf-8")
    sys.stdout.write(PAGE.read_text("utf-8"))


if __name__ == "__main__":
    main()
