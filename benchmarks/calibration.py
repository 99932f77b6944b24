"""Measure the coverage of the intervals and the size of the tests, and write docs/generated/calibration.md.

    make calibration

Pools are drawn from the model of `dissensus.simulate_ratings` with the shape of DICES-350: 350 items, a group and 104
others, no difference between them. The estimand of an interval is the mean of the statistic over many such pools.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dissensus.pipeline.simulate import draw_answers
from dissensus.stats.bootstrap import draw_resamples, two_way_interval
from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.permutation import shuffles
from dissensus.stats.significance import permutation_p

Floats = npt.NDArray[np.float64]
SIZES = (4, 9, 13, 25, 50, 104)
REST = 104
N_ITEMS = 350
HEADINGS = ("IRR", "XRR", "neg.", "cross-neg.", "plurality", "voting", "GAI")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "calibration.md"
INSIDE, OUTSIDE = np.array([0]), np.array([-1])


def pool(rng: np.random.Generator, size: int) -> tuple[Design, npt.NDArray[np.int32]]:
    """Draw the ratings of a group of the given size and of everybody else."""
    group = np.repeat(np.array([0, 1], dtype=np.int32), [size, REST])
    answers = draw_answers(rng, np.zeros_like(group), N_ITEMS)
    raters, items = np.divmod(np.arange(answers.size, dtype=np.int32), N_ITEMS)
    return Design(items, raters, answers.ravel(), N_ITEMS, group.size, 3), group


def estimands(size: int, pools: int, seed: int) -> Floats:
    """Return the mean of each statistic over many pools."""
    rng = np.random.default_rng([seed, size, 0])
    drawn = []
    for _ in range(pools):
        design, group = pool(rng, size)
        drawn.append(statistics(design, group[None], INSIDE, OUTSIDE)[0, 0])
    return np.asarray(np.nanmean(drawn, axis=0))


def coverage(size: int, simulations: int, replicates: int, seed: int) -> tuple[Floats, Floats]:
    """Return the share of 95 % intervals that hold the estimand, and their median width, for each statistic."""
    truth = estimands(size, 10 * simulations, seed)
    rng = np.random.default_rng([seed, size, 1])
    seeds = np.random.SeedSequence([seed, size])
    covered, widths = [], []
    for _ in range(simulations):
        design, group = pool(rng, size)
        raters, items = draw_resamples(seeds.spawn(replicates), group, N_ITEMS)
        observed = statistics(design, group[None], INSIDE, OUTSIDE)[0, 0]
        two_way, of_raters, of_items = (
            statistics(design, group[None], INSIDE, OUTSIDE, rater_weight=r, item_weight=i)[:, 0]
            for r, i in ((raters, items), (raters, None), (None, items))
        )
        low, high = two_way_interval(observed, two_way, of_raters, of_items)
        covered.append((low <= truth) & (truth <= high))
        widths.append(high - low)
    return np.mean(covered, axis=0), np.nanmedian(widths, axis=0)


def rejections(size: int, simulations: int, permutations: int, seed: int) -> tuple[Floats, Floats]:
    """Return how often a true null is rejected at 5 %, by the two-sided and by the grasp rule."""
    rng = np.random.default_rng([seed, size, 2])
    seeds = np.random.SeedSequence([seed, size, 2])
    counts = np.zeros((2, len(METRICS)))
    for _ in range(simulations):
        design, group = pool(rng, size)
        drawn = shuffles(seeds.spawn(permutations), group.size)
        observed = statistics(design, group[None], INSIDE, OUTSIDE)[0, 0]
        null = statistics(design, group[drawn], INSIDE, OUTSIDE)[:, 0]
        counts[0] += permutation_p(observed, null) <= 0.05
        counts[1] += permutation_p(observed, null, method="grasp") < 0.05
    return counts[0] / simulations, counts[1] / simulations


def table(rows: list[tuple[str, Floats]], digits: int = 1, scale: float = 100) -> str:
    """Return a Markdown table with one column a statistic."""
    lines = ["| raters | " + " | ".join(HEADINGS) + " |", "|--:" * 8 + "|"]
    lines += [f"| {name} | " + " | ".join(f"{scale * v:.{digits}f}" for v in values) + " |" for name, values in rows]
    return "\n".join(lines)


def main() -> None:
    """Run everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--simulations", type=int, default=600)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    covered, widths = [], []
    for size in SIZES:
        shares, width = coverage(size, options.simulations, options.replicates, options.seed)
        covered.append((str(size), shares))
        widths.append((str(size), width))
        print(size, shares.round(3), flush=True)
    tests = []
    for size in (9, 25, 50):
        two_sided, grasp = rejections(size, 2 * options.simulations, options.permutations, options.seed)
        tests += [(f"{size} two-sided", two_sided), (f"{size} grasp", grasp)]
        print(size, two_sided.round(3), grasp.round(3), flush=True)
    error = 100 * np.sqrt(0.95 * 0.05 / options.simulations)
    test_error = 100 * np.sqrt(0.95 * 0.05 / (2 * options.simulations))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(
        f"""% Made by `make calibration`; do not edit.

Share of 95 % two-way intervals that hold the estimand, in percent, over {options.simulations} simulated pools of a
group and {REST} other raters × {N_ITEMS} items, with {options.replicates} bootstrap replicates each
(Monte Carlo standard error {error:.1f} points):

{table(covered)}

Median width of these intervals:

{table(widths, digits=3, scale=1)}

Rejections of a true null at 5 %, in percent, over {2 * options.simulations} simulated pools with {options.permutations}
permutations each (standard error {test_error:.1f} points):

{table(tests)}
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
