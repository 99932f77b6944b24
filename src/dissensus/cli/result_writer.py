"""Output of results to a terminal, a pipe or a file."""

import csv
import io
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dissensus.errors import InvalidInput
from dissensus.extras import check_extra
from dissensus.files.raw.atomic_write import check_folder, write_atomically
from dissensus.pipeline.tables import Page, escape_unprintable
from dissensus.report.graphics.figure_kind import KINDS
from dissensus.schema.hints import count_noun

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from dissensus.report.figure import Figure
    from dissensus.report.result import Document


Row: TypeAlias = Mapping[str, str | float | int | None]


class Format(StrEnum):
    """Output format of rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Output format. Default: table, or that of FILE's name.")
]
PAGE_SUFFIXES = (".html", ".htm")
"""Suffixes of HTML files."""

OutputOption = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE instead.")]


def _check_figures(folder: Path | None) -> Path | None:
    """Refuse figures, before any work, if the extra that draws them is not installed."""
    if folder is not None:
        check_extra("figures", "--figures")
    return folder


FiguresOption = Annotated[
    Path | None,
    typer.Option(
        "--figures",
        metavar="DIR",
        help="Write every figure there: .svg, .png, .pdf and .json (Vega-Lite).",
        callback=_check_figures,
    ),
]


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Format and file of a result, and folder of its figures."""

    format: Format | None  # None for a report in HTML
    output: Path | None
    figures: Path | None = None


def resolve_target(format: Format | None, output: Path | None, figures: Path | None = None) -> OutputTarget:  # noqa: A002 - the option's name
    """Return the target of a result; refuse a file or a folder that cannot be written, before any work."""
    is_report = format is None and output is not None and output.suffix.lower() in PAGE_SUFFIXES
    kind = None if is_report else choose_format(format, output)
    if output is not None:
        check_folder(output)
    check_figures_folder(figures)
    return OutputTarget(kind, output, figures)


def write_result(
    target: OutputTarget,
    *,
    build_report: Callable[[str], "Document"],
    build_page: Callable[[], Page],
    to_json: Callable[[], str],
    to_csv: Callable[[], str],
) -> None:
    """Write a result in the format of its target, and its figures; the report names the command that makes it."""
    document = None
    if target.format is None or target.figures is not None:
        document = build_report(format_command())
        if target.figures is not None:
            write_figures(document.figures, target.figures)
    if document is not None and target.format is None:
        write_text(document.to_html(), target.output)
    elif target.format is Format.TABLE:
        write_pages([build_page()], target.output)
    else:
        write_text(to_json() if target.format is Format.JSON else to_csv(), target.output)


def format_command() -> str:
    """Return the command as it was called."""
    return shlex.join(["dissensus", *sys.argv[1:]])


def choose_format(format: Format | None, output: Path | None) -> Format:  # noqa: A002 - the option's name
    """Return the format: the option, else the suffix of the file, else a table; refuse an unwritable file."""
    if output is not None:
        check_folder(output)
    if format is not None:
        return format
    suffix = output.suffix.lstrip(".").lower() if output is not None else ""
    if suffix not in ("", "txt", "md", Format.JSON, Format.CSV):
        raise InvalidInput(f"{output} ends in .{suffix}; name a .json, .csv or .txt file, or say --format.")
    return Format(suffix) if suffix in (Format.JSON, Format.CSV) else Format.TABLE


def write_text(text: str, output: Path | None) -> None:
    """Print text, or write it to a file."""
    if output is None:
        typer.echo(text.rstrip("\n"))
        return
    write_atomically((text.rstrip("\n") + "\n").encode(), output)
    typer.echo(f"Wrote {output}.", err=True)


def write_chunks(chunks: Iterable[str], output: Path | None) -> None:
    """Print text as it is made, or write it to a file."""
    if output is None:
        for chunk in chunks:
            typer.echo(chunk, nl=False)
        return
    write_atomically((chunk.encode() for chunk in chunks), output)
    typer.echo(f"Wrote {output}.", err=True)


def format_rows(kind: Format, rows: Sequence[Row], columns: Sequence[str], *, name: str, if_empty: str) -> str:
    """Format rows as JSON under `name`, CSV, or a table; `if_empty` replaces an empty table."""
    if kind is Format.JSON:
        return json.dumps({"schema_version": 1, name: rows}, ensure_ascii=False, indent=2)
    if kind is Format.CSV:
        return _csv(rows, columns)
    lines = [columns, *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines) if rows else if_empty


def _cell(value: str | float | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else escape_unprintable(str("" if value is None else value))


def _csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    from dissensus.files.raw.table_stream import escape_formula

    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escape_formula(value) for name, value in row.items()} for row in rows)
    return out.getvalue()


def join_lists(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a table with the texts of each list in one cell, separated by |."""
    import polars as pl

    lists = [name for name, dtype in frame.schema.items() if dtype == pl.List(pl.String)]
    return frame.with_columns(pl.col(lists).list.join("|"))


def to_csv(frame: "pl.DataFrame", *, header: bool = True) -> str:
    """Format a table as CSV, with an apostrophe before text that spreadsheets take for a formula."""
    from dissensus.files.raw.table_stream import escape_formula, escape_formulas

    escaped, _ = escape_formulas(frame)
    return escaped.rename({name: str(escape_formula(name)) for name in escaped.columns}).write_csv(
        include_header=header
    )


def check_page_output(output: Path) -> None:
    """Refuse an output that is not an HTML file or not writable."""
    if output.suffix.lower() not in PAGE_SUFFIXES:
        raise InvalidInput(f"-o {output} is not an HTML page; name an .html file.")
    check_folder(output)


def check_figures_folder(folder: Path | None) -> None:
    """Refuse a folder that cannot be created; remove it again, so that an interrupted command leaves none behind."""
    if folder is None:
        return
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder("--figures", folder)
    for path in missing:
        path.rmdir()


def make_folder(option: str, folder: Path) -> None:
    """Create the folder that an option names."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{option} {folder} cannot be a folder: {error.strerror}. Name another one.") from None


def write_figures(figures: Sequence["Figure"], folder: Path) -> None:
    """Write each figure in all formats."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        for kind in KINDS:
            write_atomically(figure.render(kind), folder / f"{figure.name}.{kind}")
    typer.echo(f"Wrote {count_noun(len(figures), 'figure')} to {folder}, each as .svg, .png, .pdf and .json.", err=True)


def write_pages(pages: Sequence[Page], output: Path | None) -> None:
    """Write pages to a file, or print them, as wrapped tables on a terminal."""
    if output is not None or not sys.stdout.isatty():
        write_text("\n\n\n".join(page.as_text() for page in pages), output)
        return
    for page in pages:
        _print_page(page)


def _print_page(page: Page) -> None:
    # Imported here, since most output goes to files and pipes.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    tables = []
    for grid in page.grids:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False)
        table.add_column(Text(grid.head[0], style="bold"), overflow="fold", min_width=10)
        for heading in grid.head[1:]:
            table.add_column(Text(heading.replace(" ", "\n")), justify="right", no_wrap=True)
        for line in grid.lines:
            table.add_row(*map(Text, line))
        tables.append((table, grid.caption))
    print_tables(Console(highlight=False), page.summary, tables, page.notes, plain=page.as_text())


def print_tables(
    console: "Console", summary: str, tables: Sequence[tuple["Table", str]], notes: Iterable[str], *, plain: str
) -> None:
    """Print tables with captions between a summary and notes, or `plain` if the terminal would cut numbers."""
    from rich.measure import Measurement
    from rich.text import Text

    wide = console.options.update(width=10_000)
    if any(Measurement.get(console, wide, table).minimum > console.width for table, _ in tables):
        typer.echo(plain)
        return
    console.print(Text(summary))
    for table, caption in tables:
        console.print(table)
        if caption:
            console.print(Text(caption + "\n", style="italic"))
    for note in notes:
        console.print(Text(note, style="dim"))


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """Show a progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(job, completed=share)
