"""`dissensus sign-in`: a way in for staff."""

from typing import Annotated

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, now, opened


def sign_in(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whom the link signs in, be they new or known.")],
    sign_out: Annotated[
        bool, typer.Option("--sign-out", help="End all their sessions and take back their links instead.")
    ] = False,
    settings: SettingsOption = None,
) -> None:
    """Print a link that signs somebody of the staff in, once and within 15 minutes.

    Example: dissensus sign-in ada
    """
    from dissensus.workflows.platform import staff

    chosen = load_settings(settings)
    with opened(chosen, old=sign_out) as platform:
        if sign_out:
            ended = staff.sign_out_everywhere(platform, name)
            typer.echo(f"{name.strip()} is signed out; sessions ended: {ended:,}.")
            return
        link = staff.create_sign_in_link(platform, name, now=now())
    if link.new:
        typer.echo(f"{link.staff.name} is known now.", err=True)
    typer.echo(f"{chosen.address}/sign-in/{link.key}")
