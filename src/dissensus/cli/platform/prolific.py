"""`dissensus prolific`: studies and webhook subscriptions at Prolific."""

import re
from typing import Annotated

import typer

from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform
from dissensus.errors import InvalidInput
from dissensus.recruit.prolific import PROLIFIC_API, ProlificClient, ProlificEventKind, ScreenOut, Study, StudyFilter
from dissensus.schema.campaign.definition import Campaign, localise
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.settings import Settings, load_prolific_token
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.rater.invite_links import EntryLinks, load_entry_links

app = typer.Typer(help="Send raters from Prolific to a campaign.", no_args_is_help=True)

RANGE = re.compile(r"([0-9]*)\.\.([0-9]*)")


@app.command("study")
def study(
    name: NameArgument,
    places: Annotated[int, typer.Option(metavar="N", min=1, help="How many people. They can be made more later.")],
    description: Annotated[str, typer.Option(metavar="TEXT", help="What people read on Prolific.")],
    reward: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="For all of it, in minor units. Default: what the campaign pays."),
    ] = None,
    minutes: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How long it takes. Default: as the campaign says.")
    ] = None,
    cell: Annotated[
        str | None, typer.Option(metavar="CELL", help="The cell, where the recruiter fills the cells of a quota.")
    ] = None,
    filter: Annotated[  # noqa: A002 - the option's name
        list[str] | None,
        typer.Option(
            metavar="ID=VALUE,…", help="Whom Prolific shows it: ids of choices, or a range as age=18..35; repeatable."
        ),
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Show it to people at once. It costs money from then on.")
    ] = False,
    settings: SettingsOption = None,
) -> None:
    """Make a study on Prolific that leads to a campaign: a draft there, unless it is published.

    Its title, warning and codes are those of the campaign.

    Example: dissensus prolific study pilot --places 120 --description "Judge what chatbots say." --filter age=18..65
    """
    chosen = load_settings(settings)
    campaign, doors = _load_entry_links(chosen, name)
    if campaign.prolific is None:
        raise InvalidInput(f"{name} has no [prolific] with codes in its definition; docs/recruitment.md shows one.")
    language = campaign.languages[0]
    wanted = Study(
        name=localise(campaign.title, language),
        description=description,
        address=_address(doors, name, cell),
        places=places,
        minutes=_required_number("minutes", minutes, campaign.minutes),
        reward=_required_number("reward", reward, campaign.pay.finished if campaign.pay else None),
        codes=campaign.prolific.codes,
        screen_out=_screen_out(campaign, places),
        filters=tuple(map(_parse_filter, filter or ())),
        warning=localise(campaign.warning, language),
    )
    with _client(chosen) as prolific:
        made = prolific.create(wanted)
        typer.echo(f"{made} is a draft on Prolific.")
        if publish:
            prolific.publish(made)
            typer.echo(f"It is shown to {places:,} people.")


@app.command("events")
def events(
    workspace: Annotated[str, typer.Option(metavar="ID", help="The workspace at Prolific.")],
    settings: SettingsOption = None,
) -> None:
    """Let Prolific tell this site of submissions, by events signed with a new secret, which is printed.

    The secret of the workspace that was there before is void.

    Example: dissensus prolific events --workspace 65a1b2c3d4e5f6a7b8c9d0e1
    """
    chosen = load_settings(settings)
    address = f"{chosen.address}/prolific/events"
    with _client(chosen) as prolific:
        secret = prolific.new_secret(workspace)
        # Printed first: it is told this once, whatever comes after.
        typer.echo(f"DISSENSUS_PROLIFIC_SECRET={secret}")
        prolific.subscribe(ProlificEventKind.SUBMISSION, address, workspace)
    typer.echo(f"Prolific tells {address} of submissions. Set the secret, and start the site again.", err=True)


def _load_entry_links(settings: Settings, name: str) -> tuple[Campaign, EntryLinks]:

    with open_site_platform(settings, old=True) as platform:
        staff_id = overview.owner_id_of(platform, name)
        campaign = campaigns.load_definition(platform, name, staff_id=staff_id)
        return campaign, load_entry_links(platform, name, settings.address, staff_id=staff_id)


def _address(doors: EntryLinks, name: str, cell: str | None) -> str:
    """Return the entry link for Prolific, which fills in its ids."""
    if cell is None and doors.anybody is not None:
        return doors.anybody
    if not doors.cells:
        raise InvalidInput(f"{name} has no open link, or none of a cell. A study leads to one.")
    cells = list(doors.cells)
    if cell is None or cell not in doors.cells:
        given = "missing" if cell is None else f"{format_value(cell)}.{suggest(cell, cells)}".rstrip(".")
        raise InvalidInput(f"--cell is {given}. Cells are {format_list(cells)}.")
    return doors.cells[cell]


def _required_number(what: str, given: int | None, default: int | None) -> int:
    if given or default:
        return given or default or 0
    raise InvalidInput(f"The campaign does not say it. Give --{what} N.")


def _screen_out(campaign: Campaign, places: int) -> ScreenOut | None:

    if campaign.pay is None or not campaign.pay.screened_out:
        return None
    return ScreenOut(reward=campaign.pay.screened_out, places=places)


def _parse_filter(word: str) -> StudyFilter:

    name, equals, values = word.partition("=")
    if not (name and equals and values):
        raise InvalidInput(f"--filter {format_value(word)} is no ID=VALUE. Write as in age=18..35, or sex=0,1.")
    found = RANGE.fullmatch(values)
    if found is None:
        return StudyFilter(name=name, values=tuple(values.split(",")))
    least, most = (int(end) if end else None for end in found.groups())
    return StudyFilter(name=name, least=least, most=most)


def _client(settings: Settings) -> ProlificClient:

    token = load_prolific_token(settings)
    if token is None:
        raise InvalidInput(
            "There is no token of Prolific. Make one at https://app.prolific.com/researcher/tokens, and set "
            "DISSENSUS_PROLIFIC_TOKEN or prolific_token_file."
        )
    return ProlificClient(token, base=settings.prolific_url or PROLIFIC_API)
