"""How raters are asked how they feel, and what the contact of a campaign sees of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.campaign.care import LONGEST_REACH, is_about
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.store import assignments, raters
from dissensus.store import care as care_store
from dissensus.store.care import Feeling
from dissensus.store.raters import Rater
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.journey import Step, check_here, present, step, step_planned

MIN_RATERS: Final = 5
"""Raters in a mean that is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactRequest:
    """Whether the contact of the campaign is to know how a rater feels, and how the rater can be reached."""

    told: bool = False
    reach: str = ""


def answer_survey(
    platform: Platform,
    rater: Rater,
    number: int,
    answers: Mapping[str, object],
    telling: ContactRequest = ContactRequest(),
    *,
    now: datetime,
) -> Step:
    """Keep how a rater feels, where that is asked now, and return where they are then; twice sent is once."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        check_here(here.rater)
        care, reach = here.campaign.care, telling.reach.strip()
        found = step_planned(tx, here, now=now)
        if care is not None and found is not None and (found.place, found.n_asked) == ("feelings", number):
            if len(reach) > LONGEST_REACH:
                raise InvalidInput(f"It has {len(reach):,} characters. Say in {LONGEST_REACH} how you can be reached.")
            given = care.survey.check(answers, complete=False)
            told = telling.told and bool(care.contact)
            care_store.add(tx, rater.id, number, given, told=told, reach=reach or None if told else None, now=now)
            # That they were asked, and nothing of what they said: owners read the log.
            log_rater_event(tx, here.rater, "feel", now, number=number)
            found = step_planned(tx, here, now=now)
    return found or step(platform, rater, now=now)


def avoid_topics(platform: Platform, rater: Rater, topics: Collection[str], *, now: datetime) -> Step:
    """Keep which topics a rater does not want to meet, where that is asked now, and return where they are then."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        check_here(here.rater)
        known = {} if here.campaign.care is None else here.campaign.care.topics
        strange = [name for name in topics if name not in known]
        if strange:
            raise InvalidInput(f"There is no topic {format_value(strange[0])}. There are {format_list(list(known))}.")
        found = step_planned(tx, here, now=now)
        if found is not None and found.place == "topics":
            raters.leave_out(tx, rater.id, [name for name in known if name in topics])
            _reclaim_items(tx, rater, topics, now)
            log_rater_event(tx, here.rater, "declare", now, questions=["topics"])
    return step(platform, rater, now=now)


def _reclaim_items(tx: Connection, rater: Rater, topics: Collection[str], now: datetime) -> None:
    """Let others have what was planned for a rater before they were asked, and is about what they leave out."""
    n_open = assignments.progress_of(tx, rater.id, since=now).n_open
    for one in assignments.open_of(tx, rater.id, most=n_open):
        if is_about(one.item.attributes, topics):
            assignments.close(tx, one, "reclaimed", now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class CareSummary:
    """What the contact of a campaign sees."""

    survey: Questionnaire
    told: tuple[Feeling, ...]  # What raters want them to know
    # The mean answer to each question, None where fewer than `MIN_RATERS` raters answered, and how many did
    means: Mapping[str, tuple[float | None, int]]


def load_care_summary(platform: Platform, name: str, *, staff_id: str) -> CareSummary:
    """Return how the raters of a campaign feel."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        care = platform.definitions.of(tx, kept).care
        if care is None:
            raise NotFound(f"{name} does not ask raters how they feel: it has no [care].")
        return CareSummary(survey=care.survey, told=care_store.told(tx, kept.id), means=_mean_answers(tx, kept.id, care.survey))


def _mean_answers(tx: Connection, campaign_id: str, survey: Questionnaire) -> dict[str, tuple[float | None, int]]:
    """Return the mean place on its scale of each answer, first of a rater and then of all."""
    said = care_store.answers_of(tx, campaign_id)
    found: dict[str, tuple[float | None, int]] = {}
    for question in survey.questions:
        places: dict[str, list[int]] = {}
        for rater_id, answers in said:
            answer = answers.get(question.name)
            if isinstance(answer, str) and answer in question.scale:
                places.setdefault(rater_id, []).append(question.scale.index(answer))
        of_raters = [sum(one) / len(one) for one in places.values()]
        few = len(of_raters) < MIN_RATERS
        found[question.name] = (None if few else sum(of_raters) / len(of_raters), 0 if few else len(of_raters))
    return found


def settle_contact_request(platform: Platform, name: str, rater_id: str, number: int, *, staff_id: str, now: datetime) -> None:
    """Keep that somebody dealt with what a rater said."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        if not care_store.settle(tx, kept.id, rater_id, number, now=now):
            raise NotFound("Nothing of this is open: somebody dealt with it, or the rater withdrew. Load it again.")
