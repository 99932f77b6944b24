"""Webhook requests: allowed addresses, time limits and response limits."""

import socket
import ssl
import tracemalloc
from collections.abc import Iterator
from ipaddress import ip_network

import pytest
from tests.support.loopback_server import CERTIFICATE
from tests.support.webhook_receiver import Receiver, receiving

from dissensus.errors import InvalidInput
from dissensus.webhook_transport import DeliveryResult, WebhookSender, parse_networks

HOME = parse_networks("127.0.0.0/8, ::1/128")
PUBLIC = "93.184.215.14"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as state:
        yield state


def send_to(receiver: Receiver, path: str, limit_s: float = 10.0) -> DeliveryResult:
    return WebhookSender(networks=HOME, limit_s=limit_s).send(receiver.address(path), {"X-One": "1"}, b"{}")


def test_a_request_arrives_with_body_and_headers(receiver: Receiver) -> None:
    assert send_to(receiver, "ok?of=pilot") == DeliveryResult(204)
    (request,) = receiver.requests
    assert (request.path, request.body, request.headers["x-one"], request.headers["user-agent"]) == (
        "/ok",
        b"{}",
        "1",
        "dissensus",
    )
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("500", 500, "it answered HTTP 500"),
        ("400", 400, "it answered HTTP 400"),
        ("410", 410, "it answered HTTP 410"),
        ("300", 300, "it answered HTTP 300, and redirects are not followed"),
        ("redirect", 302, "it answered HTTP 302, and redirects are not followed"),
        ("nonsense", None, "the connection broke, or the answer is not HTTP"),
    ],
)
def test_failures_are_reported(receiver: Receiver, path: str, status: int | None, reason: str) -> None:
    result = send_to(receiver, path)
    assert (result, result.accepted) == (DeliveryResult(status, reason), False)
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("status", [200, 299])
def test_every_success_status_accepts_a_delivery(receiver: Receiver, status: int) -> None:
    result = send_to(receiver, str(status))
    assert (result, result.accepted) == (DeliveryResult(status), True)


def test_retry_after_is_reported(receiver: Receiver) -> None:
    assert send_to(receiver, "later").retry_after_s == 1800


def test_an_invalid_retry_after_is_ignored(receiver: Receiver) -> None:
    assert send_to(receiver, "no-time") == DeliveryResult(410, "it answered HTTP 410")


@pytest.mark.parametrize("path", ["silent", "dripping", "continuing"])
def test_a_slow_receiver_is_abandoned_in_time(receiver: Receiver, path: str) -> None:
    # Each header arrives within the limit; all of them together do not.
    assert send_to(receiver, path, 0.2) == DeliveryResult(None, "no answer within 0.2 seconds")


def test_an_endless_response_is_cut(receiver: Receiver) -> None:
    assert send_to(receiver, "endless") == DeliveryResult(200)
    assert receiver.n_sent < 2**26


def test_an_endless_header_is_an_error(receiver: Receiver) -> None:
    assert send_to(receiver, "heading") == DeliveryResult(None, "the connection broke, or the answer is not HTTP")
    assert receiver.n_sent < 2**26


@pytest.mark.parametrize("path", ["ending", "packed"])
def test_compressed_responses_are_not_decompressed(receiver: Receiver, path: str) -> None:
    tracemalloc.start()
    answer, (_, most) = send_to(receiver, path), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer == DeliveryResult(200)
    assert most < 2**24


def test_a_success_status_counts_even_if_the_body_never_arrives(receiver: Receiver) -> None:
    assert send_to(receiver, "stalling", 0.2) == DeliveryResult(200)


def test_a_refused_connection_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert WebhookSender(networks=HOME).send(f"http://127.0.0.1:{port}/", {}, b"{}") == DeliveryResult(
        None, "no connection"
    )


@pytest.mark.parametrize(
    "address",
    [
        *("https://127.0.0.1/", "https://localhost/", "https://LOCALHOST:8443/x", "https://2130706433/", "https://0/"),
        *(
            "https://169.254.169.254/latest/meta-data/",
            "https://168.63.129.16/machine",
            "https://192.0.0.8/",
            "https://[3fff::1]/",
            "https://10.0.0.1/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
        ),
        *("https://100.64.0.1/", "https://224.0.0.1/", "https://255.255.255.255/", "https://192.0.2.1/"),
        *("https://[::1]/", "https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:169.254.169.254]/"),
        *("https://[fe80::1]/", "https://[fd00::1]/", "https://[fec0::1]/", "https://[ff02::1]/"),
        *("https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://[2001:db8::1]/"),
        *("https://[2001:0:7f00:1::]/", f"https://{'x' * 70}.example.org/"),
    ],
)
def test_only_public_addresses_are_requested(address: str) -> None:
    with pytest.raises(InvalidInput, match="is not on the public internet"):
        WebhookSender().check(address)
    assert WebhookSender().send(address, {}, b"{}") == DeliveryResult(None, "it has no allowed address")


@pytest.mark.parametrize(
    "addresses", [["10.0.0.1"], [PUBLIC, "127.0.0.1"], ["::ffff:10.0.0.1"], [PUBLIC, "fe80::1%eth0"], []]
)
def test_every_address_of_a_name_must_be_public(addresses: list[str]) -> None:
    sender = WebhookSender(resolve=lambda *_: addresses)
    with pytest.raises(InvalidInput, match="is not on the public internet"):
        sender.check("https://hooks.example.org/")
    WebhookSender(resolve=lambda *_: [PUBLIC, "2606:2800:21f::1"]).check("https://hooks.example.org/")


def test_an_unresolvable_name_is_refused() -> None:
    def resolve(*_: object) -> list[str]:
        raise socket.gaierror("Name or service not known")

    assert WebhookSender(resolve=resolve).send("https://nowhere.invalid/", {}, b"") == DeliveryResult(
        None, "it has no allowed address"
    )


def test_private_and_unknown_names_get_the_same_message() -> None:
    messages = []
    for addresses in (["10.0.0.1"], []):
        with pytest.raises(InvalidInput) as caught:
            WebhookSender(resolve=lambda *_, addresses=addresses: addresses).check("https://db.internal/")
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_name_is_resolved_once_and_the_checked_address_is_used(receiver: Receiver) -> None:
    """A name server that changes its answer is not queried again."""
    lookups, answers = [], iter([["127.0.0.1"], ["10.0.0.1"]])

    def resolve(host: str, port: int) -> list[str]:
        lookups.append((host, port))
        return next(answers)

    address = f"http://hooks.example.org:{receiver.port}/ok"
    assert WebhookSender(networks=HOME, resolve=resolve).send(address, {}, b"{}") == DeliveryResult(204)
    assert lookups == [("hooks.example.org", receiver.port)]
    assert receiver.requests[0].headers["host"] == f"hooks.example.org:{receiver.port}"


def test_the_second_address_is_tried_when_the_first_does_not_answer(receiver: Receiver) -> None:
    sender = WebhookSender(networks=HOME, resolve=lambda *_: ["127.0.0.2", "127.0.0.1"])
    assert sender.send(f"http://hooks.example.org:{receiver.port}/ok", {}, b"{}") == DeliveryResult(204)


def test_http_is_allowed_only_in_named_networks() -> None:
    lookups: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        lookups.append(host)
        return [PUBLIC]

    with pytest.raises(InvalidInput, match="Give an address with https"):
        WebhookSender(resolve=resolve).check("http://hooks.example.org/")
    assert lookups == []
    with pytest.raises(InvalidInput, match="not in a network that webhook_networks names"):
        WebhookSender(resolve=resolve, networks=(ip_network("10.0.0.0/8"),)).check("http://hooks.example.org/")


@pytest.mark.parametrize(
    "address",
    [
        *("", "example.org/hook", "ftp://example.org/", "https://", "https:///x", "file:///etc/passwd", "https://[::1"),
        *("https://example.org/a b", "https://example.org/\nHost: x", "https://exämple.org/", "https://example.org/#x"),
        *("https://example.org:99999/", "https://example.org:0/", "https://example.org\\@10.0.0.1/", "gopher://x/"),
        "https://example.org/".ljust(2_001, "x"),
    ],
)
def test_invalid_addresses_are_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not a webhook address\. Give one such as https://"):
        WebhookSender(resolve=lambda *_: [PUBLIC]).check(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org",
        "https://example.org:65535/?a=b",
        "https://example.org/".ljust(2_000, "x"),
        "HTTPS://x.org",
    ],
)
def test_addresses_with_ports_queries_and_long_paths_are_allowed(address: str) -> None:
    WebhookSender(resolve=lambda *_: [PUBLIC]).check(address)


@pytest.mark.parametrize(
    "address", ["https://ada:secret@example.org/", "https://ada@example.org/", "https://@example.org/"]
)
def test_addresses_with_credentials_are_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="must not contain a user name") as caught:
        WebhookSender(resolve=lambda *_: [PUBLIC]).check(address)
    assert "secret" not in str(caught.value)


def trusting_context() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=CERTIFICATE)


def test_certificates_are_checked_against_the_name() -> None:
    with receiving(tls=True) as receiver:
        good = WebhookSender(networks=HOME, tls=trusting_context)
        assert good.send(receiver.address("ok"), {}, b"{}") == DeliveryResult(204)
        untrusted = DeliveryResult(None, "its certificate is not trusted")
        assert WebhookSender(networks=HOME).send(receiver.address("ok"), {}, b"{}") == untrusted
        named = WebhookSender(networks=HOME, tls=trusting_context, resolve=lambda *_: ["127.0.0.1"])
        # The certificate is that of 127.0.0.1, where this leads, and not of this name.
        assert named.send(f"https://hooks.example.org:{receiver.port}/ok", {}, b"{}") == untrusted
        assert len(receiver.requests) == 1


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "all"])
def test_invalid_networks_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"Give networks such as 10\.0\.0\.0/8, separated by commas"):
        parse_networks(text)
