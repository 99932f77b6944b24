"""Permission to send texts of a campaign to the address of a judge, and the items to be judged."""

from datetime import datetime
from typing import NamedTuple

from dissensus.errors import NotAllowed
from dissensus.pipeline.judge.pairs import questionnaire_for_judge
from dissensus.schema.campaign.chatbot import Chatbot, Endpoint
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.records.item import Item
from dissensus.schema.urls import check_secure_url
from dissensus.store import campaigns as store
from dissensus.store import items as items_store
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.judge.run import JudgeRun
from dissensus.workflows.platform.platform import Platform


class JudgedCampaign(NamedTuple):
    """Questions and items of a campaign for a judge."""

    questionnaire: Questionnaire
    items: tuple[Item, ...]


def permit_judge(
    platform: Platform, name: str, url: str | None, *, plain: bool = False, staff_id: str, now: datetime
) -> None:
    """Permit texts of a campaign to be sent to an address, or with None to none, and log the change."""
    if url is not None:
        check_secure_url(url, "https://api.example.com/v1", plain=plain)
        url = url.rstrip("/")
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        if campaign_row.judge_url != url:
            store.set_judge_url(tx, campaign_row.id, url)
            log_staff_event(tx, campaign_row.id, "judge_permitted", staff_id, now, url=url)


def load_judged_campaign(platform: Platform, name: str, *, staff_id: str) -> JudgedCampaign:
    """Return the questions of a campaign, and its items that are neither withheld nor erased."""
    with platform.database.reading() as tx:
        campaign_row, definition = load_member_campaign(tx, platform, name, staff_id)
        items = tuple(items_store.iterate_visible_items(tx, campaign_row.id))
    return JudgedCampaign(questionnaire_for_judge(definition), items)


def record_judging(
    platform: Platform, name: str, run: JudgeRun, n_requests: int, *, staff_id: str, now: datetime
) -> None:
    """Log that items are given to a judge, before the first request; refuse an address that is not permitted."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        check_permission(run.judge, name, campaign_row.judge_url)
        content = {"judge": run.judge.name, "sha256": run.judge.digest, "url": run.url, "items": len(run.items)}
        log_staff_event(tx, campaign_row.id, "judged", staff_id, now, **content, requests=n_requests)


def check_permission(judge: Chatbot, name: str, permitted_url: str | None) -> None:
    """Refuse a judge behind an address that the owner has not permitted; local models need no permission."""
    if isinstance(judge.source, Endpoint) and judge.source.url != permitted_url:
        allowed = "no address" if permitted_url is None else permitted_url
        raise NotAllowed(
            f"Texts of {name} may leave this machine for {allowed}, and {judge.name} is at {judge.source.url}. Its "
            f"owner can permit that: dissensus judge permit {name} --url {judge.source.url}"
        )
