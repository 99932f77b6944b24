"""`dissensus demo`: a small campaign through every stage on this machine, then the site."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.demo.activity import show_activity
from dissensus.extras import check_extra


def demo(
    once: Annotated[bool, typer.Option("--once", help="Exit after the export and the report are written.")] = False,
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="Port of the site.")] = 8000,
    dir: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Output folder.")] = Path("dissensus-demo"),  # noqa: A002 - the option's name
    items: Annotated[int, typer.Option(metavar="N", min=2, max=350, help="Conversations to rate.")] = 24,
    raters: Annotated[int, typer.Option(metavar="N", min=3, max=123, help="Raters who take part.")] = 24,
) -> None:
    """Run a small campaign through every stage: simulated raters take part over HTTP; then export, report and the site.

    One of them withdraws, simulated experts label the items, a simulated owner decides about flagged raters,
    others talk with scripted chatbots, ratings and conversations go through the gate of a release, and the audit log
    is verified.
    All data are simulated, with the differences between groups of DICES-350. Files of an earlier demo in DIR are
    replaced.

    Example: dissensus demo --once
    """
    check_extra("site", "dissensus demo")
    typer.echo(
        f"A small campaign in seven stages, about two minutes; its files are written to {dir}. "
        "All people are simulated."
    )
    with show_activity("Loading the libraries"):
        # Imported here, so that --help does not import polars.
        from dissensus.cli.demo.stages import run_demo

    run_demo(dir, once=once, port=port, items=items, raters=raters)
