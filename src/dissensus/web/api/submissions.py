"""API routes for Prolific submissions and the decisions on them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from dissensus.api_models.pay import AccountResource, ForgottenRecruitsResource, SubmissionDecision, SubmissionResource
from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.schema.advice import site_message
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import SubmissionDecisionRequest
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.prolific import open_prolific
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import submissions
from dissensus.workflows.campaign.submissions import SubmissionCase

router = APIRouter(
    prefix="/api/v1/campaigns/{name}/submissions", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Pay"]
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("pay"))]
Submission = Annotated[str, Path(max_length=100)]


@router.get("", operation_id="list_submissions")
def list_submissions(
    site: SiteOf,
    caller: Authorized,
    name: Name,
    waiting: Annotated[bool, Query(description="Only submissions that wait for a decision.")] = False,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[SubmissionResource]:
    """List submissions from Prolific, in the order of their ids."""
    list_name = f"submissions of {name} that wait: {waiting}"
    (last,) = read_cursor(site, list_name, after) or [""]
    rows = submissions.list_cases_after(
        site.platform, name, after=last, most=limit + 1, waiting=waiting, staff_id=caller.staff.id
    )
    cases, next_cursor = paginate(site, list_name, rows, limit, lambda case: case.submission.submission)
    return CursorPage(data=[_to_resource(case) for case in cases], next=next_cursor)


@router.get("/{submission}", operation_id="get_submission")
def get_submission(site: SiteOf, caller: Authorized, name: Name, submission: Submission) -> SubmissionResource:
    """Return a submission, and the decisions allowed on it."""
    return _load_submission(site, caller, name, submission)


@router.post("/{submission}/decision", operation_id="decide_submission")
def decide(
    site: SiteOf, caller: Authorized, name: Name, submission: Submission, body: SubmissionDecisionRequest
) -> SubmissionResource:
    """Approve a submission, ask for its return, or reject it for failed attention checks."""
    submissions.load_case(site.platform, name, submission, staff_id=caller.staff.id)
    rejection = (body.category or "", body.reason or "")
    apply = submissions.find_decision(body.decision, reasons=body.reasons, rejection=rejection)
    try:
        with open_prolific(site) as prolific:
            apply(site.platform, prolific, name, submission, staff_id=caller.staff.id, now=site.clock())
    except (NotAllowed, NotFound) as error:
        # A refusal by Prolific is not an authorisation error of this API.
        raise Conflict(site_message(error)) from None
    return _load_submission(site, caller, name, submission)


@router.delete("", operation_id="erase_submissions")
def erase(site: SiteOf, caller: Authorized, name: Name) -> ForgottenRecruitsResource:
    """Erase the recruiter's ids of a closed campaign. It cannot be undone."""
    return ForgottenRecruitsResource(
        recruits=submissions.erase_recruiter_ids(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    )


def _load_submission(site: Site, caller: StaffRequest, name: str, submission: str) -> SubmissionResource:
    return _to_resource(submissions.load_case(site.platform, name, submission, staff_id=caller.staff.id)[1])


def _to_resource(case: SubmissionCase) -> SubmissionResource:
    submission = case.submission
    allowed: dict[SubmissionDecision, bool] = {
        "approve": case.may_approve,
        "ask-return": case.may_ask_return and submission.return_requested_at is None,
        "reject": case.may_reject,
    }
    return SubmissionResource(
        submission=submission.submission,
        rater=submission.rater_id,
        standing=submission.state,
        status=submission.status,
        n_repeat_visits=submission.n_repeat_visits,
        entered_at=submission.entered_at,
        return_requested_at=submission.return_requested_at,
        attempts={check: tuple(answers) for check, answers in case.attempts.items()},
        failed_checks=() if case.verdict is None else tuple(case.verdict.failed),
        allowed_decisions=tuple(decision for decision, permitted in allowed.items() if permitted),
        screened_out_account=None
        if case.screened_out_account is None
        else AccountResource.model_validate(case.screened_out_account),
    )
