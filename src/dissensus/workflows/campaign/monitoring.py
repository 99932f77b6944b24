"""Compute and show monitoring snapshots of running campaigns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from dissensus.pipeline.monitor import (
    CELL,
    CampaignFigures,
    Forecast,
    MonitoredRater,
    MonitorState,
    compute_figures,
    count_missing,
    forecast,
    read_scales,
)
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.ratings.columns import GOLD
from dissensus.store import flags, gold, overview
from dissensus.store import monitoring as store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.flags import FlagDecisionRow
from dissensus.store.monitoring import MonitoringSnapshot, Participant
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform


@dataclass(slots=True, kw_only=True)
class _CampaignCache:
    """Incremental state of one campaign."""

    campaign: Campaign
    digest: str
    items: Mapping[str, str | None]
    gold_of_file: Mapping[str, str | None]
    collected: MonitorState
    people: dict[str, MonitoredRater] = field(default_factory=dict)
    seen: frozenset[int] = frozenset()
    through: int = 0
    n_said: int = 0


@dataclass(slots=True)
class MonitoringCache:
    """Incremental state per running campaign in one process; a new one reads everything once."""

    campaigns: dict[str, _CampaignCache] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringView:
    """Monitoring data of a campaign."""

    campaign_row: CampaignRow
    campaign: Campaign
    snapshot: MonitoringSnapshot | None  # None if none was computed yet
    forecast: Forecast | None  # expected time of completion; None without a snapshot
    decisions: Mapping[str, FlagDecisionRow]  # current decision per rater


def refresh_snapshots(platform: Platform, watched: MonitoringCache, *, now: datetime) -> int:
    """Read new data of all running campaigns, store their snapshots and return how many changed."""
    with platform.database.reading() as tx:
        listed = store.list_campaigns_to_monitor(tx, now=now)
    known = {campaign_row.id for campaign_row in listed}
    watched.campaigns = {name: one for name, one in watched.campaigns.items() if name in known}
    return sum(_refresh_snapshot(platform, watched, campaign_row, now) for campaign_row in listed)


def _refresh_snapshot(platform: Platform, watched: MonitoringCache, campaign_row: CampaignRow, now: datetime) -> bool:
    """Update the snapshot of a campaign and return whether it changed."""
    # What is at hand stays so only once it is kept too: after a failure everything is read anew.
    own = watched.campaigns.pop(campaign_row.id, None)
    with platform.database.reading() as tx:
        known = own is not None and own.digest == campaign_row.digest
        own = own if own is not None and known else _new_cache(platform, tx, campaign_row)
        changed = any([_read_new_rows(tx, campaign_row, own), _read_gold(tx, campaign_row, own), not known])
    changed = changed or not _is_current(platform, campaign_row, own, now)
    if changed:
        made = MonitoringSnapshot(figures=_compute_figures(own), through=own.through, made_at=now, read_at=now)
        with platform.database.writing() as tx:
            store.set_snapshot(tx, campaign_row.id, made)
    watched.campaigns[campaign_row.id] = own
    return changed


def _is_current(platform: Platform, campaign_row: CampaignRow, own: _CampaignCache, now: datetime) -> bool:
    with platform.database.writing() as tx:
        return store.confirm_snapshot(tx, campaign_row.id, own.through, now=now)


def _new_cache(platform: Platform, tx: Connection, campaign_row: CampaignRow) -> _CampaignCache:
    campaign = platform.definitions.of(tx, campaign_row)
    collected = MonitorState(read_scales(campaign.questionnaire))
    items = store.load_gold_by_item(tx, campaign_row.id)
    return _CampaignCache(
        campaign=campaign, digest=campaign_row.digest, items=items, gold_of_file=items, collected=collected
    )


def _read_new_rows(tx: Connection, campaign_row: CampaignRow, own: _CampaignCache) -> bool:
    """Read new data: all answers of raters who are new, else what was saved since."""
    purposes = [purpose.name for purpose in own.campaign.consent.purposes if purpose.required]
    axes = monitoring_axes(own.campaign)
    people = {one.rater_id: _to_person(one, axes) for one in store.list_participants(tx, campaign_row.id, purposes)}
    through = overview.find_last_save_number(tx)
    saves = store.load_assignments_saved_since(tx, campaign_row.id, own.through or through)
    touched = {assignment for number, assignment in saves.items() if number not in own.seen}
    touched.update(store.list_done_assignment_ids(tx, people.keys() - own.people.keys()))
    own.collected.drop_raters(own.people.keys() - people.keys())
    questions = own.collected.scales.questions
    found = [one for one in store.iterate_finished(tx, sorted(touched), questions) if one.rater_id in people]
    own.collected.drop(touched - {one.assignment_id for one in found})
    own.collected.add(found)
    changed = bool(found) or people != own.people
    own.people, own.seen, own.through = people, frozenset(saves), max(through, own.through)
    return changed


def _read_gold(tx: Connection, campaign_row: CampaignRow, own: _CampaignCache) -> bool:
    """Update the gold labels and return whether there are new ones."""
    n_said = 0 if own.campaign.gold is None else gold.count_labels_and_decisions(tx, campaign_row.id)
    if n_said == own.n_said:
        return False
    settled = gold_columns_by_item(tx, own.campaign, campaign_row)
    own.items = {name: label or settled[name].get(GOLD) for name, label in own.gold_of_file.items()}
    own.n_said = n_said
    return True


def monitoring_axes(campaign: Campaign) -> dict[str, tuple[str, ...]]:
    """Return the axes and groups of raters: quota cells and demographic answers."""
    asked = () if campaign.demographics is None else campaign.demographics.questions
    said = {one.name: one.answers for one in asked if one.kind in ("single", "likert")}
    return said if campaign.quota is None else {CELL: tuple(campaign.quota.targets), **said}


def _to_person(one: Participant, axes: Mapping[str, object]) -> MonitoredRater:
    said = {axis: value for axis in axes if isinstance(value := one.content.get(axis), str)}
    cell = {} if one.cell is None or CELL not in axes else {CELL: one.cell}
    return MonitoredRater(rater_id=one.rater_id, number=one.number, groups={**said, **cell})


def _compute_figures(own: _CampaignCache) -> CampaignFigures:
    return compute_figures(own.collected, list(own.people.values()), own.items, monitoring_axes(own.campaign))


def load_monitoring(platform: Platform, name: str, *, staff_id: str, now: datetime) -> MonitoringView:
    """Return the monitoring data of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign, snapshot = platform.definitions.of(tx, campaign_row), store.find_snapshot(tx, campaign_row.id)
        decisions = flags.load_flag_decisions(tx, campaign_row.id)
    return MonitoringView(
        campaign_row=campaign_row,
        campaign=campaign,
        snapshot=snapshot,
        forecast=None if snapshot is None else _forecast(campaign, snapshot.figures, now),
        decisions=decisions,
    )


def _forecast(campaign: Campaign, figures: CampaignFigures, now: datetime) -> Forecast:
    return forecast(figures.hours, figures.pool.n_ratings, count_missing(campaign, figures.n_items), now=now)
