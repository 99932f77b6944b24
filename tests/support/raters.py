"""Raters who enter the campaign `pilot` and rate its items."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.support.campaigns import AGREED, NOW

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.next_step import RaterStep


def enter(platform: Platform, key: str | None, **options: Any) -> RaterRow:
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(key), "en"), AGREED, now=NOW, **options)
    return rater


def make_save(answer: str = "No", *, revision: int = 1, visible_ms: int = 1000) -> AnswerSave:
    return AnswerSave(
        revision=revision, visit="v", visible_ms=visible_ms, idle_ms=0, answers={"Q_safe": DraftAnswer(value=answer)}
    )


def submit(
    platform: Platform, rater: RaterRow, at: RaterStep, key: str, answer: str = "No", *, now: datetime = NOW
) -> RaterStep:
    assert at.assignment is not None
    save = replace(make_save(answer), open_ms=1000 if at.campaign.click_to_reveal else None)
    return rating.submit_answers(platform, rater, at.assignment.id, key, save, now=now)


def rate_all(platform: Platform, rater: RaterRow, *, now: datetime = NOW) -> list[str]:
    """Rate all planned items; return their ids in order."""
    at, item_ids = next_step.find_next_step(platform, rater, now=now), []
    while at.stage == "rate":
        assert at.assignment is not None
        item_ids.append(at.assignment.item.item_id)
        at = submit(platform, rater, at, f"{rater.id[-12:]}-{len(item_ids)}", now=now)
    return item_ids
