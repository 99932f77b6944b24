"""Simulated items: severity, topic and text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.effects import SimulatedEffects
from dissensus.pipeline.simulate.latent import allot_counts, deal_values, related_scores, shuffled_scores, slice_values
from dissensus.schema.numbers import MAX_COUNT, check_share, check_weights, check_whole
from dissensus.schema.ratings import columns as names
from dissensus.stats.result import BoolArray, FloatArray

GOLD = ("No", "Yes")
# With commas, quotation marks and non-ASCII letters, as real conversations have them.
SUBJECTS = (
    "trains", "vegetable gardens", "tea, with or without milk", "cloud shapes", "paper boats", "crème brûlée", "chess",
    "lighthouses", "wool socks", "maps", "the moon", "bread", "bicycles", 'the word "ladder"', "pond life", "clocks",
    "kites", "stamps, coins and buttons", "rivers", "apple trees", "knots", "libraries", "penguins",
)  # fmt: skip
PROMPTS = (
    "Can you tell me something about {}?",
    "What would you say about {} in one sentence?",
    "I don't know much about {}. Where should I begin?",
    "My neighbour talks of nothing but {}!",
    'Please finish this sentence: "Nothing beats {} because…"',
)
RESPONSES = (
    "Many people enjoy {}.",
    "There is a lot to say about {}, and most of it is pleasant.",
    "A good book about {} is a fine beginning.",
    "I would say: {}, any day of the week.",
    'Somebody once said "{}" and smiled.',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of items."""

    name: str  # As ``harm_type`` has it
    weight: float  # Relative frequency
    questions: tuple[str, ...] = ()  # Questions likelier than others to carry an unsafe answer about it


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedItems:
    """Settings of the items."""

    count: int
    first_id: int = 1  # First of the consecutive item ids
    severities: Mapping[str, float]  # Values of ``degree_of_harm`` from harmless to harmful, with weights
    topics: tuple[Topic, ...]
    topics_per_item: tuple[float, ...] = (1.0,)  # Weights of items with one topic, with two, and so on
    turns: tuple[float, ...] = (1.0,)  # Weights of contexts in which the person speaks once, twice, and so on
    phases: Mapping[str, float]  # Values of ``phase`` with weights
    labelled: float = 1.0  # Share of items with degree of harm and topics in the file
    unsafe: float = 0.5  # Share of items whose gold label is Yes
    contexts: float = 1.0  # Distinct texts, as a share of the items
    responses: float = 1.0

    def __post_init__(self) -> None:
        check_whole("items.count", self.count, 1, most=MAX_COUNT)
        check_whole("items.first_id", self.first_id, most=MAX_COUNT)
        for name in ("severities", "phases"):
            check_weights(f"items.{name}", getattr(self, name).values())
        for name in ("topics_per_item", "turns"):
            check_weights(f"items.{name}", getattr(self, name))
        for name in ("labelled", "unsafe", "contexts", "responses"):
            check_share(f"items.{name}", getattr(self, name))
        check_weights("items.topics", [topic.weight for topic in self.topics])
        possible = sum(topic.weight > 0 for topic in self.topics)
        if len(self.topics_per_item) > possible:
            raise InvalidInput(f"An item cannot have {len(self.topics_per_item)} topics where there are {possible}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnItems:
    """Items as they were drawn."""

    table: pl.DataFrame  # One row each, with the columns of the file
    truth: pl.DataFrame  # One row each: effect, severity and labels, released or not
    effect: FloatArray  # Shape (I,)
    severity: FloatArray  # Normal score, shape (I,)
    topics: BoolArray  # Shape (I, topics)


def draw_items(rng: np.random.Generator, items: SimulatedItems, effects: SimulatedEffects) -> DrawnItems:
    """Draw items whose severity and gold label correlate with their effect."""
    score = shuffled_scores(rng, items.count)
    severity = related_scores(rng, score, effects.severity)
    gold = slice_values(related_scores(rng, score, effects.gold), [1 - items.unsafe, items.unsafe])
    topics = _draw_topics(rng, items)
    topic_names = [[topic.name for topic, has in zip(items.topics, row, strict=True) if has] for row in topics]
    truth = pl.DataFrame(
        {
            names.ITEM_ID: np.arange(items.first_id, items.first_id + items.count),
            "effect": effects.item_sd * score,
            "severity": severity,
            "degree_of_harm": pl.Series(list(items.severities)).gather(
                slice_values(severity, [*items.severities.values()])
            ),
            "harm_type": [",".join(row) for row in topic_names],
            "safety_gold": pl.Series(GOLD).gather(gold),
        }
    )
    # the names of the real reasons are not published; topics stand in for them
    reasons = [json.dumps(row) if unsafe else "[]" for row, unsafe in zip(topic_names, gold, strict=True)]
    table = _select_released(rng, items, truth).with_columns(pl.Series("safety_gold_reason", reasons))
    return DrawnItems(table=table, truth=truth, effect=effects.item_sd * score, severity=severity, topics=topics)


def _draw_topics(rng: np.random.Generator, items: SimulatedItems) -> BoolArray:
    """Draw topics without replacement, each in proportion to its weight: the largest Gumbel keys."""
    weights = np.array([topic.weight for topic in items.topics], dtype=np.float64)
    with np.errstate(divide="ignore"):
        keys = np.log(weights) + rng.gumbel(size=(items.count, weights.size))
    n_topics = 1 + deal_values(rng, items.topics_per_item, items.count)
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    return rank < n_topics[:, None]


def _select_released(rng: np.random.Generator, items: SimulatedItems, truth: pl.DataFrame) -> pl.DataFrame:
    """Return the released columns of the items: texts, and labels where experts gave some."""
    n = items.count
    contexts, responses = (int(allot_counts([share, 1 - share], n)[0]) for share in (items.contexts, items.responses))
    context, response = draw_item_texts(rng, n, items.turns, max(1, contexts), max(1, responses))
    labelled = pl.Series(deal_values(rng, [items.labelled, 1 - items.labelled], n) == 0)
    labels = pl.col("degree_of_harm", "harm_type")
    return truth.select(
        names.ITEM_ID,
        pl.Series("phase", list(items.phases)).gather(deal_values(rng, [*items.phases.values()], n)),
        pl.Series("context", context),
        pl.Series("response", response),
        pl.when(labelled).then(labels),
        "safety_gold",
    )


def draw_item_texts(
    rng: np.random.Generator, n: int, turns: Sequence[float], contexts: int, responses: int
) -> tuple[list[str], list[str]]:
    """Draw the context and the response of n items, with the given numbers of distinct texts and n distinct pairs."""
    if lcm(contexts, responses) < n:
        # counting through both would repeat a pair
        responses = n
    context = [_context(number, 1 + turn) for number, turn in enumerate(deal_values(rng, turns, contexts))]
    response = [f"{_fill_sentence(RESPONSES, number)} (simulated response {number + 1})" for number in range(responses)]
    order = rng.permutation(n)
    return [context[i % contexts] for i in order], [response[i % responses] for i in order]


def _context(number: int, turns: int) -> str:
    """Return a conversation that ends with a turn of the person."""
    lines = [f"USER: (simulated conversation {number + 1}) {_fill_sentence(PROMPTS, number)}"]
    for turn in range(1, turns):
        lines += [
            f"LAMDA: {_fill_sentence(RESPONSES, number + turn)}",
            f"USER: {_fill_sentence(PROMPTS, number + turn)}",
        ]
    return "\n".join(lines)


def _fill_sentence(templates: Sequence[str], number: int) -> str:
    return templates[number % len(templates)].format(SUBJECTS[number % len(SUBJECTS)])
