"""API routes for gold labels and their comparison with the crowd. Experts label on pages."""

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Query

from dissensus.api_models.gold import (
    CrowdComparisonResource,
    GoldComparisonResource,
    GoldDecisionResource,
    GoldItemResource,
    GoldLabelResource,
    GoldPartResource,
    PlatinumCountResource,
)
from dissensus.campaign import gold_labels
from dissensus.campaign.gold_labels import GoldDecision, GoldLabel, PartProgress
from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate import GoldAgainstCrowd
from dissensus.schema.campaign.gold import GoldItemState
from dissensus.schema.hints import format_value
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import PlatinumRequest
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.gold import comparison, queue
from dissensus.workflows.gold.labelling import LabelledItem

router = APIRouter(
    prefix="/api/v1/campaigns/{name}/gold", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Gold"]
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("gold"))]
LABEL = "label"


@router.get("", operation_id="list_gold")
def list_gold(
    site: SiteOf,
    caller: Authorized,
    name: Name,
    state: Annotated[GoldItemState | None, Query(description="Leave it out for all items.")] = None,
    limit: Limit = 100,
    after: AfterCursor = "",
) -> CursorPage[GoldItemResource]:
    """List items with their settled labels; labels of each expert are shown once all labels of an item are in."""
    list_name = f"gold of {name} that is {state}"
    (start,) = read_cursor(site, list_name, after) or [0]
    rows = queue.list_labels(site.platform, name, only=state, start=start, most=limit + 1, staff_id=caller.staff.id)
    items, next_cursor = paginate(site, list_name, rows, limit, lambda item: item.target.position + 1)
    return CursorPage(data=[_to_resource(item) for item in items], next=next_cursor)


def _to_resource(item: LabelledItem) -> GoldItemResource:
    # Owners may label too, so labels are hidden from them as from experts.
    labels_visible = not gold_labels.list_open_parts(item.progress)
    names = [label.name for part in item.progress.values() for label in part.labels]
    return GoldItemResource(
        id=item.target.name,
        position=item.target.position,
        state=item.state,
        withheld=item.target.withheld,
        labellers=tuple(dict.fromkeys(names)),
        columns=gold_labels.to_attributes(item.progress),
        parts=tuple(_to_part(part, visible=labels_visible) for part in item.progress.values()),
    )


def _to_part(progress: PartProgress, *, visible: bool) -> GoldPartResource:
    history, decisions = progress.history, progress.decisions
    labels = tuple(GoldLabelResource.model_validate(_revision_fields(label)) for label in history) if visible else None
    return GoldPartResource(
        part=progress.part,
        state=progress.state,
        n_labels=len(progress.labels),
        n_needed=progress.n_needed,
        file_label=progress.file_label,
        settled_answers=None if progress.settled is None else dict(progress.settled),
        labels=labels,
        decisions=tuple(
            GoldDecisionResource.model_validate({**_revision_fields(decision), "reason": decision.reason})
            for decision in decisions
        ),
    )


def _revision_fields(revision: GoldLabel | GoldDecision) -> dict[str, Any]:
    return {"by": revision.name, "revision": revision.revision, "answers": revision.answers, "at": revision.at}


def _to_comparison(table: GoldAgainstCrowd) -> CrowdComparisonResource:
    fields = table.to_dict()
    (summary,) = fields["summary"]
    return CrowdComparisonResource.model_validate({**fields, "summary": summary})


@router.get("/comparison", operation_id="compare_gold")
def compare(site: SiteOf, caller: Authorized, name: Name, _slot: SlowRequestSlot) -> GoldComparisonResource:
    """Compare gold with the crowd so far, and with an earlier crowd."""
    result = comparison.compare_gold(site.platform, name, staff_id=caller.staff.id)
    return GoldComparisonResource(
        n_gold=result.n_gold,
        n_platinum=result.n_platinum,
        n_items=result.n_items,
        with_crowd=None if result.with_crowd is None else _to_comparison(result.with_crowd),
        with_platinum=None if result.with_platinum is None else _to_comparison(result.with_platinum),
        reason=result.reason or None,
    )


@router.post("/platinum", operation_id="add_platinum", status_code=201)
def add_platinum(
    site: SiteOf, caller: Authorized, name: Name, body: PlatinumRequest, _slot: SlowRequestSlot
) -> PlatinumCountResource:
    """Store labels of an earlier crowd as attributes of items, all or none."""
    columns = {column for label in body.labels for column in label.attributes}
    reserved = sorted(columns & {ITEM_ID, LABEL})
    if reserved:
        raise InvalidInput(
            f"{format_value(reserved[0])} is reserved and cannot name an attribute. Choose another name."
        )
    rows = [{ITEM_ID: label.item, LABEL: label.label, **label.attributes} for label in body.labels]
    frame = pl.DataFrame(rows, schema=dict.fromkeys((ITEM_ID, LABEL, *sorted(columns)), pl.String))
    n = comparison.add_platinum(
        site.platform,
        name,
        frame,
        source=body.source,
        label=LABEL,
        replace=body.replace,
        staff_id=caller.staff.id,
        now=site.clock(),
    )
    return PlatinumCountResource(items=n)
