"""Releases of the demo: for each campaign a plan that the gate refuses, and one that it passes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from dissensus.errors import InvalidInput
from dissensus.pipeline.release.gate import ReleaseVerdict
from dissensus.schema.release.parser import parse_plan
from dissensus.schema.release.plan import AnonymityPlan, ReleasePlan, Signature
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.release.release import prepare_release, write_prepared

SIGNER: Final = "The simulated owner"
ANSWERS: Final = {
    "purpose": "To show every stage of Dissensus.",
    "funding": "Nobody.",
    "items_source": "Conversations of nobody: simulated ones, and those of simulated people with scripted chatbots.",
    "ethics_review": "None: nobody took part.",
    "impact": "None: nobody took part.",
    "uses": "Trying out programs that read ratings.",
    "misuses": "Conclusions about people: all of them are simulated.",
    "maintenance": "Nobody; run the demo again.",
}


RATINGS: Final[Mapping[str, Any]] = {"drop": ("rater_raw_race", "rater_race", "rater_education", "rater_age")}
"""Changes to the first plan of a campaign of ratings by which it passes the gate."""
CONVERSATIONS: Final[Mapping[str, Any]] = {"with_text": True}
"""Changes to the first plan of a campaign of conversations by which it passes the gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRelease:
    """Outcome of the release of a campaign."""

    first_faults: tuple[str, ...]  # Checks that the first plan does not pass, or the fault that precedes all checks
    open_checks: tuple[str, ...]  # Checks that the second plan does not pass; empty if the release was written
    n_ratings: int
    n_raters: int
    n_pairs: int
    n_attempts: int


def release_campaign(
    platform: Platform, campaign: str, folder: Path, changes: Mapping[str, Any], *, now: datetime
) -> DemoRelease:
    """Judge a plan without protection, then one with it, signed; write the release `NAME-1.0` if the second passes."""
    first_plan = _build_plan(campaign, now)
    try:
        first_faults = _list_open_checks(prepare_release(first_plan, folder, platform).assessed.verdict)
    except InvalidInput as error:
        first_faults = (str(error).partition(":")[0],)
    second_plan = replace(first_plan, anonymity=AnonymityPlan(small_cells="leave out"), answers=ANSWERS, **changes)
    signed_plan = _sign(second_plan, prepare_release(second_plan, folder, platform).assessed.verdict)
    prepared = prepare_release(signed_plan, folder, platform)
    if prepared.assessed.verdict.passed:
        write_prepared(prepared, folder / f"{signed_plan.name}-{signed_plan.version}", platform=platform, now=now)
    publication, derived = prepared.assessed.publication, prepared.assessed.derived
    return DemoRelease(
        first_faults=first_faults,
        open_checks=_list_open_checks(prepared.assessed.verdict),
        n_ratings=publication.table.height,
        n_raters=publication.raters.height,
        n_pairs=len(derived.pairs.pairs) if derived.pairs else 0,
        n_attempts=len(derived.attempts),
    )


def _build_plan(campaign: str, now: datetime) -> ReleasePlan:
    return parse_plan(
        {
            "name": campaign,
            "version": "1.0",
            "released": now.date(),
            "creators": ["The demo of Dissensus"],
            "contact": "demo@example.org",
            "licence": "CC0-1.0",
            "campaign": campaign,
        }
    )


def _sign(plan: ReleasePlan, verdict: ReleaseVerdict) -> ReleasePlan:
    codes = {row.check.name: row.code for row in verdict.checks if row.outcome == "unsigned"}
    signatures = (Signature(check=name, by=SIGNER, code=code) for name, code in codes.items() if code is not None)
    return replace(plan, signatures=tuple(signatures))


def _list_open_checks(verdict: ReleaseVerdict) -> tuple[str, ...]:
    return tuple(row.check.name for row in verdict.checks if row.outcome != "passed")
