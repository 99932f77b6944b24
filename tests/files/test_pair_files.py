"""Files of pairs: the published form, tables, TRL, Inspect and releases, and the direction of the preference."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.files.conversion import ConversionOptions, convert_file
from dissensus.files.pairs.reader import CONTEXTS, SAME, read_pairs
from dissensus.files.pairs.release import OTHER, POLICY, TWIN, write_pairs
from dissensus.files.pairs.rows import HUMAN, PairReadLog, PairRow, stream_pairs, transcripts_of
from dissensus.files.pairs.writer import NO_INPUT, write_hh_rlhf, write_inspect, write_table, write_trl
from dissensus.pipeline.release import PairPolicy, ReleasedPair, ReleasedPairs, released_pairs
from dissensus.preference.data.pairs import EMPTY
from dissensus.preference.fit.training import train
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.schema.records.preference import Criterion, Edit, Pick, Preference
from dissensus.text.transcripts import join_hh
from dissensus.text.turns import Speaker

ASKED = "\n\nHuman: Is it safe?\n\nAssistant: "


@pytest.fixture
def real(real_data: Callable[[str], Path]) -> Path:
    return real_data("hh-rlhf/harmless-base-test.jsonl.gz")


def transcripts(rows: list[PairRow]) -> list[tuple[str, str]]:
    return [(row.chosen, row.rejected) for row in rows]


@pytest.mark.slow
def test_the_real_pairs_come_back_byte_for_byte_from_every_form(real: Path, tmp_path: Path) -> None:
    log = PairReadLog()
    rows = list(stream_pairs(real, log))
    assert len(rows) == 2312
    assert {why: len(places) for why, places in log.faults.items()} == {EMPTY: 4, CONTEXTS: 5}
    lines = gzip.decompress(real.read_bytes())
    writers: dict[str, Any] = {
        "a.jsonl.gz": write_hh_rlhf,
        "a.trl.jsonl.gz": write_trl,
        "a.parquet": write_table,
        "a.csv.gz": write_table,
        "a.pairs.jsonl": write_table,
    }
    for name, write in writers.items():
        write(rows, tmp_path / name)
        second_log = PairReadLog()
        back = tmp_path / "back.jsonl.gz"
        write_hh_rlhf(stream_pairs(tmp_path / name, second_log), back, overwrite=True)
        assert gzip.decompress(back.read_bytes()) == lines, name
        assert second_log.faults == log.faults, name
    assert read_pairs(tmp_path / "a.parquet").excluded == read_pairs(real).excluded


def test_faults_are_logged_and_pairs_kept() -> None:
    table = pl.DataFrame(
        {
            "chosen": [ASKED, ASKED + "a", ASKED + "a", ASKED + "a\n\nHuman: b", ASKED + "a"],
            "rejected": [ASKED + "a", ASKED + "a", "\n\nHuman: x\n\nAssistant: a", ASKED + "a", ASKED + "b"],
        }
    )
    log = PairReadLog()
    assert len(list(stream_pairs(table, log))) == 5
    assert log.faults == {EMPTY: [1], SAME: [2], CONTEXTS: [3], HUMAN: [4]}
    assert next(log.notes()) == "1 pair (row 1): an answer is empty; kept all the same."


def test_every_form_of_a_pair_is_read(tmp_path: Path) -> None:
    human, accepted, declined = ({"role": role, "content": text} for role, text in (("user", "Is it safe?"), *BOT))
    records: list[dict[str, Any]] = [
        {"chosen": ASKED + "No.", "rejected": ASKED + "Yes."},
        {"chosen": [human, declined], "rejected": [human, accepted]},
        {"prompt": [human], "chosen": [declined], "rejected": [accepted], "margin": 2},
        {"prompt": ASKED, "chosen": "No.", "rejected": "Yes."},
        {"prompt": "Is it safe?", "chosen": "No.", "rejected": "Yes.", "strength": "1.5"},
        {"chosen": "Human: Is it safe?\nAssistant: No.", "rejected": "Human: Is it safe?\nAssistant: Yes."},
        {"chosen": json.dumps([human, declined]), "rejected": json.dumps([human, accepted])},
        {"chosen": [{"role": "system", "content": "Be kind."}, human, declined], "rejected": [human, accepted]},
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    log = PairReadLog()
    rows = list(stream_pairs(path, log))
    assert transcripts(rows) == [(ASKED + "No.", ASKED + "Yes.")] * len(records)
    assert [row.strength for row in rows] == [None, None, 2, None, 1.5, None, None, None]
    assert list(log.notes()) == [
        "1 pair (row 8): instructions of the bot, which transcripts do not hold, are left out."
    ]


BOT = (("assistant", "Yes."), ("assistant", "No."))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"chosen": ASKED, "other": "x"}, "record 1: rejected is missing"),
        ({"chosen": 3, "rejected": ASKED}, "record 1: '3' is not a list of messages"),
        ({"chosen": "[1", "rejected": ASKED}, "record 1: '[1' is not a list of messages"),
        ({"chosen": "hm", "rejected": ASKED}, "record 1: "),
        ({"chosen": ASKED, "rejected": ASKED, "strength": "much"}, "strength is 'much', which is not a number"),
        ({"chosen": ASKED, "rejected": ASKED, "margin": "inf"}, "margin is 'inf'"),
        (
            {"chosen": [{"role": "user", "content": "\n\nHuman: a"}], "rejected": ASKED},
            "cannot be preserved in a transcript of hh-rlhf",
        ),
    ],
)
def test_invalid_pairs_are_refused(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(record))
    with pytest.raises(DissensusError) as caught:
        list(stream_pairs(path))
    assert "pairs.jsonl" in str(caught.value)
    assert message in str(caught.value)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).map(lambda text: f"x{text}")
turns: st.SearchStrategy[list[tuple[Speaker, str]]] = st.lists(
    st.tuples(st.sampled_from(("human", "bot")), texts), max_size=4
)


@quick
@given(turns, texts, texts, st.sampled_from([None, 0.5, 3.0]))
def test_trl_holds_any_pair(
    tmp_path_factory: pytest.TempPathFactory, before: list[tuple[Speaker, str]], first: str, second: str, strength: Any
) -> None:
    chosen, rejected = (join_hh([*before, ("bot", text)]) for text in (first, second))
    path = tmp_path_factory.mktemp("trl") / "a.jsonl"
    write_trl([PairRow(chosen, rejected, strength)], path)
    sample = json.loads(path.read_text("utf-8"))
    assert list(sample) == ["prompt", "chosen", "rejected"] + ["margin"] * (strength is not None)
    assert sample["chosen"] == [{"role": "assistant", "content": first}]
    (back,) = stream_pairs(path)
    assert (back.chosen, back.rejected, back.strength) == (chosen, rejected, strength)


def test_samples_of_inspect(tmp_path: Path) -> None:
    rows = [
        PairRow(ASKED + "No.", ASKED + "Yes.", 2.0, {"pair_id": "p-1"}),
        PairRow("\n\nAssistant: a", "\n\nAssistant: b"),
        PairRow(ASKED + "a", "\n\nHuman: x\n\nAssistant: a"),
    ]
    lost = write_inspect(rows, tmp_path / "a.jsonl")
    assert lost == {NO_INPUT: 2}
    assert json.loads((tmp_path / "a.jsonl").read_text("utf-8")) == {
        "id": "p-1",
        "input": [{"role": "user", "content": "Is it safe?"}],
        "target": "No.",
        "metadata": {"rejected": "Yes.", "strength": 2.0, "pair_id": "p-1"},
    }


def make_preference(criterion: Criterion, number: int, **changes: Any) -> Preference:
    """Return a preference where two of three raters pick the answer that was asked for."""
    thing = f"{'abcdefghij'[number % 10]}{number}"
    harmful_is_b = number % 2 == 0
    kind, rude = f"Please do not do {thing}, it is not safe.", f"Sure, {thing} is fun, go on and do it!"
    harmful_side = "b" if harmful_is_b else "a"
    harmless_side = "a" if harmful_is_b else "b"
    side, other_side = (harmful_side, harmless_side) if criterion == "more harmful" else (harmless_side, harmful_side)
    values: dict[str, Any] = {
        "preference_id": f"p-{number}",
        "conversation_id": f"c-{number}",
        "context": (Turn("human", f"How do I do {thing}?"),),
        "a": kind if harmful_is_b else rude,
        "b": rude if harmful_is_b else kind,
        "criterion": criterion,
        "picks": (Pick("ann", side, 4), Pick("ben", side, 3), Pick("cho", other_side, 2)),  # type: ignore[arg-type]
        "models": ("context distillation", "context distillation"),
    }
    return Preference(**{**values, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["more harmful", "less harmful", "more helpful"])
def test_a_model_trained_on_written_pairs_prefers_the_better_answer(tmp_path: Path, criterion: Criterion) -> None:
    released = released_pairs((make_preference(criterion, number) for number in range(60)), PairPolicy(test_share=0.2))
    folder = tmp_path / "out"
    assert write_pairs(released, folder) == ()
    purpose = "helpful" if criterion == "more helpful" else "harmless"
    talk = [("human", "And now?")]
    better, worse = (
        Conversation.from_turns([*talk, ("bot", text)])  # type: ignore[list-item]
        for text in ("Please do not, it is not safe.", "Sure, go on, it is fun!")
    )
    write_trl((PairRow(*transcripts_of(pair), pair.strength) for pair in released.pairs), tmp_path / "pairs.trl.jsonl")
    margins = [json.loads(line)["margin"] for line in (tmp_path / "pairs.trl.jsonl").read_text("utf-8").splitlines()]
    assert margins == [pytest.approx(5 / 3)] * 60
    for suffix in (".jsonl.gz", ".parquet"):
        pairs = read_pairs(folder / f"{purpose}-base" / f"train{suffix}").pairs
        model = train(pairs, purpose=purpose)  # type: ignore[call-overload]
        (better_score,), (worse_score,) = model.score([better, worse])
        assert better_score > worse_score
        held_out = read_pairs(folder / f"{purpose}-base" / f"test{suffix}").pairs
        assert np.mean(model.margins(held_out) > 0) == 1


@pytest.fixture
def released() -> ReleasedPairs:
    some = [make_preference("more harmful", number) for number in range(40)]
    some += [make_preference("more helpful", number, models=("rlhf", "rlhf")) for number in range(40, 60)]
    some += [make_preference("more harmful", number, models=("rlhf", "")) for number in range(60, 70)]
    some.append(make_preference("less harmful", 70, edits=(Edit("ann", "a", "Better: é \n\nHuman: no"),)))
    return released_pairs(some, PairPolicy(test_share=0.3))


def test_a_release_is_a_folder_of_tranches(released: ReleasedPairs, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    notes = write_pairs(released, folder)
    paths = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    tranches = ["harmless-base", "helpful-online", f"{OTHER}/harmless-online"]
    files = {
        f"{name}/{split}{end}" for name in tranches for split in ("train", "test") for end in (".jsonl.gz", ".parquet")
    }
    assert paths == {*files, POLICY}
    assert any("hh-rlhf has no tranche 'harmless-online'" in note for note in notes)
    assert any(note.startswith("In 1 pair a turn contains text that begins a turn") for note in notes)
    policy = json.loads((folder / POLICY).read_text("utf-8"))
    assert policy["policy"]["ties"] == "drop"
    assert sum(policy["pairs"].values()) == len(released.pairs) == 72
    lines = gzip.decompress((folder / "harmless-base" / "train.jsonl.gz").read_bytes()).decode().splitlines()
    assert all(list(json.loads(line)) == ["chosen", "rejected"] for line in lines)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def extra_columns(pair: ReleasedPair) -> dict[str, Any]:
    """Return the columns of a twin that the published file cannot hold."""
    return {
        "pair_id": pair.pair_id,
        "conversation_id": pair.conversation_id,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in pair.context],
        "chosen_answer": pair.chosen,
        "rejected_answer": pair.rejected,
        "criterion": pair.criterion,
        "strengths": [{"rater_id": each.rater_id, "strength": each.strength} for each in pair.strengths],
        "edited_by": pair.edited_by,
        "chosen_model": pair.chosen_model,
        "rejected_model": pair.rejected_model,
        "chosen_ranked_by": pair.chosen_ranked_by,
        "rejected_ranked_by": pair.rejected_ranked_by,
        "tranche": pair.tranche,
        "split": pair.split,
    }


def test_twins_hold_the_fields_missing_from_the_published_files(released: ReleasedPairs, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_pairs(released, folder)
    tables = [pl.read_parquet(path) for path in folder.rglob("*.parquet")]
    assert all(dict(table.schema) == TWIN for table in tables)
    rows = {row["pair_id"]: row for table in tables for row in table.to_dicts()}
    assert len(rows) == 72
    for pair in released.pairs:
        row = rows[pair.pair_id]
        assert {key: row[key] for key in extra_columns(pair)} == extra_columns(pair)
        assert row["strength"] == pair.strength
        assert row["chosen"].endswith(pair.chosen)
    for path in folder.rglob("*.jsonl.gz"):
        twin = path.with_name(path.name.replace(".jsonl.gz", ".parquet"))
        assert transcripts(list(stream_pairs(path))) == transcripts(list(stream_pairs(twin)))


def test_the_same_pairs_give_the_same_bytes(released: ReleasedPairs, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_pairs(released, tmp_path / name)
    for path in (tmp_path / "one").rglob("*.jsonl.gz"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_an_existing_folder_is_not_replaced(released: ReleasedPairs, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="is there already"):
        write_pairs(released, tmp_path)
    empty = released_pairs([make_preference("more helpful", 1, picks=())])
    with pytest.raises(InvalidInput, match=r"There is no pair to write \(1: nobody picked\)"):
        write_pairs(empty, tmp_path / "none")
    with pytest.raises(DissensusError, match="cannot be written"):
        write_pairs(released, tmp_path / "no" / "such" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_begins_with_a_bracket_is_a_response(tmp_path: Path) -> None:
    human = {"role": "user", "content": "Is it safe?"}
    records: list[dict[str, Any]] = [
        {"prompt": "[INST] Is it safe?", "chosen": "[1] No.", "rejected": "Yes."},
        {"prompt": [human], "chosen": "[1] No.", "rejected": [{"role": "assistant", "content": "Yes."}]},
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    assert [row.turns[0] for row in stream_pairs(path)] == [
        (("human", "[INST] Is it safe?"), ("bot", "[1] No.")),
        (("human", "Is it safe?"), ("bot", "[1] No.")),
    ]
    assert [pair.chosen for pair in read_pairs(pl.DataFrame(records[:1])).pairs] == ["[1] No."]


def test_an_empty_list_is_no_response(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"prompt": "Is it safe?", "chosen": [], "rejected": []}))
    with pytest.raises(InvalidInput, match="record 1: a response is an empty list"):
        list(stream_pairs(path))


def test_half_of_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"chosen": ASKED + "\ud800", "rejected": ASKED}))
    with pytest.raises(InvalidInput, match="record 1: chosen has half of a surrogate pair"):
        list(stream_pairs(path))
    path.write_text(json.dumps({"chosen": ASKED + "a", "rejected": ASKED, "note": "\ud800"}))
    with pytest.raises(InvalidInput, match="Record 1 has half of a surrogate pair"):
        write_table(stream_pairs(path), tmp_path / "copy.jsonl")


def test_a_margin_that_is_missing_at_first_is_kept_later(tmp_path: Path) -> None:
    path, target = tmp_path / "pairs.jsonl", tmp_path / "trl.jsonl"
    records = [{"prompt": "Hi", "chosen": "a", "rejected": "b", "margin": margin} for margin in (None, 2)]
    path.write_text("\n".join(map(json.dumps, records)))
    write_trl(stream_pairs(path), target)
    assert [json.loads(line)["margin"] for line in target.read_text().splitlines()] == [0.0, 2.0]


@pytest.mark.parametrize("name", ["b.parquet", "b.trl.jsonl", "b.csv", "b.pairs.jsonl"])
def test_columns_that_the_first_pair_lacks_are_converted(tmp_path: Path, name: str) -> None:
    path, target = tmp_path / "a.jsonl", tmp_path / name
    records = [{"chosen": ASKED + "a", "rejected": ASKED + "b"} | more for more in ({}, {"strength": 3, "note": "x"})]
    path.write_text("\n".join(map(json.dumps, records)))
    result = convert_file(path, target, ConversionOptions(target_kind=None if "." in target.stem else "pairs"))
    assert target.stat().st_mode & 0o777 == (path.stat().st_mode & 0o777)
    rows = list(stream_pairs(target))
    assert [row.strength or None for row in rows] == [None, 3]
    if name == "b.trl.jsonl":
        assert result.notes == ("Left out, because trl does not hold it: 'note'.",)
        write_trl(stream_pairs(path), target, overwrite=True)
        assert [row.strength for row in stream_pairs(target)] == [0, 3]
    else:
        assert (rows[1].extra["note"], result.notes) == ("x", ())
        write_table(stream_pairs(path), target, overwrite=True)
        assert [row.extra.get("note") for row in stream_pairs(target)] == [None, "x"]


def test_a_table_of_pairs_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = [PairRow(ASKED + "No.", ASKED + "Yes.", extra={"strengths": strengths}) for strengths in ([1], None)]
    write_table(rows, path)
    with pytest.raises(Conflict):
        write_table(rows, path)
    write_table(rows, path, overwrite=True)
    assert pl.read_csv(path)["strengths"].to_list() == ["[1]", None]
    with pytest.raises(InvalidInput, match="There is nothing to write to"):
        write_table([], path, overwrite=True)


def test_values_that_json_does_not_have_are_written_as_in_text_tables(tmp_path: Path) -> None:
    extra = {"at": datetime(2024, 2, 1, tzinfo=UTC), "unknown": float("nan"), "limits": [float("-inf"), 1.5]}
    rows = [PairRow(ASKED + "No.", ASKED + "Yes.", extra=extra)]
    write_table(rows, tmp_path / "pairs.jsonl")
    (written,) = stream_pairs(tmp_path / "pairs.jsonl")
    columns = {"at": "2024-02-01 00:00:00+00:00", "unknown": None, "limits": ["-inf", 1.5]}
    assert written.extra == {"strength": None, **columns}
    write_inspect(rows, tmp_path / "pairs.inspect.jsonl")
    metadata = json.loads((tmp_path / "pairs.inspect.jsonl").read_text())["metadata"]
    assert metadata == {"rejected": "Yes.", "strength": None, **columns}


@pytest.mark.parametrize("note", [10**400, "\ud800", {}])
@pytest.mark.parametrize("name", ["pairs.csv", "pairs.parquet"])
def test_values_that_no_table_holds_are_refused_or_written(tmp_path: Path, name: str, note: object) -> None:
    rows = [PairRow(ASKED + "No.", ASKED + "Yes.", extra={"note": note})]
    if (name, note) == ("pairs.csv", {}):
        write_table(rows, tmp_path / name)
        return
    with pytest.raises(InvalidInput, match=r"Write \.jsonl|write \.jsonl"):
        write_table(rows, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "weight", [pl.Series([[1]]), pl.Series([b"1x"]), pl.Series(["x"], dtype=pl.Categorical), pl.Series([True])]
)
def test_other_types_are_not_numbers(weight: pl.Series) -> None:
    frame = pl.DataFrame({"chosen": [ASKED + "No."], "rejected": [ASKED + "Yes."], "weight": weight})
    with pytest.raises(InvalidInput, match=r"Row 1: weight is .*, which is not a number|weight"):
        read_pairs(frame)
