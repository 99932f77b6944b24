"""Plain-text mails to staff: events of accounts, notices of campaigns without their contents, and links."""

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
    "account_disabled": "Your account was disabled by {by}: you cannot sign in any more.",
    "account_enabled": "Your account was enabled again by {by}.",
    "operator_added": "You may see and disable all accounts of the site now.",
    "operator_removed": "You may not see and disable all accounts of the site any more.",
    "sign_in_link_created": "The operator of the site created a link that signs you in.",
    "email_changed": "The operator of the site changed your e-mail address.",
}
"""Sentence about each kind of security event that is mailed."""
CAMPAIGN_NOTICES: Final[dict[str, str]] = {
    "contact_requested": "A rater of {campaign} asks its contact for support. {site}/campaigns/{campaign}/care",
    "help_requested": "A rater of {campaign} asks for help. {site}/campaigns/{campaign}/notices",
    "item_reported": "A rater of {campaign} reports illegal content. {site}/campaigns/{campaign}/notices",
    "raters_flagged": "Raters of {campaign} were flagged. {site}/campaigns/{campaign}/monitoring",
}
"""Sentence about each kind of campaign notice: its kind and its page, never the text of a rater."""
LINKS: Final[dict[str, str]] = {
    "sign_in_link": """\
This link signs you in at {site}, once, within 15 minutes:

{site}/sign-in/{key}

If you did not ask for it, ignore this message: nothing happens.""",
    "invitation": """\
{by} invites you to the campaign {campaign} at {site}, as {role}.
This link works once, within 7 days:

{site}/join/{key}

If you did not expect this, ignore the message: nothing happens.""",
}
"""Text of each kind of mail with a link."""
SUBJECTS: Final = {
    "account": "Your account at {host}",
    "campaign": "Waiting for you at {host}",
    "sign_in_link": "Sign in at {host}",
    "invitation": "Invitation to {campaign} at {host}",
}
ACCOUNT_TEXT: Final = """\
{greeting}

This happened to your account at {site}:

{events}

If this was neither you nor somebody whom you asked, set a new password, check
your second factors and revoke your tokens at {site}/account, and tell
the operator of the site.

This message was sent automatically. It contains no link that signs you in.
"""
CAMPAIGN_TEXT: Final = """\
{greeting}

This waits for you:

{events}

This message was sent automatically. What raters write is on these pages only,
for which you sign in.
"""
LINK_TEXT: Final = """\
{greeting}

{link}

This message was sent automatically.
"""


def find_subject(mail: MailRow) -> str:
    """Return the subject of the message for a mail: `account`, `campaign`, or the kind of a link."""
    if mail.kind in LINKS:
        return mail.kind
    return "campaign" if mail.kind in CAMPAIGN_NOTICES else "account"


def compose_mail(mails: Sequence[MailRow], *, sender: str, site: str, now: datetime, key: str = "") -> EmailMessage:
    """Return a message about mails of one person and subject, in order, with the key of the link if there is one.

    Raises `ValueError` if the address is not valid in a header.
    """
    first, last, host = mails[0], mails[-1], urlsplit(site).hostname or "localhost"
    subject, values = find_subject(first), {"site": site, "host": host, "key": key}
    message = EmailMessage()
    message["From"] = sender
    message["To"] = parse_address(first.address)
    message["Subject"] = SUBJECTS[subject].format_map(_to_lines(first) | values)
    message["Date"] = format_datetime(now)
    # The same at each attempt, so that mail programs recognise a repetition.
    message["Message-ID"] = f"<{first.number}.{last.number}.{int(first.at.timestamp())}@{host}>"
    message["Auto-Submitted"] = "auto-generated"
    greeting = "Hello," if first.person is None else f"Hello {_to_line(first.person)},"
    if subject in LINKS:
        text = LINK_TEXT.format(greeting=greeting, link=LINKS[subject].format_map(_to_lines(first) | values))
    else:
        events = "\n".join(_describe(mail, site) for mail in mails)
        template = CAMPAIGN_TEXT if subject == "campaign" else ACCOUNT_TEXT
        text = template.format(greeting=greeting, site=site, events=events)
    message.set_content(text)
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


def _describe(mail: MailRow, site: str) -> str:
    values = _to_lines(mail) | {"site": site}
    if values.get("by") == "themselves":
        values["by"] = "you"
    sentence = {**DESCRIPTIONS, **CAMPAIGN_NOTICES}[mail.kind].format_map(values)
    network = "" if mail.network is None else f" Network: {mail.network}."
    return f"- {mail.at:%Y-%m-%d %H:%M} UTC: {sentence}{network}"


def _to_lines(mail: MailRow) -> dict[str, str]:
    return {name: _to_line(value) for name, value in mail.content.items()}


def _to_line(value: Any) -> str:
    """Return a value on one line: names and scopes must not look like other parts of a message."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return " ".join(text.split())
