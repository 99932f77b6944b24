"""Start page: an introduction for strangers, and open tasks for staff."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.web.core.permissions import actions_of
from dissensus.web.core.responses import page
from dissensus.web.core.restrictions import VisibleCampaign, restrict_campaign
from dissensus.web.core.staff_auth import Public, SessionKey, SiteOf, StaffPage
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.workflows.campaign import overview, tasks
from dissensus.workflows.platform import sessions

router = APIRouter()

TASK_PAGES: Final[Mapping[str, tuple[str, str, str]]] = {
    "care": ("contact request", "contact requests", "care"),
    "staff": ("care contact that no member holds", "care contacts that no member holds", "staff"),
    "notices": ("message from raters", "messages from raters", "notices"),
    "flags": ("flagged rater", "flagged raters", "monitoring"),
    "pay": ("submission to review", "submissions to review", "pay/submissions"),
    "adjudicate": ("item to adjudicate", "items to adjudicate", "gold"),
}
"""Singular, plural and page of the tasks of an action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntroductionPage:
    """Introduction for people who are not signed in."""

    template: ClassVar[str] = "staff/tasks-introduction.html"

    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCampaign:
    """A campaign with its progress and the open tasks of its reader."""

    visible: VisibleCampaign
    tasks: tuple[tuple[str, str], ...]  # Text of each task, and path of its page


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksPage(StaffPage):
    """Campaigns under way, those with tasks first."""

    template: ClassVar[str] = "staff/tasks.html"

    campaigns: tuple[OpenCampaign, ...]
    n_others: int  # Number of closed campaigns without tasks


@router.get("/", dependencies=[Depends(Public("look"))])
def show_start(site: SiteOf, session: SessionKey = "") -> Response:
    """Show open tasks to staff, and an introduction to everybody else."""
    member = sessions.staff_of_session(site.platform, session, now=site.clock()) if session else None
    if member is None:
        return page(site, IntroductionPage())
    entries = []
    for entry in overview.list_campaigns_of(site.platform, member):
        name, permitted = entry.campaign_row.name, actions_of(entry.role)
        counts = tasks.count_tasks(site.platform, name, permitted, staff_id=member.id)
        links = tuple(_describe_task(name, action, n) for action, n in counts.items())
        entries.append(OpenCampaign(visible=restrict_campaign(entry, permitted), tasks=links))
    shown = [entry for entry in entries if entry.tasks or entry.visible.entry.campaign_row.state != "closed"]
    context = TasksPage(
        staff_name=member.name,
        form_token=site.tokens.csrf_token(session),
        campaigns=tuple(sorted(shown, key=lambda entry: not entry.tasks)),
        n_others=len(entries) - len(shown),
    )
    return page(site, context)


def _describe_task(name: str, action: str, n: int) -> tuple[str, str]:
    singular, plural, path = TASK_PAGES[action]
    return f"{n:,} {singular if n == 1 else plural}", f"/campaigns/{name}/{path}"
