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
from dissensus.workflows.gold.labelling import LabelledItem, gold_settings_of, load_labelled_item, rater_wording
from dissensus.workflows.platform.platform import Platform


def decision_form(campaign: Campaign, standings: ItemProgress) -> Questionnaire:
    """Return the questions for an adjudicator: all contested parts, decided ones too."""
    return schema.decision_questions(
        gold_settings_of(campaign), core.list_contested_parts(standings), text=rater_wording(campaign)
    )


def latest_decisions(standings: ItemProgress) -> GoldAnswers:
    """Return the latest decision on each part."""
    said = [one.decisions[-1].answers for one in standings.values() if one.decisions]
    return {name: answer for one in said for name, answer in one.items()}


def count_decisions(standings: ItemProgress) -> int:
    """Return the number of decisions on an item."""
    return sum(len(one.decisions) for one in standings.values())


def decide_gold(
    platform: Platform, name: str, position: int, answers: GoldAnswers, *, seen: int, staff_id: str, now: datetime
) -> None:
    """Store an adjudication with its reason; earlier decisions stay in the history.

    `seen` is the number of decisions that the form showed; a different number is a conflict.
    """
    with platform.database.writing() as tx:
        campaign_row, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id, lock=True)
        _check_may_decide(labelled, staff_id)
        standings = labelled.standings
        said = dict(decision_form(campaign, standings).check(answers, complete=True))
        why = str(said.pop("why"))
        changed = _changed_parts(core.split_by_part(said, core.list_contested_parts(standings)), standings)
        if not changed:
            _check_is_repeat(standings, staff_id, why)
        elif count_decisions(standings) != seen:
            raise Conflict(_conflict_message(standings))
        for part, one in changed.items():
            revision = len(standings[part].decisions) + 1
            known = {"staff_id": staff_id, "name": "", "part": part, "revision": revision}
            store.add_decision(tx, labelled.target.id, GoldDecision(**known, answers=one, reason=why, at=now))  # type: ignore[arg-type]
            log_staff_event(
                tx,
                campaign_row.id,
                "decision_recorded",
                staff_id,
                now,
                item=labelled.target.name,
                part=part,
                answers=dict(one),
                reason=why,
            )


def _changed_parts(given: Mapping[GoldPart, GoldAnswers], standings: ItemProgress) -> dict[GoldPart, GoldAnswers]:
    """Return the parts that are decided differently from before."""
    last = {part: one.decisions[-1].answers for part, one in standings.items() if one.decisions}
    return {part: said for part, said in given.items() if last.get(part) != said}


def _check_is_repeat(standings: ItemProgress, staff_id: str, why: str) -> None:
    """Refuse a decision that changes nothing, unless the same form was sent twice."""
    every = [one for part in standings.values() for one in part.decisions]
    if not any((one.staff_id, one.reason) == (staff_id, why) for one in every):
        raise Conflict(f"{_latest_decision(standings).name} decided so already, and nothing was changed.")


def _latest_decision(standings: ItemProgress) -> GoldDecision:
    return max((one for part in standings.values() for one in part.decisions), key=lambda one: one.at)


def _conflict_message(standings: ItemProgress) -> str:
    return (
        f"{_latest_decision(standings).name} decided on this item meanwhile, and yours was not kept: two decisions "
        "would stand against each other. Read that one, and if you decide otherwise, say why."
    )


def _check_may_decide(labelled: LabelledItem, staff_id: str) -> None:
    if not core.list_contested_parts(labelled.standings):
        raise Conflict(
            f"There is nothing to decide about item {format_value(labelled.target.name)}: "
            + ("not all labels are in." if core.list_open_parts(labelled.standings) else "all experts agree.")
        )
    if not labelled.may_decide(staff_id):
        raise NotAllowed(
            f"You labelled item {format_value(labelled.target.name)}, and whoever labelled an item does not decide on "
            "it. Ask another expert or an owner."
        )
