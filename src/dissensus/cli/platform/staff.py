"""`dissensus staff`: campaign members, roles, passwords and API tokens."""

import json
import shlex
import sys
from datetime import timedelta
from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.cli.result_writer import FormatOption, OutputOption
from dissensus.schema.campaign.roles import ROLES, parse_role
from dissensus.schema.hints import format_list
from dissensus.web.core.permissions import SCOPES
from dissensus.workflows.campaign import members, overview
from dissensus.workflows.platform import api_tokens, directory, passwords, second_factors, security_log, staff

app = typer.Typer(no_args_is_help=True)

PersonArgument = Annotated[str, typer.Argument(metavar="PERSON", help="Name of a staff member.")]
RoleOption = Annotated[str, typer.Option(metavar="ROLE", help=f"Role in the campaign: {format_list(ROLES)}.")]
COLUMNS = ("campaign", "person", "role", "since")
TOKEN_COLUMNS = ("name", "scopes", "ends", "used")


@app.command("list")
def list_(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The campaign. Default: all.")] = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """List the members of a campaign, or all staff with their campaigns.

    Example: dissensus staff list pilot --format json
    """
    kind = result_writer.choose_format(format, output)
    with open_site_platform(load_settings(settings)) as platform:
        memberships = members.list_memberships(platform, name)
    rows = [
        dict(
            zip(
                COLUMNS,
                (membership.campaign, membership.person, membership.role, membership.since.date().isoformat()),
                strict=True,
            )
        )
        for membership in memberships
    ]
    if_empty = "There are no staff. Add a person: dissensus sign-in NAME"
    result_writer.write_text(result_writer.format_rows(kind, rows, COLUMNS, name="staff", if_empty=if_empty), output)


@app.command("add")
def add(name: NameArgument, person: PersonArgument, role: RoleOption, settings: SettingsOption = None) -> None:
    """Add a member to a campaign; a new person is added to the staff.

    Example: dissensus staff add pilot grace --role analyst
    """
    parsed_role = parse_role(role)
    with open_site_platform(load_settings(settings)) as platform:
        members.add_member(
            platform, name, person, parsed_role, staff_id=overview.find_owner_id(platform, name), now=utc_now()
        )
    command = f"dissensus sign-in {shlex.quote(person.strip())}"
    typer.echo(f"{person.strip()} is a member of {name}, as {parsed_role}. For a link to sign in: {command}")


@app.command("invite")
def invite(name: NameArgument, role: RoleOption, settings: SettingsOption = None) -> None:
    """Print an invitation link to a campaign, valid once and for 7 days.

    Example: dissensus staff invite pilot --role expert
    """
    parsed_role, site_settings = parse_role(role), load_settings(settings)
    with open_site_platform(site_settings) as platform:
        key = members.create_member_invitation(
            platform, name, parsed_role, staff_id=overview.find_owner_id(platform, name), now=utc_now()
        )
    typer.echo(f"{site_settings.address}/join/{key}")


@app.command("role")
def change_role(
    name: NameArgument,
    person: PersonArgument,
    role: Annotated[str, typer.Argument(metavar="ROLE", help=f"{format_list(ROLES)}.")],
    settings: SettingsOption = None,
) -> None:
    """Change the role of a member; the last owner cannot be changed.

    Example: dissensus staff role pilot grace owner
    """
    parsed_role = parse_role(role)
    with open_site_platform(load_settings(settings)) as platform:
        members.change_role(
            platform, name, person, parsed_role, staff_id=overview.find_owner_id(platform, name), now=utc_now()
        )
    typer.echo(f"{person.strip()} is a member of {name}, as {parsed_role}.")


@app.command("remove")
def remove(name: NameArgument, person: PersonArgument, settings: SettingsOption = None) -> None:
    """Remove a member from a campaign at once; the last owner cannot be removed.

    Example: dissensus staff remove pilot grace
    """
    with open_site_platform(load_settings(settings)) as platform:
        members.remove_member(platform, name, person, staff_id=overview.find_owner_id(platform, name), now=utc_now())
    typer.echo(f"{person.strip()} is no longer a member of {name}.")


@app.command("password")
def password(person: PersonArgument, settings: SettingsOption = None) -> None:
    """Set a person's password, and end all their sessions. It is prompted for, or read from a pipe as one line.

    Example: dissensus staff password ada
    """
    site_settings = load_settings(settings)
    with open_site_platform(site_settings) as platform:
        hasher = passwords.make_hasher(
            passes=site_settings.password_passes, memory_mib=site_settings.password_memory_mib
        )
        ended = passwords.set_password_for(platform, hasher, person, _read_password(), now=utc_now())
    typer.echo(f"The password of {person.strip()} is set; sessions ended: {ended:,}.")


@app.command("remove-second-factor")
def remove_second_factor(person: PersonArgument, settings: SettingsOption = None) -> None:
    """Remove all second factors of a person who lost them, passkeys too, and end all their sessions.

    Example: dissensus staff remove-second-factor ada
    """
    with open_site_platform(load_settings(settings)) as platform:
        removed = second_factors.remove_second_factors_for(platform, person, now=utc_now())
    statement = "has no second factor any more" if removed else "had no second factor"
    typer.echo(f"{person.strip()} {statement}, and is signed out.")


@app.command("operator")
def operator(
    person: PersonArgument,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take the right away.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Let a person see all staff accounts at /directory, and disable them.

    Example: dissensus staff operator ada
    """
    with open_site_platform(load_settings(settings)) as platform:
        directory.set_operator(platform, person, operator=not revoke, now=utc_now())
    typer.echo(f"{person.strip()} is {'no operator any more' if revoke else 'an operator'}.")


@app.command("disable")
def disable(
    person: PersonArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Enable the account again.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Disable an account: its sessions and links end, and neither it nor its API tokens are admitted.

    Example: dissensus staff disable grace
    """
    with open_site_platform(load_settings(settings)) as platform:
        change = directory.enable_account if undo else directory.disable_account
        change(platform, person, now=utc_now())
    typer.echo(f"The account of {person.strip()} is {'enabled' if undo else 'disabled'}.")


@app.command("log")
def log(
    person: Annotated[str | None, typer.Argument(metavar="[PERSON]", help="Name of a person. Default: all.")] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Number of days to look back.")] = 30,
    settings: SettingsOption = None,
) -> None:
    """Print the security log as JSON lines: sign-ins, failures, credentials, tokens and roles of staff.

    Example: dissensus staff log ada --days 7
    """
    with open_site_platform(load_settings(settings)) as platform:
        events = security_log.list_security_events(platform, person=person, since=utc_now() - timedelta(days=days))
    for event in events:
        line = {
            "at": event.at.isoformat(timespec="seconds"),
            "kind": event.kind,
            "person": event.person,
            "network": event.network,
            **event.content,
        }
        typer.echo(json.dumps(line, ensure_ascii=False))


@app.command("email")
def email(
    person: PersonArgument,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="E-mail address; '' for none.")],
    settings: SettingsOption = None,
) -> None:
    """Set the e-mail address that gets mails about changed credentials, and identifies a person to an OpenID provider.

    Example: dissensus staff email ada ada@example.org
    """
    with open_site_platform(load_settings(settings)) as platform:
        staff.set_email(platform, person, address, now=utc_now())
    has = f"the e-mail address {address.strip().casefold()}" if address.strip() else "no e-mail address"
    typer.echo(f"{person.strip()} has {has}.")


@app.command("token")
def token(
    person: PersonArgument,
    scope: Annotated[
        list[str] | None, typer.Option(metavar="SCOPE", help="Scope of the token, such as export; repeatable.")
    ] = None,
    days: Annotated[int, typer.Option(help="Lifetime in days, up to 365.")] = 30,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the token, unique for the person.")] = "",
    settings: SettingsOption = None,
) -> None:
    """Print an API token with the permissions of a person; it is shown only once.

    Example: dissensus staff token ada --scope export --scope see --days 30
    """
    api_tokens.check_scopes(scope or [], SCOPES)
    now = utc_now()
    token_name = name or f"command line, {now:%Y-%m-%d %H:%M:%S}"
    with open_site_platform(load_settings(settings)) as platform:
        key, created = api_tokens.create_token_for(platform, person, token_name, scopes=scope or [], days=days, now=now)
    statement = f"Its name is {shlex.quote(created.name)}, and it expires on {created.expires_at:%Y-%m-%d}."
    typer.echo(
        f"{statement} To revoke it: dissensus staff revoke {shlex.quote(person)} {shlex.quote(created.name)}", err=True
    )
    typer.echo(key)


@app.command("tokens")
def tokens(
    person: PersonArgument,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """List the valid tokens of a person, without their keys, which are not stored.

    Example: dissensus staff tokens ada --format json
    """
    kind = result_writer.choose_format(format, output)
    with open_site_platform(load_settings(settings)) as platform:
        active_tokens = api_tokens.list_tokens_for(platform, person, now=utc_now())
    rows = [
        {
            "name": token.name,
            "scopes": " ".join(sorted(token.scopes)),
            "ends": token.expires_at.date().isoformat(),
            "used": token.used_at.date().isoformat() if token.used_at else None,
        }
        for token in active_tokens
    ]
    if_empty = f"{person.strip()} has no token. Create one: dissensus staff token {shlex.quote(person)} --scope export"
    result_writer.write_text(
        result_writer.format_rows(kind, rows, TOKEN_COLUMNS, name="tokens", if_empty=if_empty), output
    )


@app.command("revoke")
def revoke(
    person: PersonArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the token, as `staff tokens` lists it.")],
    settings: SettingsOption = None,
) -> None:
    """Revoke a token of a person at once.

    Example: dissensus staff revoke ada nightly
    """
    with open_site_platform(load_settings(settings)) as platform:
        api_tokens.revoke_token_for(platform, person, name, now=utc_now())
    typer.echo(f"The token {name.strip()} of {person.strip()} is revoked.")


def _read_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    new_password: str = typer.prompt("New password", hide_input=True, confirmation_prompt="Repeat it", err=True)
    return new_password
