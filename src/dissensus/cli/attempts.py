"""Analysis and report of a file of red-team attempts."""

import json
from pathlib import Path
from typing import NamedTuple

import typer

from dissensus.cli import result_writer
from dissensus.cli.result_writer import Format
from dissensus.errors import UndefinedEstimate
from dissensus.files.attempts.reviews import ID, read_attempt_ids, read_reviews
from dissensus.files.attempts.tables import describe_unknown_keys, stream_attempts
from dissensus.pipeline.analyse.attempts import AttemptAnalysis, AttemptMap, analyse_attempts, attempt_map
from dissensus.pipeline.analyse.attempts.display import attempts_page, attempts_rows
from dissensus.schema.records.attempt import SUCCESS, Attempt

COLUMNS = (
    "measure",
    "part",
    "model_type",
    "size",
    "estimate",
    "ci_low",
    "ci_high",
    "n_attempts",
    "n_red_teamers",
    "reason",
)


class AttemptResult(NamedTuple):
    """Attempts of a file, their analysis, and notes on keys that were left out."""

    attempts: tuple[Attempt, ...]
    analysis: AttemptAnalysis
    notes: tuple[str, ...]


def report_attempts(
    path: Path,
    *,
    output: Path,
    figures: Path | None,
    bootstrap: int,
    seed: int,
    text: bool | None,
    title: str | None,
    reviews: Path | None,
    success_from: int | None,
) -> None:
    """Write the HTML report on a file of attempts."""
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.report.attempts import attempts_report

    result_writer.check_page_output(output)
    result_writer.check_figures_folder(figures)
    with result_writer.progress_bar("Analysing") as progress:
        report_progress = progress or (lambda _: None)
        result = _analyse_file(path, reviews, success_from, bootstrap=bootstrap, seed=seed)
        report_progress(0.5)
        attempt_layout: AttemptMap | str
        try:
            attempt_layout = attempt_map(
                result.attempts, success_from=result.analysis.success_from, bootstrap=bootstrap, seed=seed
            )
        except UndefinedEstimate as error:
            attempt_layout = str(error)
        report_progress(0.8)
        report = attempts_report(
            result.attempts,
            result.analysis,
            attempt_layout,
            text=text is True,
            title=title,
            command=result_writer.format_command(),
            notes=result.notes,
        )
        html = report.to_html()
    result_writer.write_text(html, output)
    if figures is not None:
        result_writer.write_figures(report.figures, figures)


def print_attempt_analysis(
    path: Path,
    *,
    bootstrap: int,
    confidence: float,
    seed: int,
    format: Format | None,  # noqa: A002 - the option's name
    output: Path | None,
    reviews: Path | None,
    success_from: int | None,
) -> None:
    """Print the analysis of a file of attempts."""
    kind = result_writer.choose_format(format, output)
    result = _analyse_file(path, reviews, success_from, bootstrap=bootstrap, seed=seed, confidence=confidence)
    for note in (*result.notes, *result.analysis.notes):
        typer.echo(f"Note: {note}", err=True)
    if kind is Format.JSON:
        document = {"schema_version": 1, **result.analysis.to_dict()}
        result_writer.write_text(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False), output)
    elif kind is Format.CSV:
        result_writer.write_text(
            result_writer.format_rows(kind, attempts_rows(result.analysis), COLUMNS, name="rows", if_empty=""), output
        )
    else:
        result_writer.write_pages([attempts_page(result.analysis)], output)


def _analyse_file(
    path: Path,
    reviews: Path | None,
    success_from: int | None,
    *,
    bootstrap: int,
    seed: int,
    confidence: float = 0.95,
) -> AttemptResult:
    review_records = () if reviews is None else read_reviews(reviews)
    ids = read_attempt_ids(path) if review_records else None
    unknown_keys: dict[str, None] = {}
    attempts = tuple(stream_attempts(path, unknown_keys))
    if ids is not None:
        unknown_keys.pop(ID)
    analysis = analyse_attempts(
        attempts,
        reviews=review_records,
        ids=ids,
        success_from=SUCCESS if success_from is None else success_from,
        bootstrap=bootstrap,
        seed=seed,
        confidence=confidence,
    )
    return AttemptResult(attempts, analysis, describe_unknown_keys(unknown_keys))
