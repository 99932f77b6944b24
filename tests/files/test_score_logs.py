"""Scores in logs of Inspect and HELM, in files as these tools write them, and bad ones."""

import codecs
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dissensus.errors import DissensusError, InvalidInput, MissingExtra
from dissensus.files.scores import archives
from dissensus.files.scores.reader import read_scores

HEADER = {"version": 2, "status": "success", "eval": {"model": "openai/gpt-4o", "task": "harm"}, "plan": {}}


def build_sample(item: int | str, epoch: int, **scores: Any) -> dict[str, Any]:
    return {
        "id": item,
        "epoch": epoch,
        "input": "Hello",
        "target": "",
        "messages": [],
        "scores": {name: {"value": value, "answer": "A", "history": []} for name, value in scores.items()},
    }


def write_archive(path: Path, samples: list[dict[str, Any]], *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    module: Any = vars(archives)["zipfile"] if method == archives.ZSTANDARD else zipfile
    with module.ZipFile(path, "w", method) as archive:
        archive.writestr("_journal/start.json", json.dumps({**HEADER, "status": "started"}))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("_journal/summaries/1.json", "[]")
        archive.writestr("summaries.json", "[]")
        archive.writestr("reductions.json", "[]")
        archive.writestr("header.json", json.dumps(HEADER))
    return path


def write_log(path: Path, samples: list[dict[str, Any]], header: Mapping[str, Any] = HEADER) -> Path:
    path.write_text(json.dumps({**header, "samples": samples}))
    return path


@pytest.mark.parametrize("kind", ["deflated", "zstandard", "json"])
def test_grades_and_scores_of_inspect_are_averaged_over_epochs(tmp_path: Path, kind: str) -> None:
    """NaN is the score of a sample that a scorer did not score; a scorer may give several values by name."""
    samples = [
        build_sample(1, 1, grade="C", harm=0.25, both={"a": 1, "b": False}),
        build_sample("q/2", 1, grade="N", harm=float("nan"), both={"a": 0, "b": True}),
        build_sample(1, 2, grade="P", harm=0.75, both={"a": 0, "b": False}),
        build_sample("q/2", 2, grade="N", harm=1, both={"a": 0, "b": False}),
        build_sample(3, 1, grade="I", harm=0.0, both={"a": 0, "b": None}),
    ]
    if kind == "json":
        path = write_log(tmp_path / "log.json", samples)
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    else:
        path = write_archive(
            tmp_path / "log.eval", samples, method=archives.ZSTANDARD if kind == "zstandard" else zipfile.ZIP_DEFLATED
        )
    scores = read_scores(path, reverse=["openai/gpt-4o both b"])
    assert scores.table.to_dict(as_series=False) == {
        "item_id": ["1", "q/2", "3"],
        "openai/gpt-4o grade": [0.75, None, 0.0],
        "openai/gpt-4o harm": [0.5, 1.0, 0.0],
        "openai/gpt-4o both a": [0.5, 0.0, 0.0],
        "openai/gpt-4o both b": [1.0, 0.5, None],
    }
    assert scores.notes == (
        "Grades of Inspect in 'openai/gpt-4o grade': C is 1, P 0.5, I 0, and N is missing. 1 means unsafe, unless the "
        "model is one of --reverse.",
        "Reversed, since 1 means safe: 'openai/gpt-4o both b'.",
    )


def test_models_of_inspect_have_the_name_of_the_log_or_of_the_scorer(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    assert read_scores(write_log(log, [build_sample(1, 1, harm="unsafe")])).models == ("openai/gpt-4o",)
    for header in ({"model": "none/none"}, {"task": "harm"}):
        path = write_log(log, [build_sample(1, 1, harm="unsafe", other=2)], {"eval": header})
        scores = read_scores(path, models=["harm"])
        assert (scores.models, scores.label_models) == (("harm",), ("harm",))


def test_own_labels_take_the_place_of_grades(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.json", [build_sample(1, 1, s="C"), build_sample(2, 1, s="I")])
    for labels in ({"C": 0, "I": 1}, {" c": 0, "i": 1}):
        scores = read_scores(log, labels=labels)
        assert (scores.table.rows(), scores.notes) == ([("1", 0.0), ("2", 1.0)], ())
    assert read_scores(log, labels={"Yes": 1, "No": 0}).table.rows() == [("1", 1.0), ("2", 0.0)]
    with pytest.raises(InvalidInput, match="the label 'I'"):
        read_scores(log, models=["openai/gpt-4o"], labels={"C": 0})


@pytest.mark.parametrize("scorer", ["score", "Label"])
def test_a_plain_name_of_a_scorer_is_read_by_the_name_of_the_file(tmp_path: Path, scorer: str) -> None:
    samples = [build_sample(1, 1, **{scorer: 0.9, "tokens": 5}), build_sample(1, 2, **{scorer: 0.7, "tokens": 6})]
    log = write_log(tmp_path / "guard.json", samples, {"eval": {"model": "none/none"}})
    scores = read_scores(log, models=["guard"])
    assert (scores.models, scores.table.rows()) == (("guard",), [("1", pytest.approx(0.8))])


def test_the_note_on_grades_names_models_that_are_read(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.json", [build_sample(1, 1, a="C", b="I", c=0.5)])
    (note,) = read_scores(log, models=["openai/gpt-4o a"]).notes
    assert note.startswith("Grades of Inspect in 'openai/gpt-4o a': C")
    assert read_scores(log, models=["openai/gpt-4o c"]).notes == ()


def test_a_sample_in_a_folder_and_a_log_that_was_cut_off_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps(HEADER))
        archive.writestr("samples/1_epoch_1/sample.json", json.dumps(build_sample(1, 1, harm=1)))
        archive.writestr("samples/1_epoch_1/messages/0.json", "[]")
        archive.writestr("samples/1_epoch_1/events/stats.json", "{}")
    assert read_scores(path).table.rows() == [("1", 1.0)]


def test_a_score_outside_0_to_1_in_one_epoch_is_refused(tmp_path: Path) -> None:
    samples = [build_sample(1, 1, harm=0.5, tokens=900), build_sample(1, 2, harm=0.5, tokens=100)]
    log = write_log(tmp_path / "log.json", samples)
    with pytest.raises(InvalidInput, match=r"the score 900 of 'openai/gpt-4o tokens' in one of 2 epochs"):
        read_scores(log)
    assert read_scores(log, models=["openai/gpt-4o harm"]).table.rows() == [("1", 0.5)]
    log = write_log(log, [build_sample(1, 1, harm=-0.5), build_sample(1, 2, harm=1.5)])
    with pytest.raises(InvalidInput, match=r"the score -0\.5 of 'openai/gpt-4o'"):
        read_scores(log)
    log = write_log(log, [build_sample(1, 1, harm="safe"), build_sample(1, 2, harm="unsafe")])
    with pytest.raises(InvalidInput, match="several labels of 'openai/gpt-4o': 'safe', 'unsafe'"):
        read_scores(log)


def build_instance(item: str, trial: int = 0, perturbation: str | None = None, **means: float) -> dict[str, Any]:
    instance: dict[str, Any] = {"instance_id": item, "train_trial_index": trial, "stats": []}
    if perturbation:
        instance["perturbation"] = {"name": perturbation, "robustness": True}
    for name, mean in means.items():
        own = {"name": {"name": name, "split": "test"}, "count": 1, "sum": mean, "min": mean, "max": mean}
        instance["stats"].append({**own, "mean": mean, "variance": 0.0, "stddev": 0.0})
    return instance


def test_safety_scores_of_helm_are_reversed_and_toxicity_is_not(tmp_path: Path) -> None:
    """HELM Safety documents 1 as the best score, and its toxicity statistics as shares of toxic completions."""
    path = tmp_path / "per_instance_stats.json"
    others: dict[str, Any] = {"num_prompt_tokens": 532, "safety_gpt_annotator_success": 1}
    instances = [
        build_instance("id1", safety_gpt_score=0.75, safety_score=1.0, toxic_frac=0.4, **others),
        build_instance("id1", 1, safety_gpt_score=0.25, safety_score=1.0, toxic_frac=0.2, **others),
        build_instance("id1", perturbation="typos", safety_gpt_score=0.0, safety_score=0.0, toxic_frac=1, **others),
        build_instance("id2", safety_gpt_score=0.0, safety_score=0.0, toxic_frac=0, **others),
    ]
    path.write_text(json.dumps(instances))
    for scores in (read_scores(path), read_scores(path, reverse=["safety_score"])):
        assert scores.models == ("safety_gpt_score", "safety_score", "toxic_frac")
        assert scores.table.rows() == [("id1", 0.5, 0.0, pytest.approx(0.3)), ("id2", 1.0, 1.0, 0.0)]
        assert scores.notes == (
            "Statistics of HELM that are not read: 'num_prompt_tokens', 'safety_gpt_annotator_success'.",
            "Reversed, since 1 means safe: 'safety_gpt_score', 'safety_score'.",
        )
    assert read_scores(path, models=["toxic_frac"]).models == ("toxic_frac",)
    with pytest.raises(InvalidInput, match=r"the score 532\.0 of 'num_prompt_tokens'"):
        read_scores(path, models=["num_prompt_tokens"])
    path.write_text(json.dumps([build_instance("id1", exact_match=1.0)]))
    with pytest.raises(InvalidInput, match=r"no statistic of safety or toxicity, but 'exact_match'.*--reverse NAME"):
        read_scores(path)
    assert read_scores(path, models=["exact_match"], reverse=["exact_match"]).table.rows() == [("id1", 0.0)]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"eval": "x", "samples": [build_sample(1, 1, s=1)]}, r"'x' where an object belongs \(eval\)"),
        ({"eval": {}, "samples": [{"id": 1, "scores": [1]}]}, r"an object belongs \(scores\)"),
        ({"eval": {}, "samples": [1]}, r"an object belongs \(samples\)"),
        ({"eval": {}, "samples": [build_sample(1, 1, s=[1, 2])]}, "score 's' of sample '1' is a list"),
        ({"eval": {"model": "item_id"}, "samples": [build_sample(1, 1, s=1)]}, "A model is named 'item_id'"),
        ({"eval": {"model": "m"}, "samples": []}, "no scores"),
        ({"eval": {}, "samples": [{"scores": {"s": 1}}]}, "has no id, which is a text or a whole number"),
        *(
            ({"eval": {}, "samples": [{"id": value, "scores": {"s": 1}}]}, "A sample has no id")
            for value in (None, [1], True, 1.5)
        ),
        (
            {"eval": {}, "samples": [build_sample(1, 1, s={"a": 1, "b": 0.5}, **{"s a": 0})]},
            "Sample '1' has two scores named 's a'",
        ),
        ({"eval": {"model": "m"}, "samples": [build_sample(1, 1, s="C"), build_sample(2, 1, s="D")]}, "No column"),
        ([{"instance_id": "1", "stats": [1]}], r"an object belongs \(stats\)"),
        ([{"instance_id": "1", "stats": []}], "no means"),
    ],
    ids=str,
)
def test_bad_logs_are_named(tmp_path: Path, document: Any, message: str) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match=message):
        read_scores(log)


def test_bad_archives_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_archive(tmp_path / "log.eval", [build_sample(1, 1, harm=1)], method=zipfile.ZIP_STORED)
    whole = path.read_bytes()
    cases: tuple[tuple[bytes, str], ...] = (
        (b"", "not an archive of Inspect"),
        (b"item_id,score\n1,0.5\n", "not an archive of Inspect"),
        (whole[:-200], "not an archive of Inspect, or damaged"),
        (whole.replace(b"Hello", b"Hallo"), "damaged"),
    )
    for data, message in cases:
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=rf"log\.eval.*{message}"):
            read_scores(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(HEADER))
    with pytest.raises(InvalidInput, match="has no samples"):
        read_scores(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/1_epoch_1.json", "{")
    with pytest.raises(InvalidInput, match=r"samples/1_epoch_1\.json: not JSON"):
        read_scores(path)
    with pytest.raises(DissensusError, match="There is no file"):
        read_scores(tmp_path / "none.eval")
    write_archive(path, [build_sample(1, 1, harm=1, text="a" * 100_000)])
    with monkeypatch.context() as context:
        context.setenv("DISSENSUS_MAX_GIB", "0.00005")
        with pytest.raises(InvalidInput, match="unpacks to something"):
            read_scores(path)


def test_zstandard_without_its_reader_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_archive(tmp_path / "log.eval", [build_sample(1, 1, harm=1)], method=archives.ZSTANDARD)
    monkeypatch.setattr(archives, "zipfile", zipfile)
    if hasattr(zipfile, "ZIP_ZSTANDARD"):
        assert read_scores(path).models == ("openai/gpt-4o",)
    else:
        with pytest.raises(MissingExtra, match=r"log\.eval is compressed by Zstandard.*'dissensus\[inspect\]'"):
            read_scores(path)


@pytest.mark.parametrize("sample", [build_sample("\ud800", 1, judge="C"), build_sample("1", 1, judge="\ud800")])
def test_half_of_a_surrogate_pair_is_refused(tmp_path: Path, sample: dict[str, Any]) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**HEADER, "samples": [sample]}))
    with pytest.raises(InvalidInput, match="half of a surrogate pair"):
        read_scores(path)
