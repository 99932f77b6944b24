"""Downloads that nobody reads."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, definition, owner
from tests.support.live_site import LiveSite
from tests.support.staff_members import join_pilot
from tests.support.staff_site import StaffSite

from dissensus.errors import NotAllowed
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.web.core import concurrency_limit
from dissensus.web.core.downloads import DownloadSpool
from dissensus.workflows.campaign import campaigns

EXPORT = "/campaigns/pilot/export.csv"
N_ITEMS, N_CHARACTERS = 6, 1_000_000


@pytest.fixture
def large(staff_site: StaffSite) -> StaffSite:
    """A campaign with an export of six megabytes, more than the buffers of a connection hold."""
    staff_id = owner(staff_site.platform.database)
    conversation = Conversation.from_turns([("human", "Hi"), ("bot", "y" * N_CHARACTERS)])
    items = tuple(Item(f"item-{i}", conversation) for i in range(N_ITEMS))
    campaigns.create_campaign(staff_site.platform, definition(), items, staff_id=staff_id, now=NOW)
    campaign = campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=staff_id, now=NOW)
    visitor = staff_site.live.visitor()
    page = visitor.enter(str(campaign.key))
    for _ in range(N_ITEMS):
        page = visitor.rate(page, Q_safe="No")
    return staff_site


@contextmanager
def unread(live: LiveSite, browser: httpx.Client, n: int) -> Iterator[list[bytes]]:
    """Begin downloads and read nothing more than their status."""
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    address = urlsplit(live.url)
    request = f"GET {EXPORT} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode()
    with ExitStack() as stack:
        statuses = []
        for _ in range(n):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(20)
            connection.connect((address.hostname, address.port))
            connection.sendall(request)
            statuses.append(connection.recv(12, socket.MSG_WAITALL))
        yield statuses


def refuse() -> Iterator[bytes]:
    """Parts of a download that its caller may not have."""
    yield b"part"
    raise NotAllowed("Only owners may have this.")


def test_a_refusal_is_not_a_full_disk() -> None:
    with pytest.raises(NotAllowed, match="Only owners"):
        DownloadSpool().respond("ada", refuse(), media_type="text/csv", name="a.csv")


def test_two_unread_downloads_stop_nobody(large: StaffSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency_limit, "SLOT_TIMEOUT_S", 3)
    person, other = large.owner("owner"), join_pilot(large, "grace", "owner", owner="owner")
    with unread(large.live, person, 2) as statuses:
        assert statuses == [b"HTTP/1.1 200"] * 2
        assert large.platform.database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
        for browser in (other, person):
            response = browser.get(EXPORT)
            assert response.status_code == 200
            assert len(response.content) > N_ITEMS * N_CHARACTERS
            assert int(response.headers["content-length"]) == len(response.content)


@sqlite_only
def test_unfinished_downloads_of_one_person_are_limited(large: StaffSite) -> None:
    person, other = large.owner("owner"), join_pilot(large, "grace", "owner", owner="owner")
    with unread(large.live, person, 3) as statuses:
        assert statuses == [b"HTTP/1.1 200"] * 3
        refused = person.get(EXPORT)
        assert (refused.status_code, "3 unfinished downloads" in refused.text) == (429, True)
        assert other.get(EXPORT).status_code == 200
    # The server notices that the connections ended, and removes their files.
    assert any(person.get(EXPORT).status_code == 200 for _ in range(100))
