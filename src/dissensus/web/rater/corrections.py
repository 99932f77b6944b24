"""Pages of the answers that a rater submitted: the list, and one item to correct."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from dissensus.web.core.forms import QuestionForm, check_storable
from dissensus.web.core.rater_auth import SessionKey, rater_of_form, rater_of_session
from dissensus.web.core.responses import SubmittedForm, page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.rater.rating import RatingPage, rating_page, read_form_save, read_question_form, saved_question_form
from dissensus.workflows.rater import corrections, rating
from dissensus.workflows.rater.corrections import SubmittedItems
from dissensus.workflows.rater.next_step import RaterStep

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("rate"))])


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersPage:
    """The items that a rater submitted, the newest first."""

    template: ClassVar[str] = "rater/corrections.html"

    language: str
    step: RaterStep
    submitted: SubmittedItems
    first: bool  # True for the newest items
    form_token: str


@router.get("/answers")
def show_answers(
    site: SiteOf, session: SessionKey = "", before: Annotated[int | None, Query(ge=0, lt=2**31)] = None
) -> Response:
    """Show the items that a rater submitted, those before a position."""
    rater = rater_of_session(site, session)
    submitted = corrections.list_submitted_items(site.platform, rater, before=before, now=site.clock())
    context = AnswersPage(
        language=rater.language,
        step=submitted.step,
        submitted=submitted,
        first=before is None,
        form_token=site.tokens.csrf_token(session),
    )
    return page(site, context)


@router.get("/answers/last")
def show_last_answers(site: SiteOf, session: SessionKey = "") -> Response:
    """Lead to the item that a rater submitted last, or to the list if there is none."""
    last = corrections.find_last_submitted(site.platform, rater_of_session(site, session))
    return redirect_to("/answers" if last is None else f"/answers/{last}")


@router.get("/answers/{assignment_id}")
def show_correction(site: SiteOf, assignment_id: str, session: SessionKey = "", opened: str = "") -> Response:
    """Show a submitted item with its answers."""
    rater = rater_of_session(site, session)
    step = corrections.load_correction(site.platform, rater, assignment_id, now=site.clock())
    context = _correction_page(site, step, session, saved_question_form(step))
    return page(site, replace(context, opened=opened == assignment_id))


@router.post("/answers/{assignment_id}")
def correct_answers(
    site: SiteOf, request: Request, assignment_id: str, form: SubmittedForm, session: SessionKey = ""
) -> Response:
    """Store corrected answers of a plain form, or ask for missing ones."""
    rater = rater_of_form(site, request, session, form)
    step = corrections.load_correction(site.platform, rater, assignment_id, now=site.clock())
    question_form = read_question_form(form, step.campaign.questionnaire)
    if question_form.faults:
        context = _correction_page(site, step, session, question_form)
        opened = str(form.get("opened", "")) == assignment_id
        return page(site, replace(context, opened=opened), HTTPStatus.UNPROCESSABLE_ENTITY)
    key, save = read_form_save(form, assignment_id, question_form)
    rating.submit_answers(site.platform, rater, assignment_id, key, save, now=site.clock())
    return redirect_to("/answers")


def _correction_page(site: Site, step: RaterStep, session: str, question_form: QuestionForm) -> RatingPage:
    context = rating_page(site, step, session, question_form)
    return replace(context, corrects=True, state={**context.state, "corrects": True, "pause": False})
