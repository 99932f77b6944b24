"""Mails about changed credentials, from the account page to an SMTP server."""

import socket
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.live_site import serving
from tests.support.smtp_server import receiving
from tests.support.staff_site import StaffSite, send

from dissensus.settings import load_mail_sender
from dissensus.store.identity.mails import MailTable
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.mail_delivery import MailDelivery

PASSWORD = "correct horse battery"
SITE = "http://localhost:8000"
MAIL = {"smtp_host": "127.0.0.1", "smtp_encryption": "none", "smtp_sender": "notices@example.org", "base_url": SITE}


def count_mails(staff_site: StaffSite) -> int:
    with staff_site.platform.database.reading() as tx:
        return tx.scalar(select(func.count()).select_from(MailTable)) or 0


@sqlite_only
def test_the_site_mails_changes_and_no_request_waits(database_url: str, tmp_path: Path) -> None:
    # A server that accepts connections and never answers.
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        receiving(tmp_path) as mailbox,
        serving(database_url, **MAIL, smtp_port=silent.getsockname()[1]) as live,
        ExitStack() as browsers,
    ):
        staff_site, now = StaffSite(live, browsers), live.clock()
        browser = staff_site.owner()
        assert "Tell the operator of the site your address" in browser.get("/account").text
        staff.set_email(staff_site.platform, "ada", "ada@example.net", now=now)
        assert "are also mailed to ada@example.net" in browser.get("/account").text
        assert count_mails(staff_site) == 1
        assert send(browser, "/account/password", new=PASSWORD, repeated=PASSWORD).status_code == 303
        assert count_mails(staff_site) == 2
        answering = live.site.settings.model_copy(update={"smtp_port": mailbox.port})
        MailDelivery(sender=load_mail_sender(answering), site=SITE, keys=live.site.tokens.keys)(
            staff_site.platform, now
        )
        (message,) = mailbox.messages
    text = message.get_content()
    assert message["To"] == "ada@example.net"
    assert "The operator of the site changed your e-mail address." in text
    assert "The password was set by themselves." not in text
    assert "The password was set by you." in text
    assert f"{SITE}/account" in text


@sqlite_only
def test_without_a_server_the_page_promises_no_mail(database_url: str) -> None:
    with serving(database_url) as live, ExitStack() as browsers:
        staff_site = StaffSite(live, browsers)
        browser = staff_site.owner()
        staff.set_email(staff_site.platform, "ada", "ada@example.net", now=live.clock())
        assert "mailed" not in browser.get("/account").text
