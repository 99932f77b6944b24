"""Item pages: items sorted by disagreement, the answers about one item, and withholding of items."""

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response

from dissensus.campaign.filters.item_filter import ItemFilter, ItemFlag
from dissensus.errors import InvalidInput
from dissensus.pipeline.monitor import WITHIN, ItemAnswers
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import parse_digits
from dissensus.schema.questionnaire.question import Wording
from dissensus.web.core.list_query import MAX_PLACE, ListQuery, Text, read_rank_cursor, read_selected
from dissensus.web.core.responses import is_local_path, page, redirect_to
from dissensus.web.core.restrictions import check_report_filter, restrict_item, restrict_items
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.workflows.campaign import items
from dissensus.workflows.campaign.items import ItemListing, ItemView, WithholdingPlan

if TYPE_CHECKING:
    from dissensus.store.overview import ListedItem


router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("small-numbers"))]
PAGE_SIZE: Final = 50
BY_POSITION: Final = "position"
MAX_GROUP_ROWS: Final = 60
"""Maximum number of groups on the page of an item, over all questions; the first question may have more."""
ItemNumber = Annotated[int, Path(ge=1, le=MAX_PLACE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemQuery(ListQuery):
    """Order and filters of the list in the address of a page, as typed."""

    question: Text = ""
    sort: Text = ""  # Empty for disagreement within all raters, `BY_POSITION`, or an axis
    search: Text = ""
    attribute: Text = ""
    value: Text = ""
    answer: Text = ""  # Index on the scale
    flag: Text = ""
    gold: Text = ""

    def to_filter(self) -> ItemFilter:
        """Return the filter, or raise `InvalidInput`."""
        flags: dict[str, ItemFlag] = {"reported": "reported", "withheld": "withheld", "skipped": "skipped"}
        if self.flag and self.flag not in flags:
            raise InvalidInput(f"{format_value(self.flag)} is not a filter. Choose reported, withheld or skipped.")
        answer = parse_digits(self.answer, 3)
        if self.answer and answer is None:
            raise InvalidInput(f"{format_value(self.answer)} is not the number of an answer. Choose one of the list.")
        return ItemFilter(
            question=self.question or None,
            axis=None if self.sort == BY_POSITION else self.sort or WITHIN,
            search=self.search.strip(),
            attribute=self.attribute,
            value=self.value.strip(),
            answer=answer,
            flag=flags.get(self.flag),
            gold=self.gold,
        )


ItemQueryOf = Annotated[ItemQuery, Depends()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsPage(StaffPage):
    """A page of the list of items."""

    template: ClassVar[str] = "staff/items.html"

    name: str
    query: ItemQuery
    listing: ItemListing
    next_cursor: str | None
    is_first: bool
    permissions: frozenset[str]

    def plurality(self, item: "ListedItem") -> str:
        """Return the most frequent answers, in the order of the scale."""
        most = max(item.counts, default=0)
        return " / ".join(answer for answer, n in zip(self.listing.scale, item.counts, strict=False) if n == most and n)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPage(StaffPage):
    """One item."""

    template: ClassVar[str] = "staff/items-detail.html"

    name: str
    query: ItemQuery
    view: ItemView

    @property
    def answers(self) -> tuple[list[ItemAnswers], list[ItemAnswers]]:
        """Answers to the questions that are shown at once, and to the others.

        The question of the list is first, then those with disagreement, the most divided first.
        """
        ranked = sorted(self.view.answers, key=self._rank)
        shown = sum(map(self._is_shown, ranked)) or 1
        return ranked[:shown], ranked[shown:]

    @property
    def questions_by_group(self) -> frozenset[str]:
        """Questions whose answers are shown by group: the first one, and those after it while there is room."""
        ranked = [answers for part in self.answers for answers in part]
        totals = accumulate(len(answers.groups) for answers in ranked)
        return frozenset(
            answers.question
            for place, (answers, total) in enumerate(zip(ranked, totals, strict=True))
            if not place or total <= MAX_GROUP_ROWS
        )

    def query_of(self, question: str) -> str:
        """Return the query string of this page with the answers to a question first."""
        return replace(self.query, question=question, answer="").address

    def _is_shown(self, answers: ItemAnswers) -> bool:
        return answers.question == self.query.question or bool(answers.disagreement)

    def _rank(self, answers: ItemAnswers) -> tuple[bool, float, bool]:
        return answers.question != self.query.question, -(answers.disagreement or 0.0), not sum(answers.counts)

    @property
    def wordings(self) -> dict[str, Wording]:
        """Text of each question, where it has one."""
        questions = self.view.campaign.questionnaire.questions
        return {question.name: question.text for question in questions if question.text}


@router.get("/campaigns/{name}/items")
def show_items(
    site: SiteOf, caller: Authorized, name: Name, query: ItemQueryOf, after: Annotated[str, Query(max_length=60)] = ""
) -> Response:
    """Show a page of the list of items, by default the most divided first."""
    item_filter = query.to_filter()
    check_report_filter(item_filter, caller.permissions)
    cursor = read_rank_cursor(after)
    listing = items.list_items(
        site.platform, name, item_filter, after=cursor, staff_id=caller.staff.id, most=PAGE_SIZE + 1
    )
    rows = listing.items[:PAGE_SIZE]
    context = caller.page(
        ItemsPage,
        name=name,
        query=query,
        listing=restrict_items(listing, rows, caller.permissions),
        next_cursor=_format_cursor(rows[-1]) if len(listing.items) > PAGE_SIZE else None,
        is_first=cursor is None,
        permissions=caller.permissions,
    )
    return page(site, context)


def _format_cursor(item: "ListedItem") -> str:
    return f"{'' if item.distance is None else repr(item.distance)}~{item.position}"


@router.get("/campaigns/{name}/items/{number}")
def show_item(site: SiteOf, caller: Authorized, name: Name, number: ItemNumber, query: ItemQueryOf) -> Response:
    """Show one item with the answers about it."""
    view = items.load_item(site.platform, name, number - 1, query.to_filter(), staff_id=caller.staff.id)
    view = restrict_item(view, caller.permissions)
    if view.detail.reports:
        log_access(site, caller, name, "notices")
    return page(site, caller.page(ItemPage, name=name, query=query, view=view))


@dataclass(frozen=True, slots=True, kw_only=True)
class WithholdingPage(StaffPage):
    """Confirmation before selected items are withheld, or shown again."""

    template: ClassVar[str] = "staff/items-withholding.html"

    name: str
    plan: WithholdingPlan
    address: str  # Query string of the list


Owner = Annotated[StaffRequest, Depends(Require("items"))]


@router.post("/campaigns/{name}/items/selection")
def confirm_withholding(site: SiteOf, caller: Owner, name: Name, form: StaffForm) -> Response:
    """Show which of the selected items would change."""
    withheld = form.get("change") != "show"
    positions = read_selected(form, "item", "an item")
    plan = items.plan_withholding(site.platform, name, positions, withheld=withheld, staff_id=caller.staff.id)
    address = str(form.get("address", ""))
    return page(site, caller.page(WithholdingPage, name=name, plan=plan, address=address))


@router.post("/campaigns/{name}/items/withholding")
def withhold_items(site: SiteOf, caller: Owner, name: Name, form: StaffForm) -> Response:
    """Withhold selected items, or show them again."""
    withheld = form.get("change") != "show"
    positions = read_selected(form, "item", "an item")
    items.withhold_items(site.platform, name, positions, withheld=withheld, staff_id=caller.staff.id, now=site.clock())
    path = f"/campaigns/{name}/items?{form.get('address', '')}"
    return redirect_to(path if is_local_path(path) else f"/campaigns/{name}/items")
