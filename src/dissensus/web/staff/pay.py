"""What owners see of what raters are owed, and how they note payments."""

from typing import Annotated, Final
from uuid import uuid4

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.money import to_major_units, parse_minor_units
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.staff.pay_contexts import ErasingRecruits, PaidRater, PayPage
from dissensus.workflows.campaign import pay, submissions

router = APIRouter()

PAGE: Final = 100
By = Annotated[Visit, Depends(May("pay"))]
Number = Annotated[int, Query(ge=1, le=1_000_000)]
RaterId = Annotated[str, Path(max_length=36)]


@router.get("/campaigns/{name}/pay")
def see(
    site: SiteOf, visit: By, name: Name, number: Annotated[Number, Query(alias="page")] = 1, due: bool = False
) -> Response:
    """Show what raters are owed, those first who are due most."""
    ledger = pay.load_ledger(site.platform, name, staff_id=visit.staff.id)
    raters = ledger.due if due else ledger.raters
    pages = max(1, -(-len(raters) // PAGE))
    number = min(number, pages)
    context = PayPage(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        ledger=ledger,
        raters=raters[(number - 1) * PAGE : number * PAGE],
        due_alone=due,
        page=number,
        pages=pages,
    )
    return page(site, context)


@router.get("/campaigns/{name}/pay.csv")
def as_csv(site: SiteOf, visit: By, name: Name) -> Response:
    """Send the accounts of all raters."""
    table = pay.export_ledger_csv(site.platform, name, staff_id=visit.staff.id)
    headers = {"content-disposition": f'attachment; filename="{name}.pay.csv"'}
    return Response(table, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/campaigns/{name}/pay/erase")
def ask_to_erase(site: SiteOf, visit: By, name: Name) -> Response:
    """Ask before it is forgotten who came from Prolific."""
    ledger = pay.load_ledger(site.platform, name, staff_id=visit.staff.id)
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name}
    return page(site, ErasingRecruits(**who, ledger=ledger))


@router.post("/campaigns/{name}/pay/erase")
def erase(site: SiteOf, visit: By, name: Name, _sent: Sent) -> Response:
    """Forget who came from Prolific."""
    submissions.erase_recruiter_ids(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    return RedirectResponse(f"/campaigns/{name}/pay", SEE_OTHER)


@router.get("/campaigns/{name}/pay/raters/{rater_id}")
def see_one(site: SiteOf, visit: By, name: Name, rater_id: RaterId) -> Response:
    """Show the account of one rater."""
    return _one(site, visit, name, rater_id)


@router.post("/campaigns/{name}/pay/raters/{rater_id}")
def note(site: SiteOf, visit: By, name: Name, rater_id: RaterId, sent: Sent) -> Response:
    """Note a payment, or go back to the form."""
    typed, payment_id = str(sent.get("amount", "")), str(sent.get("payment", ""))
    currency = pay.load_history(site.platform, name, rater_id, staff_id=visit.staff.id).paid.account.currency
    who = {"payment_id": payment_id, "staff_id": visit.staff.id}
    try:
        pay.record_payment(site.platform, name, rater_id, parse_minor_units(currency, typed), **who, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _one(site, visit, name, rater_id, typed, str(error))
    return _back(name, rater_id)


@router.post("/campaigns/{name}/pay/raters/{rater_id}/take-back")
def take_back(site: SiteOf, visit: By, name: Name, rater_id: RaterId, sent: Sent) -> Response:
    """Take a payment back that was noted by mistake."""
    payment_id = str(sent.get("payment", ""))
    pay.reverse_payment(site.platform, name, rater_id, payment_id, staff_id=visit.staff.id, now=site.clock())
    return _back(name, rater_id)


def _one(site: Site, visit: Visit, name: str, rater_id: str, typed: str | None = None, *faults: str) -> Response:
    history = pay.load_history(site.platform, name, rater_id, staff_id=visit.staff.id)
    account = history.paid.account
    due = str(to_major_units(account.currency, account.due)) if account.due else ""
    context = PaidRater(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        history=history,
        payment_id=str(uuid4()),
        amount=due if typed is None else typed,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


def _back(name: str, rater_id: str) -> Response:
    return RedirectResponse(f"/campaigns/{name}/pay/raters/{rater_id}", SEE_OTHER)
