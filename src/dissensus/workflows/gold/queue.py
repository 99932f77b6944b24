"""Work queue of experts: items that need labels, single tasks, and lists of labels."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import GoldAnswers, ItemState
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.records.item import Item
from dissensus.store import items
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.gold.adjudication import count_decisions, decision_form, latest_decisions
from dissensus.workflows.gold.labelling import (
    LabelledItem,
    count_labels_by,
    gold_settings_of,
    label_form,
    latest_answers_by,
    list_labelled_items,
    list_labelled_items_from,
    load_labelled_item,
)
from dissensus.workflows.platform.platform import Platform

WINDOW_SIZE: Final = 500
"""Items whose labels are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQueue:
    """Work available to one expert."""

    campaign: Campaign
    gold: Gold
    states: Mapping[ItemState, int]  # number of items by state
    n_first: int  # items that need a first label
    n_verify: int  # items whose safety needs verification
    n_check: int  # items whose degree or topics need a check
    next: int | None  # position of the most urgent item
    to_decide: tuple[LabelledItem, ...]  # items that the expert may adjudicate
    correctable: tuple[LabelledItem, ...]  # items whose labels the expert may still correct
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
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.load(tx, campaign_row)
        labelled_items = list_labelled_items(tx, campaign_row, gold_settings_of(campaign))
    available = [item for item in labelled_items if not item.target.withheld]
    open_parts = [(core.list_wanted_parts(item.standings, staff_id), item.state == "in_progress") for item in available]
    states = Counter(item.state for item in labelled_items)
    return GoldQueue(
        campaign=campaign,
        gold=gold_settings_of(campaign),
        states={state: states[state] for state in core.ITEM_STATES},
        n_first=sum(bool(parts) and not in_progress for parts, in_progress in open_parts),
        n_verify=sum("safety" in parts and in_progress for parts, in_progress in open_parts),
        n_check=sum(bool({"degree", "topics"} & {*parts}) and in_progress for parts, in_progress in open_parts),
        next=_next_item(available, staff_id),
        to_decide=tuple(item for item in available if item.state == "disputed" and item.may_decide(staff_id)),
        correctable=tuple(item for item in available if _is_correctable(item, staff_id)),
        n_of_file=sum(all(part.state == "file" for part in item.standings.values()) for item in labelled_items),
        n_withheld=len(labelled_items) - len(available),
    )


def _next_item(labelled_items: list[LabelledItem], staff_id: str) -> int | None:
    """Return the position of the most urgent item: the one that lacks the fewest labels."""
    candidates = [
        (
            sum(part.n_needed - len(part.labels) for part in item.standings.values() if part.state == "open"),
            item.target.position,
        )
        for item in labelled_items
        if core.list_wanted_parts(item.standings, staff_id)
    ]
    return min(candidates, default=(0, None))[1]


def _is_correctable(item: LabelledItem, staff_id: str) -> bool:
    return any(item.standings[part].label_by(staff_id) for part in core.list_open_parts(item.standings))


def load_gold_task(platform: Platform, name: str, position: int, *, staff_id: str) -> GoldTask:
    """Return one item to label, adjudicate or read."""
    with platform.database.reading() as tx:
        campaign_row, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id)
        (item,) = items.iterate_items(tx, campaign_row.id, start=position, most=1)
    standings, decides = labelled.standings, labelled.may_decide(staff_id)
    is_open = bool(core.list_open_parts(standings))
    return GoldTask(
        campaign=campaign,
        item=item,
        labelled=labelled,
        label_form=label_form(campaign, standings, staff_id) if is_open else None,
        decision_form=decision_form(campaign, standings) if decides else None,
        answers=latest_decisions(standings) if decides else latest_answers_by(standings, staff_id),
        revision=count_decisions(standings) if decides else count_labels_by(standings, staff_id),
        readable=not is_open,
    )


def list_labels_from(
    platform: Platform, name: str, *, only: ItemState | None = None, start: int, most: int, staff_id: str
) -> tuple[LabelledItem, ...]:
    """Return items from a position on, of one state or all, with the state of their labels."""
    result: list[LabelledItem] = []
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        gold = gold_settings_of(platform.definitions.load(tx, campaign_row))
        while len(result) < most and (
            window := list_labelled_items_from(tx, campaign_row, gold, start=start, most=WINDOW_SIZE)
        ):
            result += [item for item in window if only is None or item.state == only]
            start = window[-1].target.position + 1
    return tuple(result[:most])


def list_labels(platform: Platform, name: str, *, staff_id: str) -> tuple[LabelledItem, ...]:
    """Return all items of a campaign with the state of their labels."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return list_labelled_items(tx, campaign_row, gold_settings_of(platform.definitions.load(tx, campaign_row)))
