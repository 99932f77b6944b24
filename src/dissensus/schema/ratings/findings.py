"""Failed checks of a table: readers raise the first one, validation lists all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.advice import join_messages
from dissensus.schema.hints import count_rest

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationProblem:
    """One problem in one row or column."""

    check: str
    severity: Severity  # errors prevent reading, or are contradictions within the table
    row: int | None  # counted from 1; None for a whole column or file
    column: str | None
    value: str | None
    message: str  # with the value
    allowed: str  # or the consequence of a warning
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheck:
    """All rows of a table that fail one check."""

    check: str
    column: str | None
    rows: npt.NDArray[np.int64]  # counted from 0, sorted; empty for a whole column
    value: Callable[[int], str | None]  # value of a row
    message: Callable[[int], str]  # message about a row
    allowed: str
    remedy: str
    severity: Severity = "error"
    options: tuple[str, ...] = ()  # command-line options that remedy it without another meaning of the data

    def __len__(self) -> int:
        return max(1, len(self.rows))

    def problems(self) -> Iterator[ValidationProblem]:
        """Yield one problem per row."""
        for row in self.rows.tolist() or [None]:
            yield ValidationProblem(
                check=self.check,
                severity=self.severity,
                row=None if row is None else row + 1,
                column=self.column,
                value=None if row is None else self.value(row),
                message=self.message(row or 0),
                allowed=self.allowed,
                remedy=self.remedy,
            )

    def error(self) -> InvalidInput:
        """Return an error about the first row, with the number of further rows."""
        first = next(self.problems())
        rest = count_rest(len(self) - 1, "such row")
        message = join_messages(first.message, self.allowed, self.remedy, rest.strip())
        return InvalidInput(message, options=self.options)


def to_row_indices(rows: pl.Series) -> npt.NDArray[np.int64]:
    """Convert row indices to the type of `FailedCheck.rows`."""
    return rows.cast(pl.Int64).to_numpy()


CheckReport: TypeAlias = Callable[[FailedCheck], None]


def raise_failed_check(finding: FailedCheck) -> None:
    """Raise a failed check as an error; used as the report of readers."""
    raise finding.error()
