"""Care pages: wellbeing surveys and topics to avoid."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.schema.campaign.care import MAX_CONTACT_LENGTH
from dissensus.schema.characters import normalise_line_ends
from dissensus.schema.numbers import parse_digits
from dissensus.web.core.forms import QuestionForm, check_storable, read_answers
from dissensus.web.core.rater_auth import SessionKey, rater_of_form
from dissensus.web.core.responses import SubmittedForm, page, redirect_to
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.workflows.rater import care as care_workflow
from dissensus.workflows.rater import next_step
from dissensus.workflows.rater.care import ContactRequest
from dissensus.workflows.rater.next_step import RaterStep

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("rate"))])


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPage:
    """Topics that the rater can avoid."""

    template: ClassVar[str] = "rater/care-topics.html"

    language: str
    step: RaterStep
    form_token: str
    receipt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyPage:
    """Wellbeing survey."""

    template: ClassVar[str] = "rater/care-survey.html"
    max_contact_length: ClassVar[int] = MAX_CONTACT_LENGTH

    language: str
    step: RaterStep
    form_token: str
    question_form: QuestionForm  # No answer is required
    notify: bool = False  # True if the contact of the campaign may read the answers
    contact_info: str = ""  # As typed
    fault: str | None = None  # Failed check of the contact information
    receipt: bool = False  # True if a help request was just stored


@router.post("/topics")
def avoid_topics(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Store the topics that a rater wants to avoid."""
    rater = rater_of_form(site, request, session, form)
    care_workflow.avoid_topics(site.platform, rater, [str(name) for name in form.getlist("topic")], now=site.clock())
    return redirect_to("/rate")


@router.post("/survey")
def answer_survey(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Store a wellbeing survey, or show the form again with its faults."""
    rater = rater_of_form(site, request, session, form)
    step = next_step.find_next_step(site.platform, rater, now=site.clock())
    care, number = step.campaign.care, parse_digits(str(form.get("number", "")))
    if care is None or step.stage != "survey" or number != step.n_asked:
        return redirect_to("/rate")
    answers, contact_info = read_answers(form, care.survey), normalise_line_ends(str(form.get("contact_info", "")))
    faults = {fault.question: fault.check for fault in care.survey.faults(answers, complete=False)}
    contact = ContactRequest(notify="notify" in form, contact_info=contact_info)
    fault = "length" if len(contact_info.strip()) > MAX_CONTACT_LENGTH else None
    if faults or fault:
        question_form = QuestionForm(questionnaire=care.survey, answers=answers, faults=faults)
        context = SurveyPage(
            language=rater.language,
            step=step,
            form_token=site.tokens.csrf_token(session),
            question_form=question_form,
            notify=contact.notify,
            contact_info=contact_info,
            fault=fault,
        )
        return page(site, context, HTTPStatus.UNPROCESSABLE_ENTITY)
    care_workflow.answer_survey(site.platform, rater, number, answers, contact, now=site.clock())
    return redirect_to("/rate")
