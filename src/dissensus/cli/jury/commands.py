"""Subcommands of `dissensus jury`, in the order in which `--help` lists them."""

from typing import Final

import typer

from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "train": LazyCommand(
        "dissensus.cli.jury.train",
        "train",
        "Train a model that predicts the answers of groups of raters to texts, and write it as a folder with its card.",
    ),
    "evaluate": LazyCommand(
        "dissensus.cli.jury.evaluate",
        "evaluate",
        "Measure predicted answers on conversations held out of training, by group, compared with baseline models.",
    ),
    "predict": LazyCommand(
        "dissensus.cli.jury.predict",
        "predict",
        "Predict how each group would answer about texts, and the verdicts of a jury.",
    ),
}

app = typer.Typer(cls=lazy_group(COMMANDS), no_args_is_help=True)
