"""Prolific: entry, completion codes, statuses, signed webhooks, studies, and a client of its API."""

from dissensus.recruit.prolific.client import PROLIFIC_API, ProlificClient
from dissensus.recruit.prolific.codes import completion_url
from dissensus.recruit.prolific.entry import ENTRY_PARAMETERS, ProlificEntry, entry_url, parse_entry, with_placeholders
from dissensus.recruit.prolific.statuses import SubmissionStatus, StudyStatus, is_later_status
from dissensus.recruit.prolific.study import Device, StudyFilter, ScreenOut, Study, study_body
from dissensus.recruit.prolific.submissions import REJECTION_CATEGORIES, RejectionCategory, ProlificSubmission
from dissensus.recruit.prolific.webhooks import ProlificEvent, ProlificEventKind, verify_event
from dissensus.schema.campaign.completion_codes import OUTCOMES, Outcome, codes_from

__all__ = [
    "PROLIFIC_API",
    "OUTCOMES",
    "ENTRY_PARAMETERS",
    "REJECTION_CATEGORIES",
    "ProlificClient",
    "Device",
    "ProlificEntry",
    "ProlificEvent",
    "StudyFilter",
    "ProlificEventKind",
    "Outcome",
    "RejectionCategory",
    "ScreenOut",
    "SubmissionStatus",
    "Study",
    "StudyStatus",
    "ProlificSubmission",
    "codes_from",
    "completion_url",
    "entry_url",
    "parse_entry",
    "verify_event",
    "is_later_status",
    "study_body",
    "with_placeholders",
]
