"""Figures of plans: their numbers are those of the plan, and hostile names stay texts."""

import json
import re
from dataclasses import replace
from functools import partial

import pytest

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.comparison import ComparisonSettings, plan_comparison
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.display import pool_plan_page
from dissensus.pipeline.plan.frontier import cross_sizes, plan_frontier
from dissensus.pipeline.plan.groups import plan_groups
from dissensus.pipeline.plan.interim import look_at_ratings
from dissensus.pipeline.plan.pool import PoolSettings, plan_pool
from dissensus.pipeline.plan.precision import plan_precision
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.pipeline.plan.shipped_presets import load_pilot
from dissensus.pipeline.simulate.balanced import simulate_ratings
from dissensus.report.planning.report import Plan, plan_figures, plan_report

DICES = load_pilot("dices-350", by="race")
RATES = CostRates(currency="GBP", hourly_rate=12, minutes_per_item=2)
HOSTILE = "<b>Man & \u202e"


def test_power_is_drawn_beside_its_simulation_and_its_cost() -> None:
    plan = plan_groups(DICES, GroupPlanSettings(difference=0.1, per_item=20, rates=RATES, simulations=45))
    power, cost = plan_figures(plan)
    assert power.table["power"].to_list() == [design.power for design in plan.designs]
    assert power.table["simulated_ci_low"].is_not_null().all()
    assert cost.table["cost"].to_list() == [design.cost for design in plan.designs]
    assert "58 raters per group" in power.reading
    drawn = json.loads(cost.render("json"))
    efficient = [d.cost for d in plan.designs if d.is_efficient]
    line = next(layer for layer in drawn["layer"] if layer["mark"]["type"] == "line")
    assert [row["x"] for row in line["data"]["values"]] == efficient


def test_the_frontier_is_drawn_through_the_designs_of_all_sizes() -> None:
    """No design beats another of the frontier in power for no more money, whatever its size."""
    settings = GroupPlanSettings(difference=0.1, rates=RATES, simulations=0)
    plan = plan_frontier(DICES, cross_sizes(settings, (350,), (4, 20)))
    assert len(plan.designs) == sum(
        len(plan_groups(DICES, replace(settings, per_item=k)).designs) for _, k in plan.sizes
    )
    power, cost = plan_figures(plan)
    drawn = json.loads(cost.render("json"))
    line = next(layer for layer in drawn["layer"] if layer["mark"]["type"] == "line")["data"]["values"]
    frontier = [(row["x"], row["y"]) for row in line]
    assert frontier == sorted((d.cost, d.power) for d in plan.designs if d.is_efficient)
    assert [y for _, y in frontier] == sorted(y for _, y in frontier)
    for design in plan.designs:
        assert any(x <= design.cost and y >= design.power for x, y in frontier)
    assert {d.per_item for d in plan.designs if d.is_efficient} == {4, 20}
    assert "84 raters per group on 350 items with 4 ratings each" in power.reading
    assert cost.reading.endswith("costs 840 GBP: 84 raters per group on 350 items with 4 ratings each.")


def test_widths_shrink_with_raters_in_a_curve_for_each_number_of_ratings() -> None:
    plan = plan_precision(DICES, raters=(20, 100), per_item=(5, 20), n_items=350)
    widths, labels = plan_figures(plan)
    assert widths.table["share_half_width"].to_list() == [row.share.raters for row in plan.rows]
    panels = json.loads(widths.render("json"))["hconcat"]
    assert {row["of"] for row in panels[0]["layer"][1]["data"]["values"]} == {
        "5 ratings of an item",
        "20 ratings of an item",
    }
    assert len(json.loads(widths.render("json", width=317))["vconcat"]) == 3
    assert "With 20 ratings of an item" in labels.reading


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (
            partial(
                plan_comparison,
                DICES,
                ComparisonSettings(n_ratings=200, per_item=(1, 2), simulations=100, perturbation=0.5),
            ),
            "ha(ve|s) most power with raters who stay",
        ),
        (
            partial(look_at_ratings, simulate_ratings(n_items=8, raters_per_cell=2, seed=1), [], by="age"),
            "of 6 intervals have a half-width of 0.05 or less",
        ),
    ],
)
def test_other_plans_have_one_figure(plan: "partial[Plan]", words: str) -> None:
    (figure,) = plan_figures(plan())
    assert re.search(words, figure.reading)
    assert figure.render().startswith(b"<svg")


def test_names_of_cells_stay_texts() -> None:
    plan = plan_pool(PoolSettings(axes={"g": {HOSTILE: 0.4, "Woman": 0.5}}, removal=0.1))
    html = plan_report(plan, pool_plan_page(plan)).to_html()
    assert "Nothing is drawn at random" in html
    assert "<b>Man" not in html
    assert "&lt;b&gt;Man &amp;" in html
    with pytest.raises(InvalidInput, match="PoolSettings is not a plan"):
        plan_report(plan.settings, pool_plan_page(plan))  # type: ignore[arg-type]
