"""`dissensus staff`: campaign members, roles, passwords and API tokens."""

import shlex
import sys
from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.cli.result_writer import FormatOption, OutputOption
from dissensus.schema.campaign.roles import parse_role
from dissensus.web.core.permissions import SCOPES
from dissensus.workflows.campaign import members, overview
from dissensus.workflows.platform import api_tokens, passwords, staff
from dissensus.workflows.platform.platform import Platform

app = typer.Typer(help="Say who belongs to a campaign, and in which role.", no_args_is_help=True)

PersonArgument = Annotated[str, typer.Argument(metavar="PERSON", help="Somebody of the staff, by their name.")]
RoleOption = Annotated[
    str, typer.Option(metavar="ROLE", help="What they are in the campaign: owner, analyst, expert or reviewer.")
]
COLUMNS = ("campaign", "person", "role", "since")
TOKEN_COLUMNS = ("name", "scopes", "ends", "used")


@app.command("list")
def list_(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The campaign. Default: all.")] = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """List who belongs to a campaign or to any, and who to none.

    Example: dissensus staff list pilot --format json
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        found = members.list_memberships(platform, name)
    rows = [
        dict(zip(COLUMNS, (one.campaign, one.person, one.role, one.since.date().isoformat()), strict=True))
        for one in found
    ]
    kind = result_writer.choose_format(format, output)
    none = "There is nobody. Make somebody: dissensus sign-in NAME"
    result_writer.write_text(result_writer.format_rows(kind, rows, COLUMNS, name="staff", none=none), output)


@app.command("add")
def add(name: NameArgument, person: PersonArgument, role: RoleOption, settings: SettingsOption = None) -> None:
    """Let somebody belong to a campaign; who is not known yet is then.

    Example: dissensus staff add pilot grace --role analyst
    """
    wanted = parse_role(role)
    with open_site_platform(load_settings(settings), old=True) as platform:
        members.add_member(platform, name, person, wanted, staff_id=_owner_id(platform, name), now=utc_now())
    way_in = f"dissensus sign-in {shlex.quote(person.strip())}"
    typer.echo(f"{person.strip()} belongs to {name} as {wanted}. For a link to sign in: {way_in}")


@app.command("invite")
def invite(name: NameArgument, role: RoleOption, settings: SettingsOption = None) -> None:
    """Print a link by which somebody comes to belong to a campaign, once and within 7 days.

    Example: dissensus staff invite pilot --role expert
    """
    wanted, chosen = parse_role(role), load_settings(settings)
    with open_site_platform(chosen, old=True) as platform:
        key = members.create_member_invitation(
            platform, name, wanted, staff_id=_owner_id(platform, name), now=utc_now()
        )
    typer.echo(f"{chosen.address}/join/{key}")


@app.command("role")
def change_role(
    name: NameArgument,
    person: PersonArgument,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="owner, analyst, expert or reviewer.")],
    settings: SettingsOption = None,
) -> None:
    """Change what somebody is in a campaign; its last owner stays one.

    Example: dissensus staff role pilot grace owner
    """
    wanted = parse_role(role)
    with open_site_platform(load_settings(settings), old=True) as platform:
        members.change_role(platform, name, person, wanted, staff_id=_owner_id(platform, name), now=utc_now())
    typer.echo(f"{person.strip()} belongs to {name} as {wanted}.")


@app.command("remove")
def remove(name: NameArgument, person: PersonArgument, settings: SettingsOption = None) -> None:
    """Let somebody not belong to a campaign any more, at once; its last owner stays.

    Example: dissensus staff remove pilot grace
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        members.remove_member(platform, name, person, staff_id=_owner_id(platform, name), now=utc_now())
    typer.echo(f"{person.strip()} does not belong to {name} any more.")


@app.command("password")
def password(person: PersonArgument, settings: SettingsOption = None) -> None:
    """Set somebody's password, and end all their sessions. It is asked for unseen, or read from a pipe as one line.

    Example: dissensus staff password ada
    """
    chosen = load_settings(settings)
    with open_site_platform(chosen, old=True) as platform:
        hasher = passwords.make_hasher(passes=chosen.password_passes, memory_mib=chosen.password_memory_mib)
        ended = passwords.set_password_for(platform, hasher, person, _read_password())
    typer.echo(f"The password of {person.strip()} is set; sessions ended: {ended:,}.")


@app.command("email")
def email(
    person: PersonArgument,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="By which the provider knows them; '' for none.")],
    settings: SettingsOption = None,
) -> None:
    """Set the e-mail address by which an OpenID provider tells who somebody is.

    Example: dissensus staff email ada ada@example.org
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        staff.set_email(platform, person, address)
    told = f"comes in by {address.strip().casefold()}" if address.strip() else "comes in by no provider any more"
    typer.echo(f"{person.strip()} {told}.")


@app.command("token")
def token(
    person: PersonArgument,
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="What it is for, such as export; may stand several times.")
    ] = None,
    days: Annotated[int, typer.Option(help="For how many days it is good, up to 365.")] = 30,
    name: Annotated[str, typer.Option(metavar="NAME", help="What it is called; somebody has each name once.")] = "",
    settings: SettingsOption = None,
) -> None:
    """Print a token by which programs do what somebody may; it is shown once.

    Example: dissensus staff token ada --scope export --scope see --days 30
    """
    api_tokens.check_scopes(scope or [], SCOPES)
    at = utc_now()
    called = name or f"command line, {at:%Y-%m-%d %H:%M:%S}"
    with open_site_platform(load_settings(settings), old=True) as platform:
        key, made = api_tokens.create_token_for(platform, person, called, scopes=scope or [], days=days, now=at)
    told = f"It is called {shlex.quote(made.name)}, and ends {made.expires_at:%Y-%m-%d}."
    typer.echo(f"{told} To revoke it: dissensus staff revoke {shlex.quote(person)} {shlex.quote(made.name)}", err=True)
    typer.echo(key)


@app.command("tokens")
def tokens(
    person: PersonArgument,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """List somebody's tokens that are good, without their keys, which are kept nowhere.

    Example: dissensus staff tokens ada --format json
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        found = api_tokens.list_tokens_for(platform, person, now=utc_now())
    rows = [
        {
            "name": one.name,
            "scopes": " ".join(sorted(one.scopes)),
            "ends": one.expires_at.date().isoformat(),
            "used": one.used_at.date().isoformat() if one.used_at else None,
        }
        for one in found
    ]
    kind = result_writer.choose_format(format, output)
    none = f"{person.strip()} has no token. Make one: dissensus staff token {shlex.quote(person)} --scope export"
    result_writer.write_text(result_writer.format_rows(kind, rows, TOKEN_COLUMNS, name="tokens", none=none), output)


@app.command("revoke")
def revoke(
    person: PersonArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the token, as `staff tokens` lists it.")],
    settings: SettingsOption = None,
) -> None:
    """End a token of somebody at once.

    Example: dissensus staff revoke ada nightly
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        api_tokens.revoke_token_for(platform, person, name, now=utc_now())
    typer.echo(f"The token {name.strip()} of {person.strip()} is revoked.")


def _read_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    told: str = typer.prompt("The new password", hide_input=True, confirmation_prompt="The same again", err=True)
    return told


def _owner_id(platform: Platform, name: str) -> str:
    """Return an owner of the campaign, on whose behalf the operator acts."""
    return overview.owner_id_of(platform, name)
