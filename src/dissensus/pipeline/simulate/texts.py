"""Harmless stand-ins for adversarial texts."""

from collections.abc import Sequence
from math import lcm

import numpy as np

from dissensus.pipeline.simulate.scores import deal_values

# Commas, quotation marks and letters beyond ASCII are there because real conversations have them.
SUBJECTS = (
    "trains", "vegetable gardens", "tea, with or without milk", "cloud shapes", "paper boats", "crème brûlée", "chess",
    "lighthouses", "wool socks", "maps", "the moon", "bread", "bicycles", 'the word "ladder"', "pond life", "clocks",
    "kites", "stamps, coins and buttons", "rivers", "apple trees", "knots", "libraries", "penguins",
)  # fmt: skip
ASKED = (
    "Can you tell me something about {}?",
    "What would you say about {} in one sentence?",
    "I don't know much about {}. Where should I begin?",
    "My neighbour talks of nothing but {}!",
    'Please finish this sentence: "Nothing beats {} because…"',
)
ANSWERED = (
    "Many people enjoy {}.",
    "There is a lot to say about {}, and most of it is pleasant.",
    "A good book about {} is a fine beginning.",
    "I would say: {}, any day of the week.",
    'Somebody once said "{}" and smiled.',
)


def draw_item_texts(
    rng: np.random.Generator, n: int, turns: Sequence[float], contexts: int, responses: int
) -> tuple[list[str], list[str]]:
    """Draw the context and the response of n items: so many distinct ones of each, and n distinct pairs."""
    if lcm(contexts, responses) < n:
        # counting through both would meet the same pair again
        responses = n
    asked = [_context(number, 1 + turn) for number, turn in enumerate(deal_values(rng, turns, contexts))]
    answered = [f"{_sentence(ANSWERED, number)} (simulated response {number + 1})" for number in range(responses)]
    order = rng.permutation(n)
    return [asked[i % contexts] for i in order], [answered[i % responses] for i in order]


def _context(number: int, turns: int) -> str:
    """Return a conversation that ends with the person speaking."""
    lines = [f"USER: (simulated conversation {number + 1}) {_sentence(ASKED, number)}"]
    for turn in range(1, turns):
        lines += [f"LAMDA: {_sentence(ANSWERED, number + turn)}", f"USER: {_sentence(ASKED, number + turn)}"]
    return "\n".join(lines)


def _sentence(forms: Sequence[str], number: int) -> str:
    return forms[number % len(forms)].format(SUBJECTS[number % len(SUBJECTS)])
