"""Several files as one: items apart, raters shared, renames, and everything that does not fit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dissensus as ds
from dissensus.errors import InvalidInput, NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.simulate import preset, simulate

SHARED = 44


@pytest.fixture(scope="module")
def pair() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tables with the columns of DICES-350 and DICES-990, 44 of whose raters are the same people."""
    first, second = (
        simulate(replace(campaign, items=replace(campaign.items, count=n_items), per_item=None), seed=n_items).frame
        for campaign, n_items in ((preset("dices-350"), 6), (preset("dices-990"), 8))
    )
    attributes = ["rater_gender", "rater_race", "rater_age", "rater_education"]
    people = (
        first.unique("rater_id", maintain_order=True).head(SHARED).select("rater_id", "rater_raw_race", *attributes)
    )
    others = second["rater_id"].unique(maintain_order=True).head(SHARED)
    mapped = people.rename({name: f"new_{name}" for name in people.columns}).with_columns(others)
    joined = second.join(mapped, on="rater_id", how="left", maintain_order="left").with_columns(
        pl.coalesce(f"new_{name}", name).alias(name) for name in ("rater_id", *attributes)
    )
    raw = pl.coalesce("new_rater_raw_race", "rater_race_raw").alias("rater_race_raw")
    return first, joined.with_columns(raw).select(second.columns)


def test_raters_with_one_id_are_one_and_items_are_told_apart(pair: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    ratings = read_ratings(list(pair))
    ids = [set(frame["item_id"].cast(pl.String)) for frame in pair]
    assert ids[0] & ids[1]
    assert ratings.n_raters == 123 + 173 - SHARED == 252
    assert ratings.items["item_id"].to_list() == sorted(f"{n}:{item}" for n, own in enumerate(ids, 1) for item in own)
    assert ratings.items["item_file"].value_counts().sort("item_file").rows() == [("1", 6), ("2", 8)]
    assert "44 of 252 raters are in several files." in ratings.notes
    assert "rater_raw_race" in ratings.axes
    assert "rater_race_raw" not in ratings.axes
    assert ratings.raters["rater_raw_race"].null_count() == 0
    assert "2: The column rater_race_raw is read as rater_raw_race, its name in the other release." in ratings.notes
    only_first = ratings.raters["rater_locale"].is_null().sum()
    assert only_first == 123 - SHARED


def test_the_analysis_is_that_of_one_table_with_other_ids(pair: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    columns = ["item_id", "rater_id", "rater_gender", "Q_overall"]
    texts = [frame.select(pl.col(columns).cast(pl.String)) for frame in pair]
    together = pl.concat(
        text.with_columns(pl.format("{}:{}", pl.lit(str(number)), "item_id").alias("item_id"))
        for number, text in enumerate(texts, 1)
    )
    options: dict[str, Any] = {"by": "gender", "permutations": 30, "seed": 3}
    expected = analyse(read_ratings(together), **options)
    analysis = ds.analyse([pair[0], pair[1]], **options)
    assert analysis.rows == expected.rows
    assert analysis.overall == expected.overall


def test_questions_of_all_files_are_read(pair: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    ratings = read_ratings(list(pair), questions="all")
    shared = [name for name in pair[0].columns if name.startswith("Q") and name in pair[1].columns]
    assert set(ratings.questions) == set(shared)
    assert any(note.startswith("Left out, because they are not questions of all files") for note in ratings.notes)


def table(letter: str, answers: list[str], **columns: list[str]) -> pl.DataFrame:
    """Return one item rated by two raters."""
    return pl.DataFrame({"item_id": letter, "rater_id": ["ann", "bob"], "Q_overall": answers, **columns})


def test_raters_with_two_values_are_named() -> None:
    first = table("1", ["Yes", "No"], rater_locale=["IN", "US"], rater_age=["30", "40"])
    second = table("1", ["No", "No"], rater_locale=["India", "US"], rater_age=["30", "41"])
    with pytest.raises(InvalidInput) as conflict:
        read_ratings([first, second])
    assert "Rater 'ann' has rater_locale 'IN' in 1, 'India' in 2." in str(conflict.value)
    assert "--rename 'rater_locale:OLD=NEW'" in str(conflict.value)
    recoded = {"rater_locale": {"IN": "India"}}
    with pytest.raises(InvalidInput, match="Rater 'bob' has rater_age '40' in 1, '41' in 2"):
        read_ratings([first, second], rename=recoded)
    apart = read_ratings([first, second.rename({"rater_age": "rater_years"})], rename=recoded)
    assert apart.raters["rater_locale"].to_list() == ["India", "US"]
    assert apart.axes == ("rater_locale", "rater_age", "rater_years")


def test_what_is_unknown_in_one_file_is_taken_from_the_other() -> None:
    first = table("1", ["Yes", "No"], rater_age=["30", ""], rater_flagged=["true", "false"])
    second = table("1", ["No", "No"], rater_age=["", "41"])
    ratings = read_ratings([first, second])
    assert ratings.raters["rater_age"].to_list() == ["30", "41"]
    assert ratings.raters["rater_flagged"].to_list() == [True, False]
    assert any(note.startswith("No flags in '2'") for note in ratings.notes)


@pytest.mark.parametrize(
    ("second", "options", "message"),
    [
        ({"Q_overall": "answer"}, {"questions": ["Q_overall"]}, "There is no column 'Q_overall'"),
        ({"Q_overall": "Q_safe"}, {}, r"The files answer different questions: 1 has 'Q_overall'; 2 has 'Q_safe'\."),
        ({"rater_id": "who"}, {}, "There is no column 'rater_id'.*--no-raters"),
        ({"Q_overall": "item_file"}, {"answer": "item_file"}, "There is no column 'item_file'"),
    ],
)
def test_files_that_do_not_fit(second: dict[str, str], options: dict[str, Any], message: str) -> None:
    frames = [table("1", ["Yes", "No"]), table("1", ["No", "Yes"]).rename(second)]
    with pytest.raises((InvalidInput, NotFound), match=message):
        read_ratings(frames, **options)


def test_scales_must_be_the_same() -> None:
    frames = [table("1", answers).rename({"Q_overall": "Q_harm"}) for answers in (["1", "2"], ["2", "3"])]
    with pytest.raises(InvalidInput, match="Q_harm has different answers: 1 has '1', '2'; 2 has '2', '3'"):
        read_ratings(frames)
    merged = read_ratings(frames, categories=["1", "2", "3"])
    assert merged.scale("Q_harm") == ("1", "2", "3")
    assert read_ratings(frames, rename={"Q_harm": {"3": "1"}}).n_items == 2


def test_columns_get_one_name() -> None:
    frames = [table("1", ["Yes", "No"]), table("1", ["No", "Yes"]).rename({"rater_id": "who", "Q_overall": "Q_safe"})]
    ratings = read_ratings(frames, rename={"who": "rater_id", "Q_safe": "Q_overall"})
    assert (ratings.n_raters, ratings.n_items, ratings.questions) == (2, 2, ("Q_overall",))
    assert read_ratings(frames[1], rename={"who": "rater_id"}).questions == ("Q_safe",)
    with pytest.raises(NotFound, match=r"There is no column 'hwo' to rename\. Did you mean 'who'"):
        read_ratings(frames[1], rater="who", rename={"hwo": "rater_id"})
    with pytest.raises(NotFound, match="No row has Q_overall 'Maybe', so there is nothing to rename"):
        read_ratings(frames[0], rename={"Q_overall": {"Maybe": "Unsure"}})
    with pytest.raises(InvalidInput, match="There is already a column 'Q_overall'"):
        read_ratings(frames[0], rename={"rater_id": "Q_overall"})


def test_tables_of_items_belong_to_their_files() -> None:
    frames = [table("1", ["Yes", "No"]), table("1", ["No", "Yes"])]
    items = [pl.DataFrame({"item_id": ["1"], "harm_type": [topic]}) for topic in ("Racial", "Legal")]
    ratings = read_ratings(frames, items=items)
    assert ratings.items.select("item_id", "harm_type").rows() == [("1:1", "Racial"), ("2:1", "Legal")]
    by_name = pl.DataFrame({"item_id": ["1:1", "2:1"], "harm_type": ["Racial", "Legal"]})
    assert read_ratings(frames, items=by_name).items.equals(ratings.items.select("item_id", "item_file", "harm_type"))
    with pytest.raises(InvalidInput, match="Tables of items and files of ratings are 3 and 2"):
        read_ratings(frames, items=[*items, items[0]])


def test_dices_350_and_990_are_read_as_counts(real_data: Callable[[str], Path]) -> None:
    paths = [real_data("dices-350/ratings.csv"), real_data("dices-990/ratings.csv")]
    with pytest.raises(NotFound, match=r"dices-990/ratings\.csv: There is no column 'rater_id'.*--no-raters"):
        read_ratings(paths)
    ratings = read_ratings(paths, rater=None)
    assert (ratings.n_items, ratings.n_ratings, ratings.has_raters) == (1_340, 115_153, False)
    analysis = analyse(ratings, by_item="item_file")
    shares = {row.value: row.estimate for row in analysis.item_rows if row.metric == "answer_share"}
    assert shares["dices-350/ratings"] == pytest.approx(14_064 / 43_050)
    assert list(shares) == ["dices-350/ratings", "dices-990/ratings"]
