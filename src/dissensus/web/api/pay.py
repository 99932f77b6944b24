"""What raters are owed, and payments as they are noted."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.idempotency import NewResourceId
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.pay_schemas import AccountShown, Ledger, PaidHistory, PaidShown, PaymentShown
from dissensus.web.api.people import RaterId
from dissensus.web.api.requests import PaymentRequest
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.workflows.campaign import pay
from dissensus.workflows.campaign.pay import RaterAccount

router = APIRouter(prefix="/api/v1/campaigns/{name}/pay", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Pay"])

By = Annotated[Visit, Depends(RequireScope("pay"))]
PaymentId = Annotated[str, Path(max_length=100)]


@router.get("", operation_id="get_pay")
def get_pay(site: SiteOf, visit: By, name: Name) -> Ledger:
    """Return what a campaign pays, and all accounts together."""
    found = pay.load_ledger(site.platform, name, staff_id=visit.staff.id)
    rates = {one: getattr(found.pay, one, None) for one in ("currency", "hour", "finished", "screened_out")}
    told = {one: getattr(found, one) for one in ("total", "n_away", "away", "n_recruits")}
    return Ledger.model_validate({**rates, **told})


@router.get("/raters", operation_id="list_accounts")
def list_accounts(site: SiteOf, visit: By, name: Name, limit: Limit = 100, after: AfterCursor = "") -> CursorPage[PaidShown]:
    """List what raters did and are owed, in the order in which they entered."""
    of = f"accounts of {name}"
    (last,) = read_cursor(site, of, after) or [-1]
    found = pay.list_accounts_after(site.platform, name, after=last, most=limit + 1, staff_id=visit.staff.id)
    accounts, following = paginate(site, of, found, limit, lambda paid: paid.work.number)
    return CursorPage(data=[_paid(one) for one in accounts], next=following)


def _paid(one: RaterAccount) -> PaidShown:
    return PaidShown(
        rater=one.work.rater_id,
        standing=one.work.state,
        n_rated=one.work.n_rated,
        worked_ms=one.work.worked_ms,
        account=AccountShown.model_validate(one.account),
    )


@router.get("/raters/{rater_id}", operation_id="get_account")
def get_account(site: SiteOf, visit: By, name: Name, rater_id: RaterId) -> PaidHistory:
    """Return the account of one rater, and what it is made of."""
    return _history(site, visit, name, rater_id)


@router.post("/raters/{rater_id}/payments", operation_id="note_payment", status_code=201)
def note(site: SiteOf, visit: By, name: Name, rater_id: RaterId, sent: PaymentRequest, payment_id: NewResourceId) -> PaymentShown:
    """Note that a rater was paid; nothing is sent to anybody."""
    who = {"payment_id": payment_id, "staff_id": visit.staff.id}
    pay.record_payment(site.platform, name, rater_id, sent.amount, **who, now=site.clock())
    payments = _history(site, visit, name, rater_id).payments
    return next(one for one in payments if one.id == payment_id)


@router.delete("/raters/{rater_id}/payments/{payment_id}", operation_id="take_payment_back")
def take_back(site: SiteOf, visit: By, name: Name, rater_id: RaterId, payment_id: PaymentId) -> PaidHistory:
    """Take a payment back that was noted by mistake: it stays, and one that takes it back is added."""
    pay.reverse_payment(site.platform, name, rater_id, payment_id, staff_id=visit.staff.id, now=site.clock())
    return _history(site, visit, name, rater_id)


def _history(site: Site, visit: Visit, name: str, rater_id: str) -> PaidHistory:
    found = pay.load_history(site.platform, name, rater_id, staff_id=visit.staff.id)
    payments = [
        PaymentShown(id=one.id, amount=one.amount, by=one.by, at=one.at, taken_back=one.id in found.taken_back)
        for one in found.payments
    ]
    return PaidHistory(**dict(_paid(found.paid)), by_prolific=found.by_prolific, payments=payments)
