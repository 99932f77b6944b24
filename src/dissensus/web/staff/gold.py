"""Gold label pages: labelling, adjudication and comparison."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import polars as pl
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from dissensus.campaign.gold_labels import ITEM_STATES, ItemState
from dissensus.errors import Conflict, DissensusError, InvalidInput, NoDatabase
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.aggregate import GoldAgainstCrowd
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold, GoldPart
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.web.core.concurrency_limit import SlowRequestSlot
from dissensus.web.core.forms import QuestionForm, parse_whole_number, read_answers
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.core.uploads import read_uploaded
from dissensus.web.staff.pay import PAGE_SIZE, Number
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.gold import adjudication, comparison, labelling
from dissensus.workflows.gold import queue as queue_workflow
from dissensus.workflows.gold.comparison import GoldComparison
from dissensus.workflows.gold.labelling import LabelledItem
from dissensus.workflows.gold.queue import GoldQueue, GoldTask

router = APIRouter()

MAX_REVISION: Final = 1_000_000
MAX_WORD_LENGTH: Final = 20
Position = Annotated[int, Path(ge=0, le=1_000_000_000)]
Said = Annotated[str, Query(max_length=MAX_WORD_LENGTH)]
Expert = Annotated[StaffRequest, Depends(Require("label"))]
Owner = Annotated[StaffRequest, Depends(Require("gold"))]


Table: TypeAlias = Mapping[str, Mapping[str, tuple[int, float | None]]]
"""Number and share of items, by what the crowd and then gold says."""
OUTCOME_MESSAGES: Final[Mapping[str, str]] = {
    "first": "Kept. You were the first to label that item; others verify it without seeing what you said.",
    "further": "Kept.",
    "partly": "Kept but for what had all its labels already: there others were sooner.",
    "decided": "Your decision is kept.",
}
"""Confirmation messages, by their name in the query."""
PARTS: Final[Mapping[GoldPart, str]] = {"safety": "safety", "degree": "degree of harm", "topics": "topics"}
STATES: Final[Mapping[ItemState, str]] = {
    "unlabelled": "Not begun",
    "begun": "Labels lacking",
    "disputed": "To decide",
    "settled": "Settled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQueuePage(StaffPage):
    """Labelling queue of an expert."""

    template: ClassVar[str] = "staff/gold.html"
    parts: ClassVar[Mapping[GoldPart, str]] = PARTS

    name: str
    queue: GoldQueue
    may: frozenset[str]
    told: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldItemPage(StaffPage):
    """One item: the form to label or adjudicate it, or its labels once complete."""

    template: ClassVar[str] = "staff/gold-item.html"
    parts: ClassVar[Mapping[GoldPart, str]] = PARTS
    states: ClassVar[Mapping[ItemState, str]] = STATES

    name: str
    task: GoldTask
    asked: QuestionForm | None  # The questions, with what was said or typed; None where this reader is asked nothing
    seen: int  # What the form carries, so that an old one is known
    told: str | None = None
    faults: tuple[str, ...] = ()  # What was refused as a whole

    @property
    def campaign(self) -> Campaign:
        """Of which the item is."""
        return self.task.campaign

    @property
    def covering(self) -> Mapping[str, Any]:
        """The item as the page of raters has it, so that it stays covered here too."""
        return {"assignment": {"item": self.task.item}, "step": {"campaign": self.task.campaign}}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldLabelsPage(StaffPage):
    """Labelling state of all items; `only` filters by state."""

    template: ClassVar[str] = "staff/gold-labels.html"
    parts: ClassVar[Mapping[GoldPart, str]] = PARTS
    states: ClassVar[Mapping[ItemState, str]] = STATES

    name: str
    counts: Mapping[ItemState, int]
    items: tuple[LabelledItem, ...]
    only: ItemState | None
    page: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldComparisonPage(StaffPage):
    """Comparison of gold, crowd and platinum, with the form that uploads platinum."""

    template: ClassVar[str] = "staff/gold-comparison.html"

    name: str
    gold: Gold
    comparison: GoldComparison
    source: str = ""
    column: str = ""
    replacing: bool = False
    faults: tuple[str, ...] = ()
    n_brought: int | None = None

    @property
    def tables(self) -> tuple[tuple[str | None, Table], ...]:
        """Items by what the crowd and gold say: all of them, then those of each platinum label."""
        every = (self.comparison.found, self.comparison.with_platinum)
        return tuple(one for compared in every if compared is not None for one in _tables(compared))


def _tables(compared: GoldAgainstCrowd) -> Iterator[tuple[str | None, Table]]:
    """Yield the whole pool as a table, or as one for each platinum label, with number and share in each cell."""
    found: dict[str | None, dict[str, dict[str, tuple[int, float | None]]]] = {}
    for row in compared.confusion.rows(named=True):
        if row["group"] is None:
            table = found.setdefault(row.get("platinum"), {})
            table.setdefault(row["crowd"], {})[row["gold"]] = (row["n_items"], row["share"])
    yield from found.items()


@router.get("/campaigns/{name}/gold")
def see(site: SiteOf, caller: Expert, name: Name, said: Said = "") -> Response:
    """Show the labelling queue."""
    queue = queue_workflow.load_gold_queue(site.platform, name, staff_id=caller.staff.id)
    return page(
        site, caller.page(GoldQueuePage, name=name, queue=queue, may=caller.may, told=OUTCOME_MESSAGES.get(said))
    )


@router.get("/campaigns/{name}/gold/items/{position}")
def see_item(site: SiteOf, caller: Expert, name: Name, position: Position, said: Said = "") -> Response:
    """Show one item with the form for this expert."""
    return _item(site, caller, name, position, told=OUTCOME_MESSAGES.get(said))


@router.post("/campaigns/{name}/gold/items/{position}")
def label(site: SiteOf, caller: Expert, name: Name, position: Position, sent: StaffForm) -> Response:
    """Store a label and show the next item, or return to the form."""
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=caller.staff.id)
    answers = read_answers(sent, labelling.full_label_form(task.campaign))
    if task.asked is not None and (wrong := _wrong(task.asked, answers)).faults:
        return _item(site, caller, name, position, wrong, seen=_seen(sent))
    who = {"seen": _seen(sent), "staff_id": caller.staff.id, "now": site.clock()}
    try:
        outcome = labelling.label_item(site.platform, name, position, answers, **who)  # type: ignore[arg-type]
    except (Conflict, InvalidInput) as error:
        return _refused(site, caller, name, position, task.asked, answers, error)
    following = queue_workflow.load_gold_queue(site.platform, name, staff_id=caller.staff.id).next
    place = "" if following is None else f"/items/{following}"
    return RedirectResponse(f"/campaigns/{name}/gold{place}?said={outcome}", SEE_OTHER)


@router.post("/campaigns/{name}/gold/items/{position}/decide")
def decide(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("adjudicate"))],
    name: Name,
    position: Position,
    sent: StaffForm,
) -> Response:
    """Store an adjudication, or return to the form."""
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=caller.staff.id)
    answers = {} if task.deciding is None else read_answers(sent, task.deciding)
    if task.deciding is not None and (wrong := _wrong(task.deciding, answers)).faults:
        return _item(site, caller, name, position, wrong, seen=_seen(sent))
    who = {"seen": _seen(sent), "staff_id": caller.staff.id, "now": site.clock()}
    try:
        adjudication.decide_gold(site.platform, name, position, answers, **who)  # type: ignore[arg-type]
    except (Conflict, InvalidInput) as error:
        return _refused(site, caller, name, position, task.deciding, answers, error)
    return RedirectResponse(f"/campaigns/{name}/gold/items/{position}?said=decided", SEE_OTHER)


def _wrong(asked: Questionnaire, answers: dict[str, object]) -> QuestionForm:
    """Return the questions with answers and the first fault of each."""
    given = {name: answer for name, answer in answers.items() if name in {one.name for one in asked.questions}}
    faults = reversed(asked.faults(given, complete=True))
    return QuestionForm(questionnaire=asked, answers=given, faults={fault.question: fault.check for fault in faults})  # type: ignore[arg-type]


def _refused(
    site: Site,
    caller: StaffRequest,
    name: str,
    position: int,
    asked: Questionnaire | None,
    answers: dict[str, object],
    error: DissensusError,
) -> Response:
    """Show the item again with the error and the submitted answers."""
    typed = None if asked is None else QuestionForm(questionnaire=asked, answers=answers)  # type: ignore[arg-type]
    return _item(site, caller, name, position, typed, faults=(str(error),))


def _item(
    site: Site,
    caller: StaffRequest,
    name: str,
    position: int,
    typed: QuestionForm | None = None,
    *,
    seen: int | None = None,
    told: str | None = None,
    faults: tuple[str, ...] = (),
) -> Response:
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=caller.staff.id)
    questions = task.deciding or task.asked
    asked = typed or (None if questions is None else QuestionForm(questionnaire=questions, answers=task.answers))
    context = caller.page(
        GoldItemPage,
        name=name,
        task=task,
        asked=asked,
        seen=task.seen if seen is None else seen,
        told=told,
        faults=faults,
    )
    return page(site, context, 422 if typed is not None else 200)


def _seen(sent: FormData) -> int:
    return parse_whole_number(str(sent.get("seen", "")), "that our page sends", 0, MAX_REVISION)


@router.get("/campaigns/{name}/gold/labels")
def see_labels(
    site: SiteOf,
    caller: Owner,
    name: Name,
    only: Annotated[str, Query(max_length=MAX_WORD_LENGTH)] = "",
    number: Annotated[Number, Query(alias="page")] = 1,
) -> Response:
    """Show the labelling state of all items."""
    if only and only not in ITEM_STATES:
        raise InvalidInput(f"{format_value(only)} is no state of an item. States are {format_list(ITEM_STATES)}.")
    every = queue_workflow.list_labels(site.platform, name, staff_id=caller.staff.id)
    counts = Counter(one.state for one in every)
    kept = [one for one in every if not only or one.state == only]
    pages = max(1, -(-len(kept) // PAGE_SIZE))
    number = min(number, pages)
    context = caller.page(
        GoldLabelsPage,
        name=name,
        counts={state: counts[state] for state in ITEM_STATES},
        items=tuple(kept[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]),
        only=next((state for state in ITEM_STATES if state == only), None),
        page=number,
        pages=pages,
    )
    return page(site, context)


@router.get("/campaigns/{name}/gold/comparison")
def compare(site: SiteOf, caller: Owner, name: Name, _turn: SlowRequestSlot) -> Response:
    """Compare gold with the crowd and with platinum."""
    return _comparison(site, caller, name)


@router.post("/campaigns/{name}/gold/comparison")
def bring(site: SiteOf, caller: Owner, name: Name, sent: StaffForm, _turn: SlowRequestSlot) -> Response:
    """Store platinum labels, or return to the form."""
    source, column = str(sent.get("source", "")), str(sent.get("column", "")).strip()
    typed = {"source": source, "column": column, "replacing": "replacing" in sent}
    try:
        frame = _frame(sent.get("file"))
        who = {"staff_id": caller.staff.id, "label": column or None, "replacing": bool(typed["replacing"])}
        n = comparison.add_platinum(site.platform, name, frame, source=source, **who, now=site.clock())  # type: ignore[arg-type]
    except NoDatabase:
        raise
    except (InvalidInput, Conflict) as error:
        return _comparison(site, caller, name, faults=(str(error),), **typed)
    return _comparison(site, caller, name, n_brought=n)


def _frame(sent: object) -> pl.DataFrame:
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise InvalidInput("There is no file. Choose a table with the columns item_id and label.")
    return read_uploaded(sent.filename, sent.file.read(), read_frame)


def _comparison(site: Site, caller: StaffRequest, name: str, **told: object) -> Response:
    found = comparison.compare_gold(site.platform, name, staff_id=caller.staff.id)
    campaign = campaigns.load_definition(site.platform, name, staff_id=caller.staff.id)
    context = caller.page(
        GoldComparisonPage, name=name, gold=labelling.gold_settings_of(campaign), comparison=found, **told
    )
    return page(site, context, 422 if context.faults else 200)
