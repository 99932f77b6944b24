"""`dissensus preference`: its commands in the order in which `--help` lists them."""

from typing import Final

import typer

from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "train": LazyCommand(
        "dissensus.cli.preference.train",
        "train",
        "Train a model on pairs, or on what each person said of them, and write it as a folder with its card.",
    ),
    "evaluate": LazyCommand(
        "dissensus.cli.preference.evaluate",
        "evaluate",
        "Tell how often a model agrees with what people chose, and how well it knows.",
    ),
    "score": LazyCommand(
        "dissensus.cli.preference.score",
        "score",
        "Score what the bot says: in a file of attempts, or as csv with a row for each turn of other conversations.",
    ),
    "show": LazyCommand(
        "dissensus.cli.preference.show",
        "show",
        "Tell what a model is: its kind, what it was trained on, how often it was right, and its limits.",
    ),
    "rank": LazyCommand(
        "dissensus.cli.preference.rank",
        "rank",
        "Rank chatbots that people compared two at a time, by Bradley–Terry on the scale of Elo, and by Elo.",
    ),
    "serve": LazyCommand(
        "dissensus.cli.preference.serve",
        "serve",
        "Serve the scores of a model at /score until it is interrupted; /openapi.json describes it.",
    ),
    "register": LazyCommand(
        "dissensus.cli.preference.registry",
        "register",
        "Register a model without versions. Campaigns name it, and `dissensus preference retrain` trains its versions.",
    ),
    "retrain": LazyCommand(
        "dissensus.cli.preference.registry",
        "retrain",
        "Train the next version of a registered model on all comparisons of campaigns that name it, and of files.",
    ),
    "versions": LazyCommand(
        "dissensus.cli.preference.registry",
        "versions",
        "List the history of a registered model: versions, their accuracy and, as csv and json, why they came.",
    ),
    "rollback": LazyCommand(
        "dissensus.cli.preference.registry",
        "rollback",
        "Make an earlier version of a registered model current again; chatbots on it go on with that.",
    ),
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    no_args_is_help=True,
    help="Train, evaluate and use models of which answers people choose.",
)
