"""Verdict on the release of a campaign on the site, its plan, and signatures of owners."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound
from dissensus.pipeline.release.assessment import AssessedRelease, assess_release
from dissensus.pipeline.release.plan_draft import draft_plan
from dissensus.schema.advice import site_message
from dissensus.schema.characters import normalise_line_ends
from dissensus.schema.hints import format_value
from dissensus.schema.release.parser import parse_plan
from dissensus.schema.release.plan import ReleasePlan
from dissensus.store import audit_log, staff
from dissensus.store.release import release_plans
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.release.campaign_source import load_source

MAX_RATINGS: Final = 200_000
"""Maximum number of ratings of a release that is judged on the site; the command judges larger ones."""
MAX_PLAN_LENGTH: Final = 100_000
"""Maximum number of characters of a plan on the site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRelease:
    """Release of a campaign as its page shows it."""

    text: str  # of the plan
    is_draft: bool  # True while no plan is stored
    plan: ReleasePlan | None
    assessed: AssessedRelease | None  # None without a plan that can be judged
    fault: str | None  # reason why there is no verdict
    person: str  # name of the member who reads the page
    released: tuple[dict[str, Any], ...]  # earlier releases, the latest first
    withdrawn_since: int  # raters who withdrew since the latest release, whom copies of it still have


def load_release(platform: Platform, name: str, *, staff_id: str, now: datetime) -> SiteRelease:
    """Judge the release of a campaign by its stored plan."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        stored = release_plans.find_plan(tx, campaign_row.id)
        logged = [(event.at, event.content) for event in audit_log.iterate_events(tx, campaign_row.id, "released")]
        person = str(staff.find_staff_name(tx, staff_id))
        withdrawn = [event.at for event in audit_log.iterate_events(tx, campaign_row.id, "withdrawn")]
    plan, assessed, fault = None, None, None
    if stored is not None:
        try:
            plan = _parse_plan(stored, name)
            assessed = _assess(platform, plan, staff_id)
        except DissensusError as error:
            fault = site_message(error)
    return SiteRelease(
        text=draft_plan(name, f"{len(logged) + 1}.0", now.date()) if stored is None else stored,
        is_draft=stored is None,
        plan=plan,
        assessed=assessed,
        fault=fault,
        person=person,
        released=tuple({"at": at, **content} for at, content in reversed(logged)),
        withdrawn_since=sum(at > logged[-1][0] for at in withdrawn) if logged else 0,
    )


def load_plan(platform: Platform, name: str, *, staff_id: str) -> str:
    """Return the stored plan of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        stored = release_plans.find_plan(tx, campaign_row.id)
    if stored is None:
        raise NotFound(f"{name} has no plan of a release yet. Write one on its page.")
    return stored


def change_plan(platform: Platform, name: str, text: str, *, staff_id: str, now: datetime) -> None:
    """Store the plan of a release; raise if it is not valid."""
    text = normalise_line_ends(text).strip() + "\n"
    if len(text) > MAX_PLAN_LENGTH:
        raise InvalidInput(f"The plan has {len(text):,} characters, and {MAX_PLAN_LENGTH:,} are allowed. Shorten it.")
    _parse_plan(text, name)
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        if release_plans.find_plan(tx, campaign_row.id) == text:
            return
        release_plans.save_plan(tx, campaign_row.id, text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        log_staff_event(tx, campaign_row.id, "release_planned", staff_id, now, digest=digest)


def sign_check(platform: Platform, name: str, check: str, code: str, *, staff_id: str, now: datetime) -> None:
    """Sign the evidence of a check by its code; raise if the evidence is another one by now."""
    release = load_release(platform, name, staff_id=staff_id, now=now)
    judged = [] if release.assessed is None else release.assessed.verdict.checks
    signed = next((each for each in judged if each.check.name == check and each.code == code), None)
    if signed is not None and signed.outcome not in ("unsigned", "passed"):
        raise Conflict(f"Nothing was signed: {check} failed, and no signature mends that. {signed.check.remedy}")
    if signed is None:
        raise Conflict(
            "Nothing was signed: the plan, the data or the evidence changed since the page was loaded. Look again."
        )
    if release.person in signed.signed_by:
        return
    with platform.database.writing() as tx:
        campaign_row, role = campaign_for_member(tx, name, staff_id, lock=True)
        if role != "owner" or staff.is_disabled(tx, staff_id):
            raise NotAllowed(f"Owners of {name} sign its release. Ask one of them.")
        log_staff_event(tx, campaign_row.id, "release_signed", staff_id, now, check=check, code=code)


def _parse_plan(text: str, name: str) -> ReleasePlan:
    plan = parse_plan(text)
    if plan.campaign != name:
        raise InvalidInput(
            f"campaign: It is {format_value(plan.campaign)}, and the page is that of {name}. Write that."
        )
    if plan.signatures:
        raise InvalidInput(
            "signatures: The plan on the site has none, since anybody could write a name there. Remove them, and let "
            "each owner sign on the page."
        )
    return plan


def _assess(platform: Platform, plan: ReleasePlan, staff_id: str) -> AssessedRelease:
    return assess_release(load_source(platform, plan, staff_id=staff_id, most=MAX_RATINGS), plan)
