"""Calibrate the posterior draws of multilevel models by simulation, and write docs/generated/multilevel-calibration.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.multilevel_calibration

Parameters are drawn from their priors, ratings from the model with these parameters, and draws from the posterior
distribution of these ratings. If the draws are right, the rank of each parameter among its draws is uniform (Talts et
al. 2018, arXiv 1804.06788).
"""

from pathlib import Path
from typing import Final

from tests.support.posterior_ranks import BINS, ENGINES, ITEMS, NAMES, RATERS, rank_parameters, rank_statistics

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "generated" / "multilevel-calibration.md"
SIMULATIONS: Final = 100


def row(name: str) -> str:
    """Return a line of the table."""
    shares, n_refused = rank_parameters(name, SIMULATIONS, seed=2)
    statistics, _ = rank_statistics(shares)
    cells = [f"{value:.1f}" for value in statistics] + ["–"] * (len(NAMES) - len(statistics))
    refused = f", {n_refused} with refused weights left out" if n_refused else ""
    return f"| {ENGINES[name].label}{refused} | {' | '.join(cells)} |"


if __name__ == "__main__":
    lines = [row(name) for name in ENGINES]
    PAGE.write_text(
        "% Made by `benchmarks/multilevel_calibration.py`; do not edit.\n\n"
        f"Chi-square of the ranks of the truth among posterior draws, {SIMULATIONS} simulations of {RATERS} raters and "
        f"{ITEMS} items, {BINS} bins; 95 % of uniform ranks are below 16.9, 99.9 % below 27.9:\n\n"
        f"| Draws | {' | '.join(NAMES)} |\n|---|{'--:|' * len(NAMES)}\n" + "\n".join(lines) + "\n",
        "utf-8",
    )
    print(PAGE.read_text("utf-8"))
