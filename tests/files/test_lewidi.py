"""LeWiDi entries of both editions: reading, consistency checks, writing, errors."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus.errors import InvalidInput
from dissensus.files.ratings.conversion import convert_ratings, read_long, write_long
from dissensus.files.ratings.kinds import RatingsFileOptions, lewidi

# The shape of https://github.com/Le-Wi-Di/le-wi-di.github.io (LeWiDi_3-2025), with texts of our own.
THIRD: dict[str, dict[str, Any]] = {
    "2": {
        "annotation task": "irony detection",
        "text": {"post": "It rains again.", "reply": "Lovely, just what I hoped for."},
        "number of annotators": 3,
        "annotators": "Ann0,Ann10,Ann16",
        "number of annotations": 3,
        "annotations": {"Ann0": "1", "Ann10": "0", "Ann16": "1"},
        "soft_label": {"0.0": 0.3333333333333333, "1.0": 0.6666666666666666},
        "split": "train",
        "lang": "en",
        "other_info": {"source": "reddit", "level": 1.0, "explanations": ["it is said", 'so "they" say']},
    },
    "5": {
        "annotation task": "irony detection",
        "text": {"post": "The train is late.", "reply": "It is."},
        "annotators": "Ann0,Ann16",
        "number of annotations": 2,
        "annotations": {"Ann0": "0", "Ann16": "0"},
        "soft_label": {"0.0": 1.0, "1.0": 0},
        "split": "train",
        "lang": "en",
        "other_info": {"source": "twitter", "level": 2.0},
    },
}
# The shape of the second edition (SemEval-2023 task 11): lists in one order, and a hard label.
SECOND: dict[str, dict[str, Any]] = {
    "1": {
        "text": "A plain text.",
        "annotation task": "offensiveness detection",
        "number of annotations": 3,
        "annotations": "0,1, 0",
        "annotators": "Ann1,Ann2,Ann3",
        "lang": "en",
        "hard_label": "0",
        "soft_label": {"0": 0.67, "1": 0.33},
        "split": "dev",
        "other_info": {"Domain": "weather"},
    }
}


def edit(entries: dict[str, dict[str, Any]], key: str, **fields: Any) -> dict[str, dict[str, Any]]:
    """Return the entries with some fields of one replaced; None removes a field."""
    copy = deepcopy(entries)
    for name, value in fields.items():
        copy[key][name.replace("_of_", " of ")] = value
    copy[key] = {name: value for name, value in copy[key].items() if value is not None}
    return copy


def save(entries: object, path: Path) -> Path:
    path.write_text(json.dumps(entries, indent=4, ensure_ascii=False), encoding="utf-8")
    return path


def test_entries_of_the_third_edition(tmp_path: Path) -> None:
    table, kind, notes = read_long(save(THIRD, tmp_path / "MP_train.json"))
    assert (kind, notes) == ("lewidi", ())
    first = {
        "item_id": "2",
        "item_text_post": "It rains again.",
        "item_text_reply": "Lovely, just what I hoped for.",
        "item_annotation_task": "irony detection",
        "item_split": "train",
        "item_lang": "en",
        "item_source": "reddit",
        "item_level": "1.0",
        "item_explanations": '["it is said", "so \\"they\\" say"]',
        "rater_id": "Ann0",
        "Q_label": "1",
    }
    assert table.rows(named=True)[0] == first
    assert table.columns == list(first)
    assert table.select("item_id", "rater_id", "Q_label").rows()[1:] == [
        *(("2", "Ann10", "0"), ("2", "Ann16", "1")),
        *(("5", "Ann0", "0"), ("5", "Ann16", "0")),
    ]
    assert table["item_explanations"].to_list()[3:] == [None, None]


def test_entries_of_the_second_edition(tmp_path: Path) -> None:
    path = save(SECOND, tmp_path / "MD_dev.json")
    with pytest.raises(InvalidInput, match="'offensive' is not a question name"):
        read_long(path, question="offensive")
    table = read_long(path, question="Q_offensive").table
    assert table.select("item_id", "rater_id", "Q_offensive", "item_text", "item_hard_label", "item_Domain").rows() == [
        ("1", "Ann1", "0", "A plain text.", "0", "weather"),
        ("1", "Ann2", "1", "A plain text.", "0", "weather"),
        ("1", "Ann3", "0", "A plain text.", "0", "weather"),
    ]


def test_context_and_response_keep_their_names(tmp_path: Path) -> None:
    entries = edit(THIRD, "2", text={"context": "c", "response": "r"}, other_info={"context": "x", "id": "y"})
    table = read_long(save(entries, tmp_path / "CSC.json")).table
    assert table.select("context", "response", "item_context", "item_item_id").row(0) == ("c", "r", "x", "y")


def test_both_editions_are_written_as_the_third(tmp_path: Path) -> None:
    convert_ratings(save(THIRD, tmp_path / "a.json"), tmp_path / "a.lewidi.json")
    rewritten = json.loads((tmp_path / "a.lewidi.json").read_text(encoding="utf-8"))
    numbers = {"2": {"soft_label": {"0": 1 / 3, "1": 2 / 3}}, "5": {"soft_label": {"0": 1.0, "1": 0.0}}}
    for key, entry in THIRD.items():
        result = rewritten[key]
        assert result["soft_label"] == pytest.approx(numbers[key]["soft_label"])
        assert result["number of annotators"] == result["number of annotations"] == len(entry["annotations"])
        info = {name: str(v) if name == "level" else v for name, v in entry["other_info"].items()}
        assert {name: v for name, v in result["other_info"].items() if v is not None} == info
        unchanged_keys = ("annotation task", "text", "annotators", "annotations", "split", "lang")
        assert {name: result[name] for name in unchanged_keys} == {name: entry[name] for name in unchanged_keys}
    convert_ratings(save(SECOND, tmp_path / "b.json"), tmp_path / "b.lewidi.json.gz")
    table = read_long(tmp_path / "b.lewidi.json.gz").table
    assert table.equals(read_long(tmp_path / "b.json").table)


def test_the_soft_label_is_over_the_scale_of_the_question() -> None:
    table = pl.DataFrame({"item_id": ["1", "1"], "rater_id": ["a", "b"], "Q_overall": ["Yes", "No"]})
    entries, notes = lewidi.write(table)
    assert entries["1"]["soft_label"] == {"No": 0.5, "Unsure": 0.0, "Yes": 0.5}
    assert notes == ("The name of the question is not in LeWiDi: read it again with --question Q_overall.",)
    declared = table.with_columns(pl.Series("Q_overall", ["b", "a"], dtype=pl.Enum(["c", "b", "a"])))
    assert list(lewidi.write(declared)[0]["1"]["soft_label"]) == ["c", "b", "a"]


def test_losses_of_entries_are_noted() -> None:
    table = pl.DataFrame(
        {"item_id": ["1", "2"], "rater_id": ["a", "b"], "rater_x": ["F", "M"], "id": ["1", "2"], "Q_label": ["1", None]}
    )
    entries, notes = lewidi.write(table)
    assert list(entries) == ["1"]
    assert notes == (
        "1 row without an answer to Q_label left out.",
        "Left out, because LeWiDi does not hold them: 'rater_x', 'id'.",
    )


def test_attributes_of_raters_are_joined(tmp_path: Path) -> None:
    people = {"0": {"Age": 19.0, "Country of birth": "x"}, "10": {"Age": 34, "Gender": "y"}, "11": {"Age": 1}}
    path, meta = save(THIRD, tmp_path / "MP_train.json"), save(people, tmp_path / "MP_annotators_meta.json")
    table, _, notes = read_long(path, annotators=meta)
    assert table.select("rater_id", "rater_age", "rater_country_of_birth", "rater_gender").rows()[:3] == [
        ("Ann0", "19.0", "x", None),
        ("Ann10", "34", None, "y"),
        ("Ann16", None, None, None),
    ]
    assert notes == (f"{meta} does not describe 1 of the 3 raters: 'Ann16'.",)
    assert table.columns[-5:] == ["rater_id", "rater_age", "rater_country_of_birth", "rater_gender", "Q_label"]


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ({"Ann77": {"Age": 1}}, "describes none of the raters, 'Ann0', 'Ann10', 'Ann16'"),
        ({"Ann0": 7}, r"is not a JSON object like \{\"Ann1\""),
        ([{"Ann0": {}}], "is not a JSON object like"),
        ({"Ann0": {"Id": "1"}}, "'Ann0': two of its fields would be called rater_id"),
        ({"Ann0": {"Age": "1", "age": "2"}}, "'Ann0': two of its fields would be called rater_age"),
    ],
)
def test_files_without_raters_are_refused(tmp_path: Path, people: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_long(save(THIRD, tmp_path / "a.json"), annotators=save(people, tmp_path / "meta.json"))


def test_shares_that_are_rounded_are_no_contradiction(tmp_path: Path) -> None:
    for shares in ({"0": 0.33, "1": 0.67}, {"0": 0.333, "1": 0.667}, {"0.0": "0.3333", "1.0": "0.6667"}):
        assert read_long(save(edit(THIRD, "2", soft_label=shares), tmp_path / "a.json")).notes == ()
    assert read_long(save(edit(THIRD, "2", soft_label=None), tmp_path / "a.json")).notes == ()


def test_unchecked_shares_are_noted(tmp_path: Path) -> None:
    """ConvAbuse (2023) annotates severity from -3 to 1 and counts abusive or not."""
    severities = edit(SECOND, "1", annotations="0,-1,1", soft_label={"0": 0.67, "1": 0.33})
    table, _, notes = read_long(save(severities, tmp_path / "a.json"))
    assert table["Q_label"].to_list() == ["0", "-1", "1"]
    assert len(notes) == 1
    assert "count something else than the annotations: entry '1' has" in notes[0]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (edit(THIRD, "2", soft_label={"0": 0.5, "1": 0.5}), "Entry '2': soft_label is .* but its annotations give"),
        (edit(THIRD, "2", soft_label={"0": "x"}), "Entry '2': soft_label is .* not a share for each answer"),
        (edit(THIRD, "2", soft_label=[1]), "Entry '2': soft_label is .* not a share for each answer"),
        (edit(THIRD, "5", number_of_annotations=3), "Entry '5': number of annotations is 3, but 2 are there"),
        (edit(THIRD, "5", number_of_annotators="many"), "Entry '5': number of annotators is many, but 2"),
        (edit(THIRD, "5", annotators="Ann0,Ann1"), "Entry '5': annotators are 'Ann0,Ann1', but annotations are by"),
        (edit(THIRD, "5", annotations=None), "Entry '5': it has no annotations"),
        (edit(THIRD, "5", annotations=["0", "0"]), "Entry '5': it has no annotations"),
        (edit(THIRD, "2", other_info="x"), "Entry '2': other_info is 'x', not an object"),
        (edit(THIRD, "2", other_info={"split": "x"}), "Entry '2': two of its fields would be called item_split"),
        (edit(SECOND, "1", annotators=None), "Entry '1': it has no annotators"),
        (edit(SECOND, "1", annotations="0,1"), "Entry '1': .*: 2 annotations by 3 raters"),
        (edit(SECOND, "1", annotators="Ann1,Ann2,Ann1"), "Entry '1': .*: 3 annotations by 2 raters"),
        (
            edit(THIRD, "2", annotations={"Ann0": "a,b"}, soft_label={"a": {"0": 0.0, "1": 1.0}}),
            r"Entry '2': an annotation has several labels \(as in VariErrNLI\)",
        ),
        (edit(THIRD, "2", annotations={"Ann0": ["a", "b"]}), "Entry '2': an annotation has several labels"),
        ({"1": {"annotations": {}}}, "No entry has an annotation"),
        ({"1": {"annotations": {"a": "\ud800"}}}, "surrogate"),
    ],
)
def test_contradictory_entries_are_refused(tmp_path: Path, entries: dict[str, Any], message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    with pytest.raises(InvalidInput, match=message) as error:
        read_long(path)
    assert str(path) in str(error.value)


def test_a_duplicate_item_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"1": {"annotations": {"a": "0"}},\n "1": {"annotations": {"a": "1"}}}')
    with pytest.raises(InvalidInput, match="names '1' twice"):
        read_long(tmp_path / "a.json")


def test_damaged_json_names_the_line(tmp_path: Path) -> None:
    path = save(THIRD, tmp_path / "a.json")
    path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"a\.json, line \d\d, column .*not JSON"):
        read_long(path)


def test_other_files_are_not_read_as_entries(tmp_path: Path) -> None:
    rows = '{"item_id": "1", "rater_id": "a", "Q_label": "0"}\n'
    for text in (rows, rows * 2, f"[{rows}]", f"\n {rows}"):
        (tmp_path / "a.json").write_text(text)
        assert read_long(tmp_path / "a.json").kind == "long"
    with pytest.raises(InvalidInput, match="it is not a LeWiDi file"):
        read_long(tmp_path / "a.json", "lewidi")
    with pytest.raises(InvalidInput, match="one entry per item, as in LeWiDi"):
        read_long(save(THIRD, tmp_path / "b.json"), "long")


def test_lewidi_to_wide_and_back(tmp_path: Path) -> None:
    path, options = save(THIRD, tmp_path / "a.json"), RatingsFileOptions(rater_columns="coder_{rater_id}")
    convert_ratings(path, tmp_path / "a.wide.csv", options=options)
    convert_ratings(tmp_path / "a.wide.csv", tmp_path / "b.lewidi.json", options=options)
    assert read_long(tmp_path / "b.lewidi.json").table.equals(read_long(path).table)


def test_ids_and_answers_of_any_kind(tmp_path: Path) -> None:
    table = pl.DataFrame({"item_id": ["007"], "rater_id": [" a,b "], "Q_label": ["1e5, nan"]})
    write_long(table, tmp_path / "a.lewidi.json")
    assert read_long(tmp_path / "a.lewidi.json").table.equals(table)


@pytest.mark.parametrize(
    "text",
    [
        "[1,2]",
        "[1, 2]",
        "[1, 2.50]",
        '["a","b"]',
        '["a", "b"]',
        '{"a": 1}',
        '{"a": "x", "a": "y"}',
        "[NaN]",
        "[",
        "[" * 10_000,
    ],
)
def test_texts_are_lists_if_these_are_written_alike(tmp_path: Path, text: str) -> None:
    table = pl.DataFrame({"item_id": ["1"], "item_x": [text], "rater_id": ["a"], "Q_label": ["0"]})
    write_long(table, tmp_path / "a.lewidi.json")
    assert read_long(tmp_path / "a.lewidi.json").table.equals(table)
    value = json.loads((tmp_path / "a.lewidi.json").read_text(encoding="utf-8"))["1"]["other_info"]["x"]
    assert value == {"[1, 2]": [1, 2], '["a", "b"]': ["a", "b"], '{"a": 1}': {"a": 1}}.get(text, text)


def test_attributes_of_items_keep_their_names(tmp_path: Path) -> None:
    columns = [
        "context",
        "item_context",
        "item_text",
        "item_text_post",
        "phase",
        "item_phase",
        "item_item_id",
        "item_x",
    ]
    columns += ["item_lang", "item_item_lang", "safety_gold", "item_safety_gold", "item_item_x", "item_", "item_text_"]
    table = pl.DataFrame({"item_id": "1", **{name: f"of {name}" for name in columns}, "rater_id": "a", "Q_label": "0"})
    write_long(table, tmp_path / "a.lewidi.json")
    result = read_long(tmp_path / "a.lewidi.json").table
    assert result.select(table.columns).equals(table)
    assert result.width == table.width


def test_entries_without_annotations_are_not_blamed_on_the_file_of_raters(tmp_path: Path) -> None:
    path = save({"1": {"text": "x", "annotations": {}}}, tmp_path / "a.json")
    with pytest.raises(InvalidInput, match="No entry has an annotation"):
        read_long(path, annotators=save({"Ann1": {"Gender": "F"}}, tmp_path / "meta.json"))


def test_numbers_in_other_information_stay_numbers(tmp_path: Path) -> None:
    info = {"ks": [1, 2.5, "3"], "of": {"a": 1}}
    entry = {"annotators": "a", "annotations": {"a": "1"}, "soft_label": {"1": 1.0}, "other_info": info}
    (tmp_path / "a.json").write_text(json.dumps({"1": entry}))
    long = read_long(tmp_path / "a.json").table
    assert long.select("item_ks", "item_of").row(0) == ('[1, 2.5, "3"]', '{"a": 1}')
    write_long(long, tmp_path / "b.lewidi.json")
    assert json.loads((tmp_path / "b.lewidi.json").read_text())["1"]["other_info"] == info
