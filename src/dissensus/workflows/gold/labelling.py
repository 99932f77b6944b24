"""Gold labelling by experts: a first label, then independent labels that hide earlier ones."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import GoldAnswers, GoldDecision, GoldLabel, ItemProgress
from dissensus.errors import Conflict, NotFound
from dissensus.schema.campaign import gold as schema
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold, GoldItemState, GoldPart
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Wording
from dissensus.schema.ratings.columns import GOLD
from dissensus.store import gold as store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.gold import GoldProgressRow, GoldTarget
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import load_member_campaign
from dissensus.workflows.platform.platform import Platform

LabelOutcome = Literal["first", "further", "partly"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledItem:
    """An item and the state of its labels."""

    target: GoldTarget
    progress: ItemProgress

    @property
    def state(self) -> GoldItemState:
        """State of the item."""
        return core.item_state(self.progress)

    @property
    def disputed_parts(self) -> tuple[GoldPart, ...]:
        """Parts that need adjudication."""
        parts = core.list_contested_parts(self.progress)
        return tuple(part for part in parts if self.progress[part].state == "disputed")

    def may_decide(self, staff_id: str) -> bool:
        """Return whether a member of staff may adjudicate: only experts who did not label the item."""
        return bool(core.list_contested_parts(self.progress)) and staff_id not in core.list_labellers(self.progress)


def list_labelled_items(tx: Connection, campaign_row: CampaignRow, gold: Gold) -> tuple[LabelledItem, ...]:
    """Return all items of a campaign with the state of their labels."""
    labels, decisions = store.load_labels(tx, campaign_row.id), store.load_decisions(tx, campaign_row.id)
    targets = store.list_targets(tx, campaign_row.id)
    return tuple(_to_labelled_item(gold, target, labels, decisions) for target in targets)


def list_labelled_items_at(
    tx: Connection, campaign_row: CampaignRow, gold: Gold, positions: Collection[int]
) -> tuple[LabelledItem, ...]:
    """Return the items at some positions with the state of their labels, in their order."""
    return _load_labelled(tx, campaign_row, gold, store.list_targets(tx, campaign_row.id, positions))


def _load_labelled(
    tx: Connection, campaign_row: CampaignRow, gold: Gold, targets: Sequence[GoldTarget]
) -> tuple[LabelledItem, ...]:
    ids = [target.id for target in targets]
    labels = store.load_labels(tx, campaign_row.id, item_ids=ids)
    decisions = store.load_decisions(tx, campaign_row.id, item_ids=ids)
    return tuple(_to_labelled_item(gold, target, labels, decisions) for target in targets)


def _to_labelled_item(
    gold: Gold,
    target: GoldTarget,
    labels: Mapping[str, Sequence[GoldLabel]],
    decisions: Mapping[str, Sequence[GoldDecision]],
) -> LabelledItem:
    progress = core.compute_item_progress(
        gold, target.attributes, labels.get(target.id, ()), decisions.get(target.id, ())
    )
    return LabelledItem(target=target, progress=progress)


def save_progress(tx: Connection, campaign_row: CampaignRow, gold: Gold, target: GoldTarget) -> None:
    """Store the state of the labels of an item, which lists and counts are read from."""
    (item,) = _load_labelled(tx, campaign_row, gold, [target])
    store.set_progress(tx, campaign_row.id, target.id, _to_progress(item))


def _to_progress(item: LabelledItem) -> GoldProgressRow:
    """Return the state of an item, its label of safety that experts settled, and the labels that it still needs."""
    missing = core.count_missing_labels(item.progress)
    return GoldProgressRow(
        position=item.target.position,
        state=item.state,
        safety=core.to_attributes(item.progress).get(GOLD),
        n_safety=missing["safety"],
        n_degree=missing["degree"],
        n_topics=missing["topics"],
        labellers=core.count_labels(item.progress),
    )


def find_progress_faults(tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> Iterator[str]:
    """Yield how stored states of labels differ from labels and decisions."""
    stored = store.load_progress(tx, campaign_row.id)
    items = () if campaign.gold is None else list_labelled_items(tx, campaign_row, campaign.gold)
    for item in items:
        computed = _to_progress(item) if core.list_labellers(item.progress) else None
        of_file = all(part.state == "file" for part in item.progress.values())
        # A conversation that was erased keeps its labels, and has no attributes any more.
        if not item.target.withheld and (stored.get(item.target.id), item.target.gold_of_file) != (computed, of_file):
            yield f"The stored state of the labels of item {item.target.name} does not match its labels."


def gold_settings_of(campaign: Campaign) -> Gold:
    """Return the gold settings of a campaign."""
    if campaign.gold is None:
        raise NotFound(
            f"{campaign.name} has no gold labels: its definition has no [gold]. Add the table, which can be empty."
        )
    return campaign.gold


def gold_columns_by_item(
    tx: Connection, campaign: Campaign, campaign_row: CampaignRow, names: Collection[str] | None = None
) -> dict[str, dict[str, str]]:
    """Return settled gold labels as attributes, by item id, for all or the named items."""
    if campaign.gold is None:
        return {}
    if names is None:
        items = list_labelled_items(tx, campaign_row, campaign.gold)
    else:
        items = _load_labelled(tx, campaign_row, campaign.gold, store.list_targets_by_name(tx, campaign_row.id, names))
    return {item.target.name: core.to_attributes(item.progress) for item in items}


def load_labelled_item(
    tx: Connection, platform: Platform, name: str, position: int, staff_id: str, *, lock: bool = False
) -> tuple[CampaignRow, Campaign, LabelledItem]:
    """Return one item with its labels; `lock` blocks other labels until the transaction ends."""
    campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id, lock=lock)
    gold = gold_settings_of(campaign)
    target = store.find_target(tx, campaign_row.id, position)
    if target is None:
        raise NotFound(f"{name} has no item at this position. Go back to the queue.")
    if target.withheld:
        raise Conflict("This item is withheld from everybody, so it takes no labels. Go back to the queue.")
    if not target.in_gold_sample:
        raise Conflict(
            f"Item {format_value(target.name)} is outside the sample that experts label. Go back to the queue."
        )
    (item,) = _load_labelled(tx, campaign_row, gold, [target])
    return campaign_row, campaign, item


def label_form(campaign: Campaign, progress: ItemProgress, staff_id: str) -> Questionnaire:
    """Return the questions for an expert: every part that still needs labels."""
    first = core.is_first(progress, staff_id)
    return schema.labelling_questions(
        gold_settings_of(campaign), core.list_open_parts(progress), first=first, text=rater_wording(campaign)
    )


def full_label_form(campaign: Campaign) -> Questionnaire:
    """Return all questions that experts may be asked about an item."""
    return schema.labelling_questions(
        gold_settings_of(campaign), schema.PARTS, first=False, text=rater_wording(campaign)
    )


def rater_wording(campaign: Campaign) -> Wording | None:
    """Return the raters' wording of the question that gold answers too; None if it is asked in parts."""
    name = schema.compared_column(campaign.questionnaire)
    text = next((question.text for question in campaign.questionnaire.questions if question.name == name), None)
    return {"en": next(iter(text.values()))} if text else None


def latest_answers_by(progress: ItemProgress, staff_id: str) -> GoldAnswers:
    """Return an expert's latest answers about an item."""
    labels = (label for part in progress.values() for label in part.labels if label.staff_id == staff_id)
    return {name: answer for label in labels for name, answer in label.answers.items()}


def count_labels_by(progress: ItemProgress, staff_id: str) -> int:
    """Return the number of labels, corrections included, that an expert gave to parts of an item."""
    return sum(label.staff_id == staff_id for part in progress.values() for label in part.history)


def label_item(
    platform: Platform,
    name: str,
    position: int,
    answers: GoldAnswers,
    *,
    revision: int = 0,
    staff_id: str,
    now: datetime,
) -> LabelOutcome:
    """Store an expert's labels of an item; return whether they were the first, further ones, or stored in part."""
    with platform.database.writing() as tx:
        campaign_row, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id, lock=True)
        progress, target = labelled.progress, labelled.target
        outcome: LabelOutcome = "first" if core.is_first(progress, staff_id) else "further"
        if _is_repeat(campaign, progress, answers, staff_id):
            return outcome
        _check_may_label(labelled, staff_id, revision)
        form = label_form(campaign, progress, staff_id)
        checked = form.check(_applicable_answers(answers, progress), complete=True)
        for part, part_answers in core.split_by_part(checked, core.list_open_parts(progress)).items():
            label_revision = _store_label(tx, target, progress, part, part_answers, staff_id=staff_id, now=now)
            if label_revision is not None:
                content = {"item": target.name, "part": part, "revision": label_revision, "answers": dict(part_answers)}
                log_staff_event(tx, campaign_row.id, "item_labelled", staff_id, now, **content)
        save_progress(tx, campaign_row, gold_settings_of(campaign), target)
        return "partly" if {*answers} & {*schema.PARTS} - {*core.list_open_parts(progress)} else outcome


def _applicable_answers(answers: GoldAnswers, progress: ItemProgress) -> GoldAnswers:
    """Return the answers to parts still open; another expert may have labelled the rest meanwhile."""
    parts = core.list_open_parts(progress)
    return {name: answer for part in parts for name, answer in answers.items() if name in core.QUESTIONS[part]}


def _is_repeat(campaign: Campaign, progress: ItemProgress, answers: GoldAnswers, staff_id: str) -> bool:
    """Return whether an expert sends again what is stored already."""
    answers_by_part = core.split_by_part(full_label_form(campaign).check(answers, complete=False), schema.PARTS)
    labels = {name: part.label_by(staff_id) for name, part in progress.items()}
    return bool(answers_by_part) and all(
        (label := labels[name]) is not None and label.answers == part_answers
        for name, part_answers in answers_by_part.items()
    )


def _check_may_label(labelled: LabelledItem, staff_id: str, revision: int) -> None:
    progress, item = labelled.progress, format_value(labelled.target.name)
    if not core.list_open_parts(progress):
        raise Conflict(f"Item {item} has all labels that it needs, so yours was not stored.")
    if count_labels_by(progress, staff_id) == revision:
        return
    if core.is_first(progress, staff_id) and progress["safety"].labels:
        raise Conflict(
            f"You were the first to label item {item}, and nobody verifies their own label. Reload the page to "
            "correct your label."
        )
    raise Conflict(f"You have labelled item {item} since this page was loaded. Reload it to correct your label.")


def _store_label(
    tx: Connection,
    target: GoldTarget,
    progress: ItemProgress,
    part: GoldPart,
    answers: GoldAnswers,
    *,
    staff_id: str,
    now: datetime,
) -> int | None:
    """Store a label and return its revision; None if the expert gave the same label before."""
    previous = progress[part].label_by(staff_id)
    if previous is not None and previous.answers == answers:
        return None
    label = GoldLabel(
        staff_id=staff_id,
        name="",
        part=part,
        position=len(progress[part].labels) if previous is None else previous.position,
        revision=1 if previous is None else previous.revision + 1,
        answers=answers,
        at=now,
    )
    store.add_label(tx, target.id, label)
    return label.revision
