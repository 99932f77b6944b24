"""The `dissensus` program: its commands in the order in which `--help` lists them."""

from typing import Annotated, Final

import typer

import dissensus
from dissensus.cli.coercion import install_plain_coercion
from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "analyse": LazyCommand(
        "dissensus.cli.analyse", "analyse", "Measure agreement within and between groups of raters."
    ),
    "report": LazyCommand(
        "dissensus.cli.report",
        "report",
        "Write an HTML report of all that the ratings support: raters, items, agreement, groups, experts.",
    ),
    "aggregate": LazyCommand(
        "dissensus.cli.aggregate",
        "aggregate",
        "Aggregate the answers of raters into labels of items, of the whole pool or of each group.",
    ),
    "model": LazyCommand(
        "dissensus.cli.model",
        "model",
        "Fit a multilevel model of ordered answers: effects of groups, with random effects of raters and items.",
    ),
    "gold": LazyCommand(
        "dissensus.cli.gold",
        "gold",
        "Compare expert labels with the majority of all raters, or of each group.",
    ),
    "benchmark": LazyCommand(
        "dissensus.cli.score.benchmark",
        "benchmark",
        "Score chatbots, guards and classifiers against each group of raters, beside human ceilings.",
    ),
    "judge": LazyCommand(
        "dissensus.cli.judge.commands",
        "app",
        "Let language models answer a questionnaire as raters of their own kind, and audit them against people.",
    ),
    "jury": LazyCommand(
        "dissensus.cli.jury.commands",
        "app",
        "Predict how groups of raters would answer about texts that nobody has rated, and simulate juries.",
    ),
    "vet": LazyCommand(
        "dissensus.cli.vet",
        "vet",
        "Compute evidence on the care of each rater, and flag raters by stated criteria; nobody is removed.",
    ),
    "curate": LazyCommand(
        "dissensus.cli.curate",
        "curate",
        "Draw a stratified sample of conversations, with screens and a reproducible plan.",
    ),
    "validate": LazyCommand(
        "dissensus.cli.validate",
        "validate",
        "Check files, and list all faults: location, value, allowed values, remedy.",
    ),
    "convert": LazyCommand("dissensus.cli.convert", "convert", "Convert a file of one kind to another."),
    "plan": LazyCommand(
        "dissensus.cli.plan.commands", "app", "Plan raters, items and money of a campaign before its first answer."
    ),
    "simulate": LazyCommand(
        "dissensus.cli.simulate",
        "simulate",
        "Simulate a campaign with known effects, in the schema of an official DICES file.",
    ),
    "compile": LazyCommand(
        "dissensus.cli.compile",
        "compile_kernels",
        "Compile the kernels of analyses, reports and models, and keep them for all later commands.",
    ),
    "fetch": LazyCommand("dissensus.cli.fetch", "fetch", "Download a public data set from its authors, and check it."),
    "chat": LazyCommand(
        "dissensus.cli.chat",
        "chat",
        "Talk with a chatbot: each line is a turn; the end of input ends the conversation.",
    ),
    "demo": LazyCommand(
        "dissensus.cli.demo.commands",
        "demo",
        "Run a small campaign through every stage: simulated raters take part over HTTP; then export, report and the "
        "site.",
    ),
    "serve": LazyCommand(
        "dissensus.cli.platform.serve",
        "serve",
        "Serve the site until interrupted; requests in progress are completed.",
    ),
    "work": LazyCommand(
        "dissensus.cli.platform.work", "work", "Run the background jobs of the site until interrupted."
    ),
    "sign-in": LazyCommand(
        "dissensus.cli.platform.sign_in",
        "sign_in",
        "Print a sign-in link for a staff member; it works once, within 15 minutes.",
    ),
    "export": LazyCommand(
        "dissensus.cli.platform.export",
        "export",
        "Export the finished ratings or conversations of a campaign, as internal data that is not for publication.",
    ),
    "release": LazyCommand(
        "dissensus.cli.platform.release",
        "release",
        "Write a public dataset with its documents, if it passes every check of the gate.",
    ),
    "diff": LazyCommand(
        "dissensus.cli.diff",
        "diff",
        "Show what changed between two releases: raters, items, columns, answers, agreement, pairs, attempts.",
    ),
    "audit": LazyCommand(
        "dissensus.cli.platform.audit",
        "audit",
        "Verify the audit log of a campaign, and the tables that must agree with it; exits with 1 on a fault.",
    ),
    "backup": LazyCommand(
        "dissensus.cli.platform.backup",
        "backup",
        "Write a consistent copy of the database to a file; the site may keep running.",
    ),
    "restore": LazyCommand(
        "dissensus.cli.platform.backup",
        "restore",
        "Restore a backup into an empty database, all or nothing; also from SQLite to PostgreSQL and back.",
    ),
    "campaign": LazyCommand(
        "dissensus.cli.platform.campaign", "app", "Create and manage campaigns: definitions, items, states, links."
    ),
    "preference": LazyCommand(
        "dissensus.cli.preference.commands",
        "app",
        "Train, evaluate and use models of the responses that people choose.",
    ),
    "staff": LazyCommand(
        "dissensus.cli.platform.staff", "app", "Manage members of campaigns, their roles, passwords and API tokens."
    ),
    "prolific": LazyCommand("dissensus.cli.platform.prolific", "app", "Recruit raters on Prolific for a campaign."),
    "db": LazyCommand("dissensus.cli.platform.db", "app", "Create, upgrade and check the tables of the database."),
}

install_plain_coercion()
app = typer.Typer(
    name="dissensus",
    cls=lazy_group(COMMANDS),
    help="Collect, measure and publish how different people judge the safety of conversational AI.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode="rich",
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"dissensus {dissensus.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
