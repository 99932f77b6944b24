"""Plans of a draft: store what was computed, show it, and take its numbers into the definition."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection

from dissensus.campaign.planning import apply_plan, read_plan
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.pipeline.tables import Page
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import campaigns, items
from dissensus.store.campaigns import CampaignRow
from dissensus.store.planning import campaign_plans as store
from dissensus.store.planning.campaign_plans import NewPlan, PlanRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.campaigns import record_adoption
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

if TYPE_CHECKING:
    from dissensus.report.planning.report import Plan

MAX_PLANS: Final = 20
"""Latest plans of a campaign that are kept, besides those that were adopted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanListing:
    """Plans of a campaign, the latest first, with its definition."""

    campaign_row: CampaignRow
    campaign: Campaign
    n_items: int
    plans: tuple[PlanRow, ...]
    followed_id: str | None  # plan whose numbers the definition has, None if they were changed since


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    """A plan of a campaign."""

    campaign_row: CampaignRow
    row: PlanRow
    file: str
    content: Any  # summary, grids, notes and figures; None for a file from elsewhere
    is_followed: bool  # adopted, and the definition has its numbers

    @property
    def numbers(self) -> dict[str, Any]:
        """Numbers that a campaign takes from it; empty if there are none."""
        return json.loads(self.file).get("campaign") or {}


def list_plans(platform: Platform, name: str, *, staff_id: str) -> PlanListing:
    """Return the plans of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        plans = store.list_plans(tx, campaign_row.id)
        adopted = [_find_plan(platform, tx, campaign_row, row.id) for row in plans if row.adopted_at]
        return PlanListing(
            campaign_row=campaign_row,
            campaign=platform.definitions.load(tx, campaign_row),
            n_items=items.count_items(tx, campaign_row.id),
            plans=plans,
            followed_id=next((plan.row.id for plan in adopted if plan.is_followed), None),
        )


def encode_content(plan: "Plan", page: Page) -> str:
    """Return the tables and figures of a plan as JSON text."""
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.report.graphics.theme import COLUMN_WIDTH
    from dissensus.report.planning.report import plan_figures

    figures = [
        {
            "name": figure.name,
            "title": figure.title,
            "reading": figure.reading,
            "notes": figure.notes,
            "wide": figure.render().decode(),
            "narrow": figure.render(width=COLUMN_WIDTH).decode(),
        }
        for figure in plan_figures(plan)
    ]
    grids = [{"head": grid.head, "lines": grid.lines, "caption": grid.caption} for grid in page.grids]
    values = {"summary": page.summary, "grids": grids, "notes": page.notes, "figures": figures}
    return json.dumps(values, ensure_ascii=False)


def add_plan(
    platform: Platform, name: str, plan: "Plan", page: Page, *, question: str, staff_id: str, now: datetime
) -> str:
    """Store a plan that was computed for a draft, and return its id."""
    new = NewPlan(question=question, file=plan.to_json(), content=encode_content(plan, page))
    with platform.database.writing() as tx:
        campaign_row = _lock_draft(tx, name, staff_id)
        plan_id = store.add_plan(tx, campaign_row.id, new, staff_id=staff_id, now=now)
        store.delete_oldest_plans(tx, campaign_row.id, most=MAX_PLANS)
    return plan_id


def load_plan(platform: Platform, name: str, plan_id: str, *, staff_id: str) -> StoredPlan:
    """Return a plan of a campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return _find_plan(platform, tx, campaign_row, plan_id)


def load_figure(platform: Platform, name: str, plan_id: str, figure: str, kind: str, *, staff_id: str) -> bytes:
    """Return a figure of a plan as SVG: "svg", "narrow.svg", "dark.svg" or "narrow.dark.svg"."""
    from dissensus.report.graphics.render import to_dark_svg

    stored = load_plan(platform, name, plan_id, staff_id=staff_id)
    stored_figure = next((one for one in (stored.content or {}).get("figures", ()) if one["name"] == figure), None)
    if stored_figure is None:
        raise NotFound("The plan has no such figure. Open one from its page.")
    svg: str = stored_figure["narrow" if kind.startswith("narrow") else "wide"]
    return (to_dark_svg(svg) if "dark" in kind else svg).encode()


def adopt_plan(platform: Platform, name: str, plan_id: str, *, staff_id: str, now: datetime) -> None:
    """Take the numbers of a plan into the definition of a draft, and log both."""
    with platform.database.writing() as tx:
        campaign_row = _lock_draft(tx, name, staff_id)
        stored = _find_plan(platform, tx, campaign_row, plan_id)
        plan = read_plan(stored.file)
        campaign = apply_plan(platform.definitions.load(tx, campaign_row), plan)
        campaigns.set_definition(tx, campaign_row.id, campaign, now=now)
        log_staff_event(tx, campaign_row.id, "revised", staff_id, now, definition=campaign.digest)
        record_adoption(tx, campaign_row.id, plan, plan_id=plan_id, staff_id=staff_id, now=now)


def _lock_draft(tx: Connection, name: str, staff_id: str) -> CampaignRow:
    campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
    check_draft(campaign_row)
    return campaign_row


def check_draft(campaign_row: CampaignRow) -> None:
    """Raise `Conflict` unless a campaign is a draft, whose numbers can still be planned."""
    if campaign_row.state != "draft":
        raise Conflict(
            f"{campaign_row.name} is {campaign_row.state}, and plans can be made only for drafts. Clone the campaign "
            "to plan another."
        )


def _find_plan(platform: Platform, tx: Connection, campaign_row: CampaignRow, plan_id: str) -> StoredPlan:
    stored = store.find_plan(tx, campaign_row.id, plan_id)
    if stored is None:
        raise NotFound(f"{campaign_row.name} has no such plan. Old ones make room for new ones.")
    row, file, content = stored
    followed = row.adopted_at is not None and _has_numbers(platform.definitions.load(tx, campaign_row), file)
    return StoredPlan(
        campaign_row=campaign_row,
        row=row,
        file=file,
        content=content and json.loads(content),
        is_followed=followed,
    )


def _has_numbers(campaign: Campaign, file: str) -> bool:
    try:
        return apply_plan(campaign, read_plan(file)) == campaign
    except InvalidInput:
        # The quota of the plan was removed, or the definition no longer admits its numbers.
        return False
