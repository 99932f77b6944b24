"""Pay pages: accounts of raters, their payments, and erasure of the recruiter's ids."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final
from uuid import uuid4

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.advice import site_message
from dissensus.schema.money import parse_minor_units, to_major_units
from dissensus.schema.numbers import clamp_page
from dissensus.web.core.list_query import PageNumber
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.raters import RaterId
from dissensus.workflows.campaign import pay, submissions
from dissensus.workflows.campaign.pay import PayHistory, PayLedger, RaterAccount

router = APIRouter()

PAGE_SIZE: Final = 100
PayManager = Annotated[StaffRequest, Depends(Require("pay"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class PayPage(StaffPage):
    """A page of rater accounts; `only_due` omits those with nothing due."""

    template: ClassVar[str] = "staff/pay.html"

    name: str
    ledger: PayLedger
    raters: tuple[RaterAccount, ...]
    only_due: bool
    page: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterPayPage(StaffPage):
    """One rater's account with the payment form."""

    template: ClassVar[str] = "staff/pay-rater.html"

    name: str
    history: PayHistory
    payment_id: str
    amount: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseRecruitsPage(StaffPage):
    """Confirmation before a recruiter's ids are erased."""

    template: ClassVar[str] = "staff/pay-erase.html"

    name: str
    ledger: PayLedger


@router.get("/campaigns/{name}/pay")
def show_pay(site: SiteOf, caller: PayManager, name: Name, number: PageNumber = 1, due: bool = False) -> Response:
    """Show rater accounts, largest amount due first."""
    ledger = pay.load_ledger(site.platform, name, staff_id=caller.staff.id)
    raters = ledger.due if due else ledger.raters
    number, pages, start = clamp_page(number, len(raters), PAGE_SIZE)
    context = caller.page(
        PayPage,
        name=name,
        ledger=ledger,
        raters=raters[start : start + PAGE_SIZE],
        only_due=due,
        page=number,
        pages=pages,
    )
    return page(site, context)


@router.get("/campaigns/{name}/pay.csv")
def export_pay(site: SiteOf, caller: PayManager, name: Name) -> Response:
    """Send the accounts of all raters as CSV."""
    table = pay.export_ledger_csv(site.platform, name, staff_id=caller.staff.id)
    headers = {"content-disposition": f'attachment; filename="{name}.pay.csv"'}
    return Response(table, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/campaigns/{name}/pay/erase")
def show_erase_form(site: SiteOf, caller: PayManager, name: Name) -> Response:
    """Ask for confirmation before a recruiter's ids are erased."""
    ledger = pay.load_ledger(site.platform, name, staff_id=caller.staff.id)
    return page(site, caller.page(EraseRecruitsPage, name=name, ledger=ledger))


@router.post("/campaigns/{name}/pay/erase")
def erase_recruiter_ids(site: SiteOf, caller: PayManager, name: Name, _form: StaffForm) -> Response:
    """Erase the recruiter's ids of a campaign."""
    submissions.erase_recruiter_ids(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    return redirect_to(f"/campaigns/{name}/pay")


@router.get("/campaigns/{name}/pay/raters/{rater_id}")
def show_rater(site: SiteOf, caller: PayManager, name: Name, rater_id: RaterId) -> Response:
    """Show the account of one rater."""
    return _rater_page(site, caller, name, rater_id)


@router.post("/campaigns/{name}/pay/raters/{rater_id}")
def record_payment(site: SiteOf, caller: PayManager, name: Name, rater_id: RaterId, form: StaffForm) -> Response:
    """Record a payment, or return to the form."""
    typed, payment_id = str(form.get("amount", "")), str(form.get("payment", ""))
    currency = pay.load_history(site.platform, name, rater_id, staff_id=caller.staff.id).rater.account.currency
    try:
        pay.record_payment(
            site.platform,
            name,
            rater_id,
            parse_minor_units(currency, typed),
            payment_id=payment_id,
            staff_id=caller.staff.id,
            now=site.clock(),
        )
    except (InvalidInput, Conflict) as error:
        return _rater_page(site, caller, name, rater_id, typed, site_message(error))
    return _redirect(name, rater_id)


@router.post("/campaigns/{name}/pay/raters/{rater_id}/reverse")
def reverse_payment(site: SiteOf, caller: PayManager, name: Name, rater_id: RaterId, form: StaffForm) -> Response:
    """Reverse a payment that was recorded by mistake."""
    payment_id = str(form.get("payment", ""))
    pay.reverse_payment(site.platform, name, rater_id, payment_id, staff_id=caller.staff.id, now=site.clock())
    return _redirect(name, rater_id)


def _rater_page(
    site: Site, caller: StaffRequest, name: str, rater_id: str, typed: str | None = None, *faults: str
) -> Response:
    history = pay.load_history(site.platform, name, rater_id, staff_id=caller.staff.id)
    account = history.rater.account
    due = str(to_major_units(account.currency, account.due)) if account.due else ""
    context = caller.page(
        RaterPayPage,
        name=name,
        history=history,
        payment_id=str(uuid4()),
        amount=due if typed is None else typed,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


def _redirect(name: str, rater_id: str) -> Response:
    return redirect_to(f"/campaigns/{name}/pay/raters/{rater_id}")
