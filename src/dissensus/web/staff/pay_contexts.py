"""What the pages about pay and about submissions show; these pages are in English."""

from dataclasses import dataclass
from typing import ClassVar

from dissensus.recruit.prolific import REJECTION_CATEGORIES, RejectionCategory
from dissensus.recruit.prolific.submissions import MIN_REASON_LENGTH
from dissensus.schema.campaign.definition import Campaign
from dissensus.web.core.translations import FIRST
from dissensus.workflows.campaign.pay import PayHistory, PayLedger, RaterAccount
from dissensus.workflows.campaign.submissions import SubmissionCase, SubmissionQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class PayPage:
    """What raters are owed, a part of them; `due_alone` tells whether those who are due nothing are left out."""

    template: ClassVar[str] = "owner/pay.html"

    owner: str
    form_token: str
    name: str
    ledger: PayLedger
    raters: tuple[RaterAccount, ...]
    due_alone: bool
    page: int
    pages: int
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidRater:
    """One rater's account, and the form for a payment: what was typed, and what is wrong with it."""

    template: ClassVar[str] = "owner/pay-rater.html"

    owner: str
    form_token: str
    name: str
    history: PayHistory
    payment_id: str
    amount: str
    faults: tuple[str, ...] = ()
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Submissions:
    """Some of those whom Prolific sent."""

    template: ClassVar[str] = "owner/submissions.html"

    owner: str
    form_token: str
    name: str
    queue: SubmissionQueue
    by_token: bool
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """One submission: what the rater did, what may be done, what was typed and what is wrong with that."""

    template: ClassVar[str] = "owner/submission.html"

    owner: str
    form_token: str
    name: str
    campaign: Campaign
    case: SubmissionCase
    by_token: bool
    reasons: str = ""
    category: str = "FAILED_CHECK"
    reason: str = ""
    faults: tuple[str, ...] = ()
    language: str = FIRST
    categories: ClassVar[tuple[RejectionCategory, ...]] = REJECTION_CATEGORIES
    shortest: ClassVar[int] = MIN_REASON_LENGTH


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasingRecruits:
    """The question before it is forgotten who came from Prolific."""

    template: ClassVar[str] = "owner/pay-erase.html"

    owner: str
    form_token: str
    name: str
    ledger: PayLedger
    language: str = FIRST
