"""Measure the size of the tests and the coverage of the intervals of `analyse`, design by design.

    .venv/bin/python -m benchmarks.calibration_matrix            # what is missing, then docs/generated/calibration-matrix.md
    .venv/bin/python -m benchmarks.calibration_matrix --only "8 against 80" --simulations 5000

Simulations are kept by batch in benchmarks/.calibration/, so that a run can be stopped, continued and divided among
processes. Groups do not differ. The estimand of an interval is the mean of the statistic over the simulations.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tests.support.assignments import ASSIGNMENTS
from tests.support.null_simulations import simulate_null

Floats = npt.NDArray[np.float64]
HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "generated" / "calibration-matrix.md"
BATCH = 50
KINDS = ("size", "coverage")
HEADINGS = {
    "answer_share": "share",
    "mean_difference": "difference",
    "pairwise_agreement": "agreement",
    "group_distance": "distance",
    "irr": "IRR",
    "xrr": "XRR",
    "negentropy": "neg.",
    "cross_negentropy": "cross-neg.",
    "plurality_size": "plurality",
    "voting_agreement": "voting",
    "gai": "GAI",
    "corrected_gai": "corr. GAI",
    "pairwise_agreement_difference": "Δ agreement",
    "irr_difference": "Δ IRR",
    "negentropy_difference": "Δ neg.",
    "cross_negentropy_difference": "Δ cross-neg.",
    "plurality_size_difference": "Δ plurality",
    "gai_difference": "Δ GAI",
    "corrected_gai_difference": "Δ corr. GAI",
    "between_share": "between",
    "dsi": "DSI",
}


def _batches(folder: Path, name: str, kind: str) -> Iterator[dict[str, npt.NDArray[np.float64]]]:
    for path in sorted(folder.glob(f"{_slug(name)}.{kind}.*.npz")):
        with np.load(path) as batch:
            yield dict(batch)


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def run(folder: Path, name: str, kind: str, batch: int, options: argparse.Namespace) -> None:
    """Simulate one batch and keep it, unless it is there or another process has begun it."""
    path = folder / f"{_slug(name)}.{kind}.{batch:04}.npz"
    started = path.with_suffix(".started")
    try:
        os.close(os.open(started, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    draws = {"permutations": options.permutations} if kind == "size" else {"bootstrap": options.replicates}
    seed = (options.seed, list(ASSIGNMENTS).index(name), KINDS.index(kind), batch)
    result = simulate_null(name, BATCH, **draws, seed=seed)
    np.savez_compressed(
        path,
        metrics=np.array(result.metrics),
        groups=np.array(result.groups),
        **{field: getattr(result, field) for field in ("estimates", "low", "high", "warned", "p", "naive_p")},
    )


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", choices=list(ASSIGNMENTS), help="a design; all by default")
    parser.add_argument("--kind", action="append", choices=KINDS, help="both by default")
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=HERE / ".calibration")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    for batch in range(options.simulations // BATCH):
        for name in options.only or ASSIGNMENTS:
            for kind in options.kind or KINDS:
                run(options.folder, name, kind, batch, options)


if __name__ == "__main__":
    main()
