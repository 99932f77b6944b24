"""What raters do, from the warning to the end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import quote
from uuid import NAMESPACE_OID, uuid4, uuid5

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from dissensus.campaign.answer_drafts import Given, Save
from dissensus.web.core.contexts import (
    AboutYou,
    Agreed,
    Agreement,
    Asked,
    Checking,
    Feeling,
    Left,
    Rating,
    Rest,
    Topics,
    TurnedAway,
    Withdrawal,
)
from dissensus.web.core.forms import answers_of, check_storable, read_save
from dissensus.web.core.rater_auth import SESSION_COOKIE, UNPROCESSABLE, SessionKey, rater_of_form, rater_of_session
from dissensus.web.core.responses import SEE_OTHER, SubmittedForm, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Open, SiteOf
from dissensus.web.core.translations import chosen, languages
from dissensus.web.rater import chat, step_json
from dissensus.web.rater.entry import ARRIVAL_COOKIE, AWAY_COOKIE, AWAY_S, Language
from dissensus.web.rater.entry import router as entrance
from dissensus.workflows.rater import enrolment, journey, rating, recruitment, screening
from dissensus.workflows.rater import withdrawal as withdrawal_workflow
from dissensus.workflows.rater.journey import Step

if TYPE_CHECKING:
    from dissensus.schema.questionnaire.definition import Questionnaire
    from dissensus.schema.questionnaire.question import Answer

router = APIRouter(dependencies=[Depends(check_storable)])
router.include_router(entrance)
inside = APIRouter(dependencies=[Depends(Open("rate"))])
leaving = APIRouter(dependencies=[Depends(Open("withdraw"))])

LONGEST_NOTICE: Final = 2_000


@inside.get("/rate")
def see(site: SiteOf, request: Request, session: SessionKey = "", noted: bool = False) -> Response:
    """Show where a rater is, to programs as data."""
    step = journey.step(site.platform, rater_of_session(site, session), now=site.clock())
    if request.headers.get("accept") == "application/json":
        return JSONResponse(step_json.as_data(step, site.tokens.form(session)))
    return _where(site, step, session, noted=bool(noted))


@inside.get("/agreed")
def agreed(site: SiteOf, session: SessionKey = "") -> Response:
    """Show what a rater agreed to, and what not."""
    rater = rater_of_session(site, session)
    step = journey.step(site.platform, rater, now=site.clock())
    context = Agreed(
        language=rater.language,
        step=step,
        said=enrolment.said(site.platform, rater),
        form_token=site.tokens.form(session),
        withdrawal=_withdrawal(site, step),
    )
    return page(site, context)


async def _body(request: Request) -> bytes:
    # A form was read where it was looked at for what cannot be kept, and is no save.
    return b"" if "form" in request.headers.get("content-type", "") else await request.body()


Body = Annotated[bytes, Depends(_body)]


@inside.post("/rate/{assignment_id}/save")
def save(site: SiteOf, request: Request, assignment_id: str, body: Body, session: SessionKey = "") -> Response:
    """Keep answers as a page sends them; a final save ends the item and brings the next one."""
    rater = rater_of_session(site, session)
    site.tokens.check_form(session, request.headers.get("x-form-token"))
    sent, now = read_save(body), site.clock()
    if not sent.final:
        revision = rating.save(site.platform, rater, assignment_id, str(sent.key), sent.save(), now=now)
        return JSONResponse({"revision": revision})
    step = rating.submit(site.platform, rater, assignment_id, str(sent.key), sent.save(), now=now)
    return JSONResponse(step_json.of_step(step, site.pages))


@inside.post("/rate/{assignment_id}")
def submit(
    site: SiteOf, request: Request, assignment_id: str, sent: SubmittedForm, session: SessionKey = ""
) -> Response:
    """Keep all answers to an item, from a page without scripts; where some are missing, ask for them."""
    rater = rater_of_form(site, request, session, sent)
    step = journey.step(site.platform, rater, now=site.clock())
    asked = _asked(step.campaign.questionnaire, answers_of(sent, step.campaign.questionnaire))
    if asked.faults and step.assignment is not None and step.assignment.id == assignment_id:
        return page(site, _rating(site, step, session, asked), UNPROCESSABLE)
    answers = {name: Given(value=_stored(value)) for name, value in asked.answers.items()}
    revision = int(text) if (text := str(sent.get("revision", ""))).isdecimal() and len(text) < 10 else 1
    visit = str(sent.get("visit", "") or uuid4())[:36]
    given = Save(revision=revision, visit=visit, visible_ms=0, idle_ms=0, answers=answers)
    # Sent twice it is one; sent again with other answers, by the back button, it is a correction.
    key = str(uuid5(NAMESPACE_OID, json.dumps([assignment_id, visit, asked.answers], sort_keys=True)))
    rating.submit(site.platform, rater, assignment_id, key, given, now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)


def _asked(questionnaire: "Questionnaire", answers: Mapping[str, Any]) -> Asked:
    faults = questionnaire.faults(answers, complete=True)
    return Asked(questionnaire=questionnaire, answers=answers, faults={fault.question: fault.check for fault in faults})


def _stored(value: str | Sequence[str]) -> "Answer":
    return value if isinstance(value, str) else tuple(value)


@inside.post("/rate/{assignment_id}/skip")
def skip(site: SiteOf, request: Request, assignment_id: str, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Leave out an item."""
    rater = rater_of_form(site, request, session, sent)
    step = rating.skip(site.platform, rater, assignment_id, now=site.clock())
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse(step_json.of_step(step, site.pages))
    return RedirectResponse("/rate", SEE_OTHER)


@inside.post("/notice")
def notice(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Keep that a rater needs help, or met what must not be shown."""
    rater = rater_of_form(site, request, session, sent)
    kind: Literal["help", "illegal"] = "illegal" if sent.get("kind") == "illegal" else "help"
    text, assignment_id = str(sent.get("text", ""))[:LONGEST_NOTICE], str(sent.get("assignment", "")) or None
    rating.notify(site.platform, rater, kind, text, assignment_id=assignment_id, now=site.clock())
    return RedirectResponse("/rate?noted=1", SEE_OTHER)


@inside.post("/about-you")
def declare(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Keep what a rater says of themselves; where that decides about a seat and there is none, nothing."""
    rater = rater_of_form(site, request, session, sent)
    step = journey.step(site.platform, rater, now=site.clock())
    if step.about is None:
        return RedirectResponse("/rate", SEE_OTHER)
    asked = _asked(step.about, answers_of(sent, step.about))
    if asked.faults:
        token = site.tokens.form(session)
        about = AboutYou(language=rater.language, step=step, form_token=token, asked=asked)
        return page(site, about, UNPROCESSABLE)
    if step.place == "screener":
        return _screen(site, step, asked)
    rating.declare(site.platform, rater, asked.answers, now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)


def _screen(site: Site, step: Step, asked: Asked) -> Response:
    """Give a rater a seat, or say that there is none and forget them."""
    rater, visit = step.rater, recruitment.visit(site.platform, step)
    if screening.screen(site.platform, rater, asked.answers, now=site.clock()) is not None:
        return RedirectResponse("/rate", SEE_OTHER)
    back = None if visit is None else recruitment.way_back(step.campaign, "quota_full")
    away = TurnedAway(language=rater.language, campaign=step.campaign, sent=visit is not None, back=back)
    answer = page(site, away)
    for cookie in (SESSION_COOKIE, ARRIVAL_COOKIE):
        answer.delete_cookie(cookie)
    site.set_cookie(answer, AWAY_COOKIE, site.tokens.away(step.kept.id), AWAY_S)
    return answer


@inside.post("/consent")
def agree_again(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Keep what a rater says to a consent text that changed."""
    rater = rater_of_form(site, request, session, sent)
    purposes = dict.fromkeys(map(str, sent.getlist("purpose")), True)
    read = None if sent.get("read") is None else str(sent["read"])
    enrolment.agree_again(site.platform, rater, purposes, read=read, now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)


@inside.post("/stop")
def stop(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Stop."""
    rating.stop(site.platform, rater_of_form(site, request, session, sent), now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)


@inside.post("/go-on")
def go_on(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Go on after a stop."""
    rating.go_on(site.platform, rater_of_form(site, request, session, sent), now=site.clock())
    return RedirectResponse("/rate", SEE_OTHER)


@inside.post("/leave")
def leave(site: SiteOf, request: Request, sent: SubmittedForm, session: SessionKey = "") -> Response:
    """Sign out on this device."""
    rater = rater_of_form(site, request, session, sent)
    enrolment.sign_out(site.platform, session)
    answer = page(site, Left(language=rater.language, rater_id=rater.id))
    answer.delete_cookie(SESSION_COOKIE)
    return answer


@leaving.get("/withdraw/{token}")
def ask_to_withdraw(site: SiteOf, request: Request, token: str, wanted: Language = "") -> Response:
    """Say what will be deleted."""
    rater_id = site.tokens.read_withdrawal(token)
    found = withdrawal_workflow.erasable(site.platform, rater_id)
    language = chosen(wanted or request.headers.get("accept-language", ""), languages())
    asking = Withdrawal(language=language, token=token, rater_id=rater_id, n_rated=found.n_rated, paid=found.paid)
    return page(site, asking)


@leaving.post("/withdraw/{token}")
def withdraw(site: SiteOf, request: Request, token: str, wanted: Language = "") -> Response:
    """Delete it."""
    rater_id = site.tokens.read_withdrawal(token)
    back = recruitment.way_out(site.platform, rater_id)
    n = withdrawal_workflow.withdraw(site.platform, rater_id, now=site.clock())
    language = chosen(wanted or request.headers.get("accept-language", ""), languages())
    done = Withdrawal(language=language, token=token, rater_id=rater_id, n_rated=n, done=True, back=back)
    answer = page(site, done)
    answer.delete_cookie(SESSION_COOKIE)
    return answer


def _where(site: Site, step: Step, session: str, *, noted: bool) -> Response:
    """Return the page of where a rater is."""
    language, campaign, token = step.rater.language, step.campaign, site.tokens.form(session)
    withdrawal = None if step.place == "withdrawn" else _withdrawal(site, step)
    match step.place:
        case "consent":
            asking = Agreement(language=language, campaign=campaign, action="/consent", form_token=token)
            return page(site, replace(asking, withdrawal=withdrawal))
        case "screener" | "demographics" if step.about is not None:
            asked = Asked(questionnaire=step.about)
            return page(site, AboutYou(language=language, step=step, form_token=token, asked=asked, noted=noted))
        case "check" if step.due is not None:
            return page(site, Checking(language=language, step=step, form_token=token, due=step.due, noted=noted))
        case "topics":
            return page(site, Topics(language=language, step=step, form_token=token, noted=noted))
        case "feelings" if campaign.care is not None:
            asked = Asked(questionnaire=campaign.care.survey)
            return page(site, Feeling(language=language, step=step, form_token=token, asked=asked, noted=noted))
        case "rate" if step.assignment is not None:
            answers = {name: given.value for name, given in step.answers.items() if given.value is not None}
            asked = Asked(questionnaire=campaign.questionnaire, answers=answers)
            return page(site, _rating(site, step, session, asked, noted=noted))
        case "chat":
            return page(site, chat.shown(site, step, session, noted=noted))
    rest = Rest(language=language, step=step, withdrawal=withdrawal, form_token=token, noted=noted)
    return page(site, replace(rest, visit=recruitment.visit(site.platform, step)))


def _rating(site: Site, step: Step, session: str, asked: Asked, *, noted: bool = False) -> Rating:
    return Rating(
        language=step.rater.language,
        step=step,
        form_token=site.tokens.form(session),
        asked=asked,
        state=step_json.of_step(step, site.pages, shown=True),
        visit=str(uuid4()),
        noted=noted,
    )


def _withdrawal(site: Site, step: Step) -> str:
    """Return the address by which a rater can withdraw, whole where the site knows its own."""
    token, language = site.tokens.withdrawal(step.rater.id), quote(step.rater.language)
    return f"{site.settings.base_url or ''}/withdraw/{token}?lang={language}"


router.include_router(inside)
router.include_router(leaving)
