"""Definition of a campaign, from a file or by the name of a shipped one."""

from pathlib import Path

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw.content import read_text
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import campaigns, load_campaign
from dissensus.schema.hints import format_list


def load_definition(file: str) -> Campaign:
    """Load a campaign definition by the name of a shipped one, else from a file."""
    if file in campaigns():
        return load_campaign(file)
    try:
        return parse_campaign(read_text(Path(file)))
    except NotFound:
        raise InvalidInput(
            f"There is no file {file}, and no shipped campaign of that name. Shipped are: {format_list(campaigns())}."
        ) from None
