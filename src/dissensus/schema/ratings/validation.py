"""Validation of a ratings table, with a list of all problems."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
import polars as pl

from dissensus.errors import DissensusError
from dissensus.schema.hints import count_noun
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings import consistency
from dissensus.schema.ratings.cleaning import CleaningRules
from dissensus.schema.ratings.column_choice import ALL, choose_columns
from dissensus.schema.ratings.encoding import encode_ratings
from dissensus.schema.ratings.findings import FailedCheck, ValidationProblem
from dissensus.schema.ratings.headers import strip_headers
from dissensus.schema.ratings.multiple_labels import select_label
from dissensus.schema.ratings.repeats import describe_second_showings
from dissensus.schema.tabular_result import TabularResult

MAX_SHOWN = 5
"""Problems of one kind in the printed summary."""

_SCHEMA = {name: pl.Int64 if name == "row" else pl.String for name in ValidationProblem.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Validation(TabularResult):
    """The size of a ratings table, and all problems with it.

    Parameters
    ----------
    source
        Name of the file, or "table".
    kind
        Recognised kind of table.
    n_rows, n_items, n_raters
        Size; None if it is unknown.
    questions, axes
        Names of the columns read.
    findings
        Failed checks, errors first; each covers one or more rows of a column.
    notes
        Remarks on how the table was read.
    """

    source: str
    kind: str
    n_rows: int | None = None
    n_items: int | None = None
    n_raters: int | None = None
    questions: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    findings: tuple[FailedCheck, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if there are no errors; there may be warnings."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def options(self) -> tuple[str, ...]:
        """Command-line options with which the file is read, if they are known; those of the first error that has some.

        They do not change the meaning of the data.
        """
        return next((finding.options for finding in self.findings if finding.options), ())

    @property
    def n_errors(self) -> int:
        """Number of errors."""
        return sum(len(finding) for finding in self.findings if finding.severity == "error")

    @property
    def n_warnings(self) -> int:
        """Number of warnings."""
        return sum(len(finding) for finding in self.findings if finding.severity == "warning")

    def problems(self) -> Iterator[ValidationProblem]:
        """Yield every problem, errors first."""
        for finding in self.findings:
            yield from finding.problems()

    def to_polars(self) -> pl.DataFrame:
        """Return one row per problem."""
        rows = pl.DataFrame([asdict(problem) for problem in self.problems()], schema=_SCHEMA)
        return rows.select(pl.lit(self.source).alias("source"), pl.all())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        counts = Counter[tuple[str, str | None, str]]()
        for finding in self.findings:
            counts[finding.check, finding.column, finding.severity] += len(finding)
        return {
            "source": self.source,
            "kind": self.kind,
            "ok": self.ok,
            "n_rows": self.n_rows,
            "n_items": self.n_items,
            "n_raters": self.n_raters,
            "questions": list(self.questions),
            "axes": list(self.axes),
            "n_errors": self.n_errors,
            "n_warnings": self.n_warnings,
            "summary": [
                {"check": check, "column": column, "severity": severity, "count": count}
                for (check, column, severity), count in counts.items()
            ],
            "problems": [asdict(problem) for problem in self.problems()],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return "\n".join([*self._summary(), *self._details(), *(f"Note: {note}" for note in self.notes)])

    def _summary(self) -> Iterator[str]:
        verdict = "valid" if self.ok else "not valid"
        counts = f"{count_noun(self.n_errors, 'error')}, {count_noun(self.n_warnings, 'warning')}"
        yield f"{self.source}: {verdict}, {counts}"
        if self.n_items is not None:
            raters = "unknown raters" if self.n_raters is None else count_noun(self.n_raters, "rater")
            size = f"{count_noun(self.n_rows or 0, 'row')}, {count_noun(self.n_items, 'item')}, {raters}"
            yield f"  {self.kind}: {size}, {count_noun(len(self.questions), 'question')}"
        elif self.n_rows is not None:
            yield f"  {self.kind}: {count_noun(self.n_rows, 'row')}"
        for finding in self.findings:
            column = "" if finding.column is None else f" in {finding.column}"
            yield f"  {len(finding):>7,} × {finding.check}{column}"

    def _details(self) -> Iterator[str]:
        for finding in self.findings:
            yield ""
            yield f"{finding.severity.capitalize()}: {finding.check}"
            yield from (f"  {problem.message}" for problem in islice(finding.problems(), MAX_SHOWN))
            if len(finding) > MAX_SHOWN:
                yield f"  … and {len(finding) - MAX_SHOWN:,} more; --format json or csv lists all."
            advice = f"{finding.allowed} {finding.remedy}".strip()
            if advice:
                yield f"  {advice}"


def unreadable_validation(source: str, error: DissensusError) -> Validation:
    """Return the validation of an unreadable source."""
    return Validation(source=source, kind="unreadable", findings=(_fatal(error),))


def validate_table(  # noqa: PLR0913 - options are keyword-only
    frame: pl.DataFrame,
    *,
    source: str = "table",
    item: str = names.ITEM_ID,
    rater: str | None = names.RATER_ID,
    answer: str | None = None,
    questions: Sequence[str] | Literal["all"] = ALL,
    rater_attributes: Sequence[str] | Literal["auto"] = (),
    categories: Sequence[str] | None = None,
    text: str | None = None,
    has_label: str | None = None,
    rules: CleaningRules = CleaningRules(),  # noqa: B008 - frozen
) -> Validation:
    """Check a long table, and list all problems."""
    findings: list[FailedCheck] = []
    frame, header_notes = strip_headers(frame)
    try:
        choice = choose_columns(
            frame.columns,
            item=item,
            rater=rater,
            answer=answer,
            questions=None if answer is not None and questions == ALL else questions,
            rater_attributes=rater_attributes,
            text=text,
            frame=frame,
        )
        repeated = None
        if has_label is not None:
            question = choice.require_question("has_label")
            frame, repeated = select_label(frame, choice.item, choice.rater, question, has_label)
        encoded = encode_ratings(frame, choice, categories, findings.append, rules, repeated=repeated)
    except DissensusError as error:
        return Validation(source=source, kind=_kind(frame), n_rows=frame.height, findings=(*findings, _fatal(error)))
    findings += [remark.finding for remark in encoded.remarks if remark.finding is not None]
    findings += consistency.find_contradictory_overalls(encoded)
    findings += consistency.find_missing_demographics(encoded)
    findings += consistency.find_blank_rows(encoded)
    findings += consistency.find_repeated_conversations(encoded)
    return Validation(
        source=source,
        kind=_kind(frame),
        n_rows=frame.height,
        n_items=encoded.items.height,
        n_raters=None if encoded.rater is None else encoded.raters.height,
        questions=encoded.questions,
        axes=tuple(name for name in encoded.raters.columns[1:] if name != names.FLAG),
        findings=tuple(sorted(findings, key=lambda finding: finding.severity != "error")),
        notes=(
            *header_notes,
            *describe_second_showings(int(encoded.second.sum())),
            *(remark.note for remark in encoded.remarks if remark.finding is None),
            *encoded.notes,
        ),
    )


def _kind(frame: pl.DataFrame) -> str:
    matching = (name for name in published_questionnaires() if load_questionnaire(name).matches(frame.columns))
    return next(matching, "long table")


def _fatal(error: DissensusError) -> FailedCheck:
    return FailedCheck(
        check="unreadable",
        column=None,
        rows=np.array([], np.int64),
        value=lambda _: None,
        message=lambda _: str(error),
        allowed="",
        remedy="",
        options=error.options,
    )
