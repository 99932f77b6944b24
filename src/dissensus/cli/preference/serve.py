"""`dissensus preference serve`: scoring service over HTTP."""

import os
from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.preference.options import SCORE_KEY
from dissensus.files.models.folder import load_any_model, read_identity
from dissensus.web.score_service import create_scoring_app
from dissensus.web.server import serve_app


def serve(
    model: Annotated[Path, typer.Option(metavar="DIR", help="Folder of a trained model.")],
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="Port; 0 chooses a free one.")] = 8001,
) -> None:
    """Serve the scores of a model at /score until interrupted; /openapi.json describes the API.

    If DISSENSUS_SCORE_KEY is set, requests must send it as a bearer token.

    Example: dissensus preference serve --model harmless-model --port 8001
    """
    trained, identity = load_any_model(model), read_identity(model)
    key = os.environ.get(SCORE_KEY, "")
    app = create_scoring_app(trained, identity, key=key)

    def ready(bound_port: int) -> None:
        address = f"[{host}]" if ":" in host else host
        typer.echo(f"{identity.name} ({trained.purpose}) scores at http://{address}:{bound_port}/score", err=True)
        if not key:
            typer.echo(f"Requests are not authenticated; to require a token, set {SCORE_KEY}.", err=True)

    serve_app(app, host, port, ready=ready)
    typer.echo("Stopped.", err=True)
