"""`dissensus serve`: web server of the platform."""

from typing import Annotated, Any

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings
from dissensus.settings import load_secret_key
from dissensus.web.core import server
from dissensus.workflows.platform.schema import prepare_schema


def serve(
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Where to listen.", show_default="127.0.0.1")] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=0, max=65535, help="Port; 0 takes any free one.", show_default="8000"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=64, help="Processes that answer.", show_default="1")
    ] = None,
    settings: SettingsOption = None,
) -> None:
    """Serve the site until it is interrupted; what is under way then is finished.

    Options stand above the environment (DISSENSUS_PORT …), and that above the file. A blank SQLite database gets its
    tables. Each request writes one line of JSON, without addresses and ids.

    Example: dissensus serve --port 8000 --workers 2
    """
    given: dict[str, Any] = {"host": host, "port": port, "workers": workers}
    known = load_settings(settings)
    chosen = known.model_copy(update={name: one for name, one in given.items() if one is not None})
    prepare_schema(chosen.database_url)
    secret = load_secret_key(chosen)

    def ready(held: int) -> None:
        address = chosen.model_copy(update={"port": held}).address
        # Other commands do not know the options of this one.
        told = "" if address == known.address else f"DISSENSUS_BASE_URL={address} "
        typer.echo(f"Dissensus is at {address}. For a link to sign in: {told}dissensus sign-in NAME", err=True)

    server.serve(chosen, secret, ready=ready)
    typer.echo("Stopped.", err=True)
