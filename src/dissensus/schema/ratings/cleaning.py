"""Cleaning of cells: surrounding spaces, words for missing values, spellings of one value, whole numbers."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from unicodedata import normalize

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice, join_messages
from dissensus.schema.hints import format_list, format_value, quote_option
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.findings import CheckReport, FailedCheck, to_row_indices

Duplicates = Literal["refuse", "first", "last", "drop"]
DUPLICATES: Final = ("refuse", "first", "last", "drop")

MISSING_WORDS: Final = frozenset({"nan", "<na>", "nat", "null", "na", "n/a", "#n/a", "#na", "nil"})
"""Words that programs write for a missing value, in lower case."""

MISSING_ANSWERS: Final = MISSING_WORDS | {"none"}
"""The same for answers; among attributes None is also a religion or an education."""

SENTINEL_WORDS: Final = frozenset(
    {
        *("none", "unknown", "missing", "undefined", "not available", "not applicable", "n.a.", "n.a", "refused"),
        *("consent_revoked", "data_expired", "revoked", "expired", "-", "--", "?", "??", ".", "#ref!", "#value!"),
    }
)
"""Words that often mean a missing value, and sometimes do not; they stay values."""

SENTINEL_NUMBERS: Final = frozenset({77, 88, 97, 98, 99, 777, 888, 997, 998, 999, 7777, 8888, 9999, 99999})
NEGATIVE_SENTINELS: Final = frozenset({-1, -2, -3, -7, -8, -9, *(-number for number in SENTINEL_NUMBERS)})

_WHOLE = re.compile(r"([+-]?\d+)\.0*")
_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningRules:
    """Rules by which the cells of a ratings table are read."""

    missing: tuple[str, ...] = ()  # words for a missing value, besides the usual ones
    normalise: bool = False  # merge values that differ in case or Unicode normal form
    duplicates: Duplicates = "refuse"  # ratings to keep where a rater rated an item more than once
    as_written: bool = False  # leave every cell as it is


AS_WRITTEN: Final = CleaningRules(as_written=True)


class Remark(NamedTuple):
    """A remark on how cells were read: a note, and the rows that it is about as a warning."""

    note: str
    finding: FailedCheck | None = None


class CleanColumn(NamedTuple):
    """A column as clean text, with its distinct values, and their order if it is declared."""

    text: pl.Series
    values: pl.Series
    order: tuple[str, ...] | None


def check_rules(missing: Sequence[str] | str, normalise: bool, duplicates: str) -> CleaningRules:
    """Validate the options of `Ratings.from_frame` on cleaning, and return them as rules."""
    if duplicates not in DUPLICATES:
        raise InvalidInput(f"duplicates is {format_value(duplicates)}; allowed are {format_list(DUPLICATES)}.")
    words = [missing] if isinstance(missing, str) else missing
    return CleaningRules(
        missing=tuple(shorten_whole_number(str(word).strip()) for word in words),
        normalise=normalise,
        duplicates=duplicates,  # type: ignore[arg-type]
    )


def shorten_whole_number(text: str) -> str:
    """Return a whole number without decimals, and other text as it is.

    Examples
    --------
    >>> shorten_whole_number("-3.0"), shorten_whole_number("2.5"), shorten_whole_number("v1.0")
    ('-3', '2.5', 'v1.0')
    """
    match = _WHOLE.fullmatch(text)
    if match is None:
        return text
    return "0" if not match[1].strip("+-0") else match[1]


def fold(text: str) -> str:
    """Return a text without differences of case, Unicode normal form and spaces.

    Examples
    --------
    >>> fold(" Très  BIEN") == fold("tre\u0300s bien")
    True
    """
    return " ".join(normalize("NFC", normalize("NFC", text).casefold()).split())


def find_spellings(values: Collection[str]) -> list[list[str]]:
    """Return the sets of values that differ only in case, Unicode normal form or spaces.

    Examples
    --------
    >>> find_spellings(["No", "Yes", "no"])
    [['No', 'no']]
    """
    groups: dict[str, list[str]] = {}
    for value in sorted(values):
        groups.setdefault(fold(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def find_sentinels(values: Collection[str]) -> list[str]:
    """Return the values that usually stand for a missing one: words, and numbers far from all others.

    Examples
    --------
    >>> find_sentinels(["1", "2", "3", "99"]), find_sentinels(["97", "98", "99"]), find_sentinels(["f", "REVOKED"])
    (['99'], [], ['REVOKED'])
    """
    words = [value for value in values if value.casefold() in SENTINEL_WORDS]
    numbers = {value: int(value) for value in values if _INTEGER.fullmatch(value) and len(value) < 8}
    others = [n for n in numbers.values() if n not in SENTINEL_NUMBERS | NEGATIVE_SENTINELS]
    far = 2 * max(others, default=1000)
    codes = [
        value
        for value, n in numbers.items()
        if others and ((n in NEGATIVE_SENTINELS and min(others) >= 0) or (n in SENTINEL_NUMBERS and n >= far > 0))
    ]
    return [*words, *codes]


class CellCleaner:
    """Cleaning of the columns of a table, with remarks on what was changed or may be meant otherwise."""

    def __init__(self, rules: CleaningRules) -> None:
        self.rules = rules
        self._trimmed: dict[str, int] = {}
        self._missing: dict[str, Counter[str]] = {}
        self._merged: dict[str, list[str]] = {}
        self._warnings: list[Remark] = []

    def encode_ids(self, column: pl.Series, report: CheckReport) -> tuple[pl.Series, NDArray[np.int64]]:
        """Return the sorted distinct ids without surrounding spaces, and the index of each row's id, -1 if missing."""
        if column.dtype == pl.String and cells.are_plain_ids(distinct := column.unique()):
            return cells.encode_values(column, distinct)
        ids = cells.read_ids(column, report, trim=not self.rules.as_written)
        if column.dtype == pl.String and (n := int((column != ids).sum() or 0)):
            self._trimmed[column.name] = n
        return cells.encode_values(ids)

    def clean_answers(self, column: pl.Series, declared: Sequence[str] | None) -> CleanColumn:
        """Return answers; words for missing values become null, unless they are declared answers."""
        clean = self._clean(column, MISSING_ANSWERS, declared or ())
        if declared is None:
            self._warn_about_sentinels(clean, "an answer", numbers_only=True)
        return clean

    def clean_attribute(self, column: pl.Series) -> CleanColumn:
        """Return an attribute of raters; words for missing values become null."""
        clean = self._clean(column, MISSING_WORDS, ())
        if not self.rules.as_written:
            self._warn_about_sentinels(clean, "a group")
            self._warn_about_spellings(clean)
        return clean

    def remarks(self) -> Iterator[Remark]:
        """Yield the remarks on all cleaned columns."""
        yield from self._warnings
        if self._trimmed:
            counts = ", ".join(f"{n:,} of {column}" for column, n in self._trimmed.items())
            yield Remark(f"Spaces around values are left out: {counts}.")
        for column, words in self._missing.items():
            counts = ", ".join(f"{n:,} × {format_value(word)}" for word, n in words.items())
            yield Remark(f"Counted as missing in {column}: {counts}.")
        for column, merges in self._merged.items():
            yield Remark(f"Read as one value in {column}: {'; '.join(merges)}.")

    def _clean(self, column: pl.Series, words: Collection[str], declared: Collection[str]) -> CleanColumn:
        text = cells.to_text(column)
        order = tuple(column.dtype.categories) if isinstance(column.dtype, pl.Enum) else None
        if self.rules.as_written:
            return CleanColumn(text, text.drop_nulls().unique(), order)
        counts = {value: n for value, n in text.value_counts().iter_rows() if value is not None}
        values = {value: value.strip() for value in counts}
        known = (*declared, *(order or ()))
        missing = {value for value, plain in values.items() if self._is_missing(plain, words, known)}
        values = {value: plain for value, plain in values.items() if value not in missing}
        is_whole = all(_WHOLE.fullmatch(plain) or _INTEGER.fullmatch(plain) for plain in values.values())
        if is_whole:
            values = {value: shorten_whole_number(plain) for value, plain in values.items()}
        self._note_changes(column.name, counts, values, missing)
        if self.rules.normalise:
            values = self._merge_spellings(column.name, values, counts, declared)
        changed = {value: values.get(value) for value in counts if values.get(value) != value}
        if order is not None:
            plain_of = {name: shorten_whole_number(name.strip()) if is_whole else name.strip() for name in order}
            order = tuple(dict.fromkeys(values.get(name, plain_of[name]) for name in order if name not in missing))
        if changed:
            text = text.replace(list(changed), pl.Series(list(changed.values()), dtype=pl.String))
        return CleanColumn(text, pl.Series(text.name, list(dict.fromkeys(values.values())), dtype=pl.String), order)

    def _is_missing(self, plain: str, words: Collection[str], declared: Collection[str]) -> bool:
        if not plain or shorten_whole_number(plain) in self.rules.missing:
            return True
        return plain.casefold() in words and plain not in declared

    def _note_changes(
        self, column: str, counts: dict[str, int], values: dict[str, str], missing: Collection[str]
    ) -> None:
        words = Counter[str]()
        for value in missing:
            words[value.strip() or value] += counts[value]
        trimmed = sum(n for value, n in counts.items() if value in values and value.strip() != value)
        if words:
            self._missing[column] = words
        if trimmed:
            self._trimmed[column] = trimmed

    def _merge_spellings(
        self, column: str, values: dict[str, str], counts: dict[str, int], declared: Collection[str]
    ) -> dict[str, str]:
        """Replace each value by the declared spelling, else by the most frequent one."""
        frequency = Counter[str]()
        for value, plain in values.items():
            frequency[plain] += counts[value]
        ranked = [*declared, *sorted(frequency, key=lambda plain: (-frequency[plain], plain))]
        spelling = {fold(plain): plain for plain in reversed(ranked)}
        merged: dict[str, list[str]] = {}
        for plain in frequency:
            if plain != spelling[fold(plain)]:
                merged.setdefault(spelling[fold(plain)], []).append(plain)
        if merged:
            self._merged[column] = [format_list([value, *others]) for value, others in sorted(merged.items())]
        return {value: spelling[fold(plain)] for value, plain in values.items()}

    def _warn_about_sentinels(self, column: CleanColumn, role: str, *, numbers_only: bool = False) -> None:
        if self.rules.as_written or len(column.values) > cells.MANY_VALUES:
            return
        text = column.text
        for value in find_sentinels(column.values.sort().to_list()):
            if numbers_only and not _INTEGER.fullmatch(value):
                continue
            rows = to_row_indices((text == value).arg_true())
            remedy = Advice(
                f"If it means a missing value: --missing {quote_option(value)} (in Python: missing=[{value!r}]).",
                site="If it means a missing value, leave the cells empty.",
            )
            counted = f"{text.name} is {format_value(value)} in {_rows(len(rows))}, which counts as {role}."
            note = join_messages(counted, remedy)
            self._warnings.append(
                Remark(note, _warning("possible code for a missing value", text, rows, f"It counts as {role}.", remedy))
            )

    def _warn_about_spellings(self, column: CleanColumn) -> None:
        if len(column.values) > cells.MANY_VALUES:
            return
        text = column.text
        for spellings in find_spellings(column.values.to_list()):
            remedy = Advice(
                "To read them as one: --normalise (in Python: normalise=True).",
                site="If they mean the same, write them in one way.",
            )
            counted = f"{text.name} has {format_list(spellings)}, which count as {len(spellings)} groups."
            note = join_messages(counted, remedy)
            rows = to_row_indices(text.is_in(spellings[1:]).fill_null(value=False).arg_true())
            allowed = f"{format_list(spellings)} count as {len(spellings)} groups."
            self._warnings.append(Remark(note, _warning("spellings of one value", text, rows, allowed, remedy)))


def _warning(check: str, text: pl.Series, rows: "cells.Rows", allowed: str, remedy: str) -> FailedCheck:
    return FailedCheck(
        check=check,
        column=text.name,
        rows=rows,
        value=text.__getitem__,
        message=lambda row: f"Row {row + 1:,}: {text.name} is {format_value(text[row])}.",
        allowed=allowed,
        remedy=remedy,
        severity="warning",
    )


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"
