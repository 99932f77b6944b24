"""`dissensus demo`: a small campaign through every stage on this machine, then the site."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    once: Annotated[bool, typer.Option("--once", help="End when export and report are written.")] = False,
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="Where the site listens.")] = 8000,
    dir: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where everything goes.")] = Path("dissensus-demo"),  # noqa: A002 - the option's name
    items: Annotated[int, typer.Option(metavar="N", min=2, max=350, help="Conversations to rate.")] = 24,
    raters: Annotated[int, typer.Option(metavar="N", min=3, max=123, help="Raters who take part.")] = 24,
) -> None:
    """Run a small campaign through every stage: simulated raters take part over HTTP; then export, report and the site.

    One of them withdraws, simulated experts label what is rated, a simulated owner decides about raters who are
    flagged, others talk with scripted chatbots, and the log of it all is verified. Nothing of it is real:
    conversations, people and answers are drawn, with the differences between groups that DICES-350 has. What an earlier
    demo left in DIR is replaced.

    Example: dissensus demo --once
    """
    # Imported when it is called, so that --help loads no tables.
    from dissensus.cli.demo_stages import run_demo

    run_demo(dir, once=once, port=port, items=items, raters=raters)
