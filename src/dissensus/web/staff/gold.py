"""What experts do with items, and what owners see of it."""

from collections import Counter
from typing import Annotated, Final

import polars as pl
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData, UploadFile

from dissensus.campaign.gold_labels import ITEM_STATES
from dissensus.errors import Conflict, DissensusError, InvalidInput, NoDatabase
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.contexts import Asked
from dissensus.web.core.forms import answers_of, whole_number
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.core.uploads import read_uploaded
from dissensus.web.staff.gold_contexts import SAYS, GoldComparison, GoldItem, GoldLabels, GoldQueue
from dissensus.web.staff.pay import PAGE, Number
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.gold import adjudication, comparison, labelling
from dissensus.workflows.gold import queue as queue_workflow

router = APIRouter()

MOST_SEEN: Final = 1_000_000
LONGEST_WORD: Final = 20
Position = Annotated[int, Path(ge=0, le=1_000_000_000)]
Said = Annotated[str, Query(max_length=LONGEST_WORD)]
Expert = Annotated[Visit, Depends(May("label"))]
Owner = Annotated[Visit, Depends(May("gold"))]


@router.get("/campaigns/{name}/gold")
def see(site: SiteOf, visit: Expert, name: Name, said: Said = "") -> Response:
    """Show an expert what there is to do."""
    queue = queue_workflow.load_gold_queue(site.platform, name, staff_id=visit.staff.id)
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name}
    return page(site, GoldQueue(**who, queue=queue, may=visit.may, told=SAYS.get(said)))


@router.get("/campaigns/{name}/gold/items/{position}")
def see_item(site: SiteOf, visit: Expert, name: Name, position: Position, said: Said = "") -> Response:
    """Show one item, and what this expert may do with it."""
    return _item(site, visit, name, position, told=SAYS.get(said))


@router.post("/campaigns/{name}/gold/items/{position}")
def label(site: SiteOf, visit: Expert, name: Name, position: Position, sent: Sent) -> Response:
    """Keep what an expert says of an item and show the next one, or go back to the form."""
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=visit.staff.id)
    answers = answers_of(sent, labelling.full_label_form(task.campaign))
    if task.asked is not None and (wrong := _wrong(task.asked, answers)).faults:
        return _item(site, visit, name, position, wrong, seen=_seen(sent))
    who = {"seen": _seen(sent), "staff_id": visit.staff.id, "now": site.clock()}
    try:
        outcome = labelling.label_item(site.platform, name, position, answers, **who)  # type: ignore[arg-type]
    except (Conflict, InvalidInput) as error:
        return _refused(site, visit, name, position, task.asked, answers, error)
    following = queue_workflow.load_gold_queue(site.platform, name, staff_id=visit.staff.id).next
    place = "" if following is None else f"/items/{following}"
    return RedirectResponse(f"/campaigns/{name}/gold{place}?said={outcome}", SEE_OTHER)


@router.post("/campaigns/{name}/gold/items/{position}/decide")
def decide(
    site: SiteOf, visit: Annotated[Visit, Depends(May("adjudicate"))], name: Name, position: Position, sent: Sent
) -> Response:
    """Keep what somebody decides where experts differ, or go back to the form."""
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=visit.staff.id)
    answers = {} if task.deciding is None else answers_of(sent, task.deciding)
    if task.deciding is not None and (wrong := _wrong(task.deciding, answers)).faults:
        return _item(site, visit, name, position, wrong, seen=_seen(sent))
    who = {"seen": _seen(sent), "staff_id": visit.staff.id, "now": site.clock()}
    try:
        adjudication.decide_gold(site.platform, name, position, answers, **who)  # type: ignore[arg-type]
    except (Conflict, InvalidInput) as error:
        return _refused(site, visit, name, position, task.deciding, answers, error)
    return RedirectResponse(f"/campaigns/{name}/gold/items/{position}?said=decided", SEE_OTHER)


def _wrong(asked: Questionnaire, answers: dict[str, object]) -> Asked:
    """Return questions with what was typed and what is wrong with it; the first fault of each stands."""
    given = {name: answer for name, answer in answers.items() if name in {one.name for one in asked.questions}}
    faults = reversed(asked.faults(given, complete=True))
    return Asked(questionnaire=asked, answers=given, faults={fault.question: fault.check for fault in faults})  # type: ignore[arg-type]


def _refused(
    site: Site,
    visit: Visit,
    name: str,
    position: int,
    asked: Questionnaire | None,
    answers: dict[str, object],
    error: DissensusError,
) -> Response:
    """Return to an item with the reason; what was typed stays there, though the form is that of now."""
    typed = None if asked is None else Asked(questionnaire=asked, answers=answers)  # type: ignore[arg-type]
    return _item(site, visit, name, position, typed, faults=(str(error),))


def _item(
    site: Site,
    visit: Visit,
    name: str,
    position: int,
    typed: Asked | None = None,
    *,
    seen: int | None = None,
    told: str | None = None,
    faults: tuple[str, ...] = (),
) -> Response:
    task = queue_workflow.load_gold_task(site.platform, name, position, staff_id=visit.staff.id)
    questions = task.deciding or task.asked
    asked = typed or (None if questions is None else Asked(questionnaire=questions, answers=task.answers))
    context = GoldItem(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        task=task,
        asked=asked,
        seen=task.seen if seen is None else seen,
        told=told,
        faults=faults,
    )
    return page(site, context, 422 if typed is not None else 200)


def _seen(sent: FormData) -> int:
    return whole_number(str(sent.get("seen", "")), "that our page sends", 0, MOST_SEEN)


@router.get("/campaigns/{name}/gold/labels")
def see_labels(
    site: SiteOf,
    visit: Owner,
    name: Name,
    only: Annotated[str, Query(max_length=LONGEST_WORD)] = "",
    number: Annotated[Number, Query(alias="page")] = 1,
) -> Response:
    """Show all items, and how far the labels of each are."""
    if only and only not in ITEM_STATES:
        raise InvalidInput(f"{format_value(only)} is no state of an item. States are {format_list(ITEM_STATES)}.")
    every = queue_workflow.list_labels(site.platform, name, staff_id=visit.staff.id)
    counts = Counter(one.state for one in every)
    kept = [one for one in every if not only or one.state == only]
    pages = max(1, -(-len(kept) // PAGE))
    number = min(number, pages)
    context = GoldLabels(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        counts={state: counts[state] for state in ITEM_STATES},
        items=tuple(kept[(number - 1) * PAGE : number * PAGE]),
        only=next((state for state in ITEM_STATES if state == only), None),
        page=number,
        pages=pages,
    )
    return page(site, context)


@router.get("/campaigns/{name}/gold/comparison")
def compare(site: SiteOf, visit: Owner, name: Name, _turn: InTurn) -> Response:
    """Show gold beside the crowd so far, and beside an earlier one."""
    return _comparison(site, visit, name)


@router.post("/campaigns/{name}/gold/comparison")
def bring(site: SiteOf, visit: Owner, name: Name, sent: Sent, _turn: InTurn) -> Response:
    """Keep labels of an earlier crowd, or go back to the form."""
    source, column = str(sent.get("source", "")), str(sent.get("column", "")).strip()
    typed = {"source": source, "column": column, "replacing": "replacing" in sent}
    try:
        frame = _frame(sent.get("file"))
        who = {"staff_id": visit.staff.id, "label": column or None, "replacing": bool(typed["replacing"])}
        n = comparison.add_platinum(site.platform, name, frame, source=source, **who, now=site.clock())  # type: ignore[arg-type]
    except NoDatabase:
        raise
    except (InvalidInput, Conflict) as error:
        return _comparison(site, visit, name, faults=(str(error),), **typed)
    return _comparison(site, visit, name, n_brought=n)


def _frame(sent: object) -> pl.DataFrame:
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise InvalidInput("There is no file. Choose a table with the columns item_id and label.")
    return read_uploaded(sent.filename, sent.file.read(), read_frame)


def _comparison(site: Site, visit: Visit, name: str, **told: object) -> Response:
    found = comparison.compare_gold(site.platform, name, staff_id=visit.staff.id)
    campaign = campaigns.load_definition(site.platform, name, staff_id=visit.staff.id)
    who = {"owner": visit.staff.name, "form_token": visit.form_token, "name": name}
    context = GoldComparison(**who, gold=labelling.gold_settings_of(campaign), comparison=found, **told)  # type: ignore[arg-type]
    return page(site, context, 422 if context.faults else 200)
