"""Members who join by a link: a password at once, or links by mail that sign in."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from email.message import EmailMessage
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from tests.databases import sqlite_only
from tests.support.live_site import serving
from tests.support.smtp_server import Mailbox, receiving
from tests.support.staff_site import StaffSite, create_draft, send, token_of

from dissensus.settings import load_mail_sender
from dissensus.store.identity.mails import MailTable
from dissensus.store.identity.sign_in_links import SignInLinkTable
from dissensus.store.members import StaffInvitationTable
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.mail_delivery import MailDelivery

PASSWORD = "correct horse battery"
SITE = "http://localhost:8000"
MAIL = {"smtp_host": "127.0.0.1", "smtp_encryption": "none", "smtp_sender": "notices@example.org", "base_url": SITE}
INVITE = "/campaigns/pilot/staff/invite"


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[Mailbox]:
    with receiving(tmp_path) as mailbox:
        yield mailbox


@pytest.fixture
def mailing(database_url: str, mailbox: Mailbox) -> Iterator[StaffSite]:
    """A site that can send mails."""
    with serving(database_url, **MAIL, smtp_port=mailbox.port) as live, ExitStack() as browsers:
        yield StaffSite(live, browsers)


def deliver(staff_site: StaffSite, mailbox: Mailbox) -> list[EmailMessage]:
    """Send the waiting mails; return the new ones."""
    before, site = len(mailbox.messages), staff_site.live.site
    MailDelivery(sender=load_mail_sender(site.settings), site=SITE, keys=site.tokens.keys)(site.platform, site.clock())
    return mailbox.messages[before:]


def link_of(message: EmailMessage) -> str:
    (path,) = re.findall(rf"^{SITE}(/(?:join|sign-in)/\S+)", message.get_content(), re.MULTILINE)
    return str(path)


def fill(browser: httpx.Client, path: str, action: str = "", **fields: str) -> httpx.Response:
    return browser.post(action or path, data={"form_token": token_of(browser.get(path)), **fields})


@sqlite_only
def test_who_joins_by_a_link_signs_in_again_when_the_session_has_ended(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    (link,) = re.findall(r'value="http://[^/"]+(/join/[^"]+)"', send(staff_site.owner(), INVITE, role="carer").text)
    mia, form = staff_site.stranger(), {"name": "mia", "password": PASSWORD, "repeated": PASSWORD}
    for faulty, message in (
        ({"password": "", "repeated": ""}, "There is no password. Set one"),
        ({"repeated": "another"}, "The two passwords differ."),
        ({"password": "short", "repeated": "short"}, "The password has 5 characters; it needs 12"),
    ):
        refused = fill(mia, link, **{**form, **faulty})
        assert (refused.status_code, message in refused.text) == (422, True)
        assert 'value="mia"' in refused.text
    assert fill(mia, link, **form).headers["location"] == "/campaigns/pilot"
    staff_site.live.clock.forward(hours=13)
    assert mia.get("/campaigns/pilot").status_code == 403
    fill(mia, "/sign-in", name="mia", password=PASSWORD)
    assert mia.get("/campaigns/pilot").status_code == 200


@sqlite_only
def test_a_mailed_invitation_makes_an_account_that_signs_in_by_mail(mailing: StaffSite, mailbox: Mailbox) -> None:
    create_draft(mailing)
    invited = send(mailing.owner(), INVITE, role="carer", address="Mia@Example.net")
    assert "An invitation is on its way to Mia@Example.net." in invited.text
    assert "mailed to mia@example.net" in invited.text
    assert "/join/" not in invited.text
    (message,) = deliver(mailing, mailbox)
    assert (message["To"], message["Subject"]) == ("mia@example.net", "Invitation to pilot at localhost")
    assert "ada invites you to the campaign pilot at http://localhost:8000, as carer." in message.get_content()
    mia = mailing.stranger()
    joined = fill(mia, link_of(message), name="mia", password="", repeated="")
    assert joined.headers["location"] == "/campaigns/pilot"
    mailing.live.clock.forward(hours=13)
    deliver(mailing, mailbox)
    asked = fill(mia, "/sign-in", "/sign-in/mail", address=" MIA@example.net")
    (message,) = deliver(mailing, mailbox)
    assert message["Subject"] == "Sign in at localhost"
    path = link_of(message)
    assert fill(mia, path).status_code == 303
    assert mia.get("/campaigns/pilot").status_code == 200
    assert fill(mailing.stranger(), "/sign-in", f"{path}").status_code == 403
    unknown = fill(mailing.stranger(), "/sign-in", "/sign-in/mail", address="eve@example.net")
    assert deliver(mailing, mailbox) == []
    assert strip_tokens(unknown.text) == strip_tokens(asked.text)
    assert "a sign-in link is on its way" in unknown.text


def strip_tokens(text: str) -> str:
    return re.sub("[0-9a-f]{64}", "", text)


def test_keys_of_mailed_links_cannot_be_read_in_the_database(mailing: StaffSite, mailbox: Mailbox) -> None:
    create_draft(mailing)
    staff.set_email(mailing.platform, "ada", "ada@example.net", now=mailing.live.clock())
    deliver(mailing, mailbox)
    send(mailing.owner(), INVITE, role="carer", address="mia@example.net")
    fill(mailing.stranger(), "/sign-in", "/sign-in/mail", address="ada@example.net")
    with mailing.platform.database.reading() as tx:
        stored = str([tx.execute(select(table)).all() for table in (MailTable, StaffInvitationTable, SignInLinkTable)])
    keys = [
        link_of(message).rpartition("/")[2] for message in deliver(mailing, mailbox) if "once" in message.get_content()
    ]
    assert len(keys) == 2
    assert not [key for key in keys if key in stored]


@sqlite_only
def test_an_address_is_mailed_few_links(mailing: StaffSite, mailbox: Mailbox) -> None:
    create_draft(mailing)
    staff.set_email(mailing.platform, "ada", "ada@example.net", now=mailing.live.clock())
    deliver(mailing, mailbox)
    statuses = [
        fill(mailing.stranger(), "/sign-in", "/sign-in/mail", address="ada@example.net").status_code for _ in range(6)
    ]
    assert statuses == [200, 200, 200, 403, 403, 403]
    assert len(deliver(mailing, mailbox)) == 3


@sqlite_only
def test_an_address_of_somebody_else_is_not_taken_over(mailing: StaffSite, mailbox: Mailbox) -> None:
    create_draft(mailing)
    staff.set_email(mailing.platform, "ada", "ada@example.net", now=mailing.live.clock())
    deliver(mailing, mailbox)
    send(mailing.owner(), INVITE, role="carer", address="ada@example.net")
    invitation = next(message for message in deliver(mailing, mailbox) if "Invitation" in message["Subject"])
    refused = fill(mailing.stranger(), link_of(invitation), name="mallory", password="", repeated="")
    assert refused.status_code == 422
    assert "Somebody else has the address" in refused.text


@sqlite_only
def test_without_a_server_nothing_is_mailed(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    owner = staff_site.owner()
    page = owner.get("/campaigns/pilot/staff").text
    assert "E-mail address" not in page
    assert "This site has no mail server" in page
    assert "/join/" in send(owner, INVITE, role="carer", address="mia@example.net").text
    stranger = staff_site.stranger()
    assert "E-mail address" not in stranger.get("/sign-in").text
    refused = fill(stranger, "/sign-in", "/sign-in/mail", address="ada@example.net")
    assert (refused.status_code, "This site sends no mails" in refused.text) == (404, True)
