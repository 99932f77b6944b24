"""Measure the size of gap tests and the coverage of intervals of `dissensus benchmark`, and write their page.

    .venv/bin/python -m benchmarks.scorecards                       # 1,000 simulations of each design
    .venv/bin/python -m benchmarks.scorecards --simulations 100     # less

Groups do not differ. The estimand of an interval is the mean of the statistic over all simulations.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from tests.support.assignments import ASSIGNMENTS, NullDesign

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import FloatArray
from dissensus.stats.score.discrimination import auc
from dissensus.stats.score.gap import estimate_gap
from dissensus.stats.score.losses import brier, disagreement, error, miss_rate, squared_distance, unsafe_share
from dissensus.stats.score.pseudo_values import GroupRatings, PseudoValues, compare_scores, estimate_interval

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "generated" / "scorecards.md"
DESIGNS: Final = (
    *("complete", "random sparse", "quota, 4 of each group", "quota, 2 of each group", "loads 55 and 15 %"),
    *("a third of items shared", "4 against 80", "8 against 80", "13 against 80", "8 against 80, sparse"),
    *("30 items", "60 items", "3 % Yes", "10 % Yes"),
)
STATISTICS: Final[dict[str, Callable[[GroupRatings, FloatArray], PseudoValues]]] = {
    "P(unsafe)": lambda ratings, _: unsafe_share(ratings),
    "Brier": brier,
    "squared distance": squared_distance,
    "disagreement": lambda ratings, _: disagreement(ratings),
    "AUC": auc,
    "error": lambda ratings, scores: error(ratings, scores >= 0.5),
    "miss rate": lambda ratings, scores: miss_rate(ratings, scores >= 0.5),
}
RATER_SD, ITEM_SD, NOISE_SD = 0.65, 0.8, 0.6


def draw_ratings(rng: np.random.Generator, null: NullDesign) -> tuple[tuple[GroupRatings, FloatArray, FloatArray], ...]:
    """Draw the ratings of each group, which do not differ, with the scores of two classifiers."""
    group = np.repeat(np.arange(len(null.sizes)), null.sizes).astype(np.int32)
    raters, items = np.nonzero(null.assign(rng, group, null.n_items))
    latent, lenience = rng.normal(0, ITEM_SD, null.n_items), rng.normal(0, RATER_SD, group.size)
    spread = float(np.sqrt(1 + ITEM_SD**2 + RATER_SD**2))
    value = latent[items] + lenience[raters] + rng.normal(size=items.size)
    unsafe = (value > null.cuts[-1] * spread).astype(np.float64)
    scores = [1 / (1 + np.exp(-2 * (latent + rng.normal(0, NOISE_SD, null.n_items)) + 1))[items] for _ in range(2)]
    for_group = (group[raters] == g for g in range(len(null.sizes)))
    return tuple(
        (GroupRatings(items=items[of], raters=raters[of], unsafe=unsafe[of]), scores[0][of], scores[1][of])
        for of in for_group
    )


def simulate(name: str, simulations: int) -> tuple[dict[str, FloatArray], dict[str, FloatArray], FloatArray]:
    """Return p-values of gaps, estimates with intervals, shape (S, G, 3), and the mean gap with that by chance."""
    rng = np.random.default_rng([20, DESIGNS.index(name)])
    p, intervals, gaps = defaultdict(list), defaultdict(list), []
    for _ in range(simulations):
        drawn = draw_ratings(rng, ASSIGNMENTS[name])
        for metric, values in _measure(drawn):
            intervals[metric].append([_ends(estimate_interval(value, confidence=0.95)) for value in values])
            gap = estimate_gap(values)
            p[metric].append(gap.p)
            if metric == "P(unsafe)":
                gaps.append((gap.estimate, gap.by_chance))
        pairs = [(brier(ratings, first), brier(ratings, second)) for ratings, first, second in drawn]
        intervals["difference in Brier"].append([_ends(compare_scores(*pair, confidence=0.95)) for pair in pairs])
    return (
        {key: np.array(values) for key, values in p.items()},
        {key: np.array(values) for key, values in intervals.items()},
        np.mean(gaps, axis=0),
    )


def _measure(
    drawn: tuple[tuple[GroupRatings, FloatArray, FloatArray], ...],
) -> Iterator[tuple[str, list[PseudoValues]]]:
    for metric, compute in STATISTICS.items():
        try:
            yield metric, [compute(ratings, first) for ratings, first, _ in drawn]
        except UndefinedEstimate:
            continue


def _ends(estimate: object) -> tuple[float, float, float]:
    low, high = estimate.ci_low, estimate.ci_high  # type: ignore[attr-defined]
    return (
        estimate.estimate,  # type: ignore[attr-defined]
        np.nan if low is None else low,
        np.nan if high is None else high,
    )


def _coverage(intervals: FloatArray, groups: list[int]) -> float:
    part = intervals[:, groups]
    truth = np.nanmean(part[..., 0])
    known = np.isfinite(part[..., 1])
    return float(((part[..., 1] <= truth) & (truth <= part[..., 2]))[known].mean())


def tabulate(simulations: int) -> str:
    """Return the page: coverage and size of each design."""
    coverage, size = [], []
    for name in DESIGNS:
        p, intervals, gaps = simulate(name, simulations)
        for side, groups in ASSIGNMENTS[name].sides:
            cells = [
                100 * _coverage(intervals[metric], list(groups)) for metric in (*STATISTICS, "difference in Brier")
            ]
            label = f"{name}{side and ': ' + side}"
            coverage.append(f"| {label} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
        sizes = (100 * float(np.mean(p[metric][np.isfinite(p[metric])] < 0.05)) for metric in STATISTICS)
        of_gap = (f"{100 * value:.2f}" for value in gaps)
        size.append(f"| {name} | " + " | ".join([*(f"{cell:.1f}" for cell in sizes), *of_gap]) + " |")
        print(coverage[-1], size[-1], sep="\n", flush=True)
    return "\n\n".join(
        [
            "% Made by `benchmarks/scorecards.py`; do not edit.",
            f"Share (%) of 95 % intervals that hold the value, over {simulations:,} simulations of groups that do not "
            "differ:",
            _table((*STATISTICS, "difference in Brier"), coverage),
            "Share (%) of tests of the gap with p < .05, over the same simulations, and the mean gap of P(unsafe), in "
            "points, beside that which is expected by chance:",
            _table((*STATISTICS, "gap", "by chance"), size),
        ]
    )


def _table(names: tuple[str, ...], lines: list[str]) -> str:
    head = f"| design | {' | '.join(names)} |"
    return "\n".join([head, "|---|" + "--:|" * len(names), *lines])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    PAGE.write_text(tabulate(parser.parse_args().simulations) + "\n", encoding="utf-8")
