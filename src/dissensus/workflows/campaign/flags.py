"""How a person decides about a flagged rater: the data stay, and exports tell."""

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.pipeline.monitor import Flagged
from dissensus.schema.hints import shown
from dissensus.schema.records.conversation import check_text
from dissensus.store import events, flags, monitoring, raters
from dissensus.store.flags import VERDICTS, Decision, Judgement
from dissensus.workflows.campaign.members import seen_by
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.form_ids import form_id

LONGEST_REASON: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A rater about whom somebody may decide.

    Parameters
    ----------
    campaign_id, rater_id, number
        Who, in which campaign.
    flagged
        The evidence as of now; None where no criterion is met any more.
    pool_median_ms
        Half of the answer times of all raters are below it.
    decisions
        What was decided, the last decision first.
    """

    campaign_id: str
    rater_id: str
    number: int
    flagged: Flagged | None
    pool_median_ms: float | None
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a form says.

    Parameters
    ----------
    id
        Chosen by the form, a UUID: the same form twice is one decision.
    verdict, reason
        Whether to keep the rater or to exclude them, and why.
    """

    id: str
    verdict: str
    reason: str


def case(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> Case:
    """Return what is known of a rater who is flagged, or about whom somebody decided.

    Raises
    ------
    NotFound
        There is no such rater, or nothing to decide.
    """
    with platform.database.reading() as tx:
        return _case(tx, name, rater_id, staff_id)


def _case(tx: Connection, name: str, rater_id: str, staff_id: str, *, lock: bool = False) -> Case:
    kept, _ = seen_by(tx, name, staff_id, lock=lock)
    rater = raters.rater_of(tx, rater_id)
    if rater is None or rater.campaign_id != kept.id or rater.state == "withdrawn":
        raise NotFound(f"There is no such rater in {name}, or they withdrew.")
    snapshot = monitoring.snapshot_of(tx, kept.id)
    known = () if snapshot is None else snapshot.figures.flagged
    flagged = next((one for one in known if one.rater_id == rater_id), None)
    decisions = flags.history_of(tx, rater_id)
    if flagged is None and not decisions:
        raise NotFound(f"Rater {rater.number + 1} meets no criterion, so there is nothing to decide.")
    times = None if snapshot is None else snapshot.figures.pool.times
    return Case(
        campaign_id=kept.id,
        rater_id=rater_id,
        number=rater.number,
        flagged=flagged,
        pool_median_ms=None if times is None else times.median,
        decisions=decisions,
    )


def decide(platform: Platform, name: str, rater_id: str, given: Verdict, *, staff_id: str, now: datetime) -> None:
    """Keep what somebody decided about a rater, and why; it holds until the next decision.

    Parameters
    ----------
    platform, name, rater_id
        About whom, in which campaign.
    given
        What the form says.
    staff_id
        Who decides.
    now
        The time.

    Raises
    ------
    NotFound
        There is no such rater, or nothing to decide.
    InvalidInput
        The message tells everything that is wrong with the form.
    Conflict
        The form decided something else before.
    """
    verdict, reason = next((one for one in VERDICTS if one == given.verdict), None), given.reason.strip()
    faults = tuple(_faults(given.verdict, reason))
    with platform.database.writing() as tx:
        # The lock keeps the rater from withdrawing meanwhile.
        found = _case(tx, name, rater_id, staff_id, lock=True)
        if faults or verdict is None:
            raise InvalidInput("\n".join(faults))
        decision_id = form_id(given.id)
        known = flags.decision_of(tx, decision_id)
        if known is not None and (known.rater_id, known.verdict, known.reason) != (rater_id, verdict, reason):
            raise Conflict("This form has decided something else already, and nothing was kept. Load the page again.")
        if known is None:
            evidence = "\n".join(found.flagged.reasons) if found.flagged else ""
            judged = Judgement(verdict=verdict, reason=reason, evidence=evidence)
            flags.decide(tx, rater_id, decision_id, judged, staff_id=staff_id, now=now)
            # Of the rater, so that it goes with them.
            who = {"rater_id": rater_id, "staff_id": staff_id}
            events.record(tx, found.campaign_id, "decide", {"verdict": verdict, "why": reason}, **who, now=now)


def _faults(verdict: str, reason: str) -> list[str]:
    faults = []
    if verdict not in VERDICTS:
        given = f"{shown(verdict)} is no decision" if verdict else "Nothing is chosen"
        faults.append(f"{given}. Choose {' or '.join(VERDICTS)}.")
    if not reason:
        faults.append("There is no reason. Say why, so that others can follow the decision.")
    if len(reason) > LONGEST_REASON:
        faults.append(f"The reason has {len(reason):,} characters; {LONGEST_REASON:,} are allowed. Shorten it.")
    try:
        check_text(reason, "The reason", sys.maxsize)
    except InvalidInput as error:
        faults.append(str(error))
    return faults
