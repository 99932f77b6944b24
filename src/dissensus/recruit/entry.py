"""Entry and return of people whom Prolific or another panel sends, with its ids in the URL."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.recruit import prolific
from dissensus.schema.campaign.completion_codes import Outcome
from dissensus.schema.campaign.recruit import ID_PLACEHOLDER, RecruitSettings

PANEL_ID: Final = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9._~-]{8,128}")
"""Id of a person at a panel. It reopens their visit, so short ids and numbers, which could be guessed, are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruitEntry:
    """A person sent by a recruiter."""

    person: str = field(repr=False)  # The recruiter's id of the person, which must not be logged or exported
    submission: str  # Id of the submission at Prolific; for other panels a digest of campaign and person
    query: Mapping[str, str] = field(repr=False)  # Parameters of the entry URL that hold the ids


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnLink:
    """Address and completion code that take a person back to the recruiter; either may be missing."""

    recruiter: str  # Its name
    address: str | None = None
    code: str | None = None


def entry_parameters(settings: RecruitSettings) -> tuple[str, ...]:
    """Return the names of the URL parameters that hold the recruiter's ids."""
    return prolific.ENTRY_PARAMETERS if settings.kind == "prolific" else (settings.parameter,)


def parse_entry(settings: RecruitSettings, campaign_id: str, query: Mapping[str, str]) -> RecruitEntry:
    """Return the entry in the query of an entry URL, or raise `InvalidInput`.

    Examples
    --------
    >>> panel = RecruitSettings(kind="link", name="Panel", parameter="pid")
    >>> parse_entry(panel, "c1", {"pid": "4f9ac2d1"}).submission[:8]
    '8a6bbe36'
    """
    if settings.kind == "prolific":
        entry = prolific.parse_entry(query)
        return RecruitEntry(person=entry.pid, submission=entry.submission, query=entry.query)
    person = query.get(settings.parameter) or ""
    if not PANEL_ID.fullmatch(person):
        fault = "is not a valid id" if person else "is missing"
        raise InvalidInput(
            f"The link is incomplete or invalid: {settings.parameter} {fault}. Nothing about you was stored. Open the "
            f"link of {settings.name} again; if this page appears again, tell them."
        )
    submission = hashlib.sha256(f"{campaign_id} {person}".encode()).hexdigest()
    return RecruitEntry(person=person, submission=submission, query={settings.parameter: person})


def entry_address(settings: RecruitSettings, address: str) -> str:
    """Return an entry URL, which has a query, with the parameters that the recruiter fills in.

    Examples
    --------
    >>> entry_address(RecruitSettings(kind="link", parameter="pid"), "https://rate.example/c/pilot?key=k")
    'https://rate.example/c/pilot?key=k&pid='
    """
    return prolific.with_placeholders(address) if settings.kind == "prolific" else f"{address}&{settings.parameter}="


def find_return_link(settings: RecruitSettings, outcome: Outcome, person: str) -> ReturnLink | None:
    """Return the way back to the recruiter after an outcome; None if it has neither address nor code.

    Examples
    --------
    >>> panel = RecruitSettings(
    ...     kind="link", name="Panel", parameter="pid", addresses={"completed": "https://panel.example/done?pid={id}"}
    ... )
    >>> find_return_link(panel, "completed", "4f9ac2d1").address
    'https://panel.example/done?pid=4f9ac2d1'
    """
    code, address = settings.codes.get(outcome), settings.addresses.get(outcome)
    if code is not None and settings.kind == "prolific":
        address = prolific.completion_url(settings.codes, outcome)
    if code is None and address is None:
        return None
    if address is not None:
        # Ids have only characters that need no encoding in an address.
        address = address.replace(ID_PLACEHOLDER, person)
    return ReturnLink(recruiter=settings.name, address=address, code=code)
