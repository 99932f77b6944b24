"""Pay and recruitment; amounts are whole minor units of a currency, such as pence."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from dissensus.api_models.resource import RaterStanding, Resource

SubmissionDecision = Literal["approve", "ask-return", "reject"]


class AccountResource(Resource):
    """Amounts owed and paid in total, where `owed + overpaid` equals `paid + due`."""

    currency: Annotated[str, Field(description="ISO 4217.")]
    owed: int
    paid: int
    due: int
    overpaid: Annotated[int, Field(description="Not reclaimed from anybody.")]


class LedgerResource(Resource):
    """Amounts that a campaign owes its raters."""

    currency: Annotated[str | None, Field(description="Null if the campaign defines no pay.")]
    hourly_rate: Annotated[int | None, Field(description="For an hour of work.")]
    finished: Annotated[int | None, Field(description="Minimum for raters who finish.")]
    screened_out: Annotated[int | None, Field(description="For people who are screened out.")]
    total: Annotated[AccountResource | None, Field(description="Null if there is no account.")]
    n_screened_out: Annotated[int, Field(description="Recruited people who were screened out.")]
    screened_out_account: Annotated[
        AccountResource | None, Field(description="Their accounts together, included in `total`.")
    ]
    n_recruits: Annotated[int, Field(description="Recruited people who are still known.")]


class RaterAccountResource(Resource):
    """Work and account of a rater."""

    rater: str
    standing: RaterStanding
    paid_minutes: Annotated[int, Field(description="Time worked, rounded up to steps of five minutes.")]
    account: AccountResource


class PaymentResource(Resource):
    """A recorded payment."""

    id: str
    amount: Annotated[int, Field(description="Negative if it reverses another one.")]
    by: Annotated[str | None, Field(description="Name of the member who recorded it; null if the recruiter paid.")]
    at: datetime
    reversed: Annotated[bool, Field(description="True if another payment reverses it.")]


class RaterAccountHistoryResource(RaterAccountResource):
    """Account of a rater with its payments."""

    paid_by_prolific: Annotated[int, Field(description="Amount paid by Prolific, derived from the submission status.")]
    payments: Annotated[tuple[PaymentResource, ...], Field(description="Latest first.")]


class SubmissionResource(Resource):
    """A recruited participant, without their identity at the recruiter or their speed."""

    submission: str
    rater: Annotated[str | None, Field(description="Null for people who were turned away.")]
    standing: RaterStanding | None
    status: Annotated[str | None, Field(description="Latest status from the recruiter; null before there is one.")]
    n_repeat_visits: Annotated[int, Field(description="Further visits of the same person.")]
    entered_at: datetime
    return_requested_at: datetime | None
    attempts: Annotated[Mapping[str, tuple[str, ...]], Field(description="Answers to each attention check.")]
    failed_checks: Annotated[tuple[str, ...], Field(description="Attention checks that failed.")]
    allowed_decisions: Annotated[
        tuple[SubmissionDecision, ...],
        Field(description="Decisions allowed now; only failed attention checks are a ground to reject."),
    ]
    screened_out_account: Annotated[
        AccountResource | None, Field(description="Account of a person who was turned away.")
    ]


class ForgottenRecruitsResource(Resource):
    """Result of erasing recruiter ids."""

    recruits: int
