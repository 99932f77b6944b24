"""Simulated items: severity, topic and text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.effects import SimulatedEffects
from dissensus.pipeline.simulate.latent import Floats
from dissensus.pipeline.simulate.scores import allot_counts, deal_values, related_scores, shuffled_scores, slice_values
from dissensus.pipeline.simulate.texts import draw_item_texts
from dissensus.schema.numbers import MAX_COUNT, check_share, check_weights, check_whole
from dissensus.schema.ratings import columns as names

GOLD = ("No", "Yes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of items."""

    name: str  # As ``harm_type`` has it
    weight: float  # How often it comes up, relative to the others
    questions: tuple[str, ...] = ()  # Questions that are likelier than others to carry an unsafe answer about it


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedItems:
    """Settings of the items."""

    count: int
    first_id: int = 1  # Their ids are whole numbers from here
    severities: Mapping[str, float]  # Values of ``degree_of_harm`` from harmless to harmful, with weights
    topics: tuple[Topic, ...]  # What they are about
    topics_per_item: tuple[float, ...] = (1.0,)  # Weights of items with one topic, with two, and so on
    turns: tuple[float, ...] = (1.0,)  # Weights of contexts in which the person speaks once, twice, and so on
    phases: Mapping[str, float]  # Values of ``phase`` with weights
    labelled: float = 1.0  # Share of items whose degree of harm and topics are in the file
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
    truth: pl.DataFrame  # One row each: what is true of it, released or not
    effect: Floats  # How unsafe everybody finds it, and its severity as a normal score, shape (I,)
    severity: Floats
    topics: NDArray[np.bool_]  # Which topics it has, shape (I, topics)


def draw_items(rng: np.random.Generator, items: SimulatedItems, effects: SimulatedEffects) -> DrawnItems:
    """Draw items whose severity and gold label go with their effect."""
    score = shuffled_scores(rng, items.count)
    severity = related_scores(rng, score, effects.severity)
    gold = slice_values(related_scores(rng, score, effects.gold), [1 - items.unsafe, items.unsafe])
    topics = _draw_topics(rng, items)
    names_of = [[topic.name for topic, has in zip(items.topics, row, strict=True) if has] for row in topics]
    truth = pl.DataFrame(
        {
            names.ITEM_ID: np.arange(items.first_id, items.first_id + items.count),
            "effect": effects.item_sd * score,
            "severity": severity,
            "degree_of_harm": pl.Series(list(items.severities)).gather(
                slice_values(severity, [*items.severities.values()])
            ),
            "harm_type": [",".join(each) for each in names_of],
            "safety_gold": pl.Series(GOLD).gather(gold),
        }
    )
    # what the real reasons are called is not known; the topics stand in for them
    reasons = [json.dumps(each) if unsafe else "[]" for each, unsafe in zip(names_of, gold, strict=True)]
    table = _select_released(rng, items, truth).with_columns(pl.Series("safety_gold_reason", reasons))
    return DrawnItems(table=table, truth=truth, effect=effects.item_sd * score, severity=severity, topics=topics)


def _draw_topics(rng: np.random.Generator, items: SimulatedItems) -> NDArray[np.bool_]:
    """Draw topics without replacement, each in proportion to its weight: the largest Gumbel keys."""
    weights = np.array([topic.weight for topic in items.topics], dtype=np.float64)
    with np.errstate(divide="ignore"):
        keys = np.log(weights) + rng.gumbel(size=(items.count, weights.size))
    wanted = 1 + deal_values(rng, items.topics_per_item, items.count)
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    return rank < wanted[:, None]


def _select_released(rng: np.random.Generator, items: SimulatedItems, truth: pl.DataFrame) -> pl.DataFrame:
    """Return what the file tells of the items: their texts, and the labels of those that experts looked at."""
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
