"""`dissensus jury`: its commands in the order in which `--help` lists them."""

from typing import Final

import typer

from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "train": LazyCommand(
        "dissensus.cli.jury.train",
        "train",
        "Train a model of the answers of people to texts, by group, and write it as a folder with its card.",
    ),
    "evaluate": LazyCommand(
        "dissensus.cli.jury.evaluate",
        "evaluate",
        "Measure predicted answers on conversations held out of training, by group and beside models that know less.",
    ),
    "predict": LazyCommand(
        "dissensus.cli.jury.predict",
        "predict",
        "Predict how each group would answer about texts, and the verdicts of a jury.",
    ),
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    no_args_is_help=True,
    help="Predict how given people would answer about texts that nobody has rated, and compose juries of them.",
)
