"""Interface of preference models."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dissensus.errors import NotAllowed
from dissensus.preference.data.pairs import PURPOSES, Pair, Purpose
from dissensus.schema.hints import suggest
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.stats.result import FloatArray


class Model(Protocol):
    """Preference model; scores are comparable within one model only."""

    @property
    def purpose(self) -> Purpose:
        """Purpose of the choices: helpful or harmless."""
        ...

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return the score of each bot turn of each conversation, given the turns before it."""
        ...


@runtime_checkable
class SupportsGroupScores(Protocol):
    """Model that scores for a group or a quantile by itself, such as a remote one."""

    def score_as(
        self, transcripts: Iterable[Conversation], *, as_group: str | None, quantile: float | None
    ) -> list[list[float]]:
        """Return the score of each bot turn of each conversation, for a group or a quantile."""
        ...


class ModelIdentity(NamedTuple):
    """Identity of a model: name, and SHA-256 of its content; empty where unknown."""

    name: str
    sha256: str


def compute_margins(model: Model, pairs: Sequence[Pair]) -> FloatArray:
    """Return the margin of each pair: score of the chosen minus score of the rejected answer."""
    conversations = (
        Conversation((*pair.context, Turn("bot", answer))) for pair in pairs for answer in (pair.chosen, pair.rejected)
    )
    scores = np.array([turn_scores[-1] for turn_scores in model.score(conversations)], dtype=np.float64)
    return scores[0::2] - scores[1::2]


def check_purpose(model: Model, purpose: str, *, force: bool = False) -> None:
    """Raise an error if the purpose is not the model's, unless forced.

    Raises
    ------
    NotAllowed
        Unknown purpose, or another than the model's.
    """
    if purpose not in PURPOSES:
        raise NotAllowed(
            f"There is no purpose {purpose!r}; a model is {' or '.join(PURPOSES)}.{suggest(purpose, PURPOSES)}"
        )
    if purpose != model.purpose and not force:
        raise NotAllowed(
            f"The model was trained for {model.purpose}, and {purpose} is requested. A model of one purpose is worse "
            f"than chance on the other. Use a {purpose} model, or force it (--force)."
        )
