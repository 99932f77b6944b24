"""Tables of an analysis on a terminal."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dissensus.cli import result_writer
from dissensus.pipeline.analyse import Analysis
from dissensus.pipeline.analyse.result import (
    DisplayCell,
    analysis_blocks,
    analysis_footnotes,
    analysis_summary,
    item_grids,
)

WIDE = 112
"""Columns of a terminal in which all metrics fit with their intervals on one line."""


def print_analysis(analysis: Analysis) -> None:
    """Print the tables to the terminal, or as plain text if the terminal would cut numbers."""
    console = Console(highlight=False)
    narrow = console.width < WIDE
    tables = []
    for block in analysis_blocks(analysis):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 0 if narrow else 1), pad_edge=False)
        table.add_column(Text(block.title, style="bold"), overflow="fold", min_width=10)
        for heading in ("raters", *block.headings):
            table.add_column(Text(heading), justify="right", no_wrap=True)
        for group, raters, cells in block.lines:
            table.add_row(Text(group), Text(raters), *(_cell(cell, narrow) for cell in cells))
        tables.append((table, block.caption))
    for grid in item_grids(analysis):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 0 if narrow else 1), pad_edge=False)
        table.add_column(Text(grid.head[0], style="bold"), overflow="fold", min_width=10)
        for heading in grid.head[1:]:
            table.add_column(Text(heading), justify="right", no_wrap=True)
        for line in grid.lines:
            table.add_row(*map(Text, line))
        tables.append((table, grid.caption))
    summary, notes = analysis_summary(analysis), analysis_footnotes(analysis)
    result_writer.print_tables(console, summary, tables, notes, plain=str(analysis))


def _cell(cell: DisplayCell, narrow: bool) -> Text:
    interval = cell.interval.replace(" ", "\n") if narrow else cell.interval
    return Text.assemble(cell.value, (cell.stars, "bold"), ("\n" + interval if interval else "", "dim"))
