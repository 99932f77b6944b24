"""Individual votes from the files of an export."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.files.pairs.reader import read_pairs
from dissensus.files.pairs.votes import (
    detect_purpose,
    holds_preferences,
    read_pair_files,
    read_people,
    read_preferences,
)
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import Edit, Pick, Preference

PREFERENCE = Preference(
    preference_id="p-1",
    conversation_id="c-1",
    context=(Turn("human", "Be rude."),),
    a="No, thank you.",
    b="Go away.",
    criterion="more harmful",
    picks=(Pick("ann", "b", 3), Pick("bo", "a", 1), Pick("cy", None, 0)),
    phase="online",
)
HELPFUL = replace(
    PREFERENCE, preference_id="p-2", criterion="more helpful", phase=None, edits=(Edit("ann", "b", "Please go away."),)
)


def write_records(path: Path, *records: dict[str, Any] | Preference) -> Path:
    rows = [asdict(one) if isinstance(one, Preference) else one for one in records]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_exported_preferences_are_read_back(tmp_path: Path) -> None:
    path = write_records(tmp_path / "preferences.jsonl", PREFERENCE, HELPFUL)
    assert list(read_preferences(path)) == [PREFERENCE, HELPFUL]
    assert holds_preferences(path)


def test_each_pick_is_a_pair_with_the_better_answer_chosen(tmp_path: Path) -> None:
    path = write_records(tmp_path / "preferences.jsonl", PREFERENCE, HELPFUL)
    people = {"ann": {"rater_age": "old", "rater_gender": "Woman"}, "bo": {}}
    pairs = read_pair_files([path], purpose="harmless", people=people)
    notes = [(pair.chosen, pair.strength, pair.rater, pair.cells, pair.tranche) for pair in pairs.pairs]
    assert notes == [
        ("No, thank you.", 3.0, "ann", {"rater_age": "old", "rater_gender": "Woman"}, "harmless-online"),
        ("Go away.", 1.0, "bo", {}, "harmless-online"),
    ]
    assert pairs.notes == (
        "1 pair left out: a rater found neither answer better.",
        "3 pairs left out: the question had another criterion.",
    )


def test_pairs_with_an_empty_answer_are_named_and_left_out(tmp_path: Path) -> None:
    empty = [replace(PREFERENCE, preference_id=f"row-{n}", b=" ") for n in (87, 99)]
    path = write_records(tmp_path / "preferences.jsonl", PREFERENCE, *empty)
    result = read_pair_files([path], purpose="harmless")
    n = len(PREFERENCE.picks)
    assert len(result.pairs) == n - 1
    assert f"{2 * n} pairs left out: an answer is empty (pairs row-87, row-99)." in result.notes
    with pytest.raises(InvalidInput, match=r"an answer is empty \(pair row-87\)"):
        read_pair_files([write_records(tmp_path / "empty.jsonl", empty[0])], purpose="harmless")


def test_the_purpose_is_the_question_asked(tmp_path: Path) -> None:
    purposes = write_records(tmp_path / "helpful.jsonl", PREFERENCE, HELPFUL)
    assert detect_purpose(purposes) is None
    assert detect_purpose(write_records(tmp_path / "one.jsonl", PREFERENCE)) == "harmless"
    with pytest.raises(InvalidInput, match="Give --purpose helpful or --purpose harmless"):
        read_pair_files([purposes])


def test_groups_of_plain_pairs(tmp_path: Path) -> None:
    question = "\n\nHuman: Well?\n\nAssistant: "
    table = {"chosen": [f"{question}yes"], "rejected": [f"{question}no"], "rater_id": ["ann"], "rater_age": ["old"]}
    table["rater_flagged"] = ["true"]  # carefulness, not an attribute of the person
    (pair,) = read_pairs(pl.DataFrame(table)).pairs
    assert (pair.rater, pair.groups) == ("ann", (("rater_age", "old"),))
    path = tmp_path / "pairs.parquet"
    pl.DataFrame(table).write_parquet(path)
    (pair,) = read_pair_files([path], people={"ann": {"rater_gender": "Woman"}}).pairs
    assert pair.cells == {"rater_age": "old", "rater_gender": "Woman"}


def test_raters_missing_from_the_table_are_noted(tmp_path: Path) -> None:
    path = write_records(tmp_path / "preferences.jsonl", PREFERENCE)
    result = read_pair_files([path], purpose="harmless", people={"ann": {"rater_age": "old"}})
    assert result.notes[-1] == "1 of 2 raters are not in the table of raters, so their groups are not known."
    with pytest.raises(InvalidInput, match=r"None of 2 raters .* is 'zoe'\. Each export has its own ids"):
        read_pair_files([path], purpose="harmless", people={"zoe": {"rater_age": "old"}})


def test_the_table_of_raters_of_an_export(tmp_path: Path) -> None:
    path = tmp_path / "red-teamers.jsonl"
    path.write_text(
        '{"rater_id":"r1","red_team_member_id":0}\n{"rater_id":"r2","rater_age":"old","rater_race":["x"]}\n'
    )
    assert read_people(path) == {"r1": {}, "r2": {"rater_age": "old", "rater_race": '["x"]'}}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"rater_id": ["ann"], "age": ["old"]}, "There is no column rater_…, such as rater_gender"),
        ({"rater": ["ann"], "rater_age": ["old"]}, "There is no column rater_id"),
        ({"rater_id": ["ann", "ann"], "rater_age": ["old", "young"]}, "Row 2: rater_id: 'ann' appears twice"),
        ({"rater_id": ["ann", None], "rater_age": ["old", "young"]}, "Row 2: rater_id: it is empty"),
    ],
)
def test_invalid_tables_of_raters_are_refused(table: dict[str, list[str | None]], message: str) -> None:
    with pytest.raises((InvalidInput, NotFound), match=message):
        read_people(pl.DataFrame(table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"picks": None}, "picks is missing"),
        ({"preference_id": None, "prefrence_id": "p-1"}, "preference_id is missing. Did you mean 'prefrence_id'"),
        ({"picks": [{"rater": "ann", "side": "a"}]}, "a list of picks with rater_id, side and strength"),
        ({"picks": ["a"]}, "a list of picks with rater_id, side and strength"),
        ({"context": 3}, "a list of turns with speaker and text"),
        ({"picks": [{"rater_id": "ann", "side": "c", "strength": 1}]}, "A pick is 'c'"),
        ({"picks": [{"rater_id": "ann", "side": "a", "strength": 9}]}, "A pick has strength 9, and levels is 4"),
        ({"picks": [{"rater_id": "ann", "side": "a", "strength": float("nan")}]}, "NaN is not valid JSON"),
        ({"criterion": "most harmful"}, "criterion is 'most harmful'"),
    ],
)
def test_invalid_preferences_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = write_records(tmp_path / "preferences.jsonl", PREFERENCE, {**asdict(PREFERENCE), **change})
    with pytest.raises(DissensusError, match=r"preferences\.jsonl, record 2: ") as error:
        list(read_preferences(path))
    assert message in str(error.value)


def test_preferences_without_a_picked_side_are_refused(tmp_path: Path) -> None:
    path = write_records(tmp_path / "p.jsonl", replace(PREFERENCE, picks=(Pick("cy", None, 0),)))
    with pytest.raises(InvalidInput, match=r"No pick says .* a rater found neither answer better \(1\)"):
        read_pair_files([path], purpose="harmless")


def test_remarks_of_each_file_are_kept(tmp_path: Path) -> None:
    """A label of no known speaker is told of, beside raters who are not in the table of raters."""
    start = "\n\nHuman: Hi\n\nAssistant: "
    record = {"chosen": f"{start}a\n\nBot: b", "rejected": f"{start}c"}
    path = write_records(tmp_path / "helpful.jsonl", {**record, "rater_id": "ann"}, {**record, "rater_id": "bo"})
    first, second = read_pair_files([path], people={"ann": {"rater_age": "old"}}).notes
    assert "'Bot:' names no known speaker" in first
    assert second == "1 of 2 raters are not in the table of raters, so their groups are not known."


def test_a_table_of_raters_needs_pairs_with_raters(tmp_path: Path) -> None:
    start = "\n\nHuman: Hi\n\nAssistant: "
    path = write_records(tmp_path / "helpful.jsonl", {"chosen": f"{start}a", "rejected": f"{start}c"})
    with pytest.raises(InvalidInput, match="The pairs name no raters"):
        read_pair_files([path], people={"ann": {"rater_age": "old"}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": [{"speaker": "human"}]}, "context is .* It is a list of turns with speaker and text"),
        ({"picks": [{"rater": "ann"}]}, "picks is .* It is a list of picks with rater_id, side and strength"),
        ({"edits": [{"rater_id": "ann"}]}, "edits is .* It is a list of edits with rater_id, side, text"),
        ({"models": 3}, "models is '3'. It is the models of a and b, in a list"),
        ({"models": ["tern"]}, "models is .*tern.* It is the models of a and b, in a list"),
        ({"ranked_by": [None, {}]}, "ranked_by is .* It is the rankers of a and b, in a list"),
    ],
)
def test_the_part_of_a_preference_that_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write_records(tmp_path / "preferences.jsonl", {**asdict(PREFERENCE), **change})
    with pytest.raises(InvalidInput, match=rf"record 1: {message}"):
        list(read_preferences(path))
