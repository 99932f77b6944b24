"""Pages of attention checks."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar, Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.campaign.attention_checks import DueCheck
from dissensus.schema.numbers import parse_digits
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.web.core.forms import QuestionForm, check_storable
from dissensus.web.core.rater_auth import SessionKey, rater_of_form
from dissensus.web.core.responses import SubmittedForm, page, redirect_to
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.workflows.rater import attention_checks, next_step
from dissensus.workflows.rater.next_step import RaterStep

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("rate"))])

CHECK_ANSWER: Final = "answer"
"""Form field of the answer; the name of the check could clash with another field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCheckPage:
    """An attention check, which looks like any other question."""

    template: ClassVar[str] = "rater/attention-checks.html"

    language: str
    step: RaterStep
    form_token: str
    due: DueCheck  # Check and number of the attempt
    fault: str | None = None  # Failed check as in `QuestionForm`; None without a fault
    receipt: bool = False  # True if a help request was just stored

    @property
    def question_form(self) -> QuestionForm:
        """The attention check as a question form."""
        check = self.due.check
        question = Question(name=CHECK_ANSWER, text=check.text, scale=check.scale, labels=check.labels)
        questionnaire = Questionnaire(name=check.name, questions=(question,), overalls={})
        return QuestionForm(
            questionnaire=questionnaire, faults={} if self.fault is None else {CHECK_ANSWER: self.fault}
        )


@router.post("/check")
def answer_check(site: SiteOf, request: Request, form: SubmittedForm, session: SessionKey = "") -> Response:
    """Store the answer to the attention check that is due, or ask again."""
    rater = rater_of_form(site, request, session, form)
    name, number, value = (str(form.get(field, "")) for field in ("check", "attempt", CHECK_ANSWER))
    attempt = parse_digits(number) or 0
    step = next_step.find_next_step(site.platform, rater, now=site.clock())
    due = step.due
    if due is not None and (due.check.name, due.attempt) == (name, attempt) and value not in due.check.scale:
        token, fault = site.tokens.csrf_token(session), "scale" if value else "missing"
        context = AttentionCheckPage(language=rater.language, step=step, form_token=token, due=due, fault=fault)
        return page(site, context, HTTPStatus.UNPROCESSABLE_ENTITY)
    attention_checks.answer_check(site.platform, rater, name, value, attempt=attempt, now=site.clock())
    return redirect_to("/rate")
