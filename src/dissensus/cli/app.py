"""The commands together."""

from typing import Annotated

import typer

import dissensus
from dissensus.cli import aggregate, analyse, chat, convert, curate, demo, fetch, report, simulate, validate, vet
from dissensus.cli.platform import audit, backup, campaign, db, export, gold, prolific, serve, sign_in, staff, work
from dissensus.cli.preference import commands

app = typer.Typer(
    name="dissensus",
    help="Collect, measure and publish how different people judge the safety of conversational AI.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    rich_markup_mode="rich",
)
app.command("analyse")(analyse.analyse)
app.command("report")(report.report)
app.command("aggregate")(aggregate.aggregate)
app.command("gold")(gold.gold)
app.command("vet")(vet.vet)
app.command("curate")(curate.curate)
app.command("validate")(validate.validate)
app.command("convert")(convert.convert)
app.command("simulate")(simulate.simulate)
app.command("fetch")(fetch.fetch)
app.command("chat")(chat.chat)
app.command("demo")(demo.demo)
app.command("serve")(serve.serve)
app.command("work")(work.work)
app.command("sign-in")(sign_in.sign_in)
app.command("export")(export.export)
app.command("audit")(audit.audit)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.add_typer(campaign.app, name="campaign")
app.add_typer(commands.app, name="preference")
app.add_typer(staff.app, name="staff")
app.add_typer(prolific.app, name="prolific")
app.add_typer(db.app, name="db")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dissensus {dissensus.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass
