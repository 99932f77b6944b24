"""Statistics by attributes of items: against analyses of the items of each value, sets, sparse tables, families."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.oracles import significance as oracle
from tests.pipeline.tables import simulate_frame

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.pipeline.analyse.result import ItemRow
from dissensus.schema.ratings.table import Ratings

OPTIONS: dict[str, Any] = {"permutations": 60, "bootstrap": 30, "seed": 2}
TOPICS = ("Racial", "Legal,Racial", "Legal", "Health,Racial", "Health", "Legal")


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Thirty items with a degree of harm, unknown for one, and with one or two topics."""
    items = [f"item-{i:03}" for i in range(30)]
    degrees = [None, *("Extreme" if i % 3 else "Benign" for i in range(1, 30))]
    topics = [TOPICS[i % len(TOPICS)] for i in range(30)]
    table = pl.DataFrame({"item_id": items, "degree_of_harm": degrees, "harm_type": topics})
    return Ratings.from_frame(simulate_frame(1)).with_items(table)


@pytest.fixture(scope="module")
def full(ratings: Ratings) -> Analysis:
    return analyse(ratings, by=["race", "gender"], by_item=["degree_of_harm", "harm_type"], **OPTIONS)


def of_value(analysis: Analysis, value: str, axis: str | None = None) -> dict[tuple[str | None, str], ItemRow]:
    return {(row.group, row.metric): row for row in analysis.item_rows if (row.value, row.axis) == (value, axis)}


def test_values_are_those_of_an_analysis_of_their_items(ratings: Ratings, full: Analysis) -> None:
    alone = analyse(ratings.where("harm_type", "Racial"), by="race", **OPTIONS)
    pool, groups = of_value(full, "Racial"), of_value(full, "Racial", "rater_race")
    assert set(pool) == {(None, "answer_share"), (None, "pairwise_agreement"), (None, "irr")}
    assert {metric for _, metric in groups} == {"answer_share", "mean_difference", "group_distance", "between_share"}
    compared = ("estimate", "ci_low", "ci_high", "p", "direction", "n_raters", "n_items")
    for row in (*alone.overall, *alone.rows):
        own = (pool if row.axis is None else groups).get((row.group, row.metric))
        if own is not None:
            assert [getattr(own, name) for name in compared] == [getattr(row, name) for name in compared]


def test_the_number_of_permutations_in_the_warning_is_the_fewest_without_it(ratings: Ratings) -> None:
    def warnings(permutations: int) -> list[str]:
        analysis = analyse(ratings, by="gender", by_item="degree_of_harm", permutations=permutations)
        return [warning for warning in analysis.warnings if "adjusted together" in warning]

    (warning,) = warnings(20)
    needed = int(re.findall(r"([\d,]+) suffice", warning)[0].replace(",", ""))
    assert warnings(needed - 1) == [warning.replace("20 permutations", f"{needed - 1} permutations")]
    assert warnings(needed) == []


def test_an_item_with_several_topics_counts_in_each(full: Analysis) -> None:
    sizes = {row.value: row.n_items_of_value for row in full.item_rows}
    assert sizes == {"Benign": 9, "Extreme": 20, "Racial": 15, "Legal": 15, "Health": 10}
    assert [row.value for row in full.item_rows if row.metric == "irr"] == [
        *("Benign", "Extreme"),  # by degree
        *("Legal", "Racial", "Health"),  # by frequency
    ]
    assert any(note.startswith("harm_type holds sets of values") for note in full.notes)
    assert "1 of 30 items has no degree_of_harm." in full.notes


def test_all_values_are_one_family(ratings: Ratings, full: Analysis) -> None:
    p = [row.p for row in full.item_rows if row.p is not None]
    adjusted = [row.p_adjusted for row in full.item_rows if row.p is not None]
    assert adjusted == pytest.approx(oracle.benjamini_hochberg(p))
    assert len(p) == 5 * (3 * 2 + 1 + 2 * 2 + 1)
    assert [row.p_adjusted for row in full.rows] == [
        row.p_adjusted for row in analyse(ratings, by=["race", "gender"], **OPTIONS).rows
    ]
    strict = analyse(ratings, by="race", by_item="degree_of_harm", adjust="max-t", **OPTIONS)
    raw = sorted(row.p for row in strict.item_rows if row.p is not None)
    largest = np.minimum(1, np.maximum.accumulate(np.array(raw) * np.arange(len(raw), 0, -1)))
    assert sorted(row.p_adjusted for row in strict.item_rows if row.p_adjusted is not None) == pytest.approx(largest)
    assert any("60 permutations no two-sided one of them alone" in warning for warning in full.warnings)


def test_few_items_are_named_and_one_has_no_interval(ratings: Ratings) -> None:
    lonely = ratings.items.with_columns(
        item_set=pl.when(pl.int_range(30) == 4).then(pl.lit("one")).otherwise(pl.lit("rest"))
    )
    analysis = analyse(ratings.with_items(lonely), by_item="item_set", bootstrap=30)
    single_item, others = of_value(analysis, "one"), of_value(analysis, "rest")
    share = single_item[None, "answer_share"]
    assert (share.ci_low, share.ci_high, share.n_items) == (None, None, 1)
    assert str(share.reason).startswith("no interval: one item")
    assert str(share.warning).endswith("fewer than 30 items")
    assert others[None, "answer_share"].ci_low is not None
    assert re.search(r"^one +1†", str(analysis), re.MULTILINE)


def test_groups_that_did_not_rate_a_value_are_not_compared() -> None:
    frame = simulate_frame(2).with_columns(phase=pl.lit("Phase1"))
    frame = frame.with_columns(
        phase=pl.when(pl.col("item_id") < "item-010").then(pl.lit("Phase2")).otherwise(pl.col("phase"))
    ).filter((pl.col("phase") == "Phase1") | (pl.col("rater_gender") == "Man"))
    analysis = analyse(Ratings.from_frame(frame), by="gender", by_item="phase", permutations=20)
    (row,) = of_value(analysis, "Phase2", "rater_gender").values()
    assert (row.metric, row.estimate, row.p) == ("between_share", None, None)
    assert row.reason == "only Man rated these items, so there is nobody to compare with"
    assert of_value(analysis, "Phase1", "rater_gender")["Man", "mean_difference"].p is not None


def test_json_csv_and_settings(ratings: Ratings, full: Analysis) -> None:
    document = json.loads(full.to_json())
    assert list(document["by_item"]) == ["degree_of_harm", "harm_type"]
    assert {row["value"] for row in document["by_item"]["degree_of_harm"]} == {"Benign", "Extreme"}
    assert document["settings"]["by_item"] == ["degree_of_harm", "harm_type"]
    frame = full.to_polars()
    assert frame.filter(pl.col("attribute").is_not_null()).height == len(full.item_rows)
    assert frame["metric"].to_list()[-1] == "between_share"
    wide = full.to_polars(wide=True)
    assert wide.filter(attribute="harm_type", value="Legal", axis="rater_race").height == 4
    plain = analyse(ratings, by="race")
    assert "attribute" not in plain.to_polars().columns
    assert json.loads(plain.to_json())["by_item"] == {}


def test_counts_have_shares_by_attribute(ratings: Ratings) -> None:
    table = ratings.items.select("item_id", "degree_of_harm")
    counts = Ratings.from_frame(simulate_frame(1).drop("rater_id"), rater=None).with_items(table)
    analysis = analyse(counts, by_item="degree_of_harm")
    known = of_value(analyse(ratings, by_item="degree_of_harm"), "Extreme")
    own = of_value(analysis, "Extreme")
    assert own[None, "answer_share"].estimate == known[None, "answer_share"].estimate
    assert own[None, "answer_share"].n_raters is None


def test_numbers_are_read_in_intervals(ratings: Ratings) -> None:
    words = ratings.items.select("item_id", item_words=pl.Series([str(7 * i) for i in range(30)]))
    binned = ratings.with_items(words).with_bins("item_words", [10, 100])
    analysis = analyse(binned, by_item="item_words")
    sizes = {row.value: row.n_items_of_value for row in analysis.item_rows}
    assert list(sizes.items()) == [("under 10", 2), ("10–99", 13), ("100+", 15)]
    assert binned.where("item_words", "under 10").n_items == 2


def test_refusals(ratings: Ratings) -> None:
    with pytest.raises(NotFound, match=r"Items have no attribute 'harm_tpye'\. Did you mean 'harm_type'\?"):
        analyse(ratings, by_item="harm_tpye")
    texts = ratings.with_items(ratings.items.select("item_id", response=pl.lit("Hello")))
    with pytest.raises(InvalidInput, match="response holds texts"):
        analyse(texts, by_item="response")
    many = ratings.items.select("item_id", item_code=pl.col("item_id"))
    wide = Ratings.from_frame(simulate_frame(1, n_items=101)).with_items(
        pl.DataFrame({"item_id": [f"item-{i:03}" for i in range(101)], "item_code": [str(i) for i in range(101)]})
    )
    assert len(of_value(analyse(ratings.with_items(many), by_item="item_code"), "item-003")) == 3
    with pytest.raises(InvalidInput, match="item_code has 101 values, and at most 100 are analysed one by one"):
        analyse(wide, by_item="item_code")


def test_topics_of_dices_350(real_data: Callable[[str], Path]) -> None:
    items = pl.read_csv(real_data("dices-350/items.csv"), schema_overrides={"item_id": pl.String})
    ratings = read_ratings(real_data("dices-350/ratings.csv"), items=items)
    assert ratings.where("harm_type", "Racial").n_items == 96
    analysis = analyse(ratings, by_item=["harm_type", "degree_of_harm"])
    sizes = {row.value: row.n_items_of_value for row in analysis.item_rows}
    assert (sizes["Racial"], sizes["Political"], sizes["Extreme"], sizes["Debatable"]) == (96, 63, 199, 22)
    assert len(sizes) == 25 + 4
    racial = [cell for cell in items["harm_type"] if "Racial" in cell.split(",")]
    share = of_value(analysis, "Racial")[None, "answer_share"]
    chosen = items.filter(pl.col("harm_type").is_in(racial))["item_id"]
    answers = pl.read_csv(real_data("dices-350/ratings.csv"), schema_overrides={"item_id": pl.String})
    expected = (answers.filter(pl.col("item_id").is_in(chosen.implode()))["Q_overall"] == "Yes").mean()
    assert share.estimate == pytest.approx(expected)
