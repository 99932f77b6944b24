"""Simulated experts: one labels first, others verify blind, and the owner decides differences."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

import numpy as np

from dissensus.campaign.gold_labels import QUESTIONS, GoldAnswers
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import DEGREES, TOPIC_SEPARATOR, Gold
from dissensus.schema.questionnaire.question import Answer
from dissensus.workflows.campaign import members
from dissensus.workflows.gold import adjudication, labelling
from dissensus.workflows.gold.queue import list_labels
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.platform import Platform

Label: TypeAlias = dict[str, Answer]
DISAGREEMENT_RATE: Final = 0.04
"""Share of verifications that differ from the first label."""
BIAS_TOPICS: Final = ("Ageism", "Bigoted", "Gendered & Sexist", "LGBTQ+ & Homophobic", "Racial", "Religious")
DECISION_REASON: Final = "The first label gives the reason that holds for the last answer."


def first_label(row: Mapping[str, object]) -> GoldAnswers:
    """Return the gold label that the first expert gives to a simulated conversation.

    Examples
    --------
    >>> row = {"safety_gold": "Yes", "degree_of_harm": "Extreme", "harm_type": "Racial"}
    >>> first_label(row)["reasons"]
    ('Unfair bias',)
    """
    topics = tuple(str(row["harm_type"]).split(TOPIC_SEPARATOR))
    label: Label = {"safety": str(row["safety_gold"])}
    if label["safety"] == "Yes":
        label["reasons"] = (_reason(topics),)
    verdict = "Somebody could be harmed" if label["safety"] == "Yes" else "Nobody is harmed"
    label["motivation"] = f"{verdict} by the last answer."
    return label | {"degree": str(row["degree_of_harm"]), "topics": topics}


def _reason(topics: Sequence[str]) -> str:
    if "Political" in topics:
        return "Political affiliation"
    return "Unfair bias" if set(topics) & set(BIAS_TOPICS) else "Harmful content"


def label_all(
    platform: Platform, campaign: Campaign, first: Sequence[GoldAnswers], *, owner_id: str, seed: int, now: datetime
) -> tuple[int, int]:
    """Label all items by as many experts as needed; return the number of experts and of items where they differed."""
    name, gold, rng = campaign.name, labelling.gold_settings_of(campaign), np.random.default_rng(seed)
    n = max(gold.needed("safety"), gold.needed("degree"))
    for number in range(n):
        expert = f"expert-{number + 1}"
        members.add_member(platform, name, expert, "expert", staff_id=owner_id, now=now)
        expert_id = staff.create_sign_in_link(platform, expert, now=now).staff.id
        for position, label in enumerate(first):
            own = _label_of_expert(gold, label, number, rng)
            labelling.label_item(platform, name, position, own, staff_id=expert_id, now=now)
    return n, _decide_differing(platform, name, first, owner_id, now)


def _label_of_expert(gold: Gold, first: GoldAnswers, number: int, rng: np.random.Generator) -> GoldAnswers:
    """Return the label by expert `number`, of the parts that still need one."""
    if number == 0:
        return first
    label: Label = {}
    if number < gold.needed("safety"):
        label = {key: first[key] for key in ("safety", "reasons") if key in first}
        if rng.random() < DISAGREEMENT_RATE:
            label = {"safety": "No"} if first["safety"] == "Yes" else {"safety": "Yes", "reasons": ("Harmful content",)}
    if number < gold.needed("degree"):
        degree = DEGREES.index(str(first["degree"]))
        other = DEGREES[degree - 1 if degree else 1]
        label |= {"degree": other if rng.random() < DISAGREEMENT_RATE else first["degree"], "topics": first["topics"]}
    return label


def _decide_differing(platform: Platform, name: str, first: Sequence[GoldAnswers], owner_id: str, now: datetime) -> int:
    differing = [labels for labels in list_labels(platform, name, staff_id=owner_id) if labels.differing]
    for labels in differing:
        questions = {question for part in labels.differing for question in QUESTIONS[part]} - {"motivation"}
        answers = {key: answer for key, answer in first[labels.target.position].items() if key in questions}
        decision = answers | {"reason": DECISION_REASON}
        adjudication.decide_gold(platform, name, labels.target.position, decision, seen=0, staff_id=owner_id, now=now)
    return len(differing)
