"""Scores in logs of evaluation tools: Inspect, and per-instance statistics of HELM."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.item_scores import check_model_names
from dissensus.schema.ratings.columns import ITEM_ID


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


def tabulate_inspect_log(log: Mapping[str, Any]) -> pl.DataFrame:
    """Return the scores of each sample by each scorer; those of several epochs are means of numbers.

    Columns are named by the model and, where a log has several, the scorer.
    """
    model = str(_require_object(log.get("eval") or {}, "eval").get("model") or "model")
    cells = [
        (str(sample.get("id", "")), name, _read_value(score, f"sample {format_value(sample.get('id'))}"))
        for sample in log["samples"]
        if isinstance(sample, dict)
        for name, score in _require_object(sample.get("scores") or {}, "scores").items()
    ]
    scorers = dict.fromkeys(name for _, name, _ in cells)
    names = {name: model if len(scorers) == 1 else f"{model} {name}" for name in scorers}
    return _pivot([(item, names[name], value) for item, name, value in cells], "The log of Inspect has no scores.")


def tabulate_helm_log(instances: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the mean of each statistic of each instance without perturbation."""
    return _pivot(list(_list_statistics(instances)), "The statistics of HELM have no means.")


def _list_statistics(instances: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
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


def _read_value(score: Any, subject: str) -> Any:
    value = score.get("value") if isinstance(score, dict) else score
    if isinstance(value, (dict, list)):
        raise InvalidInput(f"The score of {subject} has several values. Give one number or label a sample.")
    return value


def _pivot(cells: Sequence[tuple[str, str, Any]], if_empty: str) -> pl.DataFrame:
    """Return one row an item and one column a name; repeated numbers are averaged, repeated labels must be equal."""
    if not cells:
        raise InvalidInput(if_empty)
    values: dict[str, dict[str, list[Any]]] = {}
    for item, name, value in cells:
        values.setdefault(name, {}).setdefault(item, []).append(value)
    check_model_names(list(values))
    items = list(dict.fromkeys(item for item, _, _ in cells))
    columns = [pl.Series(ITEM_ID, items, dtype=pl.String)]
    for name, of_item in values.items():
        column = [_merge(of_item.get(item, []), item) for item in items]
        columns.append(pl.Series(name, [None if value is None else str(value) for value in column], dtype=pl.String))
    return pl.DataFrame(columns)


def _merge(values: Sequence[Any], item: str) -> Any:
    known = [value for value in values if value is not None]
    if len(known) > 1 and all(isinstance(value, (int, float)) for value in known):
        return sum(known) / len(known)
    if len({str(value) for value in known}) > 1:
        raise InvalidInput(f"Item {format_value(item)} has several labels: give one epoch, or scores from 0 to 1.")
    return known[0] if known else None
