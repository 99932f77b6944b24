"""JSON of the LeWiDi shared tasks (Learning With Disagreements): one object, one entry per item."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeGuard

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.files.ratings.kinds.long import check_question_name, describe_losses, select_question
from dissensus.files.raw import content, json_table
from dissensus.files.raw.json_decoder import encode_value, repair, strict_decoder
from dissensus.schema.hints import count_rest, format_list, format_value
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings import columns as names

Entries = Mapping[str, Mapping[str, Any]]
Texts = dict[str, str | None]

ROUNDING: Final = 0.0051
"""Tolerance for shares, which are released with two decimals or more."""

_TOP: Final = {
    "annotation task": "item_annotation_task",
    "split": "item_split",
    "lang": "item_lang",
    "hard_label": "item_hard_label",
}
_TEXT: Final = "item_text"
_TEXT_FIELD: Final = "item_text_"
_OWN_NAMES: Final = ("context", "response")
_COUNTS: Final = ("number of annotators", "number of annotations")
_READ: Final = {"text", "annotators", "annotations", "soft_label", "other_info", *_COUNTS, *_TOP}
_DECODER: Final = strict_decoder("it")


def is_lewidi(value: object) -> TypeGuard[dict[str, dict[str, Any]]]:
    """Return whether a JSON value is an object of entries with annotations."""
    return (
        isinstance(value, dict)
        and all(isinstance(entry, dict) for entry in value.values())
        and any("annotations" in entry for entry in value.values())
    )


def read(
    entries: Entries,
    *,
    annotators: Path | None = None,
    question: str | None = None,
    report: Callable[[InvalidInput], None] | None = None,
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the long table, with notes on what could not be checked or joined.

    With `report` faulty entries are reported and left out; without it the first one is raised.
    """
    entries = entries if report is None else dict(_correct_entries(entries, report))
    by_entry = {key: _annotations(key, entry) for key, entry in entries.items()}
    notes = _check_shares(entries, by_entry)
    items = [key for key, annotations in by_entry.items() for _ in annotations]
    raters = [rater for annotations in by_entry.values() for rater in annotations]
    if not items:
        raise InvalidInput("No entry has an annotation.")
    people, rater_notes = ({}, ()) if annotators is None else _read_people(annotators, list(dict.fromkeys(raters)))
    columns: dict[str, list[str] | list[str | None]] = {
        names.ITEM_ID: items,
        **_spread({key: _attributes(key, entry) for key, entry in entries.items()}, items),
        **_spread(people, raters),
        names.RATER_ID: raters,  # includes raters without attributes
        check_question_name(question): [answer for annotations in by_entry.values() for answer in annotations.values()],
    }
    try:
        table = pl.DataFrame([pl.Series(name, values, dtype=pl.String) for name, values in columns.items()])
    except UnicodeEncodeError:
        raise InvalidInput("There is half of a surrogate pair (like \\ud800), which is not text.") from None
    return table, (*notes, *rater_notes)


def _correct_entries(
    entries: Entries, report: Callable[[InvalidInput], None]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entries that can be read; report the others."""
    for key, entry in entries.items():
        try:
            _check_shares({key: entry}, {key: _annotations(key, entry)})
            _attributes(key, entry)
        except InvalidInput as error:
            report(error)
        else:
            yield key, entry


def write(frame: pl.DataFrame, *, question: str | None = None) -> tuple[Entries, tuple[str, ...]]:
    """Return the entries of one question in the form of 2025, with notes on what they do not hold."""
    source = select_question(frame, question)
    dtype = frame.schema[source.question]
    declared = dtype.categories.to_list() if isinstance(dtype, pl.Enum) else known_scale(source.question) or ()
    scale = tuple(dict.fromkeys([*declared, *source.answers.unique(maintain_order=True)]))
    rater_ids, answers = source.raters[names.RATER_ID].gather(source.rater).to_list(), source.answers.to_list()
    by_item = np.split(np.argsort(source.item, kind="stable"), np.bincount(source.item).cumsum()[:-1])
    entries = {
        item.pop(names.ITEM_ID): _entry(item, {rater_ids[row]: answers[row] for row in rows}, scale)
        for item, rows in zip(source.items.iter_rows(named=True), by_item, strict=True)
    }
    return entries, describe_losses(frame, source, (), "LeWiDi")


def _entry_error(key: str, problem: str) -> InvalidInput:
    return InvalidInput(f"Entry {format_value(key)}: {problem}")


def _to_text(value: object) -> str | None:
    return value if value is None or value.__class__ is str else encode_value(value)


def _annotations(key: str, entry: Mapping[str, Any]) -> Texts:
    """Return the checked annotations of an entry by rater."""
    soft, raw = entry.get("soft_label"), entry.get("annotations")
    labels = raw.values() if isinstance(raw, dict) else ()
    if (isinstance(soft, dict) and any(isinstance(share, dict) for share in soft.values())) or any(
        isinstance(label, (dict, list)) for label in labels
    ):
        raise _entry_error(key, "an annotation has several labels (as in VariErrNLI), and a rating has one answer.")
    if isinstance(raw, dict):
        annotations = {rater: _to_text(label) for rater, label in raw.items()}
        _check_names(key, entry.get("annotators"), annotations)
    elif isinstance(raw, str):
        annotations = _pair_annotations(key, entry.get("annotators"), raw)
    else:
        raise _entry_error(key, "it has no annotations. Leave out entries without annotations.")
    for count in _COUNTS:
        if count in entry and _number(entry[count]) != len(annotations):
            raise _entry_error(key, f"{count} is {_to_text(entry[count])}, but {len(annotations)} are there.")
    return annotations


def _check_names(key: str, annotators: object, annotations: Texts) -> None:
    squeezed = [re.sub(r"\s", "", text) for text in (str(annotators), ",".join(annotations))]
    if annotators is not None and squeezed[0] != squeezed[1]:
        raise _entry_error(
            key, f"annotators are {format_value(annotators)}, but annotations are by {format_list(list(annotations))}."
        )


def _pair_annotations(key: str, annotators: object, labels: str) -> Texts:
    """Return the annotations of an entry of 2023, where raters and labels are two parallel lists."""
    if not isinstance(annotators, str) or not annotators.strip():
        raise _entry_error(key, "it has no annotators, so it is not known who gave which annotation.")
    raters, answers = ([part.strip() for part in text.split(",")] for text in (annotators, labels))
    if len(raters) != len(answers) or len(set(raters)) < len(raters):
        raise _entry_error(
            key,
            f"annotators are {format_value(annotators)} and annotations {format_value(labels)}: {len(answers)} "
            f"annotations by {len(set(raters))} raters, and each gives one.",
        )
    return dict(zip(raters, answers, strict=True))


def _check_shares(entries: Entries, annotations: Mapping[str, Texts]) -> tuple[str, ...]:
    """Compare soft labels with the annotations that they are made from."""
    for key, entry in entries.items():
        soft = entry.get("soft_label") or {}
        if not isinstance(soft, dict) or not all(math.isfinite(_number(share)) for share in soft.values()):
            raise _entry_error(key, f"soft_label is {format_value(_to_text(soft))}, not a share for each answer.")
    labelled = {key: _canonical(soft) for key, entry in entries.items() if (soft := entry.get("soft_label"))}
    shares = {key: _shares(annotations[key]) for key in labelled}
    incomparable = next((key for key, soft in labelled.items() if not shares[key].keys() <= soft.keys()), None)
    if incomparable is not None:
        return (
            f"Soft labels are not checked, because they count something else than the annotations: entry "
            f"{format_value(incomparable)} has {format_list(list(shares[incomparable]))}, its soft label "
            f"{format_list(list(labelled[incomparable]))}.",
        )
    mismatched = [
        key
        for key, soft in labelled.items()
        if any(abs(share - shares[key].get(answer, 0)) > ROUNDING for answer, share in soft.items())
    ]
    if mismatched:
        raise _entry_error(
            mismatched[0],
            f"soft_label is {format_value(_to_text(entries[mismatched[0]]['soft_label']))}, but its annotations give "
            f"{format_value(_to_text(shares[mismatched[0]]))}. Correct one of them."
            f"{count_rest(len(mismatched) - 1, 'such entry')}",
        )
    return ()


def _shares(annotations: Texts) -> dict[str, float]:
    answers = [answer for answer in annotations.values() if answer]
    return _canonical({answer: count / len(answers) for answer, count in Counter(answers).items()})


def _canonical(shares: Mapping[str, Any]) -> dict[str, float]:
    """Merge the shares of equal numbers: 0.0 is 0."""
    merged: dict[str, float] = {}
    for answer, share in shares.items():
        number = _number(answer)
        name = str(number + 0.0) if math.isfinite(number) else answer
        merged[name] = merged.get(name, 0.0) + _number(share)
    return merged


def _number(value: object) -> float:
    with suppress(ValueError):
        return float(_to_text(value) or "nan")
    return math.nan


def _attributes(key: str, entry: Mapping[str, Any]) -> Texts:
    """Return the attributes of an item by column."""
    text, info = entry.get("text"), entry.get("other_info") or {}
    if not isinstance(info, dict):
        raise _entry_error(key, f"other_info is {format_value(_to_text(info))}, not an object.")
    fields = {_text_column(name): value for name, value in text.items()} if isinstance(text, dict) else {_TEXT: text}
    pairs = [
        *(fields.items() if "text" in entry else ()),
        *((column, entry[name]) for name, column in _TOP.items() if name in entry),
        *((_info_column(name), value) for name, value in info.items()),
        *((_info_column(name), value) for name, value in entry.items() if name not in _READ),
    ]
    return _name_columns(pairs, f"Entry {format_value(key)}")


def _name_columns(pairs: Sequence[tuple[str, object]], where: str) -> Texts:
    """Return values as text by column; raise for duplicate columns."""
    texts = {column: _to_text(value) for column, value in pairs}
    if len(texts) < len(pairs):
        columns = [column for column, _ in pairs]
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InvalidInput(f"{where}: two of its fields would be called {twice}. Rename one of them.")
    return texts


def _text_column(field: str) -> str:
    return field if field in _OWN_NAMES else _TEXT_FIELD + field


def _info_column(field: str) -> str:
    """Return the column of a field of ``other_info``."""
    own = names.is_item_attribute(field) and field not in (*_OWN_NAMES, *_TOP.values())
    column = field if own and not field.startswith(_TEXT) else f"item_{field}"
    return f"item_{names.ITEM_ID}" if column == names.ITEM_ID else column


def _info_field(column: str) -> str:
    bare = column.removeprefix("item_")
    return bare if _info_column(bare) == column else column


def _spread(rows: Mapping[str, Texts], keys: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the attributes of each key as columns."""
    columns = dict.fromkeys(column for row in rows.values() for column in row)
    return {column: [rows.get(key, {}).get(column) for key in keys] for column in columns}


def _read_people(path: Path, raters: Sequence[str]) -> tuple[dict[str, Texts], tuple[str, ...]]:
    """Read the attributes of raters; ids in the file may lack the prefix Ann."""
    content.detect_format(path)
    data = content.read_content(path)
    repaired = repair(data)
    repair_note = (f"{path} has NaN, which is read as missing, or commas before a closing bracket.",)
    people = json_table.one_object(repaired, path)
    if people is None or not all(isinstance(person, dict) for person in people.values()):
        raise InvalidInput(f'{path} is not a JSON object like {{"Ann1": {{"Gender": "…"}}, …}}.')
    described: dict[str, Texts] = {}
    for rater in raters:
        person = people.get(rater, people.get(rater.strip().removeprefix("Ann")))
        if isinstance(person, dict):
            fields = [(_snake(field), value) for field, value in person.items()]
            described[rater] = _name_columns([(names.RATER_ID, rater), *fields], f"{path}, {format_value(rater)}")
    unknown = [rater for rater in raters if rater not in described]
    if not described:
        raise InvalidInput(
            f"{path} describes none of the raters, {format_list(raters, 3)}. Is it from another data set?"
        )
    note = f"{path} does not describe {len(unknown):,} of the {len(raters):,} raters: {format_list(unknown, 3)}."
    return described, (*repair_note * (repaired != data), *(note,) * bool(unknown))


def _snake(field: str) -> str:
    return names.RATER_PREFIX + re.sub(r"\W+", "_", field.strip().lower()).removeprefix(names.RATER_PREFIX)


def _entry(item: Texts, annotations: Mapping[str, str], scale: Sequence[str]) -> dict[str, Any]:
    counts, n = Counter(annotations.values()), len(annotations)
    texts = {column: value for column, value in item.items() if column in _OWN_NAMES or column.startswith(_TEXT_FIELD)}
    text: Any = {column.removeprefix(_TEXT_FIELD): value for column, value in texts.items()}
    if not texts and _TEXT in item:
        texts = {_TEXT: item[_TEXT]}
        text = item[_TEXT]
    top = {name: item[column] for name, column in _TOP.items() if column in item}
    info = {column: value for column, value in item.items() if column not in (*texts, *_TOP.values())}
    return {
        **top,
        **({"text": text} if texts else {}),
        "number of annotators": n,
        "annotators": ",".join(annotations),
        "number of annotations": n,
        "annotations": dict(annotations),
        "soft_label": {answer: counts[answer] / n for answer in scale},
        **(
            {"other_info": {_info_field(column): _decode_nested(value) for column, value in info.items()}}
            if info
            else {}
        ),
    }


def _decode_nested(text: str | None) -> object:
    """Return the list or object that a text encodes, if encoding it gives the same text again."""
    if text is None or text[:1] not in ("[", "{"):
        return text
    with suppress(ValueError, RecursionError):
        value = _DECODER.decode(text)
        return value if _to_text(value) == text else text
    return text
