"""Labels that name no known speaker."""

import json
from pathlib import Path

import polars as pl
import pytest

import dissensus as ds
from dissensus.files.record_validation import validate_records
from dissensus.text.speakers import find_unknown_speakers

KNOWN = "\n\nHuman: Is it safe?\n\nAssistant: No."
UNKNOWN = "\n\nHuman: Is it safe?\n\nLLM: No.\n\nHuman: Why?\n\nAssistant: It is hot."


@pytest.mark.parametrize("name", ["LLM", "ChatGPT", "GPT-4o", "User", "Claude 3", "Bot", "Speaker 2", "System"])
def test_usual_names_of_speakers_are_found(name: str) -> None:
    assert find_unknown_speakers([f"Is it safe?\n\n{name}: No."], paragraphs=True) == (name,)
    assert find_unknown_speakers([f"Is it safe?\n**{name}:** No."]) == (name,)


@pytest.mark.parametrize(
    "text", ["Ingredients:\n\nSugar: 2 g", "the user: me", "I asked the LLM: no", "A: yes\nB: no", "Note:\n\nModels: 3"]
)
def test_other_text_with_colons_is_none(text: str) -> None:
    assert find_unknown_speakers([text]) == ()


def test_in_transcripts_only_a_paragraph_begins_a_turn() -> None:
    assert find_unknown_speakers(["as in\nUser: hello"], paragraphs=True) == ()


def test_pairs_name_the_label(tmp_path: Path) -> None:
    pair = {"chosen": UNKNOWN, "rejected": UNKNOWN.replace("hot", "cold")}
    path = tmp_path / "pairs.jsonl"
    path.write_text(f"{json.dumps(pair)}\n" * 2)
    said = "'LLM:' names no known speaker, so its text belongs to the turn before"
    assert any(said in note for note in ds.read_pairs(path).notes)
    result = validate_records(path)
    assert result.ok
    assert [(p.check, p.row) for p in result.problems()] == [("unknown speaker", 1), ("unknown speaker", 2)]


@pytest.mark.parametrize("text", [UNKNOWN, "USER: Is it safe?\nLLM: No.\nUSER: Why?\nLAMDA: It is hot."])
def test_items_name_the_label(text: str) -> None:
    (_,), notes = ds.read_items(pl.DataFrame({"item_id": ["1"], "transcript": [text]}))
    assert any("In 1 conversation 'LLM:' names no known speaker" in note for note in notes)


def test_known_speakers_are_not_named() -> None:
    assert ds.read_items(pl.DataFrame({"item_id": ["1"], "transcript": [KNOWN]})).notes == ()


@pytest.mark.parametrize(
    "extra",
    [
        {"rejected_2": KNOWN.replace("No.", "Perhaps.")},
        {"response_3": "Perhaps."},
        {"rejected": [KNOWN, KNOWN]},
    ],
)
def test_more_than_two_responses_are_refused(tmp_path: Path, extra: dict[str, object]) -> None:
    pair = {"chosen": KNOWN, "rejected": KNOWN.replace("No.", "Yes."), **extra}
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(pair) + "\n")
    assert not validate_records(path).ok
    with pytest.raises(ds.InvalidInput):
        ds.read_pairs(path)


def test_items_of_three_responses_are_refused() -> None:
    frame = pl.DataFrame({"context": ["Hi"], "response_a": ["a"], "response_b": ["b"], "response_c": ["c"]})
    with pytest.raises(ds.InvalidInput, match=r"'response_c' hold more responses than two.*a row for each pair"):
        ds.read_pair_items(frame)


def test_arena_files_are_comparisons() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["x", "y", "x", "z"],
            "model_b": ["y", "z", "z", "x"],
            "winner": ["model_a", "model_b", "tie", "tie (bothbad)"],
            "judge": ["p", "q", "p", "q"],
        }
    )
    read = ds.read_comparisons(frame)
    assert read.comparisons.bots == ("x", "y", "z")
    assert read.comparisons.outcome.tolist() == [1.0, 0.0, 0.5, 0.5]
