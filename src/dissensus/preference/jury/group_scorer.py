"""Scores of a model for one group, or for a quantile over people."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import RATER
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Model, ModelIdentity, SupportsGroupScores
from dissensus.schema.records.conversation import Conversation

NO_GROUPS: Final = (
    "The model has no groups, so it cannot score as one. Train one with --kind groups, or a jury model with --by."
)
NO_SPREAD: Final = "The model has no spread, so it has no quantiles. Train one with --kind mean-variance."


def list_groups(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the groups by axis that a model can score for, without single raters."""
    if not isinstance(model, Groups | JuryModel):
        return {}
    return {axis: names for axis, names in model.axes.items() if axis != RATER}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupScorer:
    """Model that scores as one group, or as a quantile over people."""

    model: Model  # With groups or spreads, local or remote
    as_group: str | None = None  # Such as ``rater_gender=Woman``; None for the population
    quantile: float | None = None  # Quantile over people; None for the mean

    def __post_init__(self) -> None:
        if not isinstance(self.model, SupportsGroupScores):
            if self.as_group is not None and not isinstance(self.model, Groups | JuryModel):
                raise InvalidInput(NO_GROUPS)
            if self.quantile is not None and not isinstance(self.model, MeanVariance):
                raise InvalidInput(NO_SPREAD)
        if self.as_group is not None or self.quantile is not None:
            self.score([])  # Reports an unknown group before the work begins

    @property
    def purpose(self) -> Purpose:
        """Purpose of the choices: helpful or harmless."""
        return self.model.purpose

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return the score of each bot turn of each conversation."""
        if isinstance(self.model, SupportsGroupScores):
            return self.model.score_as(transcripts, as_group=self.as_group, quantile=self.quantile)
        if isinstance(self.model, Groups | JuryModel):
            return self.model.score(transcripts, as_group=self.as_group)
        if isinstance(self.model, MeanVariance):
            return self.model.score(transcripts, quantile=self.quantile)
        return self.model.score(transcripts)

    def identify(self, identity: ModelIdentity) -> ModelIdentity:
        """Return the model's identity with group or quantile in the name."""
        if self.as_group is not None:
            return identity._replace(name=f"{identity.name} as {self.as_group}")
        return identity if self.quantile is None else identity._replace(name=f"{identity.name} at {self.quantile:g}")
