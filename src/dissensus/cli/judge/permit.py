"""`dissensus judge permit`: texts of a campaign may leave the machine."""

from typing import Annotated

import typer

from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.errors import InvalidInput
from dissensus.workflows.campaign import overview
from dissensus.workflows.judge.permission import permit_judge


def permit(
    name: NameArgument,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the model, as in its definition: its url.")
    ] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="Withdraw the permission.")] = False,
    plain_http: Annotated[
        bool, typer.Option("--plain-http", help="Allow http to another machine, on a private network.")
    ] = False,
    settings: SettingsOption = None,
) -> None:
    """Allow, on behalf of its owner, the texts of a campaign to be sent to a model; the audit log records this.

    One address at a time. A judge of kind local runs in this process and needs no permission; one of kind
    openai_compatible does, also on this machine.

    Example: dissensus judge permit pilot --url https://api.example.com/v1
    """
    if (url is None) == (not revoke):
        raise InvalidInput("Name the address, --url URL, or take the permission back, --revoke.")
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        permit_judge(platform, name, url, plain=plain_http, staff_id=staff_id, now=utc_now())
    typer.echo(f"Texts of {name} may be sent to {url}." if url else f"Texts of {name} stay on this machine.")
