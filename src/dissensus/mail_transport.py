"""SMTP transport: one message for each connection, whose certificate is checked."""

import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Final, Literal

Encryption = Literal["starttls", "tls", "none"]
"""Encryption of the connection: STARTTLS (RFC 3207), TLS from the first byte (RFC 8314), or none."""
DEFAULT_PORTS: Final[dict[Encryption, int]] = {"starttls": 587, "tls": 465, "none": 25}
TIMEOUT_S: Final = 15.0
PERMANENT: Final = 500
"""First reply code of permanent failures (RFC 5321, section 4.2.1)."""


@dataclass(frozen=True, slots=True)
class MailResult:
    """Outcome of sending a message; the reason does not quote the reply of the server, which may contain addresses."""

    outcome: Literal["sent", "refused", "postponed"]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSender:
    """Sender of messages through an SMTP server."""

    host: str
    port: int
    encryption: Encryption
    sender: str  # As in the From header, such as Dissensus <notices@example.org>
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    context: ssl.SSLContext = field(default_factory=ssl.create_default_context, repr=False)
    timeout_s: float = TIMEOUT_S

    def send(self, message: EmailMessage, address: str) -> MailResult:
        """Send a message to one address: refused if the server rejects it for good, postponed after other failures."""
        try:
            connection = self._connect()
        except (OSError, UnicodeError, smtplib.SMTPException) as error:  # UnicodeError: an invalid host name
            return MailResult("postponed", _describe(error))
        try:
            if self.encryption == "starttls":
                # Raises where the server offers no STARTTLS, before anything is sent.
                connection.starttls(context=self.context)
            if self.user is not None:
                connection.login(self.user, self.password or "")
            return self._transmit(connection, message, address)
        except (OSError, UnicodeError, smtplib.SMTPException) as error:  # UnicodeError: a login not in ASCII
            return MailResult("postponed", _describe(error))
        finally:
            # A failure after the message was accepted must not send it again.
            with suppress(OSError, smtplib.SMTPException):
                connection.quit()

    def _connect(self) -> smtplib.SMTP:
        if self.encryption == "tls":
            return smtplib.SMTP_SSL(self.host, self.port, timeout=self.timeout_s, context=self.context)
        return smtplib.SMTP(self.host, self.port, timeout=self.timeout_s)

    def _transmit(self, connection: smtplib.SMTP, message: EmailMessage, address: str) -> MailResult:
        try:
            connection.send_message(message, to_addrs=[address])
        except (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused) as error:
            outcome: Literal["refused", "postponed"] = "refused" if _reply_code(error) >= PERMANENT else "postponed"
            return MailResult(outcome, _describe(error))
        except smtplib.SMTPNotSupportedError as error:
            # The address is not ASCII, and the server does not support SMTPUTF8.
            return MailResult("refused", _describe(error))
        return MailResult("sent")


def is_sender(text: str) -> bool:
    r"""Return whether a text is one mail address, with or without a display name.

    Examples
    --------
    >>> [is_sender(text) for text in ("Dissensus <notices@example.org>", "a@b.org, c@d.org", "a@b.org\nBcc: c@d.org")]
    [True, False, False]
    """
    message = EmailMessage()
    try:
        message["From"] = text
    except (ValueError, IndexError, AttributeError):  # The parser of the library fails so for some invalid addresses.
        return False
    (header,) = message.get_all("From", [])
    return not header.defects and [bool(part.username and part.domain) for part in header.addresses] == [True]


def _reply_code(error: smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused) -> int:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return max((code for code, _ in error.recipients.values()), default=0)
    return error.smtp_code


def _describe(error: Exception) -> str:
    """Return the class of an error, and the reply code if there is one."""
    if isinstance(error, smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused):
        return f"{type(error).__name__}, reply {_reply_code(error)}"
    return type(error).__name__
