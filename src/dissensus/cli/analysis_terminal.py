"""Tables of an analysis on a terminal."""

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dissensus.cli import result_writer
from dissensus.pipeline.analyse import Analysis
from dissensus.pipeline.analyse.result import DisplayCell, analysis_blocks, analysis_footnotes, analysis_summary

# Columns of a terminal that show all metrics with their intervals on one line.
WIDE = 112


def print_analysis(analysis: Analysis) -> None:
    """Print the table to a terminal."""
    console = Console(highlight=False)
    narrow = console.width < WIDE
    grids = []
    for block in analysis_blocks(analysis):
        grid = Table(box=box.SIMPLE_HEAD, padding=(0, 0 if narrow else 1), pad_edge=False)
        grid.add_column(Text(block.title, style="bold"), overflow="fold", min_width=10)
        for heading in ("raters", *block.headings):
            grid.add_column(Text(heading), justify="right", no_wrap=True)
        for group, raters, cells in block.lines:
            grid.add_row(Text(group), Text(raters), *(_cell(cell, narrow) for cell in cells))
        grids.append((grid, block.caption))
    if not result_writer.fits_terminal(console, [grid for grid, _ in grids]):
        typer.echo(str(analysis))
        return
    console.print(Text(analysis_summary(analysis)))
    for grid, caption in grids:
        console.print(grid)
        if caption:
            console.print(Text(caption + "\n", style="italic"))
    for note in analysis_footnotes(analysis):
        console.print(Text(note, style="dim"))


def _cell(cell: DisplayCell, narrow: bool) -> Text:

    interval = cell.interval.replace(" ", "\n") if narrow else cell.interval
    return Text.assemble(cell.value, (cell.stars, "bold"), ("\n" + interval if interval else "", "dim"))
