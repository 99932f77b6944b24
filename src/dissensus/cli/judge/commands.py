"""`dissensus judge`: its commands in the order in which `--help` lists them."""

from typing import Final

import typer

from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "run": LazyCommand(
        "dissensus.cli.judge.run", "run", "Let a language model answer the questionnaire of a campaign about items."
    ),
    "permit": LazyCommand(
        "dissensus.cli.judge.permit",
        "permit",
        "Permit as the owner that texts of a campaign are sent to a model; the log of the campaign has it.",
    ),
    "audit": LazyCommand(
        "dissensus.cli.judge.audit",
        "audit",
        "Audit a judge: consistency, effects of presentation, agreement with groups of raters, personas.",
    ),
}

app = typer.Typer(cls=lazy_group(COMMANDS), no_args_is_help=True)
"""Commands below `judge`."""
