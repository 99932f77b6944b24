"""What staff see of the model lines of a campaign."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dissensus.errors import DissensusError, NotFound
from dissensus.files.models.registry import Entry, Line, folder_of, read_line
from dissensus.schema.campaign.definition import Campaign

LATEST = 5

log = logging.getLogger("dissensus.models")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSeen:
    """A model line as a campaign has it.

    Parameters
    ----------
    name
        Of the line.
    learns
        Whether it learns from what raters of the campaign prefer.
    chooses
        Chatbots whose responses it chooses, with the version where they name one.
    line
        The line; None where it cannot be read.
    missing
        Whether that is because there is none.
    """

    name: str
    learns: bool
    chooses: tuple[str, ...]
    line: Line | None
    missing: bool = False

    @property
    def latest(self) -> tuple[Entry, ...]:
        """Its last versions, the latest first."""
        return () if self.line is None else tuple(self.line.trained.values())[: -LATEST - 1 : -1]

    @property
    def back(self) -> Entry | None:
        """That it was rolled back last, where that is so."""
        last = None if self.line is None or not self.line.entries else self.line.entries[-1]
        return last if last is not None and last.what == "rolled back" else None


def lines_of(models: Path, campaign: Campaign) -> tuple[LineSeen, ...]:
    """Return the lines that learn from a campaign, and those that choose what its chatbots say."""
    chooses: dict[str, list[str]] = {name: [] for name in campaign.lines}
    for chatbot in () if campaign.chat is None else campaign.chat.chatbots:
        if chatbot.line is not None:
            always = "" if chatbot.line.version is None else f", always by version {chatbot.line.version}"
            chooses.setdefault(chatbot.line.name, []).append(f"{chatbot.name}{always}")
    return tuple(
        LineSeen(name=name, learns=name in campaign.lines, chooses=tuple(chatbots), **_read(models, name))
        for name, chatbots in chooses.items()
    )


def _read(models: Path, name: str) -> dict[str, Any]:
    try:
        return {"line": read_line(folder_of(models, name))}
    except DissensusError as error:
        log.warning("%s", error)
        return {"line": None, "missing": isinstance(error, NotFound)}
