"""What raters answer to checks."""

from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from dissensus.web.core.contexts import CHECK_ANSWER, Checking
from dissensus.web.core.forms import check_storable
from dissensus.web.core.rater_auth import UNPROCESSABLE, SessionKey, rater_of_form
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.staff_auth import Open, SiteOf
from dissensus.workflows.rater import attention_checks, journey

router = APIRouter(dependencies=[Depends(check_storable), Depends(Open("rate"))])

LONGEST_ATTEMPT: Final = 4
"""Digits."""


@router.post("/check")
def answer(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Keep what a rater answers to the check that is due; where nothing is chosen, ask for it."""
    rater = rater_of_form(site, request, session, sent)
    name, tried, value = (str(sent.get(field, "")) for field in ("check", "attempt", CHECK_ANSWER))
    attempt = int(tried) if tried.isdecimal() and len(tried) <= LONGEST_ATTEMPT else 0
    step = journey.step(site.platform, rater, now=site.clock())
    due = step.due
    if due is not None and (due.check.name, due.attempt) == (name, attempt) and value not in due.check.scale:
        token, fault = site.tokens.form(session), "scale" if value else "missing"
        again = Checking(language=rater.language, step=step, form_token=token, due=due, fault=fault)
        return page(site, again, UNPROCESSABLE)
    attention_checks.answer_check(site.platform, rater, name, value, attempt=attempt, now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)
