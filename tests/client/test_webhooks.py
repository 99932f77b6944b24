"""Webhooks of the client: management, and verification of deliveries."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from tests.support.campaigns import NOW
from tests.support.live_site import LiveSite, serving
from tests.support.loopback_server import serve_requests
from tests.support.paths import ROOT
from tests.support.staff_site import StaffSite, create_draft
from tests.support.webhook_deliverer import WebhookDeliverer
from tests.support.webhook_receiver import Receiver, receiving

from dissensus import Client, InvalidInput, NotAllowed, NotFound
from dissensus.campaign.audit_log import EventKind
from dissensus.campaign.public_events import EVENT_KINDS
from dissensus.campaign.webhooks.signatures import derive_secret, sign_webhook
from dissensus.client import VerifiedDelivery, verify_webhook

SECRET = derive_secret("of a site", "of a webhook")
DATA: dict[str, Any] = {"campaign": "pilot", "webhook": "w", "after": 0, "through": 1, "last_sequence": 2, "events": []}
BODY = json.dumps({"type": "campaign.events", "timestamp": None, "data": DATA}).encode()


@pytest.fixture
def live(database_url: str) -> Iterator[LiveSite]:
    with serving(database_url, webhook_networks="127.0.0.0/8") as site:
        yield site


@pytest.fixture
def staff_site(live: LiveSite) -> Iterator[StaffSite]:
    with ExitStack() as browsers:
        yield StaffSite(live, browsers)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as state:
        yield state


def test_a_webhook_from_creation_to_delivery(staff_site: StaffSite, client: Client, receiver: Receiver) -> None:
    create_draft(staff_site)
    webhook = client.add_webhook("pilot", receiver.address("ok"), kinds=["webhook_changed", "created"], after=0)
    assert webhook.secret is not None
    assert webhook.secret not in repr(webhook)
    receiver.first["ok"] = ["410"]
    deliverer = WebhookDeliverer(staff_site.platform, signer=staff_site.live.site.webhook_signer)
    deliverer.turn()
    (listed,) = client.webhooks("pilot")
    assert "secret" not in listed.model_dump()
    assert (listed.state, listed.kinds) == ("paused", ("created", "webhook_changed"))
    assert client.resume_webhook("pilot", webhook.id).state == "active"
    deliverer.turn()
    deliverer.turn()
    first, second = (
        verify_webhook(webhook.secret, request.headers, request.body, now=NOW + timedelta(minutes=4))
        for request in receiver.requests[1:]
    )
    assert isinstance(first, VerifiedDelivery)
    assert (first.campaign, first.webhook, first.after, first.through) == ("pilot", webhook.id, 0, 2)
    assert (second.after, second.through, second.last_sequence) == (2, 4, 4)
    assert [*first.events, *second.events] == list(client.events("pilot"))
    client.remove_webhook("pilot", webhook.id)
    assert client.webhooks("pilot") == ()
    with pytest.raises(NotFound, match="There is no webhook"):
        client.remove_webhook("pilot", webhook.id)
    with pytest.raises(InvalidInput, match="is not a webhook address"):
        client.add_webhook("pilot", "example.org")


def headers(**changes: str) -> dict[str, str]:
    return {**sign_webhook(SECRET, "msg_1", BODY, now=NOW), **changes}


def test_a_signed_delivery_is_accepted_in_any_case_of_headers() -> None:
    delivery = verify_webhook(SECRET, {name.title(): value for name, value in headers().items()}, BODY, now=NOW)
    assert (delivery.id, delivery.campaign, delivery.events) == ("msg_1", "pilot", ())
    # During a change of secrets there may be several signatures, of several versions.
    several = f"v1a,xyz v1,AAAA {headers()['webhook-signature']}"
    assert verify_webhook(SECRET, headers(**{"webhook-signature": several}), BODY, now=NOW) == delivery


@pytest.mark.parametrize(
    "changes",
    [
        {"webhook-id": "msg_2"},
        {"webhook-timestamp": str(int(NOW.timestamp()) + 1)},
        {"webhook-timestamp": "now"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,ä\udcff"},
        {"webhook-signature": "v2," + headers()["webhook-signature"].removeprefix("v1,")},
        {
            "webhook-signature": sign_webhook(derive_secret("of a site", "of another"), "msg_1", BODY, now=NOW)[
                "webhook-signature"
            ]
        },
    ],
)
def test_a_forged_delivery_is_rejected(changes: dict[str, str]) -> None:
    with pytest.raises(NotAllowed, match="is not signed with the secret of this webhook"):
        verify_webhook(SECRET, headers(**changes), BODY, now=NOW)


def test_a_changed_body_is_rejected() -> None:
    with pytest.raises(NotAllowed, match="is not signed"):
        verify_webhook(SECRET, headers(), BODY + b" ", now=NOW)
    with pytest.raises(InvalidInput, match="bytes received"):
        verify_webhook(SECRET, headers(), BODY.decode(), now=NOW)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"now is 2.*, without a time zone"):
        verify_webhook(SECRET, headers(), BODY, now=NOW.replace(tzinfo=None))


@pytest.mark.parametrize("offset", [timedelta(minutes=5, seconds=1), timedelta(minutes=-5, seconds=-1)])
def test_an_old_delivery_is_rejected(offset: timedelta) -> None:
    verify_webhook(SECRET, headers(), BODY, now=NOW + offset * (300 / 301))
    with pytest.raises(NotAllowed, match="too far from now"):
        verify_webhook(SECRET, headers(), BODY, now=NOW + offset)
    verify_webhook(SECRET, headers(), BODY, now=NOW + offset, tolerance=timedelta(days=2))
    with pytest.raises(NotAllowed, match="too far from now"):
        verify_webhook(SECRET, headers(), BODY, now=datetime(2040, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_AAAA", "whsec_ä", "not a secret", "whsec_ " + "A" * 44])
def test_an_invalid_secret_is_rejected_and_not_shown(secret: str) -> None:
    with pytest.raises(InvalidInput, match="not the secret of a webhook") as caught:
        verify_webhook(secret, headers(), BODY, now=NOW)
    assert len(secret) < 7 or secret not in str(caught.value)


def test_a_secret_has_24_bytes_or_more() -> None:
    shortest, shorter = (f"whsec_{base64.b64encode(bytes(n)).decode()}" for n in (24, 23))
    assert verify_webhook(shortest, sign_webhook(shortest, "msg_1", BODY, now=NOW), BODY, now=NOW).id == "msg_1"
    with pytest.raises(InvalidInput, match="not the secret of a webhook"):
        sign_webhook(shorter, "msg_1", BODY, now=NOW)


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[1]", b'{"type": "campaign.events"}', b"\xff", BODY.replace(b"campaign.events", b"other")]
)
def test_a_signed_body_of_another_type_is_rejected(body: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"The signature is valid, but the type is not campaign\.events"):
        verify_webhook(SECRET, sign_webhook(SECRET, "msg_1", body, now=NOW), body, now=NOW)


def test_the_documented_receiver_accepts_deliveries(
    staff_site: StaffSite, client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "http.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n([^`]*verify_webhook[^`]*)```", page, re.MULTILINE)
    names: dict[str, Any] = {"__name__": "docs"}
    exec(code, names)
    create_draft(staff_site)
    with serve_requests(names["Receiver"]) as address:
        webhook = client.add_webhook("pilot", f"{address}/", after=0)
        deliverer = WebhookDeliverer(
            staff_site.platform, signer=staff_site.live.site.webhook_signer, at=datetime.now(UTC)
        )
        monkeypatch.setenv("WEBHOOK_SECRET", SECRET)
        deliverer.turn()
        assert client.webhooks("pilot")[0].failure_reason == "it answered HTTP 400"
        monkeypatch.setenv("WEBHOOK_SECRET", str(webhook.secret))
        deliverer.forward(seconds=10).turn()
    assert client.webhooks("pilot")[0].sequence == 2
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["1", "created"],
        ["2", "webhook_changed"],
    ]


def test_the_documentation_has_every_event_kind() -> None:
    page = (ROOT / "docs" / "http.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", page.split("| Kind | Description |")[1], re.MULTILINE)
    assert dict(rows) == {kind: description.text for kind, description in EVENT_KINDS.items()}
    assert {*EVENT_KINDS, "erased"} == set(get_args(EventKind))
