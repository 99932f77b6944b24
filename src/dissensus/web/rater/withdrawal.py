"""Withdrawal pages of raters, opened by their withdrawal link."""

from dataclasses import dataclass
from typing import ClassVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.recruit.entry import ReturnLink
from dissensus.web.core.forms import check_storable
from dissensus.web.core.responses import page
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.rater.entry import Language, forget_rater, negotiate_browser_language
from dissensus.workflows.rater import recruitment
from dissensus.workflows.rater import withdrawal as withdrawal_workflow

router = APIRouter(dependencies=[Depends(check_storable), Depends(Public("withdraw"))])


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalPage:
    """Data that a withdrawal will delete, or has deleted."""

    template: ClassVar[str] = "rater/withdrawal.html"

    language: str
    token: str
    rater_id: str
    n_rated: int
    paid: bool = False  # True if the working time is preserved for payment
    done: bool = False  # True once the data are deleted
    earlier: bool = False  # True if the rater had withdrawn before
    return_link: ReturnLink | None = None


@router.get("/withdraw/{token}")
def show_withdrawal(site: SiteOf, request: Request, token: str, lang: Language = "") -> Response:
    """Show what will be deleted."""
    rater_id = site.tokens.read_withdrawal(token)
    preview = withdrawal_workflow.preview_withdrawal(site.platform, rater_id)
    language = negotiate_browser_language(request, lang)
    context = WithdrawalPage(
        language=language,
        token=token,
        rater_id=rater_id,
        n_rated=preview.n_rated,
        paid=preview.paid,
        earlier=preview.withdrawn,
    )
    return page(site, context)


@router.post("/withdraw/{token}")
def withdraw(site: SiteOf, request: Request, token: str, lang: Language = "") -> Response:
    """Withdraw the rater and delete their data."""
    rater_id = site.tokens.read_withdrawal(token)
    return_link = recruitment.withdrawal_return_link(site.platform, rater_id)
    n_rated = withdrawal_workflow.withdraw_rater(site.platform, rater_id, now=site.clock())
    language = negotiate_browser_language(request, lang)
    context = WithdrawalPage(
        language=language, token=token, rater_id=rater_id, n_rated=n_rated, done=True, return_link=return_link
    )
    response = page(site, context)
    forget_rater(response)
    return response
