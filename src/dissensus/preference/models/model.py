"""Interface of preference models."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dissensus.errors import NotAllowed
from dissensus.preference.data.pairs import PURPOSES, Pair, Purpose
from dissensus.preference.data.sparse import Floats
from dissensus.schema.hints import suggest
from dissensus.schema.records.conversation import Conversation, Turn


class Model(Protocol):
    """Something that scores what chatbots say; the scores of one model can be compared with each other alone."""

    @property
    def purpose(self) -> Purpose:
        """Purpose of the choices that it learned: helpful or harmless."""
        ...

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot, given all before it."""
        ...


@runtime_checkable
class SupportsGroupScores(Protocol):
    """A model that runs elsewhere, and is asked there to score as somebody sees it."""

    def score_as(
        self, transcripts: Iterable[Conversation], *, as_group: str | None, quantile: float | None
    ) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot, as a group or a share of people sees it."""
        ...


class ModelIdentity(NamedTuple):
    """Identity of a model: name, and SHA-256 of its content; empty where unknown."""

    name: str
    sha256: str


def compute_margins(model: Model, pairs: Sequence[Pair]) -> Floats:
    """Return the score of the chosen less that of the rejected answer of each pair, by any model."""
    talks = (
        Conversation((*pair.context, Turn("bot", said))) for pair in pairs for said in (pair.chosen, pair.rejected)
    )
    scores = np.array([of_turns[-1] for of_turns in model.score(talks)], dtype=np.float64)
    return scores[0::2] - scores[1::2]


def check_purpose(model: Model, purpose: str, *, force: bool = False) -> None:
    """Refuse another purpose than the model's, unless forced.

    Raises
    ------
    NotAllowed
        It is another one.
    """
    if purpose not in PURPOSES:
        raise NotAllowed(
            f"There is no purpose {purpose!r}; a model is {' or '.join(PURPOSES)}.{suggest(purpose, PURPOSES)}"
        )
    if purpose != model.purpose and not force:
        raise NotAllowed(
            f"The model was trained for what is {model.purpose}, and what is {purpose} is asked for: one learned "
            "from one alone is worse than chance on the other. Take a model of that purpose, or force it (--force)."
        )
