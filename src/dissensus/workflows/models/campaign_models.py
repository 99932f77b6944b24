"""Registered models that a campaign uses, for staff."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dissensus.errors import DissensusError, NotFound
from dissensus.files.models.registry import (
    RegisteredModel,
    RegistryEntry,
    open_registered_model,
    registered_model_folder,
)
from dissensus.schema.campaign.definition import Campaign

MAX_VERSIONS = 5
"""Versions of a model that its campaign lists."""

log = logging.getLogger("dissensus.models")


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignModel:
    """A registered model as used by a campaign."""

    name: str
    is_trained: bool  # True if it is trained on the campaign's preferences
    ranked_chatbots: tuple[str, ...]  # chatbots whose responses it ranks, with the pinned version
    registered_model: RegisteredModel | None  # None if it cannot be read
    missing: bool = False  # True if it does not exist

    @property
    def latest(self) -> tuple[RegistryEntry, ...]:
        """Latest versions, newest first."""
        return (
            ()
            if self.registered_model is None
            else tuple(self.registered_model.trained_versions.values())[: -MAX_VERSIONS - 1 : -1]
        )

    @property
    def rollback(self) -> RegistryEntry | None:
        """The rollback, if that was the last event."""
        last = (
            None
            if self.registered_model is None or not self.registered_model.entries
            else self.registered_model.entries[-1]
        )
        return last if last is not None and last.action == "rolled back" else None


def list_campaign_models(models: Path, campaign: Campaign) -> tuple[CampaignModel, ...]:
    """Return the registered models that learn from a campaign or rank its chatbots' responses."""
    ranked_chatbots: dict[str, list[str]] = {name: [] for name in campaign.registered_models}
    for chatbot in () if campaign.chat is None else campaign.chat.chatbots:
        model = chatbot.registered_model
        if model is not None:
            pin = "" if model.version is None else f", always by version {model.version}"
            ranked_chatbots.setdefault(model.name, []).append(f"{chatbot.name}{pin}")
    return tuple(
        CampaignModel(
            name=name,
            is_trained=name in campaign.registered_models,
            ranked_chatbots=tuple(chatbots),
            **_read_model(models, name),
        )
        for name, chatbots in ranked_chatbots.items()
    )


def _read_model(models: Path, name: str) -> dict[str, Any]:
    try:
        return {"registered_model": open_registered_model(registered_model_folder(models, name))}
    except DissensusError as error:
        log.warning("The registered model %s is not shown: %s", name, error)
        return {"registered_model": None, "missing": isinstance(error, NotFound)}
