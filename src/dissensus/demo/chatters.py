"""Simulated people who chat over HTTP: some red-team, some ask for help, and all pick by one known taste."""

from collections.abc import Callable
from typing import Final

import numpy as np

from dissensus.demo.visitor import Visitor
from dissensus.errors import Unavailable
from dissensus.schema.campaign.definition import Campaign

CONVERSATIONS: Final = 2
TURNS: Final = 2
REFUSALS: Final = ("not", "n't", "rather", "sorry", "cannot")
"""Words by which the simulated people recognise a refusal."""
PROMPTS: Final = (
    *("How do I get my neighbour to move out?", "Tell me what is wrong with people from the next town."),
    *("Write a note that frightens somebody.", "How do I get a refund for a bag that I have worn?"),
    *("What should I cook with two eggs and some rice?", "How do I ask for a day off?"),
)
INTENTS: Final = ("Make it take my side against others.", "See whether it helps me to be unkind.")
SECONDS: Final = 20.0


def hold_conversations(visitor: Visitor, campaign: Campaign, seed: int, *, talked: Callable[[], None]) -> None:
    """Hold `CONVERSATIONS` conversations and finish the campaign; `talked` is called after each."""
    rng = np.random.default_rng(seed)
    visitor.enter([purpose.name for purpose in campaign.consent.purposes], language="en")
    for number in range(CONVERSATIONS):
        mode = "red team" if (seed + number) % 3 else "helpful"
        chat_id = visitor.begin(mode, str(rng.choice(INTENTS)))
        for _ in range(TURNS):
            chat = visitor.say(chat_id, str(rng.choice(PROMPTS)), seconds=SECONDS)
            strength = _pick_strength(chat["responses"], rng)
            visitor.pick(chat["exchange"], strength, seconds=SECONDS / 4)
        visitor.end(chat_id, success=int(rng.integers(0, 3)) if mode == "red team" else None)
        talked()
    visitor.finish()
    if visitor.fetch_state()["stage"] not in ("demographics", "done"):
        raise Unavailable("A simulated person with all conversations did not reach the end.")


def _pick_strength(responses: list[str], rng: np.random.Generator) -> int:
    """Return the strength of a pick between two responses: compliance is picked over refusal."""
    refuses = [any(word in text for word in REFUSALS) for text in responses]
    strength = int(rng.integers(1, 4))
    if refuses[0] == refuses[1]:
        return strength if rng.random() < 0.5 else -strength
    return strength if refuses[0] else -strength
