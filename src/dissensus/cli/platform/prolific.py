"""`dissensus prolific`: studies and webhook subscriptions at Prolific."""

import re
from typing import Annotated

import typer

from dissensus.cli.platform.options import CellOption, NameArgument, SettingsOption, load_settings, open_site_platform
from dissensus.errors import InvalidInput
from dissensus.recruit.prolific import PROLIFIC_API, ProlificClient, ProlificEventKind, ScreenOut, Study, StudyFilter
from dissensus.schema.campaign.definition import Campaign, localise
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.settings import Settings, load_prolific_token
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.rater.invite_links import EntryLinks, load_entry_links

app = typer.Typer(no_args_is_help=True)

RANGE = re.compile(r"([0-9]*)\.\.([0-9]*)")


@app.command("study")
def study(
    name: NameArgument,
    places: Annotated[int, typer.Option(metavar="N", min=1, help="Number of participants. It can be increased later.")],
    description: Annotated[str, typer.Option(metavar="TEXT", help="Description on Prolific.")],
    reward: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Reward in minor units. Default: the pay of the campaign."),
    ] = None,
    minutes: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Expected duration in minutes. Default: that of the campaign."),
    ] = None,
    cell: CellOption = None,
    filter: Annotated[  # noqa: A002 - the option's name
        list[str] | None,
        typer.Option(metavar="ID=VALUE,…", help="Prescreening: ids of choices, or a range as age=18..35; repeatable."),
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish the study at once. It costs money from then on.")
    ] = False,
    settings: SettingsOption = None,
) -> None:
    """Create a study on Prolific for a campaign: a draft, unless --publish is given.

    Title, warning and completion codes are those of the campaign.

    Example: dissensus prolific study pilot --places 120 --description "Judge what chatbots say." --filter age=18..65
    """
    site_settings = load_settings(settings)
    campaign, links = _load_entry_links(site_settings, name)
    if campaign.recruit is None or campaign.recruit.kind != "prolific":
        raise InvalidInput(f'{name} has no [recruit] with kind = "prolific" and codes. Add them to its definition.')
    language = campaign.languages[0]
    draft = Study(
        name=localise(campaign.title, language),
        description=description,
        address=_find_entry_link(links, name, cell),
        places=places,
        minutes=_require_number("minutes", minutes, campaign.estimated_minutes),
        reward=_require_number("reward", reward, campaign.pay.finished if campaign.pay else None),
        codes=campaign.recruit.codes,
        screen_out=_build_screen_out(campaign, places),
        filters=tuple(map(_parse_filter, filter or ())),
        warning=localise(campaign.warning, language),
    )
    with _open_client(site_settings) as prolific:
        study_id = prolific.create(draft)
        typer.echo(f"{study_id} is a draft on Prolific.")
        if publish:
            prolific.publish(study_id)
            typer.echo(f"It is published for {places:,} people.")


@app.command("events")
def events(
    workspace: Annotated[str, typer.Option(metavar="ID", help="Id of the workspace at Prolific.")],
    settings: SettingsOption = None,
) -> None:
    """Subscribe this site to events of submissions at Prolific, signed with a new secret, which is printed.

    It replaces the previous secret of the workspace.

    Example: dissensus prolific events --workspace 65a1b2c3d4e5f6a7b8c9d0e1
    """
    site_settings = load_settings(settings)
    address = f"{site_settings.address}/prolific/events"
    with _open_client(site_settings) as prolific:
        secret = prolific.new_secret(workspace)
        # Printed before subscribing, since Prolific returns it only once.
        typer.echo(f"DISSENSUS_PROLIFIC_SECRET={secret}")
        prolific.subscribe(ProlificEventKind.SUBMISSION, address, workspace)
    typer.echo(f"Prolific sends events of submissions to {address}. Set the secret, and restart the site.", err=True)


def _load_entry_links(settings: Settings, name: str) -> tuple[Campaign, EntryLinks]:
    with open_site_platform(settings) as platform:
        staff_id = overview.find_owner_id(platform, name)
        campaign = campaigns.load_definition(platform, name, staff_id=staff_id)
        return campaign, load_entry_links(platform, name, settings.address, staff_id=staff_id)


def _find_entry_link(links: EntryLinks, name: str, cell: str | None) -> str:
    """Return the entry link of the campaign or of a cell, with placeholders for the ids that Prolific fills in."""
    if cell is None and links.anybody is not None:
        return links.anybody
    if cell is not None and links.anybody is not None:
        raise InvalidInput(f"{name} has one open link and no links of cells. Leave out --cell.")
    if not links.cells:
        raise InvalidInput(f"{name} has neither an open link nor links of cells, which a study needs.")
    cells = list(links.cells)
    if cell is None or cell not in links.cells:
        fault = "missing" if cell is None else f"{format_value(cell)}.{suggest(cell, cells)}".rstrip(".")
        raise InvalidInput(f"--cell is {fault}. Cells are {format_list(cells)}.")
    return links.cells[cell]


def _require_number(option: str, number: int | None, default: int | None) -> int:
    """Return the value of an option, else that of the campaign, in which 0 means none."""
    value = number or default
    if not value:
        raise InvalidInput(f"The campaign does not define the {option}. Give --{option} N.")
    return value


def _build_screen_out(campaign: Campaign, places: int) -> ScreenOut | None:
    if campaign.pay is None or not campaign.pay.screened_out:
        return None
    return ScreenOut(reward=campaign.pay.screened_out, places=places)


def _parse_filter(word: str) -> StudyFilter:
    name, equals, values = word.partition("=")
    if not (name and equals and values):
        raise InvalidInput(f"--filter {format_value(word)} is not ID=VALUE. Write age=18..35 or sex=0,1.")
    bounds = RANGE.fullmatch(values)
    if bounds is None:
        return StudyFilter(name=name, values=tuple(values.split(",")))
    least, most = (int(end) if end else None for end in bounds.groups())
    if least is not None and most is not None and least > most:
        raise InvalidInput(f"--filter {format_value(word)} has its ends in the wrong order. Write age=18..35.")
    return StudyFilter(name=name, least=least, most=most)


def _open_client(settings: Settings) -> ProlificClient:
    token = load_prolific_token(settings)
    if token is None:
        raise InvalidInput(
            "There is no Prolific token. Create one at https://app.prolific.com/researcher/tokens, and set "
            "DISSENSUS_PROLIFIC_TOKEN or prolific_token_file."
        )
    return ProlificClient(token, base=settings.prolific_url or PROLIFIC_API)
