"""Care page, for carers: means of the wellbeing survey, and requests of raters for contact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.schema.campaign.definition import localise
from dissensus.web.core.forms import parse_whole_number
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.workflows.rater import care
from dissensus.workflows.rater.care import CareSummary

if TYPE_CHECKING:
    from dissensus.schema.questionnaire.question import Question
    from dissensus.store.care import CareSurveyRow


router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("care"))]
MAX_SURVEY_NUMBER: Final = 2**31 - 1

PUBLISHED_MEANS: Final[Mapping[str, float]] = {
    "rater_upset": 0.31,
    "rater_hostile": 0.16,
    "rater_alert": 1.02,
    "rater_ashamed": 0.24,
    "rater_inspired": 0.92,
    "rater_nervous": 0.24,
    "rater_determined": 0.98,
    "rater_attentive": 1.73,
    "rater_afraid": 0.24,
    "rater_active": 1.33,
}
"""Means of 49 answers of 15 people after red teaming (Ganguli et al. 2022, appendix)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarePage(StaffPage):
    """Contact requests and survey means."""

    template: ClassVar[str] = "staff/care.html"

    name: str
    summary: CareSummary

    @property
    def means(self) -> tuple[tuple[str, float | None, int, float | None], ...]:
        """Question text, mean, number of raters and published mean."""
        return tuple(
            (_text(question), *self.summary.means[question.name], PUBLISHED_MEANS.get(question.name))
            for question in self.summary.survey.questions
        )

    def answers_of(self, survey: "CareSurveyRow") -> tuple[tuple[str, str], ...]:
        """Return the answers of one rater as text."""
        return tuple(
            (_text(question), _format_answer(question, survey.answers[question.name]))
            for question in self.summary.survey.questions
            if question.name in survey.answers
        )


def _text(question: "Question") -> str:
    return localise(question.text, DEFAULT_LANGUAGE) or question.name


def _format_answer(question: "Question", answer: "str | Sequence[str]") -> str:
    values = [answer] if isinstance(answer, str) else answer
    return ", ".join(question.label(value, DEFAULT_LANGUAGE) for value in values)


@router.get("/campaigns/{name}/care")
def show_surveys(site: SiteOf, caller: Authorized, name: Name) -> Response:
    """Show contact requests and survey means."""
    summary = care.load_care_summary(site.platform, name, staff_id=caller.staff.id)
    return page(site, caller.page(CarePage, name=name, summary=summary))


@router.post("/campaigns/{name}/care")
def settle_survey(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """Settle a contact request."""
    number = parse_whole_number(str(form.get("number", "")), "of a survey", 0, MAX_SURVEY_NUMBER)
    rater_id = str(form.get("rater", ""))
    care.settle_contact_request(site.platform, name, rater_id, number, staff_id=caller.staff.id, now=site.clock())
    return redirect_to(f"/campaigns/{name}/care")
