"""Submissions as Prolific lists them: statuses with their order, and rejections."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from dissensus.errors import InvalidInput, Unavailable
from dissensus.schema.hints import format_list, format_value, suggest

AnyStatus = TypeVar("AnyStatus", bound=StrEnum)
RejectionCategory: TypeAlias = Literal[
    "BAD_CODE",
    "FAILED_CHECK",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "NO_DATA",
    "OTHER",
    "UNSUPP_DEVICE",
]
REJECTION_CATEGORIES: Final[tuple[RejectionCategory, ...]] = get_args(RejectionCategory)
"""Rejection categories of Prolific except speed, which alone is not accepted as a ground."""
MIN_REASON_LENGTH: Final = 100


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


def is_later_status(old: SubmissionStatus | None, new: SubmissionStatus) -> bool:
    """Return whether a status of a submission can follow another one, directly or not; any follows None.

    Other events are late, repeated or out of order and must be ignored. The final status then does not depend on the
    order in which events arrive.

    Examples
    --------
    >>> is_later_status(SubmissionStatus.RESERVED, SubmissionStatus.AWAITING_REVIEW)
    True
    >>> is_later_status(SubmissionStatus.APPROVED, SubmissionStatus.ACTIVE)
    False
    """
    return old is None or any(status is new or is_later_status(status, new) for status in _NEXT_STATUSES[old])


def parse_status(kind: type[AnyStatus], text: object) -> AnyStatus | None:
    """Return the status with a name in any case, with blanks, - or _ between words; None if unknown."""
    plain = re.sub(r"[ _-]", "", text.upper()) if isinstance(text, str) else ""
    return next((status for status in kind if re.sub(r"[ _-]", "", status.value) == plain), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificSubmission:
    """Submission as Prolific reports it, without the participant's identity."""

    id: str
    status: SubmissionStatus | None  # None if unknown, such as the one while a decision is processed
    code: str | None  # Completion code, if any
    return_asked: bool  # True if its return was requested


def parse_submission(entry: Any) -> ProlificSubmission:
    """Parse one entry of a list of submissions."""
    submission_id = entry.get("id") if isinstance(entry, dict) else None
    if not isinstance(submission_id, str):
        raise Unavailable("Prolific lists a submission without its id; its API may have changed.")
    code = entry.get("study_code")
    return ProlificSubmission(
        id=submission_id.lower(),
        status=parse_status(SubmissionStatus, entry.get("status")),
        code=code if isinstance(code, str) else None,
        return_asked=entry.get("return_requested") is not None,
    )


def rejection_body(category: RejectionCategory, reason: str) -> dict[str, str]:
    """Return the request body of a rejection; raise `InvalidInput` if the category or the reason is not accepted."""
    reason = reason.strip()
    if category not in REJECTION_CATEGORIES:
        raise InvalidInput(
            f"{format_value(category)} is not a ground for rejection.{suggest(category, REJECTION_CATEGORIES)} "
            f"Grounds are {format_list(REJECTION_CATEGORIES)}; speed alone is not one."
        )
    if len(reason) < MIN_REASON_LENGTH:
        raise InvalidInput(
            f"The reason has {len(reason)} characters, and Prolific asks for {MIN_REASON_LENGTH} or more. Write what "
            "was asked, what was done, and how the person can answer you."
        )
    return {"action": "REJECT", "rejection_category": category, "message": reason}
