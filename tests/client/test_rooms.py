"""What the rooms of a client ask for, from the real site: watching, gold and pay."""

from collections.abc import Iterator

import pytest
from tests.recruit.fake_prolific import TOKEN, Prolific
from tests.support import monitored_campaigns
from tests.support.campaigns import NOW
from tests.support.gold_campaigns import YES, disputed, said
from tests.support.live_site import Live, serving
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import opened as paying
from tests.support.raters import enter
from tests.support.recruited_raters import RETURN_REASON, arrived
from tests.support.staff_browsers import House

from dissensus import Client, Conflict, InvalidInput, NotFound
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import rating

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def live(database_url: str, prolific: Prolific) -> Iterator[Live]:
    with serving(database_url, prolific_token=TOKEN, prolific_url=prolific.root) as site:
        yield site


def test_a_campaign_is_watched_and_a_flag_decided(house: House, client: Client) -> None:
    kept = monitored_campaigns.opened(
        house.platform, staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id, replication=20
    )
    assert client.monitoring.figures("pilot").figures is None
    hasty, _ = monitored_campaigns.crowd(house.platform, kept)
    refresh_snapshots(house.platform, MonitoringCache(), now=NOW)
    found = client.monitoring.figures("pilot").figures
    assert found is not None
    assert (found.pool.n_raters, found.scales) == (12, {"Q_safe": ("No", "Unsure", "Yes")})
    assert found.pool.agreement.estimate is not None
    assert hasty in {flag.rater for flag in client.monitoring.flags("pilot") if flag.evidence}
    decided = client.monitoring.decide("pilot", hasty, "exclude", reason="Somebody read it.")
    assert decided == client.monitoring.flag("pilot", hasty)
    assert [one.reason for one in decided.decisions] == ["Somebody read it."]
    assert client.ratings_frame("pilot")["rater_flagged"].any()


def test_gold_is_read_and_platinum_brought(house: House, client: Client) -> None:
    _, experts = disputed(house.platform)
    said(house.platform, experts[0], YES, 1)
    found = list(client.gold.labels("pilot"))
    assert [one.state for one in found] == ["disputed", "begun", "unlabelled"]
    assert [one.id for one in client.gold.labels("pilot", state="begun")] == ["item-1"]
    assert [part.labels for part in found[1].parts] == [None] * 3
    assert found[0].parts[0].labels is not None
    assert client.gold.add_platinum("pilot", {"item-0": "No"}, source="May", beside={"item-0": {"n": "9"}}) == 1
    with pytest.raises(Conflict, match="has a label of an earlier crowd"):
        client.gold.add_platinum("pilot", {"item-0": "Yes"}, source="June")
    compared = client.gold.comparison("pilot")
    assert (compared.n_platinum, compared.found, compared.reason) == (1, None, "Nobody has rated an item yet.")


def test_pay_is_noted_and_submissions_decided(house: House, client: Client, prolific: Prolific) -> None:
    kept = paying(house)
    rater = worker(house.platform, kept.key, HOUR)
    submission = arrived(house.platform, prolific, kept.id, rater.id)
    total = client.pay.ledger("pilot").total
    assert total is not None
    assert (total.currency, total.due) == ("GBP", 1200)
    payment = client.pay.record_payment("pilot", rater.id, 700)
    assert client.pay.account("pilot", rater.id).payments == (payment,)
    assert [one.account.due for one in client.pay.accounts("pilot")] == [500]
    assert client.pay.reverse_payment("pilot", rater.id, payment.id).account.due == 1200
    (found,) = client.pay.submissions("pilot", waiting=True)
    assert found == client.pay.submission("pilot", submission)
    with pytest.raises(Conflict, match="cannot be rejected"):
        client.pay.reject("pilot", submission, category="FAILED_CHECK", reason=RETURN_REASON)
    with pytest.raises(InvalidInput, match="There is no reason"):
        client.pay.ask_return("pilot", submission, [])
    assert client.pay.ask_return("pilot", submission, ["Please."]).return_asked_at == NOW
    assert client.pay.approve("pilot", submission).status == "APPROVED"
    client.move("pilot", "closed")
    assert client.pay.forget_recruits("pilot") == 1


@one_kind
def test_the_rest_of_a_campaign(house: House, client: Client) -> None:
    kept = paying(house)
    rating.report_item(
        house.platform, enter(house.platform, kept.key), "help", "I am not well.", assignment_id=None, now=NOW
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
    found = client.members("pilot")
    assert found.invitations == ()
    with pytest.raises(Conflict, match="last owner"):
        client.change_role("pilot", found.members[0].id, "expert")
    with pytest.raises(NotFound, match="belongs to pilot"):
        client.remove_member("pilot", "nobody")
