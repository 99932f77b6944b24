"""Quota progress of a campaign for staff."""

from datetime import datetime, timedelta

from dissensus.campaign.quota_progress import CellProgress
from dissensus.errors import NotFound
from dissensus.schema.campaign.quota import Quota
from dissensus.store import seats
from dissensus.store.seats import SeatCounts
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

RECENT_WINDOW = timedelta(hours=24)
"""Longest time before now from which the pace of entries is computed."""


def load_quota_progress(
    platform: Platform, name: str, *, staff_id: str, now: datetime
) -> tuple[Quota, tuple[CellProgress, ...]]:
    """Return the quota of a campaign and the progress of each cell, in the order of the quota."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        quota = platform.definitions.load(tx, campaign_row).quota
        if quota is None:
            raise NotFound(f"{name} has no quota: it admits everybody.")
        counts_of = seats.load_seat_counts(tx, campaign_row.id)
        # The pace counts from the first entry, not from the days before the campaign was open.
        since = max(now - RECENT_WINDOW, seats.find_first_entry(tx, campaign_row.id) or now)
        entered = seats.count_entered(tx, campaign_row.id, since=since)
        declarations = seats.iterate_declarations(tx, campaign_row.id)
        declared_cells = [(cell, quota.cell_of(content)) for cell, content in declarations]
    hours = max((now - since) / timedelta(hours=1), 1.0)
    cells = []
    for cell, target in quota.targets.items():
        counts = counts_of.get(cell, SeatCounts())
        cells.append(
            CellProgress(
                cell=cell,
                target=target,
                capacity=quota.capacities[cell],
                finished=counts.taken,
                in_progress=counts.held,
                screened_out=counts.screened,
                n_lately=entered.get(cell, 0),
                hours=hours,
                mismatched=sum(assigned == cell != declared for assigned, declared in declared_cells),
            )
        )
    return quota, tuple(cells)
