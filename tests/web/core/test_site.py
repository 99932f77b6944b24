"""Networks of clients."""

import pytest
from starlette.requests import Request

from dissensus.web.core.site import client_network


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::ffff", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("unix", "unix"),
        (None, ""),
    ],
)
def test_ipv6_clients_are_limited_by_network(host: str | None, network: str) -> None:
    client = None if host is None else (host, 1)
    assert client_network(Request({"type": "http", "client": client})) == network
