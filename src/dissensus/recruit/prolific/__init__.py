"""Prolific: entry, completion codes, statuses, signed webhooks, studies, and a client of its API."""

from dissensus.recruit.prolific.client import BASE, Client
from dissensus.recruit.prolific.codes import completion_address
from dissensus.recruit.prolific.entry import PARAMETERS, Entry, entry_address, entry_from, with_places
from dissensus.recruit.prolific.statuses import Status, StudyStatus, follows
from dissensus.recruit.prolific.study import Device, Filter, ScreenOut, Study, study_body
from dissensus.recruit.prolific.submissions import REJECTIONS, Rejection, Submission
from dissensus.recruit.prolific.webhooks import Event, Kind, event_from
from dissensus.schema.campaign.completion_codes import OUTCOMES, Outcome, codes_from

__all__ = [
    "BASE",
    "OUTCOMES",
    "PARAMETERS",
    "REJECTIONS",
    "Client",
    "Device",
    "Entry",
    "Event",
    "Filter",
    "Kind",
    "Outcome",
    "Rejection",
    "ScreenOut",
    "Status",
    "Study",
    "StudyStatus",
    "Submission",
    "codes_from",
    "completion_address",
    "entry_address",
    "entry_from",
    "event_from",
    "follows",
    "study_body",
    "with_places",
]
