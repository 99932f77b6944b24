"""Entry URLs from Prolific, which contain three ids, and completion URLs back to it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.completion_codes import CompletionCodes, Outcome
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.urls import check_secure_url

PROLIFIC_ID: Final = re.compile(r"[0-9a-fA-F]{24}")
"""Id of a person, a study, a submission or a workspace on Prolific."""

ENTRY_PARAMETERS: Final = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
PLACEHOLDERS: Final = "&".join(f"{name}={{{{%{name}%}}}}" for name in ENTRY_PARAMETERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificEntry:
    """A participant who came from Prolific."""

    pid: str = field(repr=False)  # Participant id. It identifies a person and must not be logged or exported.
    study: str
    submission: str  # Id of the submission, which Prolific calls the session in the URL

    @property
    def query(self) -> dict[str, str]:
        """Query parameters of the entry URL."""
        return dict(zip(ENTRY_PARAMETERS, (self.pid, self.study, self.submission), strict=True))


def parse_entry(query: Mapping[str, str]) -> ProlificEntry:
    """Return the entry in the query of an entry URL, or raise `InvalidInput`.

    Examples
    --------
    >>> parse_entry({"PROLIFIC_PID": "A" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24})
    ProlificEntry(study='bbbbbbbbbbbbbbbbbbbbbbbb', submission='cccccccccccccccccccccccc')
    """
    faults = [
        f"{name} {'is not a valid id' if query.get(name) else 'is missing'}"
        for name in ENTRY_PARAMETERS
        if not PROLIFIC_ID.fullmatch(query.get(name) or "")
    ]
    if faults:
        raise InvalidInput(
            f"The link is incomplete or invalid: {', '.join(faults)}. Nothing about you was stored. Open the study "
            "again on Prolific, from https://app.prolific.com; if this page appears again, send the researcher a "
            "message there."
        )
    pid, study, submission = (query[name].lower() for name in ENTRY_PARAMETERS)
    return ProlificEntry(pid=pid, study=study, submission=submission)


def entry_url(address: str) -> str:
    """Return the address of a study with the placeholders of Prolific's ids, added if missing.

    Examples
    --------
    >>> entry_url("https://rate.example/c/pilot")
    'https://rate.example/c/pilot?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}'
    """
    check_secure_url(address)
    if address.endswith(PLACEHOLDERS):
        return address
    if "#" in address or any(name in address for name in ENTRY_PARAMETERS):
        raise InvalidInput(
            f"The address {format_value(address)} has a # or ids of Prolific already. Give it without them."
        )
    return with_placeholders(address)


def with_placeholders(address: str) -> str:
    """Return an address with the placeholders of Prolific's ids, without a check of the address."""
    return f"{address}{'&' if '?' in address else '?'}{PLACEHOLDERS}"


def completion_url(codes: CompletionCodes, outcome: Outcome) -> str:
    """Return the completion URL of an outcome.

    Examples
    --------
    >>> completion_url({"completed": "C1A2B3C4"}, "completed")
    'https://app.prolific.com/submissions/complete?cc=C1A2B3C4'
    """
    if outcome not in codes:
        raise InvalidInput(
            f"There is no code for {format_value(outcome)}; there are codes for {format_list(tuple(codes))}."
        )
    return f"https://app.prolific.com/submissions/complete?cc={codes[outcome]}"
