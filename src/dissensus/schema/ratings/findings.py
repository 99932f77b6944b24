"""Failed checks of a table: readers raise the first, validation lists all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_rest

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationProblem:
    """One problem in one row or column."""

    check: str
    severity: Severity  # an error is refused on reading, or contradicts the table itself
    row: int | None  # counted from 1; None for a whole column or file
    column: str | None
    value: str | None
    what: str
    allowed: str  # or what follows as it is
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheck:
    """All rows of a table that fail one check."""

    check: str
    column: str | None
    rows: npt.NDArray[np.int64]  # counted from 0, sorted; empty for a whole column
    value: Callable[[int], str | None]  # value of a row
    what: Callable[[int], str]  # sentence about a row
    allowed: str
    remedy: str
    severity: Severity = "error"

    def __len__(self) -> int:
        return max(1, len(self.rows))

    def problems(self) -> Iterator[ValidationProblem]:
        """Yield one problem a row."""
        for row in self.rows.tolist() or [None]:
            yield ValidationProblem(
                check=self.check,
                severity=self.severity,
                row=None if row is None else row + 1,
                column=self.column,
                value=None if row is None else self.value(row),
                what=self.what(row or 0),
                allowed=self.allowed,
                remedy=self.remedy,
            )

    def error(self) -> InvalidInput:
        """Return the error that names the first row, and how many more there are."""
        first = next(self.problems())
        others = count_rest(len(self.rows) - 1, "such row")
        return InvalidInput(f"{first.what} {self.allowed} {self.remedy}{others}")


def to_row_indices(places: pl.Series) -> npt.NDArray[np.int64]:
    """Return row indices as a failed check has them."""
    return places.cast(pl.Int64).to_numpy()


CheckReport: TypeAlias = Callable[[FailedCheck], None]


def raise_failed_check(finding: FailedCheck) -> None:
    """Raise a failed check as an error: the report for readers."""
    raise finding.error()
