"""Decide about flagged raters. The data stay; exports carry the decision."""

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.event_replay import digest_flag_decision
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.pipeline.monitor import RaterFigures
from dissensus.schema.hints import format_value
from dissensus.schema.records.conversation import check_text
from dissensus.store import flags, monitoring, raters
from dissensus.store.flags import VERDICTS, FlagDecisionRow, FlagJudgement
from dissensus.workflows.campaign.audit_log import log_event_about
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.idempotency import parse_form_id
from dissensus.workflows.platform.platform import Platform

MAX_REASON_LENGTH: Final = 2_000


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


def load_flag_case(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> FlaggedRaterView:
    """Return a rater who is flagged or about whom a decision exists."""
    with platform.database.reading() as tx:
        return _load_flag_case(tx, name, rater_id, staff_id)


def _load_flag_case(tx: Connection, name: str, rater_id: str, staff_id: str, *, lock: bool = False) -> FlaggedRaterView:
    campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=lock)
    rater = raters.find_rater(tx, rater_id)
    if rater is None or rater.campaign_id != campaign_row.id or rater.state == "withdrawn":
        raise NotFound(f"There is no such rater in {name}, or they withdrew.")
    snapshot = monitoring.find_snapshot(tx, campaign_row.id)
    all_flagged = () if snapshot is None else snapshot.figures.flagged
    flagged = next((flagged for flagged in all_flagged if flagged.rater_id == rater_id), None)
    decisions = flags.list_flag_decisions(tx, rater_id)
    if flagged is None and not decisions:
        raise NotFound(f"Rater {rater.number + 1} meets no criterion, so there is nothing to decide.")
    times = None if snapshot is None else snapshot.figures.pool.times
    return FlaggedRaterView(
        campaign_id=campaign_row.id,
        rater_id=rater_id,
        number=rater.number,
        flagged=flagged,
        pool_median_ms=None if times is None else times.median,
        decisions=decisions,
    )


def decide_flag(
    platform: Platform, name: str, rater_id: str, decision: FlagVerdict, *, staff_id: str, now: datetime
) -> None:
    """Store a decision about a rater; it is current until the next one."""
    verdict = next((verdict for verdict in VERDICTS if verdict == decision.verdict), None)
    reason = decision.reason.strip()
    faults = _find_faults(decision.verdict, reason)
    with platform.database.writing() as tx:
        # The lock keeps the rater from withdrawing meanwhile.
        case = _load_flag_case(tx, name, rater_id, staff_id, lock=True)
        if faults or verdict is None:
            raise InvalidInput("\n".join(faults))
        decision_id = parse_form_id(decision.id)
        stored = flags.find_flag_decision(tx, decision_id)
        if stored is not None and (stored.rater_id, stored.verdict, stored.reason) != (rater_id, verdict, reason):
            raise Conflict("This form was already used for another decision, and nothing was stored. Reload the page.")
        if stored is None:
            evidence = "\n".join(case.flagged.reasons) if case.flagged else ""
            judgement = FlagJudgement(verdict=verdict, reason=reason, evidence=evidence)
            at = flags.add_flag_decision(tx, rater_id, decision_id, judgement, staff_id=staff_id, now=now)
            digest = digest_flag_decision(verdict, reason, evidence, staff_id, at)
            content = {"verdict": verdict, "reason": reason, "decision": decision_id, "digest": digest}
            rater = raters.find_rater(tx, rater_id)
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
        faults.append(str(error))
    return faults
