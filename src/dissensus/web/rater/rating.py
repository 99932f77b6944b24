"""Rating pages: items, answers, reports, pauses and consent renewal."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal
from urllib.parse import quote
from uuid import NAMESPACE_OID, uuid4, uuid5

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import FormData

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.schema.numbers import parse_digits
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Answer
from dissensus.web.core.forms import QuestionForm, check_storable, read_answers, read_bulk_questions, read_save
from dissensus.web.core.rater_auth import SessionKey, rater_of_form, rater_of_session
from dissensus.web.core.responses import SubmittedForm, image_response, page, redirect_to
from dissensus.web.core.site import Site, address_digest
from dissensus.web.core.staff_auth import Name, Public, SiteOf
from dissensus.web.rater import chat, guidelines, step_json
from dissensus.web.rater.attention_checks import AttentionCheckPage
from dissensus.web.rater.care import SurveyPage, TopicsPage
from dissensus.web.rater.entry import AWAY_COOKIE, AWAY_S, ConsentPage, TurnedAwayPage, forget_rater
from dissensus.web.rater.guidelines import GuidelinesPage
from dissensus.workflows.campaign import images
from dissensus.workflows.rater import enrolment, next_step, quota_screening, rating, recruitment
from dissensus.workflows.rater.next_step import RaterStep

if TYPE_CHECKING:
    from dissensus.store.consents import ConsentRow
    from dissensus.workflows.rater.recruitment import RecruiterVisit

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("rate"))])

MAX_NOTICE_LENGTH: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentsPage:
    """Consent decisions of a rater, the latest text first."""

    template: ClassVar[str] = "rater/rating-consents.html"

    language: str
    step: RaterStep
    consents: tuple["ConsentRow", ...]
    form_token: str
    withdrawal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPage:
    """An item with its questions."""

    template: ClassVar[str] = "rater/rating.html"

    language: str
    step: RaterStep
    form_token: str
    question_form: QuestionForm
    state: Mapping[str, Any]  # Initial state of scripts, from `step_json.step_to_json`
    visit: str  # Id of this view of the item; a form that is sent twice is stored once
    opened: bool = False  # True if the rater asked for a covered conversation without a script
    covered: bool = False  # True if answers were submitted for a conversation that was still covered
    receipt: bool = False  # True if a help request or report was just stored
    corrects: bool = False  # True for an item that was submitted already


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutYouPage:
    """Questions about the rater: screener or demographics."""

    template: ClassVar[str] = "rater/rating-about-you.html"

    language: str
    step: RaterStep
    form_token: str
    question_form: QuestionForm
    receipt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPage:
    """Reason why there is nothing to rate now: no seat, daily limit, paused, closed, unfit, done or withdrawn."""

    template: ClassVar[str] = "rater/rating-status.html"

    language: str
    step: RaterStep
    withdrawal: str | None
    form_token: str
    receipt: bool = False
    visit: "RecruiterVisit | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterSignedOutPage:
    """The rater is signed out on this device."""

    template: ClassVar[str] = "rater/rating-signed-out.html"

    language: str
    rater_id: str


@router.get("/rate")
def show_step(
    site: SiteOf,
    request: Request,
    session: SessionKey = "",
    receipt: bool = False,
    opened: str = "",
    begin: bool = False,
) -> Response:
    """Show the rater's current page, or return it as JSON for programs; `opened` names an assignment to uncover."""
    step = next_step.find_next_step(site.platform, rater_of_session(site, session), now=site.clock())
    if request.headers.get("accept") == "application/json":
        return JSONResponse(step_json.step_to_program_json(step, site.tokens.csrf_token(session)))
    if guidelines.needs_guidelines(step) and not (begin or opened or receipt):
        token = site.tokens.csrf_token(session)
        return page(site, GuidelinesPage(language=step.rater.language, step=step, form_token=token))
    return _current_page(site, step, session, receipt=receipt, opened=opened)


@router.get("/consents")
def show_consents(site: SiteOf, session: SessionKey = "") -> Response:
    """Show the rater's consent decisions."""
    rater = rater_of_session(site, session)
    step = next_step.find_next_step(site.platform, rater, now=site.clock())
    context = ConsentsPage(
        language=rater.language,
        step=step,
        consents=enrolment.list_consents(site.platform, rater),
        form_token=site.tokens.csrf_token(session),
        withdrawal=_withdrawal_link(site, step),
    )
    return page(site, context)


async def _body(request: Request) -> bytes:
    # `check_storable` has already read forms, which are not saves.
    return b"" if "form" in request.headers.get("content-type", "") else await request.body()


Body = Annotated[bytes, Depends(_body)]


@router.post("/rate/{assignment_id}/save")
def save_answers(site: SiteOf, request: Request, assignment_id: str, body: Body, session: SessionKey = "") -> Response:
    """Store a save of answers; a final one completes the item and returns the next."""
    rater = rater_of_session(site, session)
    site.tokens.check_csrf_token(session, request.headers.get("x-form-token"))
    submission, now = read_save(body), site.clock()
    key, answers = str(submission.key), submission.to_save()
    if not submission.final:
        revision = rating.save_answers(site.platform, rater, assignment_id, key, answers, now=now)
        return JSONResponse({"revision": revision})
    step = rating.submit_answers(site.platform, rater, assignment_id, key, answers, now=now)
    return JSONResponse(step_json.step_to_json(step, site.renderer))


@router.post("/rate/{assignment_id}")
def submit_answers(
    site: SiteOf, request: Request, assignment_id: str, form: SubmittedForm, session: SessionKey = ""
) -> Response:
    """Store all answers of an item from a plain form, or ask for missing ones."""
    rater = rater_of_form(site, request, session, form)
    step = next_step.find_next_step(site.platform, rater, now=site.clock())
    question_form = read_question_form(form, step.campaign.questionnaire)
    opened = str(form.get("opened", "")) == assignment_id
    if "bulk" in form and step.campaign.bulk_answers:
        question_form = question_form.answer_rest(str(form["bulk"]), rater.language)
        key, save = read_form_save(form, assignment_id, question_form)
        draft_key = str(uuid5(NAMESPACE_OID, f"draft {key}"))
        rating.save_answers(site.platform, rater, assignment_id, draft_key, save, now=site.clock())
        return redirect_to(f"/rate?opened={assignment_id}" if opened else "/rate")
    covered = step.campaign.click_to_reveal and not opened
    if (question_form.faults or covered) and step.assignment is not None and step.assignment.id == assignment_id:
        context = rating_page(site, step, session, question_form)
        return page(site, replace(context, opened=opened, covered=covered), HTTPStatus.UNPROCESSABLE_ENTITY)
    key, save = read_form_save(form, assignment_id, question_form)
    rating.submit_answers(site.platform, rater, assignment_id, key, save, now=site.clock())
    return redirect_to("/rate")


def read_form_save(form: FormData, assignment_id: str, question_form: QuestionForm) -> tuple[str, AnswerSave]:
    """Return the idempotency key and the save of a plain form."""
    opened = str(form.get("opened", "")) == assignment_id
    answers = {
        name: DraftAnswer(value=_to_answer(value), bulk=name in question_form.bulk)
        for name, value in question_form.answers.items()
    }
    revision = parse_digits(str(form.get("revision", ""))) or 1
    visit = str(form.get("visit", "") or uuid4())[:36]
    save = AnswerSave(
        revision=revision, visit=visit, visible_ms=0, idle_ms=0, open_ms=0 if opened else None, answers=answers
    )
    # The same form sent twice is one save; with other answers, after the back button, it is a correction.
    key = str(uuid5(NAMESPACE_OID, json.dumps([assignment_id, visit, question_form.answers], sort_keys=True)))
    return key, save


def read_question_form(form: FormData, questionnaire: Questionnaire) -> QuestionForm:
    """Return the answers of a plain form about an item, with those given in bulk."""
    answers = read_answers(form, questionnaire)
    bulk = read_bulk_questions(form, questionnaire, answers)
    return replace(to_question_form(questionnaire, answers), bulk=bulk)


def saved_question_form(step: RaterStep) -> QuestionForm:
    """Return a form with the saved answers about an item."""
    answers = {name: answer.value for name, answer in step.answers.items() if answer.value is not None}
    bulk = frozenset(name for name, answer in step.answers.items() if answer.bulk)
    return QuestionForm(questionnaire=step.campaign.questionnaire, answers=answers, bulk=bulk)


def to_question_form(questionnaire: Questionnaire, answers: Mapping[str, Any]) -> QuestionForm:
    """Return a form with answers and their faults."""
    faults = questionnaire.faults(answers, complete=True)
    return QuestionForm(
        questionnaire=questionnaire, answers=answers, faults={fault.question: fault.check for fault in faults}
    )


def _to_answer(value: str | Sequence[str]) -> Answer:
    return value if isinstance(value, str) else tuple(value)


@router.get("/guidelines/images/{image}")
def send_guideline_image(site: SiteOf, image: Name, session: SessionKey = "") -> Response:
    """Send an image of the guidelines."""
    return image_response(images.load_guideline_image(site.platform, rater_of_session(site, session), image))


@router.get("/rate/{assignment_id}/image")
def send_item_image(site: SiteOf, assignment_id: str, session: SessionKey = "") -> Response:
    """Send the image of an assigned item."""
    rater = rater_of_session(site, session)
    return image_response(images.load_assigned_image(site.platform, rater, assignment_id))


@router.post("/rate/{assignment_id}/skip")
def skip_item(
    site: SiteOf, request: Request, assignment_id: str, form: SubmittedForm, session: SessionKey = ""
) -> Response:
    """Skip an item."""
    rater = rater_of_form(site, request, session, form)
    step = rating.skip_item(site.platform, rater, assignment_id, now=site.clock())
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse(step_json.step_to_json(step, site.renderer))
    return redirect_to("/rate")


@router.post("/notice")
def raise_notice(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Store a request for help or a report of illegal content."""
    rater = rater_of_form(site, request, session, form)
    kind: Literal["help", "illegal"] = "illegal" if form.get("kind") == "illegal" else "help"
    text, assignment_id = str(form.get("text", ""))[:MAX_NOTICE_LENGTH], str(form.get("assignment", "")) or None
    address = address_digest(site, request)
    rating.report_item(site.platform, rater, kind, text, assignment_id=assignment_id, address=address, now=site.clock())
    return redirect_to("/rate?receipt=1")


@router.get("/about-you")
def ask_about_rater(site: SiteOf, session: SessionKey = "") -> Response:
    """Show the questions about a rater; raters who stopped may answer them too."""
    step = next_step.find_next_step(site.platform, rater_of_session(site, session), now=site.clock())
    if step.about is None:
        return redirect_to("/rate")
    context = AboutYouPage(
        language=step.rater.language,
        step=step,
        form_token=site.tokens.csrf_token(session),
        question_form=QuestionForm(questionnaire=step.about),
    )
    return page(site, context)


@router.post("/about-you")
def declare_attributes(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Store a rater's attributes; the screener stores nothing if no seat is free."""
    rater = rater_of_form(site, request, session, form)
    step = next_step.find_next_step(site.platform, rater, now=site.clock())
    if step.about is None:
        return redirect_to("/rate")
    question_form = to_question_form(step.about, read_answers(form, step.about))
    if question_form.faults:
        token = site.tokens.csrf_token(session)
        context = AboutYouPage(language=rater.language, step=step, form_token=token, question_form=question_form)
        return page(site, context, HTTPStatus.UNPROCESSABLE_ENTITY)
    if step.stage == "screener":
        return _screen(site, step, question_form)
    rating.declare_attributes(site.platform, rater, question_form.answers, now=site.clock())
    return redirect_to("/rate")


def _screen(site: Site, step: RaterStep, question_form: QuestionForm) -> Response:
    """Assign a seat, or turn the rater away and forget them."""
    rater, visit = step.rater, recruitment.load_recruiter_visit(site.platform, step)
    if quota_screening.screen_rater(site.platform, rater, question_form.answers, now=site.clock()) is not None:
        return redirect_to("/rate")
    return_link = None if visit is None else visit.turned_away
    context = TurnedAwayPage(
        language=rater.language, campaign=step.campaign, recruited=visit is not None, return_link=return_link
    )
    response = page(site, context)
    forget_rater(response)
    site.set_cookie(response, AWAY_COOKIE, site.tokens.sign_turned_away(step.campaign_row.id), AWAY_S)
    return response


@router.post("/consent")
def renew_consent(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Store consent to a changed text."""
    rater = rater_of_form(site, request, session, form)
    purposes = dict.fromkeys(map(str, form.getlist("purpose")), True)
    read = None if form.get("read") is None else str(form["read"])
    enrolment.renew_consent(site.platform, rater, purposes, text_digest=read, now=site.clock())
    return redirect_to("/rate")


@router.post("/stop")
def stop_rating(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Pause rating."""
    rating.stop_rating(site.platform, rater_of_form(site, request, session, form), now=site.clock())
    return redirect_to("/rate")


@router.post("/resume")
def resume_rating(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Resume rating after a pause."""
    rating.resume_rating(site.platform, rater_of_form(site, request, session, form), now=site.clock())
    return redirect_to("/rate")


@router.post("/leave")
def sign_out(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Sign out on this device."""
    rater = rater_of_form(site, request, session, form)
    enrolment.sign_out_rater(site.platform, session)
    response = page(site, RaterSignedOutPage(language=rater.language, rater_id=rater.id))
    forget_rater(response)
    return response


def _current_page(site: Site, step: RaterStep, session: str, *, receipt: bool, opened: str) -> Response:
    """Return the page of the rater's current state."""
    language, campaign, token = step.rater.language, step.campaign, site.tokens.csrf_token(session)
    withdrawal = None if step.stage == "withdrawn" else _withdrawal_link(site, step)
    match step.stage:
        case "consent":
            context = ConsentPage(
                language=language, campaign=campaign, action="/consent", form_token=token, withdrawal=withdrawal
            )
            return page(site, context)
        case "screener" | "demographics" if step.about is not None:
            question_form = QuestionForm(questionnaire=step.about)
            return page(
                site,
                AboutYouPage(
                    language=language, step=step, form_token=token, question_form=question_form, receipt=receipt
                ),
            )
        case "check" if step.due is not None:
            return page(
                site, AttentionCheckPage(language=language, step=step, form_token=token, due=step.due, receipt=receipt)
            )
        case "topics":
            return page(site, TopicsPage(language=language, step=step, form_token=token, receipt=receipt))
        case "survey" if campaign.care is not None:
            question_form = QuestionForm(questionnaire=campaign.care.survey)
            return page(
                site,
                SurveyPage(
                    language=language, step=step, form_token=token, question_form=question_form, receipt=receipt
                ),
            )
        case "rate" if step.assignment is not None:
            shown = rating_page(site, step, session, saved_question_form(step), receipt=receipt)
            return page(site, replace(shown, opened=opened == step.assignment.id))
        case "chat":
            return page(site, chat.chat_page(site, step, session, receipt=receipt))
    status_page = StatusPage(language=language, step=step, withdrawal=withdrawal, form_token=token, receipt=receipt)
    return page(site, replace(status_page, visit=recruitment.load_recruiter_visit(site.platform, step)))


def rating_page(
    site: Site, step: RaterStep, session: str, question_form: QuestionForm, *, receipt: bool = False
) -> RatingPage:
    """Return the page of an item with its questions."""
    return RatingPage(
        language=step.rater.language,
        step=step,
        form_token=site.tokens.csrf_token(session),
        question_form=question_form,
        state=step_json.step_to_json(step, site.renderer, with_current_html=False),
        visit=str(uuid4()),
        receipt=receipt,
    )


def _withdrawal_link(site: Site, step: RaterStep) -> str:
    """Return the withdrawal link of a rater, absolute if the base URL is configured."""
    token, language = site.tokens.sign_withdrawal(step.rater.id), quote(step.rater.language)
    return f"{site.settings.base_url or ''}/withdraw/{token}?lang={language}"
