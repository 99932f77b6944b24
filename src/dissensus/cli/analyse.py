"""`dissensus analyse`: agreement within and between groups of raters."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.lazy_group import LazyCommand
from dissensus.cli.options import (
    GROUPS,
    INTERVALS,
    SIGNIFICANCE,
    AgainstOption,
    BootstrapOption,
    ByItemOption,
    ConfidenceOption,
    CrossOption,
    LevelOption,
    MinRatersOption,
    PermutationsOption,
    PermuteWithinOption,
    ReviewsOption,
    SeedOption,
    SuccessOption,
)
from dissensus.cli.ratings_options import refuse_attempt_options, with_ratings_options
from dissensus.cli.result_writer import FiguresOption, Format, FormatOption, OutputOption

if TYPE_CHECKING:
    from dissensus.schema.ratings.table import Ratings


@partial(
    with_ratings_options,
    attempts=LazyCommand("dissensus.cli.attempts", "print_attempt_analysis", ""),
    partitions=True,
)
def analyse(
    load: "partial[Ratings]",
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="Axis, such as race; repeatable.", rich_help_panel=GROUPS),
    ] = None,
    cross: CrossOption = None,
    by_item: ByItemOption = None,
    share_of: Annotated[
        str | None,
        typer.Option(
            metavar="ANSWER", help="Answer whose share is compared; the last by default.", rich_help_panel=GROUPS
        ),
    ] = None,
    level: LevelOption = "nominal",
    against: AgainstOption = "rest",
    differences: Annotated[
        bool,
        typer.Option(
            "--differences", help="Compare agreement within each group with that of the others.", rich_help_panel=GROUPS
        ),
    ] = False,
    min_raters: MinRatersOption = 5,
    permutations: PermutationsOption = 0,
    permute_within: PermuteWithinOption = None,
    method: Annotated[
        Literal["two-sided", "grasp"],
        typer.Option(help="Rule for p; grasp is the published one.", rich_help_panel=SIGNIFICANCE),
    ] = "two-sided",
    adjust: Annotated[
        Literal["bh", "max-t"],
        typer.Option(help="False discovery or family-wise error rate.", rich_help_panel=SIGNIFICANCE),
    ] = "bh",
    family: Annotated[
        Literal["table", "metric", "axis", "axis-metric"],
        typer.Option(help="Tests that are adjusted together.", rich_help_panel=SIGNIFICANCE),
    ] = "table",
    bootstrap: BootstrapOption = 0,
    resample: Annotated[
        Literal["both", "raters", "items"],
        typer.Option(help="Resample raters, items or both.", rich_help_panel=INTERVALS),
    ] = "both",
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    reviews: ReviewsOption = None,
    success_from: SuccessOption = None,
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Measure agreement within and between groups of raters.

    Of the pool and every group: share of an answer, pairwise agreement; Krippendorff's alpha (IRR), negentropy,
    plurality size.

    Of every group against others: difference of shares, distance; XRR, cross-negentropy, voting agreement, GAI. Of
    every axis: share of disagreement between groups, DSI.

    A folder or a quoted glob of Parquet files is read in blocks of items, with only the raters in memory.

    Of a file of red-team attempts: success, harmlessness, tags, red-teamers and reviewers.

    Example: dissensus analyse ratings.csv --by race --by gender --cross "race*gender" --permutations 1000
    """
    # Imported here, so that --help does not import polars.
    from dissensus.pipeline.analyse import analyse as run

    refuse_attempt_options(load.keywords["ratings"], reviews, success_from)
    kind = result_writer.choose_format(format, output)
    result_writer.check_figures_folder(figures)
    ratings = load()
    with result_writer.progress_bar("Resampling") as progress:
        analysis = run(
            ratings,
            by=by or (),
            cross=cross or (),
            by_item=by_item or (),
            share_of=share_of,
            level=level,
            against=against,
            permutations=permutations,
            permute_within=permute_within,
            method=method,
            adjust=adjust,
            family=family,
            bootstrap=bootstrap,
            resample=resample,
            confidence=confidence,
            seed=seed,
            min_raters=min_raters,
            differences=differences,
            progress=progress,
        )
    if kind is Format.TABLE and output is None and sys.stdout.isatty():
        from dissensus.cli.analysis_terminal import print_analysis

        print_analysis(analysis)
    elif kind is Format.TABLE:
        result_writer.write_text(str(analysis), output)
    elif kind is Format.JSON:
        result_writer.write_text(analysis.to_json(), output)
    else:
        result_writer.write_text(result_writer.to_csv(analysis.to_polars(settings=True)), output)
    if figures is not None:
        # Imported here, since Altair takes a fifth of a second.
        from dissensus.report import list_figures

        result_writer.write_figures(list_figures(analysis), figures)
