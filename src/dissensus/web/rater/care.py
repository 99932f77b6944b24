"""How raters say how they feel, and what they do not want to meet."""

from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.schema.campaign.care import LONGEST_REACH
from dissensus.web.core.contexts import Asked, Feeling
from dissensus.web.core.forms import answers_of, check_storable
from dissensus.web.core.rater_auth import UNPROCESSABLE, SessionKey, rater_of_form
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.staff_auth import Open, SiteOf
from dissensus.workflows.rater import care as care_workflow
from dissensus.workflows.rater import journey
from dissensus.workflows.rater.care import ContactRequest

router = APIRouter(dependencies=[Depends(check_storable), Depends(Open("rate"))])

LONGEST_NUMBER: Final = 9
"""Digits."""


@router.post("/topics")
def leave_out(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Keep what a rater does not want to meet."""
    rater = rater_of_form(site, request, session, sent)
    care_workflow.avoid_topics(site.platform, rater, [str(name) for name in sent.getlist("topic")], now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)


@router.post("/feelings")
def answer(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Keep how a rater feels; what is wrong with it is told, and nothing that was typed is lost."""
    rater = rater_of_form(site, request, session, sent)
    step = journey.step(site.platform, rater, now=site.clock())
    care, text = step.campaign.care, str(sent.get("number", ""))
    number = int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else -1
    if care is None or step.place != "feelings" or number != step.n_asked:
        return RedirectResponse("/rate", SEE_OTHER)
    answers, reach = answers_of(sent, care.survey), str(sent.get("reach", ""))
    faults = {fault.question: fault.check for fault in care.survey.faults(answers, complete=False)}
    telling = ContactRequest(told="told" in sent, reach=reach)
    fault = "length" if len(reach.strip()) > LONGEST_REACH else None
    if faults or fault:
        asked = Asked(questionnaire=care.survey, answers=answers, faults=faults)
        again = Feeling(language=rater.language, step=step, form_token=site.tokens.form(session), asked=asked)
        return page(site, replace(again, told=telling.told, reach=reach, fault=fault), UNPROCESSABLE)
    care_workflow.answer_survey(site.platform, rater, number, answers, telling, now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)
