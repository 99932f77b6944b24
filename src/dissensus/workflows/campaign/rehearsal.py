"""Dry run: simulated raters pass through a campaign; their data are never exported."""

from datetime import datetime, timedelta

import numpy as np

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.campaign.rehearsal import draw_answers
from dissensus.errors import Conflict, InvalidInput
from dissensus.store.core.orm import new_id
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import attention_checks, care, enrolment, next_step, quota_screening, rating
from dissensus.workflows.rater.enrolment import Arrival

MAX_RATERS = 1_000
ITEM_S = 60
"""Time of a rater for a page, such as an item."""


def run_rehearsal(platform: Platform, name: str, n_raters: int, *, staff_id: str, seed: int = 0, now: datetime) -> int:
    """Let simulated raters take part in a campaign in any state and return the number of rated items."""
    if not 1 <= n_raters <= MAX_RATERS:
        raise InvalidInput(f"{n_raters:,} raters were requested; 1 to {MAX_RATERS:,} can rehearse.")
    campaign = campaigns.load_definition(platform, name, staff_id=staff_id)
    if campaign.chat is not None:
        raise Conflict(f"In {name} raters talk with chatbots, which no simulated rater does. Preview it yourself.")
    agreed = {purpose.name: True for purpose in campaign.consent.purposes}
    n_rated = 0
    for index in range(n_raters):
        arrival = Arrival(name, "", campaign.languages[0])
        rater, _ = enrolment.enrol_rater(platform, arrival, agreed, rehearsal=True, now=now)
        n_rated += simulate_rater(platform, rater, np.random.default_rng([seed, index]), now)
    return n_rated


def simulate_rater(platform: Platform, rater: RaterRow, rng: np.random.Generator, at: datetime) -> int:
    """Take one rater through every stage and return the number of rated items."""
    n_rated = 0
    step: next_step.RaterStep | None = next_step.find_next_step(platform, rater, now=at)
    while step is not None and step.stage in ("screener", "demographics", "topics", "check", "survey", "rate"):
        at += timedelta(seconds=ITEM_S)
        if step.about is not None:
            answer = quota_screening.screen_rater if step.stage == "screener" else rating.declare_attributes
            step = answer(platform, rater, draw_answers(step.about, rng), now=at)
        elif step.due is not None:
            check, attempt = step.due.check, step.due.attempt
            step = attention_checks.answer_check(
                platform, rater, check.name, check.correct_answers[0], attempt=attempt, now=at
            )
        elif step.stage == "topics":
            step = care.avoid_topics(platform, rater, (), now=at)
        elif step.stage == "survey":
            step = care.answer_survey(platform, rater, step.n_asked, {}, now=at)
        elif step.assignment is not None:
            values = draw_answers(step.campaign.questionnaire, rng)
            answers = {name: DraftAnswer(value=value) for name, value in values.items()}
            save = AnswerSave(
                revision=1,
                visit=new_id(at),
                visible_ms=1000 * ITEM_S,
                idle_ms=0,
                open_ms=1000 * ITEM_S if step.campaign.click_to_reveal else None,
                answers=answers,
            )
            step = rating.submit_answers(platform, rater, step.assignment.id, new_id(at), save, now=at)
            n_rated += 1
    return n_rated
