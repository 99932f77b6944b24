"""Entry and return of recruited raters: ids in the URL, from Prolific or any panel."""

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
"""Id of a person at a panel. It continues a visit, so short ones and numbers, which could be guessed, are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruitEntry:
    """A person sent by a recruiter."""

    person: str = field(repr=False)  # The recruiter's id of the person, which must not be logged or exported
    submission: str  # Id of the submission; a panel has none, and a digest of the person stands for it
    query: Mapping[str, str] = field(repr=False)  # of the address


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnLink:
    """Address and completion code that take a person back to the recruiter; either may be missing."""

    recruiter: str  # Name
    address: str | None = None
    code: str | None = None


def entry_parameters(settings: RecruitSettings) -> tuple[str, ...]:
    """Return the parameters of an address that hold the recruiter's ids."""
    return prolific.ENTRY_PARAMETERS if settings.kind == "prolific" else (settings.parameter,)


def parse_entry(settings: RecruitSettings, campaign_id: str, query: Mapping[str, str]) -> RecruitEntry:
    """Return the entry in the query of an address.

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
    """Return an address with the parameters that the recruiter fills in.

    Examples
    --------
    >>> entry_address(RecruitSettings(kind="link", parameter="pid"), "https://rate.example/c/pilot?key=k")
    'https://rate.example/c/pilot?key=k&pid='
    """
    return prolific.with_placeholders(address) if settings.kind == "prolific" else f"{address}&{settings.parameter}="


def find_return(settings: RecruitSettings, outcome: Outcome, person: str) -> ReturnLink | None:
    """Return the way back of a person after an outcome; None if there is none.

    Examples
    --------
    >>> panel = RecruitSettings(
    ...     kind="link", name="Panel", parameter="pid", addresses={"completed": "https://panel.example/done?pid={id}"}
    ... )
    >>> find_return(panel, "completed", "4f9ac2d1").address
    'https://panel.example/done?pid=4f9ac2d1'
    """
    code, address = settings.codes.get(outcome), settings.addresses.get(outcome)
    if code is not None and settings.kind == "prolific":
        address = prolific.completion_url(settings.codes, outcome)
    if code is None and address is None:
        return None
    # Ids hold only characters that an address may have.
    filled = None if address is None else address.replace(ID_PLACEHOLDER, person)
    return ReturnLink(recruiter=settings.name, address=filled, code=code)
