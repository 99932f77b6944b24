"""View of a groups model for one group, or for its most critical quantile."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import RATER
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Model, ModelIdentity, SupportsGroupScores
from dissensus.schema.records.conversation import Conversation

NO_GROUPS: Final = "The model knows no groups, so it cannot score as one. Train one with --kind groups."
NO_SPREAD: Final = "The model knows no spread, so it has no quantiles. Train one with --kind mean-variance."


def check_groups(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the groups of each axis that a model can score as, without single raters."""
    if not isinstance(model, Groups):
        return {}
    return {axis: names for axis, names in model.axes.items() if axis != RATER}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupView:
    """A model that scores as somebody sees it."""

    model: Model  # One that knows groups or spreads, or one elsewhere, which is asked
    as_group: str | None = None  # Such as ``rater_gender=Woman``; None for all
    quantile: float | None = None  # Share of people who think it is worth no more; None for the mean

    def __post_init__(self) -> None:
        if not isinstance(self.model, SupportsGroupScores):
            if self.as_group is not None and not isinstance(self.model, Groups):
                raise InvalidInput(NO_GROUPS)
            if self.quantile is not None and not isinstance(self.model, MeanVariance):
                raise InvalidInput(NO_SPREAD)
        if self.as_group is not None or self.quantile is not None:
            self.score([])  # so that an unknown group is told before the work begins

    @property
    def purpose(self) -> Purpose:
        """Purpose of the choices: helpful or harmless."""
        return self.model.purpose

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot."""
        if isinstance(self.model, SupportsGroupScores):
            return self.model.score_as(transcripts, as_group=self.as_group, quantile=self.quantile)
        if isinstance(self.model, Groups):
            return self.model.score(transcripts, as_group=self.as_group)
        if isinstance(self.model, MeanVariance):
            return self.model.score(transcripts, quantile=self.quantile)
        return self.model.score(transcripts)

    def named(self, identity: ModelIdentity) -> ModelIdentity:
        """Return what it is told from others by, those that see otherwise among them."""
        if self.as_group is not None:
            return identity._replace(name=f"{identity.name} as {self.as_group}")
        return identity if self.quantile is None else identity._replace(name=f"{identity.name} at {self.quantile:g}")
