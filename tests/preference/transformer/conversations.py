"""Pairs whose better answer depends on the context only."""

import json
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from dissensus.preference.data.pairs import Pair
from dissensus.schema.records.conversation import Turn
from dissensus.text.transcripts import write_hh

if TYPE_CHECKING:
    from dissensus.preference.transformer.model import Transformer

ANSWERS = {"thirsty": "tea for you", "cold": "hat for you"}


def fitting(n: int, *, before: str = "") -> list[Pair]:
    """Return pairs by people who want tea when they are thirsty and a hat when they are cold."""
    pairs = []
    for number, needed in zip(range(n), cycle(ANSWERS), strict=False):
        rejected = next(answer for need, answer in ANSWERS.items() if need != needed)
        question = Turn("human", f"{before}{number:03d} {needed}")
        pairs.append(Pair((question,), ANSWERS[needed], rejected))
    return pairs


def train_fitting(base: str) -> "Transformer":
    """Return a model trained on fitting pairs."""
    from dissensus.preference.transformer.plan import TransformerPlan
    from dissensus.preference.transformer.training import train_transformer

    plan = TransformerPlan(base=base, learning_rate=0.004, epochs=4, batch=8)
    return train_transformer(fitting(400), purpose="helpful", plan=plan)


def write_pairs(pairs: list[Pair], path: Path) -> Path:
    """Write pairs in the format of hh-rlhf."""
    rows = []
    for pair in pairs:
        turns = [(turn.speaker, turn.text) for turn in pair.context]
        answers = {"chosen": pair.chosen, "rejected": pair.rejected}
        rows.append(json.dumps({name: write_hh([*turns, ("bot", answer)]) for name, answer in answers.items()}))
    path.write_text("\n".join(rows))
    return path
