"""`dissensus analyse`: agreement and difference between groups of raters."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import reading, writing
from dissensus.cli.writing import Format, FormatOption, OutputOption

if TYPE_CHECKING:
    from dissensus.pipeline.analyse import Analysis

TESTS, INTERVALS = "Significance", "Intervals"


def analyse(
    ratings: reading.RatingsFile,
    items: reading.ItemsFile = None,
    question: reading.Question = None,
    by: Annotated[list[str] | None, typer.Option(metavar="AXIS", help="Axis, such as race; repeatable.")] = None,
    cross: Annotated[
        list[str] | None, typer.Option(metavar="AXIS*AXIS", help="Crossed axes, such as race*gender; repeatable.")
    ] = None,
    against: Annotated[
        str, typer.Option(metavar="rest|GROUP", help="Compare with everybody else, or with one group.")
    ] = "rest",
    min_raters: Annotated[int, typer.Option(min=0, help="Mark groups with fewer raters.")] = 5,
    permutations: Annotated[
        int, typer.Option(min=0, help="Permutations of raters' demographic rows; 0: no test.", rich_help_panel=TESTS)
    ] = 0,
    permute_within: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Let raters change places within its values only.", rich_help_panel=TESTS),
    ] = None,
    method: Annotated[
        str,
        typer.Option(metavar="two-sided|grasp", help="Rule for p; grasp is the published one.", rich_help_panel=TESTS),
    ] = "two-sided",
    adjust: Annotated[
        str,
        typer.Option(metavar="bh|max-t", help="False discovery or family-wise error rate.", rich_help_panel=TESTS),
    ] = "bh",
    family: Annotated[
        str,
        typer.Option(
            metavar="table|metric|axis|axis-metric", help="Tests that are adjusted together.", rich_help_panel=TESTS
        ),
    ] = "table",
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Bootstrap replicates; 0: no intervals.", rich_help_panel=INTERVALS)
    ] = 0,
    resample: Annotated[
        str, typer.Option(metavar="both|raters|items", help="What is a sample.", rich_help_panel=INTERVALS)
    ] = "both",
    level: Annotated[float, typer.Option(help="Confidence level.", rich_help_panel=INTERVALS)] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws.")] = 0,
    item: reading.Item = "item_id",
    rater: reading.Rater = "rater_id",
    answer: reading.Answer = None,
    rater_attribute: reading.RaterAttributes = None,
    categories: reading.Categories = None,
    where: reading.Where = None,
    exclude_flagged: reading.ExcludeFlagged = False,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Measure agreement within and between groups of raters.

    For the pool and every group: Krippendorff's alpha (IRR), negentropy, plurality size; against the rest or another
    group: XRR, cross-negentropy, voting agreement, GAI; for every axis the DSI.

    Example: dissensus analyse ratings.csv --by race --by gender --cross "race*gender" --permutations 1000
    """
    table = reading.read(
        ratings,
        items=items,
        question=question,
        item=item,
        rater=rater,
        answer=answer,
        rater_attributes=rater_attribute,
        categories=categories,
        where=where,
        exclude_flagged=exclude_flagged,
    )
    from dissensus.pipeline.analyse import analyse as run

    with writing.progress("Resampling") as progress:
        analysis = run(
            table,
            by=by or (),
            cross=cross or (),
            question=None,
            against=against,
            permutations=permutations,
            permute_within=permute_within,
            method=method,  # type: ignore[arg-type]  # checked with the other settings
            adjust=adjust,  # type: ignore[arg-type]
            family=family,  # type: ignore[arg-type]
            bootstrap=bootstrap,
            resample=resample,  # type: ignore[arg-type]
            level=level,
            seed=seed,
            min_raters=min_raters,
            progress=progress,
        )
    kind = writing.chosen(format, output)
    if kind is Format.TABLE and output is None and sys.stdout.isatty():
        show(analysis)
    elif kind is Format.TABLE:
        writing.write(str(analysis), output)
    elif kind is Format.JSON:
        writing.write(analysis.to_json(), output)
    else:
        writing.write(analysis.to_polars().write_csv(), output)


def show(analysis: "Analysis") -> None:
    """Print the table to a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dissensus.pipeline.analyse.display import blocks, footnotes, summary

    console = Console(highlight=False)
    console.print(Text(summary(analysis)))
    for block in blocks(analysis):
        grid = Table(box=box.SIMPLE_HEAD, caption=Text(block.caption), caption_justify="left", pad_edge=False)
        grid.add_column(Text(block.title, style="bold"), overflow="fold", min_width=14)
        for heading in ("raters", *block.headings):
            grid.add_column(Text(heading), justify="right")
        for group, raters, cells in block.lines:
            filled = [
                Text.assemble(cell.value, (cell.stars, "bold"), (f"\n{cell.interval}" if cell.interval else "", "dim"))
                for cell in cells
            ]
            grid.add_row(Text(group), Text(raters), *filled)
        console.print(grid)
    for note in footnotes(analysis):
        console.print(Text(note, style="dim"))
