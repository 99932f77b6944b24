"""Gold label pages: labelling, adjudication and comparison."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import polars as pl
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile

from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.aggregate import GoldAgainstCrowd
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import ITEM_STATES, Gold, GoldItemState, GoldPart
from dissensus.schema.hints import parse_choice
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.web.core.forms import QuestionForm, parse_whole_number, read_answers, read_uploaded
from dissensus.web.core.list_query import PageNumber
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.pay import PAGE_SIZE
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.gold import adjudication, comparison, labelling
from dissensus.workflows.gold import queue as queue_workflow
from dissensus.workflows.gold.comparison import GoldComparison
from dissensus.workflows.gold.queue import GoldQueue, GoldTask, LabelsPage

router = APIRouter()

MAX_REVISION: Final = 1_000_000
MAX_QUERY_LENGTH: Final = 20
Position = Annotated[int, Path(ge=0, le=1_000_000_000)]
Outcome = Annotated[str, Query(max_length=MAX_QUERY_LENGTH)]
Expert = Annotated[StaffRequest, Depends(Require("label"))]
Owner = Annotated[StaffRequest, Depends(Require("gold"))]

Table: TypeAlias = Mapping[str, Mapping[str, tuple[int, float | None]]]
"""Number and share of items by the label of the crowd, then by gold."""
OUTCOME_MESSAGES: Final[Mapping[str, str]] = {
    "first": "Saved. You were the first to label that item; others verify it without seeing your labels.",
    "further": "Saved.",
    "partly": "Saved, except for parts that others had already completed.",
    "decided": "Your decision is saved.",
}
"""Confirmation messages, by their name in the query."""
PARTS: Final[Mapping[GoldPart, str]] = {"safety": "safety", "degree": "degree of harm", "topics": "topics"}
STATES: Final[Mapping[GoldItemState, str]] = {
    "unlabelled": "Not started",
    "in_progress": "In progress",
    "disputed": "Disputed",
    "settled": "Settled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQueuePage(StaffPage):
    """Labelling queue of an expert."""

    template: ClassVar[str] = "staff/gold.html"
    parts: ClassVar[Mapping[GoldPart, str]] = PARTS

    name: str
    queue: GoldQueue
    permissions: frozenset[str]
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldItemPage(StaffPage):
    """One item: the form to label or adjudicate it, or its labels once complete."""

    template: ClassVar[str] = "staff/gold-item.html"
    parts: ClassVar[Mapping[GoldPart, str]] = PARTS

    name: str
    task: GoldTask
    question_form: QuestionForm | None  # None if this reader has nothing to label or decide
    revision: int  # Revision shown by the form, to detect outdated forms
    message: str | None = None
    faults: tuple[str, ...] = ()

    @property
    def campaign(self) -> Campaign:
        """Campaign of the item."""
        return self.task.campaign

    @property
    def conversation_context(self) -> Mapping[str, Any]:
        """Variables of the conversation template of raters."""
        return {"assignment": {"item": self.task.item}, "step": {"campaign": self.task.campaign}}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldLabelsPage(StaffPage):
    """Labelling state of all items; `selected_state` filters by state."""

    template: ClassVar[str] = "staff/gold-labels.html"
    parts: ClassVar[Mapping[GoldPart, str]] = PARTS
    states: ClassVar[Mapping[GoldItemState, str]] = STATES

    name: str
    labels: LabelsPage
    selected_state: GoldItemState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldComparisonPage(StaffPage):
    """Comparison of gold, crowd and platinum, with the form that uploads platinum."""

    template: ClassVar[str] = "staff/gold-comparison.html"

    name: str
    gold: Gold
    comparison: GoldComparison
    source: str = ""
    column: str = ""
    replace: bool = False
    faults: tuple[str, ...] = ()
    n_added: int | None = None

    @property
    def tables(self) -> tuple[tuple[str | None, Table], ...]:
        """Confusion tables of crowd and gold: of all items, then by platinum label."""
        comparisons = (self.comparison.with_crowd, self.comparison.with_platinum)
        return tuple(table for result in comparisons if result is not None for table in _tables(result))


def _tables(result: GoldAgainstCrowd) -> Iterator[tuple[str | None, Table]]:
    """Yield the table of the pool, or one for each platinum label."""
    tables: dict[str | None, dict[str, dict[str, tuple[int, float | None]]]] = {}
    for row in result.confusion.rows(named=True):
        if row["group"] is None:
            table = tables.setdefault(row.get("platinum"), {})
            table.setdefault(row["crowd"], {})[row["gold"]] = (row["n_items"], row["share"])
    yield from tables.items()


@router.get("/campaigns/{name}/gold")
def show_queue(site: SiteOf, caller: Expert, name: Name, outcome: Outcome = "") -> Response:
    """Show the labelling queue."""
    queue = queue_workflow.load_gold_queue(site.platform, name, staff_id=caller.staff.id)
    return page(
        site,
        caller.page(
            GoldQueuePage, name=name, queue=queue, permissions=caller.permissions, message=OUTCOME_MESSAGES.get(outcome)
        ),
    )


@router.get("/campaigns/{name}/gold/items/{position}")
def show_item(site: SiteOf, caller: Expert, name: Name, position: Position, outcome: Outcome = "") -> Response:
    """Show one item with the form for this expert."""
    return _item_page(site, caller, name, position, message=OUTCOME_MESSAGES.get(outcome))


@router.post("/campaigns/{name}/gold/items/{position}")
def label_item(site: SiteOf, caller: Expert, name: Name, position: Position, form: StaffForm) -> Response:
    """Store a label and show the next item, or return to the form."""
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=caller.staff.id)
    answers = read_answers(form, labelling.full_label_form(task.campaign))
    if task.label_form is not None and (checked := _check_answers(task.label_form, answers)).faults:
        return _item_page(site, caller, name, position, checked, revision=_read_revision(form))
    try:
        outcome = labelling.label_item(
            site.platform,
            name,
            position,
            answers,
            revision=_read_revision(form),
            staff_id=caller.staff.id,
            now=site.clock(),
        )
    except (Conflict, InvalidInput) as error:
        return _rejected_form(site, caller, name, position, task.label_form, answers, error)
    next_position = queue_workflow.load_gold_queue(site.platform, name, staff_id=caller.staff.id).next
    path = "" if next_position is None else f"/items/{next_position}"
    return redirect_to(f"/campaigns/{name}/gold{path}?outcome={outcome}")


@router.post("/campaigns/{name}/gold/items/{position}/decide")
def decide_item(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("adjudicate"))],
    name: Name,
    position: Position,
    form: StaffForm,
) -> Response:
    """Store an adjudication, or return to the form."""
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=caller.staff.id)
    answers = {} if task.decision_form is None else read_answers(form, task.decision_form)
    if task.decision_form is not None and (checked := _check_answers(task.decision_form, answers)).faults:
        return _item_page(site, caller, name, position, checked, revision=_read_revision(form))
    try:
        adjudication.decide_gold(
            site.platform,
            name,
            position,
            answers,
            revision=_read_revision(form),
            staff_id=caller.staff.id,
            now=site.clock(),
        )
    except (Conflict, InvalidInput) as error:
        return _rejected_form(site, caller, name, position, task.decision_form, answers, error)
    return redirect_to(f"/campaigns/{name}/gold/items/{position}?outcome=decided")


def _check_answers(questionnaire: Questionnaire, answers: dict[str, object]) -> QuestionForm:
    """Return the questions with answers and the first fault of each."""
    names = {question.name for question in questionnaire.questions}
    relevant = {name: answer for name, answer in answers.items() if name in names}
    faults = reversed(questionnaire.faults(relevant, complete=True))
    return QuestionForm(
        questionnaire=questionnaire,
        answers=relevant,  # type: ignore[arg-type]
        faults={fault.question: fault.check for fault in faults},
    )


def _rejected_form(
    site: Site,
    caller: StaffRequest,
    name: str,
    position: int,
    questionnaire: Questionnaire | None,
    answers: dict[str, object],
    error: DissensusError,
) -> Response:
    """Show the item again with the error and the submitted answers."""
    typed = None if questionnaire is None else QuestionForm(questionnaire=questionnaire, answers=answers)  # type: ignore[arg-type]
    return _item_page(site, caller, name, position, typed, faults=(site_message(error),))


def _item_page(
    site: Site,
    caller: StaffRequest,
    name: str,
    position: int,
    typed: QuestionForm | None = None,
    *,
    revision: int | None = None,
    message: str | None = None,
    faults: tuple[str, ...] = (),
) -> Response:
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=caller.staff.id)
    questions = task.decision_form or task.label_form
    question_form = typed or (
        None if questions is None else QuestionForm(questionnaire=questions, answers=task.answers)
    )
    context = caller.page(
        GoldItemPage,
        name=name,
        task=task,
        question_form=question_form,
        revision=task.revision if revision is None else revision,
        message=message,
        faults=faults,
    )
    return page(site, context, 422 if typed is not None or faults else 200)


def _read_revision(form: FormData) -> int:
    return parse_whole_number(str(form.get("revision", "")), "of a revision", 0, MAX_REVISION)


@router.get("/campaigns/{name}/gold/labels")
def show_labels(
    site: SiteOf,
    caller: Owner,
    name: Name,
    state: Annotated[str, Query(max_length=MAX_QUERY_LENGTH)] = "",
    number: PageNumber = 1,
) -> Response:
    """Show the labelling state of all items."""
    selected_state = parse_choice(state, ITEM_STATES, "a state of an item") if state else None
    labels = queue_workflow.load_labels_page(
        site.platform, name, only=selected_state, page=number, size=PAGE_SIZE, staff_id=caller.staff.id
    )
    return page(site, caller.page(GoldLabelsPage, name=name, labels=labels, selected_state=selected_state))


@router.get("/campaigns/{name}/gold/comparison")
def show_comparison(site: SiteOf, caller: Owner, name: Name, _slot: SlowRequestSlot) -> Response:
    """Compare gold with the crowd and with platinum."""
    return _comparison_page(site, caller, name)


@router.post("/campaigns/{name}/gold/comparison")
def add_platinum(site: SiteOf, caller: Owner, name: Name, form: StaffForm, _slot: SlowRequestSlot) -> Response:
    """Store platinum labels, or return to the form."""
    source, column = str(form.get("source", "")), str(form.get("column", "")).strip()
    typed = {"source": source, "column": column, "replace": "replace" in form}
    try:
        frame = _read_table(form.get("file"))
        n_added = comparison.add_platinum(
            site.platform,
            name,
            frame,
            source=source,
            label=column or None,
            replace=bool(typed["replace"]),
            staff_id=caller.staff.id,
            now=site.clock(),
        )
    except (InvalidInput, Conflict) as error:
        return _comparison_page(site, caller, name, faults=(site_message(error),), **typed)
    return _comparison_page(site, caller, name, n_added=n_added)


def _read_table(file: object) -> pl.DataFrame:
    if not isinstance(file, UploadFile) or not file.filename:
        raise InvalidInput("There is no file. Choose a table with the columns item_id and label.")
    return read_uploaded(file.filename, file.file.read(), read_frame)


def _comparison_page(site: Site, caller: StaffRequest, name: str, **fields: object) -> Response:
    result = comparison.compare_gold(site.platform, name, staff_id=caller.staff.id)
    campaign = campaigns.load_definition(site.platform, name, staff_id=caller.staff.id)
    context = caller.page(
        GoldComparisonPage, name=name, gold=labelling.gold_settings_of(campaign), comparison=result, **fields
    )
    return page(site, context, 422 if context.faults else 200)
