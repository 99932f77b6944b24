"""What experts find to do: the items that need them, one item at a time, and all labels."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import ItemState, Said
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.records.item import Item
from dissensus.store import campaigns
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.gold.adjudication import latest_decisions, decision_form, count_decisions
from dissensus.workflows.gold.labelling import (
    LabelledItem,
    label_form,
    list_labelled_items,
    gold_settings_of,
    list_labelled_items_from,
    count_labels_by,
    load_labelled_item,
    latest_answers_by,
)
from dissensus.workflows.platform.platform import Platform

WINDOW_SIZE: Final = 500
"""Items whose labels are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQueue:
    """What there is for one expert."""

    campaign: Campaign  # Of which campaign, and how its experts label
    gold: Gold
    states: Mapping[ItemState, int]  # How many items are how far
    # How many items wait for this expert: to be labelled first, to have their safety verified, to have their degree or
    # topics checked
    n_first: int
    n_verify: int
    n_check: int
    next: int | None  # The position of the item that needs them most; None for none
    to_decide: tuple[LabelledItem, ...]  # Items on which they may decide
    correctable: tuple[LabelledItem, ...]  # Items that they labelled, and may still correct
    n_of_file: int  # How many items have all of it from their file, and how many are shown to nobody
    n_withheld: int

    @property
    def n_waiting(self) -> int:
        """How many items wait for somebody who did not label them to decide."""
        return self.states["disputed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTask:
    """One item as somebody may label it, decide on it or read about it."""

    campaign: Campaign  # What it is about
    item: Item
    labelled: LabelledItem
    asked: Questionnaire | None  # What this expert is asked, to label or to correct; None for nothing
    deciding: Questionnaire | None  # What they are asked who may decide; None where they may not
    answers: Said  # What they said so far, or what was decided so far
    seen: int  # How many labels of theirs, or decisions, there were: a form that carries another number is an old one
    told: bool  # Whether all labels are in, so that everybody may read them


def load_gold_queue(platform: Platform, name: str, *, staff_id: str) -> GoldQueue:
    """Return what there is for an expert."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        every = list_labelled_items(tx, kept, gold_settings_of(campaign))
    shown = [one for one in every if not one.target.withheld]
    wanted = {one.target.position: core.wanted(one.standings, staff_id) for one in shown}
    begun = {one.target.position: one.state == "begun" for one in shown}
    states = Counter(one.state for one in every)
    return GoldQueue(
        campaign=campaign,
        gold=gold_settings_of(campaign),
        states={state: states[state] for state in core.ITEM_STATES},
        n_first=sum(bool(parts) and not begun[at] for at, parts in wanted.items()),
        n_verify=sum("safety" in parts and begun[at] for at, parts in wanted.items()),
        n_check=sum(bool({"degree", "topics"} & {*parts}) and begun[at] for at, parts in wanted.items()),
        next=_next_item(shown, staff_id),
        to_decide=tuple(one for one in shown if one.state == "disputed" and one.may_decide(staff_id)),
        correctable=tuple(one for one in shown if _is_correctable(one, staff_id)),
        n_of_file=sum(all(part.state == "file" for part in one.standings.values()) for one in every),
        n_withheld=len(every) - len(shown),
    )


def _next_item(every: list[LabelledItem], staff_id: str) -> int | None:
    """Return the item that needs an expert most: of those that need them, the one that lacks fewest labels."""
    waiting = [
        (sum(one.needed - len(one.labels) for one in item.standings.values() if one.state == "open"), item)
        for item in every
        if core.wanted(item.standings, staff_id)
    ]
    return min(((lacking, item.target.position) for lacking, item in waiting), default=(0, None))[1]


def _is_correctable(one: LabelledItem, staff_id: str) -> bool:
    return any(one.standings[part].of(staff_id) for part in core.open_parts(one.standings))


def load_gold_task(platform: Platform, name: str, position: int, *, staff_id: str) -> GoldTask:
    """Return one item as somebody may label it, decide on it or read about it."""
    with platform.database.reading() as tx:
        kept, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id)
        (item,) = campaigns.items_of(tx, kept.id, start=position, most=1)
    standings, decides = labelled.standings, labelled.may_decide(staff_id)
    is_open = bool(core.open_parts(standings))
    return GoldTask(
        campaign=campaign,
        item=item,
        labelled=labelled,
        asked=label_form(campaign, standings, staff_id) if is_open else None,
        deciding=decision_form(campaign, standings) if decides else None,
        answers=latest_decisions(standings) if decides else latest_answers_by(standings, staff_id),
        seen=count_decisions(standings) if decides else count_labels_by(standings, staff_id),
        told=not is_open,
    )


def list_labels_from(
    platform: Platform, name: str, *, only: ItemState | None = None, start: int, most: int, staff_id: str
) -> tuple[LabelledItem, ...]:
    """Return items from a place on, of one state or of all, and how far the labels of each are."""
    found: list[LabelledItem] = []
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        gold = gold_settings_of(platform.definitions.of(tx, kept))
        while len(found) < most and (some := list_labelled_items_from(tx, kept, gold, start=start, most=WINDOW_SIZE)):
            found += [one for one in some if only is None or one.state == only]
            start = some[-1].target.position + 1
    return tuple(found[:most])


def list_labels(platform: Platform, name: str, *, staff_id: str) -> tuple[LabelledItem, ...]:
    """Return all items of a campaign, and how far the labels of each are."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return list_labelled_items(tx, kept, gold_settings_of(platform.definitions.of(tx, kept)))
