"""Decide about flagged raters. The data stay; exports carry the decision."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from sqlalchemy import Connection

from dissensus.campaign.audit_replay import digest_flag_decision
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.pipeline.monitor import RaterFigures
from dissensus.schema.advice import site_message
from dissensus.schema.hints import format_value
from dissensus.schema.records.conversation import check_text
from dissensus.store import flags, monitoring, raters
from dissensus.store.campaigns import CampaignRow
from dissensus.store.flags import VERDICTS, FlagDecisionRow, FlagJudgement
from dissensus.store.flags import FlagVerdict as StoredVerdict
from dissensus.store.monitoring import MonitoringSnapshot
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_event_about
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.idempotency import parse_form_id
from dissensus.workflows.platform.platform import Platform

MAX_REASON_LENGTH: Final = 2_000
MAX_SELECTED: Final = 50
"""Most raters who are decided about at once: those of a page of the list."""
NO_FLAG: Final = "meets no criterion"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedRaterView:
    """A rater with the current evidence and the decisions so far."""

    campaign_id: str
    rater_id: str
    number: int  # zero-based entry number
    flagged: RaterFigures | None  # current evidence, None if no criterion is met any more
    pool_median_ms: float | None  # median answer time of all raters
    decisions: tuple[FlagDecisionRow, ...]  # latest first


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagVerdict:
    """A submitted decision about a rater."""

    id: str  # UUID chosen by the form; the idempotency key
    verdict: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagPlan:
    """Selected raters of a campaign whose flags are to be decided at once."""

    cases: tuple[FlaggedRaterView, ...]
    others: tuple[tuple[int, str], ...]  # Zero-based numbers of other raters, and the reason


def load_flag_case(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> FlaggedRaterView:
    """Return a rater who is flagged or about whom a decision exists."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return _load_flag_case(tx, campaign_row, rater_id)


def _load_flag_case(tx: Connection, campaign_row: CampaignRow, rater_id: str) -> FlaggedRaterView:
    rater = raters.find_rater(tx, rater_id)
    if rater is None or rater.campaign_id != campaign_row.id or rater.state == "withdrawn":
        raise NotFound(f"There is no such rater in {campaign_row.name}, or they withdrew.")
    case = _to_flag_case(tx, rater, monitoring.find_snapshot(tx, campaign_row.id))
    if case.flagged is None and not case.decisions:
        raise NotFound(f"Rater {case.number + 1} {NO_FLAG}, so there is nothing to decide.")
    return case


def _to_flag_case(tx: Connection, rater: RaterRow, snapshot: MonitoringSnapshot | None) -> FlaggedRaterView:
    all_flagged = () if snapshot is None else snapshot.figures.flagged
    times = None if snapshot is None else snapshot.figures.pool.times
    return FlaggedRaterView(
        campaign_id=rater.campaign_id,
        rater_id=rater.id,
        number=rater.number,
        flagged=next((flagged for flagged in all_flagged if flagged.rater_id == rater.id), None),
        pool_median_ms=None if times is None else times.median,
        decisions=flags.list_flag_decisions(tx, rater.id),
    )


def plan_flags(platform: Platform, name: str, numbers: Sequence[int], *, staff_id: str) -> FlagPlan:
    """Return which of the raters with the given zero-based entry numbers have a flag or a decision."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return _plan_flags(tx, campaign_row, numbers)


def _plan_flags(tx: Connection, campaign_row: CampaignRow, numbers: Sequence[int]) -> FlagPlan:
    if not numbers:
        raise InvalidInput("No rater is selected. Go back to the list and select at least one.")
    if len(numbers) > MAX_SELECTED:
        raise InvalidInput(f"{len(numbers):,} raters are selected, and at most {MAX_SELECTED} are decided at once.")
    snapshot = monitoring.find_snapshot(tx, campaign_row.id)
    selected = raters.list_raters_by_number(tx, campaign_row.id, numbers)
    cases = [_to_flag_case(tx, rater, snapshot) for rater in selected if rater.state != "withdrawn"]
    return FlagPlan(
        cases=tuple(case for case in cases if case.flagged is not None or case.decisions),
        others=(
            *((case.number, NO_FLAG) for case in cases if case.flagged is None and not case.decisions),
            *((rater.number, "withdrew") for rater in selected if rater.state == "withdrawn"),
        ),
    )


def decide_flag(
    platform: Platform, name: str, rater_id: str, decision: FlagVerdict, *, staff_id: str, now: datetime
) -> None:
    """Store a decision about a rater; it is current until the next one."""
    with platform.database.writing() as tx:
        # The lock keeps the rater from withdrawing meanwhile.
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        case = _load_flag_case(tx, campaign_row, rater_id)
        _store_decision(tx, case, _check_verdict(decision), parse_form_id(decision.id), staff_id=staff_id, now=now)


def decide_flags(
    platform: Platform, name: str, numbers: Sequence[int], decision: FlagVerdict, *, staff_id: str, now: datetime
) -> int:
    """Store one decision about each of some raters, and return their number; those without a flag stay as they are."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        checked, form_id = _check_verdict(decision), UUID(parse_form_id(decision.id))
        cases = _plan_flags(tx, campaign_row, numbers).cases
        for case in cases:
            _store_decision(tx, case, checked, str(uuid5(form_id, case.rater_id)), staff_id=staff_id, now=now)
    return len(cases)


def _check_verdict(decision: FlagVerdict) -> tuple[StoredVerdict, str]:
    """Return the verdict and reason of a form, or raise `InvalidInput`."""
    verdict, reason = next((one for one in VERDICTS if one == decision.verdict), None), decision.reason.strip()
    faults = _find_faults(decision.verdict, reason)
    if faults or verdict is None:
        raise InvalidInput("\n".join(faults))
    return verdict, reason


def _store_decision(
    tx: Connection,
    case: FlaggedRaterView,
    checked: tuple[StoredVerdict, str],
    decision_id: str,
    *,
    staff_id: str,
    now: datetime,
) -> None:
    verdict, reason = checked
    stored = flags.find_flag_decision(tx, decision_id)
    if stored is not None and (stored.rater_id, stored.verdict, stored.reason) != (case.rater_id, verdict, reason):
        raise Conflict("This form was already used for another decision, and nothing was stored. Reload the page.")
    if stored is None:
        evidence = "\n".join(case.flagged.reasons) if case.flagged else ""
        judgement = FlagJudgement(verdict=verdict, reason=reason, evidence=evidence)
        at = flags.add_flag_decision(tx, case.rater_id, decision_id, judgement, staff_id=staff_id, now=now)
        digest = digest_flag_decision(verdict, reason, evidence, staff_id, at)
        content = {"verdict": verdict, "reason": reason, "decision": decision_id, "digest": digest}
        rater = raters.find_rater(tx, case.rater_id)
        # An event of the rater, so that it is erased with them.
        log_event_about(tx, case.campaign_id, rater, "decision_recorded", content, staff_id=staff_id, now=now)


def _find_faults(verdict: str, reason: str) -> list[str]:
    faults = []
    if verdict not in VERDICTS:
        fault = f"{format_value(verdict)} is not a decision" if verdict else "Nothing is chosen"
        faults.append(f"{fault}. Choose {' or '.join(VERDICTS)}.")
    if not reason:
        faults.append("There is no reason. Give one, so that others can understand the decision.")
    if len(reason) > MAX_REASON_LENGTH:
        faults.append(f"The reason has {len(reason):,} characters; {MAX_REASON_LENGTH:,} are allowed. Shorten it.")
    try:
        check_text(reason, "The reason", sys.maxsize)
    except InvalidInput as error:
        faults.append(site_message(error))
    return faults
