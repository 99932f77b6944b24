"""`dissensus serve`: web server of the platform."""

from typing import Annotated

import typer

from dissensus.cli.options import drop_unset
from dissensus.cli.platform.options import SettingsOption, load_settings, print_durability_risks
from dissensus.settings import load_secret_keys
from dissensus.web import server
from dissensus.workflows.platform.platform import prepare_schema


def serve(
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=0, max=65535, help="Port; 0 chooses a free one.", show_default="8000"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=64, help="Number of worker processes.", show_default="1")
    ] = None,
    settings: SettingsOption = None,
) -> None:
    """Serve the site until interrupted; requests in progress are completed.

    Options override the environment (DISSENSUS_PORT …), which overrides the file. A blank SQLite database gets its
    tables. Each request is logged as one line of JSON, without addresses and ids.

    Example: dissensus serve --port 8000 --workers 2
    """
    file_settings = load_settings(settings)
    site_settings = file_settings.model_copy(update=drop_unset(host=host, port=port, workers=workers))
    prepare_schema(site_settings.database_url)
    keys = load_secret_keys(site_settings)

    def ready(bound_port: int) -> None:
        address = site_settings.model_copy(update={"port": bound_port}).address
        # Other commands do not see the options of this one.
        variable = "" if address == file_settings.address else f"DISSENSUS_BASE_URL={address} "
        typer.echo(f"Dissensus is at {address}. For a link to sign in: {variable}dissensus sign-in NAME", err=True)
        print_durability_risks(site_settings.database_url)

    server.serve(site_settings, keys, ready=ready)
    typer.echo("Stopped.", err=True)
