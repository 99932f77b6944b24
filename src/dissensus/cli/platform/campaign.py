"""`dissensus campaign`: campaigns from draft to closed."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.platform import campaign_items
from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.cli.result_writer import Format, FormatOption, OutputOption, Row
from dissensus.errors import InvalidInput
from dissensus.files.pairs.items import reader_for
from dissensus.schema.campaign.definition import Campaign, CampaignState
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import campaigns as shipped_campaigns
from dissensus.schema.campaign.shipped import load_campaign, rename_campaign
from dissensus.schema.campaign.writer import write_campaign
from dissensus.schema.hints import format_list
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.campaign.overview import CampaignListEntry
from dissensus.workflows.platform import staff
from dissensus.workflows.rater.invite_links import entry_links, personal_link_url

app = typer.Typer(help="Set up campaigns, and take them through their lives.", no_args_is_help=True)
app.command("add-items")(campaign_items.add_items)
app.command("remove-items")(campaign_items.remove_items)
app.command("rehearse")(campaign_items.rehearse)
app.command("add-platinum")(campaign_items.add_platinum)


@app.command("new")
def new(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A campaign as TOML, or the name of one that ships, as dices-350.")
    ],
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What is rated: csv, jsonl, json, parquet, or pasted text as txt. Nothing where raters talk.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Another name than the file gives.")] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose it is. Default: the only owner there is.")
    ] = None,
    by_link: Annotated[
        bool, typer.Option("--by-link/--by-invitation", help="Whether one open link lets anybody in.")
    ] = True,
    settings: SettingsOption = None,
) -> None:
    """Make a draft of a campaign with its items.

    Example: dissensus campaign new pilot.toml --items conversations.csv --owner ada
    """
    campaign = _definition(file, name)
    if campaign.chat is not None and items is not None:
        raise InvalidInput(f"In {campaign.name} raters talk with chatbots and rate nothing. Leave --items out.")
    found, notes = ((), ()) if items is None else reader_for(campaign)(items)
    for note in notes:
        typer.echo(f"Note: {note}", err=True)
    with open_site_platform(load_settings(settings)) as platform:
        whose = staff.find_or_create_owner(platform, owner, now=utc_now())
        campaigns.create_campaign(platform, campaign, found, staff_id=whose.id, by_link=by_link, now=utc_now())
    if campaign.chat is not None or found:
        having, then = (
            f" with {len(found):,} items" if found else "",
            f"Open it: dissensus campaign open {campaign.name}",
        )
    else:
        having, then = " without items", f"Add some: dissensus campaign add-items {campaign.name} FILE"
    typer.echo(f"{campaign.name} is a draft of {whose.name}{having}. {then}")


def _definition(file: str, name: str | None) -> Campaign:
    """Load a campaign definition from a file or from those that ship, optionally renamed."""
    if file in shipped_campaigns():
        found = load_campaign(file)
    else:
        try:
            found = parse_campaign(Path(file).read_text("utf-8"))
        except FileNotFoundError:
            shipped = format_list(shipped_campaigns())
            raise InvalidInput(f"There is no file {file}, and no campaign of that name ships: {shipped}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{file} cannot be read as text: {error}.") from None
    return found if name is None else rename_campaign(found, name)


@app.command("show")
def show(name: NameArgument, output: OutputOption = None, settings: SettingsOption = None) -> None:
    """Print the definition of a campaign as TOML, which `campaign revise` takes back.

    Example: dissensus campaign show pilot -o pilot.toml
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        found = campaigns.load_definition(platform, name, staff_id=overview.owner_id_of(platform, name))
    result_writer.write_text(write_campaign(found), output)


@app.command("revise")
def revise(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The whole campaign as TOML; its name says which one.")],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Another name than the file gives.")] = None,
    settings: SettingsOption = None,
) -> None:
    """Change all of a draft, or what raters read and their limits in a campaign that is paused.

    A changed consent text is a new version, which every rater is asked about before going on.

    Example: dissensus campaign revise pilot.toml
    """
    campaign = _definition(file, name)
    with open_site_platform(load_settings(settings), old=True) as platform:
        staff_id = overview.owner_id_of(platform, campaign.name)
        kept = campaigns.revise_campaign(platform, campaign.name, campaign, staff_id=staff_id, now=utc_now())
    typer.echo(f"{kept.name} is revised, and {kept.state} as before.")


@app.command("open")
def open_(name: NameArgument, settings: SettingsOption = None) -> None:
    """Let raters in; what they are asked cannot change from then on.

    Example: dissensus campaign open pilot
    """
    _move(name, "open", settings)


@app.command("pause")
def pause(name: NameArgument, settings: SettingsOption = None) -> None:
    """Let nobody in or on for a while; texts and limits may be changed meanwhile.

    Example: dissensus campaign pause pilot
    """
    _move(name, "paused", settings)


@app.command("close")
def close(name: NameArgument, settings: SettingsOption = None) -> None:
    """End a campaign; answers that are still on their way are kept.

    Example: dissensus campaign close pilot
    """
    _move(name, "closed", settings)


def _move(name: str, to: CampaignState, settings: Path | None) -> None:

    chosen = load_settings(settings)
    with open_site_platform(chosen, old=True) as platform:
        staff_id = overview.owner_id_of(platform, name)
        kept = campaigns.change_state(platform, name, to, staff_id=staff_id, now=utc_now())
        by = entry_links(chosen.address, kept, campaigns.load_definition(platform, name, staff_id=staff_id))
    entrance = "by personal links alone" if by.anybody is None else f"at {by.anybody}"
    if by.cells:
        entrance = "\n".join(["by the link of their cell:", *(f"- {cell}: {link}" for cell, link in by.cells.items())])
    typer.echo(f"{name} is {kept.state}" + (f"; raters enter {entrance}" if to == "open" else "."))


@app.command("list")
def list_(format: FormatOption = None, output: OutputOption = None, settings: SettingsOption = None) -> None:  # noqa: A002 - the option's name
    """List the campaigns of all owners, with how far they are.

    Example: dissensus campaign list --format json
    """
    chosen = load_settings(settings)
    with open_site_platform(chosen, old=True) as platform:
        rows = [_row(line, chosen.address) for line in overview.list_all_campaigns(platform)]
    kind = result_writer.choose_format(format, output)
    none = "There are no campaigns. Make one: dissensus campaign new FILE.toml --items FILE"
    columns = COLUMNS[:-1] if kind is Format.TABLE else COLUMNS
    result_writer.write_text(result_writer.format_rows(kind, rows, columns, name="campaigns", none=none), output)


COLUMNS = ("name", "state", "owner", "items", "raters", "rated", "open_link")


def _row(line: CampaignListEntry, address: str) -> Row:

    kept, numbers = line.campaign_row, line.numbers
    link = entry_links(address, kept, line.campaign).anybody
    raters, rated = sum(numbers.raters.values()), numbers.assignments["done"]
    values = (kept.name, kept.state, ", ".join(line.owners), numbers.n_items, raters, rated, link)
    return dict(zip(COLUMNS, values, strict=True))


@app.command("clone")
def clone(
    name: NameArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="Name of the clone.")],
    settings: SettingsOption = None,
) -> None:
    """Make a draft with the definition and the items of a campaign, and nothing of its raters.

    Example: dissensus campaign clone pilot second
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        staff_id = overview.owner_id_of(platform, name)
        rename_campaign(campaigns.load_definition(platform, name, staff_id=staff_id), new_name)
        kept = campaigns.clone_campaign(platform, name, new_name, staff_id=staff_id, now=utc_now())
    typer.echo(f"{kept.name} is a draft.")


@app.command("invite")
def invite(
    name: NameArgument,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many links.")] = 1,
    cell: Annotated[
        str | None, typer.Option(metavar="CELL", help="Of the quota, where the recruiter chooses raters by cells.")
    ] = None,
    format: Annotated[Literal["lines", "csv"], typer.Option(help="How to print.")] = "lines",  # noqa: A002 - the option's name
    output: OutputOption = None,
    settings: SettingsOption = None,
) -> None:
    """Print personal links, each for one rater; they are shown this once.

    Example: dissensus campaign invite pilot -n 50 --format csv -o links.csv
    """
    chosen = load_settings(settings)
    with open_site_platform(chosen, old=True) as platform:
        staff_id = overview.owner_id_of(platform, name)
        keys = campaigns.create_invitations(platform, name, n, cell=cell, staff_id=staff_id, now=utc_now())
    links = [personal_link_url(chosen.address, name, key) for key in keys]
    result_writer.write_text("\n".join(["link", *links] if format == "csv" else links), output)
