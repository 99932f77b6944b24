"""Which items a rater is to rate, and whether there will be more."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from dissensus.campaign.assignment import plan, sides
from dissensus.store import assignments
from dissensus.store.assignments import Progress

if TYPE_CHECKING:
    from dissensus.workflows.rater.journey import Present

# Where items have a replication, so many are planned at once: what one rater holds, others cannot have meanwhile.
BATCH = 20


def plan_more(tx: Connection, here: "Present", progress: Progress, now: datetime) -> None:
    """Plan more items for a rater, if there are any; the campaign must be held."""
    rater, kept, campaign = here.rater, here.kept, here.campaign
    if _replication(here) == 0:
        return
    limit = None if campaign.most_items is None else campaign.most_items - progress.n_done - progress.n_open
    if limit is not None and limit < 1:
        return
    if campaign.replication is not None:
        # Whose seat may be given away, of them the items too.
        hold = campaign.reclaim_after_h if campaign.quota is None else campaign.quota.hold_minutes / 60
        hours = min(campaign.reclaim_after_h, hold)
        assignments.reclaim(tx, kept.id, unseen_since=unseen_since(here, hours, now), now=now)
        limit = BATCH if limit is None else min(limit, BATCH)
    found = assignments.loads_of(tx, kept.id, rater.id, cell=_balanced(here), left_out=_left_out(here))
    chosen = plan(
        # A rehearsal shows a full campaign as one that has just begun.
        found.loads * (not rater.rehearsal),
        found.mine,
        replication=_replication(here),
        most=limit,
        seed=campaign.seed,
        rater=rater.number,
    )
    n_pairs = 0 if campaign.pair is None else len(chosen)
    first = sides(n_pairs, seed=campaign.seed, rater=rater.number, had=int(found.mine.sum()))
    assignments.add_assignments(tx, rater, [found.ids[place] for place in chosen], first=first, now=now)


def is_exhausted(tx: Connection, here: "Present", progress: Progress) -> bool:
    """Tell whether a rater will get no more items: what others hold and have not rated may still come back."""
    wanted, most = _replication(here), here.campaign.most_items
    if wanted is None or here.rater.rehearsal or (most is not None and progress.n_done >= most):
        return True
    cell, left_out = _balanced(here), _left_out(here)
    found = assignments.loads_of(tx, here.kept.id, here.rater.id, cell=cell, rated=True, left_out=left_out)
    return not (~found.mine & (found.loads < wanted)).any()


def _left_out(here: "Present") -> tuple[str, ...]:
    return tuple((here.rater.left_out or "").splitlines())


def _balanced(here: "Present") -> str | None:
    """Return the cell whose raters alone count for a rater's plan, None where all do."""
    quota = here.campaign.quota
    return here.rater.cell if quota is not None and quota.balanced else None


def _replication(here: "Present") -> int | None:
    """Return how many raters like this one are to rate each item, None where everybody rates all."""
    quota, cell, replication = here.campaign.quota, _balanced(here), here.campaign.replication
    return quota.shares(replication).get(cell, 0) if quota and cell and replication else replication


def unseen_since(here: "Present", hours: float, now: datetime) -> datetime:
    """Return since when somebody must have given no sign to be gone; a pause of the campaign is nobody's fault."""
    since = now - timedelta(hours=hours)
    return since if here.kept.changed_at <= since else here.kept.created_at
