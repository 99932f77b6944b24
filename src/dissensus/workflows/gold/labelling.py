"""How experts label items: one first, and others after them without seeing what was said."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import ItemState, Label, Said, Standings
from dissensus.errors import Conflict, NotFound
from dissensus.schema.campaign import gold as schema
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold, Part
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Wording
from dissensus.store import gold as store
from dissensus.store.campaigns import Kept
from dissensus.store.gold import Target
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

LabelOutcome = Literal["first", "further", "partly"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledItem:
    """An item and how far its labels are."""

    target: Target  # Which one, and how far each part of it is
    standings: Standings

    @property
    def state(self) -> ItemState:
        """How far the item is."""
        return core.state_of(self.standings)

    @property
    def differing(self) -> tuple[Part, ...]:
        """The parts on which somebody must decide."""
        parts = core.contested(self.standings)
        return tuple(part for part in parts if self.standings[part].state == "disputed")

    def may_decide(self, staff_id: str) -> bool:
        """Tell whether somebody may decide where experts differ: who did not label the item."""
        return bool(core.contested(self.standings)) and staff_id not in core.labellers(self.standings)


def list_labelled_items(tx: Connection, kept: Kept, gold: Gold) -> tuple[LabelledItem, ...]:
    """Return the items of a campaign, and how far the labels of each are."""
    labels, decisions = store.labels_of(tx, kept.id), store.decisions_of(tx, kept.id)
    return tuple(_to_labelled_item(gold, one, labels, decisions) for one in store.targets_of(tx, kept.id))


def list_labelled_items_from(tx: Connection, kept: Kept, gold: Gold, *, start: int, most: int) -> tuple[LabelledItem, ...]:
    """Return some items of a campaign from a place on, and how far the labels of each are."""
    return _load_labelled(tx, kept, gold, store.targets_of(tx, kept.id, start=start, most=most))


def _load_labelled(tx: Connection, kept: Kept, gold: Gold, targets: Sequence[Target]) -> tuple[LabelledItem, ...]:
    ids = [one.id for one in targets]
    labels, decisions = (read(tx, kept.id, item_ids=ids) for read in (store.labels_of, store.decisions_of))
    return tuple(_to_labelled_item(gold, one, labels, decisions) for one in targets)


def _to_labelled_item(gold: Gold, one: Target, labels: Mapping[str, Any], decisions: Mapping[str, Any]) -> LabelledItem:
    return LabelledItem(target=one, standings=_compute_standings(gold, one, labels.get(one.id, ()), decisions.get(one.id, ())))


def _compute_standings(gold: Gold, target: Target, labels: object, decisions: object) -> Standings:
    return core.standings_of(gold, target.attributes, labels, decisions)  # type: ignore[arg-type]


def gold_settings_of(campaign: Campaign) -> Gold:
    """Return how the experts of a campaign label."""
    if campaign.gold is None:
        raise NotFound(
            f"{campaign.name} has no experts who label: its definition has no [gold]. Write one into it, which may be "
            "empty."
        )
    return campaign.gold


def gold_columns_by_item(
    tx: Connection, campaign: Campaign, kept: Kept, names: Collection[str] | None = None
) -> dict[str, dict[str, str]]:
    """Return what experts settled of each item, or of some, by their ids in files, as attributes."""
    if campaign.gold is None:
        return {}
    if names is None:
        found = list_labelled_items(tx, kept, campaign.gold)
    else:
        found = _load_labelled(tx, kept, campaign.gold, store.targets_named(tx, kept.id, names))
    return {one.target.name: core.columns_of(one.standings) for one in found}


def load_labelled_item(
    tx: Connection, platform: Platform, name: str, position: int, staff_id: str, *, lock: bool = False
) -> tuple[Kept, Campaign, LabelledItem]:
    """Return one item, and how far its labels are; `lock` keeps others from labelling until the transaction ends."""
    kept, _ = campaign_for_member(tx, name, staff_id, lock=lock)
    campaign = platform.definitions.of(tx, kept)
    gold = gold_settings_of(campaign)
    target = store.target_at(tx, kept.id, position)
    if target is None:
        raise NotFound(f"{name} has no item at this place. Go back to the queue.")
    if target.withheld:
        raise Conflict("A rater reported this item, and nobody is shown it until an owner says that it may be.")
    labels = store.labels_of(tx, kept.id, item_ids=[target.id]).get(target.id, ())
    decisions = store.decisions_of(tx, kept.id, item_ids=[target.id]).get(target.id, ())
    return kept, campaign, LabelledItem(target=target, standings=_compute_standings(gold, target, labels, decisions))


def label_form(campaign: Campaign, standings: Standings, staff_id: str) -> Questionnaire:
    """Return what an expert is asked of an item: all that needs more experts, though others may be sooner."""
    first = core.is_first(standings, staff_id)
    return schema.asked(gold_settings_of(campaign), core.open_parts(standings), first=first, text=rater_wording(campaign))


def full_label_form(campaign: Campaign) -> Questionnaire:
    """Return all that experts may be asked of an item."""
    return schema.asked(gold_settings_of(campaign), schema.PARTS, first=False, text=rater_wording(campaign))


def rater_wording(campaign: Campaign) -> Wording | None:
    """Return how raters are asked what gold answers too; None where they are asked in parts."""
    name = schema.judged(campaign.questionnaire)
    found = next((one.text for one in campaign.questionnaire.questions if one.name == name), None)
    return {"en": next(iter(found.values()))} if found else None


def latest_answers_by(standings: Standings, staff_id: str) -> Said:
    """Return what an expert said of an item last."""
    said = [label.said for one in standings.values() for label in one.labels if label.staff_id == staff_id]
    return {name: answer for one in said for name, answer in one.items()}


def count_labels_by(standings: Standings, staff_id: str) -> int:
    """Return how often an expert labelled parts of an item, corrections among them."""
    return sum(label.staff_id == staff_id for one in standings.values() for label in one.history)


def label_item(
    platform: Platform, name: str, position: int, answers: Said, *, seen: int = 0, staff_id: str, now: datetime
) -> LabelOutcome:
    """Keep what an expert says of an item, and return as whom they said it."""
    with platform.database.writing() as tx:
        kept, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id, lock=True)
        standings, target = labelled.standings, labelled.target
        outcome: LabelOutcome = "first" if core.is_first(standings, staff_id) else "further"
        if _is_repeat(campaign, standings, answers, staff_id):
            return outcome
        _check_may_label(labelled, staff_id, seen)
        said = label_form(campaign, standings, staff_id).check(_applicable_answers(answers, standings), complete=True)
        for part, one in core.by_part(said, core.open_parts(standings)).items():
            _store_label(tx, target, standings, part, one, staff_id=staff_id, now=now)
            log_staff_event(tx, kept.id, "label", staff_id, now, item=target.name, part=part, said=dict(one))
        return "partly" if {*answers} & {*schema.PARTS} - {*core.open_parts(standings)} else outcome


def _applicable_answers(answers: Said, standings: Standings) -> Said:
    """Return the answers to what is still asked: another expert may have been sooner with the rest."""
    parts = core.open_parts(standings)
    return {name: answer for part in parts for name, answer in answers.items() if name in core.QUESTIONS[part]}


def _is_repeat(campaign: Campaign, standings: Standings, answers: Said, staff_id: str) -> bool:
    """Tell whether somebody sends again what is kept of them already."""
    given = core.by_part(full_label_form(campaign).check(answers, complete=False), schema.PARTS)
    kept = {part: one.of(staff_id) for part, one in standings.items()}
    return bool(given) and all((mine := kept[part]) is not None and mine.said == said for part, said in given.items())


def _check_may_label(labelled: LabelledItem, staff_id: str, seen: int) -> None:
    standings, item = labelled.standings, format_value(labelled.target.name)
    if not core.open_parts(standings):
        raise Conflict(f"Item {item} has all the labels that it needs, and yours was not kept: others were sooner.")
    known = count_labels_by(standings, staff_id)
    if known == seen:
        return
    if core.is_first(standings, staff_id) and standings["safety"].labels:
        raise Conflict(
            f"You were the first to label item {item}, and nobody verifies their own label. Load the "
            "page again to correct what you said."
        )
    raise Conflict(
        f"You have labelled item {item} since this page was loaded, and nobody does so twice. Load it "
        "again to correct what you said."
    )


def _store_label(
    tx: Connection, target: Target, standings: Standings, part: Part, said: Said, *, staff_id: str, now: datetime
) -> None:
    standing = standings[part]
    mine = standing.of(staff_id)
    if mine is not None and mine.said == said:
        return
    place, revision = (len(standing.labels), 1) if mine is None else (mine.place, mine.revision + 1)
    one = Label(staff_id=staff_id, name="", part=part, place=place, revision=revision, said=said, at=now)
    store.add_label(tx, target.id, one)
