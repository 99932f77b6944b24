"""What is wrong with a table: found once, raised as an error by who reads it and listed by who validates it."""

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
    """One thing that is wrong, in one place."""

    check: str  # Name of what was checked
    # An error is refused on reading, or contradicts what the same table says elsewhere; a warning is worth a look
    severity: Severity
    row: int | None  # Row of the table, counted from 1; None where the whole column or file is meant
    column: str | None  # Where and what was found; None where that does not apply
    value: str | None
    what: str  # One sentence that says what is wrong
    allowed: str  # What would be right, or what follows as it is; and what to do
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheck:
    """All rows of a table that fail one check."""

    check: str
    column: str | None
    rows: npt.NDArray[np.int64]  # The rows, counted from 0 and in order; none where the column as a whole fails
    value: Callable[[int], str | None]  # Value and sentence of a row
    what: Callable[[int], str]
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
    """Return rows of a table as a finding has them."""
    return places.cast(pl.Int64).to_numpy()


CheckReport: TypeAlias = Callable[[FailedCheck], None]


def raise_failed_check(finding: FailedCheck) -> None:
    """Raise what is wrong: the report of who cannot go on."""
    raise finding.error()
