"""Statuses of submissions and studies, and their order."""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeVar


class SubmissionStatus(StrEnum):
    """Status of a submission."""

    RESERVED = "RESERVED"
    ACTIVE = "ACTIVE"
    TIMED_OUT = "TIMED-OUT"
    AWAITING_REVIEW = "AWAITING REVIEW"
    APPROVED = "APPROVED"
    PARTIALLY_APPROVED = "PARTIALLY APPROVED"
    REJECTED = "REJECTED"
    RETURNED = "RETURNED"
    SCREENED_OUT = "SCREENED OUT"

    @property
    def frees_seat(self) -> bool:
        """True if Prolific gives the place to somebody else, so the quota seat is free too."""
        return self in (
            SubmissionStatus.TIMED_OUT,
            SubmissionStatus.REJECTED,
            SubmissionStatus.RETURNED,
            SubmissionStatus.SCREENED_OUT,
        )

    @property
    def ends(self) -> bool:
        """True if the visit is over and nothing can be submitted any more."""
        return self in (*_FINAL_STATUSES, SubmissionStatus.REJECTED)


class StudyStatus(StrEnum):
    """Status of a study."""

    UNPUBLISHED = "UNPUBLISHED"
    SCHEDULED = "SCHEDULED"
    PUBLISHING = "PUBLISHING"
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    AWAITING_REVIEW = "AWAITING REVIEW"
    COMPLETED = "COMPLETED"


_FINAL_STATUSES: Final = (
    SubmissionStatus.APPROVED,
    SubmissionStatus.PARTIALLY_APPROVED,
    SubmissionStatus.RETURNED,
    SubmissionStatus.SCREENED_OUT,
)
# Who ran out of time may still hand in, and a rejection may be taken back: each leads on, and nothing leads back.
_NEXT_STATUSES: Final[Mapping[SubmissionStatus, tuple[SubmissionStatus, ...]]] = MappingProxyType(
    {
        SubmissionStatus.RESERVED: (SubmissionStatus.ACTIVE,),
        SubmissionStatus.ACTIVE: (SubmissionStatus.TIMED_OUT,),
        SubmissionStatus.TIMED_OUT: (SubmissionStatus.AWAITING_REVIEW,),
        SubmissionStatus.AWAITING_REVIEW: (SubmissionStatus.REJECTED, SubmissionStatus.SCREENED_OUT),
        SubmissionStatus.REJECTED: (
            SubmissionStatus.APPROVED,
            SubmissionStatus.PARTIALLY_APPROVED,
            SubmissionStatus.RETURNED,
        ),
        **dict.fromkeys(_FINAL_STATUSES, ()),
    }
)
"""What comes next; steps may be left out, as when somebody hands in without running out of time."""

AnyStatus = TypeVar("AnyStatus", bound=StrEnum)


def is_later_status(old: SubmissionStatus | None, new: SubmissionStatus) -> bool:
    """Tell whether a status of a submission can come after another one, with or without steps between.

    What does not follow came late, or again, or out of order, and changes nothing: whatever the order in which the
    events of one submission come, the same status is left in the end.

    Examples
    --------
    >>> is_later_status(SubmissionStatus.RESERVED, SubmissionStatus.AWAITING_REVIEW)
    True
    >>> is_later_status(SubmissionStatus.APPROVED, SubmissionStatus.ACTIVE)
    False
    """
    return old is None or any(one is new or is_later_status(one, new) for one in _NEXT_STATUSES[old])


def parse_status(kind: type[AnyStatus], text: object) -> AnyStatus | None:
    """Return the status that a text names, with a blank, - or _ between its words; None where it is not known."""
    plain = re.sub(r"[ _-]", "", text.upper()) if isinstance(text, str) else ""
    return next((one for one in kind if re.sub(r"[ _-]", "", one.value) == plain), None)
