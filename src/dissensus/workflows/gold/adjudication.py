"""Where experts differ, somebody who did not label the item decides, and says why."""

from collections.abc import Mapping
from datetime import datetime

from dissensus.campaign import gold_labels as core
from dissensus.campaign.gold_labels import Decision, Said, Standings
from dissensus.errors import Conflict, NotAllowed
from dissensus.schema.campaign import gold as schema
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Part
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.store import gold as store
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.gold.labelling import LabelledItem, gold_settings_of, load_labelled_item, rater_wording
from dissensus.workflows.platform.platform import Platform


def decision_form(campaign: Campaign, standings: Standings) -> Questionnaire:
    """Return what somebody is asked who decides: all parts on which experts differ, decided ones too."""
    return schema.deciding(gold_settings_of(campaign), core.contested(standings), text=rater_wording(campaign))


def latest_decisions(standings: Standings) -> Said:
    """Return what was decided last."""
    said = [one.decisions[-1].said for one in standings.values() if one.decisions]
    return {name: answer for one in said for name, answer in one.items()}


def count_decisions(standings: Standings) -> int:
    """Return how often somebody decided."""
    return sum(len(one.decisions) for one in standings.values())


def decide_gold(
    platform: Platform, name: str, position: int, answers: Said, *, seen: int, staff_id: str, now: datetime
) -> None:
    """Keep what somebody decides where experts differ, and why; what was decided before stays in the history."""
    with platform.database.writing() as tx:
        kept, campaign, labelled = load_labelled_item(tx, platform, name, position, staff_id, lock=True)
        _check_may_decide(labelled, staff_id)
        standings = labelled.standings
        said = dict(decision_form(campaign, standings).check(answers, complete=True))
        why = str(said.pop("why"))
        changed = _changed_parts(core.by_part(said, core.contested(standings)), standings)
        if not changed:
            _check_is_repeat(standings, staff_id, why)
        elif count_decisions(standings) != seen:
            raise Conflict(_conflict_message(standings))
        for part, one in changed.items():
            revision = len(standings[part].decisions) + 1
            known = {"staff_id": staff_id, "name": "", "part": part, "revision": revision}
            store.add_decision(tx, labelled.target.id, Decision(**known, said=one, why=why, at=now))  # type: ignore[arg-type]
            log_staff_event(
                tx, kept.id, "decide", staff_id, now, item=labelled.target.name, part=part, said=dict(one), why=why
            )


def _changed_parts(given: Mapping[Part, Said], standings: Standings) -> dict[Part, Said]:
    """Return what is decided otherwise than it is."""
    last = {part: one.decisions[-1].said for part, one in standings.items() if one.decisions}
    return {part: said for part, said in given.items() if last.get(part) != said}


def _check_is_repeat(standings: Standings, staff_id: str, why: str) -> None:
    """Refuse a decision that changes nothing, unless it is the same form once more."""
    every = [one for part in standings.values() for one in part.decisions]
    if not any((one.staff_id, one.why) == (staff_id, why) for one in every):
        raise Conflict(f"{_latest_decision(standings).name} decided so already, and nothing was changed.")


def _latest_decision(standings: Standings) -> Decision:
    return max((one for part in standings.values() for one in part.decisions), key=lambda one: one.at)


def _conflict_message(standings: Standings) -> str:
    return (
        f"{_latest_decision(standings).name} decided on this item meanwhile, and yours was not kept: two decisions would "
        "stand against each other. Read that one, and if you decide otherwise, say why."
    )


def _check_may_decide(labelled: LabelledItem, staff_id: str) -> None:
    if not core.contested(labelled.standings):
        raise Conflict(
            f"There is nothing to decide about item {format_value(labelled.target.name)}: "
            + ("not all labels are in." if core.open_parts(labelled.standings) else "all experts agree.")
        )
    if not labelled.may_decide(staff_id):
        raise NotAllowed(
            f"You labelled item {format_value(labelled.target.name)}, and whoever labelled an item does not decide on it. Ask "
            "another expert or an owner."
        )
