"""Assignment of items to a rater: what is planned, and whether more can become available."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from dissensus.campaign.assignment import FIRST, choose_items, draw_sides, place_repeats
from dissensus.schema.records.preference import Side
from dissensus.store import assignments, notices
from dissensus.store.assignments import ItemLoads, PlannedShowing, RaterProgress
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.rater.context import RaterContext

BATCH_SIZE = 20
"""Items planned at once under a replication: planned items are unavailable to others meanwhile."""
UNANSWERED_HOLD_H = 0.5
"""Hours for which raters who have answered nothing hold their items, so that nobody empties a campaign by entering."""


def plan_items(tx: Connection, context: RaterContext, progress: RaterProgress, now: datetime) -> None:
    """Assign more items to a rater if there are any; the campaign must be locked."""
    rater, campaign_row, campaign = context.rater, context.campaign_row, context.campaign
    if _required_replication(context) == 0:
        return
    limit = None if campaign.max_items is None else campaign.max_items - progress.n_done - progress.n_open
    if limit is not None and limit < 1:
        return
    if campaign.replication is not None:
        # Items are reclaimed at the latest when the seat may be given away.
        hold = campaign.reclaim_after_h if campaign.quota is None else campaign.quota.hold_minutes / 60
        hours = min(campaign.reclaim_after_h, hold)
        assignments.reclaim_assignments(
            tx,
            campaign_row.id,
            unseen_since=abandoned_before(campaign_row, hours, now),
            planned_since=abandoned_before(campaign_row, UNANSWERED_HOLD_H, now),
            now=now,
        )
        limit = BATCH_SIZE if limit is None else min(limit, BATCH_SIZE)
    items = assignments.load_item_loads(
        tx, campaign_row.id, rater.id, cell=_balancing_cell(context), excluded_topics=_avoided_topics(context)
    )
    new_indices = choose_items(
        # A rehearsal shows a full campaign as one that has just begun.
        items.loads * (not rater.rehearsal),
        items.unavailable,
        replication=_required_replication(context),
        most=limit,
        seed=campaign.seed,
        rater=rater.number,
    )
    more_follow = campaign.replication is not None and len(new_indices) == limit
    order = _order_showings(tx, context, items, new_indices.tolist(), last=not more_follow)[:limit]
    sides = _draw_sides(context, len(order), n_assigned=int(items.unavailable.sum()))
    plan = [
        PlannedShowing(items.ids[index], showing, side) for (index, showing), side in zip(order, sides, strict=True)
    ]
    assignments.add_assignments(tx, rater, plan, now=now)


def _draw_sides(context: RaterContext, n: int, *, n_assigned: int) -> Sequence[Side | None]:
    """Return the left response of each showing of a pair; None without pairs."""
    if context.campaign.pair is None:
        return [None] * n
    return draw_sides(n, seed=context.campaign.seed, rater=context.rater.number, n_assigned=n_assigned)


def _order_showings(
    tx: Connection, context: RaterContext, items: ItemLoads, new_indices: Sequence[int], *, last: bool
) -> list[tuple[int, int]]:
    """Return new items and repeats of earlier ones in their order: the index and the showing of each."""
    repeat, rater_id = context.campaign.repeat, context.rater.id
    if repeat is None:
        return [(index, FIRST) for index in new_indices]
    shown_once = assignments.load_items_shown_once(tx, rater_id)
    repeatable = shown_once.keys() - notices.list_reported_items(tx, rater_id)
    earlier = {index: shown_once[item_id] for index, item_id in enumerate(items.ids) if item_id in repeatable}
    return place_repeats(
        new_indices,
        earlier,
        repeat,
        start=assignments.find_next_position(tx, rater_id),
        last=last,
        seed=context.campaign.seed,
        rater=context.rater.number,
    )


def is_exhausted(tx: Connection, context: RaterContext, progress: RaterProgress) -> bool:
    """Return whether no item can become available; items held by others may come back."""
    replication, most = _required_replication(context), context.campaign.max_items
    if replication is None or context.rater.rehearsal or (most is not None and progress.n_done >= most):
        return True
    cell, excluded_topics = _balancing_cell(context), _avoided_topics(context)
    items = assignments.load_item_loads(
        tx, context.campaign_row.id, context.rater.id, cell=cell, rated=True, excluded_topics=excluded_topics
    )
    return not (~items.unavailable & (items.loads < replication)).any()


def has_more_items(tx: Connection, context: RaterContext, progress: RaterProgress) -> bool:
    """Return whether there are items for a rater who had finished, such as those that an owner released."""
    replication, most = _required_replication(context), context.campaign.max_items
    if context.rater.rehearsal or context.campaign.chat is not None or (most is not None and progress.n_done >= most):
        return False
    cell, excluded_topics = _balancing_cell(context), _avoided_topics(context)
    items = assignments.load_item_loads(
        tx, context.campaign_row.id, context.rater.id, cell=cell, excluded_topics=excluded_topics
    )
    open_items = ~items.unavailable if replication is None else ~items.unavailable & (items.loads < replication)
    return bool(open_items.any())


def _avoided_topics(context: RaterContext) -> tuple[str, ...]:
    return tuple((context.rater.excluded_topics or "").splitlines())


def _balancing_cell(context: RaterContext) -> str | None:
    """Return the only cell whose loads balance a rater's items, None if all cells count."""
    quota = context.campaign.quota
    return context.rater.cell if quota is not None and quota.balanced else None


def _required_replication(context: RaterContext) -> int | None:
    """Return the required ratings per item from raters like this one, None if every rater rates all."""
    quota, cell, replication = context.campaign.quota, _balancing_cell(context), context.campaign.replication
    return quota.shares(replication).get(cell, 0) if quota and cell and replication else replication


def abandoned_before(campaign_row: CampaignRow, hours: float, now: datetime) -> datetime:
    """Return the time before which a rater was last seen who counts as inactive.

    Pauses of the campaign do not count: nobody is inactive until the hours have passed since its last change.
    """
    since = now - timedelta(hours=hours)
    return since if campaign_row.changed_at <= since else campaign_row.created_at
