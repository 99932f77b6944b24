"""Preference models as scorers of responses."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dissensus.chat.best_of_n import Scorer
from dissensus.preference.models.model import Model
from dissensus.schema.records.conversation import Conversation


def scorer_from_model(model: Model) -> Scorer:
    """Return a scorer of the last turn of conversations, given the turns before it.

    Examples
    --------
    >>> from dissensus.preference.models.linear import Linear
    >>> model = Linear(
    ...     purpose="harmless", vocabularies={}, weights={}, length_weight=-1.0, length_alone=0.0, temperature=1.0
    ... )
    >>> talks = [[("human", "Hi"), ("bot", text)] for text in ("Hello!", "Hello to you, too!")]
    >>> scorer_from_model(model)([Conversation.from_turns(turns) for turns in talks]).round(2).tolist()
    [-0.58, -0.88]
    """

    def score(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
        return np.array([scores[-1] for scores in model.score(conversations)], dtype=np.float64)

    return score
