"""Simulated pairs with known preferences."""

import numpy as np

from dissensus.preference.data.pairs import Pair
from dissensus.schema.records.conversation import Turn

LIKED = {"sorry": 2.0, "please": 1.0, "maybe": 0.0, "sure": -1.0, "kill": -2.0}
CALM = ("tea", "books", "rain", "bread", "gardens", "music")
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


def write_response(rng: np.random.Generator) -> tuple[str, bool, bool]:
    """Return a random response, and whether it is vile and blunt."""
    vile, blunt = rng.random(2) < 0.5
    words = " and ".join(rng.choice(CALM, 2).tolist())
    return f"A {'vile' if vile else 'kind'} {'blunt' if blunt else 'soft'} talk of {words}.", bool(vile), bool(blunt)


def simulate_group_choices(n: int = 400) -> list[Pair]:
    """Choose the less vile of two responses, and the less blunt one if a woman chooses."""
    rng = np.random.default_rng(3)
    pairs: list[Pair] = []
    while len(pairs) < n:
        (one, *of_one), (other, *of_other) = write_response(rng), write_response(rng)
        rater = int(rng.integers(24))
        harm = np.array([2.0, 2.0 if rater % 2 else 0.0])
        if one != other:
            prefers_one = (np.array(of_other, float) - np.array(of_one, float)) @ harm + rng.normal() > 0
            chosen, rejected = (one, other) if prefers_one else (other, one)
            groups = (("rater_gender", "Woman" if rater % 2 else "Man"),)
            context = (Turn("human", f"Say something about number {len(pairs)}."),)
            pairs.append(Pair(context, chosen, rejected, rater=f"r{rater}", groups=groups))
    return pairs
