"""Submission pages: review and decide Prolific submissions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter, Path
from fastapi.responses import Response

from dissensus.errors import DissensusError, NoDatabase
from dissensus.recruit.prolific import REJECTION_CATEGORIES, RejectionCategory
from dissensus.recruit.prolific.submissions import MIN_REASON_LENGTH
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.settings import load_prolific_token
from dissensus.web.core.list_query import PageNumber
from dissensus.web.core.prolific import open_prolific
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.pay import PayManager
from dissensus.workflows.campaign import submissions
from dissensus.workflows.campaign.submissions import SubmissionCase, SubmissionQueue

router = APIRouter()

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
        reasons = _lines(form.get("reasons"))
        apply = submissions.find_decision(form.get("decision"), reasons=reasons, rejection=rejection)
        with open_prolific(site) as prolific:
            apply(site.platform, prolific, name, submission, staff_id=caller.staff.id, now=site.clock())
    except NoDatabase:
        # Its message is for the operator only.
        raise
    except DissensusError as error:
        typed = {field: str(form.get(field, "")) for field in ("reasons", "category", "reason") if field in form}
        return _submission_page(site, caller, name, submission, typed, site_message(error))
    return redirect_to(f"/campaigns/{name}/pay/submissions/{submission}")


def _lines(text: object) -> list[str]:
    return [line.strip() for line in str(text or "").splitlines() if line.strip()]


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
