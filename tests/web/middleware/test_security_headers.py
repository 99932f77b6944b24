"""Security headers."""

import pytest
from tests.databases import sqlite_only
from tests.support.live_site import serving

pytestmark = sqlite_only
HSTS = "strict-transport-security"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"base_url": "https://rate.example.org"}, "max-age=31536000"),
        ({"base_url": "https://rate.example.org", "hsts_days": 1}, "max-age=86400"),
        ({"base_url": "https://rate.example.org", "hsts_days": 0}, None),
        ({"base_url": "http://rate.example.org"}, None),
        ({}, None),
    ],
)
def test_browsers_stay_with_https(database_url: str, settings: dict[str, object], expected: str | None) -> None:
    with serving(database_url, **settings) as live:
        for path in ("/healthz", "/sign-in", "/nothing", "/api/v1/campaigns"):
            assert live.visitor().get(path).headers.get(HSTS) == expected


def test_refused_requests_have_security_headers(database_url: str) -> None:
    with serving(database_url) as live:
        refused = [
            live.visitor().get("/", headers={"cookie": "a" * 9_000}),
            live.visitor().get("/", headers={"host": "evil.example"}),
            live.visitor().http.post("/notice", headers={"origin": "null"}),
        ]
    assert [response.status_code for response in refused] == [431, 421, 403]
    for response in refused:
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
