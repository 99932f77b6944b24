"""`dissensus judge audit`: a judge beside groups of raters."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import GROUPS, ConfidenceOption, CrossOption, PageOutputOption
from dissensus.cli.ratings_options import find_ratings_file, with_table_options
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.pipeline.judge.audit.result import JudgeAudit
    from dissensus.report.result import Document


@with_table_options
def audit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `dissensus judge run`.")],
    ratings: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Ratings of people of the same items; repeatable. Default: none."),
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Question to audit. Default: Q_overall, else the only one.")
    ] = None,
    exclude_flagged: Annotated[bool, typer.Option("--exclude-flagged", help="Leave out flagged raters.")] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS", help="Axis of raters; repeatable. Those of personas are added.", rich_help_panel=GROUPS
        ),
    ] = None,
    cross: CrossOption = None,
    min_raters: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Compare with groups of N raters or more.", rich_help_panel=GROUPS),
    ] = 8,
    suppress_below: Annotated[
        int,
        typer.Option(metavar="K", min=0, help="Withhold numbers of groups with fewer raters.", rich_help_panel=GROUPS),
    ] = 0,
    confidence: ConfidenceOption = 0.95,
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
    *,
    table: dict[str, Any],
) -> None:
    """Audit a judge: consistency, effects of presentation, agreement with groups of raters, personas.

    Effects of presentation are those of the probes of the run. With --ratings, the agreement of the judge with each
    group stands beside that within the group.

    Example: dissensus judge audit judged --ratings ratings.csv --by race
    """
    # Imported here, so that --help does not import polars.
    from dissensus.files.judge.folder import read_judge_run
    from dissensus.files.ratings.reader import read_ratings
    from dissensus.pipeline.judge.audit.audit import audit_judge

    target = result_writer.resolve_target(format, output, figures)
    if ratings is None and (by or cross or exclude_flagged):
        raise InvalidInput("Groups are those of ratings of people. Give them: --ratings FILE")
    responses = read_judge_run(folder)
    people = None
    if ratings is not None:
        files = [find_ratings_file(path) for path in ratings]
        people = read_ratings(
            files if len(files) > 1 else files[0],
            questions=None if question is None or table["answer"] is not None else [question],
            **table,
        )
        people = people.exclude_flagged() if exclude_flagged else people
    result = audit_judge(
        responses,
        people,
        question=question,
        by=[*(by or ()), *(cross or ())],
        min_raters=min_raters,
        suppress_below=suppress_below,
        confidence=confidence,
    )
    result_writer.write_result(
        target,
        build_report=partial(_build_report, result),
        build_page=result.page,
        to_json=result.to_json,
        to_csv=lambda: result_writer.to_csv(result.to_polars()),
    )


def _build_report(audit: "JudgeAudit", command: str) -> "Document":
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.report.judge import judge_report

    return judge_report(audit, command=command)
