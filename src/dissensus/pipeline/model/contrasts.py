"""Coding of terms as columns of numbers: treatment contrasts, by the rules of R."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dissensus.pipeline.model.columns import ModelColumn
from dissensus.schema.formula import Term
from dissensus.schema.ratings.columns import CROSSED

INTERCEPT: Final = "(intercept)"
WIDTH: Final = "(width)"
TOLERANCE: Final = 1e-7
"""Share of a column's length that earlier ones must leave unexplained, as in R."""


class EffectName(NamedTuple):
    """A column of a design: its term, and the level or levels; None for a number or an intercept."""

    term: str
    level: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """Columns of a design on its distinct rows: names and values, shape (rows, columns)."""

    names: tuple[EffectName, ...]
    values: NDArray[np.float64]


def code_terms(
    terms: Sequence[Term],
    columns: Mapping[str, ModelColumn],
    codes: Mapping[str, NDArray[np.int32]],
    n_rows: int,
    *,
    intercept: bool,
) -> Coding:
    """Return the columns of terms, with a first one for the intercept unless it is left out.

    A factor has a column for each level but the base, or for each level where the term without this factor is not in
    the model; the base of all factors is left out where these columns would add up to the intercept. Without an
    intercept the first factor has all levels.
    """
    parts = [Coding((EffectName(INTERCEPT, None),), np.ones((n_rows, 1)))] if intercept else []
    parts += [
        _drop_base(_code_term(term, columns, codes, n_rows, full), intercept and full == set(term))
        for term, full in zip(terms, _choose_full(terms, columns, intercept=intercept), strict=True)
    ]
    return Coding(
        tuple(name for part in parts for name in part.names),
        np.column_stack([part.values for part in parts]) if parts else np.empty((n_rows, 0)),
    )


def _choose_full(terms: Sequence[Term], columns: Mapping[str, ModelColumn], *, intercept: bool) -> list[set[str]]:
    """Return the factors of each term that have a column for each level."""
    present = {frozenset[str](), *map(frozenset, terms)}
    full = [
        {name for name in term if columns[name].is_factor and frozenset(term) - {name} not in present} for term in terms
    ]
    if not intercept:
        factors = ((number, name) for number, term in enumerate(terms) for name in term if columns[name].is_factor)
        if (first := next(factors, None)) is not None:
            number, name = first
            full[number].add(name)
    return full


def _code_term(
    term: Term,
    columns: Mapping[str, ModelColumn],
    codes: Mapping[str, NDArray[np.int32]],
    n_rows: int,
    full: set[str],
) -> Coding:
    """Return the columns of a term; the levels of its first factor vary fastest."""
    levels: list[tuple[str, ...]] = [()]
    values = np.ones((n_rows, 1))
    for name in term:
        column, code = columns[name], codes[name]
        if column.numbers is not None:
            values = values * column.numbers[code][:, None]
            continue
        first = 0 if name in full else 1
        indicator = (code[:, None] == np.arange(first, len(column.levels))).astype(np.float64)
        values = (indicator[:, :, None] * values[:, None, :]).reshape(n_rows, -1)
        levels = [(*before, level) for level in column.levels[first:] for before in levels]
    return Coding(tuple(EffectName(":".join(term), CROSSED.join(parts) or None) for parts in levels), values)


def _drop_base(coding: Coding, is_redundant: bool) -> Coding:
    """Return a coding without its first column, if the others determine it."""
    return Coding(coding.names[1:], coding.values[:, 1:]) if is_redundant else coding


def select_independent(coding: Coding) -> tuple[Coding, tuple[EffectName, ...], tuple[EffectName, ...]]:
    """Return the columns that earlier ones do not determine, then names of empty ones, and of determined ones."""
    basis = np.empty((0, coding.values.shape[0]))
    independent: list[int] = []
    empty: list[EffectName] = []
    determined: list[EffectName] = []
    for index, name in enumerate(coding.names):
        column = coding.values[:, index]
        length = float(np.linalg.norm(column))
        residual = column.copy()
        for _ in range(2):  # Gram–Schmidt, repeated to remove rounding errors
            residual -= (basis @ residual) @ basis
        rest = float(np.linalg.norm(residual))
        if rest <= TOLERANCE * length:
            (determined if length else empty).append(name)
            continue
        independent.append(index)
        basis = np.vstack([basis, residual / rest])
    names = tuple(coding.names[index] for index in independent)
    return Coding(names, coding.values[:, independent]), tuple(empty), tuple(determined)


def fold_codes(parts: Sequence[tuple[NDArray[np.int32], int]], n_rows: int) -> tuple[NDArray[np.int32], int]:
    """Return one code for each combination that occurs, in their order, and the number of combinations.

    `parts` has the codes and their number for each column.
    """
    cell, size = np.zeros(n_rows, dtype=np.int64), 1
    for codes, n_codes in parts:
        cell = cell * n_codes + codes
        size *= n_codes
        cell, size = _compress(cell, size)
    return cell.astype(np.int32), size


def _compress(cell: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], int]:
    """Return codes numbered from 0 in their order, without those that do not occur, and their number."""
    if size <= max(1_000_000, 4 * cell.size):
        occurs = np.zeros(size, dtype=np.bool_)
        occurs[cell] = True
        rank = np.cumsum(occurs) - 1
        return rank[cell], int(occurs.sum())
    values, cell = np.unique(cell, return_inverse=True)
    return cell, len(values)


def first_rows(codes: NDArray[np.int32], n_codes: int) -> NDArray[np.int64]:
    """Return the first position of each code."""
    first = np.empty(n_codes, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
    return first


def list_columns(terms: Sequence[Term]) -> Iterator[str]:
    """Yield the columns of terms, without repetition."""
    yield from dict.fromkeys(name for term in terms for name in term)
