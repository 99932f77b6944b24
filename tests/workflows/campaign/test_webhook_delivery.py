"""What happened is delivered: signed, in order, at least once, and no receiver keeps another one waiting."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.campaigns import AGREED, NOW, open_campaign
from tests.support.webhook_office import POST, Office, added, data_of, is_signed, kinds, now_is, places
from tests.webhook_transport.receiver import Receiver, receiving

from dissensus.campaign.webhook_batches import MAX_BATCH_EVENTS, PAUSE_AFTER
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.store import events
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import audit, campaigns, members, overview, webhooks
from dissensus.workflows.campaign.webhook_delivery import MAX_SKIPPED_EVENTS
from dissensus.workflows.campaign.webhooks import MAX_WEBHOOKS, NewWebhook, WebhookSigner
from dissensus.workflows.platform.jobs import LEASE_DURATION
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, withdrawal
from dissensus.workflows.rater.enrolment import Arrival


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as state:
        yield state


@pytest.fixture
def office(platform: Platform) -> Office:
    return Office(platform)


@pytest.fixture
def kept(platform: Platform) -> CampaignRow:
    return open_campaign(platform, 2)


def happen(platform: Platform, kept: CampaignRow, n: int, kind: str = "exported") -> None:
    """So many things happen."""
    with platform.database.writing() as tx:
        for number in range(n):
            events.append_event(tx, kept.id, kind, {"n": number}, staff_id=kept.staff_id, now=NOW)  # type: ignore[arg-type]


def test_what_happened_is_told_signed_and_once(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    made, secret = added(platform, kept, receiver)
    assert office.turn()
    (got,) = receiver.got
    assert is_signed(got, secret)
    assert got.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert got.headers["webhook-id"] == f"msg_{made.id}_1_3"
    assert got.headers["content-type"] == "application/json"
    told = data_of(got)
    assert {name: told[name] for name in told if name != "events"} == {
        "campaign": "pilot",
        "webhook": made.id,
        "after": 0,
        "through": 3,
        "head": 3,
    }
    assert [(one["sequence"], one["kind"]) for one in told["events"]] == [
        (1, "created"),
        (2, "state_changed"),
        (3, "webhook_changed"),
    ]
    assert told["events"][2]["content"] == {"webhook": made.id, "to": "added", "host": "127.0.0.1"}
    office.turn()
    assert len(receiver.got) == 1
    happen(platform, kept, 2)
    office.turn()
    assert (places(receiver.got[1]), data_of(receiver.got[1])["after"]) == ([4, 5], 3)
    found = now_is(platform, kept)
    assert (found.state, found.sequence, found.head, found.delivered_at) == ("active", 5, 5, NOW)


def test_a_new_one_begins_with_its_own_making_or_where_it_is_told_to(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    audit.link_pending_events(platform)
    added(platform, kept, receiver, after=None)
    added(platform, kept, receiver, path="ok/second", after=1)
    office.turn()
    assert [places(one) for one in receiver.at("ok")] == [[3, 4]]
    assert [places(one) for one in receiver.at("ok/second")] == [[2, 3, 4]]


def test_many_come_in_batches_one_after_the_other(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    added(platform, kept, receiver)
    happen(platform, kept, 2 * MAX_BATCH_EVENTS)
    for _ in range(4):
        office.turn()
    assert [len(places(one)) for one in receiver.got] == [100, 100, 3]
    assert [place for one in receiver.got for place in places(one)] == list(range(1, 204))
    assert [(data_of(one)["after"], data_of(one)["through"]) for one in receiver.got] == [
        (0, 100),
        (100, 200),
        (200, 203),
    ]


def test_kinds_that_were_not_asked_for_are_passed_over_without_a_gap(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    added(platform, kept, receiver, kinds=("state_changed", "payment_recorded"))
    office.turn()
    assert kinds(receiver) == ["state_changed"]
    happen(platform, kept, MAX_SKIPPED_EVENTS)
    office.turn()
    # They are noted, and told to nobody.
    assert now_is(platform, kept).sequence == 3 + MAX_SKIPPED_EVENTS
    happen(platform, kept, 1, "payment_recorded")
    office.turn()
    assert [data_of(one)["after"] for one in receiver.got] == [0, 3 + MAX_SKIPPED_EVENTS]
    assert kinds(receiver) == ["state_changed", "payment_recorded"]


def test_what_is_not_taken_is_tried_again_as_it_was_ever_less_often(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    _, secret = added(platform, kept, receiver)
    receiver.first["ok"] = ["500", "302", "404"]
    office.turn()
    found = now_is(platform, kept)
    assert (found.state, found.failure_reason, found.n_failures) == ("failing", "it answered HTTP 500", 1)
    assert found.due_at - NOW == timedelta(seconds=5)
    # What happens meanwhile comes later: the batch that failed is the same, and has the same id.
    happen(platform, kept, 2)
    office.turn()
    assert len(receiver.got) == 1
    office.forward(seconds=5).turn()
    assert now_is(platform, kept).due_at - office.at == timedelta(seconds=10)
    office.forward(seconds=10).turn()
    office.forward(seconds=20).turn()
    assert [places(one) for one in receiver.got] == [[1, 2, 3]] * 4
    assert len({one.headers["webhook-id"] for one in receiver.got}) == 1
    assert len({one.headers["webhook-timestamp"] for one in receiver.got}) == 4
    assert all(is_signed(one, secret) for one in receiver.got)
    office.turn()
    assert places(receiver.got[4]) == [4, 5]
    found = now_is(platform, kept)
    assert (found.state, found.failure_reason, found.failing_since, found.sequence) == ("active", "", None, 5)


@pytest.mark.parametrize(
    ("path", "wait"),
    [("later", timedelta(minutes=30)), ("much-later", timedelta(hours=6)), ("500", timedelta(seconds=5))],
)
def test_a_receiver_may_ask_to_wait_within_limits(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office, path: str, wait: timedelta
) -> None:
    added(platform, kept, receiver, path)
    office.turn()
    assert now_is(platform, kept).due_at - NOW == wait


def test_who_failed_together_does_not_come_back_together(
    platform: Platform, kept: CampaignRow, receiver: Receiver
) -> None:
    added(platform, kept, receiver, "500")
    office = Office(platform, chance=0.0)
    office.turn()
    assert now_is(platform, kept).due_at - NOW == timedelta(seconds=2.5)


def test_who_fails_for_five_days_is_paused_and_goes_on_from_there(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    added(platform, kept, receiver)
    receiver.first["ok"] = ["503"] * 60
    office.until_failed(days=4, hours=20)
    assert now_is(platform, kept).state == "failing"
    office.until_failed(hours=16)
    found = now_is(platform, kept)
    assert found.pause_reason == "Nothing was taken for 5 days; the last time, it answered HTTP 503."
    assert found.sequence == 0
    assert office.at - NOW > PAUSE_AFTER
    # From seconds to hours: some dozens of tries.
    n = len(receiver.got)
    assert 20 < n < 60
    office.until_failed(days=30)
    assert len(receiver.got) == n
    receiver.first.clear()
    one = webhooks.resume_webhook(platform, "pilot", found.id, post=POST, staff_id=kept.staff_id, now=office.at)
    assert one.id == found.id
    office.turn()
    office.turn()
    assert (now_is(platform, kept).state, places(receiver.got[n]), places(receiver.got[n + 1])) == (
        "active",
        [1, 2, 3],
        [4, 5],
    )
    assert [one["content"]["to"] for one in data_of(receiver.got[n + 1])["events"]] == ["paused", "went on"]


def test_who_is_gone_is_paused_at_once(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    added(platform, kept, receiver, "410")
    office.turn()
    office.forward(days=1).turn()
    assert len(receiver.got) == 1
    assert now_is(platform, kept).pause_reason == "It answered HTTP 410: it is gone, and wants nothing more."


def test_what_pauses_by_itself_is_an_event_and_once(platform: Platform, kept: CampaignRow, receiver: Receiver) -> None:
    one, other = Office(platform), Office(platform, holder="two")
    made, _ = added(platform, kept, receiver, "410")
    added(platform, kept, receiver, kinds=("webhook_changed",))
    audit.link_pending_events(platform)
    # Another process that still thinks that it delivers sends first, and notes last.
    other.postman(platform, NOW)
    one.turn()
    other.postman.finish(platform, NOW)
    one.turn()
    with platform.database.reading() as tx:
        told = [one for one in events.iterate_events(tx, kept.id, "webhook_changed") if one.content["to"] == "paused"]
    assert [(one.staff_id, one.content["webhook"], one.content["host"]) for one in told] == [
        (None, made.id, "127.0.0.1")
    ]
    assert [one["content"]["to"] for one in data_of(receiver.at("ok")[-1])["events"]] == ["paused"]


def test_who_was_told_nothing_for_long_catches_up(platform: Platform, kept: CampaignRow, receiver: Receiver) -> None:
    office = Office(platform)
    office.postman.spell_s = 60.0
    added(platform, kept, receiver)
    happen(platform, kept, 3_000)
    office.turn()
    assert [place for got in receiver.got for place in places(got)] == list(range(1, 3_004))
    assert now_is(platform, kept).state == "active"


def test_what_came_of_deliveries_is_counted(platform: Platform, kept: CampaignRow, receiver: Receiver) -> None:
    office, counted = Office(platform), Counter[str]()
    office.postman.count = lambda outcome: counted.update([outcome])
    for path in ("ok", "500", "nonsense"):
        added(platform, kept, receiver, path)
    office.turn()
    assert counted == {"taken": 1, "refused": 1, "unanswered": 1}
    assert overview.count_platform(platform).webhooks == {"active": 1, "failing": 2, "paused": 0}


def test_a_slow_receiver_keeps_nobody_waiting(platform: Platform, kept: CampaignRow, receiver: Receiver) -> None:
    added(platform, kept, receiver, "silent")
    for number in range(3):
        added(platform, kept, receiver, f"ok/{number}")
    office = Office(platform, post=WebhookSigner(POST.secret, replace(POST.sender, limit_s=0.5)))
    audit.link_pending_events(platform)
    assert office.runner.turn()
    # The turn is over, and so is that of the others, while one has said nothing yet.
    assert len(office.postman.under_way) == 4
    happen(platform, kept, 1)
    assert audit.link_pending_events(platform) == 1
    others = [one for one in office.postman.under_way.values() if "silent" not in one.webhook.address]
    for one in others:
        assert one.answer.result(30).taken
    assert office.runner.turn()
    office.postman.finish(platform, NOW)
    assert [len(receiver.at(f"ok/{number}")) for number in range(3)] == [2, 2, 2]
    # One delivery at a time: nothing else was sent to who has not answered.
    assert len(receiver.at("silent")) == 1
    troubles = {one.failure_reason for one in webhooks.list_webhooks(platform, "pilot", staff_id=kept.staff_id)}
    assert troubles == {"", "no answer within 0.5 seconds"}


def test_one_process_dies_and_another_goes_on_with_nothing_lost(
    platform: Platform, kept: CampaignRow, receiver: Receiver
) -> None:
    added(platform, kept, receiver)
    first, second = Office(platform, "first"), Office(platform, "second")
    audit.link_pending_events(platform)
    assert first.runner.turn()
    for one in first.postman.under_way.values():
        assert one.answer.result(30).taken
    # It dies before it has noted that this was taken: the second one sends it again, with the same id.
    assert not second.turn()
    happen(platform, kept, 3)
    assert second.forward(seconds=LEASE_DURATION.total_seconds()).turn()
    second.turn()
    assert [places(one) for one in receiver.got] == [[1, 2, 3], [1, 2, 3, 4, 5, 6]]
    assert now_is(platform, kept).sequence == 6
    # Who was thought dead notes what it knows, and takes nothing back.
    first.postman.finish(platform, first.at)
    assert now_is(platform, kept).sequence == 6
    happen(platform, kept, 1)
    first.at = second.at
    assert not first.turn()
    second.turn()
    assert places(receiver.got[2]) == [7]


def test_a_failure_that_another_process_noted_later_moves_nothing_back(
    platform: Platform, kept: CampaignRow, receiver: Receiver
) -> None:
    added(platform, kept, receiver)
    receiver.first["ok"] = ["500"]
    first, second = Office(platform, "first"), Office(platform, "second")
    audit.link_pending_events(platform)
    first.runner.turn()
    for one in first.postman.under_way.values():
        assert not one.answer.result(30).taken
    second.forward(seconds=LEASE_DURATION.total_seconds()).turn()
    first.postman.finish(platform, first.at)
    found = now_is(platform, kept)
    assert (found.state, found.sequence) == ("active", 3)


def test_who_is_let_go_on_while_it_fails_once_more_begins_anew(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    made, _ = added(platform, kept, receiver)
    receiver.first["ok"] = ["500", "500"]
    office.turn()
    office.forward(seconds=5)
    assert office.runner.turn()
    webhooks.resume_webhook(platform, "pilot", made.id, post=POST, staff_id=kept.staff_id, now=office.at)
    # This failure was on its way when the owner said so, and does not make it wait.
    office.postman.finish(platform, office.at)
    found = now_is(platform, kept)
    assert (found.state, found.due_at) == ("active", office.at)
    office.turn()
    assert now_is(platform, kept).sequence == 3


def test_what_was_withdrawn_is_not_told_also_where_it_is_tried_again(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    added(platform, kept, receiver)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    receiver.first["ok"] = ["500"]
    office.turn()
    assert kinds(receiver) == ["created", "state_changed", "webhook_changed", "entered", "consented"]
    assert all(rater.id.encode() not in one.body for one in receiver.got)
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    office.forward(hours=1).turn()
    office.turn()
    assert [places(one) for one in receiver.got[1:]] == [[1, 2, 3], [6]]
    assert (data_of(receiver.got[1])["through"], data_of(receiver.got[2])["after"]) == (5, 5)
    assert [one["kind"] for one in data_of(receiver.got[2])["events"]] == ["withdrawn"]


def test_all_of_a_batch_that_failed_was_withdrawn(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    audit.link_pending_events(platform)
    added(platform, kept, receiver, kinds=("entered", "consented"), after=2)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    receiver.first["ok"] = ["500"]
    office.turn()
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    office.forward(hours=1).turn()
    assert len(receiver.got) == 1
    found = now_is(platform, kept)
    assert (found.state, found.sequence, found.delivered_at) == ("active", 5, None)


def test_who_owns_it_no_more_hears_no_more_until_another_owner_says_so(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    members.add_member(platform, "pilot", "grace", "owner", staff_id=kept.staff_id, now=NOW)
    grace = next(
        one
        for one in members.list_members(platform, "pilot", staff_id=kept.staff_id, now=NOW)[0]
        if one.name == "grace"
    )
    added(platform, kept, receiver)
    office.turn()
    members.remove_member(platform, "pilot", "owner", staff_id=grace.staff_id, now=NOW)
    office.turn()
    assert len(receiver.got) == 1
    (found,) = webhooks.list_webhooks(platform, "pilot", staff_id=grace.staff_id)
    assert found.pause_reason.startswith("Who answers for it is no owner of the campaign any more.")
    webhooks.resume_webhook(platform, "pilot", found.id, post=POST, staff_id=grace.staff_id, now=NOW)
    office.turn()
    assert [one["kind"] for one in data_of(receiver.got[1])["events"]] == [
        "members_changed",
        "webhook_changed",
        "webhook_changed",
    ]


def test_another_key_of_the_site_pauses_what_nobody_could_check_any_more(
    platform: Platform, kept: CampaignRow, receiver: Receiver
) -> None:
    made, _ = added(platform, kept, receiver)
    other = WebhookSigner("another key of the site, made after the first was lost", POST.sender)
    Office(platform, post=other).turn()
    assert receiver.got == []
    assert now_is(platform, kept).pause_reason.startswith(
        "The secret key of the site is another one since it was added"
    )
    with pytest.raises(Conflict, match="Remove it, and add it again"):
        webhooks.resume_webhook(platform, "pilot", made.id, post=other, staff_id=kept.staff_id, now=NOW)


def test_a_name_that_leads_inside_later_is_not_asked(platform: Platform, kept: CampaignRow, receiver: Receiver) -> None:
    found = [["93.184.215.14"], ["10.0.0.1"]]
    sender = replace(POST.sender, resolve=lambda *_: found.pop(0))
    post = WebhookSigner(POST.secret, sender)
    wanted = NewWebhook(address="https://hooks.example.org/", after=0)
    webhooks.add_webhook(platform, "pilot", wanted, post=post, staff_id=kept.staff_id, now=NOW)
    Office(platform, post=post).turn()
    assert now_is(platform, kept).failure_reason == "it has no address that may be asked"


def test_a_campaign_that_is_closed_is_still_told_of(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    added(platform, kept, receiver, kinds=("state_changed",), after=None)
    campaigns.change_state(platform, "pilot", "closed", staff_id=kept.staff_id, now=NOW)
    office.turn()
    assert [one["content"] for got in receiver.got for one in data_of(got)["events"]][-1] == {"to": "closed"}


def test_one_that_was_removed_while_something_was_on_its_way(
    platform: Platform, kept: CampaignRow, receiver: Receiver, office: Office
) -> None:
    made, _ = added(platform, kept, receiver, "brief")
    audit.link_pending_events(platform)
    office.runner.turn()
    webhooks.remove_webhook(platform, "pilot", made.id, staff_id=kept.staff_id, now=NOW)
    office.turn()
    office.turn()
    assert len(receiver.got) == 1
    assert webhooks.list_webhooks(platform, "pilot", staff_id=kept.staff_id) == ()


def test_everything_that_is_wrong_with_one_is_told_at_once(platform: Platform, kept: CampaignRow) -> None:
    wanted = NewWebhook(address="https://10.0.0.1/", kinds=("submitt", "erased"), after=99)
    with pytest.raises(InvalidInput) as caught:
        webhooks.add_webhook(platform, "pilot", wanted, post=POST, staff_id=kept.staff_id, now=NOW)
    assert str(caught.value).splitlines() == [
        "'10.0.0.1' is nowhere on the public internet.",
        "'submitt' is no kind of event. Did you mean 'item_submitted'?",
        "'erased' is no kind of event. Did you mean 'notice_raised'?",
        "after is 99, and the log has 0 events. Give a place from 0 to that.",
    ]


def test_a_campaign_has_some_and_no_more(platform: Platform, kept: CampaignRow, receiver: Receiver) -> None:
    for _ in range(MAX_WEBHOOKS):
        added(platform, kept, receiver)
    with pytest.raises(Conflict, match="has 10 webhooks, and can have no more"):
        added(platform, kept, receiver)
    for act in (webhooks.remove_webhook, lambda *args, **options: webhooks.resume_webhook(*args, post=POST, **options)):
        with pytest.raises(NotFound, match="There is no webhook 'x' here"):
            act(platform, "pilot", "x", staff_id=kept.staff_id, now=NOW)
