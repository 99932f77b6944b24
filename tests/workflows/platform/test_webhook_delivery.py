"""Webhook deliveries: signed, in order, at least once, and independent of other receivers."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.support.campaigns import AGREED, NOW, open_campaign
from tests.support.webhook_deliverer import (
    SIGNER,
    WebhookDeliverer,
    add_webhook,
    data_of,
    is_signed,
    kinds,
    load_webhook,
    sequence_numbers,
)
from tests.support.webhook_receiver import Receiver, receiving

from dissensus.campaign.webhooks.batches import MAX_BATCH_EVENTS, PAUSE_AFTER
from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.store import audit_log
from dissensus.store import webhooks as store
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import audit, campaigns, members, overview, webhooks
from dissensus.workflows.campaign.webhooks import MAX_WEBHOOKS, NewWebhook, WebhookSigner
from dissensus.workflows.jobs import LEASE_DURATION
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.webhook_delivery import MAX_SKIPPED_EVENTS
from dissensus.workflows.rater import enrolment, withdrawal
from dissensus.workflows.rater.enrolment import Arrival


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as state:
        yield state


@pytest.fixture
def deliverer(platform: Platform) -> WebhookDeliverer:
    return WebhookDeliverer(platform)


@pytest.fixture
def campaign(platform: Platform) -> CampaignRow:
    return open_campaign(platform, 2)


def append_events(platform: Platform, campaign: CampaignRow, n: int, kind: str = "exported") -> None:
    """Append `n` events."""
    with platform.database.writing() as tx:
        for number in range(n):
            audit_log.append_event(tx, campaign.id, kind, {"n": number}, staff_id=campaign.staff_id, now=NOW)  # type: ignore[arg-type]


def test_events_are_delivered_signed_and_once(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    webhook, secret = add_webhook(platform, campaign, receiver)
    assert deliverer.turn()
    (request,) = receiver.requests
    assert is_signed(request, secret)
    assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert request.headers["webhook-id"] == f"msg_{webhook.id}_1_3"
    assert request.headers["content-type"] == "application/json"
    body = data_of(request)
    assert {name: body[name] for name in body if name != "events"} == {
        "campaign": "pilot",
        "webhook": webhook.id,
        "after": 0,
        "through": 3,
        "last_sequence": 3,
    }
    assert [(one["sequence"], one["kind"]) for one in body["events"]] == [
        (1, "created"),
        (2, "state_changed"),
        (3, "webhook_changed"),
    ]
    assert body["events"][2]["content"] == {"webhook": webhook.id, "change": "added", "host": "127.0.0.1"}
    deliverer.turn()
    assert len(receiver.requests) == 1
    append_events(platform, campaign, 2)
    deliverer.turn()
    assert (sequence_numbers(receiver.requests[1]), data_of(receiver.requests[1])["after"]) == ([4, 5], 3)
    stored = load_webhook(platform, campaign)
    assert (stored.state, stored.sequence, stored.last_sequence, stored.delivered_at) == ("active", 5, 5, NOW)


def test_a_new_webhook_starts_with_its_creation_or_after_a_given_event(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    audit.link_pending_events(platform)
    add_webhook(platform, campaign, receiver, after=None)
    add_webhook(platform, campaign, receiver, path="ok/second", after=1)
    deliverer.turn()
    assert [sequence_numbers(one) for one in receiver.at("ok")] == [[3, 4]]
    assert [sequence_numbers(one) for one in receiver.at("ok/second")] == [[2, 3, 4]]


def test_many_events_are_delivered_in_batches(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    add_webhook(platform, campaign, receiver)
    append_events(platform, campaign, 2 * MAX_BATCH_EVENTS)
    for _ in range(4):
        deliverer.turn()
    assert [len(sequence_numbers(one)) for one in receiver.requests] == [100, 100, 3]
    assert [place for one in receiver.requests for place in sequence_numbers(one)] == list(range(1, 204))
    assert [(data_of(one)["after"], data_of(one)["through"]) for one in receiver.requests] == [
        (0, 100),
        (100, 200),
        (200, 203),
    ]


def test_unrequested_kinds_are_skipped_without_a_gap(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    add_webhook(platform, campaign, receiver, kinds=("state_changed", "payment_recorded"))
    deliverer.turn()
    assert kinds(receiver) == ["state_changed"]
    append_events(platform, campaign, MAX_SKIPPED_EVENTS)
    deliverer.turn()
    # They are skipped without a delivery.
    assert load_webhook(platform, campaign).sequence == 3 + MAX_SKIPPED_EVENTS
    append_events(platform, campaign, 1, "payment_recorded")
    deliverer.turn()
    assert [data_of(one)["after"] for one in receiver.requests] == [0, 3 + MAX_SKIPPED_EVENTS]
    assert kinds(receiver) == ["state_changed", "payment_recorded"]


def test_failed_deliveries_are_repeated_unchanged_with_growing_delays(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    _, secret = add_webhook(platform, campaign, receiver)
    receiver.first["ok"] = ["500", "302", "404"]
    deliverer.turn()
    stored = load_webhook(platform, campaign)
    assert (stored.state, stored.failure_reason, stored.n_failures) == ("failing", "it answered HTTP 500", 1)
    assert stored.due_at - NOW == timedelta(seconds=5)
    # Later events wait: the failed batch is repeated unchanged, under the same id.
    append_events(platform, campaign, 2)
    deliverer.turn()
    assert len(receiver.requests) == 1
    deliverer.forward(seconds=5).turn()
    assert load_webhook(platform, campaign).due_at - deliverer.at == timedelta(seconds=10)
    deliverer.forward(seconds=10).turn()
    deliverer.forward(seconds=20).turn()
    assert [sequence_numbers(one) for one in receiver.requests] == [[1, 2, 3]] * 4
    assert len({one.headers["webhook-id"] for one in receiver.requests}) == 1
    assert len({one.headers["webhook-timestamp"] for one in receiver.requests}) == 4
    assert all(is_signed(one, secret) for one in receiver.requests)
    deliverer.turn()
    assert sequence_numbers(receiver.requests[4]) == [4, 5]
    stored = load_webhook(platform, campaign)
    assert (stored.state, stored.failure_reason, stored.failing_since, stored.sequence) == ("active", "", None, 5)


@pytest.mark.parametrize(
    ("path", "wait"),
    [("later", timedelta(minutes=30)), ("much-later", timedelta(hours=6)), ("500", timedelta(seconds=5))],
)
def test_retry_after_is_honoured_within_limits(
    platform: Platform,
    campaign: CampaignRow,
    receiver: Receiver,
    deliverer: WebhookDeliverer,
    path: str,
    wait: timedelta,
) -> None:
    add_webhook(platform, campaign, receiver, path)
    deliverer.turn()
    assert load_webhook(platform, campaign).due_at - NOW == wait


def test_retries_are_jittered(platform: Platform, campaign: CampaignRow, receiver: Receiver) -> None:
    add_webhook(platform, campaign, receiver, "500")
    deliverer = WebhookDeliverer(platform, chance=0.0)
    deliverer.turn()
    assert load_webhook(platform, campaign).due_at - NOW == timedelta(seconds=2.5)


@pytest.mark.slow
def test_five_days_of_failures_pause_a_webhook_that_resumes_where_it_stopped(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    add_webhook(platform, campaign, receiver)
    receiver.first["ok"] = ["503"] * 60
    deliverer.turn_hourly(days=4, hours=20)
    assert load_webhook(platform, campaign).state == "failing"
    deliverer.turn_hourly(hours=16)
    paused = load_webhook(platform, campaign)
    assert paused.pause_reason == "No delivery succeeded for 5 days: it answered HTTP 503."
    assert paused.sequence == 0
    assert deliverer.at - NOW > PAUSE_AFTER
    # The delays grow from seconds to hours.
    n = len(receiver.requests)
    assert 20 < n < 60
    for _ in range(2):
        deliverer.forward(days=15).turn()
    assert len(receiver.requests) == n
    receiver.first.clear()
    resumed = webhooks.resume_webhook(
        platform, "pilot", paused.id, signer=SIGNER, staff_id=campaign.staff_id, now=deliverer.at
    )
    assert resumed.id == paused.id
    deliverer.turn()
    deliverer.turn()
    assert (
        load_webhook(platform, campaign).state,
        sequence_numbers(receiver.requests[n]),
        sequence_numbers(receiver.requests[n + 1]),
    ) == (
        "active",
        [1, 2, 3],
        [4, 5],
    )
    assert [event["content"]["change"] for event in data_of(receiver.requests[n + 1])["events"]] == [
        "paused",
        "resumed",
    ]


def test_http_410_pauses_a_webhook_at_once(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    add_webhook(platform, campaign, receiver, "410")
    deliverer.turn()
    deliverer.forward(days=1).turn()
    assert len(receiver.requests) == 1
    assert load_webhook(platform, campaign).pause_reason == "It answered HTTP 410 Gone."


def test_an_automatic_pause_is_one_event(platform: Platform, campaign: CampaignRow, receiver: Receiver) -> None:
    active, stale = WebhookDeliverer(platform), WebhookDeliverer(platform, holder="two")
    webhook, _ = add_webhook(platform, campaign, receiver, "410")
    add_webhook(platform, campaign, receiver, kinds=("webhook_changed",))
    audit.link_pending_events(platform)
    # A process that has lost its lease sends first, and stores its result last.
    stale.dispatcher(platform, NOW)
    active.turn()
    stale.dispatcher.finish(platform, NOW)
    active.turn()
    with platform.database.reading() as tx:
        paused_events = [
            event
            for event in audit_log.iterate_events(tx, campaign.id, "webhook_changed")
            if event.content["change"] == "paused"
        ]
    assert [(event.staff_id, event.content["webhook"], event.content["host"]) for event in paused_events] == [
        (None, webhook.id, "127.0.0.1")
    ]
    assert [event["content"]["change"] for event in data_of(receiver.at("ok")[-1])["events"]] == ["paused"]


def test_a_webhook_is_paused_once_and_only_for_its_owner(
    platform: Platform, campaign: CampaignRow, receiver: Receiver
) -> None:
    add_webhook(platform, campaign, receiver)
    audit.link_pending_events(platform)
    with platform.database.writing() as tx:
        (webhook,) = store.list_due_webhooks(tx, now=NOW)
        assert not store.pause_webhook(tx, replace(webhook, staff_id="another"), "Of a former owner.")
        assert [store.pause_webhook(tx, webhook, reason) for reason in ("First.", "Second.")] == [True, False]
    assert load_webhook(platform, campaign).pause_reason == "First."


def test_a_long_backlog_is_delivered(platform: Platform, campaign: CampaignRow, receiver: Receiver) -> None:
    deliverer = WebhookDeliverer(platform)
    deliverer.dispatcher.max_duration_s = 60.0
    add_webhook(platform, campaign, receiver)
    append_events(platform, campaign, 1_000)
    deliverer.turn()
    assert [place for got in receiver.requests for place in sequence_numbers(got)] == list(range(1, 1_004))
    assert load_webhook(platform, campaign).state == "active"


def test_outcomes_of_deliveries_are_counted(platform: Platform, campaign: CampaignRow, receiver: Receiver) -> None:
    deliverer, counted = WebhookDeliverer(platform), Counter[str]()
    deliverer.dispatcher.count = lambda outcome: counted.update([outcome])
    for path in ("ok", "500", "nonsense"):
        add_webhook(platform, campaign, receiver, path)
    deliverer.turn()
    assert counted == {"taken": 1, "refused": 1, "unanswered": 1}
    assert overview.count_platform(platform).webhooks == {"active": 1, "failing": 2, "paused": 0}


def test_a_slow_receiver_does_not_delay_others(platform: Platform, campaign: CampaignRow, receiver: Receiver) -> None:
    add_webhook(platform, campaign, receiver, "silent")
    for number in range(3):
        add_webhook(platform, campaign, receiver, f"ok/{number}")
    deliverer = WebhookDeliverer(platform, signer=WebhookSigner(SIGNER.keys, replace(SIGNER.sender, limit_s=0.5)))
    audit.link_pending_events(platform)
    assert deliverer.runner.run_once()
    # The turn ends while the silent receiver has not answered.
    assert len(deliverer.dispatcher.deliveries) == 4
    append_events(platform, campaign, 1)
    assert audit.link_pending_events(platform) == 1
    fast_deliveries = [
        delivery for delivery in deliverer.dispatcher.deliveries.values() if "silent" not in delivery.webhook.address
    ]
    for delivery in fast_deliveries:
        assert delivery.result.result(30).accepted
    assert deliverer.runner.run_once()
    deliverer.dispatcher.finish(platform, NOW)
    assert [len(receiver.at(f"ok/{number}")) for number in range(3)] == [2, 2, 2]
    # One delivery at a time: the silent receiver gets no second request.
    assert len(receiver.at("silent")) == 1
    troubles = {
        webhook.failure_reason for webhook in webhooks.list_webhooks(platform, "pilot", staff_id=campaign.staff_id)
    }
    assert troubles == {"", "no answer within 0.5 seconds"}


def test_another_process_takes_over_without_losing_events(
    platform: Platform, campaign: CampaignRow, receiver: Receiver
) -> None:
    add_webhook(platform, campaign, receiver)
    first, second = WebhookDeliverer(platform, "first"), WebhookDeliverer(platform, "second")
    audit.link_pending_events(platform)
    assert first.runner.run_once()
    for delivery in first.dispatcher.deliveries.values():
        assert delivery.result.result(30).accepted
    # The first process dies before it stores the result: the second sends the batch again, with the same id.
    assert not second.turn()
    append_events(platform, campaign, 3)
    assert second.forward(seconds=LEASE_DURATION.total_seconds()).turn()
    second.turn()
    assert [sequence_numbers(request) for request in receiver.requests] == [[1, 2, 3], [1, 2, 3, 4, 5, 6]]
    assert load_webhook(platform, campaign).sequence == 6
    # The late result of the first process does not move the position back.
    first.dispatcher.finish(platform, first.at)
    assert load_webhook(platform, campaign).sequence == 6
    append_events(platform, campaign, 1)
    first.at = second.at
    assert not first.turn()
    second.turn()
    assert sequence_numbers(receiver.requests[2]) == [7]


def test_a_late_failure_of_another_process_moves_nothing_back(
    platform: Platform, campaign: CampaignRow, receiver: Receiver
) -> None:
    add_webhook(platform, campaign, receiver)
    receiver.first["ok"] = ["500"]
    first, second = WebhookDeliverer(platform, "first"), WebhookDeliverer(platform, "second")
    audit.link_pending_events(platform)
    first.runner.run_once()
    for delivery in first.dispatcher.deliveries.values():
        assert not delivery.result.result(30).accepted
    second.forward(seconds=LEASE_DURATION.total_seconds()).turn()
    first.dispatcher.finish(platform, first.at)
    stored = load_webhook(platform, campaign)
    assert (stored.state, stored.sequence) == ("active", 3)


def test_resuming_during_a_failing_delivery_resets_the_delay(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    webhook, _ = add_webhook(platform, campaign, receiver)
    receiver.first["ok"] = ["500", "500"]
    deliverer.turn()
    deliverer.forward(seconds=5)
    assert deliverer.runner.run_once()
    webhooks.resume_webhook(platform, "pilot", webhook.id, signer=SIGNER, staff_id=campaign.staff_id, now=deliverer.at)
    # This failure was under way when the owner resumed the webhook, and does not delay it.
    deliverer.dispatcher.finish(platform, deliverer.at)
    stored = load_webhook(platform, campaign)
    assert (stored.state, stored.due_at) == ("active", deliverer.at)
    deliverer.turn()
    assert load_webhook(platform, campaign).sequence == 3


def test_retries_leave_out_events_of_withdrawn_raters(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    add_webhook(platform, campaign, receiver)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    receiver.first["ok"] = ["500"]
    deliverer.turn()
    assert kinds(receiver) == ["created", "state_changed", "webhook_changed", "entered", "consented"]
    assert all(rater.id.encode() not in one.body for one in receiver.requests)
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    deliverer.forward(hours=1).turn()
    deliverer.turn()
    assert [sequence_numbers(one) for one in receiver.requests[1:]] == [[1, 2, 3], [6]]
    assert (data_of(receiver.requests[1])["through"], data_of(receiver.requests[2])["after"]) == (5, 5)
    assert [one["kind"] for one in data_of(receiver.requests[2])["events"]] == ["withdrawn"]


def test_a_failed_batch_that_was_entirely_withdrawn_is_skipped(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    audit.link_pending_events(platform)
    add_webhook(platform, campaign, receiver, kinds=("entered", "consented"), after=2)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    receiver.first["ok"] = ["500"]
    deliverer.turn()
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    deliverer.forward(hours=1).turn()
    assert len(receiver.requests) == 1
    stored = load_webhook(platform, campaign)
    assert (stored.state, stored.sequence, stored.delivered_at) == ("active", 5, None)


def test_removing_its_owner_pauses_a_webhook_until_another_owner_resumes_it(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    members.add_member(platform, "pilot", "grace", "owner", staff_id=campaign.staff_id, now=NOW)
    grace = next(
        one
        for one in members.list_members(platform, "pilot", staff_id=campaign.staff_id, now=NOW).members
        if one.name == "grace"
    )
    add_webhook(platform, campaign, receiver)
    deliverer.turn()
    members.remove_member(platform, "pilot", "owner", staff_id=grace.staff_id, now=NOW)
    deliverer.turn()
    assert len(receiver.requests) == 1
    (paused,) = webhooks.list_webhooks(platform, "pilot", staff_id=grace.staff_id)
    assert paused.pause_reason.startswith("The person responsible for it is no longer an owner of the campaign.")
    webhooks.resume_webhook(platform, "pilot", paused.id, signer=SIGNER, staff_id=grace.staff_id, now=NOW)
    deliverer.turn()
    assert [one["kind"] for one in data_of(receiver.requests[1])["events"]] == [
        "members_changed",
        "webhook_changed",
        "webhook_changed",
    ]


def test_a_changed_secret_key_pauses_webhooks(platform: Platform, campaign: CampaignRow, receiver: Receiver) -> None:
    webhook, _ = add_webhook(platform, campaign, receiver)
    other_signer = WebhookSigner(SecretKeys("another key of the site, made after the first was lost"), SIGNER.sender)
    WebhookDeliverer(platform, signer=other_signer).turn()
    assert receiver.requests == []
    assert load_webhook(platform, campaign).pause_reason.startswith(
        "The secret key of the site has changed since it was added"
    )
    with pytest.raises(Conflict, match="Remove it, and add it again"):
        webhooks.resume_webhook(platform, "pilot", webhook.id, signer=other_signer, staff_id=campaign.staff_id, now=NOW)


def test_a_host_that_later_resolves_to_a_private_address_is_not_requested(
    platform: Platform, campaign: CampaignRow, receiver: Receiver
) -> None:
    addresses = [["93.184.215.14"], ["10.0.0.1"]]
    sender = replace(SIGNER.sender, resolve=lambda *_: addresses.pop(0))
    signer = WebhookSigner(SIGNER.keys, sender)
    new_webhook = NewWebhook(address="https://hooks.example.org/", after=0)
    webhooks.add_webhook(platform, "pilot", new_webhook, signer=signer, staff_id=campaign.staff_id, now=NOW)
    WebhookDeliverer(platform, signer=signer).turn()
    assert load_webhook(platform, campaign).failure_reason == "it has no allowed address"


def test_events_of_closed_campaigns_are_delivered(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    add_webhook(platform, campaign, receiver, kinds=("state_changed",), after=None)
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=NOW)
    deliverer.turn()
    assert [one["content"] for got in receiver.requests for one in data_of(got)["events"]][-1] == {"state": "closed"}


def test_a_webhook_can_be_removed_during_a_delivery(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, deliverer: WebhookDeliverer
) -> None:
    webhook, _ = add_webhook(platform, campaign, receiver, "brief")
    audit.link_pending_events(platform)
    deliverer.runner.run_once()
    webhooks.remove_webhook(platform, "pilot", webhook.id, staff_id=campaign.staff_id, now=NOW)
    deliverer.turn()
    deliverer.turn()
    assert len(receiver.requests) == 1
    assert webhooks.list_webhooks(platform, "pilot", staff_id=campaign.staff_id) == ()


def test_every_mistake_in_a_webhook_is_reported_at_once(platform: Platform, campaign: CampaignRow) -> None:
    new_webhook = NewWebhook(address="https://10.0.0.1/", kinds=("submitt", "erased"), after=99)
    with pytest.raises(InvalidInput) as caught:
        webhooks.add_webhook(platform, "pilot", new_webhook, signer=SIGNER, staff_id=campaign.staff_id, now=NOW)
    assert str(caught.value).splitlines() == [
        "'10.0.0.1' is not on the public internet.",
        "'submitt' is not a kind of event. Did you mean 'item_submitted'?",
        "'erased' is not a kind of event. Did you mean 'released'?",
        "after is 99, and the log has 0 events. Give a number from 0 to that.",
    ]


def test_the_number_of_webhooks_is_limited(platform: Platform, campaign: CampaignRow, receiver: Receiver) -> None:
    for _ in range(MAX_WEBHOOKS):
        add_webhook(platform, campaign, receiver)
    with pytest.raises(Conflict, match="has 10 webhooks, and can have no more"):
        add_webhook(platform, campaign, receiver)
    for action in (
        webhooks.remove_webhook,
        lambda *args, **options: webhooks.resume_webhook(*args, signer=SIGNER, **options),
    ):
        with pytest.raises(NotFound, match="There is no webhook 'x' here"):
            action(platform, "pilot", "x", staff_id=campaign.staff_id, now=NOW)


def test_webhooks_keep_their_secret_while_an_old_key_is_kept(
    platform: Platform, campaign: CampaignRow, receiver: Receiver
) -> None:
    webhook, secret = add_webhook(platform, campaign, receiver)
    keys = SecretKeys("a new key of the site, with which it signs now", (SIGNER.keys.current,))
    rotated = WebhookSigner(keys, SIGNER.sender)
    WebhookDeliverer(platform, signer=rotated).turn()
    assert is_signed(receiver.requests[0], secret)
    assert rotated.find_secret(webhook) == secret != rotated.derive_new_secret(webhook.id)
