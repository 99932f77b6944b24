"""`dissensus db`: schema of the database."""

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, print_durability_risks
from dissensus.workflows.platform.platform import check_schema, upgrade_schema

app = typer.Typer(no_args_is_help=True)


@app.command("upgrade")
def upgrade(settings: SettingsOption = None) -> None:
    """Create the tables of a blank database, or upgrade existing ones; all or nothing.

    Make a backup first.

    Example: dissensus db upgrade
    """
    result = upgrade_schema(load_settings(settings).database_url)
    if result.before == result.after:
        typer.echo(f"The database is up to date, at revision {result.after}.")
    else:
        typer.echo(f"The database went from {result.before or 'blank'} to revision {result.after}.")


@app.command("check")
def check(settings: SettingsOption = None) -> None:
    """Check that this version supports the database; exits with 1 if it does not.

    Example: dissensus db check
    """
    url = load_settings(settings).database_url
    revision = check_schema(url)
    typer.echo(f"The database is up to date, at revision {revision}.")
    print_durability_risks(url)
