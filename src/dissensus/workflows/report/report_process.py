"""Process that makes one report from an export: `python -m dissensus.workflows.report.report_process JOB`.

A process of its own can be killed when a rater of the export withdraws, and returns its memory.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import polars as pl

from dissensus.campaign.report_request import REPLICATES, ReportRequest, parse_report_request
from dissensus.errors import DissensusError, InvalidInput, UndefinedEstimate
from dissensus.files.attempts.reviews import read_attempt_ids, read_reviews
from dissensus.files.attempts.tables import stream_attempts
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.table_stream import escape_formulas
from dissensus.pipeline.analyse.attempts import AttemptMap, attempt_map
from dissensus.pipeline.analyse.attempts.analysis import analyse_attempts
from dissensus.report.attempts import attempts_report
from dissensus.report.builder import build
from dissensus.report.figure import Figure
from dissensus.report.figures.contested_items import ContestedItem
from dissensus.report.graphics.theme import COLUMN_WIDTH
from dissensus.report.html import to_grid
from dissensus.report.result import Document
from dissensus.report.sections import Part, Section
from dissensus.report.tables import ReportTable
from dissensus.schema.advice import error_message, word_for_site
from dissensus.schema.hints import format_list, format_value

ANALYSED: Final = 0.7
"""Share of the work that is done before figures are drawn."""


def main(job_path: Path) -> None:
    """Make the report that a job file describes; write it, or the reason why there is none, to its output file."""
    job = json.loads(job_path.read_text("utf-8"))
    try:
        result = make_report(job)
    except DissensusError as error:
        result = {"fault": word_for_site(error_message(error))}
    Path(job["output"]).write_text(json.dumps(result, ensure_ascii=False), "utf-8")


def make_report(job: dict[str, Any]) -> dict[str, Any]:
    """Return a report as texts: its first page, sections and figures."""
    request = parse_report_request(job["request"])
    source = Path(job["source"])
    if job["reviews"] is not None:
        reviews = Path(job["reviews"])
        document = _report_attempts(source, reviews, request, job["title"], suppress_below=job["suppress_below"])
    else:
        document = _report_ratings(source, request, job["title"], suppress_below=job["suppress_below"])
    figures = list(_list_figures(document))
    figure_rows = []
    for number, figure in enumerate(figures, 1):
        figure_rows.append(
            (figure.name, figure.render().decode(), figure.render(width=COLUMN_WIDTH).decode(), _guard(figure.table))
        )
        _print_progress(ANALYSED + (1 - ANALYSED) * number / len(figures))
    return {
        "content": _first_page(document),
        "sections": {section.name: _section(section) for section in document.sections if section.parts},
        "figures": figure_rows,
    }


def _print_progress(share: float) -> None:
    print(share, flush=True)  # noqa: T201 - read by the job


def _report_ratings(source: Path, request: ReportRequest, title: str, *, suppress_below: int) -> Document:
    table = pl.read_parquet(source)
    for column, value in ((request.attribute, request.value), (request.axis, request.group)):
        if column:
            table = _filter(table, column, value)
    replicates = REPLICATES if request.inference else 0
    ratings = read_ratings(table, questions="all")
    analysed = ratings.exclude_flagged() if request.exclude_flagged else ratings
    _check_number(analysed.n_raters, "raters", suppress_below)
    return build(
        ratings,
        by=list(request.axes) or None,
        cross=list(request.cross),
        question=request.question or None,
        exclude_flagged=request.exclude_flagged,
        permutations=replicates,
        bootstrap=replicates,
        seed=request.seed,
        suppress_below=suppress_below,
        title=title,
        progress=lambda share: _print_progress(ANALYSED * share),
    )


def _check_number(n: int, noun: str, suppress_below: int) -> None:
    """Raise `InvalidInput` for fewer people than a report may show together."""
    if n < suppress_below:
        raise InvalidInput(
            f"Fewer than {suppress_below} {noun} are left, and your role sees only more. Choose fewer filters, wait "
            f"for more {noun}, or ask an owner for the report."
        )


def _filter(table: pl.DataFrame, column: str, value: str) -> pl.DataFrame:
    """Return the ratings with a value of a column, or raise `InvalidInput` where there are none."""
    if column not in table.columns:
        raise InvalidInput(
            f"{format_value(column)} is not a column of the export. It has {format_list(table.columns)}."
        )
    rows = table.filter(pl.col(column).cast(pl.String) == value)
    if rows.is_empty():
        values = table[column].cast(pl.String).drop_nulls().unique().sort().to_list()
        raise InvalidInput(f"No rating has {column} = {format_value(value)}. There are {format_list(values, 20)}.")
    return rows


def _report_attempts(
    source: Path, reviews_path: Path, request: ReportRequest, title: str, *, suppress_below: int
) -> Document:
    replicates = REPLICATES if request.inference else 0
    attempts = tuple(stream_attempts(source, {}))
    _check_number(len({attempt.red_team_member_id for attempt in attempts}), "red-teamers", suppress_below)
    reviews = read_reviews(reviews_path) if reviews_path.exists() else ()
    ids = read_attempt_ids(source) if reviews else None
    analysis = analyse_attempts(attempts, reviews=reviews, ids=ids, bootstrap=replicates)
    _print_progress(ANALYSED / 2)
    try:
        layout: AttemptMap | str = attempt_map(attempts, bootstrap=replicates)
    except UndefinedEstimate as reason:
        layout = error_message(reason)
    return attempts_report(attempts, analysis, layout, suppress_below=suppress_below, title=title)


def _list_figures(document: Document) -> Iterator[Figure]:
    yield from document.figures
    yield from (part.figure for part in document.items)


def _guard(table: pl.DataFrame) -> str:
    r"""Return numbers as CSV, whose texts no spreadsheet reads as formulas.

    Examples
    --------
    >>> _guard(pl.DataFrame({"group": ["+1", "@A1"], "n": [1, -2]}))
    "group,n\n+1,1\n'@A1,-2\n"
    """
    nested = [name for name, dtype in table.schema.items() if dtype.is_nested()]
    plain = table.with_columns(pl.col(name).map_elements(str, return_dtype=pl.String) for name in nested)
    return escape_formulas(plain.cast({pl.Categorical: pl.String}))[0].write_csv()


def _first_page(document: Document) -> dict[str, Any]:
    return {
        "title": document.title,
        "summary": document.summary,
        "sizes": [asdict(size) for size in document.sizes],
        "findings": [{"section": section.name, "text": finding} for section, finding in document.findings],
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "absent": _word_for_site(section.absent),
                "empty": not section.parts,
            }
            for section in document.sections
        ],
        "notes": _word_for_site(document.notes),
        "version": document.version,
        "command": document.command,
    }


def _section(section: Section) -> dict[str, Any]:
    return {
        "title": section.title,
        "lead": section.lead,
        "parts": [_part(part) for part in section.parts],
        "absent": _word_for_site(section.absent),
    }


def _word_for_site(messages: Sequence[str]) -> list[str]:
    """Return messages in the words of the site: who reads its pages has no command line."""
    return [word_for_site(message) for message in messages]


def _part(part: Part) -> dict[str, Any]:
    """Return a part of a section as values that its page shows."""
    if isinstance(part, ContestedItem):
        return {**_part(part.figure), "kind": "item", "context": part.context, "response": part.response}
    if isinstance(part, Figure):
        return {**_heading(part), "kind": "figure", "grids": [asdict(to_grid(part.table))]}
    if isinstance(part, ReportTable):
        return {**_heading(part), "kind": "table", "grids": [asdict(grid) for grid in part.grids]}
    return {
        "kind": "disclosure",
        "name": part.name,
        "title": part.title,
        "reading": "",
        "notes": [],
        "warning": part.warning,
        "grids": [asdict(grid) for grid in part.grids],
        "passages": [asdict(passage) for passage in part.passages],
    }


def _heading(part: Figure | ReportTable) -> dict[str, Any]:
    return {
        "name": part.name,
        "title": part.title,
        "reading": word_for_site(part.reading),
        "notes": _word_for_site(part.notes),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
