"""Subcommands of `dissensus preference`, in the order in which `--help` lists them."""

from typing import Final

import typer

from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "train": LazyCommand(
        "dissensus.cli.preference.train",
        "train",
        "Train a model on pairs or on the preferences of each person, and write it as a folder with its card.",
    ),
    "evaluate": LazyCommand(
        "dissensus.cli.preference.evaluate",
        "evaluate",
        "Measure the agreement of a model with people, and its calibration.",
    ),
    "score": LazyCommand(
        "dissensus.cli.preference.score",
        "score",
        "Score the responses in a file of attempts, or those of other conversations as csv with a row for each turn.",
    ),
    "show": LazyCommand(
        "dissensus.cli.preference.show",
        "show",
        "Show the card of a model: its kind, training data, accuracy and limits.",
    ),
    "rank": LazyCommand(
        "dissensus.cli.preference.rank",
        "rank",
        "Rank chatbots from pairwise comparisons, by Bradley–Terry on the scale of Elo, and by Elo.",
    ),
    "serve": LazyCommand(
        "dissensus.cli.preference.serve",
        "serve",
        "Serve the scores of a model at /score until interrupted; /openapi.json describes the API.",
    ),
    "register": LazyCommand(
        "dissensus.cli.preference.registry",
        "register",
        "Register a model without versions. Campaigns name it, and `dissensus preference retrain` trains its versions.",
    ),
    "retrain": LazyCommand(
        "dissensus.cli.preference.registry",
        "retrain",
        "Train the next version of a registered model on all comparisons of the campaigns that use it, and of files.",
    ),
    "versions": LazyCommand(
        "dissensus.cli.preference.registry",
        "versions",
        "List the history of a registered model: versions, accuracy and, as csv and json, the reason of each entry.",
    ),
    "rollback": LazyCommand(
        "dissensus.cli.preference.registry",
        "rollback",
        "Make an earlier version of a registered model current again; chatbots that use the model switch to it.",
    ),
}

app = typer.Typer(cls=lazy_group(COMMANDS), no_args_is_help=True)
