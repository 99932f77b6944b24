"""Counts of answers by item and category.

Every coefficient of a group of raters is computed from an items × categories array of counts. Only resampling needs
individual raters.
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import BoolArray, FloatArray, Int32Array, Int64Array, IntArray

RATINGS = "For a table of ratings, raters × items, count the answers first: count_matrix(ratings)."

# Up to this many ratings are counted without the compiled loop, whose import takes .4 s, unless it is imported already.
_FEW, _COMPILED = 100_000, "dissensus.stats.kernels"
# Most raters of an item: the square of their number is a 64-bit integer.
_MOST_RATERS = (1 << 31) - 1


def count_answers(
    items: npt.ArrayLike,
    answers: npt.ArrayLike,
    *,
    n_items: int | None = None,
    n_categories: int | None = None,
) -> Int32Array:
    """Count the answers of a long table with one row per rating.

    Parameters
    ----------
    items
        Item of each rating, shape (N,), codes 0 … I-1.
    answers
        Answer of each rating, shape (N,), codes 0 … K-1; a negative code is a missing answer.
    n_items, n_categories
        I and K; by default the largest code plus one.

    Returns
    -------
    ndarray of int32, shape (I, K)

    Raises
    ------
    InvalidInput
        Codes that are not whole numbers, arrays of different length, or a code outside the range.

    Examples
    --------
    >>> count_answers([0, 0, 0, 1, 1], [0, 2, 2, 1, -1], n_categories=3)
    array([[1, 0, 2],
           [0, 1, 0]], dtype=int32)
    """
    items, answers = _codes(items, "items"), _codes(answers, "answers")
    if items.shape != answers.shape:
        raise InvalidInput(f"items has {items.size} codes and answers {answers.size}; each rating needs one of each.")
    n_items = _upper(items, n_items, "item")
    n_categories = _upper(answers, n_categories, "answer")
    if items.size and items.min() < 0:
        raise InvalidInput("items has a negative code; every rating belongs to an item.")
    if items.size <= _FEW and _COMPILED not in sys.modules:
        answered = answers >= 0
        if not answered.all():
            items, answers = items[answered], answers[answered]
        # As int64: the sum of unsigned and signed 64-bit integers is a floating-point number.
        cells = items.astype(np.int64) * n_categories + answers.astype(np.int64)
        return np.bincount(cells, minlength=n_items * n_categories).reshape(n_items, n_categories).astype(np.int32)
    from dissensus.stats.kernels import count

    return np.asarray(count(items, answers, n_items, n_categories))


def count_matrix(
    matrix: npt.ArrayLike, *, n_categories: int | None = None, categories: npt.ArrayLike | None = None
) -> Int32Array:
    """Count the answers of a reliability matrix, raters in rows and items in columns.

    Parameters
    ----------
    matrix
        Answers, shape (R, I), or a table such as ``frame.pivot(...)``: whole numbers, or any values that `categories`
        lists. NaN, None, ``pandas.NA`` and, without `categories`, a negative number are missing answers.
    n_categories
        K, for codes 0 … K-1.
    categories
        The possible answers in order, shape (K,). By default the whole numbers from 0 or, if no answer is 0, from the
        lowest answer, up to the highest.

    Returns
    -------
    ndarray of int32, shape (I, K)

    Raises
    ------
    InvalidInput
        Not two-dimensional, answers that are not whole numbers or not among `categories`, or both options.

    Examples
    --------
    >>> count_matrix([[0, 1, 1], [0, 1, float("nan")]])
    array([[2, 0],
           [0, 2],
           [0, 1]], dtype=int32)
    >>> count_matrix([["Yes", "No"], ["No", None]], categories=["No", "Yes"])
    array([[1, 1],
           [1, 0]], dtype=int32)
    >>> count_matrix([[1, 5], [2, 5]]).shape
    (2, 5)
    """
    if n_categories is not None and categories is not None:
        raise InvalidInput("n_categories and categories were given; give one of them.")
    # As objects, or NumPy would turn NaN and numbers beside text into text.
    table = np.asarray(matrix, dtype=None if categories is None else object)
    if table.ndim != 2:
        raise InvalidInput(f"The matrix has {table.ndim} dimensions; give raters × items.")
    if categories is not None:
        listed = np.asarray(categories, dtype=object).ravel().tolist()
        table, n_categories = _find_categories(table, listed), len(listed)
    else:
        table = _read_numbers(table)
        if n_categories is None and np.issubdtype(table.dtype, np.number):
            table = _shift_to_lowest(table)
    items = np.broadcast_to(np.arange(table.shape[1]), table.shape)
    return count_answers(items.ravel(), table.ravel(), n_items=table.shape[1], n_categories=n_categories)


def _shift_to_lowest(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return codes from 0 where the lowest answer is above 0."""
    answered = table[table >= 0]
    if not answered.size or answered.min() == 0:
        return table
    return np.where(table < 0, -1, table - answered.min())


def _read_numbers(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return answers as numbers, -1 for missing ones."""
    if not np.issubdtype(table.dtype, np.number):
        try:
            table = np.where(_is_missing(table), np.nan, table).astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                "The matrix holds answers that are not numbers. List them in order: categories=['No', 'Yes']."
            ) from None
    return np.where(np.isnan(table), -1, table) if np.issubdtype(table.dtype, np.floating) else table


def _find_categories(table: npt.NDArray[Any], categories: list[object]) -> Int64Array:
    """Return the index of each answer among the categories, -1 for missing ones."""
    index = {answer: code for code, answer in enumerate(categories)}
    if not index or len(index) < len(categories):
        raise InvalidInput(f"categories is {categories!r}; name each possible answer once.")
    answers, missing = table.ravel().tolist(), _is_missing(table).ravel().tolist()
    codes = [-1 if skip else index.get(answer, -2) for answer, skip in zip(answers, missing, strict=True)]
    if -2 in codes:
        raise InvalidInput(f"The matrix holds {answers[codes.index(-2)]!r}, and the categories are {categories!r}.")
    return np.array(codes, np.int64).reshape(table.shape)


def _is_missing(table: npt.NDArray[Any]) -> BoolArray:
    """Return which answers are None, NaN or ``pandas.NA``."""
    missing = [answer is None or not _equals_itself(answer) for answer in table.ravel().tolist()]
    return np.array(missing, dtype=np.bool_).reshape(table.shape)


def _equals_itself(answer: object) -> bool:
    try:
        return bool(answer == answer)
    except TypeError:  # pandas.NA
        return False


def as_floats(values: npt.ArrayLike, name: str) -> FloatArray:
    """Convert to an array of floating-point numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} must be numbers in an array, all rows of one length. {RATINGS if name == 'counts' else ''}".strip()
        ) from None


def check_counts(counts: npt.ArrayLike, name: str = "counts") -> Int64Array:
    """Validate counts and return them as int64, shape (I, K)."""
    table = counts if isinstance(counts, np.ndarray) else as_floats(counts, name)
    if table.ndim != 2:
        raise InvalidInput(f"{name} has {table.ndim} dimensions; give items × categories.")
    if not np.issubdtype(table.dtype, np.integer):
        if not np.issubdtype(table.dtype, np.floating) or not np.array_equal(table, np.floor(table)):
            raise InvalidInput(f"{name} must hold whole numbers of raters; {_describe_numbers(table)} {RATINGS}")
        if not np.isfinite(table).all():
            raise InvalidInput(f"{name} holds an infinite number of raters.")
    if table.size and table.min() < 0:
        item, category = np.argwhere(table < 0)[0]
        raise InvalidInput(f"{name}[{item}, {category}] is {table[item, category]}; a count cannot be negative.")
    if table.size and int(table.max()) * table.shape[1] > _MOST_RATERS:
        raise InvalidInput(f"{name} holds {table.max():,}; {_MOST_RATERS:,} raters of an item can be counted.")
    return table.astype(np.int64, copy=False)


def check_same_shape(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    """Validate the counts of two groups on the same items, and return them as int64, shape (I, K) each."""
    x, y = check_counts(counts_x, "counts_x"), check_counts(counts_y, "counts_y")
    if x.shape != y.shape:
        raise InvalidInput(
            f"counts_x is {x.shape} and counts_y {y.shape}; both groups need the same items and answers."
        )
    return x, y


def check_groups(counts: npt.ArrayLike, *, least: int = 2) -> Int64Array:
    """Validate the counts of `least` groups or more, and return them as int64, shape (G, I, K)."""
    table = counts if isinstance(counts, np.ndarray) else as_floats(counts, "counts")
    if table.ndim != 3 or len(table) < least:
        raise InvalidInput(f"counts has shape {table.shape}; give groups × items × categories, two groups or more.")
    return np.stack([check_counts(group) for group in table])


def _describe_numbers(table: npt.NDArray[np.generic]) -> str:
    if np.issubdtype(table.dtype, np.floating) and np.isnan(table.astype(np.float64)).any():
        return "there is NaN, and an answer that is missing is in no count."
    return f"its dtype is {table.dtype}."


def count_ratings(counts: Int64Array) -> Int64Array:
    """Return the number of ratings of each item, from counts of its answers, shape (…, K)."""
    # `sum` takes three times as long over a short axis.
    return np.asarray(np.einsum("...k->...", counts))


def check_pair(counts_x: npt.ArrayLike, counts_y: npt.ArrayLike) -> tuple[Int64Array, Int64Array, int]:
    """Return the counts of two groups on their shared items, and the number of other items."""
    x, y = check_same_shape(counts_x, counts_y)
    shared = (count_ratings(x) > 0) & (count_ratings(y) > 0)
    return x[shared], y[shared], int((~shared).sum())


def _codes(codes: npt.ArrayLike, name: str) -> IntArray:
    array = np.asarray(codes)
    if array.ndim != 1:
        raise InvalidInput(f"{name} has {array.ndim} dimensions; give one code per rating.")
    if np.issubdtype(array.dtype, np.integer):
        return array
    if not np.issubdtype(array.dtype, np.floating) or not np.array_equal(array, np.floor(array)):
        raise InvalidInput(f"{name} must hold whole numbers as codes; its dtype is {array.dtype}.")
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} holds an infinite code.")
    return array.astype(np.int64)


def _upper(codes: IntArray, upper: int | None, name: str) -> int:
    largest = int(codes.max()) + 1 if codes.size else 0
    if upper is None:
        return max(largest, 0)
    if largest > upper:
        raise InvalidInput(f"The {name} code {largest - 1} is outside 0 … {upper - 1}.")
    return upper
