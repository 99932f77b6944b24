"""What experts settled, how it stands beside the crowd, and labels of an earlier one. Experts label on pages."""

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Query

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import Decision, ItemState, Label, Said, Standing
from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.gold_schemas import (
    Brought,
    ComparisonShown,
    GoldDecisionShown,
    GoldShown,
    LabelShown,
    PartShown,
    compared,
)
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.requests import PlatinumRequest
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.workflows.gold import comparison, queue
from dissensus.workflows.gold.labelling import LabelledItem

router = APIRouter(prefix="/api/v1/campaigns/{name}/gold", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Gold"])

By = Annotated[Visit, Depends(RequireScope("gold"))]
LABEL = "label"


@router.get("", operation_id="list_gold")
def list_gold(
    site: SiteOf,
    visit: By,
    name: Name,
    state: Annotated[ItemState | None, Query(description="Leave it out for all items.")] = None,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[GoldShown]:
    """List items with what experts settled; who said what is told once all labels of an item are in."""
    of = f"gold of {name} that is {state}"
    (start,) = read_cursor(site, of, after) or [0]
    who = {"staff_id": visit.staff.id}
    found = queue.list_labels_from(site.platform, name, only=state, start=start, most=limit + 1, **who)
    items, following = paginate(site, of, found, limit, lambda one: one.target.position + 1)
    return CursorPage(data=[_shown(one) for one in items], next=following)


def _shown(one: LabelledItem) -> GoldShown:
    # Owners may label too, so that they are as blind as experts.
    told = not core.open_parts(one.standings)
    names = [label.name for part in one.standings.values() for label in part.labels]
    return GoldShown(
        id=one.target.name,
        position=one.target.position,
        state=one.state,
        withheld=one.target.withheld,
        labellers=list(dict.fromkeys(names)),
        columns=core.columns_of(one.standings),
        parts=[_part(part, told=told) for part in one.standings.values()],
    )


def _part(one: Standing, *, told: bool) -> PartShown:
    labels = [LabelShown.model_validate(_told(label)) for label in one.history] if told else None
    return PartShown(
        part=one.part,
        state=one.state,
        n_labels=len(one.labels),
        needed=one.needed,
        of_file=one.of_file,
        settled=None if one.settled is None else _plain(one.settled),
        labels=labels,
        decisions=[GoldDecisionShown.model_validate({**_told(made), "why": made.why}) for made in one.decisions],
    )


def _told(one: Label | Decision) -> dict[str, Any]:
    return {"by": one.name, "revision": one.revision, "said": _plain(one.said), "at": one.at}


def _plain(said: Said) -> dict[str, Any]:
    return {name: answer if isinstance(answer, str) else list(answer) for name, answer in said.items()}


@router.get("/comparison", operation_id="compare_gold")
def compare(site: SiteOf, visit: By, name: Name, _turn: InTurn) -> ComparisonShown:
    """Return gold beside the crowd so far, and beside an earlier one."""
    found = comparison.compare_gold(site.platform, name, staff_id=visit.staff.id)
    return ComparisonShown(
        n_gold=found.n_gold,
        n_platinum=found.n_platinum,
        n_items=found.n_items,
        found=None if found.found is None else compared(found.found),
        with_platinum=None if found.with_platinum is None else compared(found.with_platinum),
        reason=found.reason or None,
    )


@router.post("/platinum", operation_id="add_platinum", status_code=201)
def add_platinum(site: SiteOf, visit: By, name: Name, sent: PlatinumRequest, _turn: InTurn) -> Brought:
    """Keep labels of an earlier crowd as attributes of items, all or none."""
    beside = {column for one in sent.labels for column in one.beside}
    taken = sorted(beside & {ITEM_ID, LABEL})
    if taken:
        raise InvalidInput(
            f"{format_value(taken[0])} cannot stand beside a label, which it is a part of. Give it another name."
        )
    rows = [{ITEM_ID: one.item, LABEL: one.label, **one.beside} for one in sent.labels]
    frame = pl.DataFrame(rows, schema=dict.fromkeys((ITEM_ID, LABEL, *sorted(beside)), pl.String))
    n = comparison.add_platinum(
        site.platform,
        name,
        frame,
        source=sent.source,
        label=LABEL,
        replacing=sent.replacing,
        staff_id=visit.staff.id,
        now=site.clock(),
    )
    return Brought(items=n)
