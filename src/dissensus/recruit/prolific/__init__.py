"""Prolific: entry, completion codes, statuses, signed webhooks, studies, and a client of its API."""

from dissensus.recruit.prolific.client import PROLIFIC_API, ProlificClient
from dissensus.recruit.prolific.entry import (
    ENTRY_PARAMETERS,
    ProlificEntry,
    completion_url,
    entry_url,
    parse_entry,
    with_placeholders,
)
from dissensus.recruit.prolific.study import Device, ScreenOut, Study, StudyFilter, study_body
from dissensus.recruit.prolific.submissions import (
    REJECTION_CATEGORIES,
    ProlificSubmission,
    RejectionCategory,
    StudyStatus,
    SubmissionStatus,
    is_later_status,
)
from dissensus.recruit.prolific.webhooks import ProlificEvent, ProlificEventKind, verify_event
from dissensus.schema.campaign.completion_codes import OUTCOMES, Outcome, parse_completion_codes

__all__ = [
    "ENTRY_PARAMETERS",
    "OUTCOMES",
    "PROLIFIC_API",
    "REJECTION_CATEGORIES",
    "Device",
    "Outcome",
    "ProlificClient",
    "ProlificEntry",
    "ProlificEvent",
    "ProlificEventKind",
    "ProlificSubmission",
    "RejectionCategory",
    "ScreenOut",
    "Study",
    "StudyFilter",
    "StudyStatus",
    "SubmissionStatus",
    "completion_url",
    "entry_url",
    "is_later_status",
    "parse_completion_codes",
    "parse_entry",
    "study_body",
    "verify_event",
    "with_placeholders",
]
