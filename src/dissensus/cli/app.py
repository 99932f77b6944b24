"""The `dissensus` program: its commands in the order in which `--help` lists them."""

from typing import Annotated, Final

import typer

import dissensus
from dissensus.cli.lazy_group import LazyCommand, lazy_group

COMMANDS: Final = {
    "analyse": LazyCommand(
        "dissensus.cli.analyse", "analyse", "Measure agreement within and between groups of raters."
    ),
    "report": LazyCommand(
        "dissensus.cli.report",
        "report",
        "Make one page of everything that the ratings support: who rated what, agreement, groups, experts, raters.",
    ),
    "aggregate": LazyCommand(
        "dissensus.cli.aggregate",
        "aggregate",
        "Turn the answers of raters into labels of items, of the whole pool or of each group.",
    ),
    "gold": LazyCommand(
        "dissensus.cli.platform.gold",
        "gold",
        "Compare what experts call unsafe with what most raters, or most of each group, do.",
    ),
    "vet": LazyCommand(
        "dissensus.cli.vet",
        "vet",
        "Gather evidence on the care of each rater, and flag by stated criteria; nobody is left out.",
    ),
    "curate": LazyCommand(
        "dissensus.cli.curate",
        "curate",
        "Draw a stratified sample of conversations, screened and by a plan that can be repeated.",
    ),
    "validate": LazyCommand(
        "dissensus.cli.validate",
        "validate",
        "Name everything that is wrong with files: where, what, what is allowed, what to do.",
    ),
    "convert": LazyCommand("dissensus.cli.convert", "convert", "Turn a file of one kind into a file of another."),
    "simulate": LazyCommand(
        "dissensus.cli.simulate",
        "simulate",
        "Draw a campaign with known effects, in the schema of an official DICES file.",
    ),
    "fetch": LazyCommand("dissensus.cli.fetch", "fetch", "Download a public data set from its authors, and check it."),
    "chat": LazyCommand(
        "dissensus.cli.chat", "chat", "Talk with a chatbot: a line is a turn, and the end of the input ends it."
    ),
    "demo": LazyCommand(
        "dissensus.cli.demo",
        "demo",
        "Run a small campaign through every stage: simulated raters take part over HTTP; then export, report and the "
        "site.",
    ),
    "serve": LazyCommand(
        "dissensus.cli.platform.serve",
        "serve",
        "Serve the site until it is interrupted; what is under way then is finished.",
    ),
    "work": LazyCommand(
        "dissensus.cli.platform.work", "work", "Do what runs beside the site, until it is interrupted."
    ),
    "sign-in": LazyCommand(
        "dissensus.cli.platform.sign_in",
        "sign_in",
        "Print a link that signs somebody of the staff in, once and within 15 minutes.",
    ),
    "export": LazyCommand(
        "dissensus.cli.platform.export",
        "export",
        "Write the finished ratings of a campaign, or its conversations, as internal data that is not for publication.",
    ),
    "audit": LazyCommand(
        "dissensus.cli.platform.audit",
        "audit",
        "Verify the chain of events of a campaign, and what must agree with it; exits with 1 where something is wrong.",
    ),
    "backup": LazyCommand(
        "dissensus.cli.platform.backup",
        "backup",
        "Write the whole database to a file, as it is at one moment; the site may go on meanwhile.",
    ),
    "restore": LazyCommand(
        "dissensus.cli.platform.backup",
        "restore",
        "Write a backup into an empty database, all or nothing; SQLite and PostgreSQL take those of each other.",
    ),
    "campaign": LazyCommand(
        "dissensus.cli.platform.campaign", "app", "Set up campaigns, and take them through their lives."
    ),
    "preference": LazyCommand(
        "dissensus.cli.preference.commands", "app", "Train, evaluate and use models of which answers people choose."
    ),
    "staff": LazyCommand("dissensus.cli.platform.staff", "app", "Say who belongs to a campaign, and in which role."),
    "prolific": LazyCommand("dissensus.cli.platform.prolific", "app", "Send raters from Prolific to a campaign."),
    "db": LazyCommand("dissensus.cli.platform.db", "app", "Make, upgrade and check the tables of the database."),
}

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


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dissensus {dissensus.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
