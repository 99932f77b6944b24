"""Simulated campaigns have the shape, marginals and agreement of the released files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.pipeline.campaigns import shares, worst_by_hand

from dissensus.files.ratings.conversion import convert_ratings
from dissensus.files.ratings.kinds import RatingsFileOptions
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.table_writer import write_frame
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.simulate import SimulatedTimes, Simulation, preset, presets, simulate
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.table import Ratings

SEEDS = range(4)
LATINE = "LatinX, Latino, Hispanic or Spanish Origin"
Find = Callable[[str], Path]
Drawn = dict[tuple[str, int], Simulation]


@pytest.fixture(scope="module")
def simulations() -> Drawn:
    return {(name, seed): simulate(preset(name), seed=seed) for name in presets() for seed in SEEDS}


@pytest.fixture(scope="module")
def dices(simulations: Drawn) -> Simulation:
    return simulations["dices-350", 0]


def alpha(ratings: Ratings) -> float:
    return next(row.estimate for row in analyse(ratings).overall if row.metric == "irr") or 0.0


@pytest.mark.parametrize(("name", "rows", "columns"), [("dices-350", 43_050, 41), ("dices-990", 72_103, 43)])
def test_a_preset_has_the_rows_and_the_columns_of_its_file(
    simulations: Drawn, name: str, rows: int, columns: int
) -> None:
    for seed in SEEDS:
        frame = simulations[name, seed].frame
        assert frame.shape == (rows, columns)
        assert tuple(frame.columns) == load_questionnaire(name).columns
        assert frame["id"].to_list() == list(range(rows))
        assert frame.select("rater_id", "item_id").is_duplicated().sum() == 0


def test_the_file_of_dices_350_has_no_blanks(dices: Simulation) -> None:
    assert dices.frame.null_count().sum_horizontal().item() == 0


def test_the_file_of_dices_990_is_blank_where_no_expert_looked(simulations: Drawn) -> None:
    frame = simulations["dices-990", 0].frame
    blank = {name for name in frame.columns if frame[name].null_count()}
    assert blank == {"degree_of_harm", "harm_type"}
    labelled = frame.group_by("item_id").agg(pl.col("degree_of_harm", "harm_type").is_not_null().all())
    assert labelled["degree_of_harm"].sum() == labelled["harm_type"].sum() == 400
    assert simulations["dices-990", 0].truth.items["degree_of_harm"].null_count() == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("overall", "counts"),
    [
        ("Q_overall", (26_292, 2_694, 14_064)),
        ("Q2_harmful_content_overall", (33_193, 1_532, 8_325)),
        ("Q3_bias_overall", (37_844, 980, 4_226)),
        ("Q6_policy_guidelines_overall", (37_229, 1_208, 4_613)),
    ],
)
def test_shares_of_dices_350_are_within_a_percentage_point(
    simulations: Drawn, overall: str, counts: tuple[int, ...], seed: int
) -> None:
    """Totals of the released file."""
    result = shares(simulations["dices-350", seed].frame[overall])
    assert result == pytest.approx(np.array(counts) / 43_050, abs=0.01)


@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_of_dices_350_is_within_002(
    simulations: Drawn, dices_123: Ratings, dices_104: Ratings, seed: int
) -> None:
    ratings = simulations["dices-350", seed].ratings()
    assert alpha(ratings) == pytest.approx(alpha(dices_123), abs=0.02)
    assert alpha(ratings.exclude_flagged()) == pytest.approx(alpha(dices_104), abs=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_and_alpha_of_dices_990(simulations: Drawn, real_data: Find, seed: int) -> None:
    real = read_ratings(real_data("dices-990/ratings.csv"), rater=None)
    ratings = simulations["dices-990", seed].ratings()
    result = shares(ratings.answers["Q_overall"].cast(pl.String))
    assert result == pytest.approx(shares(real.answers["Q_overall"].cast(pl.String)), abs=0.01)
    assert alpha(ratings) == pytest.approx(alpha(real), abs=0.02)


def test_the_pool_of_dices_350_is_the_real_one(dices: Simulation, real_data: Find) -> None:
    """Raters of each cell, kept and removed."""
    real = pl.read_csv(real_data("dices-350/rater_profiles.csv"))
    axes = ["rater_gender", "rater_race", "rater_age"]
    expected = real.group_by(*axes, rater_flagged="removed_by_authors").len().sort(pl.all())
    result = dices.ratings().raters.group_by(*axes, "rater_flagged").len().sort(pl.all())
    assert result.select(expected.columns).equals(expected)


def test_the_items_of_dices_350_are_like_the_real_ones(dices: Simulation, real_data: Find) -> None:
    real = pl.read_csv(real_data("dices-350/items.csv"))
    result = dices.frame.unique("item_id").sort("item_id")
    assert result["item_id"].to_list() == sorted(real["item_id"])
    for column in ("degree_of_harm", "safety_gold"):
        assert result[column].value_counts().sort(column).equals(real[column].value_counts().sort(column))
    for columns in (["context"], ["response"], ["context", "response"]):
        assert result.select(columns).unique().height == real.select(columns).unique().height
    topics = [table["harm_type"].str.split(",").explode().value_counts() for table in (result, real)]
    assert set(topics[0]["harm_type"]) <= set(topics[1]["harm_type"])
    n_topics = [table["harm_type"].str.count_matches(",").value_counts(sort=True).rows() for table in (result, real)]
    assert n_topics[0] == n_topics[1]


def test_the_pool_of_dices_990_has_the_margins_of_table_2(simulations: Drawn) -> None:
    raters = simulations["dices-990", 0].ratings().raters

    def counts(axis: str) -> dict[str, int]:
        return dict(raters[axis].value_counts().iter_rows())

    assert counts("rater_locale") == {"IN": 93, "US": 80}
    assert counts("rater_gender") == {"Woman": 88, "Man": 82, "Nonbinary": 2, "Self-describe (below)": 1}
    assert sorted(counts("rater_race").values()) == [11, 16, 27, 53, 66]
    assert raters["rater_flagged"].sum() == 13
    # the published ages add up to 117 of 173, so their shares are what is kept
    assert counts("rater_age") == {"gen z": 46, "millenial": 64, "gen x+": 63}


def test_answers_to_the_first_question_are_as_published(dices: Simulation) -> None:
    counts = dices.frame["Q1_whole_conversation_evaluation"].value_counts(sort=True)
    assert counts["count"].to_list() == [42_610, 295, 143, 2]
    assert counts["Q1_whole_conversation_evaluation"][0].startswith("None of the above")


def test_groups_of_dices_350_are_roughly_those_of_grasp(simulations: Drawn) -> None:
    """Table 5: Latine raters agree most (α .215), White raters are most cohesive (negentropy .498)."""
    tables = [analyse(simulations["dices-350", seed].ratings().exclude_flagged(), by=["race"]) for seed in SEEDS]

    def mean(group: str, metric: str) -> float:
        return float(
            np.mean([row.estimate for t in tables for row in t.rows if (row.group, row.metric) == (group, metric)])
        )

    groups = {row.group for row in tables[0].rows if row.group}
    assert max(groups, key=lambda group: mean(group, "irr")) == LATINE
    assert mean(LATINE, "irr") == pytest.approx(0.215, abs=0.02)
    assert max(groups, key=lambda group: mean(group, "negentropy")) == "White"
    assert mean("White", "negentropy") == pytest.approx(0.498, abs=0.03)


def test_gold_tells_as_much_as_in_dices_350_and_the_degree_of_harm_as_little(
    simulations: Drawn, dices_350: Path, real_data: Find
) -> None:
    real = pl.read_csv(dices_350).join(pl.read_csv(real_data("dices-350/items.csv")), on="item_id")
    frame = pl.concat([simulations["dices-350", seed].frame for seed in SEEDS])

    def yes_shares(table: pl.DataFrame, by: str) -> list[float]:
        return table.group_by(by).agg((pl.col("Q_overall") == "Yes").mean()).sort(by)["Q_overall"].to_list()

    assert yes_shares(frame, "safety_gold") == pytest.approx(yes_shares(real, "safety_gold"), abs=0.02)
    for table in (frame, real):
        assert max(yes_shares(table, "degree_of_harm")) - min(yes_shares(table, "degree_of_harm")) < 0.08


def test_raters_cannot_be_taken_for_real_ones(dices: Simulation) -> None:
    ids = dices.truth.raters["rater_id"]
    assert ids.n_unique() == 123
    assert ids.str.contains(r"^9\d{14}$").all()
    assert not set(ids) & set(load_questionnaire("dices-350").flagged_raters)


def test_texts_are_plainly_simulated(dices: Simulation) -> None:
    assert dices.frame["context"].str.contains("(simulated conversation", literal=True).all()
    assert dices.frame["context"].str.contains(r"^USER: (.+\nLAMDA: .+\nUSER: .+)*").all()
    assert dices.frame["context"].str.count_matches(r"(?m)^USER: ").max() == 5
    assert dices.frame["response"].str.contains("(simulated response", literal=True).all()


@pytest.mark.parametrize("name", presets())
def test_every_overall_follows_from_its_questions(simulations: Drawn, name: str) -> None:
    frame = simulations[name, 1].frame
    for overall, questions in load_questionnaire(name).overalls.items():
        assert frame[overall].to_list() == worst_by_hand(frame, questions), overall


def test_a_topic_draws_answers_to_its_questions(dices: Simulation) -> None:
    unsafe = dices.frame.filter(pl.col("Q_overall") == "Yes")
    about = pl.col("harm_type").str.contains("Gendered & Sexist", literal=True)
    is_yes = pl.col("Q3_bias_targeting_gender_sexual_orientation") == "Yes"
    other, of_topic = unsafe.group_by(about).agg(is_yes.mean()).sort("harm_type").to_series(1)
    assert of_topic > 2 * other


def test_times_and_timestamps_belong_together(dices: Simulation) -> None:
    frame = dices.frame.with_columns(
        passed=pl.col("answer_timestamp").diff().over("rater_id"), fresh=pl.col("rater_id").is_first_distinct()
    )
    assert frame.filter("fresh").height == 123
    later = frame.filter(~pl.col("fresh"))
    assert (later["passed"] * 1000 > later["answer_time_ms"] - 1000).all()  # timestamps are whole seconds
    assert frame["answer_time_ms"].median() == pytest.approx(120_000, rel=1e-4)
    assert frame["answer_time_ms"].min() > 0  # type: ignore[operator]


def test_changing_one_part_does_not_change_the_others(dices: Simulation) -> None:
    campaign = preset("dices-350")
    slow = simulate(replace(campaign, times=SimulatedTimes(start=campaign.times.start, median_s=240)))  # type: ignore[union-attr]
    times = ["answer_time_ms", "answer_timestamp"]
    assert slow.frame.drop(times).equals(dices.frame.drop(times))
    assert not slow.frame["answer_time_ms"].equals(dices.frame["answer_time_ms"])


def test_campaigns_differ_by_seed_only(dices: Simulation) -> None:
    same_seed, other_seed = simulate(preset("dices-350"), seed=0), simulate(preset("dices-350"), seed=1)
    assert same_seed.frame.equals(dices.frame)
    assert same_seed.truth.to_json() == dices.truth.to_json()
    for column in ("rater_id", "item_id", "Q_overall", "answer_time_ms", "harm_type", "context"):
        assert not other_seed.frame[column].equals(dices.frame[column])


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("extension", ["csv", "csv.gz", "parquet", "jsonl"])
def test_a_written_campaign_is_read_as_the_same_ratings(tmp_path: Path, name: str, extension: str) -> None:
    start = preset(name)
    simulation = simulate(replace(start, items=replace(start.items, count=25)), seed=2)
    path = tmp_path / f"campaign.{extension}"
    write_frame(simulation.frame, path)
    result, expected = read_ratings(path, questions="all"), simulation.ratings("all")
    assert result.answers.equals(expected.answers)
    assert result.items.equals(expected.items)
    assert result.raters.drop("rater_flagged", strict=False).equals(expected.raters.drop("rater_flagged"))


def test_the_written_file_is_recognised_as_the_official_one(tmp_path: Path) -> None:
    for name in presets():
        start = preset(name)
        path = tmp_path / f"{name}.csv"
        write_frame(simulate(replace(start, items=replace(start.items, count=5))).frame, path)
        source, _ = convert_ratings(path, tmp_path / f"{name}.parquet", options=RatingsFileOptions())
        assert source.kind == name
