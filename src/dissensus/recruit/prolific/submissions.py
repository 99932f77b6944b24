"""Submissions as Prolific lists them, and rejections."""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput, Unavailable
from dissensus.recruit.prolific.statuses import SubmissionStatus, parse_status
from dissensus.schema.hints import format_list, format_value, suggest

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
"""Rejection categories of Prolific except speed, which alone must not be a ground for rejection."""

MIN_REASON_LENGTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificSubmission:
    """Submission as Prolific reports it, without the participant's identity."""

    id: str
    status: SubmissionStatus | None  # None if unknown, such as the one while a decision is processed
    code: str | None  # Completion code, if any
    return_asked: bool  # True if its return was requested


def parse_submission(entry: Any) -> ProlificSubmission:
    """Read one entry of a list of submissions."""
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
    """Return the request body of a rejection, or raise if it is unfair or would be refused."""
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
