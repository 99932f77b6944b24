"""Pairs of people whose taste is known."""

import numpy as np

from dissensus.preference.data.pairs import Pair
from dissensus.schema.records.conversation import Turn

LIKED = {"sorry": 2.0, "please": 1.0, "maybe": 0.0, "sure": -1.0, "kill": -2.0}
FILLER = ("the", "road", "is", "long", "today", "and", "we", "walk", "there", "again")


def answer(rng: np.random.Generator) -> tuple[str, float]:
    """Return an answer of filler and one or two telling words, and how much it is liked."""
    telling = rng.choice(list(LIKED), size=2, replace=False)
    words = [*telling, *rng.choice(FILLER, size=6)]
    rng.shuffle(words)
    return " ".join(words), float(sum(LIKED[word] for word in telling))


def simulated(n: int, *, seed: int = 0, dialogues: int | None = None) -> tuple[list[Pair], list[float]]:
    """Return pairs by people who choose as Bradley and Terry say, and the log odds of each choice."""
    rng = np.random.default_rng(seed)
    pairs: list[Pair] = []
    odds: list[float] = []
    while len(pairs) < n:
        (one, liked), (other, less) = answer(rng), answer(rng)
        if one == other:
            continue
        if rng.random() > 1 / (1 + np.exp(less - liked)):
            one, liked, other, less = other, less, one, liked
        first = Turn("human", f"Question {len(pairs) % (dialogues or n)}?")
        pairs.append(Pair((first,), one, other))
        odds.append(liked - less)
    return pairs, odds
