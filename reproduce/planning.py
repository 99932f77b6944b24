"""Plans of the documentation, as docs/generated/planning-*.md, and their figures, as docs/_static/planning/.

python reproduce/planning.py                               # from the preset, without data
DISSENSUS_DATA=FOLDER python reproduce/planning.py presets # the values of the preset, from the ratings
"""

import os
import sys
from pathlib import Path

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.plan.comparison import ComparisonSettings, plan_comparison
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.frontier import cross_sizes, plan_frontier
from dissensus.pipeline.plan.groups import plan_groups
from dissensus.pipeline.plan.pilot import measure_pilot
from dissensus.pipeline.plan.pool import PoolSettings, plan_pool
from dissensus.pipeline.plan.precision import plan_precision
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.pipeline.plan.shipped_presets import load_pilot
from dissensus.report.figure import Figure
from dissensus.report.graphics.theme import COLUMN_WIDTH, TEXT_WIDTH
from dissensus.report.planning.comparison import comparison_power
from dissensus.report.planning.groups import cost_frontier, power_curve
from dissensus.report.planning.pool import pool_cells
from dissensus.report.planning.precision import interval_widths

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reproduce.gallery import lines, picture

PAGES = Path(__file__).resolve().parent.parent / "docs" / "generated"
PICTURES = PAGES.parent / "_static" / "planning"
RATES = CostRates(currency="GBP", hourly_rate=12, minutes_per_item=2)
# Raters of DICES-350 who were not removed, by group, and in all.
GROUPS = {
    "gender": {"Man": 47, "Woman": 57},
    "age": {"gen z": 49, "millenial": 28, "gen x+": 27},
    "race": {"Asian": 21, "Black": 23, "Latine": 22, "Multiracial": 13, "White": 25},
}
KEPT = 104


def write(name: str, lines: list[str]) -> None:
    """Write a table."""
    text = "% Made by `python reproduce/planning.py`; do not edit.\n\n" + "\n".join(lines) + "\n"
    (PAGES / f"planning-{name}.md").write_text(text, encoding="utf-8")


def draw(name: str, figure: Figure) -> None:
    """Write a figure, for wide and for narrow pages, with its reading and notes."""
    for suffix, width in (("", TEXT_WIDTH), ("-narrow", COLUMN_WIDTH)):
        (PICTURES / f"{name}{suffix}.svg").write_text(picture(figure, width), encoding="utf-8")
    text = (
        "\n".join(lines(figure, name))
        .replace("gallery.py", "planning.py")
        .replace("../_static/gallery", "_static/planning")
    )
    (PAGES / f"planning-{name}-figure.md").write_text(text + "\n", encoding="utf-8")


def draw_all() -> None:
    """Draw the figures of the documentation."""
    pilot = load_pilot("dices-350", by="race")
    plan = plan_groups(pilot, GroupPlanSettings(difference=0.1, per_item=20, rates=RATES, simulations=500))
    draw("power", power_curve(plan))
    sizes = cross_sizes(GroupPlanSettings(difference=0.1, rates=RATES, simulations=0), (350,), (4, 10, 20))
    draw("cost", cost_frontier(plan_frontier(pilot, sizes)))
    draw(
        "widths",
        interval_widths(plan_precision(pilot, raters=(20, 50, 100, 200, 400), per_item=(5, 10, 20), n_items=350)),
    )
    axes = {"rater_gender": {"Man": 0.49, "Woman": 0.51}, "rater_age": {"gen z": 0.3, "millenial": 0.4, "gen x+": 0.3}}
    removal = {"Man": 14 / 61, "Woman": 5 / 62}
    draw("pool", pool_cells(plan_pool(PoolSettings(axes=axes, seats=10, dropout=0.1, group_removal=removal))))
    settings = ComparisonSettings(
        perturbation=0.05, budget=2000, rates=RATES, per_item=(1, 2, 5, 10, 20, 50), same_raters=False
    )
    draw("chatbots", comparison_power(plan_comparison(load_pilot("dices-350"), settings)))


def plan_dices() -> list[str]:
    """Return what 104 raters could detect with 350 and 100 items, by group, and how many raters a group needs."""
    lines = [
        "| group | raters | detectable difference | power at .10 | with 100 items | raters for .10 against as many |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for axis, groups in GROUPS.items():
        pilot = load_pilot("dices-350", by=axis)
        need = plan_groups(pilot, GroupPlanSettings(difference=0.1, simulations=0)).smallest
        for group, n in groups.items():
            cells = []
            for n_items in (350, 100):
                settings = GroupPlanSettings(
                    difference=0.1, raters=(n,), others=KEPT - n, n_items=n_items, simulations=0
                )
                cells.append(plan_groups(pilot, settings).designs[0])
            lines.append(
                f"| {group} | {n} | {cells[0].detectable:.3f} | {cells[0].power:.2f} | {cells[1].power:.2f} | {need} |"
            )
    return lines


def plan_quota() -> list[str]:
    """Return designs of a quota campaign: five groups, twenty ratings of an item."""
    pilot = load_pilot("dices-350", by="race")
    lines = ["| raters of a group | power at .10 | simulated | group ± | cost GBP |", "|---|--:|--:|--:|--:|"]
    for n in (20, 40, 60, 80):
        settings = GroupPlanSettings(difference=0.1, raters=(n,), per_item=8, n_items=350, rates=RATES, seed=2)
        design = plan_groups(pilot, settings).designs[0]
        (row,) = plan_precision(pilot, raters=(5 * n,), per_item=(20,), n_items=350, groups=5, rates=RATES).rows
        assert design.simulated is not None
        lines.append(
            f"| {n} | {design.power:.2f} | {design.simulated.power:.2f} [{design.simulated.ci_low:.2f}, "
            f"{design.simulated.ci_high:.2f}] | {row.group_share.raters:.3f} | {row.cost:,.0f} |"
        )
    pool = plan_pool(
        PoolSettings(
            axes={"rater_race": dict.fromkeys(GROUPS["race"], 0.2)},
            seats=60,
            dropout=0.1,
            removal=0.154,
            per_item=20,
            rates=RATES,
        )
    )
    (cell, *_) = pool.cells
    lines += [
        "",
        f"For 60 usable raters of each group with probability .90, {cell.seats} are admitted to each (margin "
        f"{pool.margin_percent} %), and {cell.begun} begin, for {pool.cost:,.0f} GBP; "
        f"{pool.expected_cost:,.0f} GBP are expected.",
    ]
    return lines


def plan_chatbots() -> list[str]:
    """Return designs of a comparison of two chatbots for at most 2,000 pounds."""
    pilot = load_pilot("dices-350")
    lines = [
        "| raters of both responses | ratings of a response | items | power if independent | power with raters who "
        "stay | level if taken for independent |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for same in (True, False):
        settings = ComparisonSettings(
            perturbation=0.05, budget=2000, rates=RATES, per_item=(1, 5, 20), same_raters=same, simulations=1000
        )
        lines += [
            f"| {'the same' if same else 'different'} | {row.per_item} | {row.n_items:,} | "
            f"{row.independent.power:.2f} | {row.stayed.power:.2f} | {row.stayed.false_positives:.2f} |"
            for row in plan_comparison(pilot, settings).rows
        ]
    return lines


def print_presets() -> None:
    """Print the values of the preset, from the ratings of DICES-350."""
    ratings = read_ratings(Path(os.environ["DISSENSUS_DATA"]) / "dices-350" / "ratings.csv")
    print("dirichlet of all 123 raters", measure_pilot(ratings).dirichlet)
    for by in (None, "race", "gender", "age"):
        pilot = measure_pilot(ratings.exclude_flagged(), by=by)
        print(by, pilot.share, pilot.model, pilot.effects)


if __name__ == "__main__":
    if sys.argv[1:] == ["presets"]:
        print_presets()
    else:
        write("dices", plan_dices())
        write("quota", plan_quota())
        write("chatbots", plan_chatbots())
        draw_all()
