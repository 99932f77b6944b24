"""Items of a campaign for staff: lists sorted by disagreement, and the answers about one item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.filters.item_filter import ItemCursor, ItemFilter
from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.monitor import WITHIN, ItemAnswers, QuestionScales, read_scales, tabulate_item
from dissensus.schema.campaign.definition import Campaign, CampaignState
from dissensus.schema.campaign.gold import SCALE
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings.columns import GOLD
from dissensus.store import assignments, items, monitoring, notices
from dissensus.store import overview as store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.items import ItemState
from dissensus.store.overview import ItemDetail, ListedItem
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.campaign.monitoring import monitoring_axes, to_monitored_rater
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform

MAX_SELECTED: Final = 50
"""Most items that are changed at once: those of a page of the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemListing:
    """A part of the list of items, and the choices for another one."""

    item_filter: ItemFilter
    state: CampaignState
    items: tuple[ListedItem, ...]
    questions: Mapping[str, tuple[str, ...]]  # Scales by question
    axes: tuple[str, ...]
    attributes: tuple[str, ...]
    gold: tuple[str, ...]  # Labels of experts, or of the file

    @property
    def scale(self) -> tuple[str, ...]:
        """Answers of the question, in the order of the counts."""
        return self.questions.get(self.item_filter.question or "", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """One item with the answers of raters and its neighbours in a list."""

    campaign: Campaign
    detail: ItemDetail
    answers: tuple[ItemAnswers, ...]
    gold: str | None
    previous: int | None  # Position
    next: int | None  # Position


def list_items(
    platform: Platform, name: str, item_filter: ItemFilter, *, after: ItemCursor | None, staff_id: str, most: int
) -> ItemListing:
    """Return items after a cursor in the order of a filter, by default by the answers to the primary question."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        scales, axes = read_scales(campaign.questionnaire), tuple(monitoring_axes(campaign))
        item_filter = _check_filter(item_filter, scales, axes)
        attributes = store.list_attribute_names(tx, campaign_row.id)
        return ItemListing(
            item_filter=item_filter,
            state=campaign_row.state,
            items=store.list_items_after(tx, campaign_row.id, item_filter, after=after, most=most),
            questions=scales.all,
            axes=axes,
            attributes=attributes,
            gold=_list_gold_labels(campaign, attributes),
        )


def _list_gold_labels(campaign: Campaign, attributes: Sequence[str]) -> tuple[str, ...]:
    """Return the labels that experts give to items, or the published ones where the file of the items has some."""
    return campaign.gold.scale if campaign.gold is not None else SCALE if GOLD in attributes else ()


def _check_filter(item_filter: ItemFilter, scales: QuestionScales, axes: tuple[str, ...]) -> ItemFilter:
    """Return the filter with its question, or raise `InvalidInput` for one that the campaign does not have."""
    question = item_filter.question or scales.primary_question or next(iter(scales.all), None)
    if question is not None and question not in scales.all:
        raise InvalidInput(
            f"{format_value(question)} is not a question with a scale. "
            + (f"Choose one of {format_list(list(scales.all))}." if scales.all else "The campaign has none.")
        )
    if item_filter.axis not in (None, WITHIN, *axes):
        raise InvalidInput(
            f"{format_value(item_filter.axis)} is not an axis of this campaign. "
            + (f"Choose one of {format_list(axes)}." if axes else "It has none: it asks raters nothing about them.")
        )
    n_answers = len(scales.all[question]) if question is not None else 0
    if item_filter.answer is not None and not n_answers:
        raise InvalidInput("The questions of this campaign have no scale, so items cannot be listed by an answer.")
    if item_filter.answer is not None and item_filter.answer >= n_answers:
        raise InvalidInput(f"{item_filter.answer} is not the number of an answer. {question} has 0 to {n_answers - 1}.")
    return replace(item_filter, question=question)


def load_item(platform: Platform, name: str, position: int, item_filter: ItemFilter, *, staff_id: str) -> ItemView:
    """Return an item with the answers of the raters who agreed to all required purposes."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        detail = store.find_item_detail(tx, campaign_row.id, position)
        if detail is None:
            raise NotFound(f"{name} has no item number {position + 1}. Open one from the list of items.")
        item_filter = _check_filter(item_filter, read_scales(campaign.questionnaire), tuple(monitoring_axes(campaign)))
        before, after = _find_neighbours(tx, campaign_row.id, item_filter, position)
        return ItemView(
            campaign=campaign,
            detail=detail,
            answers=_load_answers(tx, campaign_row, campaign, detail),
            gold=_find_gold(tx, campaign_row, campaign, detail),
            previous=before,
            next=after,
        )


def _find_neighbours(
    tx: Connection, campaign_id: str, item_filter: ItemFilter, position: int
) -> tuple[int | None, int | None]:
    """Return the positions of the items before and after one in a list; None at its ends, or if it is not in it."""
    cursor: ItemCursor = (None, position)
    if item_filter.axis is not None:
        value = monitoring.find_disagreement(tx, campaign_id, item_filter.question or "", item_filter.axis, position)
        if value is None:
            return None, None
        cursor = (value, position)
    return store.find_neighbours(tx, campaign_id, item_filter, cursor)


def _load_answers(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, detail: ItemDetail
) -> tuple[ItemAnswers, ...]:
    scales, axes = read_scales(campaign.questionnaire), monitoring_axes(campaign)
    purposes = [purpose.name for purpose in campaign.consent.purposes if purpose.required]
    raters = [to_monitored_rater(row, axes) for row in monitoring.list_participants(tx, campaign_row.id, purposes)]
    ratings = list(monitoring.iterate_finished(tx, detail.assignment_ids, scales.questions))
    return tabulate_item(scales, ratings, raters, axes)


def _find_gold(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, detail: ItemDetail) -> str | None:
    """Return the gold label of the file, or else that of the experts."""
    if label := detail.item.attributes.get(GOLD):
        return label
    if campaign.gold is None:
        return None
    return gold_columns_by_item(tx, campaign, campaign_row, [detail.item.item_id])[detail.item.item_id].get(GOLD)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithholdingPlan:
    """Selected items of a campaign that are to be withheld from raters, or shown to them."""

    withheld: bool
    changing: tuple[ItemState, ...]
    unchanged: tuple[tuple[ItemState, str], ...]  # With the reason


def plan_withholding(
    platform: Platform, name: str, positions: Sequence[int], *, withheld: bool, staff_id: str
) -> WithholdingPlan:
    """Return which of some items would change if they were withheld from raters, or shown to them."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return _plan_withholding(tx, campaign_row, positions, withheld=withheld)


def _plan_withholding(
    tx: Connection, campaign_row: CampaignRow, positions: Sequence[int], *, withheld: bool
) -> WithholdingPlan:
    if not positions:
        raise InvalidInput("No item is selected. Go back to the list and select at least one.")
    if len(positions) > MAX_SELECTED:
        raise InvalidInput(f"{len(positions):,} items are selected, and at most {MAX_SELECTED} can be changed at once.")
    states = items.list_item_states(tx, campaign_row.id, positions)
    reasons = {state.id: _find_obstacle(tx, state, withheld=withheld) for state in states}
    return WithholdingPlan(
        withheld=withheld,
        changing=tuple(state for state in states if not reasons[state.id]),
        unchanged=tuple((state, reason) for state in states if (reason := reasons[state.id])),
    )


def _find_obstacle(tx: Connection, state: ItemState, *, withheld: bool) -> str | None:
    """Return the reason why an item stays as it is; None if it changes."""
    if state.withheld == withheld:
        return "it is withheld already" if withheld else "it is shown already"
    if withheld:
        return None
    if state.erased:
        return "its text was erased at a withdrawal"
    if notices.list_open_reports(tx, state.id):
        return "a report of it is open: settle that beside its text"
    if notices.find_report_decision(tx, state.id) is False:
        return "it was withheld when a report of it was settled"
    return None


def withhold_items(
    platform: Platform, name: str, positions: Sequence[int], *, withheld: bool, staff_id: str, now: datetime
) -> int:
    """Withhold items from all raters, or show them again; return the number of items that changed."""
    with platform.database.writing() as tx:
        # Locked as by a report, so that the two do not deadlock.
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        changing = _plan_withholding(tx, campaign_row, positions, withheld=withheld).changing
        for state in changing:
            if withheld:
                assignments.withhold_item(tx, state.id, now=now)
            else:
                assignments.release_item(tx, state.id)
        if changing:
            content = {"withheld": withheld, "items": [state.name for state in changing]}
            log_staff_event(tx, campaign_row.id, "items_changed", staff_id, now, **content)
    return len(changing)
