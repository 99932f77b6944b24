"""Plan the items of a rater."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from dissensus.campaign.assignment import choose_items, draw_sides
from dissensus.store import assignments
from dissensus.store.assignments import RaterProgress
from dissensus.workflows.rater.context import RaterContext

# Items planned at once under a replication: what one rater holds, others cannot have meanwhile.
BATCH_SIZE = 20


def plan_items(tx: Connection, context: RaterContext, progress: RaterProgress, now: datetime) -> None:
    """Assign more items to a rater if there are any; the campaign must be locked."""
    rater, campaign_row, campaign = context.rater, context.campaign_row, context.campaign
    if _required_replication(context) == 0:
        return
    limit = None if campaign.most_items is None else campaign.most_items - progress.n_done - progress.n_open
    if limit is not None and limit < 1:
        return
    if campaign.replication is not None:
        # Whose seat may be given away, of them the items too.
        hold = campaign.reclaim_after_h if campaign.quota is None else campaign.quota.hold_minutes / 60
        hours = min(campaign.reclaim_after_h, hold)
        assignments.reclaim_assignments(
            tx, campaign_row.id, unseen_since=abandoned_before(context, hours, now), now=now
        )
        limit = BATCH_SIZE if limit is None else min(limit, BATCH_SIZE)
    found = assignments.load_item_loads(
        tx, campaign_row.id, rater.id, cell=_balancing_cell(context), excluded_topics=_avoided_topics(context)
    )
    chosen = choose_items(
        # A rehearsal shows a full campaign as one that has just begun.
        found.loads * (not rater.rehearsal),
        found.mine,
        replication=_required_replication(context),
        most=limit,
        seed=campaign.seed,
        rater=rater.number,
    )
    n_pairs = 0 if campaign.pair is None else len(chosen)
    first = draw_sides(n_pairs, seed=campaign.seed, rater=rater.number, had=int(found.mine.sum()))
    assignments.add_assignments(tx, rater, [found.ids[place] for place in chosen], first=first, now=now)


def is_exhausted(tx: Connection, context: RaterContext, progress: RaterProgress) -> bool:
    """Return whether no item can become available; items held by others may come back."""
    wanted, most = _required_replication(context), context.campaign.most_items
    if wanted is None or context.rater.rehearsal or (most is not None and progress.n_done >= most):
        return True
    cell, excluded_topics = _balancing_cell(context), _avoided_topics(context)
    found = assignments.load_item_loads(
        tx, context.campaign_row.id, context.rater.id, cell=cell, rated=True, excluded_topics=excluded_topics
    )
    return not (~found.mine & (found.loads < wanted)).any()


def _avoided_topics(context: RaterContext) -> tuple[str, ...]:
    return tuple((context.rater.excluded_topics or "").splitlines())


def _balancing_cell(context: RaterContext) -> str | None:
    """Return the cell that alone counts in balancing a rater's items, None if all do."""
    quota = context.campaign.quota
    return context.rater.cell if quota is not None and quota.balanced else None


def _required_replication(context: RaterContext) -> int | None:
    """Return the ratings wanted per item from raters like this one, None if everybody rates all."""
    quota, cell, replication = context.campaign.quota, _balancing_cell(context), context.campaign.replication
    return quota.shares(replication).get(cell, 0) if quota and cell and replication else replication


def abandoned_before(context: RaterContext, hours: float, now: datetime) -> datetime:
    """Return the time before which a rater without signs of life is gone; a paused campaign does not count."""
    since = now - timedelta(hours=hours)
    return since if context.campaign_row.changed_at <= since else context.campaign_row.created_at
