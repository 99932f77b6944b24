"""Experts whom nobody knows: one labels first, others verify without seeing it, and an owner decides."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from dissensus.campaign.gold_labels import QUESTIONS, Said
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import BETWEEN, DEGREES, Gold
from dissensus.workflows.campaign import members
from dissensus.workflows.gold import adjudication, labelling
from dissensus.workflows.gold.queue import list_labels
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.platform import Platform

if TYPE_CHECKING:
    from dissensus.schema.questionnaire.question import Answer

OTHERWISE: Final = 0.04
"""How often somebody who verifies or checks says something else than who was first."""
BIAS: Final = ("Ageism", "Bigoted", "Gendered & Sexist", "LGBTQ+ & Homophobic", "Racial", "Religious")
WHY: Final = "The first label gives the reason that holds for the last answer."


def first_label(row: Mapping[str, object]) -> Said:
    """Return what the first expert says of a drawn conversation.

    Examples
    --------
    >>> row = {"safety_gold": "Yes", "degree_of_harm": "Extreme", "harm_type": "Racial"}
    >>> first_label(row)["reasons"]
    ('Unfair bias',)
    """
    topics = tuple(str(row["harm_type"]).split(BETWEEN))
    said: dict[str, Answer] = {"safety": str(row["safety_gold"])}
    if said["safety"] == "Yes":
        said["reasons"] = (_reason(topics),)
    why = "Somebody could be harmed" if said["safety"] == "Yes" else "Nobody is harmed"
    said["motivation"] = f"{why} by the last answer."
    return said | {"degree": str(row["degree_of_harm"]), "topics": topics}


def _reason(topics: Sequence[str]) -> str:
    if "Political" in topics:
        return "Political affiliation"
    return "Unfair bias" if set(topics) & set(BIAS) else "Harmful content"


def label_all(
    platform: Platform, campaign: Campaign, first: Sequence[Said], *, owner_id: str, seed: int, now: datetime
) -> tuple[int, int]:
    """Let as many experts label all items as the campaign wants, and its owner decide where they differ."""
    name, gold, rng = campaign.name, labelling.gold_settings_of(campaign), np.random.default_rng(seed)
    n = max(gold.needed("safety"), gold.needed("degree"))
    for place in range(n):
        expert = f"expert-{place + 1}"
        members.add_member(platform, name, expert, "expert", staff_id=owner_id, now=now)
        expert_id = staff.create_sign_in_link(platform, expert, now=now).staff.id
        for position, said in enumerate(first):
            own = _said(gold, said, place, rng)
            labelling.label_item(platform, name, position, own, staff_id=expert_id, now=now)
    return n, _decide(platform, name, first, owner_id, now)


def _said(gold: Gold, first: Said, place: int, rng: np.random.Generator) -> Said:
    """Return what an expert says, of what still needs somebody when they come."""
    if place == 0:
        return first
    said: dict[str, Answer] = {}
    if place < gold.needed("safety"):
        said = {key: first[key] for key in ("safety", "reasons") if key in first}
        if rng.random() < OTHERWISE:
            said = {"safety": "No"} if first["safety"] == "Yes" else {"safety": "Yes", "reasons": ("Harmful content",)}
    if place < gold.needed("degree"):
        degree = DEGREES.index(str(first["degree"]))
        other = DEGREES[degree - 1 if degree else 1]
        said |= {"degree": other if rng.random() < OTHERWISE else first["degree"], "topics": first["topics"]}
    return said


def _decide(platform: Platform, name: str, first: Sequence[Said], owner_id: str, now: datetime) -> int:
    differing = [one for one in list_labels(platform, name, staff_id=owner_id) if one.differing]
    for one in differing:
        asked = {question for part in one.differing for question in QUESTIONS[part]} - {"motivation"}
        said = {key: answer for key, answer in first[one.target.position].items() if key in asked}
        given = said | {"why": WHY}
        adjudication.decide_gold(platform, name, one.target.position, given, seen=0, staff_id=owner_id, now=now)
    return len(differing)
