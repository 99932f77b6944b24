"""Plans: pilots, designs, cost, and what is refused."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from tests.pipeline.tables import simulate_frame

from dissensus.campaign.pay import compute_owed
from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.plan.balance import split_ratings
from dissensus.pipeline.plan.comparison import ComparisonSettings, plan_comparison
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.display import interim_page
from dissensus.pipeline.plan.group_designs import build_design, list_sizes
from dissensus.pipeline.plan.groups import plan_groups
from dissensus.pipeline.plan.interim import InterimLook, WatchedAnswer, look_at_ratings, look_at_shares
from dissensus.pipeline.plan.pilot import Pilot, measure_pilot
from dissensus.pipeline.plan.pool import PoolSettings, plan_pool
from dissensus.pipeline.plan.pool_parser import parse_removal
from dissensus.pipeline.plan.precision import plan_precision
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.pipeline.plan.shipped_presets import load_pilot
from dissensus.pipeline.simulate.balanced import simulate_ratings
from dissensus.schema.campaign.definition import Pay
from dissensus.schema.campaign.quota import Quota
from dissensus.schema.ratings.table import Ratings

RATES = CostRates(currency="GBP", hourly_rate=12, minutes_per_item=1.5)


@pytest.fixture(scope="module")
def dices() -> Pilot:
    return load_pilot("dices-350", by="race")


def settings(**changes: Any) -> GroupPlanSettings:
    return GroupPlanSettings(**{"difference": 0.1, "simulations": 0, **changes})


def test_a_pilot_recovers_the_standard_deviations_it_was_drawn_with() -> None:
    ratings = simulate_ratings(n_items=70, raters_per_cell=5, item_sd=0.75, rater_sd=0.65, group_sd=0.4, seed=4)
    pilot = measure_pilot(ratings, by="age")
    assert {effect.name: effect.sd for effect in pilot.effects} == pytest.approx(
        {"rater": 0.65, "item": 0.75, "group × item": 0.4}, abs=0.15
    )
    assert all(effect.ci_low < effect.sd < effect.ci_high for effect in pilot.effects)  # type: ignore[operator]
    assert (pilot.answer, pilot.n_raters, pilot.n_items) == ("Yes", 30, 70)
    assert pilot.groups is not None
    assert sum(pilot.groups.values()) / 3 == pytest.approx(pilot.share)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (pl.col("rater_id") < "rater-002", "The pilot has 2 raters, .* The least that works is 8"),
        (pl.col("item_id") < "item-003", "The pilot has 3 items"),
        (pl.col("Q_overall") == "No", "Choose another answer with --share-of"),
    ],
)
def test_a_pilot_that_determines_nothing_is_refused(where: pl.Expr, words: str) -> None:
    frame = simulate_frame(2)
    with pytest.raises(InvalidInput, match=words):
        measure_pilot(Ratings.from_frame(frame.filter(where), categories=["No", "Unsure", "Yes"]))


def test_a_pilot_whose_raters_answer_by_chance_is_refused() -> None:
    """Without an interval of the standard deviation of raters, every power would be too high."""
    rng = np.random.default_rng(1)
    rows = [
        {"rater_id": f"r{r}", "item_id": f"i{i}", "Q_overall": str(rng.choice(["No", "Yes"]))}
        for r in range(10)
        for i in range(8)
    ]
    with pytest.raises(UndefinedEstimate, match="does not determine how much raters differ"):
        measure_pilot(Ratings.from_frame(pl.DataFrame(rows), categories=["No", "Yes"]))


def test_small_pilots_are_warned_of() -> None:
    pilot = measure_pilot(simulate_ratings(n_items=30, raters_per_cell=4, item_sd=0.75, rater_sd=0.65, seed=4))
    assert "The pilot has 24 raters" in pilot.warnings[0]


def test_the_smallest_design_reaches_the_power_and_one_rater_less_does_not(dices: Pilot) -> None:
    plan = plan_groups(dices, settings(n_items=100, per_item=10))
    assert plan.smallest is not None
    around = plan_groups(dices, settings(n_items=100, per_item=10, raters=(plan.smallest - 1, plan.smallest)))
    below, reached = (design.power for design in around.designs)
    assert below is not None
    assert reached is not None
    assert below < 0.8 <= reached
    assert around.designs[1].detectable == pytest.approx(0.1, abs=0.001)


def test_unequal_groups_split_the_ratings_of_an_item_by_their_raters(dices: Pilot) -> None:
    (design,) = plan_groups(dices, settings(raters=(25,), others=79, per_item=12)).designs
    assert (design.n_raters, design.per_item, design.items_per_rater) == (104, 12, 350 * 3 / 25)


@pytest.mark.parametrize(
    ("changes", "smallest"),
    [
        # With 380 raters the others have one rating of an item, and less power.
        ({"difference": 0.15, "power": 0.87, "per_item": 10, "others": 20}, 99),
        ({"difference": 0.25, "power": 0.95, "n_items": 50, "per_item": 5, "others": 30}, 37),
        # 800 raters would be most with a rating of the others, and 20 items have fewer ratings.
        ({"difference": 0.3, "n_items": 20, "per_item": 10, "others": 40}, 9),
        # Degrees of freedom fall towards those of three raters.
        ({"difference": 0.3, "power": 0.45, "others": 3}, 7),
    ],
)
def test_the_smallest_group_is_found_where_power_falls_with_more_raters(changes: dict[str, Any], smallest: int) -> None:
    pilot = load_pilot("dices-350", by="gender")
    plan = plan_groups(pilot, settings(**changes))
    assert plan.smallest == smallest
    listed = plan_groups(pilot, settings(**changes, raters=(smallest - 1, smallest)))
    below, reached = (design.power for design in listed.designs)
    assert below < plan.settings.power <= reached  # type: ignore[operator]
    assert listed.smallest == smallest


@pytest.mark.parametrize(
    ("per_item", "others", "n_items"), [(10, 40, 20), (4, 7, 3), (5, None, 9), (7, 3, 350), (3, 2, 1)]
)
def test_sizes_are_all_numbers_of_raters_that_have_a_design(per_item: int, others: int | None, n_items: int) -> None:
    def is_possible(n: int) -> bool:
        try:
            return build_design(chosen, 0.3, n).n_raters > 0
        except InvalidInput:
            return False

    chosen = settings(per_item=per_item, others=others, n_items=n_items)
    sizes = list_sizes(chosen)
    assert [n for numbers in sizes for n in numbers] == [n for n in range(2, 250) if is_possible(n)]
    splits = [{build_design(chosen, 0.3, n).cells[1].per_item for n in (numbers[0], numbers[-1])} for numbers in sizes]
    assert [len(split) for split in splits] == [1] * len(sizes)


@pytest.mark.parametrize(("sizes", "refused", "enough"), [((10, 90), 4, 5), ((2, 6, 6), 4, 5), ((2, 2), 1, 2)])
def test_the_next_number_of_ratings_gives_every_group_one(sizes: Sequence[int], refused: int, enough: int) -> None:
    with pytest.raises(InvalidInput, match=f"Give {enough}, the next number"):
        split_ratings(refused, sizes)
    assert min(split_ratings(enough, sizes)) == 1


def test_an_interaction_needs_more_raters_than_a_difference(dices: Pilot) -> None:
    numbers = [plan_groups(dices, settings(statistic=name)).smallest for name in ("share", "interaction")]
    assert numbers[0] is not None
    assert numbers[1] is not None
    assert numbers[0] * 1.8 < numbers[1] < numbers[0] * 2.2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"difference": 0.7}, "A share of 0.33 cannot be higher by 0.70; at most 0.67 remain"),
        (
            {"difference": 0.01, "per_item": 4, "n_items": 20},
            r"No number of raters detects .* or a difference of 0\.27",
        ),
        ({"raters": (10,), "per_item": 1}, "With 1 rating of an item a group would have none. Give 2, the next number"),
        ({"per_item": 1}, "No number of raters is possible with 350 items with 1 rating each: .* Plan 2 ratings of an"),
        ({"per_item": 10, "n_items": 20, "others": 400}, "against 400 other raters: every rater needs .* 45 items or"),
        ({"raters": (5,), "per_item": 12}, "12 ratings of an item cannot come from 10 raters"),
        ({"difference": 0}, "smallest difference that matters"),
        ({"statistic": "gai", "simulations": 50, "difference": -0.1}, "for gai give its size, above 0"),
        ({"statistic": "decomposition"}, "comes from simulations alone"),
        ({"others": 5, "statistic": "interaction"}, "four cells of one size"),
        (
            {"difference": 0.0001},
            r"a difference of 0\.0001 on 350 items: .* with 100,000 raters per group\. .* a difference of 0\.00",
        ),
        ({"difference": 0.2, "n_items": 30, "others": 2}, r"against 2 other raters: .* Plan \d+ raters compared with"),
        (
            {"difference": 0.15, "power": 0.95, "per_item": 10, "others": 20},
            "10 ratings each, against 20 other raters: the largest power is 0.88, with 113 raters per group",
        ),
        ({"statistic": "alpha", "simulations": 50, "level": 0.0005}, "Give 4,445 or more"),
        ({"statistic": "gai", "simulations": 50, "per_item": 10}, "holds where every rater rates every item"),
        ({"statistic": "agreement", "simulations": 50}, r"agreement of a group is 0\.6\d+ .* and 0\.100 was asked"),
        ({"simulations": 40}, "40 simulations are too few for a level of 0.05: .* Give 45 or more"),
    ],
)
def test_impossible_plans_say_what_would_work(dices: Pilot, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        plan_groups(dices, settings(**changes))


def test_effects_on_items_do_not_count_as_power() -> None:
    """A difference of a tenth of a point is not found on ten items; where items alone reject, the plan warns."""
    pilot = load_pilot("dices-350", by="age")
    with pytest.raises(InvalidInput, match=r"detects a difference of 0\.001 on 10 items: .* a difference of 0\.01"):
        plan_groups(pilot, settings(difference=0.001, n_items=10))
    plan = plan_groups(pilot, settings(difference=0.02, n_items=10, raters=(20, 40_000)))
    assert plan.designs[1].null_rate > 0.5  # type: ignore[operator]
    assert any("even if groups do not differ over all items" in note for note in plan.notes)
    assert plan.designs[0].null_rate == pytest.approx(0.05, abs=0.005)


def test_differences_have_a_sign() -> None:
    """.95 and .85 can be compared, as .05 and .15 are."""
    low, high = (
        plan_groups(load_pilot("dices-350"), settings(share=share, difference=difference, raters=(40,))).designs[0]
        for share, difference in ((0.95, -0.1), (0.05, 0.1))
    )
    assert low.power == pytest.approx(high.power)
    assert low.detectable == pytest.approx(-high.detectable)  # type: ignore[operator]


@pytest.mark.parametrize("per_item", [None, 8])
def test_an_interaction_is_not_said_to_be_tested_by_analyse(dices: Pilot, per_item: int | None) -> None:
    notes = " ".join(plan_groups(dices, settings(statistic="interaction", per_item=per_item)).notes)
    assert "Test the interaction by dissensus model" in notes
    assert "Power is that of the test of analyse" not in notes
    assert "the simulated power holds" not in notes
    assert "the level 0.05/m" in notes


def test_presets_name_what_they_know() -> None:
    with pytest.raises(NotFound, match="There is no preset 'dices-35'; there are 'dices-350'"):
        load_pilot("dices-35")
    with pytest.raises(InvalidInput, match="Axes are 'race', 'gender'"):
        load_pilot("dices-350", by="education")


def test_cost_is_that_of_the_platform() -> None:
    """Time is paid in steps of five minutes, as `compute_owed` pays it."""
    for n_items in (1, 13, 20, 37):
        pay = Pay(currency="GBP", hourly_rate=1200)
        owed = compute_owed(pay, round((5 + 1.5 * n_items) * 60_000))
        assert RATES.money(n_items, n_raters=1) == pytest.approx(owed / 100)


def test_raters_who_finish_get_at_least_their_least_pay_and_the_recruiter_a_fee() -> None:
    """Twenty items take 35 minutes: 7.00, of which a fifth more goes to the recruiter."""
    assert RATES.minutes(20) == 35
    for finished, pay in ((0, 7), (7, 7), (8, 8)):
        rates = replace(RATES, finished=finished, fee_percent=20)
        assert rates.money(20, n_raters=3) == pytest.approx(3 * pay * 1.2)


def test_efficient_designs_have_no_better_one_for_less_money(dices: Pilot) -> None:
    plan = plan_groups(dices, settings(per_item=20, rates=RATES))
    efficient = [design for design in plan.designs if design.is_efficient]
    assert 1 < len(efficient) < len(plan.designs)
    for design in plan.designs:
        better = [d for d in efficient if d.cost <= design.cost and d.power >= design.power]  # type: ignore[operator]
        assert design in efficient or better
    with pytest.raises(InvalidInput, match="'pounds' is not a currency code"):
        replace(RATES, currency="pounds")


def test_json_has_settings_population_and_designs(dices: Pilot) -> None:
    plan = json.loads(plan_groups(dices, settings(raters=(20,), simulations=45)).to_json())
    assert (plan["schema_version"], plan["question"]) == (1, "groups")
    assert plan["pilot"]["model"] == {"rater_sd": 0.689, "item_sd": 0.764, "group_item_sd": 0.076}
    assert plan["designs"][0]["simulated"]["n_simulations"] == 45


def test_precision_depends_on_people_more_than_on_ratings(dices: Pilot) -> None:
    rows = plan_precision(dices, raters=(50, 100), per_item=(10, 50), n_items=350, groups=5).rows
    few, many, others, all_more = rows
    assert [(row.n_raters, row.per_item) for row in rows] == [(50, 10), (50, 50), (100, 10), (100, 50)]
    assert many.share.raters > 0.9 * few.share.raters
    assert others.share.raters < 0.8 * few.share.raters
    assert others.difference.raters > others.group_share.raters > others.share.raters
    assert others.share.both > others.share.raters
    assert few.item == others.item
    assert all_more.item.half_width < few.item.half_width
    for changes, words in (({"raters": ()}, "no number of raters"), ({"per_item": (0,)}, "per_item is 0")):
        with pytest.raises(InvalidInput, match=words):
            plan_precision(dices, **{"raters": (50,), "per_item": (5,), "n_items": 350, **changes})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Plan 10 raters or more for 5 groups"):
        plan_precision(dices, raters=(8,), per_item=(), n_items=350, groups=5)


DICES_POOL = {
    "rater_gender": {"Man": 0.49, "Woman": 0.5},
    "rater_age": {"gen z": 0.3, "millenial": 0.4, "gen x+": 0.3},
}


def test_seats_leave_enough_raters_of_every_cell_in_simulated_campaigns() -> None:
    """The probability of the plan, and that of an open call, hold in drawn removals and drawn people."""
    settings = PoolSettings(
        axes=DICES_POOL, dropout=0.1, removal=0.1, group_removal={"Man": 0.23}, rates=RATES, per_item=20
    )
    plan = plan_pool(settings)
    rng, n = np.random.default_rng(0), 20_000
    remaining = np.array([rng.binomial(cell.seats, 1 - cell.removal, n) for cell in plan.cells])
    assert (remaining >= 10).all(axis=0).mean() == pytest.approx(plan.confidence, abs=0.01)
    shares = [cell.share * 0.9 for cell in plan.cells]
    people = rng.multinomial(plan.open_call, [*shares, 1 - sum(shares)], n)[:, :-1]
    seats = np.array([cell.seats for cell in plan.cells])
    assert (people >= seats).all(axis=1).mean() == pytest.approx(plan.open_call_confidence, abs=0.01)
    assert plan.open_call_confidence >= 0.9
    quota = plan.campaign["quota"]
    assert (plan.campaign["replication"], quota["seats"], quota["margin_percent"]) == (20, min(seats), 0)
    assert [cell["seats"] for cell in quota["cells"]] == [max(seats)] * 3
    dropped = rng.negative_binomial(seats, 0.9, (n, len(seats))).sum(axis=1).mean()
    load = 350 * 20 / (seats.sum() + plan.rest_seats)
    assert plan.expected_cost == pytest.approx(
        RATES.money(load, seats.sum() + plan.rest_seats) + RATES.money(load / 2, dropped), rel=0.005
    )
    assert plan.expected_cost < plan.cost  # type: ignore[operator]
    assert quota["axes"]["rater_gender"] == {"Man": ["Man"], "Woman": ["Woman"]}


def test_people_outside_all_groups_who_drop_out_cost_money() -> None:
    settings = PoolSettings(axes={"rater_gender": {"Man": 0.2, "Woman": 0.1}}, seats=60, dropout=0.3, rates=RATES)
    plan = plan_pool(settings)
    dropped = sum(cell.begun - cell.seats for cell in plan.cells) + plan.rest_seats * 0.3 / 0.7
    assert plan.rest_seats == 280
    assert plan.cost == pytest.approx(RATES.money(350, 120 + 280) + RATES.money(175, dropped), abs=0.01)
    assert plan.cost > plan.expected_cost  # type: ignore[operator]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"axes": {"a": {"x": 0.6, "y": 0.5}}}, "The shares of a add up to 1.100"),
        ({"axes": {"a": {"x": -0.1, "y": 0.5}}}, "The share of x in a is -0.1"),
        ({"axes": {}}, "There is no axis"),
        ({"group_removal": {"Men": 0.2}}, "no group 'Men'.* Did you mean 'Man'"),
        ({"group_removal": {"Man": 0.2, "gen z": 0.1}}, "groups of two axes, so that a cell has two"),
        ({"group_removal": {"Man": 0.2, "rater_gender.Man": 0.1}}, "A group has two rates"),
        ({"axes": {"a": {"x": 0.5}, "b": {"x": 0.5}}, "group_removal": {"x": 0.1}}, r"Write 'a\.x', 'b\.x'"),
        ({"axes": {name: {name: 0.9} for name in "abcde"}}, "There are 5 axes"),
        ({"axes": {"a": {"x": 0.5, "y": 0.5}}, "per_item": 50}, "50 ratings of an item cannot come from 21 raters"),
        ({"axes": {"a": {}}}, "a has no groups"),
        ({"axes": {"a": {"x": 1e-6, "y": 0.5}}}, "A cell is too rare"),
    ],
)
def test_pools_that_cannot_be_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        plan_pool(PoolSettings(**{"axes": DICES_POOL, **changes}))


def test_a_rate_of_removal_without_a_group_is_refused() -> None:
    assert parse_removal(["0.15", "Man=0.23"]) == (0.15, {"Man": 0.23})
    with pytest.raises(InvalidInput, match=r"'=0\.2' names no group"):
        parse_removal(["=0.2"])


def test_seats_of_a_pool_are_those_of_its_quota() -> None:
    """The rest has the margin, too; and the chance is that of people who begin, drawn."""
    plan = plan_pool(PoolSettings(axes={"g": {"Man": 0.3, "Woman": 0.3}}, seats=30, dropout=0.2, removal=0.2))
    quota = Quota(axes={"g": {"Man": ("Man",), "Woman": ("Woman",)}}, seats=30, rest=plan.rest)
    capacities = replace(quota, margin_percent=plan.margin_percent).capacities
    assert [*(cell.seats for cell in plan.cells), plan.rest_seats] == list(capacities.values())
    assert plan.confidence >= 0.9
    smaller = replace(quota, margin_percent=plan.margin_percent - 1).capacities["Man"]
    assert binom.sf(29, smaller, 0.8) ** 2 < 0.9
    rng, cell = np.random.default_rng(2), plan.cells[0]
    seated = np.minimum(rng.binomial(cell.begun, 0.8, 40_000), cell.seats)
    assert (rng.binomial(seated, 0.8) >= 30).mean() == pytest.approx(cell.chance_begun, abs=0.01)


def test_a_budget_buys_raters_and_they_items(dices: Pilot) -> None:
    settings = ComparisonSettings(budget=200, per_item=(1, 4), load=20, rates=RATES, simulations=200, perturbation=0.1)
    plan = plan_comparison(dices, settings)
    assert [(row.n_raters, row.n_items, row.n_ratings) for row in plan.rows] == [(28, 280, 560), (28, 70, 560)]
    assert plan.rows[0].cost == pytest.approx(196)
    assert plan.best in (1, 4)
    assert plan.rater_share == pytest.approx(0.689**2 / (0.689**2 + 0.076**2 + 1))


@pytest.mark.parametrize(
    ("rates", "budget", "n_raters"),
    [
        # 4.1666… a rater: 120 cost exactly 500.
        ({"hourly_rate": 10, "minutes_per_item": 1}, 500, 120),
        ({"hourly_rate": 12.21, "minutes_per_item": 1, "fee_percent": 5.1}, 5000, 935),
        ({"hourly_rate": 12, "minutes_per_item": 1.5}, 48.99, 6),
        ({"hourly_rate": 12, "minutes_per_item": 1.5}, 49, 7),
    ],
)
def test_a_budget_pays_as_many_raters_as_it_covers(rates: dict[str, float], budget: float, n_raters: int) -> None:
    paid = CostRates(currency="GBP", **rates)
    assert ComparisonSettings(budget=budget, rates=paid).n_raters == n_raters
    assert paid.money(20, n_raters) <= budget < paid.money(20, n_raters + 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budget": 3, "rates": RATES}, "is below one seat: a rater with 20 answers costs 7.00 GBP"),
        ({"budget": 20}, "Give the pay of an hour"),
        ({}, "Give either a budget or a number of ratings"),
        ({"n_ratings": 100, "per_item": ()}, "no number of ratings of a response"),
        ({"n_ratings": 100, "per_item": (10,)}, "10 ratings of a response cannot come from 5 raters"),
        (
            {"n_ratings": 20, "load": 1, "per_item": (15,)},
            "20 answers are fewer than the 30 for 15 ratings",
        ),
    ],
)
def test_budgets_that_buy_nothing_are_refused(dices: Pilot, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        plan_comparison(dices, ComparisonSettings(**changes))


def look(sizes: Sequence[int], half_width: float) -> InterimLook:
    """A look at groups of some sizes, whose raters have any share."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return look_at_shares(
        np.random.default_rng(1).random(codes.size),
        codes,
        [f"g{n}" for n in range(len(sizes))],
        watched_answer=WatchedAnswer(question="Q", answer="Yes", axis="g"),
        half_width=half_width,
    )


def test_a_wide_difference_keeps_a_campaign_open() -> None:
    """Shares within the half-width do not suffice; raters of the smaller group narrow the difference."""
    shares = look((100, 80), 0.1)
    assert [(row.group, row.against, row.is_reached) for row in shares.rows] == [
        ("g0", None, True),
        ("g1", None, True),
        ("g0", "g1", False),
    ]
    assert shares.advice[0].startswith("Next raters: of g1, as the interval of g0 − g1 is the widest (±0.")
    assert "of g0 and g1, as" in look((80, 80), 0.1).advice[0]
    assert look((100, 80), 0.5).advice == ("All intervals are within ±0.5: the campaign may stop.",)


def test_a_look_compares_the_largest_groups_alone() -> None:
    many = look((*[2] * 11, 3, 1), 0.1)
    differences = [row for row in many.rows if row.against is not None]
    assert (len(many.rows) - len(differences), len(differences), many.n_uncompared) == (13, 45, 3)
    assert {"g11"} < {name for row in differences for name in (row.group, row.against)}
    assert "The largest 10 groups are compared; 3 more are not." in str(interim_page(many).grids[0].caption)


def test_a_look_says_how_many_raters_have_no_known_group() -> None:
    frame = simulate_frame(2)
    first = pl.col("rater_id") == frame["rater_id"][0]
    partly = Ratings.from_frame(frame.with_columns(rater_race=pl.when(~first).then(pl.col("rater_race"))))
    found = look_at_ratings(partly, [], by="race")
    assert found.n_unknown == 1
    assert sum(row.n_raters for row in found.rows if row.against is None) == partly.n_raters - 1
    assert "Left out: 1 rater of unknown group on rater_race." in interim_page(found).notes
    assert look_at_ratings(partly, []).n_unknown == 0


def test_a_look_at_an_axis_without_known_groups_is_refused() -> None:
    frame = simulate_frame(2).with_columns(rater_race=pl.lit(None, pl.String))
    with pytest.raises(InvalidInput, match="No rater has a known group on 'rater_race'"):
        look_at_ratings(Ratings.from_frame(frame), [], by="race")


def test_an_order_that_lacks_raters_is_refused() -> None:
    ratings = Ratings.from_frame(simulate_frame(2))
    order = ratings.raters["rater_id"].to_list()
    assert look_at_ratings(ratings, order).rows[0].n_raters == len(order)
    with pytest.raises(InvalidInput, match=f"raters finished lacks {order[0]!r}. Give every rater a place"):
        look_at_ratings(ratings, order[1:])
