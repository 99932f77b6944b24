"""Sites behind a proxy: the address of a visitor, and nginx with the shipped configuration."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from fastapi import Request
from tests.databases import sqlite_only
from tests.support.live_site import LiveSite, serving
from tests.support.nginx import configure, running_nginx
from tests.support.ports import find_port

from dissensus.web.core.site import client_network

pytestmark = sqlite_only
GATEWAY, NEIGHBOUR = "127.0.0.9", "127.0.0.20"
HOST = "rate.example.org"
BASE = {"base_url": f"https://{HOST}", "trusted_proxies": "127.0.0.8/30"}


def add_address(live: LiveSite) -> None:
    """Add a page with the network by which a visitor is counted, and the scheme."""

    async def show(request: Request) -> dict[str, str]:
        return {"network": client_network(request), "scheme": request.url.scheme}

    live.app.add_api_route("/address", show)


@pytest.mark.parametrize(
    ("source", "forwarded", "network"),
    [
        (GATEWAY, "203.0.113.7", "203.0.113.7"),
        (GATEWAY, "1.2.3.4, 203.0.113.7", "203.0.113.7"),
        (GATEWAY, "1.2.3.4, 203.0.113.7, 127.0.0.10", "203.0.113.7"),
        (GATEWAY, "127.0.0.8, 203.0.113.7", "203.0.113.7"),
        (GATEWAY, "2001:db8::1", "2001:db8::/64"),
        (NEIGHBOUR, "203.0.113.7", NEIGHBOUR),
    ],
)
def test_the_right_most_address_that_is_no_proxy_counts(
    database_url: str, source: str, forwarded: str, network: str
) -> None:
    with serving(database_url, **BASE) as live:
        add_address(live)
        headers = {"x-forwarded-for": forwarded, "x-forwarded-proto": "https"}
        with httpx.Client(transport=httpx.HTTPTransport(local_address=source), base_url=live.url) as client:
            page = client.get("/address", headers=headers).json()
    assert page == {"network": network, "scheme": "https" if source == GATEWAY else "http"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = (
        builder.not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path_factory.mktemp("certificate") / "site.pem"
    plain = serialization.NoEncryption()
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    pem.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + secret)
    return pem


@contextmanager
def nginx(live: LiveSite, folder: Path, certificate: Path) -> Iterator[tuple[int, int]]:
    """Run nginx with the shipped configuration on free ports, as from the gateway of a bridge; yield http and https."""
    http, https = find_port(), find_port()
    changes = {
        "listen 80;": f"listen 127.0.0.1:{http};",
        "listen 443 ssl http2;": f"listen 127.0.0.1:{https} ssl http2;\n    proxy_bind {GATEWAY};",
        "/etc/ssl/rate.example.org.pem": str(certificate),
        "/etc/ssl/rate.example.org.key": str(certificate),
    }
    port = int(live.url.rpartition(":")[2])
    with running_nginx(configure([port], changes), folder, https):
        yield http, https


@pytest.mark.slow  # a real proxy, which CI installs
def test_nginx_passes_the_site_on(database_url: str, tmp_path: Path, certificate: Path) -> None:
    with serving(database_url, **BASE) as live, ExitStack() as stack:
        add_address(live)
        http, https = stack.enter_context(nginx(live, tmp_path, certificate))
        trust = ssl.create_default_context(cafile=str(certificate))
        trust.check_hostname = False

        def visitor(address: str) -> httpx.Client:
            transport = httpx.HTTPTransport(local_address=address, verify=trust)
            client = httpx.Client(
                transport=transport,
                base_url=f"https://127.0.0.1:{https}",
                headers={"host": HOST, "x-forwarded-for": "198.51.100.9"},
                timeout=20,
            )
            return stack.enter_context(client)

        stranger, ada = visitor("127.0.0.3"), visitor("127.0.0.4")
        assert stranger.get("/address").json() == {"network": "127.0.0.3", "scheme": "https"}
        page = ada.get("/sign-in")
        assert page.status_code == 200
        assert page.headers["strict-transport-security"] == "max-age=31536000"
        assert page.headers["set-cookie"].startswith("__Host-dissensus_sign_in=")
        assert ada.get("/metrics").status_code == 403
        plain = httpx.get(f"http://127.0.0.1:{http}/sign-in?x=1", headers={"host": HOST})
        assert (plain.status_code, plain.headers["location"]) == (308, f"https://{HOST}/sign-in?x=1")
        for path, size, status in (
            ("/notice", 2 << 20, 413),
            ("/api/v1/campaigns", 9 << 20, 413),
            ("/api/v1/campaigns", 7 << 20, 401),
            ("/campaigns/new", 2 << 20, 413),
        ):
            assert ada.post(path, content=b"x" * size).status_code == status, path
