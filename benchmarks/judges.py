"""Measure the coverage of intervals and the size of the rank test of `dissensus judge audit`, and write their page.

    .venv/bin/python -m benchmarks.judges                       # 600 simulations of each design
    .venv/bin/python -m benchmarks.judges --simulations 100     # less

Raters and items have normal effects on a latent scale. The estimand of an interval is its value with many items and
raters; under the null of the rank test the judge is one more rater.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dissensus.stats.judge.agreement import (
    distance_between,
    distance_within,
    distribution_distance,
    spread_difference,
    subtract_distances,
)
from dissensus.stats.judge.answers import PanelRatings, equality_distance, step_distance
from dissensus.stats.judge.rank import rank_judge
from dissensus.stats.result import BoolArray, FloatArray, Int64Array
from dissensus.stats.score.pseudo_values import PseudoValues, compare_groups, estimate_interval

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "generated" / "judges.md"
CUTS: Final = (0.3, 1.2)
EQUALITY, STEPS = equality_distance(3), step_distance(3)
ITEM_SD, VIEW_SD, RATER_SD = 1.2, 0.8, 1.0
SEEDS: Final = 2


class PanelDesign(NamedTuple):
    """Raters of a group, items, and the least and the most items of a rater; None for all."""

    n_raters: int
    n_items: int
    loads: tuple[int, int] | None = None
    n_shared: int | None = None  # Items that raters of both groups get, the others one group; None for all


class JudgedPanel(NamedTuple):
    """Ratings of two groups, and the answers of a judge without and with the persona of the first."""

    first: PanelRatings
    second: PanelRatings
    plain: FloatArray
    acted: FloatArray


DESIGNS: Final[Mapping[str, PanelDesign]] = {
    "12 raters of 20 items": PanelDesign(12, 20),
    "8 raters of 30 items": PanelDesign(8, 30),
    "24 raters of 50 items": PanelDesign(24, 50),
    "40 raters, 15 of 100 items": PanelDesign(40, 100, (15, 15)),
    "40 raters, 4 to 59 of 100 items": PanelDesign(40, 100, (4, 59)),
    "24 raters of 60 items, 30 of them common": PanelDesign(24, 90, n_shared=30),
}
Statistic = Callable[[JudgedPanel], PseudoValues]
STATISTICS: Final[Mapping[str, Statistic]] = {
    "agreement difference": lambda panel: subtract_distances(
        distance_within(panel.first, panel.plain, EQUALITY), distance_between(panel.first, panel.plain, EQUALITY)
    ),
    "distance": lambda panel: distribution_distance(panel.first, panel.plain, STEPS),
    "spread difference": lambda panel: spread_difference(panel.first, panel.plain, STEPS),
    "toward group": lambda panel: _approach(panel.first, panel),
}


def draw_panel(rng: np.random.Generator, design: PanelDesign, *, as_rater: bool = False) -> JudgedPanel:
    """Draw two groups with views of their own, and a judge that a persona moves; or one that is a further rater."""
    item, view = rng.normal(0, ITEM_SD, design.n_items), rng.normal(0, VIEW_SD, design.n_items)
    first, second = (
        _draw_answers(rng, item + side * view + rng.normal(0, RATER_SD, (design.n_raters, 1))) for side in (1, -1)
    )
    assigned = _assign(rng, design)
    raters, items = np.nonzero(assigned)
    others, items_of_others = (raters, items) if design.n_shared is None else np.nonzero(assigned[:, ::-1])
    lenience = rng.normal(0, RATER_SD) if as_rater else 0.5
    base = item + view + lenience if as_rater else item + lenience
    return JudgedPanel(
        PanelRatings(items=items, raters=raters, answers=first[raters, items]),
        PanelRatings(items=items_of_others, raters=others + design.n_raters, answers=second[others, items_of_others]),
        _draw_counts(rng, base, 1 if as_rater else SEEDS),
        _draw_counts(rng, base + 0.5 * view, SEEDS),
    )


def _draw_answers(rng: np.random.Generator, latent: FloatArray) -> Int64Array:
    return np.digitize(latent + rng.logistic(size=latent.shape), CUTS).astype(np.int64)


def _draw_counts(rng: np.random.Generator, latent: FloatArray, n: int) -> FloatArray:
    answers = _draw_answers(rng, np.tile(latent, (n, 1)))
    return np.stack([(answers == k).sum(axis=0) for k in range(3)], axis=1).astype(np.float64)


def _assign(rng: np.random.Generator, design: PanelDesign) -> BoolArray:
    if design.n_shared is not None:  # The first items of one group, the last ones of the other
        n_own = (design.n_items + design.n_shared) // 2
        return np.tile(np.arange(design.n_items) < n_own, (design.n_raters, 1))
    if design.loads is None:
        return np.ones((design.n_raters, design.n_items), np.bool_)
    places = rng.random((design.n_raters, design.n_items)).argsort(axis=1)
    return np.asarray(places < rng.integers(design.loads[0], design.loads[1] + 1, (design.n_raters, 1)))


def _approach(ratings: PanelRatings, panel: JudgedPanel) -> PseudoValues:
    return subtract_distances(
        distance_between(ratings, panel.plain, STEPS), distance_between(ratings, panel.acted, STEPS)
    )


def _select_common(panel: JudgedPanel) -> tuple[PanelRatings, PanelRatings]:
    """Return the ratings of both groups of the items that both rated, as an audit compares them."""
    return (
        panel.first.select(np.isin(panel.first.items, panel.second.items)),
        panel.second.select(np.isin(panel.second.items, panel.first.items)),
    )


def measure_coverage(design: PanelDesign, simulations: int, truth: Mapping[str, float]) -> dict[str, float]:
    """Return the share of intervals that hold the value."""
    rng = np.random.default_rng(3)
    hits: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(simulations):
        panel = draw_panel(rng, design)
        for name, compute in STATISTICS.items():
            interval = estimate_interval(compute(panel), confidence=0.95)
            hits[name].append((interval.ci_low or 0) <= truth[name] <= (interval.ci_high or 0))
        first, second = _select_common(panel)
        more = compare_groups(_approach(first, panel), _approach(second, panel))
        hits["more to its group"].append(more.ci_low <= truth["more to its group"] <= more.ci_high)
    return {name: float(np.mean(values)) for name, values in hits.items()}


def find_truth() -> dict[str, float]:
    """Return the value of each statistic with 100 raters of 10,000 items."""
    panel = draw_panel(np.random.default_rng(9), PanelDesign(100, 10_000))
    values = {name: compute(panel).estimate for name, compute in STATISTICS.items()}
    return {**values, "more to its group": values["toward group"] - _approach(panel.second, panel).estimate}


def measure_size(design: PanelDesign, simulations: int) -> tuple[float, float]:
    """Return the share of p-values of at most .1 and .2 of a judge that is one more rater."""
    rng = np.random.default_rng(1)
    panels = (draw_panel(rng, design, as_rater=True) for _ in range(simulations))
    p = np.array([rank_judge(panel.first, panel.plain, STEPS).p for panel in panels])
    return float((p <= 0.1).mean()), float((p <= 0.2).mean())


def tabulate(simulations: int) -> str:
    """Return the page: coverage and size of each design."""
    truth = find_truth()
    lines = []
    for name, design in DESIGNS.items():
        shares = (*measure_coverage(design, simulations, truth).values(), *measure_size(design, simulations))
        lines.append(f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")
        print(lines[-1], flush=True)
    columns = (*truth, "rank test, p ≤ .1", "p ≤ .2")
    return "\n".join(
        [
            "% Made by `benchmarks/judges.py`; do not edit.",
            "",
            f"Share (%) of 95 % intervals that hold the value, and of rank tests of a judge that is one more rater, "
            f"over {simulations:,} simulations:",
            "",
            f"| design | {' | '.join(columns)} |",
            "|---|" + "--:|" * len(columns),
            *lines,
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=600)
    PAGE.write_text(tabulate(parser.parse_args().simulations) + "\n", encoding="utf-8")
