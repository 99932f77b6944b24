"""API routes for accounts of raters and recorded payments."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from dissensus.api_models.pay import (
    AccountResource,
    LedgerResource,
    PaymentResource,
    RaterAccountHistoryResource,
    RaterAccountResource,
)
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.idempotency import NewResourceId
from dissensus.web.api.members import RaterId
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import PaymentRequest
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import pay
from dissensus.workflows.campaign.pay import RaterAccount

router = APIRouter(
    prefix="/api/v1/campaigns/{name}/pay", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Pay"]
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("pay"))]
PaymentId = Annotated[str, Path(max_length=100)]


@router.get("", operation_id="get_pay")
def get_pay(site: SiteOf, caller: Authorized, name: Name) -> LedgerResource:
    """Return the pay rates of a campaign, and the total of all accounts."""
    ledger = pay.load_ledger(site.platform, name, staff_id=caller.staff.id)
    rates = {
        field: getattr(ledger.pay, field, None) for field in ("currency", "hourly_rate", "finished", "screened_out")
    }
    totals = {
        field: getattr(ledger, field) for field in ("total", "n_screened_out", "screened_out_account", "n_recruits")
    }
    return LedgerResource.model_validate({**rates, **totals})


@router.get("/raters", operation_id="list_accounts")
def list_accounts(
    site: SiteOf, caller: Authorized, name: Name, limit: Limit = 100, after: AfterCursor = ""
) -> CursorPage[RaterAccountResource]:
    """List the accounts of raters, in the order in which they entered."""
    list_name = f"accounts of {name}"
    (last,) = read_cursor(site, list_name, after) or [-1]
    rows = pay.list_accounts_after(site.platform, name, after=last, most=limit + 1, staff_id=caller.staff.id)
    accounts, next_cursor = paginate(site, list_name, rows, limit, lambda account: account.work.number)
    return CursorPage(data=[_to_resource(account) for account in accounts], next=next_cursor)


def _to_resource(account: RaterAccount) -> RaterAccountResource:
    return RaterAccountResource(
        rater=account.work.rater_id,
        standing=account.work.state,
        paid_minutes=account.paid_minutes,
        account=AccountResource.model_validate(account.account),
    )


@router.get("/raters/{rater_id}", operation_id="get_account")
def get_account(site: SiteOf, caller: Authorized, name: Name, rater_id: RaterId) -> RaterAccountHistoryResource:
    """Return the account of a rater with its payments."""
    return _history(site, caller, name, rater_id)


@router.post("/raters/{rater_id}/payments", operation_id="record_payment", status_code=201)
def record_payment(
    site: SiteOf, caller: Authorized, name: Name, rater_id: RaterId, body: PaymentRequest, payment_id: NewResourceId
) -> PaymentResource:
    """Record a payment to a rater; no money is sent."""
    pay.record_payment(
        site.platform,
        name,
        rater_id,
        body.amount,
        payment_id=payment_id,
        staff_id=caller.staff.id,
        now=site.clock(),
    )
    payments = _history(site, caller, name, rater_id).payments
    return next(payment for payment in payments if payment.id == payment_id)


@router.delete("/raters/{rater_id}/payments/{payment_id}", operation_id="reverse_payment")
def reverse_payment(
    site: SiteOf, caller: Authorized, name: Name, rater_id: RaterId, payment_id: PaymentId
) -> RaterAccountHistoryResource:
    """Reverse a payment that was recorded by mistake, by adding an opposite one."""
    pay.reverse_payment(site.platform, name, rater_id, payment_id, staff_id=caller.staff.id, now=site.clock())
    return _history(site, caller, name, rater_id)


def _history(site: Site, caller: StaffRequest, name: str, rater_id: str) -> RaterAccountHistoryResource:
    history = pay.load_history(site.platform, name, rater_id, staff_id=caller.staff.id)
    payments = tuple(
        PaymentResource(
            id=payment.id,
            amount=payment.amount,
            by=payment.by,
            at=payment.at,
            reversed=payment.id in history.reversed_ids,
        )
        for payment in history.payments
    )
    return RaterAccountHistoryResource(
        **dict(_to_resource(history.rater)), paid_by_prolific=history.paid_by_prolific, payments=payments
    )
