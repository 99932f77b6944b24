"""Subcommands of `dissensus plan`, in the order in which `--help` lists them."""

from typing import Final

import typer

from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "groups": LazyCommand(
        "dissensus.cli.plan.groups",
        "groups",
        "Compute how many raters per group detect a difference between groups, with power and cost.",
    ),
    "precision": LazyCommand(
        "dissensus.cli.plan.precision",
        "precision",
        "Compute how precise shares, differences and labels of items are, by raters and ratings of an item.",
    ),
    "pool": LazyCommand(
        "dissensus.cli.plan.pool",
        "pool",
        "Compute how many people to invite so that every cell of a quota ends with enough raters.",
    ),
    "comparison": LazyCommand(
        "dissensus.cli.plan.comparison",
        "comparison",
        "Compute how many items and ratings of a response tell two chatbots apart under a budget.",
    ),
    "interim": LazyCommand(
        "dissensus.cli.plan.interim",
        "interim",
        "Compute intervals of a running campaign that hold at every look, and advise where to send the next ratings.",
    ),
}

app = typer.Typer(cls=lazy_group(COMMANDS), no_args_is_help=True)
