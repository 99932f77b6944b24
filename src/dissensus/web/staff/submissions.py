"""Submission pages: review and decide Prolific submissions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter, Path
from fastapi.responses import Response

from dissensus.errors import Conflict, DissensusError, InvalidInput, NoDatabase
from dissensus.recruit.prolific import PROLIFIC_API, REJECTION_CATEGORIES, ProlificClient, RejectionCategory
from dissensus.recruit.prolific.submissions import MIN_REASON_LENGTH
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.settings import load_prolific_token
from dissensus.web.core.list_query import PageNumber
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.pay import PayManager
from dissensus.workflows.campaign import submissions
from dissensus.workflows.campaign.submissions import SubmissionCase, SubmissionQueue

router = APIRouter()

PROLIFIC_TIMEOUT_S: Final = 10.0
"""Timeout for Prolific, while a page waits."""

Submission = Annotated[str, Path(max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionsPage(StaffPage):
    """A page of submissions."""

    template: ClassVar[str] = "staff/submissions.html"

    name: str
    queue: SubmissionQueue
    by_token: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionPage(StaffPage):
    """One submission with the decision form."""

    template: ClassVar[str] = "staff/submissions-case.html"

    name: str
    campaign: Campaign
    case: SubmissionCase
    by_token: bool
    reasons: str = ""
    category: str = "FAILED_CHECK"
    reason: str = ""
    faults: tuple[str, ...] = ()
    categories: ClassVar[tuple[RejectionCategory, ...]] = REJECTION_CATEGORIES
    min_reason_length: ClassVar[int] = MIN_REASON_LENGTH


@router.get("/campaigns/{name}/pay/submissions")
def show_submissions(site: SiteOf, caller: PayManager, name: Name, number: PageNumber = 1) -> Response:
    """Show a page of submissions, undecided first."""
    queue = submissions.load_queue(site.platform, name, page=number, staff_id=caller.staff.id)
    by_token = load_prolific_token(site.settings) is not None
    return page(site, caller.page(SubmissionsPage, name=name, queue=queue, by_token=by_token))


@router.get("/campaigns/{name}/pay/submissions/{submission}")
def show_submission(site: SiteOf, caller: PayManager, name: Name, submission: Submission) -> Response:
    """Show one submission and the possible decisions."""
    return _submission_page(site, caller, name, submission, {})


@router.post("/campaigns/{name}/pay/submissions/{submission}")
def decide_submission(
    site: SiteOf, caller: PayManager, name: Name, submission: Submission, form: StaffForm
) -> Response:
    """Decide a submission, or return to the form with the error."""
    # Check access first, so that a refusal by Prolific is not taken for one of ours.
    submissions.load_case(site.platform, name, submission, staff_id=caller.staff.id)
    try:
        rejection = (str(form.get("category", "")), str(form.get("reason", "")))
        apply = parse_decision(form.get("decision"), reasons=_lines(form.get("reasons")), rejection=rejection)
        with open_prolific(site) as prolific:
            apply(site.platform, prolific, name, submission, staff_id=caller.staff.id, now=site.clock())
    except NoDatabase:
        # Its message is for the operator only.
        raise
    except DissensusError as error:
        typed = {field: str(form.get(field, "")) for field in ("reasons", "category", "reason") if field in form}
        return _submission_page(site, caller, name, submission, typed, site_message(error))
    return redirect_to(f"/campaigns/{name}/pay/submissions/{submission}")


def parse_decision(decision: object, *, reasons: Sequence[str], rejection: tuple[str, str]) -> Callable[..., None]:
    """Return the workflow of a decision."""
    decisions: Mapping[object, Callable[..., None]] = {
        "approve": submissions.approve_submission,
        "ask-return": partial(submissions.request_return, reasons=reasons),
        "reject": partial(submissions.reject_submission, ground=rejection),
    }
    if decision not in decisions:
        raise InvalidInput(f"{format_value(decision)} is not a decision. Decisions are {format_list(list(decisions))}.")
    return decisions[decision]


def _lines(text: object) -> list[str]:
    return [line.strip() for line in str(text or "").splitlines() if line.strip()]


def open_prolific(site: Site) -> ProlificClient:
    """Return a Prolific client with the configured token."""
    token = load_prolific_token(site.settings)
    if token is None:
        raise Conflict("The site has no Prolific token. Decide on https://app.prolific.com, or set prolific_token.")
    return ProlificClient(
        token, base=site.settings.prolific_url or PROLIFIC_API, timeout=PROLIFIC_TIMEOUT_S, max_attempts=1
    )


def _submission_page(
    site: Site, caller: StaffRequest, name: str, submission: str, typed: Mapping[str, Any], *faults: str
) -> Response:
    campaign, case = submissions.load_case(site.platform, name, submission, staff_id=caller.staff.id)
    context = caller.page(
        SubmissionPage,
        name=name,
        campaign=campaign,
        case=case,
        by_token=load_prolific_token(site.settings) is not None,
        faults=faults,
        **typed,
    )
    return page(site, context, 422 if faults else 200)
