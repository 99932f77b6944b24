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
        """True if Prolific gives the place to another participant, so that the quota seat is free too."""
        return self in (
            SubmissionStatus.TIMED_OUT,
            SubmissionStatus.REJECTED,
            SubmissionStatus.RETURNED,
            SubmissionStatus.SCREENED_OUT,
        )

    @property
    def ends(self) -> bool:
        """True if the visit is over and nothing more can be submitted."""
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
# A timed-out participant may still submit, and a rejection may be reversed. The order has no cycles.
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
"""Direct successors of each status; transitions may skip some."""

AnyStatus = TypeVar("AnyStatus", bound=StrEnum)


def is_later_status(old: SubmissionStatus | None, new: SubmissionStatus) -> bool:
    """Return True if a status of a submission can follow another one, directly or not.

    Other events are late, repeated or out of order and must be ignored. The final status then does not depend on the
    order in which events arrive.

    Examples
    --------
    >>> is_later_status(SubmissionStatus.RESERVED, SubmissionStatus.AWAITING_REVIEW)
    True
    >>> is_later_status(SubmissionStatus.APPROVED, SubmissionStatus.ACTIVE)
    False
    """
    return old is None or any(one is new or is_later_status(one, new) for one in _NEXT_STATUSES[old])


def parse_status(kind: type[AnyStatus], text: object) -> AnyStatus | None:
    """Return the status of this name, with blanks, - or _ between words; None if unknown."""
    plain = re.sub(r"[ _-]", "", text.upper()) if isinstance(text, str) else ""
    return next((one for one in kind if re.sub(r"[ _-]", "", one.value) == plain), None)
