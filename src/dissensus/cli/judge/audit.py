"""`dissensus judge audit`: a judge beside groups of raters."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import GROUPS, ConfidenceOption, CrossOption, PageOutputOption
from dissensus.cli.ratings_options import find_ratings_file, with_table_options
from dissensus.cli.result_writer import PAGE_SUFFIXES, FiguresOption, Format, FormatOption
from dissensus.errors import InvalidInput


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
    # Read when NumPy is imported. Matrices are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported here, so that --help does not import polars.
    from dissensus.files.judge.folder import read_judge_run
    from dissensus.files.ratings.reader import read_ratings
    from dissensus.pipeline.judge.audit.audit import audit_judge

    result_writer.check_output(output)
    paged = format is None and output is not None and output.suffix.lower() in PAGE_SUFFIXES
    kind = Format.TABLE if paged else result_writer.choose_format(format, output)
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
    if paged or figures is not None:
        # Imported here, since Altair takes a fifth of a second.
        from dissensus.report.judge import judge_report

        document = judge_report(result, command=shlex.join(["dissensus", *sys.argv[1:]]))
        if figures is not None:
            result_writer.write_figures(document.figures, figures)
        if paged:
            result_writer.write_text(document.to_html(), output)
            return
    if kind is Format.JSON:
        result_writer.write_text(result.to_json(), output)
    elif kind is Format.CSV:
        result_writer.write_text(result_writer.to_csv(result.to_polars()), output)
    else:
        result_writer.write_pages([result.page()], output)
