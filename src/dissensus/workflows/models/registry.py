"""What staff see of the model lines of a campaign."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dissensus.errors import DissensusError, NotFound
from dissensus.files.models.registry import Entry, Line, folder_of, read_line
from dissensus.schema.campaign.definition import Campaign

MAX_VERSIONS = 5

log = logging.getLogger("dissensus.models")


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignModel:
    """A model line as a campaign has it."""

    name: str
    learns: bool  # Whether it learns from what raters of the campaign prefer
    chooses: tuple[str, ...]  # Chatbots whose responses it chooses, with the version where they name one
    line: Line | None  # The line; None where it cannot be read
    missing: bool = False  # Whether that is because there is none

    @property
    def latest(self) -> tuple[Entry, ...]:
        """Its last versions, the latest first."""
        return () if self.line is None else tuple(self.line.trained.values())[: -MAX_VERSIONS - 1 : -1]

    @property
    def back(self) -> Entry | None:
        """That it was rolled back last, where that is so."""
        last = None if self.line is None or not self.line.entries else self.line.entries[-1]
        return last if last is not None and last.what == "rolled back" else None


def list_campaign_models(models: Path, campaign: Campaign) -> tuple[CampaignModel, ...]:
    """Return the lines that learn from a campaign, and those that choose what its chatbots say."""
    chooses: dict[str, list[str]] = {name: [] for name in campaign.lines}
    for chatbot in () if campaign.chat is None else campaign.chat.chatbots:
        if chatbot.line is not None:
            always = "" if chatbot.line.version is None else f", always by version {chatbot.line.version}"
            chooses.setdefault(chatbot.line.name, []).append(f"{chatbot.name}{always}")
    return tuple(
        CampaignModel(name=name, learns=name in campaign.lines, chooses=tuple(chatbots), **_read_model(models, name))
        for name, chatbots in chooses.items()
    )


def _read_model(models: Path, name: str) -> dict[str, Any]:
    try:
        return {"line": read_line(folder_of(models, name))}
    except DissensusError as error:
        log.warning("%s", error)
        return {"line": None, "missing": isinstance(error, NotFound)}
