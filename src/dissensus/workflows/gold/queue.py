"""Work queue of experts: items that need labels, single tasks, and lists of labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import GoldAnswers
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold, GoldItemState
from dissensus.schema.numbers import clamp_page
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.records.item import Item
from dissensus.store import items as items_store
from dissensus.store.lists import gold as lists
from dissensus.store.lists.gold import OpenItems
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.gold.adjudication import count_decisions, decision_form, latest_decisions
from dissensus.workflows.gold.labelling import (
    LabelledItem,
    count_labels_by,
    gold_settings_of,
    label_form,
    latest_answers_by,
    list_labelled_items_at,
    load_labelled_item,
)
from dissensus.workflows.platform.platform import Platform

MAX_DISPUTES: Final = 50
MAX_CORRECTABLE: Final = 20
"""Items that a queue lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQueue:
    """Work available to one expert."""

    campaign: Campaign
    gold: Gold
    states: Mapping[GoldItemState, int]  # number of items by state
    n_first: int  # items that need a first label
    n_verify: int  # items whose safety needs verification
    n_check: int  # items whose degree or topics need a check
    next: int | None  # position of the most urgent item
    to_decide: tuple[LabelledItem, ...]  # first items that the expert may adjudicate
    n_to_decide: int
    correctable: tuple[LabelledItem, ...]  # first items whose labels the expert may still correct
    n_correctable: int
    n_of_file: int  # items with all labels from their file
    n_withheld: int  # items withheld from everybody

    @property
    def n_waiting(self) -> int:
        """Number of items that await adjudication."""
        return self.states["disputed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTask:
    """One item to label, adjudicate or read."""

    campaign: Campaign
    item: Item
    labelled: LabelledItem
    label_form: Questionnaire | None  # questions to label or correct; None if there are none
    decision_form: Questionnaire | None  # questions of an adjudication; None if not allowed
    answers: GoldAnswers  # latest labels of the expert, or latest decisions
    revision: int  # number of labels or decisions shown; detects outdated forms
    readable: bool  # True if all labels are in, so that everybody may read them


def load_gold_queue(platform: Platform, name: str, *, staff_id: str) -> GoldQueue:
    """Return the work available to an expert."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        gold, counts = gold_settings_of(campaign), lists.count_gold_items(tx, campaign_row.id)
        open_items = lists.count_open_items(tx, campaign_row.id, staff_id)
        n_correctable = sum(items.n for items in open_items if items.are_correctable)
        correctable = lists.list_correctable_positions(
            tx, campaign_row.id, staff_id, most=MAX_CORRECTABLE if n_correctable else 0
        )
        disputes = lists.list_disputes(tx, campaign_row.id, staff_id, most=MAX_DISPUTES)
        return GoldQueue(
            campaign=campaign,
            gold=gold,
            states=counts.states,
            n_first=counts.n_first,
            n_verify=sum(items.n for items in open_items if "safety" in items.wanted),
            n_check=sum(items.n for items in open_items if {"degree", "topics"} & {*items.wanted}),
            next=_find_urgent(open_items, lists.find_unlabelled_position(tx, campaign_row.id)),
            to_decide=list_labelled_items_at(tx, campaign_row, gold, disputes),
            n_to_decide=len(disputes)
            if len(disputes) < MAX_DISPUTES
            else lists.count_disputes(tx, campaign_row.id, staff_id),
            correctable=list_labelled_items_at(tx, campaign_row, gold, correctable),
            n_correctable=n_correctable,
            n_of_file=counts.n_of_file,
            n_withheld=counts.n_withheld,
        )


def _find_urgent(open_items: Sequence[OpenItems], unlabelled: int | None) -> int | None:
    """Return the position of the item in progress that lacks the fewest labels, otherwise of the first unlabelled."""
    candidates = [(sum(items.missing.values()), items.first) for items in open_items if items.wanted]
    return min(candidates)[1] if candidates else unlabelled


def load_gold_task(platform: Platform, name: str, position: int, *, staff_id: str) -> GoldTask:
    """Return one item to label, adjudicate or read."""
    with platform.database.reading() as tx:
        campaign_row, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id)
        (item,) = items_store.iterate_items(tx, campaign_row.id, start=position, most=1)
    progress, decides = labelled.progress, labelled.may_decide(staff_id)
    is_open = bool(core.list_open_parts(progress))
    return GoldTask(
        campaign=campaign,
        item=item,
        labelled=labelled,
        label_form=label_form(campaign, progress, staff_id) if is_open else None,
        decision_form=decision_form(campaign, progress) if decides else None,
        answers=latest_decisions(progress) if decides else latest_answers_by(progress, staff_id),
        revision=count_decisions(progress) if decides else count_labels_by(progress, staff_id),
        readable=not is_open,
    )


def list_labels(
    platform: Platform, name: str, *, only: GoldItemState | None = None, start: int = 0, most: int, staff_id: str
) -> tuple[LabelledItem, ...]:
    """Return items from a position on, of one state or all, with the state of their labels."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        gold = gold_settings_of(platform.definitions.load(tx, campaign_row))
        positions = lists.list_positions(tx, campaign_row.id, only, start=start, most=most)
        return list_labelled_items_at(tx, campaign_row, gold, positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsPage:
    """A page of items with the state of their labels."""

    gold: Gold
    counts: Mapping[GoldItemState, int]
    items: tuple[LabelledItem, ...]
    page: int
    pages: int


def load_labels_page(
    platform: Platform, name: str, *, only: GoldItemState | None, page: int, size: int, staff_id: str
) -> LabelsPage:
    """Return a page of items of one state, or of all; the last one if there are fewer."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        gold = gold_settings_of(platform.definitions.load(tx, campaign_row))
        counts = lists.count_gold_items(tx, campaign_row.id).states
        n = sum(counts.values()) if only is None else counts[only]
        page, pages, offset = clamp_page(page, n, size)
        positions = lists.list_positions(tx, campaign_row.id, only, offset=offset, most=size)
        items = list_labelled_items_at(tx, campaign_row, gold, positions)
        return LabelsPage(gold=gold, counts=counts, items=items, page=page, pages=pages)
