"""Plain-text mails about security events of a person; they say nothing of raters."""

from collections.abc import Sequence
from datetime import datetime
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from dissensus.store.identity.mails import MailRow

DESCRIPTIONS: Final[dict[str, str]] = {
    "password_changed": "The password was set by {by}.",
    "second_factor_added": "Codes of an app were added as a second factor.",
    "second_factor_removed": "A second factor was removed by {by}.",
    "passkey_added": "The passkey “{passkey}” was added.",
    "passkey_removed": "The passkey “{passkey}” was removed.",
    "recovery_codes_created": "New recovery codes replaced the earlier ones.",
    "recovery_code_used": "A recovery code was used. Left: {left}.",
    "token_created": "The API token “{token}” was created, with these scopes: {scopes}.",
    "token_revoked": "The API token “{token}” was revoked.",
    "invitation_created": "A link that admits somebody to the campaign {campaign} was created. Role: {role}.",
    "role_given": "You became a member of the campaign {campaign}. Role: {role}.",
    "role_changed": "Your role in the campaign {campaign} was changed. New role: {role}.",
    "role_lost": "Your membership of the campaign {campaign} ended.",
    "sign_in_link_created": "The operator of the site created a link that signs you in.",
    "email_changed": "The operator of the site changed your e-mail address.",
}
"""Sentence about each kind of security event that is mailed."""
TEXT: Final = """\
Hello {person},

this happened to your account at {site}:

{events}

If this was neither you nor somebody whom you asked, set a new password, check
your second factors and revoke your tokens at {site}/account, and tell
the operator of the site.

This message was sent automatically. It contains no link that signs you in.
"""


def compose_mail(mails: Sequence[MailRow], *, sender: str, site: str, now: datetime) -> EmailMessage:
    """Return a message about events of one person, in order; `ValueError` if the address is not valid in a header."""
    first, last, host = mails[0], mails[-1], urlsplit(site).hostname or "localhost"
    message = EmailMessage()
    message["From"] = sender
    message["To"] = parse_address(first.address)
    message["Subject"] = f"Your account at {host}"
    message["Date"] = format_datetime(now)
    # The same at each attempt, so that mail programs recognise a repetition.
    message["Message-ID"] = f"<{first.number}.{last.number}.{int(first.at.timestamp())}@{host}>"
    message["Auto-Submitted"] = "auto-generated"
    events = "\n".join(map(_describe, mails))
    message.set_content(TEXT.format(person=_to_line(first.person), site=site, events=events))
    return message


def parse_address(text: str) -> Address:
    """Return an e-mail address; `ValueError` for a text that is not exactly one.

    Examples
    --------
    >>> parse_address("ada@example.org").domain
    'example.org'
    """
    try:
        address = Address(addr_spec=text)
    # The parser of the standard library runs off the end of some texts.
    except (HeaderParseError, IndexError) as error:
        raise ValueError(f"{text!r} is not an address") from error
    if not (address.username and address.domain and address.addr_spec == text and text.isprintable()):
        raise ValueError(f"{text!r} is not an address")
    return address


def _describe(mail: MailRow) -> str:
    values = {name: _to_line(value) for name, value in mail.content.items()}
    if values.get("by") == "themselves":
        values["by"] = "you"
    sentence = DESCRIPTIONS[mail.kind].format_map(values)
    network = "" if mail.network is None else f" Network: {mail.network}."
    return f"- {mail.at:%Y-%m-%d %H:%M} UTC: {sentence}{network}"


def _to_line(value: Any) -> str:
    """Return a value on one line: names and scopes must not look like other parts of a message."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return " ".join(text.split())
