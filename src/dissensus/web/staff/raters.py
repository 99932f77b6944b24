"""Rater pages: a list of raters, and one rater with all answers, where their flag is decided."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Final
from uuid import uuid4

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response
from starlette.datastructures import FormData

from dissensus.campaign.filters.rater_filter import RATER_FLAGS, RATER_ORDERS, RaterFilter
from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.advice import site_message
from dissensus.schema.hints import format_value, parse_choice
from dissensus.schema.numbers import parse_digits
from dissensus.web.core.list_query import MAX_PLACE, ListQuery, Text, read_rank_cursor, read_selected
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.workflows.campaign import flags, raters
from dissensus.workflows.campaign.flags import MAX_REASON_LENGTH, FlagPlan, FlagVerdict
from dissensus.workflows.campaign.raters import RaterListing, RaterView

if TYPE_CHECKING:
    from dissensus.store.lists.raters import ListedRater


router = APIRouter()

# Roles that see raters see their flags and notices too.
RaterId = Annotated[str, Path(max_length=36)]
Authorized = Annotated[StaffRequest, Depends(Require("raters"))]
PAGE_SIZE: Final = 50
ANSWERS_PAGE_SIZE: Final = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterQuery(ListQuery):
    """Order and filters of the list in the address of a page, as typed."""

    order: Text = ""
    search: Text = ""
    state: Text = ""
    cell: Text = ""
    flag: Text = ""

    def to_filter(self) -> RaterFilter:
        """Return the filter, or raise `InvalidInput`."""
        order = parse_choice(self.order or "entry", RATER_ORDERS, "an order")
        flag = parse_choice(self.flag, RATER_FLAGS, "a filter") if self.flag else None
        search = self.search.strip()
        if search and not parse_digits(search):
            raise InvalidInput(f"{format_value(search)} is not the number of a rater. Give one such as 12.")
        return RaterFilter(order=order, search=search, state=self.state, cell=self.cell, flag=flag)


RaterQueryOf = Annotated[RaterQuery, Depends()]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatersPage(StaffPage):
    """A page of the list of raters."""

    template: ClassVar[str] = "staff/raters.html"

    name: str
    query: RaterQuery
    listing: RaterListing
    raters: "tuple[ListedRater, ...]"
    next_cursor: str | None
    is_first: bool
    permissions: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterPage(StaffPage):
    """One rater, with the decision form if they are flagged."""

    template: ClassVar[str] = "staff/raters-detail.html"
    max_reason_length: ClassVar[int] = MAX_REASON_LENGTH

    name: str
    query: RaterQuery
    view: RaterView
    next_after: int | None  # Place in the order of the rater after which the next answers begin
    is_first: bool
    decision_id: str
    verdict: str = ""
    reason: str = ""
    faults: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """Criteria that the rater meets."""
        return self.view.figures.reasons if self.view.figures else ()

    @property
    def decidable(self) -> bool:
        """True if there is a flag to decide about, or a decision to change."""
        return bool(self.reasons or self.view.decisions)


@router.get("/campaigns/{name}/raters")
def show_raters(
    site: SiteOf, caller: Authorized, name: Name, query: RaterQueryOf, after: Annotated[str, Query(max_length=60)] = ""
) -> Response:
    """Show a page of the list of raters, by default in the order of entry."""
    rater_filter, cursor = query.to_filter(), read_rank_cursor(after)
    listing = raters.list_raters(
        site.platform, name, rater_filter, after=cursor, staff_id=caller.staff.id, most=PAGE_SIZE + 1
    )
    rows = listing.raters[:PAGE_SIZE]
    if any(rater.flagged or rater.decision for rater in rows):
        log_access(site, caller, name, "flags")
    context = caller.page(
        RatersPage,
        name=name,
        query=query,
        listing=listing,
        raters=rows,
        next_cursor=f"{rows[-1].sort_value!r}~{rows[-1].number}" if len(listing.raters) > PAGE_SIZE else None,
        is_first=cursor is None,
        permissions=caller.permissions,
    )
    return page(site, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagsPage(StaffPage):
    """One decision about the flags of selected raters, before it is stored."""

    template: ClassVar[str] = "staff/raters-decision.html"
    max_reason_length: ClassVar[int] = MAX_REASON_LENGTH

    name: str
    query: RaterQuery
    plan: FlagPlan
    decision_id: str
    verdict: str = ""
    reason: str = ""
    faults: tuple[str, ...] = ()


Reviewer = Annotated[StaffRequest, Depends(Require("flags"))]


@router.post("/campaigns/{name}/raters/selection")
def confirm_flags(site: SiteOf, caller: Reviewer, name: Name, query: RaterQueryOf, form: StaffForm) -> Response:
    """Show about which of the selected raters there is something to decide."""
    return _flags_page(site, caller, name, query, form)


@router.post("/campaigns/{name}/raters/decisions")
def decide_flags(site: SiteOf, caller: Reviewer, name: Name, query: RaterQueryOf, form: StaffForm) -> Response:
    """Store one decision about each of the selected raters, or return to the form."""
    verdict = _read_verdict(form)
    try:
        selected = read_selected(form, "rater", "a rater")
        flags.decide_flags(site.platform, name, selected, verdict, staff_id=caller.staff.id, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _flags_page(site, caller, name, query, form, faults=tuple(site_message(error).splitlines()))
    return redirect_to(f"/campaigns/{name}/raters{'?' + query.address if query.address else ''}")


def _flags_page(
    site: Site, caller: StaffRequest, name: str, query: RaterQuery, form: FormData, faults: tuple[str, ...] = ()
) -> Response:
    plan = flags.plan_flags(site.platform, name, read_selected(form, "rater", "a rater"), staff_id=caller.staff.id)
    log_access(site, caller, name, "flags")
    verdict = _read_verdict(form)
    context = caller.page(
        FlagsPage,
        name=name,
        query=query,
        plan=plan,
        decision_id=verdict.id or str(uuid4()),
        verdict=verdict.verdict,
        reason=verdict.reason,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


def _read_verdict(form: FormData) -> FlagVerdict:
    decision_id, verdict, reason = (str(form.get(field, "")) for field in ("decision", "verdict", "reason"))
    return FlagVerdict(id=decision_id, verdict=verdict, reason=reason)


@router.get("/campaigns/{name}/raters/{rater_id}")
def show_rater(
    site: SiteOf,
    caller: Authorized,
    name: Name,
    rater_id: RaterId,
    query: RaterQueryOf,
    question: Text = "",
    after: Annotated[int, Query(ge=-1, le=MAX_PLACE)] = -1,
) -> Response:
    """Show one rater with their answers to a question."""
    return _rater_page(site, caller, name, rater_id, query=query, place=(question, after))


@router.post("/campaigns/{name}/raters/{rater_id}")
def decide_flag(site: SiteOf, caller: Reviewer, name: Name, rater_id: RaterId, form: StaffForm) -> Response:
    """Store a decision about a flag, or return to the form."""
    verdict = _read_verdict(form)
    try:
        flags.decide_flag(site.platform, name, rater_id, verdict, staff_id=caller.staff.id, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _rater_page(
            site, caller, name, rater_id, verdict=verdict, faults=tuple(site_message(error).splitlines())
        )
    return redirect_to(f"/campaigns/{name}/raters/{rater_id}")


def _rater_page(
    site: Site,
    caller: StaffRequest,
    name: str,
    rater_id: str,
    *,
    query: RaterQuery = RaterQuery(),
    place: tuple[str, int] = ("", -1),
    verdict: FlagVerdict | None = None,
    faults: tuple[str, ...] = (),
) -> Response:
    question, after = place
    view = raters.load_rater(
        site.platform,
        name,
        rater_id,
        question=question,
        after=after,
        staff_id=caller.staff.id,
        most=ANSWERS_PAGE_SIZE + 1,
    )
    shown = replace(view, answers=view.answers[:ANSWERS_PAGE_SIZE])
    context = caller.page(
        RaterPage,
        name=name,
        query=query,
        view=shown,
        next_after=shown.answers[-1].item.order if len(view.answers) > ANSWERS_PAGE_SIZE else None,
        is_first=after < 0,
        decision_id=str(uuid4()),
        verdict=verdict.verdict if verdict else "",
        reason=verdict.reason if verdict else "",
        faults=faults,
    )
    for action, is_shown in (("flags", context.decidable), ("notices", view.notices)):
        if is_shown:
            log_access(site, caller, name, action)
    return page(site, context, 422 if faults else 200)
