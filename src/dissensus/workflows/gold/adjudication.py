"""Adjudication of gold labels: an expert who did not label the item decides where experts differ."""

from collections.abc import Mapping
from datetime import datetime

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import GoldAnswers, GoldDecision, ItemProgress
from dissensus.errors import Conflict, NotAllowed
from dissensus.schema.campaign import gold as schema
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import GoldPart
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.store import gold as store
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.gold.labelling import (
    LabelledItem,
    gold_settings_of,
    load_labelled_item,
    rater_wording,
    save_progress,
)
from dissensus.workflows.platform.platform import Platform


def decision_form(campaign: Campaign, progress: ItemProgress) -> Questionnaire:
    """Return the questions for an adjudicator: all contested parts, decided ones too."""
    return schema.decision_questions(
        gold_settings_of(campaign), core.list_contested_parts(progress), text=rater_wording(campaign)
    )


def latest_decisions(progress: ItemProgress) -> GoldAnswers:
    """Return the latest decision on each part."""
    latest = [part.decisions[-1].answers for part in progress.values() if part.decisions]
    return {name: answer for answers in latest for name, answer in answers.items()}


def count_decisions(progress: ItemProgress) -> int:
    """Return the number of decisions on an item."""
    return sum(len(part.decisions) for part in progress.values())


def decide_gold(
    platform: Platform, name: str, position: int, answers: GoldAnswers, *, revision: int, staff_id: str, now: datetime
) -> None:
    """Store an adjudication with its reason; earlier decisions stay in the history.

    `revision` is the number of decisions that the form showed; a different number is a conflict.
    """
    with platform.database.writing() as tx:
        campaign_row, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id, lock=True)
        _check_may_decide(labelled, staff_id)
        progress = labelled.progress
        checked = dict(decision_form(campaign, progress).check(answers, complete=True))
        reason = str(checked.pop("reason"))
        changed = _changed_parts(core.split_by_part(checked, core.list_contested_parts(progress)), progress)
        if not changed:
            _check_is_repeat(progress, staff_id, reason)
        elif count_decisions(progress) != revision:
            raise Conflict(_conflict_message(progress))
        for part, part_answers in changed.items():
            decision = GoldDecision(
                staff_id=staff_id,
                name="",
                part=part,
                revision=len(progress[part].decisions) + 1,
                answers=part_answers,
                reason=reason,
                at=now,
            )
            store.add_decision(tx, labelled.target.id, decision)
            log_staff_event(
                tx,
                campaign_row.id,
                "decision_recorded",
                staff_id,
                now,
                item=labelled.target.name,
                part=part,
                revision=decision.revision,
                answers=dict(part_answers),
                reason=reason,
            )
        save_progress(tx, campaign_row, gold_settings_of(campaign), labelled.target)


def _changed_parts(
    answers_by_part: Mapping[GoldPart, GoldAnswers], progress: ItemProgress
) -> dict[GoldPart, GoldAnswers]:
    """Return the parts that are decided differently from before."""
    latest = {name: part.decisions[-1].answers for name, part in progress.items() if part.decisions}
    return {name: answers for name, answers in answers_by_part.items() if latest.get(name) != answers}


def _check_is_repeat(progress: ItemProgress, staff_id: str, reason: str) -> None:
    """Refuse a decision that changes nothing, unless the same form was sent twice."""
    decisions = [decision for part in progress.values() for decision in part.decisions]
    if not any((decision.staff_id, decision.reason) == (staff_id, reason) for decision in decisions):
        raise Conflict(f"{_latest_decision(progress).name} already made this decision. Nothing was changed.")


def _latest_decision(progress: ItemProgress) -> GoldDecision:
    decisions = (decision for part in progress.values() for decision in part.decisions)
    return max(decisions, key=lambda decision: decision.at)


def _conflict_message(progress: ItemProgress) -> str:
    if not count_decisions(progress):
        return "Nobody has decided on this item yet, so the revision is 0. Nothing was stored."
    return (
        f"{_latest_decision(progress).name} decided on this item meanwhile, and your decision was not stored. Read "
        "it, and if you disagree, decide again with a reason."
    )


def _check_may_decide(labelled: LabelledItem, staff_id: str) -> None:
    if not core.list_contested_parts(labelled.progress):
        raise Conflict(
            f"There is nothing to decide about item {format_value(labelled.target.name)}: "
            + ("not all labels are in." if core.list_open_parts(labelled.progress) else "all experts agree.")
        )
    if not labelled.may_decide(staff_id):
        raise NotAllowed(
            f"You labelled item {format_value(labelled.target.name)}, and experts cannot adjudicate their own labels. "
            "Ask another expert or an owner."
        )
