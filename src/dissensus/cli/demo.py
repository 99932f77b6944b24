"""`dissensus demo`: the whole way on real ratings where they are, else on a simulated campaign."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dissensus.schema.ratings import Ratings

DATA = "DISSENSUS_DATA"


def demo(
    once: Annotated[bool, typer.Option("--once", help="End when the report is written, as this version does.")] = False,  # noqa: ARG001
    dir: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where the report goes.")] = Path("dissensus-demo"),  # noqa: A002 - the option's name
) -> None:
    """Analyse real ratings where DISSENSUS_DATA has them, else a small simulated campaign, and write a report.

    Example: dissensus demo --once
    """
    from dissensus.cli.analyse import show
    from dissensus.cli.writing import make_folder, progress, write
    from dissensus.report import build

    make_folder("--dir", dir)
    ratings, real = _ratings()
    with progress("Analysing") as report:
        made = build(ratings, exclude_flagged=real, text=False, progress=report)
    if sys.stdout.isatty():
        show(made.analysis)
    else:
        typer.echo(str(made.analysis))
    write(made.to_html(), dir / "report.html")
    typer.echo(f"Open {dir / 'report.html'} in a browser: everything that these ratings tell, as one page.")


def _ratings() -> "tuple[Ratings, bool]":
    """Return ratings to show, and whether they are real; say which, and how to do the same by hand."""
    from dissensus.files.ratings import read_ratings
    from dissensus.pipeline.simulate import simulate_ratings

    folder = os.environ.get(DATA)
    path = Path(folder) / "dices-350" if folder else None
    if path is None or not (path / "ratings.csv").exists():
        typer.echo(f"{DATA} names no folder with dices-350/ratings.csv, so here is a simulated campaign")
        typer.echo("in which each age group sees something of its own in an item.\n")
        return simulate_ratings(n_items=120, raters_per_cell=10, group_sd=0.5, seed=1), False
    items = path / "items.csv"
    joined = f' --items "${DATA}/dices-350/items.csv"' if items.exists() else ""
    typer.echo("DICES-350, without the raters that its authors removed. The same by hand:")
    typer.echo(f'  dissensus report "${DATA}/dices-350/ratings.csv"{joined} --exclude-flagged --no-text\n')
    return read_ratings(path / "ratings.csv", items=items if items.exists() else None), True
