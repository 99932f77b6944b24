"""Compute and show monitoring snapshots of running campaigns."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

from sqlalchemy import Connection

from dissensus.campaign.assignment import FIRST, SECOND
from dissensus.errors import Conflict
from dissensus.pipeline.monitor import (
    CELL,
    CampaignFigures,
    Forecast,
    ItemSummary,
    MonitoredRater,
    MonitorState,
    RaterFigures,
    compute_figures,
    count_planned,
    forecast,
    list_rater_figures,
    measure_consistency,
    read_scales,
    summarise_items,
    suppress_figures,
)
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import audit_log, campaigns, flags, gold, overview
from dissensus.store import monitoring as store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.flags import FlagDecisionRow
from dissensus.store.lists import raters as rater_lists
from dissensus.store.monitoring import MonitoringProgress, MonitoringSnapshot, Participant
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.member_mails import queue_member_mails
from dissensus.workflows.platform.platform import Platform

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Key = TypeVar("Key")
MAX_RATINGS_AT_ONCE: Final = 20_000
"""Most ratings that are decoded at one time, to bound memory."""
RUN_LENGTH: Final = 100_000
"""Ratings of a run, which has a transaction of its own; the next run continues after them."""
CODES_LAYOUT: Final = 1
"""Version of the format of stored codes of ratings; a change of the format increments it."""
RATERS_AT_ONCE: Final = 100
"""Raters whose assignments are listed by one statement; a run ends between two such lists."""


def _hold_always(_tx: Connection) -> bool:
    return True


@dataclass(slots=True, kw_only=True)
class _CampaignCache:
    """Incremental state of one campaign."""

    campaign: Campaign
    digest: str
    items: Mapping[str, str | None]  # gold label by item
    gold_of_file: Mapping[str, str | None]
    state: MonitorState
    repeats: MonitorState  # ratings of items that raters saw a second time
    raters: dict[str, MonitoredRater] = field(default_factory=dict)
    save_numbers: frozenset[int] = frozenset()  # numbers of the recent saves that were read
    through: int = 0  # number of the last save
    base: int = 0  # number of the last save of which nothing is left to be read
    progress_version: str | None = None  # of the stored codes; None without any
    unstored: set[str] = field(default_factory=set)  # raters whose stored codes are outdated, or lacking
    n_unstored: int = 0  # ratings that were read since codes were stored
    n_gold: int = 0  # gold labels and decisions
    n_withdrawn: int = 0  # raters who had withdrawn when the answers were read
    updated_at: datetime | None = None  # time of the stored figures; None without any
    unread: dict[str, None] = field(default_factory=dict)  # raters whose answers are to be read, in order
    resaved: set[str] = field(default_factory=set)  # assignments that are to be read again
    is_stored: bool = False  # whether this cache stored the summaries of all items that it knows


@dataclass(slots=True)
class MonitoringCache:
    """Incremental state per running campaign in one process.

    It survives errors: the next refresh continues after the last completed run. A new process starts from the stored
    codes, and reads the remaining ratings in runs.
    """

    campaigns: dict[str, _CampaignCache] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringView:
    """Monitoring data of a campaign."""

    campaign_row: CampaignRow
    campaign: Campaign
    snapshot: MonitoringSnapshot | None  # None if none was computed yet
    published: MonitoringSnapshot | None  # None before the campaign was closed with enough raters
    forecast: Forecast | None  # expected time of completion; None without a snapshot
    decisions: Mapping[str, FlagDecisionRow]  # current decision per rater


def refresh_snapshots(
    platform: Platform,
    cache: MonitoringCache,
    *,
    now: datetime,
    is_held: Callable[[Connection], bool] = _hold_always,
) -> int:
    """Read new data of all running campaigns, store their snapshots and return the number of changed ones.

    `is_held` checks in a transaction that this process still holds the lease; otherwise `Conflict` is raised before
    anything is written.
    """
    with platform.database.reading() as tx:
        rows = store.list_campaigns_to_monitor(tx, now=now)
    campaign_ids = {row.id for row in rows}
    cache.campaigns = {key: entry for key, entry in cache.campaigns.items() if key in campaign_ids}
    return sum(_refresh_snapshot(platform, cache, row, now, is_held) for row in rows)


def _refresh_snapshot(
    platform: Platform,
    cache: MonitoringCache,
    campaign_row: CampaignRow,
    now: datetime,
    is_held: Callable[[Connection], bool],
) -> bool:
    """Update the snapshot of a campaign and return whether it changed."""
    entry = cache.campaigns.get(campaign_row.id)
    with platform.database.reading() as tx:
        if entry is None or entry.digest != campaign_row.digest or _are_codes_gone(tx, campaign_row, entry):
            entry = cache.campaigns[campaign_row.id] = _new_cache(platform, tx, campaign_row)
            _restore_codes(tx, campaign_row, entry)
        # Until the summaries are stored: a failure causes a comparison of all of them.
        was_stored, entry.is_stored = entry.is_stored, False
        has_new_raters = _find_new_rows(tx, campaign_row, entry)
        has_new_gold = _read_gold(tx, campaign_row, entry)
        changed = has_new_raters or has_new_gold or not was_stored
    changed = _read_in_runs(platform, campaign_row, entry, is_held) or changed
    with platform.database.reading() as tx:
        positions, summaries = _list_outdated_summaries(tx, campaign_row, entry, valid=was_stored)
    changed = changed or bool(positions) or not _confirm_snapshot(platform, campaign_row, entry, now, is_held)
    if changed:
        snapshot = MonitoringSnapshot(
            figures=_compute_figures(entry), through=entry.through, updated_at=now, read_at=now
        )
        rater_figures = _list_rater_figures(entry)
        with platform.database.writing() as tx:
            _require_lease(tx, is_held)
            if not _lock_figures(tx, campaign_row.id, entry):
                return False
            flagged = [rater.rater_id for rater in snapshot.figures.flagged]
            if n_flagged := flags.add_flag_notices(tx, campaign_row.id, flagged, now=now):
                queue_member_mails(tx, campaign_row, "raters_flagged", now)
                audit_log.append_event(tx, campaign_row.id, "raters_flagged", {"n": n_flagged}, now=now)
            store.set_snapshot(tx, campaign_row.id, snapshot)
            store.replace_item_summaries(tx, campaign_row.id, positions, summaries)
            rater_lists.replace_rater_figures(tx, campaign_row.id, rater_figures)
            # At once, of raters who no longer agree to a required purpose.
            store.replace_codes(tx, entry.unstored - entry.raters.keys(), ())
        entry.updated_at = now
        entry.unstored &= entry.raters.keys()
    entry.is_stored = True
    if campaign_row.state == "closed":
        _publish_figures(platform, campaign_row, entry, now, is_held)
    return changed


def _require_lease(tx: Connection, is_held: Callable[[Connection], bool]) -> None:
    """Raise `Conflict` unless this process holds the lease.

    The lease is read without a lock, and can be lost right after: `_lock_figures`, not this check, keeps the figures
    that another process stored.
    """
    if not is_held(tx):
        raise Conflict("Another process holds the lease of the figures, and computes them. Nothing was stored.")


def _lock_figures(tx: Connection, campaign_id: str, entry: _CampaignCache) -> bool:
    """Lock a campaign, and return whether its figures may be stored.

    It may have been deleted since its answers were read, a rater may have withdrawn, and another process may have
    stored figures; the lock prevents all three from here on. Whoever stores figures sets their update time under this
    lock. If the time is another one than when the summaries were compared, storing would overwrite figures that this
    process has not seen.
    """
    return _lock_answers(tx, campaign_id, entry) and store.find_update_time(tx, campaign_id) == entry.updated_at


def _lock_answers(tx: Connection, campaign_id: str, entry: _CampaignCache) -> bool:
    """Lock a campaign, and return whether the data that were read from it still exist."""
    campaigns.get_campaign(tx, campaign_id, lock=True)
    withdrawn = rater_lists.count_withdrawn(tx, campaign_id) != entry.n_withdrawn
    return not (campaigns.is_deleted(tx, campaign_id) or withdrawn)


def _publish_figures(
    platform: Platform,
    campaign_row: CampaignRow,
    entry: _CampaignCache,
    now: datetime,
    is_held: Callable[[Connection], bool],
) -> None:
    """Publish the figures of a closed campaign, unless some are published or there are few raters."""
    with platform.database.reading() as tx:
        if store.has_published_figures(tx, campaign_row.id):
            return
    figures = suppress_figures(_compute_figures(entry), entry.state, list(entry.raters.values()))
    if figures is not None:
        with platform.database.writing() as tx:
            _require_lease(tx, is_held)
            if _lock_figures(tx, campaign_row.id, entry):
                store.add_published_figures(tx, campaign_row.id, figures, at=now)


def _confirm_snapshot(
    platform: Platform,
    campaign_row: CampaignRow,
    entry: _CampaignCache,
    now: datetime,
    is_held: Callable[[Connection], bool],
) -> bool:
    with platform.database.writing() as tx:
        _require_lease(tx, is_held)
        return store.confirm_snapshot(tx, campaign_row.id, entry.through, now=now)


def _new_cache(platform: Platform, tx: Connection, campaign_row: CampaignRow) -> _CampaignCache:
    campaign = platform.definitions.load(tx, campaign_row)
    scales = read_scales(campaign.questionnaire)
    items = store.load_gold_by_item(tx, campaign_row.id)
    return _CampaignCache(
        campaign=campaign,
        digest=campaign_row.digest,
        items=items,
        gold_of_file=items,
        state=MonitorState(scales, items),
        repeats=MonitorState(scales, items),
    )


def _restore_codes(tx: Connection, campaign_row: CampaignRow, entry: _CampaignCache) -> None:
    """Load the ratings that another process stored as codes; what was saved afterwards is read as usual."""
    progress = store.find_progress(tx, campaign_row.id)
    if progress is None:
        return
    entry.progress_version = progress.version
    if progress.layout != _codes_layout(entry):
        return
    entry.through = progress.through
    raters = _list_raters(tx, campaign_row, entry)
    for rater_id, showing, content in store.iterate_codes(tx, campaign_row.id):
        if rater_id in raters:
            entry.raters[rater_id] = raters[rater_id]
            (entry.state if showing == FIRST else entry.repeats).restore(rater_id, content)
        else:
            entry.unstored.add(rater_id)


def _codes_layout(entry: _CampaignCache) -> str:
    return f"{CODES_LAYOUT}:{len(entry.items)}:{entry.digest}"


def _are_codes_gone(tx: Connection, campaign_row: CampaignRow, entry: _CampaignCache) -> bool:
    """Return whether an audit deleted the codes that this process stored or took over."""
    return entry.progress_version is not None and store.find_progress(tx, campaign_row.id) is None


def _store_codes(
    platform: Platform, campaign_row: CampaignRow, entry: _CampaignCache, is_held: Callable[[Connection], bool]
) -> None:
    """Store the ratings read since the last time as codes, unless a rater withdrew meanwhile."""
    with platform.database.reading() as tx:
        if _are_codes_gone(tx, campaign_row, entry):
            return
        before = store.find_progress(tx, campaign_row.id)
    layout, version = _codes_layout(entry), str(uuid4())
    # Otherwise the stored codes are missing, of other scales, or from a process that lost its lease.
    can_append = before is not None and (before.version, before.layout) == (entry.progress_version, layout)
    rater_ids = entry.unstored if can_append else entry.raters.keys() - entry.unread.keys()
    # Compressed and encoded before the campaign is locked.
    codes = [
        (rater_id, showing, store.encode_codes(content))
        for rater_id in sorted(rater_ids)
        for showing, state in ((FIRST, entry.state), (SECOND, entry.repeats))
        if (content := state.dump(rater_id)) is not None
    ]
    with platform.database.writing() as tx:
        _require_lease(tx, is_held)
        if not _lock_answers(tx, campaign_row.id, entry) or store.find_progress(tx, campaign_row.id) != before:
            return
        if not can_append:
            store.delete_codes(tx, campaign_row.id)
        store.replace_codes(tx, rater_ids, codes)
        store.set_progress(tx, campaign_row.id, MonitoringProgress(version=version, layout=layout, through=entry.base))
    entry.progress_version, entry.unstored, entry.n_unstored = version, set(), 0


def _list_raters(tx: Connection, campaign_row: CampaignRow, entry: _CampaignCache) -> dict[str, MonitoredRater]:
    purposes = [purpose.name for purpose in entry.campaign.consent.purposes if purpose.required]
    axes = monitoring_axes(entry.campaign)
    participants = store.list_participants(tx, campaign_row.id, purposes)
    return {participant.rater_id: to_monitored_rater(participant, axes) for participant in participants}


def _find_new_rows(tx: Connection, campaign_row: CampaignRow, entry: _CampaignCache) -> bool:
    """List new raters and the assignments saved since the last refresh, and return whether the raters changed.

    What is saved while the answers are read has a later number, and is read by the next refresh. A withdrawal
    meanwhile is noticed before figures are stored.
    """
    raters = _list_raters(tx, campaign_row, entry)
    through = overview.find_last_save_number(tx)
    if not entry.resaved:
        entry.base = entry.through or through
    saves = store.load_assignments_saved_since(tx, campaign_row.id, entry.through or through)
    entry.resaved.update(saves[number] for number in saves.keys() - entry.save_numbers)
    entry.unread = {rater_id: None for rater_id in raters if rater_id in entry.unread or rater_id not in entry.raters}
    entry.state.mark_raters([rater_id for rater_id in raters if raters[rater_id] != entry.raters.get(rater_id)])
    gone = entry.raters.keys() - raters.keys()
    for state in (entry.state, entry.repeats):
        state.drop_raters(gone)
    entry.unstored |= gone
    changed = raters != entry.raters
    entry.raters, entry.save_numbers, entry.through = raters, frozenset(saves), max(through, entry.through)
    entry.n_withdrawn = rater_lists.count_withdrawn(tx, campaign_row.id)
    return changed


def _read_in_runs(
    platform: Platform, campaign_row: CampaignRow, entry: _CampaignCache, is_held: Callable[[Connection], bool]
) -> bool:
    """Read what is listed, with a transaction for each run, and return whether anything was rated.

    Codes are stored once there are enough new ones for a run, since reading fewer anew costs little.
    """
    changed = False
    while entry.unread or entry.resaved:
        with platform.database.reading() as tx:
            _require_lease(tx, is_held)
            changed = _read_run(tx, entry) or changed
        if entry.n_unstored >= RUN_LENGTH and entry.base:
            _store_codes(platform, campaign_row, entry, is_held)
    return changed


def _read_run(tx: Connection, entry: _CampaignCache) -> bool:
    """Read the answers of some raters, else those of some assignments, and return whether anything was rated."""
    raters: list[str] = []
    assignment_ids: list[str] = []
    unread = iter(entry.unread)
    while len(assignment_ids) < RUN_LENGTH and (window := list(islice(unread, RATERS_AT_ONCE))):
        raters += window
        assignment_ids += store.list_done_assignment_ids(tx, window)
    if not raters:
        assignment_ids = sorted(entry.resaved)[:RUN_LENGTH]
        unfinished = store.list_unfinished(tx, assignment_ids)
        for state, showing in ((entry.state, FIRST), (entry.repeats, SECOND)):
            entry.unstored |= state.drop((rater_id, item) for rater_id, item, shown in unfinished if shown == showing)
    n_rated = _read_ratings(tx, entry, assignment_ids, entry.raters.keys())
    entry.n_unstored += n_rated
    for rater_id in raters:
        del entry.unread[rater_id]
    entry.unstored.update(raters)
    entry.resaved.difference_update(assignment_ids)
    return bool(n_rated)


def _read_ratings(
    tx: Connection, entry: _CampaignCache, assignment_ids: Sequence[str], rater_ids: Collection[str]
) -> int:
    """Read the finished ratings of some raters among some assignments, and return their number."""
    n_rated = 0
    for start in range(0, len(assignment_ids), MAX_RATINGS_AT_ONCE):
        batch = assignment_ids[start : start + MAX_RATINGS_AT_ONCE]
        finished = store.iterate_finished(tx, batch, entry.state.scales.questions)
        ratings = [rating for rating in finished if rating.rater_id in rater_ids]
        for state, showing in ((entry.state, FIRST), (entry.repeats, SECOND)):
            state.add(rating for rating in ratings if rating.showing == showing)
        entry.unstored.update(rating.rater_id for rating in ratings)
        n_rated += len(ratings)
    return n_rated


def _read_gold(tx: Connection, campaign_row: CampaignRow, entry: _CampaignCache) -> bool:
    """Update the gold labels and return whether there are new ones."""
    n_gold = 0 if entry.campaign.gold is None else gold.count_labels_and_decisions(tx, campaign_row.id)
    if n_gold == entry.n_gold:
        return False
    settled = gold.load_settled_labels(tx, campaign_row.id)
    entry.items = {name: label or settled.get(name) for name, label in entry.gold_of_file.items()}
    entry.n_gold = n_gold
    return True


def monitoring_axes(campaign: Campaign) -> dict[str, tuple[str, ...]]:
    """Return the axes and groups of raters: quota cells and demographic answers."""
    questions = () if campaign.demographics is None else campaign.demographics.questions
    axes = {question.name: question.answers for question in questions if question.kind in ("single", "likert")}
    return axes if campaign.quota is None else {CELL: tuple(campaign.quota.targets), **axes}


def to_monitored_rater(participant: Participant, axes: Mapping[str, object]) -> MonitoredRater:
    """Return a participant with their groups."""
    groups = {axis: value for axis in axes if isinstance(value := participant.content.get(axis), str)}
    if participant.cell is not None and CELL in axes:
        groups[CELL] = participant.cell
    return MonitoredRater(rater_id=participant.rater_id, number=participant.number, groups=groups)


def _compute_figures(entry: _CampaignCache) -> CampaignFigures:
    people, axes = list(entry.raters.values()), monitoring_axes(entry.campaign)
    figures = compute_figures(entry.state, people, entry.items, axes)
    consistency = measure_consistency(entry.state, entry.repeats, people, list(entry.items), axes)
    return replace(figures, consistency=consistency)


def _list_rater_figures(entry: _CampaignCache) -> tuple[RaterFigures, ...]:
    raters = list(entry.raters.values())
    return list_rater_figures(entry.state, raters, list(entry.items), monitoring_axes(entry.campaign))


def _list_outdated_summaries(
    tx: Connection, campaign_row: CampaignRow, entry: _CampaignCache, *, valid: bool
) -> tuple[Collection[int], Collection[ItemSummary]]:
    """Return the positions of items whose stored summaries are outdated, and the current summaries of these items.

    They are the items whose ratings changed, as long as this cache stored the other summaries. Otherwise, and after a
    withdrawal, all summaries are compared with the stored ones.
    """
    changed, updated_at = set(entry.state.take_changed_items()), store.find_update_time(tx, campaign_row.id)
    current, entry.updated_at = valid and updated_at == entry.updated_at, updated_at
    if current:
        positions: Collection[int] = [position for position, name in enumerate(entry.items) if name in changed]
        return positions, _summarise_items(entry, changed).values()
    computed, stored = _summarise_items(entry, entry.items), store.load_item_summaries(tx, campaign_row.id)
    positions = {key[0] for key in computed.keys() | stored.keys() if computed.get(key) != stored.get(key)}
    return positions, [summary for summary in computed.values() if summary.position in positions]


def _summarise_items(entry: _CampaignCache, names: Collection[str]) -> dict[tuple[int, str, str], ItemSummary]:
    """Return the summaries of some items by position, question and axis."""
    positions = {name: position for position, name in enumerate(entry.items) if name in names}
    summaries = summarise_items(entry.state, list(entry.raters.values()), positions, monitoring_axes(entry.campaign))
    return {(summary.position, summary.question, summary.axis): summary for summary in summaries}


def find_summary_faults(platform: Platform, tx: Connection, campaign_id: str) -> tuple[str, ...] | None:
    """List how stored summaries of items and raters differ from the answers; None if the summaries are outdated."""
    if not store.is_snapshot_current(tx, campaign_id):
        return None
    campaign_row = campaigns.get_campaign(tx, campaign_id)
    entry = _new_cache(platform, tx, campaign_row)
    _find_new_rows(tx, campaign_row, entry)
    while entry.unread or entry.resaved:
        _read_run(tx, entry)
    names = dict(enumerate(entry.items))
    computed, stored = _summarise_items(entry, entry.items), store.load_item_summaries(tx, campaign_id)
    wrong = {position for position, _, _ in _find_differences(computed, stored)}
    faults = [
        f"The stored summary of item {names.get(i, f'at position {i}')} does not match its answers."
        for i in sorted(wrong)
    ]
    raters = {row.rater_id: row for row in _list_rater_figures(entry)}
    for rater_id in sorted(_find_differences(raters, rater_lists.load_rater_figures(tx, campaign_id))):
        faults.append(f"The stored figures of rater {rater_id} do not match the answers.")
    return tuple(faults)


def discard_figures(platform: Platform, campaign_id: str) -> None:
    """Delete the figures of a campaign, and the codes that they come from, so that the next refresh reads anew."""
    with platform.database.writing() as tx:
        campaigns.get_campaign(tx, campaign_id, lock=True)
        store.delete_codes(tx, campaign_id)
        store.delete_snapshot(tx, campaign_id)


def _find_differences(
    computed: Mapping[Key, "DataclassInstance"], stored: Mapping[Key, "DataclassInstance"]
) -> set[Key]:
    """Return the keys whose values differ by more than the order of additions, or which one of the mappings lacks."""
    lacking = computed.keys() ^ stored.keys()
    both = computed.keys() & stored.keys()
    return lacking | {key for key in both if not _agree(asdict(computed[key]), asdict(stored[key]))}


def _agree(value: object, other: object) -> bool:
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_agree(value[key], other[key]) for key in value)
    return value == other


def load_monitoring(platform: Platform, name: str, *, staff_id: str, now: datetime) -> MonitoringView:
    """Return the monitoring data of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign, snapshot = platform.definitions.load(tx, campaign_row), store.find_snapshot(tx, campaign_row.id)
        published = store.find_published_figures(tx, campaign_row.id)
        decisions = flags.load_flag_decisions(tx, campaign_row.id)
    return MonitoringView(
        campaign_row=campaign_row,
        campaign=campaign,
        snapshot=snapshot,
        published=published,
        forecast=None if snapshot is None else _forecast(campaign, snapshot.figures, now),
        decisions=decisions,
    )


def _forecast(campaign: Campaign, figures: CampaignFigures, now: datetime) -> Forecast:
    return forecast(figures.hours, figures.pool.n_ratings, count_planned(campaign, figures.n_items), now=now)
