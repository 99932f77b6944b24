"""Compare the sparse products and the Newton method of preference models with those of SciPy; decision 25 has a result.

Run it with `.venv/bin/python benchmarks/sparse_fit.py`; it takes no options and ten seconds. Times are processor time.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse

from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.fit.logistic import fit_logistic, probability
from dissensus.stats.sparse import SparseRows

Floats = npt.NDArray[np.float64]
PAIRS, FEATURES, PER_PAIR, PENALTY = 8_000, 2**17, 160, 10.0


def draw_pairs(rng: np.random.Generator) -> tuple[SparseRows, sparse.csr_array]:
    """Return pairs with features of Zipf frequencies, the chosen answer first, in both forms."""
    columns = np.sort(rng.zipf(1.3, (PAIRS, PER_PAIR)).clip(1, FEATURES) - 1, axis=1).astype(np.int32).ravel()
    values, ends = rng.normal(size=(PAIRS, PER_PAIR)).astype(np.float32), np.arange(PAIRS + 1) * PER_PAIR
    odds = SparseRows(values.ravel(), columns, ends, FEATURES) @ rng.normal(0, 0.05, FEATURES)
    values *= np.where(rng.random(PAIRS) < probability(odds), 1, -1).astype(np.float32)[:, None]
    matrix = sparse.csr_array((values.ravel().astype(np.float64), columns, ends), shape=(PAIRS, FEATURES))
    return SparseRows(values.ravel(), columns, ends, FEATURES), matrix


def measure(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest processor time in milliseconds, after one run to warm up."""
    run()
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        run()
        times.append(1000 * (time.process_time() - begun))
    return min(times)


def measure_imports(modules: str) -> float:
    """Return the processor time of a new interpreter that imports modules, in milliseconds."""

    def run() -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", f"import {modules}"], check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return 1000 * min(run() for _ in range(3))


def compare() -> Iterator[str]:
    """Yield a line for each operation: ours, then SciPy's."""
    rng = np.random.default_rng(1)
    rows, matrix = draw_pairs(rng)
    transposed, beta, residuals = matrix.T.tocsr(), rng.normal(size=FEATURES), rng.normal(size=PAIRS)
    products = measure(lambda: rows @ beta), measure(lambda: matrix @ beta)
    yield f"product: {products[0]:.1f} and {products[1]:.1f} ms"
    products = measure(lambda: rows.transposed_times(residuals)), measure(lambda: transposed @ residuals)
    yield f"product with the transpose: {products[0]:.1f} and {products[1]:.1f} ms"

    def loss(at: Floats) -> float:
        return float(np.logaddexp(0, -(matrix @ at)).sum() + PENALTY / 2 * at @ at)

    def gradient(at: Floats) -> Floats:
        return np.asarray(PENALTY * at - transposed @ (1 - probability(matrix @ at)))

    def curvature(at: Floats, vector: Floats) -> Floats:
        p = probability(matrix @ at)
        return np.asarray(PENALTY * vector + transposed @ (p * (1 - p) * (matrix @ vector)))

    choices, zero = PairChoices.unanimous(np.ones(PAIRS)), np.zeros(FEATURES)
    own = measure(lambda: fit_logistic(rows, choices, PENALTY), 3)
    yield f"fit: {own:.0f} ms, loss {loss(fit_logistic(rows, choices, PENALTY)):.4f}"
    options = {"gtol": 1e-4 * np.linalg.norm(gradient(zero))}
    for method in ("trust-ncg", "trust-krylov"):
        fit = optimize.minimize(loss, zero, jac=gradient, hessp=curvature, method=method, options=options)
        taken = measure(
            lambda method=method: optimize.minimize(  # type: ignore[misc]
                loss, zero, jac=gradient, hessp=curvature, method=method, options=options
            ),
            3,
        )
        yield f"fit, SciPy {method}: {taken:.0f} ms, loss {fit.fun:.4f}"
    imports = measure_imports("numpy"), measure_imports("scipy.sparse, scipy.optimize")
    yield f"import: NumPy {imports[0]:.0f}, with SciPy {imports[1]:.0f} ms"


if __name__ == "__main__":
    for line in compare():
        print(line, flush=True)
