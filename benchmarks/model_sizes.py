"""Measure the size of filter audits, mixed models of attempts and group effects, and the coverage of shares and gold.

.venv/bin/python -m benchmarks.model_sizes    # writes docs/generated/*-sizes.md, share-coverage.md and gold-coverage.md
"""

import argparse
from itertools import islice
from pathlib import Path

import numpy as np
from tests.support.gold_simulations import simulate_gold_misses
from tests.support.model_sizes import (
    FILTERS,
    N_RATERS,
    N_REMOVED,
    attempt_sizes,
    audit_sizes,
    draw_minority,
    share_coverage,
)

from dissensus.preference.data.examples import Examples
from dissensus.preference.fit.groups import choose_groups

DOCS = Path(__file__).resolve().parent.parent / "docs" / "generated"
MEASURES = ("total variation", "Jensen–Shannon", "changed", "disjoint")
PEOPLE, SLOPES = (10, 15, 30, 100), (0.0, 0.5)
SHARES = (0.1, 0.35)
CLUSTERS = ((324, 0.0), (324, 1.0), (324, 1.4), (100, 1.0), (40, 0.9), (20, 0.8))
"""Red-teamers, and the standard deviation of the logarithm of their numbers of attempts."""
POOLS = (
    *((4, 120, 1.0), (8, 120, 1.0), (20, 30, 1.0), (20, 60, 1.0), (20, 120, 1.0), (20, 350, 1.0), (60, 120, 1.0)),
    (40, 120, 0.2),
)
"""Raters, items and the share of items that a rater rated, of comparisons with gold."""
REPLICATES = 199
DRAWS = 99
AXES = ("rater_view", "rater_gender", "rater_age")


def write_audit(simulations: int) -> None:
    """Write the rejections of the audit of a filter."""
    lines = [
        "% Made by `benchmarks/model_sizes.py`; do not edit.",
        "",
        f"| Filter of {N_REMOVED} of {N_RATERS} raters | " + " | ".join(MEASURES) + " | withheld |",
        "|---|" + "--:|" * 5,
    ]
    for name in FILTERS:
        naive, audited, withheld = audit_sizes(name, simulations, DRAWS)
        cells = [f"{100 * a:.1f} ({100 * n:.1f})" for a, n in zip(audited, naive, strict=True)]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {100 * withheld:.0f} % |")
        print(lines[-1], flush=True)
    error = 100 * np.sqrt(0.05 * 0.95 / simulations)
    lines += [
        "",
        f"In percent, over {simulations:,} simulations with {DRAWS} draws each (standard error {error:.1f} points); a "
        "withheld test counts as not rejected. In brackets: removals of any raters, not matched.",
    ]
    (DOCS / "audit-sizes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_attempts(simulations: int) -> None:
    """Write the rejections of the mixed model of attempts."""
    lines = [
        "% Made by `benchmarks/model_sizes.py`; do not edit.",
        "",
        "| Red-teamers | Standard deviation of the effect | Wald | CR2 | offered |",
        "|--:|--:|--:|--:|--:|",
    ]
    for people in PEOPLE:
        for slope in SLOPES:
            wald, robust, offered = 100 * attempt_sizes(people, slope, simulations)
            lines.append(f"| {people} | {slope:g} | {wald:.1f} | {robust:.1f} | {offered:.0f} % |")
            print(lines[-1], flush=True)
    error = 100 * np.sqrt(0.05 * 0.95 / simulations)
    lines += ["", f"In percent, over {simulations:,} simulations each (standard error {error:.1f} points)."]
    (DOCS / "attempt-sizes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_shares(simulations: int) -> None:
    """Write the coverage of intervals of shares over unequal clusters."""
    lines = [
        "% Made by `benchmarks/model_sizes.py`; do not edit.",
        "",
        "| Red-teamers | Effective | " + " | ".join(f"True share {100 * share:.0f} %" for share in SHARES) + " |",
        "|--:|" + "--:|" * 3,
    ]
    for clusters, log_sd in CLUSTERS:
        results = [share_coverage(clusters, log_sd, share, simulations) for share in SHARES]
        cells = [f"{100 * coverage:.0f} %" for coverage, _ in results]
        lines.append(f"| {clusters} | {np.mean(results, axis=0)[1]:.0f} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    error = 100 * np.sqrt(0.05 * 0.95 / simulations)
    lines += ["", f"Over {simulations:,} simulations each (standard error {error:.1f} points)."]
    (DOCS / "share-coverage.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_gold(simulations: int) -> None:
    """Write the coverage of the intervals of gold against crowd."""
    lines = [
        "% Made by `benchmarks/model_sizes.py`; do not edit.",
        "",
        "| Raters | Items | Rated | Disagreement | Alpha |",
        "|" + "--:|" * 5,
    ]
    for n_raters, n_items, rated in POOLS:
        *_, misses = islice(simulate_gold_misses(n_raters, n_items, rated=rated, replicates=REPLICATES), simulations)
        cells = [f"{100 * (1 - missed / simulations):.1f}" for missed in misses]
        lines.append(f"| {n_raters} | {n_items} | {100 * rated:.0f} % | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    error = 100 * np.sqrt(0.05 * 0.95 / simulations)
    lines += [
        "",
        f"Coverage of 95 % intervals with {REPLICATES} replicates, in percent, over {simulations:,} simulations each "
        f"(standard error {error:.1f} points).",
    ]
    (DOCS / "gold-coverage.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_groups(simulations: int) -> None:
    """Write how often the gate of the groups model finds a minority, and groups that do not differ."""
    few = [
        choose_groups(Examples.from_pairs(draw_minority(seed)), seed=0).penalties for seed in range(simulations // 10)
    ]
    null = [
        choose_groups(Examples.from_pairs(draw_minority(1000 + seed, effect=0.0, n_comparisons=100)), seed=0).penalties
        for seed in range(simulations)
    ]
    found = sum("rater_view" in penalties for penalties in few)
    share = np.mean([[axis in penalties for axis in AXES] for penalties in null])
    text = (
        "% Made by `benchmarks/model_sizes.py`; do not edit.\n\n"
        f"Four of 40 raters who differ by a log odds of 2.5, up or down, on each word have effects in {found} of "
        f"{len(few)} simulated data sets of 1,600 votes. Groups that do not differ have effects in {100 * share:.1f} % "
        f"of {3 * simulations:,} searches of an axis, in {simulations:,} data sets of 400 votes.\n"
    )
    print(text)
    (DOCS / "group-effect-sizes.md").write_text(text, encoding="utf-8")


def main() -> None:
    """Run everything and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--simulations", type=int, default=1000, help="of attempts and shares")
    parser.add_argument("--audits", type=int, default=400, help="simulations of the audit of a filter")
    parser.add_argument("--searches", type=int, default=100, help="simulations of the search for group effects")
    parser.add_argument("--pools", type=int, default=500, help="simulations of comparisons with gold")
    parser.add_argument("--only", action="append", choices=("attempts", "shares", "gold", "audit", "groups"))
    options = parser.parse_args()
    pages = {
        "attempts": (write_attempts, options.simulations),
        "shares": (write_shares, options.simulations),
        "gold": (write_gold, options.pools),
        "audit": (write_audit, options.audits),
        "groups": (write_groups, options.searches),
    }
    for name in options.only or pages:
        write, simulations = pages[name]
        write(simulations)


if __name__ == "__main__":
    main()
