"""Measure the size of the tests of groups in many assignments of items, and write docs/generated/assignments.md.

    .venv/bin/python -m benchmarks.assignments

Answers have the model of `dissensus.simulate_ratings`, with raters and items that differ and groups that do not.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tests.support.assignments import ASSIGNMENTS
from tests.support.group_sizes import sizes

Floats = npt.NDArray[np.float64]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "assignments.md"
UNBIASED = ("difference", "agreement", "distance", "between")
PUBLISHED = ("IRR", "XRR", "neg.", "cross-neg.", "plurality", "voting", "GAI")


def _table(head: tuple[str, ...], rows: dict[str, Floats]) -> str:
    lines = ["| assignment | " + " | ".join(head) + " |", "|---|" + "--:|" * len(head)]
    for name, values in rows.items():
        cells = ["–" if np.isnan(value) else f"{100 * value:.1f}" for value in values]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--simulations", type=int, default=500)
    parser.add_argument("--permutations", type=int, default=199)
    options = parser.parse_args()
    results = {}
    for name in ASSIGNMENTS:
        results[name] = sizes(name, options.simulations, options.permutations)
        print(name, *(part.round(3).tolist() for part in results[name]), flush=True)
    error = 100 * np.sqrt(0.05 * 0.95 / options.simulations)
    PAGE.write_text(
        f"""% Made by `benchmarks/assignments.py`; do not edit.

Rejections of a true null at 5 %, in percent: {options.simulations} simulations of 120 items, two groups in each,
{options.permutations} permutations (standard error at most {error:.1f} points). – means no test.

{_table(UNBIASED, {name: result[0] for name, result in results.items()})}

Published statistics, tested without regard to the assignment:

{_table(PUBLISHED, {name: result[1] for name, result in results.items()})}

Published statistics, with tests withheld as in `analyse`; a withheld test counts as not rejected:

{_table(PUBLISHED, {name: result[2] for name, result in results.items()})}
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
