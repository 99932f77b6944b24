"""What somebody decided about flagged raters: only ever added, and the last decision holds."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, get_args

from sqlalchemy import Connection, insert, select

from dissensus.store import tables as t

Verdict: TypeAlias = Literal["keep", "exclude"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether a rater stays in analyses, why, and the criteria that were met then, a line each."""

    verdict: Verdict
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What somebody decided about a rater."""

    id: str  # Which one, and about whom
    rater_id: str
    verdict: Verdict  # Whether the rater stays in analyses, or is flagged in exports
    reason: str  # Why, in the words of who decided
    evidence: str  # The criteria that were met then, a line each
    by: str  # Who decided, by name, and when
    at: datetime


_OURS = t.FlagDecision
_DECISIONS = (
    select(_OURS.id, _OURS.rater_id, _OURS.verdict, _OURS.reason, _OURS.evidence, t.Staff.name.label("by"), _OURS.at)
    .join(t.Staff, t.Staff.id == _OURS.staff_id)
    .order_by(_OURS.at, _OURS.id)
)


def decisions_of(tx: Connection, campaign_id: str) -> dict[str, Decision]:
    """Return the decision that holds about each rater of a campaign about whom there is one."""
    query = _DECISIONS.join(t.Rater, t.Rater.id == _OURS.rater_id).where(t.Rater.campaign_id == campaign_id)
    return {row.rater_id: Decision(**row._mapping) for row in tx.execute(query)}


def history_of(tx: Connection, rater_id: str) -> tuple[Decision, ...]:
    """Return all decisions about a rater, the last one first."""
    rows = tx.execute(_DECISIONS.where(_OURS.rater_id == rater_id)).all()
    return tuple(Decision(**row._mapping) for row in reversed(rows))


def decision_of(tx: Connection, decision_id: str) -> Decision | None:
    """Return a decision by its id, None where there is none."""
    row = tx.execute(_DECISIONS.where(_OURS.id == decision_id)).one_or_none()
    return None if row is None else Decision(**row._mapping)


def excluded(tx: Connection, campaign_id: str) -> frozenset[str]:
    """Return the raters of a campaign who are to be left out of analyses."""
    return frozenset(name for name, one in decisions_of(tx, campaign_id).items() if one.verdict == "exclude")


def any_decided(tx: Connection, campaign_id: str) -> bool:
    """Tell whether anything was decided about a rater of a campaign."""
    return bool(decisions_of(tx, campaign_id))


def decide(tx: Connection, rater_id: str, decision_id: str, judged: Judgement, *, staff_id: str, now: datetime) -> None:
    """Keep a decision, which holds after those before, be the clock set back."""
    last = next((one.at for one in history_of(tx, rater_id)), None)
    at = now if last is None or now > last else last + timedelta(microseconds=1)
    row = {"id": decision_id, "rater_id": rater_id, "staff_id": staff_id, "at": at}
    tx.execute(insert(_OURS).values(**row, **asdict(judged)))
