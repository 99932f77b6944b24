"""Answers of a simulated campaign agree with its true parameters."""

import json
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from tests.pipeline.campaigns import AGES, GENDERS, items, shares, small

from dissensus.pipeline.analyse import group_divergence
from dissensus.pipeline.simulate import (
    Careless,
    GroupEffects,
    Pool,
    PoolCell,
    SimulatedEffects,
    Simulation,
    cross_axes,
    preset,
    simulate,
)


def predict_answers(simulation: Simulation) -> pl.DataFrame:
    """Return the probability of Yes and of No of each rating, from the truth file alone."""
    truth = json.loads(simulation.truth.to_json())
    raters, items = pl.DataFrame(truth["raters"]), pl.DataFrame(truth["items"])
    rows = (
        simulation.frame.select("rater_id", "item_id", "Q_overall", "rater_gender", "rater_age")
        .join(raters.select("rater_id", "kind", "unsure_width", u="effect"), on="rater_id")
        .join(items.select("item_id", "severity", v="effect"), on="item_id")
        .with_columns(latent=pl.col("u") + pl.col("v"))
    )
    for axis in {group["axis"] for group in truth["groups"]}:
        groups = pl.DataFrame(truth["groups"]).filter(axis=axis)
        effects = pl.DataFrame(truth["group_items"]).filter(axis=axis)
        rows = (
            rows.join(groups.select(pl.col("group").alias(axis), "main", slope="severity"), on=axis)
            .join(effects.select(pl.col("group").alias(axis), "item_id", w="effect"), on=[axis, "item_id"], how="left")
            .with_columns(
                latent=pl.col("latent")
                + pl.col("main")
                + pl.col("slope") * pl.col("severity")
                + pl.col("w").fill_null(0)
            )
            .drop("main", "slope", "w")
        )
    phi = NormalDist().cdf
    p_yes = [phi(value - truth["cut"]) for value in rows["latent"]]
    low = truth["cut"] - truth["width"] * rows["unsure_width"]
    p_no = [phi(cut - value) for cut, value in zip(low, rows["latent"], strict=True)]
    return rows.with_columns(yes=pl.Series(p_yes), no=pl.Series(p_no)).filter(pl.col("kind") == "careful")


def test_the_truth_predicts_the_probability_of_every_answer() -> None:
    """Observed shares in ten bins of the predicted one, each of 700 ratings or more: five standard errors are .095."""
    groups = {
        "rater_age": GroupEffects(main={"gen z": 0.5}, severity={"gen x+": 0.8}, item_sd={"millenial": 0.7}),
        "rater_gender": GroupEffects(main={"Man": -0.4}, item_sd={"Woman": 0.3}),
    }
    campaign = small(items=items(300), effects=SimulatedEffects(groups=groups))
    rows = predict_answers(simulate(campaign, seed=3))
    for answer in ("yes", "no"):
        bins = rows.group_by(bin=(pl.col(answer).rank("ordinal") - 1) * 10 // pl.len())
        table = bins.agg(pl.col(answer).mean(), observed=(pl.col("Q_overall") == answer.title()).mean(), n=pl.len())
        assert min(table["n"]) >= 700
        assert np.abs(table[answer] - table["observed"]).max() < 0.095
        assert np.abs(table[answer] - table["observed"]).mean() < 0.02


def test_effects_have_exactly_the_given_spread() -> None:
    truth = simulate(small(effects=SimulatedEffects(item_sd=0.7, rater_sd=0.4, unsure_sd=1.3)), seed=5).truth
    for effects, sd in ((truth.items["effect"], 0.7), (truth.raters["effect"], 0.4)):
        assert effects.mean() == pytest.approx(0, abs=1e-9)
        assert effects.std(ddof=0) == pytest.approx(sd)
    assert truth.raters["unsure_width"].log().std(ddof=0) == pytest.approx(1.3)


def test_answers_have_the_given_shares() -> None:
    for weights in (
        {"No": 1, "Unsure": 1, "Yes": 1},
        {"No": 3, "Unsure": 0, "Yes": 1},
        {"No": 1, "Unsure": 0, "Yes": 0},
    ):
        simulated = shares(simulate(small(answers=weights), seed=1).frame["Q_overall"])
        assert simulated == pytest.approx(np.array(list(weights.values())) / sum(weights.values()), abs=0.002)


def test_a_group_that_finds_everything_worse_says_yes_more_often() -> None:
    """Without other effects the probits of the shares differ by the effect, here .8; five standard errors are .2."""
    groups = {"rater_gender": GroupEffects(main={"Woman": 0.8})}
    campaign = small(items=items(200), effects=SimulatedEffects(item_sd=0, rater_sd=0, groups=groups))
    frame = simulate(campaign, seed=2).frame
    men, women = (
        frame.group_by("rater_gender").agg((pl.col("Q_overall") == "Yes").mean()).sort("rater_gender").to_series(1)
    )
    assert NormalDist().inv_cdf(women) - NormalDist().inv_cdf(men) == pytest.approx(0.8, abs=0.2)


def test_a_severity_effect_separates_groups_on_severe_items() -> None:
    groups = {"rater_gender": GroupEffects(severity={"Woman": 1.0})}
    campaign = small(items=items(350), effects=SimulatedEffects(groups=groups))
    frame = simulate(campaign, seed=2).frame
    yes_shares = frame.group_by("degree_of_harm", "rater_gender").agg((pl.col("Q_overall") == "Yes").mean())
    table = yes_shares.pivot("rater_gender", index="degree_of_harm", values="Q_overall")
    gap = dict(table.select("degree_of_harm", pl.col("Woman") - pl.col("Man")).iter_rows())
    assert gap["Extreme"] - gap["Benign"] > 0.3


def test_group_effects_raise_the_divergence() -> None:
    estimates = []
    for sd in (0.0, 0.5, 1.0, 2.0):
        groups = {"rater_age": GroupEffects(item_sd=dict.fromkeys(AGES, sd))}
        ratings = simulate(small(effects=SimulatedEffects(groups=groups)), seed=1).ratings()
        estimates.append(group_divergence(ratings, "age").estimate)
    assert estimates == sorted(estimates)
    assert estimates[-1] > estimates[0] + 0.1


def test_severity_and_gold_correlate_with_the_effect_of_an_item() -> None:
    campaign = small(items=items(2000), effects=SimulatedEffects(severity=0.5, gold=0.9), per_item=2)
    truth = simulate(campaign, seed=1).truth.items
    # 2,000 items: five standard errors of a correlation of .5 are .084
    assert truth.select(pl.corr("effect", "severity")).item() == pytest.approx(0.5, abs=0.084)
    order = {name: index for index, name in enumerate(campaign.items.severities)}
    assert truth.sort("severity")["degree_of_harm"].replace_strict(order).is_sorted()
    assert truth["safety_gold"].value_counts()["count"].to_list() == [1000, 1000]
    # halves cut from a score that correlates by .9 have means that are sqrt(2 / pi) × .9 from the middle
    safe, unsafe = truth.group_by("safety_gold").agg(pl.col("effect").mean()).sort("safety_gold")["effect"]
    assert unsafe - safe == pytest.approx(2 * np.sqrt(2 / np.pi) * 0.9 * 0.8, abs=0.08)


def test_speeders_are_the_fast_ones() -> None:
    for seed in range(4):
        simulation = simulate(preset("dices-350"), seed=seed)
        kinds = simulation.truth.raters.select("rater_id", "kind")
        medians = simulation.frame.group_by("rater_id").agg(
            pl.col("answer_time_ms").median(), half=(pl.col("answer_time_ms") < 60_000).mean()
        )
        table = medians.join(kinds, on="rater_id").sort("answer_time_ms")
        assert (table["kind"][:12] == "speeder").sum() >= 10
        assert min(table.filter(kind="speeder")["half"]) > 0.5
        assert table.filter(kind="speeder").height == 12


def test_straight_liners_give_one_answer_and_clickers_any() -> None:
    careless = Careless(straight_liners=3, clickers=2, constancy=0.95)
    simulation = simulate(small(items=items(300), careless=careless), seed=4)
    truth = simulation.truth.raters
    assert truth["kind"].value_counts().sort("kind").rows() == [("careful", 19), ("clicker", 2), ("straight-liner", 3)]
    assert sorted(truth.drop_nulls("answer")["answer"]) == ["No", "No", "Yes"]
    for rater, kind, answer in truth.select("rater_id", "kind", "answer").iter_rows():
        answers = simulation.frame.filter(rater_id=rater)["Q_overall"]
        if kind == "straight-liner":
            assert (answers == answer).mean() >= 0.92
        elif kind == "clicker":
            # five standard errors of 1/3 of 300 ratings are .136
            assert shares(answers) == pytest.approx([1 / 3] * 3, abs=0.136)


def test_careless_raters_are_drawn_first_from_the_cells_that_ask_for_them() -> None:
    cells = cross_axes({"rater_gender": GENDERS, "rater_age": AGES}, raters=4)
    pool_cells = (PoolCell(values=cells[0].values, raters=4, careless=3), *cells[1:])
    for speeders, expected in ((2, 2), (3, 3), (5, 3)):
        pool = Pool(axes=("rater_gender", "rater_age"), cells=pool_cells)
        simulation = simulate(small(pool=pool, careless=Careless(speeders=speeders)), seed=speeders)
        flagged = simulation.ratings().raters.filter("rater_flagged")
        assert flagged.height == speeders
        assert flagged.filter(rater_gender="Man", rater_age="gen z").height >= expected


def test_flagged_raters_are_the_careless_ones() -> None:
    dices = simulate(preset("dices-350"), seed=0)
    ratings = dices.ratings()
    careless = dices.truth.raters.filter(pl.col("kind") != "careful")["rater_id"]
    assert set(ratings.raters.filter("rater_flagged")["rater_id"]) == set(careless)
    assert ratings.exclude_flagged().n_raters == 104


def test_the_truth_as_json_has_all_parameters() -> None:
    dices = simulate(preset("dices-350"), seed=0)
    truth = json.loads(dices.truth.to_json())
    assert truth["schema_version"] == 1
    assert truth["seed"] == 0
    assert truth["campaign"]["careless"] == {
        "speeders": 12, "straight_liners": 6, "clickers": 1, "pace": 0.3, "constancy": 0.99,
        "answers": {"No": 2, "Yes": 1},
    }  # fmt: skip
    assert truth["campaign"]["times"]["start"] == "2022-12-08"
    assert len(truth["campaign"]["pool"]["cells"]) == 30
    assert (len(truth["raters"]), len(truth["items"])) == (123, 350)
    assert {group["group"] for group in truth["group_items"]} == {"LatinX, Latino, Hispanic or Spanish Origin"}
    assert [row["effect"] for row in truth["items"]] == dices.truth.items["effect"].to_list()
