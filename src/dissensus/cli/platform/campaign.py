"""`dissensus campaign`: campaigns from draft to closed."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.campaign.opening import FIXED_PARTS, format_finding
from dissensus.campaign.planning import apply_plan, read_plan
from dissensus.cli import result_writer
from dissensus.cli.options import RenameOption
from dissensus.cli.platform import campaign_items, campaign_rules
from dissensus.cli.platform.definition import load_definition
from dissensus.cli.platform.options import (
    CellOption,
    NameArgument,
    SettingsOption,
    load_settings,
    open_site_platform,
    utc_now,
)
from dissensus.cli.ratings_options import split_renames
from dissensus.cli.result_writer import Format, FormatOption, OutputOption, Row
from dissensus.errors import Conflict, InvalidInput
from dissensus.files.item_import import read_renamed_items
from dissensus.files.pairs.items import reader_for
from dissensus.files.raw.atomic_write import check_folder
from dissensus.files.raw.content import read_text
from dissensus.schema.campaign.definition import Campaign, CampaignState, write_campaign
from dissensus.schema.campaign.shipped import rename_campaign
from dissensus.schema.hints import count_noun
from dissensus.workflows.campaign import campaign_deletion, campaigns, opening, overview
from dissensus.workflows.campaign.overview import CampaignListEntry
from dissensus.workflows.platform import staff
from dissensus.workflows.rater.invite_links import entry_links, personal_link_url

OtherNameOption = Annotated[str | None, typer.Option(metavar="NAME", help="Name to use instead of that in the file.")]

app = typer.Typer(no_args_is_help=True)
app.command("add-items")(campaign_items.add_items)
app.command("add-images")(campaign_items.add_images)
app.command("remove-items")(campaign_items.remove_items)
app.command("rehearse")(campaign_items.rehearse)
app.command("add-platinum")(campaign_items.add_platinum)
app.command("adopt-rule")(campaign_rules.adopt_rule)


@app.command("new")
def new(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Definition of a campaign as TOML, or the name of a shipped one, such as dices-350."
        ),
    ],
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Items: csv, jsonl, json, parquet, or pasted text as txt. None for campaigns with chats.",
        ),
    ] = None,
    rename: RenameOption = None,
    name: OtherNameOption = None,
    owner: Annotated[
        str | None, typer.Option(metavar="NAME", help="Owner of the campaign. Default: the only staff member.")
    ] = None,
    open_link: Annotated[
        bool,
        typer.Option("--open-link/--personal-links", help="Admit anybody by one open link, or by personal links only."),
    ] = True,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plan with the numbers of raters and ratings: dissensus plan … -o FILE."),
    ] = None,
    settings: SettingsOption = None,
) -> None:
    """Create a draft of a campaign with its items.

    Example: dissensus campaign new pilot.toml --items conversations.csv --owner ada
    """
    campaign = _load_renamed(file, name)
    campaign_plan = None if plan is None else read_plan(read_text(plan))
    if campaign_plan is not None:
        campaign = apply_plan(campaign, campaign_plan)
    if campaign.chat is not None and items is not None:
        raise InvalidInput(f"In {campaign.name} raters talk with chatbots and rate no items. Leave --items out.")
    contents, notes = (
        ((), ()) if items is None else read_renamed_items(items, reader_for(campaign), split_renames(rename))
    )
    for note in notes:
        typer.echo(f"Note: {note}", err=True)
    with open_site_platform(load_settings(settings), create=True) as platform:
        campaign_owner = staff.find_or_create_owner(platform, owner, now=utc_now())
        campaigns.create_campaign(
            platform,
            campaign,
            contents,
            staff_id=campaign_owner.id,
            open_link=open_link,
            plan=campaign_plan,
            now=utc_now(),
        )
    if campaign.chat is not None or contents:
        size = f" with {count_noun(len(contents), 'item')}" if contents else ""
        next_step = f"Open it: dissensus campaign open {campaign.name}"
    else:
        size, next_step = " without items", f"Add some: dissensus campaign add-items {campaign.name} FILE"
    typer.echo(f"{campaign.name} is a draft of {campaign_owner.name}{size}. {next_step}")


def _load_renamed(file: str, name: str | None) -> Campaign:
    campaign = load_definition(file)
    return campaign if name is None else rename_campaign(campaign, name)


@app.command("show")
def show(name: NameArgument, output: OutputOption = None, settings: SettingsOption = None) -> None:
    """Print the definition of a campaign as TOML, for `campaign revise`.

    Example: dissensus campaign show pilot -o pilot.toml
    """
    with open_site_platform(load_settings(settings)) as platform:
        definition = campaigns.load_definition(platform, name, staff_id=overview.find_owner_id(platform, name))
    result_writer.write_text(write_campaign(definition), output)


@app.command("revise")
def revise(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Complete definition of the campaign as TOML, with its name.")
    ],
    name: OtherNameOption = None,
    settings: SettingsOption = None,
) -> None:
    """Replace the definition of a draft, or the texts and limits of a paused campaign.

    A changed consent text is a new version, to which every rater must consent before continuing.

    Example: dissensus campaign revise pilot.toml
    """
    campaign = _load_renamed(file, name)
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, campaign.name)
        row = campaigns.revise_campaign(platform, campaign.name, campaign, staff_id=staff_id, now=utc_now())
    typer.echo(f"{row.name} is revised; its state is still {row.state}.")


@app.command("open")
def open_(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Open a draft without asking on a terminal.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Check a draft and open it to raters; its questions cannot change from then on. Open a paused campaign again.

    Errors of the check stop the opening, and warnings are shown.

    Example: dissensus campaign open pilot
    """
    _check_opening(name, settings, ask=not yes and sys.stdin.isatty())
    _change_state(name, "open", settings)


def _check_opening(name: str, settings: Path | None, *, ask: bool) -> None:
    # Imported here, since importing the site slows down the start of the other commands.
    from dissensus.web.core.site import load_services

    site_settings = load_settings(settings)
    with open_site_platform(site_settings) as platform:
        staff_id = overview.find_owner_id(platform, name)
        is_draft = overview.load_overview(platform, name, staff_id=staff_id).campaign_row.state == "draft"
        services = load_services(site_settings)
        opening.refuse_errors(platform, name, services, staff_id=staff_id)
        findings = opening.check_draft(platform, name, services, staff_id=staff_id)
    for finding in findings:
        typer.echo(f"Warning: {format_finding(finding)}", err=True)
    if ask and is_draft:
        fixed = "".join(f"\n- {part}" for part in FIXED_PARTS)
        typer.confirm(f"Once {name} is open, these cannot change:{fixed}\nOpen it?", abort=True)


@app.command("pause")
def pause(name: NameArgument, settings: SettingsOption = None) -> None:
    """Pause a campaign: no rater may enter or continue; texts and limits may be changed.

    Example: dissensus campaign pause pilot
    """
    _change_state(name, "paused", settings)


@app.command("close")
def close(name: NameArgument, settings: SettingsOption = None) -> None:
    """Close a campaign; answers in transit are still stored.

    Example: dissensus campaign close pilot
    """
    _change_state(name, "closed", settings)


def _change_state(name: str, to: CampaignState, settings: Path | None) -> None:
    site_settings = load_settings(settings)
    with open_site_platform(site_settings) as platform:
        staff_id = overview.find_owner_id(platform, name)
        row = campaigns.change_state(platform, name, to, staff_id=staff_id, now=utc_now())
        links = entry_links(site_settings.address, row, campaigns.load_definition(platform, name, staff_id=staff_id))
    entrance = "by personal links alone" if links.anybody is None else f"at {links.anybody}"
    if links.cells:
        entrance = "\n".join(
            ["by the link of their cell:", *(f"- {cell}: {link}" for cell, link in links.cells.items())]
        )
    typer.echo(f"{name} is {row.state}" + (f"; raters enter {entrance}" if to == "open" else "."))


@app.command("archive")
def archive(
    name: NameArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Take it out of the archive.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Archive a closed campaign: it leaves the lists and cannot be reopened.

    Example: dissensus campaign archive pilot
    """
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        campaign_deletion.archive_campaign(platform, name, archived=not undo, staff_id=staff_id, now=utc_now())
    typer.echo(f"{name} is {'out of the archive' if undo else 'archived'}.")


@app.command("delete")
def delete(
    name: NameArgument,
    confirm: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name once more. Default: asked for on a terminal.")
    ] = None,
    settings: SettingsOption = None,
) -> None:
    """Delete a draft or a closed campaign with everything but its audit log. It cannot be undone.

    Example: dissensus campaign delete pilot --confirm pilot
    """
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        preview = campaign_deletion.preview_deletion(platform, name, staff_id=staff_id)
        if preview.obstacle is not None:
            raise Conflict(preview.obstacle)
        items, raters = count_noun(preview.n_items, "item"), count_noun(preview.n_raters, "rater")
        typer.echo(f"{name} has {items} and {raters}, whose answers go with it.")
        if confirm is None and not sys.stdin.isatty():
            raise InvalidInput(f"Give its name once more to delete it: --confirm {name}")
        confirmation = typer.prompt("Its name, to delete it") if confirm is None else confirm
        campaign_deletion.delete_campaign(platform, name, confirmation=confirmation, staff_id=staff_id, now=utc_now())
    typer.echo(f"{name} is deleted. Its audit log stays: dissensus audit")


@app.command("list")
def list_(format: FormatOption = None, output: OutputOption = None, settings: SettingsOption = None) -> None:  # noqa: A002 - the option's name
    """List the campaigns of all owners, with their progress.

    Example: dissensus campaign list --format json
    """
    kind = result_writer.choose_format(format, output)
    site_settings = load_settings(settings)
    with open_site_platform(site_settings) as platform:
        rows = [_row(entry, site_settings.address) for entry in overview.list_all_campaigns(platform)]
    if_empty = "There are no campaigns. Create one: dissensus campaign new FILE.toml --items FILE"
    columns = COLUMNS[:-1] if kind is Format.TABLE else COLUMNS
    result_writer.write_text(
        result_writer.format_rows(kind, rows, columns, name="campaigns", if_empty=if_empty), output
    )


COLUMNS = ("name", "state", "owner", "items", "raters", "ratings", "open_link")


def _row(entry: CampaignListEntry, address: str) -> Row:
    campaign, numbers = entry.campaign_row, entry.numbers
    link = entry_links(address, campaign, entry.campaign).anybody
    raters, ratings = sum(numbers.raters.values()), numbers.n_done
    values = (campaign.name, campaign.state, ", ".join(entry.owners), numbers.n_items, raters, ratings, link)
    return dict(zip(COLUMNS, values, strict=True))


@app.command("clone")
def clone(
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="Name of the clone.")],
    settings: SettingsOption = None,
) -> None:
    """Create a draft with the definition and the items of a campaign, without data of its raters.

    Example: dissensus campaign clone pilot second
    """
    with open_site_platform(load_settings(settings)) as platform:
        staff_id = overview.find_owner_id(platform, name)
        row = campaigns.clone_campaign(platform, name, new_name, staff_id=staff_id, now=utc_now())
    typer.echo(f"{row.name} is a draft.")


@app.command("invite")
def invite(
    name: NameArgument,
    n: Annotated[int, typer.Option("-n", metavar="N", help="Number of links.")] = 1,
    cell: CellOption = None,
    format: Annotated[Literal["lines", "csv"], typer.Option(help="Output format.")] = "lines",  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """Print personal links, each for one rater; they are shown only once.

    Example: dissensus campaign invite pilot -n 50 --format csv -o links.csv
    """
    # Only the hashes of keys are stored, so links that cannot be written would be lost.
    if output is not None:
        check_folder(output)
    site_settings = load_settings(settings)
    with open_site_platform(site_settings) as platform:
        staff_id = overview.find_owner_id(platform, name)
        keys = campaigns.create_invitations(platform, name, n, cell=cell, staff_id=staff_id, now=utc_now())
    links = [personal_link_url(site_settings.address, name, key) for key in keys]
    result_writer.write_text("\n".join(["link", *links] if format == "csv" else links), output)
