"""What owners see of those whom Prolific sent, and how they decide on them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, DissensusError, InvalidInput, NoDatabase
from dissensus.recruit.prolific import PROLIFIC_API, ProlificClient
from dissensus.schema.hints import format_list, format_value
from dissensus.settings import prolific_token_of
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Sent, SiteOf, Visit
from dissensus.web.staff.pay import By, Number
from dissensus.web.staff.pay_contexts import Deciding, Submissions
from dissensus.workflows.campaign import submissions

router = APIRouter()

PATIENCE_S: Final = 10.0
"""For the answer of Prolific, while somebody waits for a page."""
Submission = Annotated[str, Path(max_length=100)]


@router.get("/campaigns/{name}/pay/submissions")
def see(site: SiteOf, visit: By, name: Name, number: Annotated[Number, Query(alias="page")] = 1) -> Response:
    """Show some submissions, those first that wait for a decision."""
    queue = submissions.load_queue(site.platform, name, page=number, staff_id=visit.staff.id)
    by_token = prolific_token_of(site.settings) is not None
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name}
    return page(site, Submissions(**who, queue=queue, by_token=by_token))


@router.get("/campaigns/{name}/pay/submissions/{submission}")
def see_one(site: SiteOf, visit: By, name: Name, submission: Submission) -> Response:
    """Show one submission, and what may be done about it."""
    return _one(site, visit, name, submission, {})


@router.post("/campaigns/{name}/pay/submissions/{submission}")
def decide(site: SiteOf, visit: By, name: Name, submission: Submission, sent: Sent) -> Response:
    """Decide on a submission, or go back to the form with what Prolific says to it."""
    # What Prolific refuses is no refusal of ours: whether there is such a submission is asked first.
    submissions.load_case(site.platform, name, submission, staff_id=visit.staff.id)
    try:
        ground = (str(sent.get("category", "")), str(sent.get("reason", "")))
        act = decision(sent.get("do"), reasons=_lines(sent.get("reasons")), ground=ground)
        with client_of(site) as prolific:
            act(site.platform, prolific, name, submission, staff_id=visit.staff.id, now=site.clock())
    except NoDatabase:
        raise
    except DissensusError as error:
        typed = {field: str(sent.get(field, "")) for field in ("reasons", "category", "reason") if field in sent}
        return _one(site, visit, name, submission, typed, str(error))
    return RedirectResponse(f"/campaigns/{name}/pay/submissions/{submission}", SEE_OTHER)


def decision(do: object, *, reasons: Sequence[str], ground: tuple[str, str]) -> Callable[..., None]:
    """Return what decides as somebody asks for."""
    decisions: Mapping[object, Callable[..., None]] = {
        "approve": submissions.approve_submission,
        "ask-return": partial(submissions.request_return, reasons=reasons),
        "reject": partial(submissions.reject_submission, ground=ground),
    }
    if do not in decisions:
        raise InvalidInput(f"{format_value(do)} is no decision. Decisions are {format_list(list(decisions))}.")
    return decisions[do]


def _lines(text: object) -> list[str]:
    return [line.strip() for line in str(text or "").splitlines() if line.strip()]


def client_of(site: Site) -> ProlificClient:
    """Return a connection to Prolific, with the token of the site."""
    token = prolific_token_of(site.settings)
    if token is None:
        raise Conflict("The site has no token of Prolific. Decide on https://app.prolific.com, or set prolific_token.")
    return ProlificClient(token, base=site.settings.prolific_url or PROLIFIC_API, timeout=PATIENCE_S, tries=1)


def _one(site: Site, visit: Visit, name: str, submission: str, typed: Mapping[str, Any], *faults: str) -> Response:
    campaign, case = submissions.load_case(site.platform, name, submission, staff_id=visit.staff.id)
    context = Deciding(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        campaign=campaign,
        case=case,
        by_token=prolific_token_of(site.settings) is not None,
        faults=faults,
        **typed,
    )
    return page(site, context, 422 if faults else 200)
