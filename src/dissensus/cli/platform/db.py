"""`dissensus db`: schema of the database."""

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings
from dissensus.workflows.platform import schema

app = typer.Typer(help="Make, upgrade and check the tables of the database.", no_args_is_help=True)


@app.command("upgrade")
def upgrade(settings: SettingsOption = None) -> None:
    """Make the tables of a blank database, or bring those there up to date; all or nothing.

    Back up first.

    Example: dissensus db upgrade
    """
    done = schema.upgrade_schema(load_settings(settings).database_url)
    if done.before == done.after:
        typer.echo(f"The database is up to date, at revision {done.after}.")
    else:
        typer.echo(f"The database went from {done.before or 'blank'} to revision {done.after}.")


@app.command("check")
def check(settings: SettingsOption = None) -> None:
    """Tell whether this version can work with the database; ends with 1 if it cannot.

    Example: dissensus db check
    """
    revision = schema.check_schema(load_settings(settings).database_url)
    typer.echo(f"The database is up to date, at revision {revision}.")
