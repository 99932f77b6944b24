"""A large rated campaign, written straight to the tables."""

import json
from dataclasses import replace
from datetime import timedelta

import numpy as np
from sqlalchemy import insert, select, update
from tests.support.campaigns import NOW, owner

from dissensus.schema.campaign.shipped import load_campaign, rename_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival

DEGREES = ("Benign", "Debatable", "Moderate", "Extreme")


def rated_campaign(
    platform: Platform, n_items: int, n_raters: int, *, name: str = "crowded", release_signers: int | None = None
) -> CampaignRow:
    """A campaign of DICES-350 with complete ratings and demographics."""
    campaign = replace(rename_campaign(load_campaign("dices-350"), name), release_signers=release_signers)
    staff_id = owner(platform.database, name)
    campaigns.create_campaign(platform, campaign, [_item(n) for n in range(n_items)], staff_id=staff_id, now=NOW)
    row = campaigns.change_state(platform, name, "open", staff_id=staff_id, now=NOW)
    agreed = {purpose.name: True for purpose in campaign.consent.purposes}
    rng = np.random.default_rng(1)
    for _ in range(n_raters):
        rater, _ = enrolment.enrol_rater(platform, Arrival(name, str(row.key), "en"), agreed, now=NOW)
        next_step.find_next_step(platform, rater, now=NOW)
        _rate_all(platform, rater.id, rng)
        assert campaign.demographics is not None
        attributes = {one.name: str(rng.choice(one.scale)) for one in campaign.demographics.questions}
        rating.declare_attributes(platform, rater, {name: attributes[name] for name in attributes}, now=NOW)
    return row


def _item(n: int) -> Item:
    talk = Conversation.from_turns([("human", f"Question {n}, is it?"), ("bot", f"It is {n}.")])
    attributes = {"degree_of_harm": DEGREES[n % 4], "harm_type": "Topic", "safety_gold": "No" if n % 2 else "Yes"}
    return Item(f"{n}", talk, {**attributes, "safety_gold_reason": "[]", "phase": "Phase3"})


def _rate_all(platform: Platform, rater_id: str, rng: np.random.Generator) -> None:
    questions = load_campaign("dices-350").questionnaire.questions
    with platform.database.writing() as tx:
        ids = tx.scalars(select(AssignmentTable.id).where(AssignmentTable.rater_id == rater_id)).all()
        number = (tx.scalar(select(SaveTable.number).order_by(SaveTable.number.desc()).limit(1)) or 0) + 1
        moments = [NOW + timedelta(minutes=n) for n in range(len(ids))]
        tx.execute(
            insert(SaveTable),
            [
                {"number": number + n, "key": one, "assignment_id": one, "revision": 1, "final": True, "visit": "v"}
                | {"visible_ms": int(rng.integers(5000, 200_000)), "idle_ms": 0, "received_at": moment}
                for n, (one, moment) in enumerate(zip(ids, moments, strict=True))
            ],
        )
        tx.execute(
            insert(AnswerTable),
            [
                {"save_number": number + n, "question": one.name, "first_ms": 1, "last_ms": 1, "changes": 0}
                | {"value": json.dumps(one.scale[code if one.in_overall else 0])}
                for n, codes in enumerate(rng.choice(3, (len(ids), len(questions)), p=[0.94, 0.02, 0.04]).tolist())
                for one, code in zip(questions, codes, strict=True)
            ],
        )
        done = update(AssignmentTable).where(AssignmentTable.rater_id == rater_id)
        tx.execute(done.values(state="done", closed_at=NOW, offered_at=NOW))
