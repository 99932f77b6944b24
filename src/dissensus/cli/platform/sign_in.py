"""`dissensus sign-in`: sign-in links for staff."""

from typing import Annotated

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.workflows.platform import sessions, sign_in_links


def sign_in(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the person, new or existing.")],
    sign_out: Annotated[
        bool, typer.Option("--sign-out", help="End all their sessions and revoke their links instead.")
    ] = False,
    settings: SettingsOption = None,
) -> None:
    """Print a sign-in link for a staff member; it works once, within 15 minutes.

    Example: dissensus sign-in ada
    """
    site_settings = load_settings(settings)
    with open_site_platform(site_settings, create=not sign_out) as platform:
        if sign_out:
            ended = sessions.sign_out_everywhere(platform, name, now=utc_now())
            typer.echo(f"{name.strip()} is signed out; sessions ended: {ended:,}.")
            return
        link = sign_in_links.create_sign_in_link(platform, name, now=utc_now())
    if link.is_new:
        typer.echo(f"{link.staff.name} was added to the staff.", err=True)
    typer.echo(f"{site_settings.address}/sign-in/{link.key}")
