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
"""Categories of Prolific but for those of speed, which alone is no ground to reject anybody."""

MIN_REASON_LENGTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificSubmission:
    """Submission as Prolific reports it, without the participant's identity."""

    id: str
    # None where it is none that we know, such as the one between a decision and its end
    status: SubmissionStatus | None
    code: str | None  # The completion code that was given; None for none
    return_asked: bool  # True if its return was asked for


def parse_submission(given: Any) -> ProlificSubmission:
    """Read one entry of a list of submissions."""
    found = given.get("id") if isinstance(given, dict) else None
    if not isinstance(found, str):
        raise Unavailable("Prolific lists a submission without its id. Has its API changed?")
    code = given.get("study_code")
    return ProlificSubmission(
        id=found.lower(),
        status=parse_status(SubmissionStatus, given.get("status")),
        code=code if isinstance(code, str) else None,
        return_asked=given.get("return_requested") is not None,
    )


def rejection_body(category: RejectionCategory, reason: str) -> dict[str, str]:
    """Return what is sent to reject a submission, or say what would be unfair or refused."""
    reason = reason.strip()
    if category not in REJECTION_CATEGORIES:
        raise InvalidInput(
            f"{format_value(category)} is no ground to reject anybody here.{suggest(category, REJECTION_CATEGORIES)} "
            "Grounds are "
            f"{format_list(REJECTION_CATEGORIES)}; speed alone is none."
        )
    if len(reason) < MIN_REASON_LENGTH:
        raise InvalidInput(
            f"The reason has {len(reason)} characters, and Prolific asks for {MIN_REASON_LENGTH} or more. Write what "
            "was asked, what was done, and how the person can answer you."
        )
    return {"action": "REJECT", "rejection_category": category, "message": reason}
