"""Sign-in with an OpenID provider."""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc.jwk import OctKey
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.live_site import SECRET as SITE_SECRET
from tests.support.live_site import serving
from tests.support.oidc_provider import CLIENT, SECRET, Provider, generate_key, providing
from tests.support.staff_site import StaffSite

from dissensus.encryption import SecretKeys
from dissensus.errors import InvalidInput, Unavailable
from dissensus.settings import Settings, load_oidc_client_secret, read_settings
from dissensus.web.app import create_app
from dissensus.web.core import oidc
from dissensus.workflows.platform import sign_in_links, staff

ADA = {"email": "Ada@Example.org", "email_verified": True}
UNTRUSTED = "The response of the provider could not be verified"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as identity_provider:
        identity_provider.claims = dict(ADA)
        yield identity_provider


@pytest.fixture
def staff_site(database_url: str, provider: Provider) -> Iterator[StaffSite]:
    settings = {"oidc_issuer": provider.url, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
    with serving(database_url, **settings, oidc_button="Sign in at Example") as live, ExitStack() as browsers:
        staff_site = StaffSite(live, browsers)
        sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW)
        staff.set_email(staff_site.platform, "ada", " ada@example.ORG ", now=NOW)
        yield staff_site


def sign_in(staff_site: StaffSite, browser: httpx.Client | None = None, **changes: str) -> httpx.Response:
    """Sign in at the provider and return, with changed callback parameters."""
    browser = browser or staff_site.stranger()
    redirect = browser.get("/oidc")
    assert redirect.status_code == 303
    back = httpx.URL(httpx.get(redirect.headers["location"]).headers["location"])
    assert str(back).startswith(f"{staff_site.live.url}/oidc/callback?")
    return browser.get(back.copy_merge_params(changes))


@sqlite_only
def test_the_first_sign_in_matches_the_verified_address_and_later_ones_the_subject(
    staff_site: StaffSite, provider: Provider
) -> None:
    browser = staff_site.stranger()
    assert "Sign in at Example" in browser.get("/sign-in").text
    done = sign_in(staff_site, browser)
    assert (done.status_code, done.headers["location"]) == (303, "/campaigns")
    assert ">ada</a>" in browser.get("/campaigns").text
    provider.claims = {"email": "other@example.org", "email_verified": True}
    later_browser = staff_site.stranger()
    assert sign_in(staff_site, later_browser).status_code == 303
    assert ">ada</a>" in later_browser.get("/campaigns").text


def n_staff(staff_site: StaffSite) -> int:
    with staff_site.platform.database.reading() as tx:
        return len(tx.exec_driver_sql("SELECT id FROM staff").all())


def test_the_provider_creates_no_accounts(staff_site: StaffSite, provider: Provider) -> None:
    n_before = n_staff(staff_site)
    for claims in (
        {"email": "eve@example.org", "email_verified": True},
        {**ADA, "email_verified": False},
        {**ADA, "email_verified": "true"},
        {"email": ADA["email"]},
        {},
    ):
        provider.claims = dict(claims)
        refused = sign_in(staff_site)
        assert refused.status_code == 403
        assert "No account here has your verified e-mail address" in refused.text
    assert n_staff(staff_site) == n_before == 1


@sqlite_only
def test_an_address_is_not_taken_over_by_another_subject(staff_site: StaffSite, provider: Provider) -> None:
    assert sign_in(staff_site).status_code == 303
    provider.claims = {**ADA, "sub": "8"}
    assert sign_in(staff_site).status_code == 403
    staff.set_email(staff_site.platform, "ada", "ada@example.org", now=NOW)
    assert sign_in(staff_site).status_code == 303


@sqlite_only
@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "replayed"},
        {"aud": "another"},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": int(NOW.timestamp()) - 3600},
        {"iat": int(NOW.timestamp()) + 3600},
        {"exp": None},
        {"sub": None},
    ],
)
def test_tokens_for_other_clients_or_sessions_are_rejected(
    staff_site: StaffSite, provider: Provider, claims: dict[str, Any]
) -> None:
    provider.claims |= claims
    refused = sign_in(staff_site)
    assert refused.status_code == 403
    assert UNTRUSTED in refused.text


@sqlite_only
def test_tokens_signed_by_another_key_are_rejected(staff_site: StaffSite, provider: Provider) -> None:
    provider.key = generate_key("another")
    assert UNTRUSTED in sign_in(staff_site).text
    provider.key, provider.algorithm = OctKey.import_key(SECRET * 8), "HS256"
    assert UNTRUSTED in sign_in(staff_site).text


@sqlite_only
def test_a_callback_without_a_started_sign_in_is_rejected(staff_site: StaffSite, provider: Provider) -> None:
    assert sign_in(staff_site, state="guess").status_code == 403
    assert sign_in(staff_site, code="").status_code == 403
    assert "does not recognise this sign-in" in sign_in(staff_site, code="guess").text
    first, second = staff_site.stranger(), staff_site.stranger()
    back = httpx.get(first.get("/oidc").headers["location"]).headers["location"]
    assert "was not started in this browser" in staff_site.stranger().get(back).text
    second.get("/oidc")
    assert second.get(back).status_code == 403
    assert first.get(back).status_code == 303
    assert first.get(back).status_code == 403
    slow = staff_site.stranger()
    back = httpx.get(slow.get("/oidc").headers["location"]).headers["location"]
    staff_site.live.clock.forward(minutes=11)
    assert "Signing in took too long" in slow.get(back).text
    forged = staff_site.stranger()
    forged.cookies.set("dissensus_oidc_flow", "forged")
    assert "was not started in this browser" in forged.get(back).text
    provider.refuses = True
    assert "The provider did not confirm your sign-in" in sign_in(staff_site).text


@sqlite_only
def test_metadata_are_requested_once(staff_site: StaffSite, provider: Provider) -> None:
    for _ in range(3):
        assert sign_in(staff_site).status_code == 303
    assert provider.n_metadata == 1


@sqlite_only
def test_a_failure_of_the_provider_is_kept_for_a_moment(
    staff_site: StaffSite, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "FAILURE_LIFETIME_S", 3600)
    provider.status = 500
    for _ in range(3):
        assert "The provider answers with 500" in staff_site.stranger().get("/oidc").text
    assert provider.n_metadata == 1
    provider.status = 200
    later = time.monotonic() + 3600
    monkeypatch.setattr(oidc, "monotonic", lambda: later)
    assert sign_in(staff_site).status_code == 303


@sqlite_only
def test_a_cached_failure_does_not_collect_tracebacks(
    staff_site: StaffSite, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "FAILURE_LIFETIME_S", 3600)
    provider.status = 500
    site = staff_site.live.site
    n_frames: list[int] = []
    for _ in range(3):
        with pytest.raises(Unavailable, match="answers with 500") as failure:
            site.oidc_metadata.get(site.settings)
        n_frames.append(len(failure.traceback))
    assert n_frames == n_frames[:1] * 3


@sqlite_only
def test_visitors_do_not_wait_for_a_slow_provider(
    staff_site: StaffSite, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "TIMEOUT_S", 60)
    provider.free.clear()
    with ThreadPoolExecutor(20) as threads:
        try:
            pages = [threads.submit(staff_site.stranger().get, "/oidc") for _ in range(20)]
            # All but the one that asks the provider, which has not answered yet.
            answered = [page.result().status_code for _, page in zip(range(19), as_completed(pages), strict=False)]
            assert staff_site.stranger().get("/sign-in").status_code == 200
        finally:
            provider.free.set()
    assert answered == [503] * 19
    assert sorted(page.result().status_code for page in pages) == [303] + [503] * 19
    assert provider.n_metadata == 1


@sqlite_only
def test_an_unreachable_provider_is_reported(staff_site: StaffSite, provider: Provider) -> None:
    provider.url = "https://somebody.example"
    assert "The provider identifies itself as" in staff_site.stranger().get("/oidc").text
    object.__setattr__(staff_site.live.site.settings, "oidc_issuer", "http://127.0.0.1:9")
    refused = staff_site.stranger().get("/oidc")
    assert refused.status_code == 503
    assert "The provider does not respond" in refused.text


@sqlite_only
def test_an_unusable_proxy_is_no_internal_error(
    staff_site: StaffSite, provider: Provider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    browser = staff_site.stranger()
    monkeypatch.setenv("ALL_PROXY", "carrier-pigeon://loft")
    for _ in range(2):
        refused = browser.get("/oidc")
        assert (refused.status_code, "The provider does not respond" in refused.text) == (503, True)
    assert caplog.text.count("carrier-pigeon") == 1


@sqlite_only
def test_without_a_provider_its_pages_are_not_found(database_url: str) -> None:
    with serving(database_url) as live, ExitStack() as browsers:
        browser = StaffSite(live, browsers).stranger()
        assert browser.get("/oidc").status_code == browser.get("/oidc/callback").status_code == 404
        assert "/oidc" not in browser.get("/sign-in").text


def test_incomplete_settings_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    issuer: dict[str, Any] = {"oidc_issuer": "https://id.example.org"}
    lacks: tuple[dict[str, Any], ...] = ({}, {"oidc_client_id": "x"}, {"oidc_client_secret": "x"})
    for lacking in lacks:
        with pytest.raises(InvalidInput, match="With oidc_issuer, oidc_client_id must be set too"):
            create_app(Settings(**issuer, **lacking), SecretKeys(SITE_SECRET))
    with pytest.raises(InvalidInput, match="cannot be read"):
        create_app(
            Settings(**issuer, oidc_client_id="x", oidc_client_secret_file=tmp_path / "none"), SecretKeys(SITE_SECRET)
        )
    (tmp_path / "secret").write_text("from a file\n")
    complete = Settings(**issuer, oidc_client_id="x", oidc_client_secret_file=tmp_path / "secret")
    assert load_oidc_client_secret(complete) == "from a file"
    with pytest.raises(InvalidInput, match="is not an https address"):
        read_settings({"DISSENSUS_OIDC_ISSUER": "http://id.example.org"}, tmp_path)
    monkeypatch.setitem(sys.modules, "authlib.oidc.core", None)
    with pytest.raises(Unavailable, match=r"oidc_issuer needs authlib.*pip install 'dissensus\[oidc\]'"):
        create_app(complete, SecretKeys(SITE_SECRET))
