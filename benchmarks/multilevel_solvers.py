"""Compare fits with and without a matrix of the outer effects, and write docs/generated/multilevel-solvers.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.multilevel_solvers

Both solve the same models: 200,000 random ratings, and closed batches, for which the approximate inverse is worst.
"""

from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from benchmarks.multilevel import simulate
from tests.stats.multilevel.designs import simulate_batches

from dissensus.stats.multilevel import laplace
from dissensus.stats.multilevel.design import ModelDesign
from dissensus.stats.multilevel.fit import MaximumFit, fit_ordinal

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "generated" / "multilevel-solvers.md"
DESIGNS: Final = (
    ("20,000 items, 10 ratings of each by 1,000 raters", partial(simulate, 1000, 20_000, 10)),
    ("50,000 items, 4 ratings of each by 1,000 raters", partial(simulate, 1000, 50_000, 4)),
    ("60 closed batches of 5 raters and 6 items", partial(simulate_batches, 60)),
)
PROBES: Final = (32, 4)
"""Random vectors: their number for small tables, and for five million ratings and more."""


def fit_both(design: ModelDesign, probes: int) -> tuple[MaximumFit, MaximumFit]:
    """Return the fit by a matrix, and that by conjugate gradients with some random vectors."""
    most = laplace.MOST_DENSE, laplace.MOST_PROBES
    exact = fit_ordinal(design)
    laplace.MOST_DENSE, laplace.MOST_PROBES = 0, probes
    approximate = fit_ordinal(design)
    laplace.MOST_DENSE, laplace.MOST_PROBES = most
    return exact, approximate


def row(name: str, design: ModelDesign, probes: int) -> str:
    """Return a line of the table."""
    exact, approximate = fit_both(design, probes)
    errors = np.concatenate([exact.threshold_errors, exact.coefficient_errors])
    location, other = (np.concatenate([fit.thresholds, fit.coefficients]) for fit in (exact, approximate))
    sds = [
        np.abs(np.log(term.sds / known.sds) / known.sd_errors).max()
        for known, term in zip(exact.random, approximate.random, strict=True)
    ]
    change = np.abs(approximate.coefficient_errors / exact.coefficient_errors - 1)
    cells = (
        name,
        f"{probes}",
        f"{np.abs((other - location) / errors).max():.4f}",
        *(f"{value:.3f}" for value in sds),
        f"{approximate.log_likelihood - exact.log_likelihood:+.2f} ± {approximate.log_likelihood_error:.2f}",
        f"{100 * change.max():.2f} %",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    lines = [row(name, make(), probes) for name, make in DESIGNS for probes in PROBES]
    PAGE.write_text(
        "% Made by `benchmarks/multilevel_solvers.py`; do not edit.\n\n"
        "Largest differences of estimates by conjugate gradients from those by a matrix, in standard errors, and of "
        "these:\n\n"
        "| Ratings | Random vectors | Effects, thresholds | Sd of raters | Sd of items | Log-likelihood "
        "| Standard errors |\n|---|--:|--:|--:|--:|--:|--:|\n" + "\n".join(lines) + "\n",
        "utf-8",
    )
    print(PAGE.read_text("utf-8"))
