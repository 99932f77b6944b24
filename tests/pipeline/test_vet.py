"""Evidence on raters, and flags."""

import json
import math
from typing import Any

import polars as pl
import pytest
from tests.pipeline.careless import LINERS, SPEEDERS, careless_frame, careless_ratings
from tests.pipeline.tables import frame_of, ratings_of

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.vet import Criteria, Vetting, vet
from dissensus.pipeline.vet.evidence import COMPREHENSION
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def vetting() -> Vetting:
    return vet(careless_ratings())


def find_rater(vetting: Vetting, rater: str) -> dict[str, Any]:
    return vetting.raters.row(by_predicate=pl.col("rater_id") == rater, named=True)


def test_speeders_and_one_label_raters_are_flagged_and_nobody_else(vetting: Vetting) -> None:
    assert vetting.flagged == SPEEDERS + LINERS
    assert vetting.pool_median_ms == pytest.approx(120_000, rel=0.1)
    for rater in SPEEDERS:
        assert [reason.partition(":")[0] for reason in find_rater(vetting, rater)["flagged_for"]] == ["fast"] * 3
    assert find_rater(vetting, "r03")["flagged_for"] == ["one label: 100.0 % of 60 answers are No"]
    assert find_rater(vetting, "r03")["most_frequent"] == "No"
    assert find_rater(vetting, "r10")["flagged_for"] == []


def test_flags_are_found_in_any_campaign() -> None:
    for seed in range(1, 9):
        assert vet(careless_ratings(seed)).flagged == SPEEDERS + LINERS


def test_flagged_raters_are_not_deleted(vetting: Vetting) -> None:
    assert vetting.raters.height == 30
    assert vetting.n_ratings == 30 * 60


def test_a_rater_against_everybody_is_shown_and_not_flagged() -> None:
    """A rater who always differs has no agreement with the pool, and meets no criterion."""
    table = {"a": "NYNY" * 10, "b": "NYNY" * 10, "c": "NYNY" * 10, "d": "YNYN" * 10, "e": "YNYN" * 10}
    vetting = vet(ratings_of(table, {"rater_race": ["x", "x", "x", "y", "y"]}), criteria=Criteria(min_ratings=1))
    assert vetting.flagged == ()
    assert find_rater(vetting, "d")["agreement_pool"] == 0
    assert find_rater(vetting, "d")["agreement_rater_race"] == 1


def test_the_flags_act_through_the_table_of_raters(vetting: Vetting) -> None:
    ratings = careless_ratings().with_raters(vetting.flags()).exclude_flagged()
    assert ratings.n_raters == 25
    assert not set(ratings.raters["rater_id"]) & set(vetting.flagged)
    second = vet(careless_ratings().with_raters(vetting.to_polars()))
    assert second.raters["flagged_in_file"].to_list() == vetting.raters["rater_flagged"].to_list()


def test_flags_of_the_file_are_shown_beside(vetting: Vetting) -> None:
    assert vetting.raters["flagged_in_file"].null_count() == 30
    flagged = careless_frame().with_columns(rater_flagged=pl.col("rater_id").is_in(["r00", "r20"]))
    with_flags = vet(Ratings.from_frame(flagged))
    assert with_flags.raters.filter("flagged_in_file")["rater_id"].to_list() == ["r00", "r20"]
    assert with_flags.flagged == SPEEDERS + LINERS
    assert "the file flags 2, 1 of them among these" in str(with_flags)


def test_without_times_the_criteria_on_times_have_a_reason() -> None:
    vetting = vet(Ratings.from_frame(careless_frame().drop("answer_time_ms")))
    assert vetting.flagged == LINERS
    assert vetting.pool_median_ms is None
    names = ["median_time_ms", "below_half", "below_third", "below_quarter"]
    assert {vetting.absent[name] for name in names} == {"there are no times in the file (answer_time_ms)"}
    assert vetting.raters.select(names).null_count().row(0) == (30,) * 4
    assert "there are no times in the file" in str(vetting)


def test_a_rater_without_a_time_is_null_with_the_reason() -> None:
    times = pl.when(pl.col("rater_id") == "r00").then(None).otherwise(pl.col("answer_time_ms"))
    vetting = vet(Ratings.from_frame(careless_frame().with_columns(answer_time_ms=times)))
    row = find_rater(vetting, "r00")
    assert (row["below_half"], row["n_timed"], row["rater_flagged"]) == (None, 0, False)
    assert "below_half: the rater has no known time" in str(row["unknown"])
    assert find_rater(vetting, "r01")["unknown"] is None
    assert "below_half" not in vetting.absent


def test_a_rater_of_unknown_group_has_no_agreement_with_it() -> None:
    ratings = ratings_of({"a": "NY", "b": "NY", "c": "NN"}, {"rater_race": ["x", "x", None]})
    vetting = vet(ratings)
    assert find_rater(vetting, "c")["agreement_rater_race"] is None
    assert "rater_race of the rater is not known" in str(find_rater(vetting, "c")["unknown"])
    assert find_rater(vetting, "a")["agreement_rater_race"] == 1


def test_a_group_of_one_has_no_agreement() -> None:
    vetting = vet(ratings_of({"a": "NY", "b": "NY"}, {"rater_race": ["x", "y"]}))
    assert vetting.absent["agreement_rater_race"] == "no item was rated by two raters of one group on rater_race"


def test_few_ratings_flag_nobody() -> None:
    vetting = vet(ratings_of({"a": "N" * 19, "b": "NYN"}, {}))
    assert vetting.flagged == ()
    assert vet(ratings_of({"a": "N" * 20, "b": "NYN"}, {})).flagged == ("a",)


def test_thresholds_are_settings() -> None:
    assert vet(careless_ratings(), criteria=Criteria(same_label=0.2)).raters["rater_flagged"].all()
    strict = Criteria(below_half=1, below_third=1, below_quarter=1, same_label=1)
    assert set(LINERS) <= set(vet(careless_ratings(), criteria=strict).flagged)


def test_flat_items_are_those_with_one_answer_to_all_questions(vetting: Vetting) -> None:
    frame = careless_frame()
    flagged = frame.with_columns(flat=pl.col("Q2_harmful_content_other") == pl.col("Q3_bias_other"))
    by_hand = flagged.group_by("rater_id").agg(pl.col("flat").mean()).sort("rater_id")["flat"]
    assert vetting.raters["flat"].to_list() == pytest.approx(by_hand.to_list())


def test_flat_items_need_two_questions() -> None:
    vetting = vet(Ratings.from_frame(careless_frame()))
    assert vetting.absent["flat"] == "fewer than two granular questions were read, or are in the file"
    assert vetting.absent["non_comprehension"].startswith(COMPREHENSION)


def test_non_comprehension_is_any_answer_but_understood() -> None:
    clear, *problems = known_scale(COMPREHENSION) or ()
    assert clear.startswith("None of the above")
    comprehension = [clear, clear, clear, clear, problems[0], clear, None, problems[2], None, None, None, None]
    frame = frame_of({"a": "NYNY", "b": "NYNY", "c": "NYNY"}, {}).with_columns(pl.Series(COMPREHENSION, comprehension))
    vetting = vet(Ratings.from_frame(frame, questions="all"))
    assert vetting.raters["non_comprehension"].to_list() == [0, pytest.approx(2 / 3), None]
    assert find_rater(vetting, "c")["unknown"] == f"non_comprehension: the rater did not answer {COMPREHENSION}"


def test_dices_350(dices_123: Ratings) -> None:
    """One label: the three removed raters at .99 and above, only one of them exactly constant."""
    vetting = vet(dices_123)
    flagged = vetting.raters.filter("rater_flagged")
    assert flagged["rater_id"].to_list() == ["296709543131761", "297515729806999", "297541515769980"]
    assert flagged["flagged_in_file"].all()
    assert (flagged["same_label"] == 1).sum() == 1
    assert vetting.raters["flagged_in_file"].sum() == 19
    assert set(vetting.axes) == {"rater_gender", "rater_race", "rater_age"}


def test_json_and_csv_hold_everything(vetting: Vetting) -> None:
    plain = json.loads(vetting.to_json())
    assert plain["schema_version"] == 1
    assert plain["criteria"]["same_label"] == 0.99
    assert plain["n_flagged"] == 5
    assert plain["raters"][0]["flagged_for"] == vetting.raters["flagged_for"][0].to_list()
    assert plain["absent"] == {
        "consistency": "nobody answered an item twice (repeat)",
        "non_comprehension": f"{COMPREHENSION} was not read, or is not in the file",
    }
    table = pl.read_csv(vetting.to_polars().write_csv().encode())
    assert table["rater_id"].to_list() == [rater["rater_id"] for rater in plain["raters"]]
    assert table["below_half"].to_list() == [rater["below_half"] for rater in plain["raters"]]
    assert table["criterion_below_third"].unique().to_list() == [1 / 3]
    assert table["flagged_for"][0].count("; ") == 2


def test_the_text_shows_the_flagged_below_the_middle_of_the_pool(vetting: Vetting) -> None:
    text = str(vetting)
    assert text.splitlines()[0].endswith("30 raters. 5 raters meet a criterion.")
    names = [line.split()[0] for line in text.splitlines() if line.startswith("r") and line[1].isdigit()]
    assert sorted(names) == list(vetting.flagged)
    (line,) = [line for line in text.splitlines() if line.startswith("r03")]
    assert "1.00*" in line
    assert line.count("*") == 1


def test_ids_cannot_write_to_the_terminal() -> None:
    vetting = vet(ratings_of({"\x1b[31m": "N" * 20, "b": "NY"}, {}))
    assert "\x1b" not in str(vetting)
    assert "\\x1b[31m" in str(vetting)
    escaped = vet(ratings_of({"<b>": "N" * 20, "b": "NY"}, {}))._repr_html_()
    assert "&lt;b&gt;" in escaped
    assert "<b>" not in escaped


def test_refusals() -> None:
    counts = Ratings.from_frame(careless_frame(), rater=None)
    with pytest.raises(InvalidInput, match="Vetting raters needs to know who gave which answer"):
        vet(counts)
    with pytest.raises(NotFound, match="no axis 'race'"):
        vet(careless_ratings(), by="race")
    with pytest.raises(NotFound, match="'Q9' was not read"):
        vet(careless_ratings(), question="Q9")
    granular = Ratings.from_frame(careless_frame().drop("Q_overall"), questions="all")
    with pytest.raises(InvalidInput, match="Several questions were read"):
        vet(granular)
    assert vet(granular, question="Q3_bias_other").question == "Q3_bias_other"


def test_unknown_numbers_are_null_and_never_nan(vetting: Vetting) -> None:
    numbers = vetting.raters.select(pl.selectors.float())
    assert not any(math.isnan(value) for column in numbers for value in column.drop_nulls())


def test_times_of_items_groups_and_raters(vetting: Vetting) -> None:
    """Against means and medians of the table itself."""
    frame, times = careless_frame(), vetting.times
    assert times is not None
    by_item = frame.group_by("item_id").agg(pl.col("answer_time_ms").mean(), pl.len())
    joined = times.items.join(by_item, on="item_id", validate="1:1")
    assert joined["mean_time_ms"].to_list() == pytest.approx(joined["answer_time_ms"].to_list())
    assert joined["n_timed"].to_list() == joined["len"].to_list()
    by_rater = frame.group_by("rater_id", "rater_gender").agg(
        median=pl.col("answer_time_ms").median(), total=pl.col("answer_time_ms").sum()
    )
    raters = vetting.raters.join(by_rater, on="rater_id", validate="1:1")
    assert raters["total_time_ms"].to_list() == pytest.approx(raters["total"].to_list())
    for row in times.groups.iter_rows(named=True):
        own = by_rater.filter(rater_gender=row["group"])
        assert (row["axis"], row["n_raters"]) == ("rater_gender", own.height)
        assert row["median_ms"] == pytest.approx(own["median"].median())
        assert row["median_total_ms"] == pytest.approx(own["total"].median())
        assert row["q25_ms"] == pytest.approx(own["median"].quantile(0.25, "linear"))


def test_outlier_scores_and_their_correlation_with_times(vetting: Vetting) -> None:
    assert vetting.times is not None
    row = vetting.times.correlations.row(0, named=True)
    assert (row["measure"], row["n_raters"]) == ("answers_outlier_score", 30)
    ranks = vetting.raters.select(pl.corr("median_time_ms", "answers_outlier_score", method="spearman")).item()
    assert row["rank_correlation"] == pytest.approx(ranks)
    # Raters of one label have no entropy: no other is as far by the answers alone.
    far = vetting.raters.sort("answers_outlier_score", descending=True)["rater_id"].head(2)
    assert set(far) == set(LINERS)
    # Speeders answer as others do, and are far only with their times.
    fast = vetting.raters.filter(pl.col("rater_id").is_in(SPEEDERS))
    assert (fast["outlier_score"] > fast["answers_outlier_score"] + 3).all()
    plain = json.loads(vetting.to_json())
    assert list(plain["times"]) == ["items", "groups", "correlations"]
    assert "rank correlation of median time with" in str(vetting)
    assert "gender: Woman" in str(vetting)


def test_without_times_the_outlier_score_is_that_of_the_answers() -> None:
    vetting = vet(Ratings.from_frame(careless_frame().drop("answer_time_ms"), questions="all"))
    assert vetting.times is None
    assert json.loads(vetting.to_json())["times"] is None
    assert vetting.raters["outlier_score"].equals(vetting.raters["answers_outlier_score"].alias("outlier_score"))


def test_raters_with_few_ratings_have_no_outlier_score() -> None:
    frame = careless_frame().filter((pl.col("rater_id") != "r20") | pl.col("item_id").is_in(["i01", "i02"]))
    row = find_rater(vet(Ratings.from_frame(frame, questions="all")), "r20")
    assert row["outlier_score"] is None
    assert "outlier_score: a measure of the rater is unknown, or the rater has fewer than 20" in str(row["unknown"])


def test_consistency_of_raters_and_groups() -> None:
    """Ann repeats three of four answers, Bob both of his; Eve saw nothing twice."""
    first = {"ann": "NNYY", "bob": "NY", "eve": "NYNY"}
    second = {"ann": "NNYN", "bob": "NY"}
    words = {"N": "No", "Y": "Yes"}
    frame = pl.DataFrame(
        [
            {"item_id": i, "rater_id": rater, "rater_gender": gender[rater], "Q_overall": words[k], "repeat": showing}
            for gender in ({"ann": "Woman", "bob": "Man", "eve": "Woman"},)
            for showing, answers in ((1, first), (2, second))
            for rater, text in answers.items()
            for i, k in enumerate(text)
        ]
    )
    ratings = Ratings.from_frame(frame)
    assert (ratings.n_ratings, ratings.repeats.height) == (10, 6)
    vetting = vet(ratings)
    assert [find_rater(vetting, rater)["consistency"] for rater in ("ann", "bob", "eve")] == [0.75, 1.0, None]
    assert "consistency: the rater answered no item twice" in find_rater(vetting, "eve")["unknown"]
    rows = {row["group"]: row for row in vetting.consistency.to_dicts()}
    assert {group: (row["estimate"], row["n_repeats"], row["n_raters"]) for group, row in rows.items()} == {
        None: (5 / 6, 6, 2),
        "Man": (1.0, 2, 1),
        "Woman": (0.75, 4, 1),
    }
    assert rows["Woman"]["corrected"] == pytest.approx(1 - 1 / (4 * 30 / 56))
    assert json.loads(vetting.to_json())["consistency"][0]["n_items"] == 4
    assert "gender: Woman" in str(vetting)
    # Ratings of women leave the second ratings of men out.
    assert ratings.where("gender", "Woman").repeats.height == 4
