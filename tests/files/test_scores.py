"""Readers of scores: tables wide and long, labels, logs of Inspect and HELM, and bad input."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus.errors import InvalidInput
from dissensus.files.scores.populations import read_population_labels
from dissensus.files.scores.reader import read_scores

WIDE = {"item_id": ["1", "2", "3"], "guard": [0.9, 0.2, None], "words": ["unsafe", "SAFE", "unsafe"]}


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "tsv", "csv.gz"])
def test_each_column_of_scores_or_labels_is_a_model(tmp_path: Path, kind: str) -> None:
    frame, path = pl.DataFrame({**WIDE, "text": ["a", "b", "c"]}), tmp_path / f"scores.{kind}"
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "csv.gz":
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path, separator="\t" if kind == "tsv" else ",")
    scores = read_scores(path)
    assert scores.table.to_dict(as_series=False) == {
        "item_id": ["1", "2", "3"],
        "guard": [0.9, 0.2, None],
        "words": [1.0, 0.0, 1.0],
    }
    assert scores.label_models == ("words",)
    assert scores.notes == ("Columns that are neither scores nor labels are not read: 'text'.",)


def test_long_tables_and_several_files(tmp_path: Path) -> None:
    long = pl.DataFrame({"item_id": ["1", "1", "2", "2"], "model": ["a", "b", "a", "b"], "score": [0.1, 0.2, 0.3, 0.4]})
    plain = tmp_path / "llama-guard.csv"
    pl.DataFrame({"item_id": ["2", "9"], "score": [1, 0]}).write_csv(plain)
    scores = read_scores([long, plain])
    assert scores.models == ("a", "b", "llama-guard")
    assert scores.table.row(1) == ("2", 0.3, 0.4, 1.0)
    assert scores.table.row(2) == ("9", None, None, 0.0)
    for names in (["b"], ["llama-guard"], ["a", "llama-guard"]):
        assert read_scores([long, plain], models=names).models == tuple(names)
    assert read_scores(plain, models=["score"]).models == ("score",)
    attributed = pl.DataFrame({"item_id": ["1"], "model": ["gpt"], "guard": [0.5]})  # Of one row an item
    assert read_scores(attributed, models=["guard"]).models == ("guard",)
    with pytest.raises(InvalidInput, match=r"no column 'c' of scores.*'llama-guard'"):
        read_scores([long, plain], models=["a", "c"])


def test_answers_to_the_question_may_be_labels() -> None:
    frame = pl.DataFrame({"item_id": ["1", "2", "3"], "judge": ["Yes", "Unsure", "No"]})
    assert read_scores(frame, labels={"Yes": 1, "Unsure": 0, "No": 0}).table["judge"].to_list() == [1, 0, 0]


def test_answers_that_are_numbers_are_not_read_as_probabilities() -> None:
    scale = {str(answer): float(answer == 4) for answer in range(5)}

    def read(judge: Sequence[float], labels: dict[str, float]) -> list[float | None]:
        return (
            read_scores(
                pl.DataFrame({"item_id": ["1", "2", "3"], "judge": [float(answer) for answer in judge]}), labels=labels
            )
            .table["judge"]
            .to_list()
        )

    assert read([0, 3, 4], scale) == [0, 0, 1]
    assert read([0, 0.5, 1], scale) == [0, 0.5, 1]
    assert read([0, 1, 1], {"0": 0, "1": 1}) == [0, 1, 1]
    for judge, labels in (([0, 1, 1], scale), ([0, 1, 1], {"0": 1.0, "1": 0.0})):
        with pytest.raises(InvalidInput, match="may be a probability or an answer"):
            read(judge, labels)
    german = {"Unmäßig": 1.0, "Mäßig": 0.0}
    frame = pl.DataFrame({"item_id": ["1", "2"], "judge": ["Unmäßig", "mäßig"]})
    assert read_scores(frame, labels=german).table["judge"].to_list() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,us,.5,abc", "the share 'abc' of 'Yes'"),
        ("1,us,.5,", "the share '' of 'Yes'"),
        ("1,us,.5,.5\n1,us,.1,.9", "several rows of the population 'us'"),
        ("1,,.5,.5", "A model is named ''"),
        ("1,item_id,.5,.5", "A model is named 'item_id'"),
    ],
)
def test_bad_labels_of_populations_are_named(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"item_id,population,No,Yes\n{rows}\n")
    with pytest.raises(InvalidInput, match=message):
        read_population_labels(path, ["Yes"])


def test_logs_of_inspect_and_helm(tmp_path: Path) -> None:
    log = {
        "version": 2,
        "eval": {"model": "openai/guard", "task": "safety"},
        "samples": [
            {"id": 1, "epoch": 1, "scores": {"harm": {"value": 0.25, "explanation": "…"}, "flag": {"value": "unsafe"}}},
            {"id": 1, "epoch": 2, "scores": {"harm": {"value": 0.75}, "flag": {"value": "unsafe"}}},
            {"id": 2, "epoch": 1, "scores": {"harm": {"value": 1}, "flag": {"value": "safe"}}},
        ],
    }
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    scores = read_scores(path)
    assert scores.models == ("openai/guard harm", "openai/guard flag")
    assert scores.table["openai/guard harm"].to_list() == [0.5, 1.0]
    helm = [
        {"instance_id": "id1", "stats": [{"name": {"name": "toxic_frac", "split": "test"}, "count": 1, "mean": 0.4}]},
        {
            "instance_id": "id1",
            "perturbation": {"name": "typos"},
            "stats": [{"name": {"name": "toxic_frac"}, "mean": 1}],
        },
    ]
    path.write_text(json.dumps(helm))
    assert read_scores(path).table.row(0) == ("id1", 0.4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"guard": [0.9, 1.2, 0.1]}, r"Item '2' has the score 1.2 of 'guard'; .* from 0 to 1"),
        ({"guard": [0.9, -0.1, 0.1]}, "has the score -0.1"),
        ({"guard": [0.9, float("nan"), 0.1]}, "has the score nan"),
        ({"guard": ["0.9", "inf", "0.1"]}, "has the score inf"),
        ({"words": ["unsafe", "saef", "safe"]}, "has the label 'saef' of 'words'.*Did you mean 'safe'"),
        ({"item_id": ["1", "1", "3"]}, "Item '1' has several rows"),
        ({"item_id": ["1", None, "3"]}, "Row 2 of the scores has no id"),
        ({"guard": ["a", "b", "c"], "words": ["x", "y", "z"]}, "No column holds scores"),
    ],
    ids=str,
)
def test_bad_scores_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_scores(pl.DataFrame({**WIDE, **change}))


def test_bad_tables_are_named(tmp_path: Path) -> None:
    frame = pl.DataFrame(WIDE)
    cases: tuple[tuple[Any, dict[str, Any], str], ...] = (
        (frame.rename({"item_id": "id"}), {}, "no column 'item_id'"),
        (frame, {"models": ["gaurd"]}, "Did you mean 'guard'"),
        ([frame, frame], {}, "Two files have scores of 'guard'"),
        ([], {}, "There are no scores"),
        (pl.DataFrame({"item_id": ["1", "1"], "model": ["a", "a"], "score": [0, 1]}), {}, "several scores of 'a'"),
        (pl.DataFrame({"item_id": ["1"], "model": ["a"], "text": ["b"]}), {}, "one row an item and model"),
    )
    for source, options, message in cases:
        with pytest.raises(InvalidInput, match=message):
            read_scores(source, **options)
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"eval": {"model": "m"}, "samples": [{"id": 1, "scores": {"s": {"value": {"a": 1}}}}]}))
    with pytest.raises(InvalidInput, match="several values"):
        read_scores(log)
    sample = {"id": 1, "scores": {"s": {"value": 1}}}
    broken: tuple[tuple[Any, str], ...] = (
        ({"eval": "x", "samples": [sample]}, r"'x' where an object belongs \(eval\)"),
        ({"eval": {}, "samples": [{"id": 1, "scores": [1]}]}, r"an object belongs \(scores\)"),
        ([{"instance_id": "1", "stats": [1]}], r"an object belongs \(stats\)"),
        ({"eval": {"model": "item_id"}, "samples": [sample]}, "A model is named 'item_id'"),
    )
    for document, message in broken:
        log.write_text(json.dumps(document))
        with pytest.raises(InvalidInput, match=message):
            read_scores(log)
    for model in ("item_id", None, " "):
        with pytest.raises(InvalidInput, match="A model is named"):
            read_scores(pl.DataFrame({"item_id": ["1", "2"], "model": ["a", model], "score": [0, 1]}))
    log.write_text(json.dumps({"eval": {"model": "m"}, "samples": []}))
    with pytest.raises(InvalidInput, match="no scores"):
        read_scores(log)
