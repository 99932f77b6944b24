"""Care: wellbeing surveys of raters, their summary for the campaign's contact, and topics that raters avoid."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.audit_log import digest_values
from dissensus.campaign.audit_replay import digest_survey
from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.campaign.care import MAX_CONTACT_LENGTH, has_topic
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.stats.suppression import MIN_CELL
from dissensus.store import assignments, raters
from dissensus.store import care as care_store
from dissensus.store.care import CareSurveyRow, SurveyAnswers
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.member_mails import queue_member_mails
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import check_not_withdrawn, load_rater
from dissensus.workflows.rater.next_step import RaterStep, find_next_step, find_planned_step


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
) -> RaterStep:
    """Store the answers to a wellbeing survey that is due and return the rater's step; idempotent."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        check_not_withdrawn(context.rater)
        care, contact_info = context.campaign.care, contact.contact_info.strip()
        step = find_planned_step(tx, context, now=now)
        if care is not None and step is not None and (step.stage, step.n_asked) == ("survey", number):
            if len(contact_info) > MAX_CONTACT_LENGTH:
                raise InvalidInput(
                    f"It has {len(contact_info):,} characters. Say in {MAX_CONTACT_LENGTH} how you can be reached."
                )
            notify, checked = contact.notify and bool(care.contact), care.survey.check(answers, complete=False)
            shared_info = (contact_info or None) if notify else None
            care_store.add_survey(
                tx, rater.id, number, checked, notify_contact=notify, contact_info=shared_info, now=now
            )
            # Without the answers, since owners read the log.
            digest = digest_survey(checked, notify_contact=notify, contact_info=shared_info)
            log_rater_event(tx, context.rater, "survey_answered", now, number=number, digest=digest)
            if notify and not context.rater.rehearsal:
                queue_member_mails(tx, context.campaign_row, "contact_requested", now)
            step = find_planned_step(tx, context, now=now)
    return step or find_next_step(platform, rater, now=now)


def avoid_topics(platform: Platform, rater: RaterRow, topics: Collection[str], *, now: datetime) -> RaterStep:
    """Store the topics that a rater wants to avoid and return the rater's step."""
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        check_not_withdrawn(context.rater)
        allowed = {} if context.campaign.care is None else context.campaign.care.topics
        unknown = [name for name in topics if name not in allowed]
        if unknown:
            raise InvalidInput(f"There is no topic {format_value(unknown[0])}. There are {format_list(list(allowed))}.")
        step = find_planned_step(tx, context, now=now)
        if step is not None and step.stage == "topics":
            excluded = [name for name in allowed if name in topics]
            raters.set_excluded_topics(tx, rater.id, excluded)
            _reclaim_items(tx, rater, topics, now)
            log_rater_event(tx, context.rater, "declared", now, questions=["topics"], digest=digest_values(excluded))
    return find_next_step(platform, rater, now=now)


def _reclaim_items(tx: Connection, rater: RaterRow, topics: Collection[str], now: datetime) -> None:
    """Reclaim planned items about topics that the rater avoids."""
    n_open = assignments.load_progress(tx, rater.id, since=now).n_open
    for assignment in assignments.list_open_assignments(tx, rater.id, most=n_open):
        if has_topic(assignment.item.attributes, topics):
            assignments.close_assignment(tx, assignment, "reclaimed", now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class CareSummary:
    """Survey results for the campaign's contact."""

    survey: Questionnaire
    requests: tuple[CareSurveyRow, ...]  # surveys sent to the contact, open ones first
    # Mean zero-based position on the scale and number of raters, by question; None and 0 if suppressed
    means: Mapping[str, tuple[float | None, int]]


def load_care_summary(platform: Platform, name: str, *, staff_id: str) -> CareSummary:
    """Return the survey results of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        care = platform.definitions.load(tx, campaign_row).care
        if care is None:
            raise NotFound(f"{name} does not ask raters how they feel: it has no [care].")
        return CareSummary(
            survey=care.survey,
            requests=care_store.list_contact_requests(tx, campaign_row.id),
            means=_mean_answers(tx, campaign_row.id, care.survey),
        )


def _mean_answers(tx: Connection, campaign_id: str, survey: Questionnaire) -> dict[str, tuple[float | None, int]]:
    """Return mean scale positions, averaged per rater first, suppressing those of few raters."""
    surveys = care_store.list_survey_answers(tx, campaign_id)
    return {question.name: _mean_positions(surveys, question) for question in survey.questions}


def _mean_positions(surveys: Sequence[SurveyAnswers], question: Question) -> tuple[float | None, int]:
    """Return the mean position of the answers to a question, and the number of raters.

    The contact knows the answers that raters share and every earlier mean, and could subtract them. So a mean includes
    the surveys up to the last one by which `MIN_CELL` further raters had answered without sharing.
    """
    positions, included = dict[str, list[int]](), dict[str, list[int]]()
    unshared = set[str]()
    for row in surveys:
        answer = row.answers.get(question.name)
        if not isinstance(answer, str) or answer not in question.scale:
            continue
        positions.setdefault(row.rater_id, []).append(question.scale.index(answer))
        if not row.notify_contact:
            unshared.add(row.rater_id)
        if len(unshared) == MIN_CELL:
            included = {rater_id: list(values) for rater_id, values in positions.items()}
            unshared.clear()
    means = [sum(values) / len(values) for values in included.values()]
    return (sum(means) / len(means), len(means)) if means else (None, 0)


def settle_contact_request(
    platform: Platform, name: str, rater_id: str, number: int, *, staff_id: str, now: datetime
) -> None:
    """Mark a rater's contact request as settled."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        if not care_store.settle_contact_request(tx, campaign_row.id, rater_id, number, now=now):
            raise NotFound("This request is not open: somebody settled it, or the rater withdrew. Load the page again.")
