"""What commands do with a file of red-team attempts."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dissensus.cli import result_writer
from dissensus.cli.result_writer import Format
from dissensus.errors import InvalidInput, UndefinedEstimate

if TYPE_CHECKING:
    from dissensus.pipeline.analyse.attempts import AttemptAnalysis, AttemptMap
    from dissensus.schema.records.attempt import Attempt
    from dissensus.schema.records.review import Review

PANEL = "Red-team attempts"
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

ReviewsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="What reviewers say: attempt_id, reviewer_id, success, tags.", rich_help_panel=PANEL
    ),
]
SuccessOption = Annotated[
    int | None,
    typer.Option(
        metavar="RATING", min=1, max=4, help="Least rating that is a success. Default: 3.", rich_help_panel=PANEL
    ),
]


class Found(NamedTuple):
    """Attempts that were read, what was found in them, and what the reader should know."""

    attempts: "tuple[Attempt, ...]"
    analysis: "AttemptAnalysis"
    notes: tuple[str, ...]


def report(
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
    """Make the page of a file of attempts."""
    from dissensus.pipeline.analyse.attempts import attempt_map
    from dissensus.report.attempts import attempts_report

    result_writer.check_page(output)
    if figures is not None:
        result_writer.make_folder("--figures", figures)
    with result_writer.progress("Analysing") as progress:
        told = progress or (lambda _: None)
        found = _found(path, reviews, success_from, bootstrap=bootstrap, seed=seed)
        told(0.5)
        laid_out: AttemptMap | str
        try:
            laid_out = attempt_map(
                found.attempts, success_from=found.analysis.success_from, bootstrap=bootstrap, seed=seed
            )
        except UndefinedEstimate as reason:
            laid_out = str(reason)
        told(0.8)
        made = attempts_report(
            found.attempts,
            found.analysis,
            laid_out,
            text=text is True,
            title=title,
            command=shlex.join(["dissensus", *sys.argv[1:]]),
            notes=found.notes,
        )
        page = made.to_html()
    result_writer.write(page, output)
    if figures is not None:
        result_writer.write_figures(made.figures, figures)


def analyse(
    path: Path,
    *,
    bootstrap: int,
    level: float,
    seed: int,
    format: Format | None,  # noqa: A002 - the option's name
    output: Path | None,
    reviews: Path | None,
    success_from: int | None,
) -> None:
    """Print what a file of attempts says."""
    kind = result_writer.chosen(format, output)
    result_writer.check(output)
    found = _found(path, reviews, success_from, bootstrap=bootstrap, seed=seed, level=level)
    for note in (*found.notes, *found.analysis.notes):
        typer.echo(f"Note: {note}", err=True)
    if kind is Format.JSON:
        told = {"schema_version": 1, **found.analysis.to_dict()}
        result_writer.write(json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False), output)
    elif kind is Format.CSV:
        from dissensus.pipeline.analyse.attempts.display import rows

        result_writer.write(result_writer.rows_as(kind, rows(found.analysis), COLUMNS, name="rows", none=""), output)
    else:
        from dissensus.pipeline.analyse.attempts.display import page

        result_writer.write_pages([page(found.analysis)], output)


def refuse(path: Path, reviews: Path | None, success_from: int | None) -> None:
    """Refuse options that are about attempts where there are none."""
    for name, value in (("reviews", reviews), ("success-from", success_from)):
        if value is not None:
            raise InvalidInput(f"--{name} is about red-team attempts, and {path} holds none. Leave it out.")


def _found(
    path: Path,
    reviews: Path | None,
    success_from: int | None,
    *,
    bootstrap: int,
    seed: int,
    level: float = 0.95,
) -> Found:
    from dissensus.files.attempts.reviews import ID, read_attempt_ids, read_reviews
    from dissensus.files.attempts.tables import left_out, stream_attempts
    from dissensus.pipeline.analyse.attempts import analyse_attempts
    from dissensus.schema.records.attempt import SUCCESS

    said: tuple[Review, ...] = () if reviews is None else read_reviews(reviews)
    ids = read_attempt_ids(path) if said else None
    unknown: dict[str, None] = {}
    attempts = tuple(stream_attempts(path, unknown))
    if ids is not None:
        unknown.pop(ID)
    analysis = analyse_attempts(
        attempts,
        reviews=said,
        ids=ids,
        success_from=SUCCESS if success_from is None else success_from,
        bootstrap=bootstrap,
        seed=seed,
        level=level,
    )
    return Found(attempts, analysis, left_out(unknown))
