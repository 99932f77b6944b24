"""Mail delivery: send what waits in the outbox to staff, with retries and backoff."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from random import SystemRandom
from threading import Event
from typing import Final

from dissensus.campaign.backoff import backoff_after
from dissensus.encryption import SecretKeys
from dissensus.errors import NotAllowed
from dissensus.mail_transport import MailResult, MailSender
from dissensus.store.identity import mails as store
from dissensus.store.identity.mails import MailRow
from dissensus.workflows.platform.mail_message import LINKS, compose_mail, find_subject
from dissensus.workflows.platform.platform import Platform

MAX_EVENTS: Final = 50
"""Most events of one run, and so of one message."""
GIVE_UP_AFTER: Final = timedelta(days=2)
"""Time after which a mail that was not delivered is deleted."""
SIGN_IN_LINK_LIFETIME: Final = timedelta(minutes=15)
"""Validity of a sign-in link."""
GIVE_UP_AFTER_BY_KIND: Final = {"sign_in_link": SIGN_IN_LINK_LIFETIME}
"""Shorter times by kind of mail, after which its link has expired."""

LINK_PURPOSE: Final = "link of a mail"

log = logging.getLogger("dissensus.jobs")


@dataclass(slots=True, kw_only=True)
class MailDelivery:
    """Recurring job that sends waiting mails, those of one person and subject together.

    Without a sender it discards them. It holds no database connection while the server answers.
    """

    sender: MailSender | None
    site: str  # Public address of the site
    keys: SecretKeys  # Decrypt the keys of links
    # Random number in [0, 1] for the jitter of the backoff
    chance: Callable[[], float] = field(default_factory=lambda: SystemRandom().random)
    stopped: Event = field(default_factory=Event)

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Send the mails that are due."""
        if self.sender is None:
            self._discard(platform)
            return
        with platform.database.reading() as tx:
            due = store.list_due_mails(tx, now=now, limit=MAX_EVENTS)
        for mails in _group_by_message(due):
            if self.stopped.is_set():
                return
            result = self._send(self.sender, mails, now)
            self._record(platform, mails, result, now)

    def _discard(self, platform: Platform) -> None:
        with platform.database.reading() as tx:
            if not store.has_mails(tx):
                return
        with platform.database.writing() as tx:
            store.delete_all_mails(tx)

    def _send(self, sender: MailSender, mails: Sequence[MailRow], now: datetime) -> MailResult:
        if _has_expired(mails[0], now):
            return MailResult("refused", "its link has expired")
        try:
            key = self._decrypt_key(mails[0])
            message = compose_mail(mails, sender=sender.sender, site=self.site, now=now, key=key)
            return sender.send(message, mails[0].address)
        except ValueError as error:
            return MailResult("refused", f"{type(error).__name__}, the address is not valid")
        except NotAllowed:
            return MailResult("refused", "the link was made under a secret key that is gone")

    def _decrypt_key(self, mail: MailRow) -> str:
        """Return the key of the link in a mail, empty without one."""
        if mail.kind not in LINKS:
            return ""
        return self.keys.decrypt(bytes.fromhex(mail.content["encrypted_key"]), LINK_PURPOSE).decode()

    def _record(self, platform: Platform, mails: Sequence[MailRow], result: MailResult, now: datetime) -> None:
        waiting = [mail for mail in mails if result.outcome == "postponed" and not _is_late(mail, now)]
        done = [mail for mail in mails if mail not in waiting]
        with platform.database.writing() as tx:
            if waiting:
                n_failures = 1 + min(mail.n_failures for mail in waiting)
                backoff = backoff_after(n_failures, retry_after_s=0, chance=self.chance())
                store.postpone_mails(tx, [mail.number for mail in waiting], due_at=now + backoff)
            if done:
                store.delete_mails(tx, [mail.number for mail in done])
        if waiting:
            log.warning("Mail %s waits (%s): %s.", waiting[0].number, _list_kinds(waiting), result.reason)
        if done and result.outcome != "sent":
            log.error("Mail %s was given up (%s): %s.", done[0].number, _list_kinds(done), result.reason)


def _list_kinds(mails: Sequence[MailRow]) -> str:
    return ", ".join(sorted({mail.kind for mail in mails}))


def _is_late(mail: MailRow, now: datetime) -> bool:
    return now - mail.at >= GIVE_UP_AFTER_BY_KIND.get(mail.kind, GIVE_UP_AFTER)


def _has_expired(mail: MailRow, now: datetime) -> bool:
    lifetime = GIVE_UP_AFTER_BY_KIND.get(mail.kind)
    return lifetime is not None and now - mail.at >= lifetime


def _group_by_message(mails: Sequence[MailRow]) -> Iterator[list[MailRow]]:
    def message(mail: MailRow) -> tuple[str, str, str, int]:
        subject = find_subject(mail)
        return mail.address, mail.person or "", subject, mail.number if subject in LINKS else 0

    # The sort is stable, so events stay in order.
    for _, group in groupby(sorted(mails, key=message), key=message):
        yield list(group)


def encrypt_link_key(keys: SecretKeys, key: str) -> dict[str, str]:
    """Return the content of a mail that holds the key of a link, which nobody can read in the database."""
    return {"encrypted_key": keys.encrypt(key.encode(), LINK_PURPOSE).hex()}
