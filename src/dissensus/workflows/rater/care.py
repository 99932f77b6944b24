"""Care: wellbeing surveys of raters, and what the campaign's contact sees of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.campaign.care import MAX_CONTACT_LENGTH, has_topic
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.stats.suppression import MIN_CELL
from dissensus.store import assignments, raters
from dissensus.store import care as care_store
from dissensus.store.care import CareSurveyRow
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import check_not_withdrawn, load_rater
from dissensus.workflows.rater.journey import RaterState, next_state, planned_state


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactRequest:
    """Consent of a rater to show an answer to the campaign's contact, with contact details."""

    notify: bool = False
    contact_info: str = ""


def answer_survey(
    platform: Platform,
    rater: RaterRow,
    number: int,
    answers: Mapping[str, object],
    contact: ContactRequest = ContactRequest(),
    *,
    now: datetime,
) -> RaterState:
    """Store the answers to a wellbeing survey that is due and return the rater's state; idempotent."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, plans=True, now=now)
        check_not_withdrawn(context.rater)
        care, reach = context.campaign.care, contact.contact_info.strip()
        found = planned_state(tx, context, now=now)
        if care is not None and found is not None and (found.stage, found.n_asked) == ("feelings", number):
            if len(reach) > MAX_CONTACT_LENGTH:
                raise InvalidInput(
                    f"It has {len(reach):,} characters. Say in {MAX_CONTACT_LENGTH} how you can be reached."
                )
            given = care.survey.check(answers, complete=False)
            told = contact.notify and bool(care.contact)
            care_store.add_survey(
                tx, rater.id, number, given, notify_contact=told, contact_info=reach or None if told else None, now=now
            )
            # That they were asked, and nothing of what they said: owners read the log.
            log_rater_event(tx, context.rater, "survey_answered", now, number=number)
            found = planned_state(tx, context, now=now)
    return found or next_state(platform, rater, now=now)


def avoid_topics(platform: Platform, rater: RaterRow, topics: Collection[str], *, now: datetime) -> RaterState:
    """Store the topics that a rater wants to avoid and return the rater's state."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, plans=True, now=now)
        check_not_withdrawn(context.rater)
        known = {} if context.campaign.care is None else context.campaign.care.topics
        strange = [name for name in topics if name not in known]
        if strange:
            raise InvalidInput(f"There is no topic {format_value(strange[0])}. There are {format_list(list(known))}.")
        found = planned_state(tx, context, now=now)
        if found is not None and found.stage == "topics":
            raters.set_excluded_topics(tx, rater.id, [name for name in known if name in topics])
            _reclaim_items(tx, rater, topics, now)
            log_rater_event(tx, context.rater, "declared", now, questions=["topics"])
    return next_state(platform, rater, now=now)


def _reclaim_items(tx: Connection, rater: RaterRow, topics: Collection[str], now: datetime) -> None:
    """Reclaim planned items about topics that the rater avoids."""
    n_open = assignments.load_progress(tx, rater.id, since=now).n_open
    for one in assignments.list_open_assignments(tx, rater.id, most=n_open):
        if has_topic(one.item.attributes, topics):
            assignments.close_assignment(tx, one, "reclaimed", now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class CareSummary:
    """Survey results for the campaign's contact."""

    survey: Questionnaire
    told: tuple[CareSurveyRow, ...]
    # The mean answer to each question, None where fewer than `MIN_CELL` raters answered, and how many did
    means: Mapping[
        str, tuple[float | None, int]
    ]  # mean answer and number of raters by question; None and 0 below the minimum


def load_care_summary(platform: Platform, name: str, *, staff_id: str) -> CareSummary:
    """Return the survey results of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        care = platform.definitions.of(tx, campaign_row).care
        if care is None:
            raise NotFound(f"{name} does not ask raters how they feel: it has no [care].")
        return CareSummary(
            survey=care.survey,
            told=care_store.list_contact_requests(tx, campaign_row.id),
            means=_mean_answers(tx, campaign_row.id, care.survey),
        )


def _mean_answers(tx: Connection, campaign_id: str, survey: Questionnaire) -> dict[str, tuple[float | None, int]]:
    """Return mean scale positions, averaged per rater first, suppressing small groups."""
    said = care_store.list_survey_answers(tx, campaign_id)
    found: dict[str, tuple[float | None, int]] = {}
    for question in survey.questions:
        places: dict[str, list[int]] = {}
        for rater_id, answers in said:
            answer = answers.get(question.name)
            if isinstance(answer, str) and answer in question.scale:
                places.setdefault(rater_id, []).append(question.scale.index(answer))
        of_raters = [sum(one) / len(one) for one in places.values()]
        few = len(of_raters) < MIN_CELL
        found[question.name] = (None if few else sum(of_raters) / len(of_raters), 0 if few else len(of_raters))
    return found


def settle_contact_request(
    platform: Platform, name: str, rater_id: str, number: int, *, staff_id: str, now: datetime
) -> None:
    """Mark a rater's contact request as settled."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        if not care_store.settle_contact_request(tx, campaign_row.id, rater_id, number, now=now):
            raise NotFound("Nothing of this is open: somebody dealt with it, or the rater withdrew. Load it again.")
