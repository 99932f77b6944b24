"""Care pages: wellbeing surveys and topics to avoid."""

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.schema.campaign.care import MAX_CONTACT_LENGTH
from dissensus.web.core.forms import QuestionForm, check_storable, read_answers
from dissensus.web.core.rater_auth import UNPROCESSABLE, SessionKey, rater_of_form
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.workflows.rater import care as care_workflow
from dissensus.workflows.rater import journey
from dissensus.workflows.rater.care import ContactRequest
from dissensus.workflows.rater.journey import RaterState

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("rate"))])

MAX_DIGITS: Final = 9
"""Digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPage:
    """Topics that the rater can avoid."""

    template: ClassVar[str] = "rater/care-topics.html"

    language: str
    step: RaterState
    form_token: str
    noted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyPage:
    """Wellbeing survey."""

    template: ClassVar[str] = "rater/care-survey.html"
    longest: ClassVar[int] = MAX_CONTACT_LENGTH

    language: str
    step: RaterState
    form_token: str
    asked: QuestionForm  # The survey, none of whose questions must be answered
    # True if the contact of the campaign is to know, and how the rater can be reached, as it was typed
    told: bool = False
    reach: str = ""
    fault: str | None = None  # What is wrong with that; None for nothing
    noted: bool = False  # True if a message for help was just kept


@router.post("/topics")
def leave_out(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Store the topics that a rater wants to avoid."""
    rater = rater_of_form(site, request, session, sent)
    care_workflow.avoid_topics(site.platform, rater, [str(name) for name in sent.getlist("topic")], now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)


@router.post("/feelings")
def answer(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Store a wellbeing survey, or show the form again with its faults."""
    rater = rater_of_form(site, request, session, sent)
    step = journey.next_state(site.platform, rater, now=site.clock())
    care, text = step.campaign.care, str(sent.get("number", ""))
    number = int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else -1
    if care is None or step.stage != "feelings" or number != step.n_asked:
        return RedirectResponse("/rate", SEE_OTHER)
    answers, reach = read_answers(sent, care.survey), str(sent.get("reach", ""))
    faults = {fault.question: fault.check for fault in care.survey.faults(answers, complete=False)}
    contact = ContactRequest(notify="told" in sent, contact_info=reach)
    fault = "length" if len(reach.strip()) > MAX_CONTACT_LENGTH else None
    if faults or fault:
        asked = QuestionForm(questionnaire=care.survey, answers=answers, faults=faults)
        again = SurveyPage(language=rater.language, step=step, form_token=site.tokens.form(session), asked=asked)
        return page(site, replace(again, told=contact.notify, reach=reach, fault=fault), UNPROCESSABLE)
    care_workflow.answer_survey(site.platform, rater, number, answers, contact, now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)
