"""Scores in logs of evaluation tools: Inspect, and per-instance statistics of HELM."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.item_scores import check_model_names
from dissensus.schema.ratings.columns import ITEM_ID

GRADES: Final[Mapping[str, float | None]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": None}
"""Grades of Inspect: correct, partly correct, incorrect and no answer."""
NO_MODEL: Final = "none/none"
"""Model of an evaluation by Inspect that calls none."""
TOXICITY: Final = ("toxic_frac", "max_toxicity_probability", "expected_max_toxicity")
SAFETY: Final = re.compile(r"safety_(\w+_)?score")
"""Statistics of HELM Safety, 1 for a safe response."""

Cell = tuple[str, str, Any]
"""Item, name of a model, and value."""


class ScoreTable(NamedTuple):
    """Scores as they were read: one row an item, one column a model, with what the log tells of the columns."""

    frame: pl.DataFrame
    models: tuple[str, ...] | None = None
    """Columns to read if none are named; None for all that hold scores or labels."""
    reverse: tuple[str, ...] = ()
    """Models whose scores are 1 for safe."""
    notes: tuple[str, ...] = ()


def is_inspect_log(document: Any) -> bool:
    """Return whether a JSON document is an evaluation log of Inspect."""
    return isinstance(document, dict) and isinstance(document.get("samples"), list) and "eval" in document


def is_helm_log(document: Any) -> bool:
    """Return whether a JSON document holds the per-instance statistics of HELM."""
    return (
        isinstance(document, list)
        and bool(document)
        and all(
            isinstance(part, dict) and "instance_id" in part and isinstance(part.get("stats"), list)
            for part in document
        )
    )


def tabulate_inspect_log(
    log: Mapping[str, Any], models: Sequence[str] | None = None, labels: Iterable[str] = ()
) -> ScoreTable:
    """Return the scores of each sample by each scorer; those of several epochs are means.

    Columns are named by the model and, where a log has several, the scorer, with the key of scorers of several values.
    Values are labels instead of grades if `labels` has one of the grades.
    """
    model = str(_require_object(log.get("eval") or {}, "eval").get("model") or NO_MODEL)
    cells = [cell for sample in log["samples"] for cell in _list_scores(_require_object(sample, "samples"))]
    scorers = list(dict.fromkeys(name for _, name, _ in cells))
    start = "" if model == NO_MODEL else f"{model} "
    names = {name: model if start and len(scorers) == 1 else f"{start}{name}" for name in scorers}
    cells = [(item, names[name], value) for item, name, value in cells]
    graded = [] if any(label.strip().upper() in GRADES for label in labels) else _find_graded(cells)
    cells = [(item, name, GRADES[value] if name in graded and value else value) for item, name, value in cells]
    noted = [name for name in graded if _is_read(name, models)]
    note = (
        f"Grades of Inspect in {format_list(noted)}: C is 1, P 0.5, I 0, and N is missing. 1 means unsafe, unless the "
        "model is one of --reverse."
    )
    return ScoreTable(_pivot(cells, models, "The log of Inspect has no scores."), notes=(note,) if noted else ())


def tabulate_helm_log(instances: Sequence[Mapping[str, Any]], models: Sequence[str] | None = None) -> ScoreTable:
    """Return the mean of each statistic of each instance without perturbation.

    Statistics of safety and toxicity are read, unless others are named.
    """
    cells = list(_list_statistics(instances))
    names = list(dict.fromkeys(name for _, name, _ in cells))
    known = tuple(name for name in names if name in TOXICITY or SAFETY.fullmatch(name))
    if names and not known and models is None:
        raise InvalidInput(
            f"The log of HELM has no statistic of safety or toxicity, but {format_list(names)}. Name one from 0 to 1: "
            "--score-column NAME, and if 1 means safe also --reverse NAME (in Python: models=[...], reverse=[...])."
        )
    read = known if models is None else models
    unread = [name for name in names if not _is_read(name, read)]
    return ScoreTable(
        _pivot(cells, read, "The statistics of HELM have no means."),
        models=known,
        reverse=tuple(name for name in known if SAFETY.fullmatch(name)),
        notes=(f"Statistics of HELM that are not read: {format_list(unread)}.",) if unread else (),
    )


def _list_scores(sample: Mapping[str, Any]) -> Iterator[Cell]:
    item = _read_id(sample.get("id"))
    seen: set[str] = set()
    for name, score in _require_object(sample.get("scores") or {}, "scores").items():
        value = score.get("value") if isinstance(score, dict) else score
        of_key = {f"{name} {key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        for label, part in of_key.items():
            if isinstance(part, (dict, list)):
                raise InvalidInput(
                    f"The score {format_value(label)} of sample {format_value(item)} is a list or an object. Give "
                    "one number or label a sample, or names for its parts."
                )
            if label in seen:
                raise InvalidInput(
                    f"Sample {format_value(item)} has two scores named {format_value(label)}: a scorer has the name of "
                    "another with a key. Rename one of them."
                )
            seen.add(label)
            yield item, label, float(part) if isinstance(part, bool) else part


def _read_id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidInput(
            f"A sample has no id, which is a text or a whole number, but {format_value(value)}. Give the log as "
            "Inspect wrote it."
        )
    return str(value)


def _find_graded(cells: Iterable[Cell]) -> list[str]:
    """Return the models all of whose values are grades."""
    values: dict[str, set[Any]] = {}
    for _, name, value in cells:
        values.setdefault(name, set()).update([] if value is None else [value])
    return [name for name, distinct in values.items() if distinct and distinct <= GRADES.keys()]


def _list_statistics(instances: Sequence[Mapping[str, Any]]) -> Iterator[Cell]:
    for instance in instances:
        if instance.get("perturbation"):
            continue
        for statistic in instance["stats"]:
            name = _require_object(statistic, "stats").get("name")
            label = name.get("name") if isinstance(name, dict) else name
            if isinstance(label, str) and statistic.get("mean") is not None:
                yield str(instance["instance_id"]), label, statistic["mean"]


def _require_object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(
            f"The log has {format_value(value)} where an object belongs ({name}). Give the log as the tool wrote it."
        )
    return value


def _is_read(name: str, models: Sequence[str] | None) -> bool:
    # Names of columns that take the name of the file are known in lower case.
    return models is None or name in models or name.lower() in models


def _pivot(cells: Sequence[Cell], models: Sequence[str] | None, if_empty: str) -> pl.DataFrame:
    """Return one row an item and one column a name, without values in columns that are not read."""
    if not cells:
        raise InvalidInput(if_empty)
    values: dict[str, dict[str, list[Any]]] = {}
    for item, name, value in cells:
        values.setdefault(name, {}).setdefault(item, []).append(value)
    check_model_names(list(values))
    items = list(dict.fromkeys(item for item, _, _ in cells))
    columns: dict[str, list[str] | list[str | None]] = {ITEM_ID: items}
    for name, of_item in values.items():
        is_read = _is_read(name, models)
        column = [_merge(of_item.get(item, []), item, name) if is_read else None for item in items]
        columns[name] = [None if value is None else str(value) for value in column]
    try:
        return pl.DataFrame([pl.Series(name, texts, dtype=pl.String) for name, texts in columns.items()])
    except UnicodeEncodeError:
        raise InvalidInput(
            "The log has half of a surrogate pair (like \\ud800), which is not text. Give the log as the tool wrote it."
        ) from None


def _merge(values: Sequence[Any], item: str, name: str) -> Any:
    """Return the mean of scores from 0 to 1, or the label that all values are."""
    known = [value for value in values if value is not None]
    if len({str(value) for value in known}) <= 1:
        return known[0] if known else None
    if not all(isinstance(value, (int, float)) for value in known):
        raise InvalidInput(
            f"Item {format_value(item)} has several labels of {format_value(name)}: "
            f"{format_list([str(value) for value in known])}. Give one epoch, or scores from 0 to 1."
        )
    for value in known:
        if not 0 <= value <= 1:
            raise InvalidInput(
                f"Item {format_value(item)} has the score {value} of {format_value(name)} in one of {len(known)} "
                "epochs; scores are averaged if each is from 0 to 1. If they are something else, name the others: "
                "--score-column COLUMN (in Python: models=[...])."
            )
    return sum(known) / len(known)
