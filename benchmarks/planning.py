"""Measure whether planned power is the power that `analyse` has, in simulated campaigns.

    make planning                                           # docs/generated/planning{,-statistics,-looks}.md
    make planning ARGS='--campaigns 100 --folder /tmp/a'    # fewer campaigns, into another folder that exists

Each campaign draws raters, items and answers from the multilevel model, and is tested as `analyse` tests the difference
of shares: by the studentised permutation test, with permutations of its own.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dissensus.stats.cluster_robust import t_quantile
from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.groups.statistics import group_statistics
from dissensus.stats.permutation import permutation_p
from dissensus.stats.planning.alternatives import solve_group_item_sd, solve_loading
from dissensus.stats.planning.assignment import draw_assignment, draw_model_answers
from dissensus.stats.planning.confidence_sequence import log_capital
from dissensus.stats.planning.contrast_power import ContrastDesign, DesignCell, contrast_power, contrast_variance
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.planning.simulated_power import PlannedStatistic, simulate_power

PAGES = Path(__file__).resolve().parent.parent / "docs" / "generated"
QUANTILES = np.array([t_quantile(0.95, n - 1) for n in range(5, 101)])
SMALL = RatingModel(rater_sd=0.69, item_sd=0.76)
LARGE = RatingModel(rater_sd=0.69, item_sd=0.76, group_item_sd=0.4)
# Model, raters of both groups, ratings of an item by each, items, share, difference.
DESIGNS = {
    "12 and 12 raters, all of 60 items": (SMALL, (12, 12), (12, 12), 60, 0.33, 0.2),
    "30 and 30 raters, all of 60 items": (SMALL, (30, 30), (30, 30), 60, 0.33, 0.13),
    "8 and 40 raters, all of 60 items": (SMALL, (8, 40), (8, 40), 60, 0.33, 0.2),
    "24 and 24 raters, 8 of each, groups differ on items": (LARGE, (24, 24), (8, 8), 60, 0.33, 0.15),
    "40 and 40 raters, 5 of each an item": (SMALL, (40, 40), (5, 5), 100, 0.33, 0.12),
    "24 and 24 raters, 3 of each an item": (SMALL, (24, 24), (3, 3), 60, 0.33, 0.17),
    "24 and 24 raters, 1 of each an item": (SMALL, (24, 24), (1, 1), 120, 0.33, 0.2),
    "60 and 60 raters, 10 of each, rare answer": (SMALL, (60, 60), (10, 10), 100, 0.06, 0.05),
}


def build(name: str) -> tuple[RatingModel, ContrastDesign]:
    """Return the population and the design of a name."""
    model, raters, per_item, n_items, share, difference = DESIGNS[name]
    cells = [
        DesignCell(share=p, n_raters=n, per_item=k, weight=w)
        for p, n, k, w in zip((share, share + difference), raters, per_item, (-1.0, 1.0), strict=True)
    ]
    return model, ContrastDesign(tuple(cells), n_items)


def draw_campaign(
    model: RatingModel, design: ContrastDesign, seed: np.random.SeedSequence, permutations: int
) -> tuple[Design, npt.NDArray[np.int32]]:
    """Return the ratings of a campaign, and the groups of its raters as they are, then permuted."""
    rng = np.random.default_rng(seed)
    drawn = draw_assignment(rng, design)
    answers = draw_model_answers(rng, model, design, drawn).astype(np.int16)
    table = Design(
        drawn.item.astype(np.int32), drawn.rater.astype(np.int32), answers, design.n_items, drawn.cell.size, 2
    )
    groups = np.tile(drawn.cell.astype(np.int32), (permutations + 1, 1))
    groups[1:] = rng.permuted(groups[1:], axis=1)
    return table, groups


def realise(name: str, campaigns: int, permutations: int) -> float:
    """Return the share of campaigns whose own permutation test rejects at 5 %."""
    model, design = build(name)
    rejected = 0
    for seed in np.random.SeedSequence([20, list(DESIGNS).index(name)]).spawn(campaigns):
        table, groups = draw_campaign(model, design, seed, permutations)
        t = group_statistics(table, groups, np.array([1]), np.array([0]), answer=1).difference_t[:, 0]
        rejected += bool(permutation_p(t[0], t[1:]) <= 0.05)
    return rejected / campaigns


def measure(name: str, options: argparse.Namespace) -> str:
    """Return the line of a design."""
    model, design = build(name)
    power = contrast_power(design.difference, contrast_variance(model, design), level=0.05)
    start = time.perf_counter()
    simulated = simulate_power(
        model, design, n_simulations=500, seed=np.random.SeedSequence([1, list(DESIGNS).index(name)]), level=0.05
    )
    seconds = time.perf_counter() - start
    real = realise(name, options.campaigns, options.permutations)
    error = 100 * (real * (1 - real) / options.campaigns) ** 0.5
    print(name, power, simulated.power, real, f"{seconds:.1f} s", flush=True)
    return (
        f"| {name} | {100 * power:.1f} | {100 * simulated.power:.1f} [{100 * simulated.ci_low:.0f}, "
        f"{100 * simulated.ci_high:.0f}] | {100 * real:.1f} ± {error:.1f} |"
    )


# Statistic, model, raters of both groups, ratings of an item by each, items, share, difference.
STATISTICS: dict[PlannedStatistic, tuple[RatingModel, int, int, int, float]] = {
    "share": (SMALL, 30, 8, 60, 0.15),
    "agreement": (SMALL, 60, 16, 60, 0.06),
    "alpha": (SMALL, 30, 30, 60, 0.08),
    "gai": (SMALL, 24, 24, 60, 0.25),
    "decomposition": (SMALL, 24, 8, 60, 0.07),
}
TESTED = 20
"""Number of designs in a table: the time of one design is multiplied by it."""


def build_statistic(statistic: PlannedStatistic) -> tuple[RatingModel, ContrastDesign]:
    """Return the population with the difference, and the design."""
    model, n, k, n_items, difference = STATISTICS[statistic]
    share, loading = 0.33, 1.0
    if statistic in ("alpha", "agreement"):
        loading = solve_loading(model, share, difference, statistic=statistic)
    elif statistic in ("gai", "decomposition"):
        model = solve_group_item_sd(model, share, difference, statistic=statistic)
    shares = (share, share + difference * (statistic == "share"))
    cells = [
        DesignCell(share=p, n_raters=n, per_item=k, weight=w, loading=x)
        for p, w, x in zip(shares, (-1.0, 1.0), (1.0, loading), strict=True)
    ]
    return model, ContrastDesign(tuple(cells), n_items)


def realise_statistic(statistic: PlannedStatistic, campaigns: int, permutations: int) -> float:
    """Return the share of campaigns in which the test of `analyse`, with permutations of its own, rejects at 5 %."""
    model, design = build_statistic(statistic)
    rejected = 0
    for seed in np.random.SeedSequence([40, list(STATISTICS).index(statistic)]).spawn(campaigns):
        table, groups = draw_campaign(model, design, seed, permutations)
        inside, outside = np.array([1]), np.array([0])
        if statistic in ("alpha", "gai"):
            name = "irr" if statistic == "alpha" else "gai"
            t = statistics(table, groups, inside, outside)[:, 0, METRICS.index(name)]
        else:
            of_groups = group_statistics(table, groups, inside, outside, answer=1)
            t = {
                "share": of_groups.difference_t[:, 0],
                "agreement": of_groups.agreement_t[:, 0],
                "decomposition": np.ravel(of_groups.between_t),
            }[statistic]
        if statistic == "decomposition":
            rejected += bool((1 + (t[1:] >= t[0]).sum()) / (permutations + 1) <= 0.05)
        else:
            rejected += bool(permutation_p(t[0], t[1:]) <= 0.05)
    return rejected / campaigns


def measure_statistic(statistic: PlannedStatistic, campaigns: int, permutations: int) -> str:
    """Return the line of a statistic."""
    model, design = build_statistic(statistic)
    start = time.process_time()
    planned = simulate_power(
        model,
        design,
        statistic=statistic,
        n_simulations=2000,
        seed=np.random.SeedSequence([41, list(STATISTICS).index(statistic)]),
        level=0.05,
    )
    seconds = TESTED * (time.process_time() - start) * 500 / 2000
    real = realise_statistic(statistic, campaigns, permutations)
    error = 100 * (real * (1 - real) / campaigns) ** 0.5
    cell = design.cells[0]
    each = "all of" if cell.per_item == cell.n_raters else f"{cell.per_item} of each an item,"
    print(statistic, planned.power, real, f"{seconds:.0f} s", flush=True)
    return (
        f"| `{statistic}` | {cell.n_raters} and {cell.n_raters} raters, {each} {design.n_items} items | "
        f"{100 * planned.power:.1f} [{100 * planned.ci_low:.0f}, {100 * planned.ci_high:.0f}] | "
        f"{100 * real:.1f} ± {error:.1f} | {seconds:.0f} |"
    )


def measure_statistics(campaigns: int, permutations: int) -> list[str]:
    """Return the table of statistics."""
    return [
        f"| statistic | design | 2,000 simulations (95 %) | {campaigns:,} campaigns, tested by analyse | seconds of "
        f"one processor for {TESTED} such designs × 500 |",
        "|---|---|--:|--:|--:|",
        *(measure_statistic(statistic, campaigns, permutations) for statistic in STATISTICS),
    ]


def measure_looks(campaigns: int) -> list[str]:
    """Return how often intervals of a share, looked at after every rater, ever miss it."""
    model, design = SMALL, ContrastDesign((DesignCell(share=0.33, n_raters=100, per_item=20, weight=1.0),), 100)
    rng, missed, means = np.random.default_rng(30), np.zeros(2), np.array([0.33])
    drawn = draw_assignment(rng, design)
    for _ in range(campaigns):
        answers = draw_model_answers(rng, model, design, drawn)
        x = (np.bincount(drawn.rater, answers) / np.bincount(drawn.rater))[rng.permutation(100)]
        missed[0] += bool((log_capital(x, means, 0.95) >= np.log(2 / 0.05)).any())
        t = np.arange(5, 101)
        mean = np.cumsum(x)[4:] / t
        variance = (np.cumsum(x**2)[4:] / t - mean**2) * t / (t - 1)
        missed[1] += bool((np.abs(mean - 0.33) > QUANTILES * np.sqrt(variance / t)).any())
    shares = 100 * missed / campaigns
    return [
        "| 95 % interval, looked at after each of 100 raters | campaigns that it ever misses, % |",
        "|---|--:|",
        f"| confidence sequence | {shares[0]:.1f} |",
        f"| t interval, from five raters on | {shares[1]:.1f} |",
    ]


def main() -> None:
    """Measure statistics, looks and designs, and write a page of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--campaigns", type=int, default=2000, help="campaigns of each design; 0: none")
    parser.add_argument(
        "--looks", type=int, default=10_000, help="campaigns whose intervals are looked at after each rater; 0: none"
    )
    parser.add_argument("--permutations", type=int, default=399, help="of designs; statistics have 199")
    parser.add_argument("--folder", type=Path, default=PAGES)
    parser.add_argument("--of-statistics", type=int, default=2000, help="campaigns of each statistic; 0: none")
    options = parser.parse_args()
    if options.of_statistics:
        table = "\n".join(measure_statistics(options.of_statistics, 199))
        text = f"% Made by `make planning`; do not edit.\n\n{table}\n"
        (options.folder / "planning-statistics.md").write_text(text, "utf-8")
    if options.looks:
        looks = "\n".join(measure_looks(options.looks))
        text = f"% Made by `make planning`; do not edit.\n\n{looks}\n"
        (options.folder / "planning-looks.md").write_text(text, "utf-8")
    if not options.campaigns:
        return
    lines = "\n".join(measure(name, options) for name in DESIGNS)
    text = f"""% Made by `make planning`; do not edit.

| design | closed form | 500 simulations (95 %) | {options.campaigns:,} campaigns, tested by analyse |
|---|--:|--:|--:|
{lines}
"""
    (options.folder / "planning.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
