"""Subcommands of `dissensus judge`, in the order in which `--help` lists them."""

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
        "Allow, on behalf of its owner, the texts of a campaign to be sent to a model; the audit log records this.",
    ),
    "audit": LazyCommand(
        "dissensus.cli.judge.audit",
        "audit",
        "Audit a judge: consistency, effects of presentation, agreement with groups of raters, personas.",
    ),
}

app = typer.Typer(cls=lazy_group(COMMANDS), no_args_is_help=True)
