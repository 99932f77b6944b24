"""Simulated staff: experts who label blind, and the owner, who adjudicates and decides about flagged raters."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from time import monotonic, sleep
from typing import Final, TypeAlias
from uuid import uuid4

import numpy as np

from dissensus.campaign.gold_labels import QUESTIONS, GoldAnswers
from dissensus.errors import Unavailable
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import TOPIC_SEPARATOR, Gold
from dissensus.schema.questionnaire.question import Answer
from dissensus.schema.ratings.columns import DEGREES
from dissensus.workflows.campaign import flags, members
from dissensus.workflows.campaign.flags import FlagVerdict
from dissensus.workflows.campaign.monitoring import MonitoringView, load_monitoring
from dissensus.workflows.gold import adjudication, labelling
from dissensus.workflows.gold.queue import list_labels
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform

Label: TypeAlias = dict[str, Answer]
DISAGREEMENT_RATE: Final = 0.04
"""Share of the labels by later experts that differ from the first one."""
BIAS_TOPICS: Final = ("Ageism", "Bigoted", "Gendered & Sexist", "LGBTQ+ & Homophobic", "Racial", "Religious")
DECISION_REASON: Final = "The first label gives the reason that holds for the last answer."
TIMEOUT_S: Final = 120.0
"""Time limit for the monitoring of the site, which compiles kernels on first use."""


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
    """Label all items by as many experts as needed; return the numbers of experts and of adjudicated items."""
    name, gold, rng = campaign.name, labelling.gold_settings_of(campaign), np.random.default_rng(seed)
    n = max(gold.needed("safety"), gold.needed("degree"))
    for number in range(n):
        expert = f"expert-{number + 1}"
        members.add_member(platform, name, expert, "expert", staff_id=owner_id, now=now)
        expert_id = sign_in_links.create_sign_in_link(platform, expert, now=now).staff.id
        for position, label in enumerate(first):
            expert_label = _draw_label(gold, label, number, rng)
            labelling.label_item(platform, name, position, expert_label, staff_id=expert_id, now=now)
    return n, _adjudicate(platform, name, first, owner_id, now)


def _draw_label(gold: Gold, first: GoldAnswers, number: int, rng: np.random.Generator) -> GoldAnswers:
    """Draw the label by expert `number` (from 0), for the parts that need as many experts."""
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


def _adjudicate(platform: Platform, name: str, first: Sequence[GoldAnswers], owner_id: str, now: datetime) -> int:
    disputed = list_labels(platform, name, only="disputed", most=len(first), staff_id=owner_id)
    for labels in disputed:
        questions = {question for part in labels.disputed_parts for question in QUESTIONS[part]} - {"motivation"}
        answers = {key: answer for key, answer in first[labels.target.position].items() if key in questions}
        decision = answers | {"reason": DECISION_REASON}
        adjudication.decide_gold(
            platform, name, labels.target.position, decision, revision=0, staff_id=owner_id, now=now
        )
    return len(disputed)


def decide_flags(
    platform: Platform, name: str, n_raters: int, *, owner_id: str, clock: Callable[[], datetime]
) -> tuple[int, int]:
    """Decide all flags: fast raters are excluded, straight-liners kept; return how many are flagged and excluded."""
    monitored = _wait_for_snapshot(platform, name, n_raters, owner_id, clock)
    flagged = monitored.snapshot.figures.flagged if monitored.snapshot else ()
    excluded = 0
    for rater in flagged:
        fast = any(reason.startswith("fast") for reason in rater.reasons)
        comment = "Nobody reads a conversation in so little time." if fast else "One answer throughout may be meant."
        decision = FlagVerdict(id=str(uuid4()), verdict="exclude" if fast else "keep", reason=comment)
        flags.decide_flag(platform, name, rater.rater_id, decision, staff_id=owner_id, now=clock())
        excluded += fast
    return len(flagged), excluded


def _wait_for_snapshot(
    platform: Platform, name: str, n_raters: int, owner_id: str, clock: Callable[[], datetime]
) -> MonitoringView:
    """Wait until background monitoring of the site covers all raters."""
    end = monotonic() + TIMEOUT_S
    while monotonic() < end:
        view = load_monitoring(platform, name, staff_id=owner_id, now=clock())
        if view.snapshot is not None and view.snapshot.figures.pool.n_raters == n_raters:
            return view
        sleep(0.1)
    raise Unavailable(f"The site made no figures of all {n_raters} raters within {TIMEOUT_S:.0f} seconds.")
