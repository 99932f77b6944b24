"""Figure of experts against the crowd."""

from pathlib import Path

import polars as pl
import pytest
from tests.report.svg import fits, texts

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import gold_against_crowd
from dissensus.report.figures.gold import gold
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def dices(dices_350: Path) -> Ratings:
    return read_ratings(dices_350, items=dices_350.with_name("items.csv")).exclude_flagged()


def test_the_reading_gives_the_shares_of_the_paper(dices: Ratings) -> None:
    figure = gold(gold_against_crowd(dices, ties="safe"))
    everybody = figure.table.row(0, named=True)
    assert (everybody["gold_only"], everybody["crowd_only"]) == (105, 14)
    assert [round(100 * everybody[name] / dices.n_items) for name in ("gold_only", "crowd_only")] == [30, 4]
    assert figure.reading.endswith("experts alone call 105 unsafe, the crowd alone 14.")
    assert "crowd tied" not in texts(figure)


def test_numbers_in_bars_are_items(dices: Ratings) -> None:
    figure = gold(gold_against_crowd(dices))
    row = figure.table.row(0, named=True)
    assert {str(row[name]) for name in ("both_safe", "both_unsafe", "gold_only")} <= set(texts(figure))
    assert sum(row[name] for name in ("both_safe", "both_unsafe", "gold_only", "crowd_only", "tied")) == 350
    assert figure.reading.endswith("; on 4 the crowd is tied.")
    assert gold_against_crowd(dices).rule in figure.notes


def test_listed_groups_follow_everybody(dices: Ratings) -> None:
    comparison = gold_against_crowd(dices, by="race")
    groups = list_groups(dices, "race", suppress_below=22)
    figure = gold(comparison, groups)
    assert figure.table["group"].to_list() == ["everybody", *groups.listed]
    assert groups.hidden == {"Asian/Asian subcontinent", "Multiracial"}
    assert not groups.hidden & set(texts(figure))
    assert figure.name == "gold-race"
    assert fits(figure)


def test_items_can_be_grouped(dices: Ratings) -> None:
    figure = gold(gold_against_crowd(dices, by="degree_of_harm"))
    assert figure.table["group"].to_list() == ["everybody", "Benign", "Debatable", "Extreme", "Moderate"]
    assert {"Benign", "31 items"} <= set(texts(figure))


def test_groups_of_another_axis_are_refused(dices: Ratings) -> None:
    with pytest.raises(InvalidInput, match="comparison is by rater_race"):
        gold(gold_against_crowd(dices, by="race"), list_groups(dices, "age"))


def test_one_item() -> None:
    frame = pl.DataFrame({"item_id": ["1"], "rater_id": ["a"], "Q_overall": ["Yes"], "safety_gold": ["No"]})
    figure = gold(gold_against_crowd(Ratings.from_frame(frame)))
    assert figure.reading.startswith("Of 1 item, experts and crowd call 0 safe and 0 unsafe")
    assert fits(figure)


def test_parts_of_the_items_are_no_groups(dices: Ratings) -> None:
    reading = gold(gold_against_crowd(dices, by="degree_of_harm")).reading
    assert "On items by degree of harm, experts alone call from" in reading
    assert "group" not in reading
