"""Whom Prolific sent, and what is decided on them; nothing is decided by itself."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.pay_schemas import AccountShown, Decision, Forgotten, SubmissionShown
from dissensus.web.api.requests import SubmissionDecisionRequest
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.web.staff.submissions import client_of, decision
from dissensus.workflows.campaign import submissions
from dissensus.workflows.campaign.submissions import SubmissionCase

router = APIRouter(
    prefix="/api/v1/campaigns/{name}/submissions", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Pay"]
)

By = Annotated[Visit, Depends(RequireScope("pay"))]
Submission = Annotated[str, Path(max_length=100)]


@router.get("", operation_id="list_submissions")
def list_submissions(
    site: SiteOf,
    visit: By,
    name: Name,
    waiting: Annotated[bool, Query(description="Whether those alone that wait for a decision.")] = False,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[SubmissionShown]:
    """List whom Prolific sent, in the order of the ids of their visits."""
    of = f"submissions of {name} that wait: {waiting}"
    (last,) = read_cursor(site, of, after) or [""]
    who = {"waiting": waiting, "staff_id": visit.staff.id}
    found = submissions.list_cases_after(site.platform, name, after=last, most=limit + 1, **who)  # type: ignore[arg-type]
    cases, following = paginate(site, of, found, limit, lambda case: case.submission.submission)
    return CursorPage(data=[_shown(case) for case in cases], next=following)


@router.get("/{submission}", operation_id="get_submission")
def get_submission(site: SiteOf, visit: By, name: Name, submission: Submission) -> SubmissionShown:
    """Return one submission, and what may be decided on it."""
    return _one(site, visit, name, submission)


@router.post("/{submission}/decision", operation_id="decide_submission")
def decide(
    site: SiteOf, visit: By, name: Name, submission: Submission, sent: SubmissionDecisionRequest
) -> SubmissionShown:
    """Let Prolific pay somebody, ask them for a return, or refuse to pay who failed checks of attention."""
    submissions.load_case(site.platform, name, submission, staff_id=visit.staff.id)
    ground = (sent.category or "", sent.reason or "")
    act = decision(sent.decision, reasons=sent.reasons, ground=ground)
    try:
        with client_of(site) as prolific:
            act(site.platform, prolific, name, submission, staff_id=visit.staff.id, now=site.clock())
    except (NotAllowed, NotFound) as error:
        # What Prolific refuses is no refusal of ours.
        raise Conflict(str(error)) from None
    return _one(site, visit, name, submission)


@router.delete("", operation_id="forget_submissions")
def forget(site: SiteOf, visit: By, name: Name) -> Forgotten:
    """Forget who came from Prolific, once a campaign is closed. It cannot be undone."""
    return Forgotten(recruits=submissions.erase_recruiter_ids(site.platform, name, staff_id=visit.staff.id, now=site.clock()))


def _one(site: Site, visit: Visit, name: str, submission: str) -> SubmissionShown:
    return _shown(submissions.load_case(site.platform, name, submission, staff_id=visit.staff.id)[1])


def _shown(case: SubmissionCase) -> SubmissionShown:
    one = case.submission
    allowed: dict[Decision, bool] = {
        "approve": case.may_approve,
        "ask-return": case.may_ask_return and one.return_asked_at is None,
        "reject": case.may_reject,
    }
    return SubmissionShown(
        submission=one.submission,
        rater=one.rater_id,
        standing=one.state,
        n_rated=one.n_rated,
        status=one.status,
        again=one.again,
        entered_at=one.entered_at,
        return_asked_at=one.return_asked_at,
        tries={check: list(every) for check, every in case.tries.items()},
        failed=[] if case.verdict is None else list(case.verdict.failed),
        may=[decision for decision, may in allowed.items() if may],
        away=None if case.away is None else AccountShown.model_validate(case.away),
    )
