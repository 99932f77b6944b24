"""Designs of simulated campaigns, and impossible settings."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.campaigns import AGES, ANSWERS, items, small, worst_by_hand
from tests.strategies import quick

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.pipeline.simulate import (
    Careless,
    GroupEffects,
    Pool,
    PoolCell,
    SimulatedEffects,
    SimulationDesign,
    Topic,
    cross_axes,
    preset,
    presets,
    simulate,
)
from dissensus.schema.questionnaire.shipped import load_questionnaire


def spread(counts: pl.Series) -> int:
    return int(max(counts) - min(counts))


def test_dices_990_is_balanced_over_items_and_cells_and_raters() -> None:
    frame = simulate(preset("dices-990")).frame
    cell = pl.concat_str("rater_locale", "rater_gender").alias("cell")
    assert set(frame.group_by("item_id").len()["len"]) == {72, 73}
    sizes = dict(frame.unique("rater_id").group_by(cell).len().iter_rows())
    for item, name, n in frame.group_by("item_id", cell).len().iter_rows():
        assert abs(n - 72.83 * sizes[name] / 173) < 1.5, item
    for _, loads in frame.group_by(cell, "rater_id").len().group_by("cell"):
        assert spread(loads["len"]) <= 1


@pytest.mark.slow
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 30), st.floats(0, 1), st.integers(0, 99))
@quick
def test_sparse_designs_are_balanced(sizes: list[int], n_items: int, share: float, seed: int) -> None:
    pool = Pool(axes=("rater_age",), cells=tuple(PoolCell(values=(str(k),), raters=n) for k, n in enumerate(sizes)))
    campaign = small(items=items(n_items), pool=pool, per_item=1 + share * (pool.size - 1))
    frame = simulate(campaign, seed=seed).frame
    assert frame.height == campaign.n_ratings
    replication = dict(frame.group_by("item_id").len().iter_rows())
    assert len(replication) == n_items
    assert max(replication.values()) - min(replication.values()) <= 1
    assert not frame.select("item_id", "rater_id").is_duplicated().any()
    for item, age, n in frame.group_by("item_id", "rater_age").len().iter_rows():
        assert abs(n - replication[item] * sizes[int(age)] / pool.size) < 1
    for (age,), loads in frame.group_by("rater_age", "rater_id").len().group_by("rater_age"):
        idle = sizes[int(str(age))] > loads.height
        assert max(loads["len"]) <= 1 if idle else spread(loads["len"]) <= 1


def test_a_campaign_has_the_given_cells() -> None:
    races = ["White", "Black/African American", "Asian/Asian subcontinent", "Multiracial"]
    cells = cross_axes({"rater_age": AGES, "rater_race": races}, raters=10)
    raters = simulate(small(pool=Pool(axes=("rater_age", "rater_race"), cells=cells))).ratings().raters
    counts = raters.group_by("rater_age", "rater_race").len()
    assert (counts.height, set(counts["len"])) == (12, {10})


def test_an_undrawn_attribute_is_blank() -> None:
    frame = simulate(small()).frame
    assert frame["rater_race"].null_count() == frame.height
    assert set(frame["rater_age"]) == set(AGES)


def test_blank_ratings_keep_their_rows() -> None:
    simulation = simulate(small(missing=0.2), seed=1)
    frame, blank = simulation.frame, simulation.frame["Q_overall"].is_null()
    # 960 ratings: five standard errors of .2 are .065
    assert blank.sum() / 960 == pytest.approx(0.2, abs=0.065)
    for column in frame.select("^Q.*$", "^answer_.*$"):
        assert (column.is_null() == blank).all(), column.name
    assert frame.select("id", "rater_id", "item_id", "rater_age", "context").null_count().sum_horizontal().item() == 0
    assert simulation.ratings().n_ratings == frame.height - blank.sum()


def test_raters_who_drop_out_have_no_ratings_from_then_on() -> None:
    full, reduced = simulate(small(), seed=1), simulate(small(dropout=0.25), seed=1)
    n_ratings = reduced.truth.raters["n_ratings"].to_list()
    assert sum(n < 40 for n in n_ratings) == 6
    assert min(n_ratings) >= 1
    for rater, n in zip(reduced.truth.raters["rater_id"], n_ratings, strict=True):
        items, all_items = (each.frame.filter(rater_id=rater)["item_id"] for each in (reduced, full))
        assert items.equals(all_items[:n])


@pytest.mark.parametrize("name", ["dices-35", "", "nope"])
def test_an_unknown_preset_is_refused(name: str) -> None:
    with pytest.raises(NotFound, match="dices-350"):
        preset(name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: replace(c, missing=1.5), "missing is 1.5"),
        (lambda c: replace(c, dropout=-0.1), "dropout is -0.1"),
        (lambda c: replace(c, dropout=float("nan")), "dropout is nan"),
        (lambda c: replace(c, per_item=25), "per_item is 25"),
        (lambda c: replace(c, per_item=0.5), "per_item is 0.5"),
        (lambda c: replace(c, answers={"No": 0, "Unsure": 1, "Yes": 1}), "No above 0"),
        (lambda c: replace(c, answers={"Yes": 1, "No": 1}), "in this order"),
        (lambda c: replace(c, answers={"No": -1, "Unsure": 1, "Yes": 1}), "A weight of answers is -1"),
        (lambda c: replace(c, questionnaire="dices-35"), "no questionnaire 'dices-35'"),
        (lambda c: replace(c, questionnaire="dices-990"), "among the questions"),
        (lambda c: replace(c, effects=SimulatedEffects(groups={"rater_race": GroupEffects()})), "no axis 'rater_race'"),
        (
            lambda c: replace(c, effects=SimulatedEffects(groups={"rater_age": GroupEffects(main={"gen y": 1})})),
            "gen z",
        ),
        (lambda c: replace(c, careless=Careless(speeders=25)), "25 careless raters"),
        (lambda c: replace(c, careless=Careless(answers={"Maybe": 1})), "'Maybe'"),
        (lambda c: replace(c, items=items(10**6)), "too many to draw at once"),
        (lambda c: items(0), "items.count is 0"),
        (lambda c: replace(c.items, severities={}), "items.severities"),
        (lambda c: replace(c.items, topics=(Topic(name="a", weight=1),), topics_per_item=(1, 1)), "2 topics"),
        (lambda c: replace(c.items, labelled=2), "items.labelled is 2"),
        (lambda c: replace(c.pool, cells=()), "no raters"),
        (lambda c: replace(c.pool, axes=("rater_age",)), "'Man', 'gen z'"),
        (lambda c: cross_axes({"rater_age": AGES}, raters=-1), "The number of raters of gen z is -1"),
        (lambda c: replace(c.pool.cells[0], careless=5), "cannot be careless"),
        (lambda c: replace(c.pool, details=preset("dices-350").pool.details), "no axis 'rater_race'"),
        (lambda c: replace(preset("dices-350").pool, axes=("rater_race", "rater_gender", "rater_age")), "no weights"),
        (lambda c: SimulatedEffects(item_sd=-1), "effects.item_sd is -1"),
        (lambda c: SimulatedEffects(rater_sd=float("inf")), "effects.rater_sd is inf"),
        (lambda c: SimulatedEffects(gold=1.1), "effects.gold is 1.1"),
        (lambda c: GroupEffects(item_sd={"Man": -1}), "item_sd of Man"),
        (lambda c: Careless(pace=0), "careless.pace is 0"),
        (lambda c: Careless(clickers=-1), "careless.clickers is -1"),
        (lambda c: replace(c.times, median_s=0), "times.median_s is 0"),
        (lambda c: replace(c.times, sitting=0), "times.sitting is 0"),
        (lambda c: replace(c.questions, affinity=0.5), "questions.affinity is 0.5"),
        (lambda c: replace(c.questions, weights={"Q4_misinformation": 0}), "questions.weights"),
        (lambda c: replace(c, questions=replace(c.questions, weights={"Q4_misinform": 1})), "Q4_misinformation"),
        (lambda c: simulate(c, seed=-1), "seed is -1"),
    ],
)
def test_impossible_settings_are_refused(change: Callable[[SimulationDesign], object], message: str) -> None:
    with pytest.raises((InvalidInput, NotFound)) as refusal:
        change(small())
    assert message in str(refusal.value)


@st.composite
def campaigns(draw: st.DrawFn) -> SimulationDesign:
    """Small campaigns of any shape."""
    share, deviation = st.floats(0, 1), st.floats(0, 3)
    start = preset(draw(st.sampled_from(presets())))
    cells = tuple(replace(cell, raters=draw(st.integers(1, 4)), careless=0) for cell in start.pool.cells[:4])
    pool = replace(start.pool, cells=cells)
    axis = pool.axes[1]
    effects = SimulatedEffects(
        **{name: draw(deviation) for name in ("item_sd", "rater_sd", "unsure_sd")},
        severity=draw(st.floats(-1, 1)),
        groups={axis: GroupEffects(item_sd={group: draw(deviation) for group in pool.groups(axis)})},
    )
    kinds: dict[str, Any] = {name: draw(st.integers(0, 1)) for name in ("speeders", "straight_liners", "clickers")}
    shares: dict[str, Any] = {name: draw(share) for name in ("labelled", "unsafe", "contexts", "responses")}
    return replace(
        start,
        items=replace(start.items, count=draw(st.integers(1, 12)), **shares),
        pool=pool,
        answers=dict(zip(ANSWERS, (draw(st.floats(0.01, 1)), draw(share), draw(share)), strict=True)),
        effects=effects,
        careless=Careless(**kinds, constancy=draw(share)),
        times=draw(st.sampled_from([None, start.times])),
        per_item=draw(st.none() | st.floats(1, pool.size)),
        dropout=draw(share),
        missing=draw(st.floats(0, 0.9)),
    )


def check_simulation(campaign: SimulationDesign, seed: int) -> None:
    simulation = simulate(campaign, seed=seed)
    frame, questionnaire = simulation.frame, load_questionnaire(campaign.questionnaire)
    assert tuple(frame.columns) == questionnaire.columns
    assert 1 <= frame.height <= campaign.n_ratings
    answers = frame.filter(pl.col("Q_overall").is_not_null())
    for overall, questions in questionnaire.overalls.items():
        assert answers[overall].to_list() == worst_by_hand(answers, questions)
    assert simulation.truth.raters["n_ratings"].sum() == frame.height
    assert not frame.unique("item_id").select("context", "response").is_duplicated().any()
    assert json.loads(simulation.truth.to_json())["seed"] == seed


@pytest.mark.slow
@given(campaigns(), st.integers(0, 2**32))
@quick
def test_any_campaign_is_complete(campaign: SimulationDesign, seed: int) -> None:
    check_simulation(campaign, seed)


PARTS = ("items", "effects", "careless", "times", "questions", None)
NUMBERS = (-1, 0, 1e-300, 0.5, 1, 2, 7.5, 10**7, 10**30, 1e300, float("nan"), float("inf"))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("number", NUMBERS)
def test_any_number_in_any_setting_is_simulated_or_refused_with_a_message(part: str | None, number: float) -> None:
    start = small(items=items(6), per_item=3)
    section = start if part is None else getattr(start, part)
    for name in (field.name for field in fields(section) if isinstance(getattr(section, field.name), (int, float))):
        try:
            setting: Any = replace(section, **{name: number})
            campaign: SimulationDesign = setting if part is None else replace(start, **{part: setting})
        except DissensusError as refusal:
            message = str(refusal)
        else:
            check_simulation(campaign, 0)
            continue
        assert any(word in message for word in (name, str(number), "too many")), message
