"""Messages go only where they may, end in time, and nothing of an answer is kept."""

import socket
import ssl
import tracemalloc
from collections.abc import Iterator
from ipaddress import ip_network

import pytest
from tests.files.server import CERTIFICATE
from tests.webhook_transport.receiver import Receiver, receiving

from dissensus.errors import InvalidInput
from dissensus.webhook_transport import DeliveryResult, WebhookSender, parse_networks

HOME = parse_networks("127.0.0.0/8, ::1/128")
PUBLIC = "93.184.215.14"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as state:
        yield state


def post(receiver: Receiver, path: str, limit_s: float = 10.0) -> DeliveryResult:
    return WebhookSender(networks=HOME, limit_s=limit_s).send(receiver.address(path), {"X-One": "1"}, b"{}")


def test_what_is_sent_arrives(receiver: Receiver) -> None:
    assert post(receiver, "ok?of=pilot") == DeliveryResult(204)
    (got,) = receiver.got
    assert (got.path, got.body, got.headers["x-one"], got.headers["user-agent"]) == ("/ok", b"{}", "1", "dissensus")
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("500", 500, "it answered HTTP 500"),
        ("410", 410, "it answered HTTP 410"),
        ("redirect", 302, "it answered HTTP 302, and redirects are not followed"),
        ("nonsense", None, "the connection broke, or the answer is none"),
    ],
)
def test_what_is_not_taken_is_told_in_our_words(receiver: Receiver, path: str, status: int | None, reason: str) -> None:
    assert post(receiver, path) == DeliveryResult(status, reason)
    assert len(receiver.got) == 1


def test_what_a_receiver_asks_to_wait_is_told(receiver: Receiver) -> None:
    assert post(receiver, "later").wait_s == 1800


def test_a_time_to_wait_that_is_none_is_passed_over(receiver: Receiver) -> None:
    assert post(receiver, "no-time") == DeliveryResult(410, "it answered HTTP 410")


@pytest.mark.parametrize("path", ["silent", "dripping", "continuing"])
def test_a_receiver_that_is_slow_is_left_in_time(receiver: Receiver, path: str) -> None:
    # Each header comes long before the end; all of them together do not.
    assert post(receiver, path, 0.2) == DeliveryResult(None, "no answer within 0.2 seconds")


def test_an_answer_without_an_end_is_left_where_it_is_long_enough(receiver: Receiver) -> None:
    assert post(receiver, "endless") == DeliveryResult(200)
    assert receiver.n_sent < 2**26


def test_a_header_without_an_end_is_no_answer(receiver: Receiver) -> None:
    assert post(receiver, "heading") == DeliveryResult(None, "the connection broke, or the answer is none")
    assert receiver.n_sent < 2**26


@pytest.mark.parametrize("path", ["ending", "packed"])
def test_what_hides_much_behind_little_is_not_unpacked(receiver: Receiver, path: str) -> None:
    tracemalloc.start()
    answer, (_, most) = post(receiver, path), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer == DeliveryResult(200)
    assert most < 2**24


def test_who_has_said_yes_has_it_even_if_the_rest_never_comes(receiver: Receiver) -> None:
    assert post(receiver, "stalling", 0.2) == DeliveryResult(200)


def test_nobody_is_there() -> None:
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
def test_only_the_public_internet_is_asked(address: str) -> None:
    with pytest.raises(InvalidInput, match="is nowhere on the public internet"):
        WebhookSender().check(address)
    assert WebhookSender().send(address, {}, b"{}") == DeliveryResult(None, "it has no address that may be asked")


@pytest.mark.parametrize(
    "found", [["10.0.0.1"], [PUBLIC, "127.0.0.1"], ["::ffff:10.0.0.1"], [PUBLIC, "fe80::1%eth0"], []]
)
def test_every_address_that_a_name_has_must_be_public(found: list[str]) -> None:
    sender = WebhookSender(resolve=lambda *_: found)
    with pytest.raises(InvalidInput, match="is nowhere on the public internet"):
        sender.check("https://hooks.example.org/")
    WebhookSender(resolve=lambda *_: [PUBLIC, "2606:2800:21f::1"]).check("https://hooks.example.org/")


def test_a_name_that_nobody_knows_is_nowhere() -> None:
    def resolve(*_: object) -> list[str]:
        raise socket.gaierror("Name or service not known")

    assert WebhookSender(resolve=resolve).send("https://nowhere.invalid/", {}, b"") == DeliveryResult(
        None, "it has no address that may be asked"
    )


def test_names_inside_and_names_of_nobody_get_the_same_words() -> None:
    told = []
    for found in (["10.0.0.1"], []):
        with pytest.raises(InvalidInput) as caught:
            WebhookSender(resolve=lambda *_, found=found: found).check("https://db.internal/")
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_a_name_is_looked_up_once_and_what_was_checked_is_asked(receiver: Receiver) -> None:
    """A name server that first says what is allowed, and then something else, is not asked again."""
    asked, answers = [], iter([["127.0.0.1"], ["10.0.0.1"]])

    def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return next(answers)

    address = f"http://hooks.example.org:{receiver.port}/ok"
    assert WebhookSender(networks=HOME, resolve=resolve).send(address, {}, b"{}") == DeliveryResult(204)
    assert asked == [("hooks.example.org", receiver.port)]
    assert receiver.got[0].headers["host"] == f"hooks.example.org:{receiver.port}"


def test_an_address_that_does_not_answer_leaves_time_for_another(receiver: Receiver) -> None:
    sender = WebhookSender(networks=HOME, resolve=lambda *_: ["127.0.0.2", "127.0.0.1"])
    assert sender.send(f"http://hooks.example.org:{receiver.port}/ok", {}, b"{}") == DeliveryResult(204)


def test_http_goes_to_named_networks_alone() -> None:
    asked: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return [PUBLIC]

    with pytest.raises(InvalidInput, match="Give an address with https"):
        WebhookSender(resolve=resolve).check("http://hooks.example.org/")
    assert asked == []
    with pytest.raises(InvalidInput, match="nowhere in a network that webhook_networks names"):
        WebhookSender(resolve=resolve, networks=(ip_network("10.0.0.0/8"),)).check("http://hooks.example.org/")


@pytest.mark.parametrize(
    "address",
    [
        *("", "example.org/hook", "ftp://example.org/", "https://", "https:///x", "file:///etc/passwd", "https://[::1"),
        *("https://example.org/a b", "https://example.org/\nHost: x", "https://exämple.org/", "https://example.org/#x"),
        *("https://example.org:99999/", "https://example.org:0/", "https://example.org\\@10.0.0.1/", "gopher://x/"),
        f"https://example.org/{'x' * 2_000}",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(InvalidInput, match=r"is no address for a webhook\. Give one such as https://"):
        WebhookSender(resolve=lambda *_: [PUBLIC]).check(address)


@pytest.mark.parametrize(
    "address", ["https://ada:secret@example.org/", "https://ada@example.org/", "https://@example.org/"]
)
def test_an_address_has_no_name_and_no_password(address: str) -> None:
    with pytest.raises(InvalidInput, match="no name and no password") as caught:
        WebhookSender(resolve=lambda *_: [PUBLIC]).check(address)
    assert "secret" not in str(caught.value)


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=CERTIFICATE)


def test_certificates_are_checked_against_the_name_and_not_the_address() -> None:
    with receiving(tls=True) as receiver:
        good = WebhookSender(networks=HOME, tls=trusting)
        assert good.send(receiver.address("ok"), {}, b"{}") == DeliveryResult(204)
        untrusted = DeliveryResult(None, "its certificate is not trusted")
        assert WebhookSender(networks=HOME).send(receiver.address("ok"), {}, b"{}") == untrusted
        named = WebhookSender(networks=HOME, tls=trusting, resolve=lambda *_: ["127.0.0.1"])
        # The certificate is that of 127.0.0.1, where this leads, and not of this name.
        assert named.send(f"https://hooks.example.org:{receiver.port}/ok", {}, b"{}") == untrusted
        assert len(receiver.got) == 1


@pytest.mark.parametrize("text", ["10.0.0.0/33", "10.0.0.1/8", "all"])
def test_what_is_no_network(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"Give networks such as 10\.0\.0\.0/8, divided by commas"):
        parse_networks(text)
