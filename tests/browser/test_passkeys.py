"""Passkeys in a browser with a virtual authenticator: registration, sign-in, second factor and confirmation."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Page
from tests.databases import sqlite_only
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.staff_pages import check_page

from dissensus.workflows.platform import passwords, sign_in_links

PASSWORD = "correct horse battery"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
pytestmark = sqlite_only


@dataclass(frozen=True)
class Device:
    """The virtual authenticator of a tab."""

    session: CDPSession
    id: str

    def set(self, command: str, **options: Any) -> None:
        self.session.send(f"WebAuthn.{command}", {"authenticatorId": self.id, **options})

    def count_credentials(self) -> int:
        return len(self.session.send("WebAuthn.getCredentials", {"authenticatorId": self.id})["credentials"])


def add_device(tab: Page) -> Device:
    session = tab.context.new_cdp_session(tab)
    session.send("WebAuthn.enable")
    device_id = session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})["authenticatorId"]
    return Device(session, device_id)


def host_address(live: LiveSite) -> str:
    """The site by a host name, since an address of the network has no passkeys."""
    return f"http://localhost:{urlsplit(live.url).port}"


def enter_password(tab: Page) -> None:
    tab.goto("/sign-in")
    tab.get_by_label("Name").fill("ada")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in", exact=True).click()


def register(tab: Page, name: str) -> None:
    tab.goto("/account/second-factor")
    tab.get_by_label("Name").fill(name)
    tab.get_by_role("button", name="Add a passkey").click()


def test_a_passkey_is_added_and_signs_in(database_url: str, browser: Browser) -> None:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=host_address(live)) as context,
    ):
        sign_in_links.create_sign_in_link(live.platform, "ada", now=live.clock())
        passwords.set_password_for(live.platform, live.site.hasher(), "ada", PASSWORD, now=live.clock())
        tab = context.new_page()
        violations = list[str]()
        tab.on("console", lambda message: violations.append(message.text) if message.type == "error" else None)
        device = add_device(tab)
        enter_password(tab)
        tab.get_by_role("link", name="ada").wait_for()
        tab.goto("/account/second-factor")
        check_page(tab, "passkey-none")
        register(tab, "Laptop")
        tab.get_by_role("heading", name="Recovery codes").wait_for()
        check_page(tab, "passkey-recovery")
        register(tab, "A second one")
        tab.get_by_role("alert").get_by_text("This device has a passkey of your account already.").wait_for()
        check_page(tab, "passkey-in-use")
        assert device.count_credentials() == 1
        finish_with_passkey(tab, device)
        sign_in_without_password(tab, device)
        confirm_by_passkey(tab, live)
        assert violations == []


def finish_with_passkey(tab: Page, device: Device) -> None:
    """Sign in with the password, and then with the passkey, first without and then with the person."""
    tab.get_by_role("button", name="Sign out", exact=True).click()
    enter_password(tab)
    tab.get_by_role("heading", name="With a passkey").wait_for()
    check_page(tab, "passkey-second-factor")
    device.set("setUserVerified", isUserVerified=False)
    tab.get_by_role("button", name="Use a passkey").click()
    tab.get_by_role("alert").get_by_text("its dialog was cancelled, or took too long").wait_for()
    check_page(tab, "passkey-cancelled")
    device.set("setUserVerified", isUserVerified=True)
    tab.get_by_role("button", name="Use a passkey").click()
    tab.get_by_role("link", name="ada").wait_for()


def sign_in_without_password(tab: Page, device: Device) -> None:
    """Sign in by the passkey alone; a passkey that the site does not know is refused."""
    tab.get_by_role("button", name="Sign out", exact=True).click()
    tab.goto("/sign-in")
    check_page(tab, "passkey-sign-in")
    tab.get_by_role("button", name="Sign in with a passkey").click()
    tab.get_by_role("link", name="ada").wait_for()
    assert device.count_credentials() == 1


def confirm_by_passkey(tab: Page, live: LiveSite) -> None:
    """Confirm the identity after a while, and remove the passkey."""
    live.clock.forward(minutes=11)
    register(tab, "Phone")
    tab.get_by_role("heading", name="Confirm that it is you").wait_for()
    check_page(tab, "passkey-confirmation")
    tab.get_by_role("button", name="Use a passkey").click()
    tab.get_by_role("button", name="Remove Laptop").click()
    tab.get_by_text("With a second factor, nobody signs in").wait_for()


def test_a_removed_passkey_signs_nobody_in(database_url: str, browser: Browser) -> None:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=host_address(live)) as context,
    ):
        sign_in_links.create_sign_in_link(live.platform, "ada", now=live.clock())
        passwords.set_password_for(live.platform, live.site.hasher(), "ada", PASSWORD, now=live.clock())
        tab = context.new_page()
        add_device(tab)
        enter_password(tab)
        tab.get_by_role("link", name="ada").wait_for()
        register(tab, "Laptop")
        tab.get_by_role("heading", name="Recovery codes").wait_for()
        tab.get_by_role("link", name="Back to your account").click()
        tab.get_by_text("In use: 1 passkey, with 10 unused recovery codes.").wait_for()
        tab.goto("/account/second-factor")
        tab.get_by_role("button", name="Remove Laptop").click()
        tab.get_by_role("button", name="Sign out", exact=True).click()
        tab.goto("/sign-in")
        tab.get_by_role("button", name="Sign in with a passkey").click()
        tab.get_by_role("alert").get_by_text("The passkey was not accepted").wait_for()


def test_browsers_without_passkeys_are_told(database_url: str, browser: Browser) -> None:
    with (
        serving(database_url) as live,
        running(browser._loop),
        browser.new_context(base_url=host_address(live), java_script_enabled=False) as plain,
        browser.new_context(base_url=live.url) as by_number,
    ):
        tab = plain.new_page()
        tab.goto("/sign-in")
        tab.get_by_text("This browser has no passkeys for this page.").wait_for()
        assert not tab.get_by_role("button", name="Sign in with a passkey").is_visible()
        tab = by_number.new_page()
        tab.goto("/sign-in")
        assert tab.get_by_text("passkey").count() == 0
