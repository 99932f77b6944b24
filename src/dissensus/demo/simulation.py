"""Simulated conversations, simulated raters with their answers, and the plan of their quota."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dissensus.campaign.gold_labels import GoldAnswers
from dissensus.demo.staff import first_label
from dissensus.pipeline.plan.pool import PoolPlan, PoolSettings, plan_pool
from dissensus.pipeline.simulate import preset, simulate
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.columns import ITEM_ID, RATER_ID
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.text.pasted import parse_context

AXIS: Final = "rater_gender"
REMOVAL: Final = 19 / 123
"""Share of the raters of DICES-350 who were removed for their quality."""
QUESTIONNAIRE, DEMOGRAPHICS = "dices-350", "demographics-dices"


@dataclass(frozen=True, slots=True)
class DemoOpinion:
    """Answers of a rater to one conversation, and the time that they take."""

    answers: Mapping[str, str]
    seconds: float


@dataclass(frozen=True, slots=True)
class DemoRater:
    """Rater with demographics, and opinions by the digest of the conversation."""

    demographics: Mapping[str, str]
    opinions: Mapping[str, DemoOpinion]


@dataclass(frozen=True, slots=True)
class DemoCampaign:
    """Items, gold labels and raters of the demo campaign."""

    items: tuple[Item, ...]
    gold: tuple[GoldAnswers, ...]  # First label of each item
    raters: tuple[DemoRater, ...]


def simulate_demo_campaign(n_items: int, n_raters: int, *, seed: int = 0) -> DemoCampaign:
    """Simulate part of DICES-350, with its differences between groups; at most 350 items and 123 raters.

    Examples
    --------
    >>> campaign = simulate_demo_campaign(3, 2)
    >>> len(campaign.items), campaign.items[0].conversation.rated_turn.speaker
    (3, 'bot')
    >>> len(campaign.raters[0].opinions), sorted(campaign.raters[0].demographics)
    (3, ['rater_age', 'rater_education', 'rater_gender', 'rater_race'])
    """
    frame = simulate(preset(QUESTIONNAIRE), seed=seed).frame
    rng = np.random.default_rng(seed)
    rows = frame.unique(ITEM_ID, keep="first", maintain_order=True).sort(ITEM_ID)
    rows = rows[rng.permutation(rows.height)[:n_items]]
    items = {row[ITEM_ID]: _build_item(row) for row in rows.iter_rows(named=True)}
    gold = tuple(first_label(row) for row in rows.iter_rows(named=True))
    ratings = frame.filter(pl.col(ITEM_ID).is_in(list(items)))
    rater_ids = ratings[RATER_ID].unique(maintain_order=True)
    sampled_ids = rater_ids[rng.permutation(rater_ids.len())[:n_raters]]
    raters = tuple(_build_rater(ratings.filter(pl.col(RATER_ID) == rater_id), items) for rater_id in sampled_ids)
    return DemoCampaign(tuple(items.values()), gold, raters)


def _build_item(row: Mapping[str, object]) -> Item:
    turns = parse_context(str(row["context"]), str(row["response"])) or ()
    return Item(str(row[ITEM_ID]), Conversation.from_turns(turns), {"phase": str(row["phase"])})


def _build_rater(rows: pl.DataFrame, items: Mapping[object, Item]) -> DemoRater:
    questions = [question.name for question in load_questionnaire(QUESTIONNAIRE).questions]
    attributes = [question.name for question in load_questionnaire(DEMOGRAPHICS).questions]
    first = rows.row(0, named=True)
    opinions = {
        items[row[ITEM_ID]].conversation.digest: DemoOpinion(
            {name: row[name] for name in questions}, row["answer_time_ms"] / 1000
        )
        for row in rows.iter_rows(named=True)
    }
    return DemoRater({name: str(first[name]) for name in attributes if name in first}, opinions)


def plan_raters(raters: Sequence[DemoRater]) -> PoolPlan:
    """Plan a quota in which all raters find a seat, as many usable ones of each gender as the most frequent one has.

    Examples
    --------
    >>> plan = plan_raters(simulate_demo_campaign(4, 24, seed=1).raters)
    >>> [(cell.cell, cell.needed, cell.seats) for cell in plan.cells]
    [('Man', 12, 17), ('Woman', 12, 17)]
    """
    counts = Counter(rater.demographics[AXIS] for rater in raters)
    shares = {group: n / counts.total() for group, n in sorted(counts.items())}
    return plan_pool(PoolSettings(axes={AXIS: shares}, seats=max(counts.values()), dropout=0.1, removal=REMOVAL))
