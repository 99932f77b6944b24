"""Measure the bias of standard deviations in multilevel models, and write docs/generated/multilevel-bias.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.multilevel_bias [SIMULATIONS]

Campaigns of 60 raters and 300 items with 3, 5 and 10 ratings of each item, fitted by both integrations.
"""

import sys
from pathlib import Path

import numpy as np
from benchmarks.multilevel import simulate

from dissensus.stats.multilevel.fit import Integration, fit_ordinal

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "multilevel-bias.md"
RATERS, ITEMS = 60, 300
TRUTH = np.array([0.65, 0.75])
"""Standard deviations of raters and items in `simulate`."""
INTEGRATIONS: tuple[Integration, ...] = ("laplace", "quadrature")


def row(ratings_per_item: int, n: int) -> str:
    """Return bias and spread of the standard deviations with some ratings of each item."""
    designs = [simulate(RATERS, ITEMS, ratings_per_item, seed) for seed in range(n)]
    every = [[fit_ordinal(design, integration=name) for design in designs] for name in INTEGRATIONS]
    cells = [f"{ratings_per_item}"]
    for place in (1, 0):
        for fits in every:
            sds = np.array([fit.random[place].sds[0] for fit in fits])
            cells.append(f"{sds.mean() - TRUTH[place]:+.3f} ± {sds.std() / np.sqrt(n):.3f}")
        cells.append(f"{sds.std():.3f}")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    table = "\n".join(row(ratings, simulations) for ratings in (3, 5, 10))
    PAGE.write_text(
        "% Made by `benchmarks/multilevel_bias.py`; do not edit.\n\n"
        f"Mean less the truth in {simulations} campaigns of {RATERS} raters and {ITEMS} items, with its simulation "
        "error, and the standard error of one estimate:\n\n"
        "| Ratings per item | Items, Laplace | Items, quadrature | one SE | Raters, Laplace | Raters, quadrature "
        f"| one SE |\n|--:|--:|--:|--:|--:|--:|--:|\n{table}\n",
        "utf-8",
    )
    print(PAGE.read_text("utf-8"))
