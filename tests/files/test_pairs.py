"""Preference pairs from files, with counts of excluded ones."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.pairs.reader import CONTEXTS, SAME, purpose_from_name, read_pairs
from dissensus.files.pairs.votes import read_pair_files
from dissensus.files.record_validation import validate_records

ASKED = "\n\nHuman: Is it safe?\n\nAssistant: "


def table(*rows: tuple[str, str], **columns: list[object]) -> pl.DataFrame:
    sides = {side: [row[place] for row in rows] for place, side in enumerate(("chosen", "rejected"))}
    return pl.DataFrame({**sides, **columns})


def test_the_real_file(real_data: Callable[[str], Path]) -> None:
    result = read_pairs(real_data("hh-rlhf/harmless-base-test.jsonl.gz"))
    assert len(result.pairs) == 2303
    assert result.excluded == {"an answer is empty (rows 87, 517, 926, 1,104)": 4, CONTEXTS: 5}
    assert result.notes == (
        "4 pairs left out: an answer is empty (rows 87, 517, 926, 1,104).",
        "5 pairs left out: the contexts of the two differ.",
    )


def test_all_known_columns_are_read() -> None:
    frame = table(
        (ASKED + "No.", ASKED + "Sure!"), strength=["2.5"], weight=[3], rater_id=[7], group=["Woman"], tranche=["base"]
    )
    (pair,) = read_pairs(frame).pairs
    assert (pair.chosen, pair.rejected, pair.dialogue, pair.n_turns) == ("No.", "Sure!", "Is it safe?", 1)
    assert (pair.strength, pair.weight, pair.rater, pair.group) == (2.5, 3.0, "7", "Woman")


def test_pairs_that_cannot_be_compared_are_counted() -> None:
    other_context = ASKED.replace("safe", "far")
    rows = [
        (ASKED + "No.", ASKED + "Yes."),
        (ASKED, ASKED + "a"),
        (ASKED + "a", ASKED + "a"),
        (ASKED + "a", other_context + "b"),
    ]
    result = read_pairs(table(*rows))
    assert len(result.pairs) == 1
    assert result.excluded == {"an answer is empty (row 2)": 1, SAME: 1, CONTEXTS: 1}


def test_several_files_are_concatenated(tmp_path: Path) -> None:
    for name in "ab":
        rows = [
            {"chosen": ASKED + "No.", "rejected": ASKED + "Yes."},
            {"chosen": ASKED + name, "rejected": ASKED + name},
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = read_pair_files([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert (len(result.pairs), result.excluded) == (2, {SAME: 2})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"chosen": ["a"], "better": ["b"]}), "There is no column 'rejected'"),
        (table((ASKED + "No.", "hm")), "Row 1"),
        (table((ASKED + "a", ASKED + "a")), "None of 1 pairs can be compared: both answers are the same"),
        (table((ASKED + "a", ASKED + "b"), weight=["-1"]), "Row 1: The weight of a pair is -1"),
        (table((ASKED + "a", ASKED + "b"), strength=["much"]), "Row 1: strength is 'much', which is not a number"),
        (table((ASKED + "a\n\nHuman: b", ASKED + "b")), "Row 1: The last turn, 'b', is by the human"),
    ],
)
def test_invalid_files_of_pairs_are_refused(frame: pl.DataFrame, message: str) -> None:
    with pytest.raises(DissensusError) as caught:
        read_pairs(frame)
    assert message in str(caught.value)


def test_the_purpose_is_taken_from_names() -> None:
    assert purpose_from_name(Path("hh/harmless-base/train.jsonl.gz")) == "harmless"
    assert purpose_from_name(Path("helpful-online.jsonl")) == "helpful"
    assert purpose_from_name(Path("/data/helpful-and-harmless.jsonl")) is None
    assert purpose_from_name(Path("/data/pairs.jsonl")) is None


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"chosen": ASKED + "a", "rejected": ASKED + "a"}))
    with pytest.raises(InvalidInput, match=r"pairs\.jsonl: None of 1 pairs"):
        read_pairs(path)


def test_agreement_and_tranche_are_read(tmp_path: Path) -> None:
    question = "\n\nHuman: Is it safe?\n\nAssistant: "
    rows = [
        {"chosen": f"{question}No.", "rejected": f"{question}Sure{number}!", "strengths": said}
        for number, said in enumerate(
            (
                [{"rater_id": "a", "strength": 2}, {"rater_id": "b", "strength": -1}],
                [{"rater_id": "a", "strength": 2}, {"rater_id": "b", "strength": 1}],
                [{"rater_id": "a", "strength": 2}],
                None,
            )
        )
    ]
    (tmp_path / "helpful-online").mkdir()
    path = tmp_path / "helpful-online" / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    pairs = read_pairs(path).pairs
    assert [pair.agreement for pair in pairs] == [0.5, 1.0, None, None]
    assert {pair.tranche for pair in pairs} == {"helpful-online"}
    columns = pl.DataFrame(rows).with_columns(agreement=pl.lit(0.75), tranche=pl.lit("ours"))
    assert {(pair.agreement, pair.tranche) for pair in read_pairs(columns).pairs} == {(0.75, "ours")}
    for strengths in ("7", json.dumps([{"rater_id": "a", "strength": 10**400}])):
        with pytest.raises(InvalidInput, match=r"Row 1: strengths is '.*'; write it like"):
            read_pairs(pl.DataFrame(rows[:1]).with_columns(strengths=pl.lit(strengths)))
    with pytest.raises(InvalidInput, match=r"Row 1: The agreement on a pair is 3; give a share"):
        read_pairs(columns.with_columns(agreement=pl.lit("3")))


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(InvalidInput, match="The table has no rows"):
        read_pairs(pl.DataFrame(schema={"chosen": pl.String, "rejected": pl.String}))


def test_the_label_of_an_unknown_speaker_is_named(tmp_path: Path) -> None:
    unknown = "\n\nHuman: Is it safe?\n\nLLM: No.\n\nHuman: Why?\n\nAssistant: It is hot."
    path = tmp_path / "pairs.jsonl"
    path.write_text(f"{json.dumps({'chosen': unknown, 'rejected': unknown.replace('hot', 'cold')})}\n" * 2)
    (note,) = read_pairs(path).notes
    assert "'LLM:' names no known speaker, so its text belongs to the turn before" in note
    result = validate_records(path)
    assert result.ok
    assert [(p.check, p.row) for p in result.problems()] == [("unknown speaker", 1), ("unknown speaker", 2)]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"rejected_2": f"{ASKED}Perhaps."}, "'rejected_2' hold more responses than the two of a pair"),
        ({"response_3": "Perhaps."}, "'response_3' hold more responses than the two of a pair"),
        ({"rejected": [f"{ASKED}No."] * 2}, "Row 1: "),
    ],
)
def test_more_than_two_responses_are_refused(tmp_path: Path, extra: dict[str, object], message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"chosen": f"{ASKED}No.", "rejected": f"{ASKED}Yes.", **extra}) + "\n")
    assert not validate_records(path).ok
    with pytest.raises(InvalidInput, match=message):
        read_pairs(path)
