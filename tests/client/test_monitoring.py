"""Monitoring, gold and pay of the client, on a running site."""

from collections.abc import Iterator

import pytest
from tests.databases import sqlite_only
from tests.support import monitored_campaigns
from tests.support.campaigns import NOW
from tests.support.gold_campaigns import YES, create_disputed_item, label_item
from tests.support.live_site import LiveSite, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import open_paying_campaign as paying
from tests.support.prolific_server import TOKEN, Prolific
from tests.support.raters import enter
from tests.support.recruited_raters import RETURN_REASON, add_submission
from tests.support.staff_site import StaffSite

from dissensus import Client, Conflict, InvalidInput, NotFound
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import rating


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[LiveSite]:
    with serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as site:
        yield site


@sqlite_only
def test_monitoring_and_decisions_on_flags(staff_site: StaffSite, client: Client) -> None:
    campaign_row = monitored_campaigns.open_monitored_campaign(
        staff_site.platform,
        sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id,
        replication=20,
    )
    assert client.monitoring.figures("pilot").figures is None
    hasty, _ = monitored_campaigns.add_crowd(staff_site.platform, campaign_row)
    refresh_snapshots(staff_site.platform, MonitoringCache(), now=NOW)
    figures = client.monitoring.figures("pilot").figures
    assert figures is not None
    assert (figures.pool.n_raters, figures.scales) == (12, {"Q_safe": ("No", "Unsure", "Yes")})
    assert figures.pool.agreement.estimate is not None
    assert hasty in {flag.rater for flag in client.monitoring.flags("pilot") if flag.evidence}
    decided = client.monitoring.decide("pilot", hasty, "exclude", reason="Somebody read it.")
    assert decided == client.monitoring.flag("pilot", hasty)
    assert [decision.reason for decision in decided.decisions] == ["Somebody read it."]
    assert client.ratings_frame("pilot")["rater_flagged"].any()


@sqlite_only
def test_gold_and_platinum_labels(staff_site: StaffSite, client: Client) -> None:
    _, experts = create_disputed_item(staff_site.platform)
    label_item(staff_site.platform, experts[0], YES, 1)
    labels = list(client.gold.labels("pilot"))
    assert [item.state for item in labels] == ["disputed", "in_progress", "unlabelled"]
    assert [item.id for item in client.gold.labels("pilot", state="in_progress")] == ["item-1"]
    assert [part.labels for part in labels[1].parts] == [None] * 3
    assert labels[0].parts[0].labels is not None
    assert client.gold.add_platinum("pilot", {"item-0": "No"}, source="May", attributes={"item-0": {"n": "9"}}) == 1
    with pytest.raises(Conflict, match="has a label of an earlier crowd"):
        client.gold.add_platinum("pilot", {"item-0": "Yes"}, source="June")
    with pytest.raises(InvalidInput, match="There are attributes and no label of 'item-1'"):
        client.gold.add_platinum("pilot", {"item-0": "No"}, source="May", attributes={"item-1": {"n": "9"}})
    compared = client.gold.comparison("pilot")
    assert (compared.n_platinum, compared.with_crowd, compared.reason) == (1, None, "Nobody has rated an item yet.")


@sqlite_only
def test_pay_and_submissions(staff_site: StaffSite, client: Client, prolific: Prolific) -> None:
    campaign_row = paying(staff_site)
    rater = worker(staff_site.platform, campaign_row.key, HOUR)
    submission = add_submission(staff_site.platform, prolific, campaign_row.id, rater.id)
    total = client.pay.ledger("pilot").total
    assert total is not None
    assert (total.currency, total.due) == ("GBP", 1200)
    payment = client.pay.record_payment("pilot", rater.id, 700)
    assert client.pay.account("pilot", rater.id).payments == (payment,)
    assert [account.account.due for account in client.pay.accounts("pilot")] == [500]
    assert client.pay.reverse_payment("pilot", rater.id, payment.id).account.due == 1200
    (pending,) = client.pay.submissions("pilot", waiting=True)
    assert pending == client.pay.submission("pilot", submission)
    with pytest.raises(Conflict, match="cannot be rejected"):
        client.pay.reject("pilot", submission, category="FAILED_CHECK", reason=RETURN_REASON)
    with pytest.raises(InvalidInput, match="There is no reason"):
        client.pay.ask_return("pilot", submission, [])
    assert client.pay.ask_return("pilot", submission, ["Please."]).return_requested_at == NOW
    assert client.pay.approve("pilot", submission).status == "APPROVED"
    client.set_state("pilot", "closed")
    assert client.pay.forget_recruits("pilot") == 1


@sqlite_only
def test_notices_clones_and_members(staff_site: StaffSite, client: Client) -> None:
    campaign_row = paying(staff_site)
    rating.report_item(
        staff_site.platform,
        enter(staff_site.platform, campaign_row.key),
        "help",
        "I am not well.",
        assignment_id=None,
        now=NOW,
    )
    (notice,) = client.notices("pilot")
    assert (notice.kind, notice.text) == ("help", "I am not well.")
    client.settle_notice("pilot", notice.id)
    assert list(client.notices("pilot")) == []
    assert client.clone("pilot", "second").state == "draft"
    client.remove_items("second")
    assert list(client.items("second")) == []
    client.invite_member("pilot", "analyst")
    (pending,) = client.members("pilot").invitations
    client.revoke_invitation("pilot", str(pending.id))
    members = client.members("pilot")
    assert members.invitations == ()
    with pytest.raises(Conflict, match="last owner"):
        client.change_role("pilot", members.members[0].id, "expert")
    with pytest.raises(NotFound, match="pilot has no member"):
        client.remove_member("pilot", "nobody")
