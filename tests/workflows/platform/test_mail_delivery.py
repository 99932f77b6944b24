"""Mails about changed credentials: sent once, retried, given up, encrypted, and without foreign headers."""

import logging
import re
import ssl
from dataclasses import replace
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, open_campaign
from tests.support.smtp_server import Mailbox, receiving

from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, InvalidInput
from dissensus.mail_transport import MailSender
from dissensus.store.identity.mails import MailRow, MailTable, add_mail
from dissensus.store.identity.security_log import MAILED_KINDS
from dissensus.store.staff import StaffRow
from dissensus.workflows.campaign import members
from dissensus.workflows.platform import api_tokens, passwords, sessions, sign_in_links, staff
from dissensus.workflows.platform.mail_delivery import (
    GIVE_UP_AFTER,
    SIGN_IN_LINK_LIFETIME,
    MailDelivery,
    encrypt_link_key,
)
from dissensus.workflows.platform.mail_message import DESCRIPTIONS, compose_mail
from dissensus.workflows.platform.platform import Platform

HASHER = passwords.make_hasher(passes=1, memory_mib=1)
PASSWORD = "correct horse battery"
KEYS = SecretKeys("k" * 32)
SITE = "https://rate.example.org"
SENDER = "Dissensus <notices@example.org>"
ADDRESS = "ada@example.net"
EVENT = MailRow(
    number=1,
    person="ada",
    address=ADDRESS,
    kind="passkey_added",
    at=NOW,
    network=None,
    content={"passkey": "phone"},
    n_failures=0,
)


@pytest.fixture
def ada(platform: Platform) -> StaffRow:
    """A person with an address, and no mail about it."""
    row = sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff
    staff.set_email(platform, "ada", ADDRESS, now=NOW)
    MailDelivery(sender=None, site=SITE, keys=KEYS)(platform, NOW)
    return row


def delivery(mailbox: Mailbox, **options: Any) -> MailDelivery:
    sender = MailSender(
        host="127.0.0.1",
        port=mailbox.port,
        sender=SENDER,
        context=mailbox.trust,
        **{"encryption": "none", **options},
    )
    return MailDelivery(sender=sender, site=SITE, keys=KEYS, chance=lambda: 1.0)


def set_password(platform: Platform, *, now: datetime = NOW) -> None:
    passwords.set_password_for(platform, HASHER, "ada", PASSWORD, now=now)


def count_mails(platform: Platform) -> int:
    with platform.database.reading() as tx:
        return tx.scalar(select(func.count()).select_from(MailTable)) or 0


def test_a_change_is_mailed_once(platform: Platform, ada: StaffRow, tmp_path: Path) -> None:
    set_password(platform)
    with receiving(tmp_path) as mailbox:
        job = delivery(mailbox)
        job(platform, NOW)
        job(platform, NOW + timedelta(days=1))
        (message,) = mailbox.messages
        (envelope,) = mailbox.envelopes
    assert (message["From"], message["To"], message["Subject"]) == (SENDER, ADDRESS, "Your account at rate.example.org")
    assert (envelope.mail_from, envelope.rcpt_tos) == ("notices@example.org", [ADDRESS])
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"
    text = message.get_content()
    assert "- 2026-03-01 12:00 UTC: The password was set by the operator." in text
    assert f"{SITE}/account" in text
    assert count_mails(platform) == 0


def test_every_change_of_credentials_and_roles_is_mailed(platform: Platform, ada: StaffRow, tmp_path: Path) -> None:
    campaign = open_campaign(platform)
    owner: dict[str, Any] = {"staff_id": campaign.staff_id, "now": NOW}
    members.add_member(platform, "pilot", "ada", "analyst", **owner)
    members.change_role(platform, "pilot", "ada", "expert", **owner)
    api_tokens.create_token(platform, ada, "nightly", scopes=["see", "export"], days=1, now=NOW)
    members.remove_member(platform, "pilot", "ada", **owner)
    sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    with receiving(tmp_path) as mailbox:
        delivery(mailbox)(platform, NOW)
        (message,) = mailbox.messages
    lines = [line.partition("UTC: ")[2] for line in message.get_content().splitlines() if line.startswith("- ")]
    assert lines == [
        "You became a member of the campaign pilot. Role: analyst.",
        "Your role in the campaign pilot was changed. New role: expert.",
        "The API token “nightly” was created, with these scopes: export, see.",
        "Your membership of the campaign pilot ended.",
        "The operator of the site created a link that signs you in.",
    ]
    assert set(DESCRIPTIONS) == MAILED_KINDS


def test_signing_in_is_not_mailed(platform: Platform, ada: StaffRow) -> None:
    link = sign_in_links.create_sign_in_link(platform, "ada", now=NOW)
    MailDelivery(sender=None, site=SITE, keys=KEYS)(platform, NOW)
    sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW)
    sessions.sign_out_everywhere(platform, "ada", now=NOW)
    assert count_mails(platform) == 0


def test_a_new_address_is_told_to_both(platform: Platform, ada: StaffRow, tmp_path: Path) -> None:
    staff.set_email(platform, "ada", "ada@other.example", now=NOW)
    with receiving(tmp_path) as mailbox:
        delivery(mailbox)(platform, NOW)
        assert sorted(str(message["To"]) for message in mailbox.messages) == [ADDRESS, "ada@other.example"]


def test_a_temporary_refusal_is_retried_with_backoff(platform: Platform, ada: StaffRow, tmp_path: Path) -> None:
    set_password(platform)
    with receiving(tmp_path) as mailbox:
        mailbox.replies = ["451 Try later", "421 Busy"]
        job = delivery(mailbox)
        attempts = []
        for seconds in (0, 4, 5, 14, 15, 16):
            job(platform, NOW + timedelta(seconds=seconds))
            attempts.append(mailbox.n_attempts)
        assert attempts == [1, 1, 2, 2, 3, 3]
        assert len(mailbox.messages) == 1
    assert count_mails(platform) == 0


@pytest.mark.parametrize("at", ["replies", "recipient_replies"])
def test_a_permanent_refusal_is_given_up_and_logged(
    platform: Platform, ada: StaffRow, tmp_path: Path, caplog: pytest.LogCaptureFixture, at: str
) -> None:
    set_password(platform)
    with receiving(tmp_path) as mailbox, caplog.at_level(logging.ERROR, "dissensus.jobs"):
        setattr(mailbox, at, [f"550 No such person {ADDRESS}"])
        job = delivery(mailbox)
        job(platform, NOW)
        job(platform, NOW + timedelta(days=1))
        assert (mailbox.n_attempts, mailbox.messages) == (1, [])
    (record,) = caplog.records
    assert re.search(r"Mail \d+ was given up \(password_changed\)", record.getMessage())
    assert "reply 550" in record.getMessage()
    assert ADDRESS not in caplog.text


def test_a_server_that_is_down_is_tried_for_two_days(
    platform: Platform, ada: StaffRow, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    set_password(platform)
    with receiving(tmp_path) as mailbox:
        job = delivery(mailbox)
    with caplog.at_level(logging.WARNING, "dissensus.jobs"):
        job(platform, NOW)
        # The next try is due ten seconds later.
        job(platform, NOW + GIVE_UP_AFTER - timedelta(seconds=10))
        assert count_mails(platform) == 1
        job(platform, NOW + GIVE_UP_AFTER)
    assert count_mails(platform) == 0
    first, second, last = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"Mail \d+ waits \(password_changed\): ConnectionRefusedError\.", first)
    assert (second, last) == (first, first.replace("waits", "was given up"))


def test_each_mail_has_its_own_two_days(
    platform: Platform, ada: StaffRow, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    set_password(platform)
    with receiving(tmp_path) as mailbox:
        job = delivery(mailbox)
    later = NOW + GIVE_UP_AFTER
    set_password(platform, now=later)
    with caplog.at_level(logging.WARNING, "dissensus.jobs"):
        job(platform, later)
    waits, given_up = (record.getMessage() for record in caplog.records)
    assert "waits" in waits
    assert "was given up" in given_up
    assert count_mails(platform) == 1
    job(platform, later + GIVE_UP_AFTER)
    assert count_mails(platform) == 0


def test_a_link_that_signs_in_is_given_up_once_it_has_expired(
    platform: Platform, ada: StaffRow, tmp_path: Path
) -> None:
    with platform.database.writing() as tx:
        add_mail(tx, ada.id, "sign_in_link", NOW, encrypt_link_key(KEYS, "key"))
    with receiving(tmp_path) as mailbox:
        job = delivery(mailbox)
    for minutes, waiting in ((0, 1), (14, 1), (15, 0)):
        job(platform, NOW + timedelta(minutes=minutes))
        assert count_mails(platform) == waiting


@pytest.mark.parametrize("tls", ["starttls", "tls"])
@sqlite_only
def test_mails_are_encrypted_with_password_and_certificate(
    platform: Platform, ada: StaffRow, tmp_path: Path, tls: str
) -> None:
    set_password(platform)
    with receiving(tmp_path, tls=tls, authentication=True) as mailbox:
        job = delivery(mailbox, encryption=tls, user="site", password="right")
        assert job.sender is not None
        assert "right" not in repr(job.sender)
        distrustful = replace(job.sender, context=ssl.create_default_context())
        MailDelivery(sender=distrustful, site=SITE, keys=KEYS)(platform, NOW)
        assert (mailbox.n_attempts, mailbox.logins, count_mails(platform)) == (0, [], 1)
        job(platform, NOW + timedelta(hours=1))
        assert mailbox.logins == [("site", "right")]
        assert len(mailbox.messages) == 1
        assert mailbox.encrypted == [True]


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
@sqlite_only
def test_without_the_demanded_encryption_nothing_is_sent(
    platform: Platform, ada: StaffRow, tmp_path: Path, encryption: str
) -> None:
    set_password(platform)
    with receiving(tmp_path, authentication=True) as mailbox:
        job = delivery(mailbox, encryption=encryption, user="site", password="right", timeout_s=5)
        job(platform, NOW)
        assert (mailbox.n_attempts, mailbox.logins, mailbox.messages) == (0, [], [])
    assert count_mails(platform) == 1


@sqlite_only
def test_a_wrong_password_postpones_mails(platform: Platform, ada: StaffRow, tmp_path: Path) -> None:
    set_password(platform)
    with receiving(tmp_path, tls="tls", authentication=True) as mailbox:
        delivery(mailbox, encryption="tls", user="site", password="wrong")(platform, NOW)
        assert (mailbox.n_attempts, count_mails(platform)) == (0, 1)


def test_without_a_server_or_an_address_nothing_is_kept(platform: Platform, ada: StaffRow) -> None:
    set_password(platform)
    assert count_mails(platform) == 1
    MailDelivery(sender=None, site=SITE, keys=KEYS)(platform, NOW)
    assert count_mails(platform) == 0
    staff.set_email(platform, "ada", "", now=NOW)
    MailDelivery(sender=None, site=SITE, keys=KEYS)(platform, NOW)
    set_password(platform)
    assert count_mails(platform) == 0


def test_a_change_that_is_rolled_back_is_not_mailed(platform: Platform, ada: StaffRow) -> None:
    sign_in_links.create_sign_in_link(platform, "eve", now=NOW)
    staff.set_email(platform, "eve", "eve@example.net", now=NOW)
    MailDelivery(sender=None, site=SITE, keys=KEYS)(platform, NOW)
    with pytest.raises(Conflict, match="Somebody else has the address"):
        staff.set_email(platform, "ada", "eve@example.net", now=NOW)
    assert count_mails(platform) == 0


HOSTILE = st.text(max_size=40) | st.sampled_from(
    ["ada\r\nBcc: eve@example.net", "\n\n.\r\n", "a\x0b\x0cb", "\u2028Bcc: eve@example.net", "{site}", "{0.__class__}"]
)


@given(person=HOSTILE, passkey=HOSTILE, address=st.sampled_from([ADDRESS]) | HOSTILE)
def test_names_and_addresses_add_no_header_and_no_line(person: str, passkey: str, address: str) -> None:
    event = replace(EVENT, person=person, content={"passkey": passkey}, address=address)
    plain = compose_mail([EVENT], sender=SENDER, site=SITE, now=NOW)
    try:
        message = compose_mail([event], sender=SENDER, site=SITE, now=NOW)
        headers = bytes(message).partition(b"\n\n")[0]
    except (ValueError, UnicodeError):
        assert address != ADDRESS
        return
    assert b"Bcc" not in headers
    # Texts that are not ASCII may need another encoding.
    names, usual = (sorted(set(one.keys()) - {"Content-Transfer-Encoding"}) for one in (message, plain))
    assert names == usual
    assert len(message.keys()) == len(set(message.keys()))
    assert len(message["To"].addresses) == 1
    assert len(message.get_content().splitlines()) == len(plain.get_content().splitlines())


@pytest.mark.parametrize("address", ["a, eve@example.net", "a@b@c.net", "a@x.net\r\nBcc: b@x.net", "<a@x.net>", "a@"])
@sqlite_only
def test_texts_that_are_not_one_address_are_refused(platform: Platform, ada: StaffRow, address: str) -> None:
    with pytest.raises(InvalidInput, match="is not an e-mail address"):
        staff.set_email(platform, "ada", address, now=NOW)


@sqlite_only
def test_events_of_people_are_mailed_apart(platform: Platform, ada: StaffRow, tmp_path: Path) -> None:
    sign_in_links.create_sign_in_link(platform, "eve", now=NOW)
    staff.set_email(platform, "eve", "eve@example.net", now=NOW)
    MailDelivery(sender=None, site=SITE, keys=KEYS)(platform, NOW)
    set_password(platform)
    passwords.set_password_for(platform, HASHER, "eve", PASSWORD, now=NOW)
    set_password(platform)
    with receiving(tmp_path) as mailbox:
        delivery(mailbox)(platform, NOW)
        texts = {
            str(message["To"]): message.get_content().count("The password was set") for message in mailbox.messages
        }
    assert texts == {ADDRESS: 2, "eve@example.net": 1}


def test_a_sign_in_link_that_has_expired_is_not_mailed(
    platform: Platform, ada: StaffRow, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with platform.database.writing() as tx:
        add_mail(tx, ada.id, "sign_in_link", NOW, encrypt_link_key(KEYS, "key"))
    with receiving(tmp_path) as mailbox:
        delivery(mailbox)(platform, NOW + SIGN_IN_LINK_LIFETIME)
    assert (mailbox.messages, count_mails(platform)) == ([], 0)
    assert "was given up (sign_in_link): its link has expired." in caplog.text


def test_a_host_that_is_no_name_postpones_a_mail() -> None:
    sender = MailSender(host=f"{'a' * 64}.example", port=25, sender=SENDER, encryption="none")
    assert sender.send(EmailMessage(), ADDRESS).outcome == "postponed"


def test_a_login_that_is_not_ascii_postpones_a_mail(tmp_path: Path) -> None:
    with receiving(tmp_path, authentication=True) as mailbox:
        sender = MailSender(
            host="127.0.0.1", port=mailbox.port, sender=SENDER, encryption="none", user="site", password="schlüssel"
        )
        assert sender.send(EmailMessage(), ADDRESS).outcome == "postponed"
