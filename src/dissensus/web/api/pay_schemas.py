"""What programs get of pay: whole minor units of a currency, such as pence."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from dissensus.web.api.schemas import Shown, Standing

Decision = Literal["approve", "ask-return", "reject"]


class AccountShown(Shown):
    """What somebody is owed in all, and was paid of it: `owed + overpaid` is `paid + due`."""

    currency: Annotated[str, Field(description="ISO 4217.")]
    owed: int
    paid: int
    due: int
    overpaid: Annotated[int, Field(description="Nobody is asked for it.")]


class Ledger(Shown):
    """What a campaign owes its raters."""

    currency: Annotated[str | None, Field(description="Null where the campaign says nothing of pay.")]
    hour: Annotated[int | None, Field(description="For an hour of work.")]
    finished: Annotated[int | None, Field(description="At least, for who finishes.")]
    screened_out: Annotated[int | None, Field(description="For who is turned away.")]
    total: Annotated[AccountShown | None, Field(description="Null where there is no account.")]
    n_away: Annotated[int, Field(description="How many a recruiter sent who were turned away.")]
    away: Annotated[AccountShown | None, Field(description="Their accounts together, which `total` has too.")]
    n_recruits: Annotated[int, Field(description="How many a recruiter sent who are still known.")]


class PaidShown(Shown):
    """What a rater did, and their account."""

    rater: str
    standing: Standing
    n_rated: int
    worked_ms: int
    account: AccountShown


class PaymentShown(Shown):
    """A payment that was noted."""

    id: str
    amount: Annotated[int, Field(description="Below 0 where it takes another one back.")]
    by: Annotated[str | None, Field(description="The name of who noted it; null for what the recruiter paid.")]
    at: datetime
    taken_back: bool


class PaidHistory(PaidShown):
    """A rater's account, and what it is made of."""

    by_prolific: Annotated[int, Field(description="What Prolific paid, told by the status of the submission.")]
    payments: Annotated[list[PaymentShown], Field(description="As they were noted, the latest first.")]


class SubmissionShown(Shown):
    """Somebody whom a recruiter sent; who they are there is not told, nor how fast they were."""

    submission: str
    rater: Annotated[str | None, Field(description="Null for who was turned away.")]
    standing: Standing | None
    n_rated: int
    status: Annotated[str | None, Field(description="What the recruiter told last; null for nothing so far.")]
    again: Annotated[int, Field(description="How often the same person came by another visit.")]
    entered_at: datetime
    return_asked_at: datetime | None
    tries: Annotated[dict[str, list[str]], Field(description="What they answered to each check.")]
    failed: Annotated[list[str], Field(description="Checks that they failed.")]
    may: Annotated[
        list[Decision], Field(description="What can be decided; failed checks alone are a ground to reject.")
    ]
    away: Annotated[AccountShown | None, Field(description="Of who was turned away.")]


class Forgotten(Shown):
    """Whom the site no longer knows by an id of elsewhere."""

    recruits: int
