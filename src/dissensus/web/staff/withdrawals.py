"""Withdrawal pages: owners withdraw raters at their request, whose data are erased."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from dissensus.errors import NotFound
from dissensus.schema.advice import site_message
from dissensus.web.core.list_query import read_selected
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.web.staff.raters import RaterQueryOf
from dissensus.workflows.rater import withdrawal
from dissensus.workflows.rater.withdrawal import WithdrawalPlan, WithdrawalPreview

router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("withdraw-for"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawForRaterPage(StaffPage):
    """Withdrawal on behalf of a rater."""

    template: ClassVar[str] = "staff/withdrawals.html"

    name: str
    rater_id: str
    preview: WithdrawalPreview | None = None
    n_deleted: int | None = None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawSelectedPage(StaffPage):
    """Confirmation before the data of selected raters are erased."""

    template: ClassVar[str] = "staff/withdrawals-selection.html"

    name: str
    plan: WithdrawalPlan
    address: str  # Query string of the list


@router.get("/campaigns/{name}/withdraw")
def show_form(
    site: SiteOf, caller: Authorized, name: Name, rater: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """Ask for the rater, and show what will be deleted."""
    return _withdrawal_page(site, caller, name, rater.strip())


@router.post("/campaigns/{name}/withdraw")
def withdraw_rater(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """Withdraw the rater and delete their data."""
    rater_id = str(form.get("rater", ""))
    n_deleted = withdrawal.withdraw_rater_for(site.platform, name, rater_id, staff_id=caller.staff.id, now=site.clock())
    return page(site, _make_context(caller, name, rater_id, n_deleted=n_deleted))


def _withdrawal_page(site: Site, caller: StaffRequest, name: str, rater_id: str) -> Response:
    if not rater_id:
        return page(site, _make_context(caller, name, rater_id))
    try:
        preview = withdrawal.preview_withdrawal_for(site.platform, name, rater_id, staff_id=caller.staff.id)
    except NotFound as error:
        return page(site, _make_context(caller, name, rater_id, faults=(site_message(error),)), 422)
    return page(site, _make_context(caller, name, rater_id, preview=preview))


def _make_context(caller: StaffRequest, name: str, rater_id: str, **fields: object) -> WithdrawForRaterPage:
    return caller.page(WithdrawForRaterPage, name=name, rater_id=rater_id, **fields)


@router.post("/campaigns/{name}/withdraw/selection")
def confirm_withdrawals(site: SiteOf, caller: Authorized, name: Name, query: RaterQueryOf, form: StaffForm) -> Response:
    """Show what would be erased of the selected raters."""
    plan = withdrawal.plan_withdrawals(
        site.platform, name, read_selected(form, "rater", "a rater"), staff_id=caller.staff.id
    )
    log_access(site, caller, name, "raters")
    return page(site, caller.page(WithdrawSelectedPage, name=name, plan=plan, address=query.address))


@router.post("/campaigns/{name}/withdraw/selected")
def withdraw_selected(
    site: SiteOf, caller: Authorized, name: Name, query: RaterQueryOf, form: StaffForm, _slot: SlowRequestSlot
) -> Response:
    """Erase the data of the selected raters."""
    withdrawal.withdraw_raters_for(
        site.platform, name, read_selected(form, "rater", "a rater"), staff_id=caller.staff.id, now=site.clock()
    )
    return redirect_to(f"/campaigns/{name}/raters{'?' + query.address if query.address else ''}")
