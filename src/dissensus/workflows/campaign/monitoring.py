"""Campaigns that are under way, in figures: made while ratings come in, and shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from dissensus.pipeline.monitor import (
    CELL,
    Collected,
    Figures,
    Forecast,
    Person,
    figures_of,
    forecast,
    scales_of,
    wanted,
)
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.ratings.columns import GOLD
from dissensus.store import flags, gold, overview
from dissensus.store import monitoring as store
from dissensus.store.campaigns import Kept
from dissensus.store.flags import Decision
from dissensus.store.monitoring import Declared, Snapshot
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform


@dataclass(slots=True, kw_only=True)
class _CampaignCache:
    """What a process has at hand of a campaign."""

    campaign: Campaign
    digest: str
    items: Mapping[str, str | None]
    gold_of_file: Mapping[str, str | None]
    collected: Collected
    people: dict[str, Person] = field(default_factory=dict)
    seen: frozenset[int] = frozenset()
    through: int = 0
    n_said: int = 0


@dataclass(slots=True)
class MonitoringCache:
    """What one process has at hand of the campaigns that are under way; a new one reads everything once."""

    campaigns: dict[str, _CampaignCache] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringView:
    """What is seen of a campaign."""

    kept: Kept  # Which one, and what was decided about it
    campaign: Campaign
    snapshot: Snapshot | None  # Its figures, None where none were made yet
    forecast: Forecast | None  # When there may be enough ratings; None without figures
    decisions: Mapping[str, Decision]  # What holds about each rater about whom somebody decided


def refresh_snapshots(platform: Platform, watched: MonitoringCache, *, now: datetime) -> int:
    """Read what is new of all campaigns under way, keep their figures, and return of how many these have changed."""
    with platform.database.reading() as tx:
        listed = store.to_watch(tx, now=now)
    known = {kept.id for kept in listed}
    watched.campaigns = {name: one for name, one in watched.campaigns.items() if name in known}
    return sum(_refresh_snapshot(platform, watched, kept, now) for kept in listed)


def _refresh_snapshot(platform: Platform, watched: MonitoringCache, kept: Kept, now: datetime) -> bool:
    """Bring the figures of a campaign up to date, and tell whether they have changed."""
    # What is at hand stays so only once it is kept too: after a failure everything is read anew.
    own = watched.campaigns.pop(kept.id, None)
    with platform.database.reading() as tx:
        known = own is not None and own.digest == kept.digest
        own = own if own is not None and known else _new_cache(platform, tx, kept)
        changed = any([_read_new_rows(tx, kept, own), _read_gold(tx, kept, own), not known])
    changed = changed or not _is_current(platform, kept, own, now)
    if changed:
        made = Snapshot(figures=_compute_figures(own), through=own.through, made_at=now, read_at=now)
        with platform.database.writing() as tx:
            store.put_snapshot(tx, kept.id, made)
    watched.campaigns[kept.id] = own
    return changed


def _is_current(platform: Platform, kept: Kept, own: _CampaignCache, now: datetime) -> bool:
    with platform.database.writing() as tx:
        return store.still_so(tx, kept.id, own.through, now=now)


def _new_cache(platform: Platform, tx: Connection, kept: Kept) -> _CampaignCache:
    campaign = platform.definitions.of(tx, kept)
    collected = Collected(scales_of(campaign.questionnaire))
    items = store.items_of(tx, kept.id)
    return _CampaignCache(campaign=campaign, digest=kept.digest, items=items, gold_of_file=items, collected=collected)


def _read_new_rows(tx: Connection, kept: Kept, own: _CampaignCache) -> bool:
    """Read what is new: the raters, all of those who were not there before, and else what was saved since."""
    purposes = [purpose.name for purpose in own.campaign.consent.purposes if purpose.required]
    axes = monitoring_axes(own.campaign)
    people = {one.rater_id: _to_person(one, axes) for one in store.people_of(tx, kept.id, purposes)}
    through = overview.last_save(tx)
    saves = store.saves_since(tx, kept.id, own.through or through)
    touched = {assignment for number, assignment in saves.items() if number not in own.seen}
    touched.update(store.assignments_of(tx, people.keys() - own.people.keys()))
    own.collected.drop_raters(own.people.keys() - people.keys())
    questions = own.collected.scales.questions
    found = [one for one in store.finished_of(tx, sorted(touched), questions) if one.rater_id in people]
    own.collected.drop(touched - {one.assignment_id for one in found})
    own.collected.add(found)
    changed = bool(found) or people != own.people
    own.people, own.seen, own.through = people, frozenset(saves), max(through, own.through)
    return changed


def _read_gold(tx: Connection, kept: Kept, own: _CampaignCache) -> bool:
    """Take over what experts have settled, and tell whether any of them said more."""
    n_said = 0 if own.campaign.gold is None else gold.n_said(tx, kept.id)
    if n_said == own.n_said:
        return False
    settled = gold_columns_by_item(tx, own.campaign, kept)
    own.items = {name: label or settled[name].get(GOLD) for name, label in own.gold_of_file.items()}
    own.n_said = n_said
    return True


def monitoring_axes(campaign: Campaign) -> dict[str, tuple[str, ...]]:
    """Return what raters are grouped by, each with its groups: cells of the quota, and what they say of themselves."""
    asked = () if campaign.demographics is None else campaign.demographics.questions
    said = {one.name: one.answers for one in asked if one.kind in ("single", "likert")}
    return said if campaign.quota is None else {CELL: tuple(campaign.quota.targets), **said}


def _to_person(one: Declared, axes: Mapping[str, object]) -> Person:
    said = {axis: value for axis in axes if isinstance(value := one.content.get(axis), str)}
    cell = {} if one.cell is None or CELL not in axes else {CELL: one.cell}
    return Person(rater_id=one.rater_id, number=one.number, groups={**said, **cell})


def _compute_figures(own: _CampaignCache) -> Figures:
    return figures_of(own.collected, list(own.people.values()), own.items, monitoring_axes(own.campaign))


def load_monitoring(platform: Platform, name: str, *, staff_id: str, now: datetime) -> MonitoringView:
    """Return what is seen of a campaign."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign, snapshot = platform.definitions.of(tx, kept), store.snapshot_of(tx, kept.id)
        decisions = flags.decisions_of(tx, kept.id)
    return MonitoringView(
        kept=kept,
        campaign=campaign,
        snapshot=snapshot,
        forecast=None if snapshot is None else _forecast(campaign, snapshot.figures, now),
        decisions=decisions,
    )


def _forecast(campaign: Campaign, figures: Figures, now: datetime) -> Forecast:
    return forecast(figures.hours, figures.pool.n_ratings, wanted(campaign, figures.n_items), now=now)
