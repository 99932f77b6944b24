"""Entry URLs from Prolific, which carry three ids."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.address import check_secure_url
from dissensus.schema.hints import format_value

PROLIFIC_ID: Final = re.compile(r"[0-9a-fA-F]{24}")
"""An id of Prolific, whatever it names."""

ENTRY_PARAMETERS: Final = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
PLACEHOLDERS: Final = "&".join(f"{name}={{{{%{name}%}}}}" for name in ENTRY_PARAMETERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificEntry:
    """Somebody who came from Prolific."""

    # Who it is on Prolific. It points to a person, so that it is in no representation, log or export.
    pid: str = field(repr=False)
    study: str  # The study that they come from
    # Their submission: what Prolific calls the session in the address and the submission everywhere else
    submission: str

    @property
    def query(self) -> dict[str, str]:
        """The ids as in the address that they came by."""
        return dict(zip(ENTRY_PARAMETERS, (self.pid, self.study, self.submission), strict=True))


def parse_entry(query: Mapping[str, str]) -> ProlificEntry:
    """Return who comes, by the query of the address that they came to.

    Examples
    --------
    >>> parse_entry({"PROLIFIC_PID": "A" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24})
    ProlificEntry(study='bbbbbbbbbbbbbbbbbbbbbbbb', submission='cccccccccccccccccccccccc')
    """
    faults = [
        f"{name} {'is not right' if query.get(name) else 'is missing'}"
        for name in ENTRY_PARAMETERS
        if not PROLIFIC_ID.fullmatch(query.get(name) or "")
    ]
    if faults:
        raise InvalidInput(
            f"The link that you came by is not complete: {', '.join(faults)}. Nothing about you was kept. Open the "
            "study again on Prolific, from https://app.prolific.com; if this page comes again, tell the researcher "
            "by a message there."
        )
    pid, study, submission = (query[name].lower() for name in ENTRY_PARAMETERS)
    return ProlificEntry(pid=pid, study=study, submission=submission)


def entry_url(address: str) -> str:
    """Return the address of a study with the places in which Prolific writes its ids, if it has them not yet.

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
    """Return an address with the places in which Prolific writes its ids, be it one that Prolific takes or not."""
    return f"{address}{'&' if '?' in address else '?'}{PLACEHOLDERS}"
