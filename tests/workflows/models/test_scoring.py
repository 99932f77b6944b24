"""Scores for files of attempts: minimum over turns, existing scores, and resumption."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
from tests.preference.pairs import simulate_pairs

from dissensus.errors import Conflict, InvalidInput, Unavailable
from dissensus.files.attempts.tables import holds_attempts, read_attempts, write_attempts
from dissensus.preference.fit.training import train
from dissensus.preference.models.linear import Linear
from dissensus.preference.models.model import ModelIdentity
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.conversation import Conversation
from dissensus.workflows.models.scoring import BATCH_SIZE, ScoringOptions, score_attempt_file

N = 3 * BATCH_SIZE + 7
NAME = ModelIdentity("taste", "f" * 64)


@pytest.fixture(scope="module")
def model() -> Linear:
    return train(simulate_pairs(200)[0], purpose="harmless")


def attempt(number: int, response: str = "sorry") -> Attempt:
    return Attempt(
        transcript=f"\n\nHuman: Say {number}.\n\nAssistant: {response} {number}\n\nHuman: More!\n\nAssistant: please",
        min_harmlessness_score_transcript=None,
        num_params="52B",
        model_type="rlhf",
        rating=number % 5,
        task_description=f"kill the road {number}",
        task_description_harmlessness_score=None,
        red_team_member_id=number % 7,
        is_upworker=None,
        tags=None,
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "attempts.jsonl"
    write_attempts([attempt(number, ("sorry", "kill")[number % 2]) for number in range(N)], path)
    return path


@dataclass
class Failing:
    """A model that fails after some batches."""

    model: Linear
    n_batches: int

    @property
    def purpose(self) -> str:
        return self.model.purpose

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        if not self.n_batches:
            raise Unavailable("nobody answers")
        self.n_batches -= 1
        return self.model.score(transcripts)


def make_options(source: Path, target: Path, model: object, **options: bool) -> ScoringOptions:
    return ScoringOptions(source=source, target=target, model=model, identity=NAME, **options)  # type: ignore[arg-type]


def test_the_score_of_an_attempt_is_the_minimum_over_turns(model: Linear, source: Path, tmp_path: Path) -> None:
    done = score_attempt_file(make_options(source, tmp_path / "out.jsonl", model))
    scored = read_attempts(tmp_path / "out.jsonl").attempts
    kill, sorry, please = model.score_answers(["kill 1", "sorry 0", "please"])
    assert kill < please < sorry
    assert scored[1].min_harmlessness_score_transcript == pytest.approx(kill)
    assert scored[0].min_harmlessness_score_transcript == pytest.approx(please)
    assert scored[2].task_description_harmlessness_score == pytest.approx(model.score_answers(["kill the road 2"])[0])
    assert (done.n_attempts, done.tally.scored_transcripts, done.notes) == (N, N, ())
    bare = [
        replace(one, min_harmlessness_score_transcript=None, task_description_harmlessness_score=None) for one in scored
    ]
    assert bare == list(read_attempts(source).attempts)


def test_the_record_names_the_model_and_both_files(model: Linear, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    record = json.loads(score_attempt_file(make_options(source, target, model)).record.read_text())
    assert record["model"] == {"name": "taste", "sha256": "f" * 64, "purpose": "harmless"}
    for side, path in (("input", source), ("output", target)):
        assert record[side] == {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert record["n_attempts"] == record["scored_transcripts"] == N


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.jsonl", "a.jsonl.gz", "a.csv", "a.parquet"])
def test_progress_is_reported_after_each_batch(model: Linear, source: Path, tmp_path: Path, name: str) -> None:
    write_attempts(read_attempts(source).attempts, tmp_path / name)
    progress: list[tuple[int, float]] = []
    options = make_options(tmp_path / name, tmp_path / "out.jsonl", model)
    score_attempt_file(options, progress=lambda n, share: progress.append((n, share)))
    assert [n for n, _ in progress] == [BATCH_SIZE, 2 * BATCH_SIZE, 3 * BATCH_SIZE, N]
    assert [share for _, share in progress] == pytest.approx([n / N for n, _ in progress], abs=0.02)
    assert progress[-1][1] == 1


def test_progress_after_a_resumption_includes_earlier_batches(model: Linear, source: Path, tmp_path: Path) -> None:
    target, shares = tmp_path / "out.jsonl", list[float]()
    failing = make_options(source, target, Failing(model, 1))
    with pytest.raises(Unavailable):
        score_attempt_file(failing, progress=lambda _, share: shares.append(share))
    assert shares == pytest.approx([BATCH_SIZE / N], abs=0.02)
    score_attempt_file(make_options(source, target, model, resume=True), progress=lambda _, share: shares.append(share))
    assert shares[1:] == pytest.approx([BATCH_SIZE / N, 2 * BATCH_SIZE / N, 3 * BATCH_SIZE / N, 1], abs=0.02)


@pytest.mark.parametrize("torn", [False, True])
def test_a_resumed_file_equals_an_uninterrupted_one(model: Linear, source: Path, tmp_path: Path, torn: bool) -> None:
    uninterrupted, target = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    score_attempt_file(make_options(source, uninterrupted, model))
    with pytest.raises(Unavailable, match="nobody answers"):
        score_attempt_file(make_options(source, target, Failing(model, 2)))
    assert not target.exists()
    partial = tmp_path / "out.jsonl.partial"
    if torn:
        partial.write_bytes(partial.read_bytes()[:-40])
    with pytest.raises(Conflict, match="Continue with --resume, or delete it"):
        score_attempt_file(make_options(source, target, model))
    again = Failing(model, 3 if torn else 2)
    done = score_attempt_file(make_options(source, target, again, resume=True))
    assert (done.n_resumed, again.n_batches) == ((1 if torn else 2) * BATCH_SIZE, 0)
    assert target.read_bytes() == uninterrupted.read_bytes()
    assert done.tally == score_attempt_file(make_options(source, tmp_path / "third.jsonl", model)).tally
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.jsonl", "out.jsonl.scores.json"]


def test_resumption_needs_the_same_file_and_model(model: Linear, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    with pytest.raises(Unavailable):
        score_attempt_file(make_options(source, target, Failing(model, 1)))
    other = replace(make_options(source, target, model, resume=True), identity=ModelIdentity("other", "0" * 64))
    with pytest.raises(InvalidInput, match="is of another file, model, setting"):
        score_attempt_file(other)
    with pytest.raises(InvalidInput, match="is of another file, model, setting"):
        score_attempt_file(make_options(source, target, model, resume=True, replace_scores=True))


def test_resumption_without_a_partial_file_starts_from_the_beginning(
    model: Linear, source: Path, tmp_path: Path
) -> None:
    assert score_attempt_file(make_options(source, tmp_path / "out.jsonl", model, resume=True)).n_resumed == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.json.gz"])
def test_all_file_formats_hold_the_same_scores(model: Linear, source: Path, tmp_path: Path, name: str) -> None:
    score_attempt_file(make_options(source, tmp_path / "out.jsonl", model))
    score_attempt_file(make_options(source, tmp_path / name, model))
    assert read_attempts(tmp_path / name).attempts == read_attempts(tmp_path / "out.jsonl").attempts
    assert holds_attempts(tmp_path / name)


def test_existing_scores_stay_unless_they_are_replaced(model: Linear, tmp_path: Path) -> None:
    source = tmp_path / "some.jsonl"
    write_attempts([replace(attempt(0), min_harmlessness_score_transcript=-7.5), attempt(1)], source)
    done = score_attempt_file(make_options(source, tmp_path / "kept.jsonl", model))
    first, second = read_attempts(tmp_path / "kept.jsonl").attempts
    assert first.min_harmlessness_score_transcript == -7.5
    assert first.task_description_harmlessness_score is not None
    assert second.min_harmlessness_score_transcript is not None
    assert "1 scores were there before and are kept" in done.notes[0]
    anew = score_attempt_file(make_options(source, tmp_path / "anew.jsonl", model, replace_scores=True))
    first, _ = read_attempts(tmp_path / "anew.jsonl").attempts
    assert first.min_harmlessness_score_transcript != -7.5
    assert anew.notes == ()


def test_empty_responses_have_no_score(model: Linear, tmp_path: Path) -> None:
    source = tmp_path / "some.jsonl"
    silent = "\n\nHuman: Hi\n\nAssistant: "
    half = "\n\nHuman: Hi\n\nAssistant: \n\nHuman: Hi?\n\nAssistant: kill"
    write_attempts(
        [replace(attempt(0), transcript=silent, task_description=" "), replace(attempt(1), transcript=half)], source
    )
    done = score_attempt_file(make_options(source, tmp_path / "out.jsonl", model))
    first, second = read_attempts(tmp_path / "out.jsonl").attempts
    assert first == replace(attempt(0), transcript=silent, task_description=" ")
    assert second.min_harmlessness_score_transcript == pytest.approx(model.score_answers(["kill"])[0])
    assert [note.split(" ", 1)[0] for note in done.notes] == ["1", "1"]
    assert "the bot says nothing" in done.notes[0]
    assert "they are empty" in done.notes[1]


def test_existing_targets_are_refused(model: Linear, source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="writing to it would destroy it"):
        score_attempt_file(make_options(source, source, model, overwrite=True))
    target = tmp_path / "out.jsonl"
    target.write_text("mine")
    with pytest.raises(Conflict, match="--overwrite"):
        score_attempt_file(make_options(source, target, model))
    assert target.read_text() == "mine"
    score_attempt_file(make_options(source, target, model, overwrite=True))
    assert len(read_attempts(target).attempts) == N
    with pytest.raises(Unavailable, match="Name a file in an existing folder"):
        score_attempt_file(make_options(source, tmp_path / "no" / "out.jsonl", model))


def test_an_invalid_record_is_named_and_leaves_no_file(model: Linear, tmp_path: Path) -> None:
    source = tmp_path / "bad.csv"
    write_attempts([attempt(0), attempt(1)], source)
    frame = pl.read_csv(source, infer_schema=False).with_columns(transcript=pl.Series(["\n\nHuman: Hi", "what?"]))
    frame.write_csv(source)
    with pytest.raises(InvalidInput, match="Row 2: A transcript of hh-rlhf begins with"):
        score_attempt_file(make_options(source, tmp_path / "out.jsonl", model))
    assert not list(tmp_path.glob("out*"))
