"""Simulated pairs with known preferences."""

import numpy as np

from dissensus.preference.data.pairs import Pair
from dissensus.schema.records.conversation import Turn

LIKED = {"sorry": 2.0, "please": 1.0, "maybe": 0.0, "sure": -1.0, "kill": -2.0}
FILLER = ("the", "road", "is", "long", "today", "and", "we", "walk", "there", "again")


def answer(rng: np.random.Generator) -> tuple[str, float]:
    """Return a random answer with two informative words, and its utility."""
    telling = rng.choice(list(LIKED), size=2, replace=False)
    words = [*telling, *rng.choice(FILLER, size=6)]
    rng.shuffle(words)
    return " ".join(words), float(sum(LIKED[word] for word in telling))


def simulate_pairs(n: int, *, seed: int = 0, dialogues: int | None = None) -> tuple[list[Pair], list[float]]:
    """Return pairs with Bradley–Terry choices, and the log odds of each choice."""
    rng = np.random.default_rng(seed)
    pairs: list[Pair] = []
    odds: list[float] = []
    while len(pairs) < n:
        (chosen, chosen_utility), (rejected, rejected_utility) = answer(rng), answer(rng)
        if chosen == rejected:
            continue
        if rng.random() > 1 / (1 + np.exp(rejected_utility - chosen_utility)):
            chosen, chosen_utility, rejected, rejected_utility = rejected, rejected_utility, chosen, chosen_utility
        question = Turn("human", f"Question {len(pairs) % (dialogues or n)}?")
        pairs.append(Pair((question,), chosen, rejected))
        odds.append(chosen_utility - rejected_utility)
    return pairs, odds
