"""What raters are owed, asked over the API; amounts are whole minor units of the currency, such as pence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from dissensus.client.requests import campaign_path, post_once
from dissensus.client.responses import parse_response, iterate_rows
from dissensus.http_client import ServiceClient

Standing = Literal["rating", "finished", "stopped", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What somebody is owed in all, and was paid of it: ``owed + overpaid == paid + due``."""

    currency: str
    owed: int
    paid: int
    due: int
    overpaid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a campaign owes its raters.

    Parameters
    ----------
    currency, hour, finished, screened_out
        What it pays: for an hour, at least to who finishes, and to who is turned away; None where it says nothing.
    total
        All accounts together.
    n_away, away
        How many a recruiter sent who were turned away, and their accounts, which `total` has too.
    n_recruits
        How many a recruiter sent who are still known.
    """

    currency: str | None
    hour: int | None
    finished: int | None
    screened_out: int | None
    total: Account | None
    n_away: int
    away: Account | None
    n_recruits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """What a rater did, and their account."""

    rater: str
    standing: Standing
    n_rated: int
    worked_ms: int
    account: Account


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """A payment that was noted.

    Parameters
    ----------
    id, amount
        Which one; below 0 where it takes another one back.
    by, at
        Who noted it, None for what the recruiter paid, and when.
    taken_back
        Whether another one takes it back.
    """

    id: str
    amount: int
    by: str | None
    at: datetime
    taken_back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class History(Paid):
    """A rater's account, what Prolific paid of it, and payments as they were noted, the latest first."""

    by_prolific: int
    payments: tuple[Payment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """Somebody whom a recruiter sent; who they are there is not told, nor how fast they were.

    Parameters
    ----------
    submission, rater, standing, n_rated
        The visit, and who they are here; None for who was turned away.
    status, again
        What the recruiter told last, and how often they came by another visit.
    entered_at, return_asked_at
        When they came, and were asked to give it back.
    tries, failed
        What they answered to each check, and the checks that they failed.
    may
        What can be decided.
    away
        The account of who was turned away.
    """

    submission: str
    rater: str | None
    standing: Standing | None
    n_rated: int
    status: str | None
    again: int
    entered_at: datetime
    return_asked_at: datetime | None
    tries: Mapping[str, tuple[str, ...]]
    failed: tuple[str, ...]
    may: tuple[Literal["approve", "ask-return", "reject"], ...]
    away: Account | None


class PayClient:
    """Asks for what raters are owed: `dissensus.Client.pay`. All methods need the scope ``pay``.

    Parameters
    ----------
    asking
        The connection of the client.
    """

    def __init__(self, asking: ServiceClient) -> None:
        self._asking = asking

    def ledger(self, name: str) -> Ledger:
        """Return what a campaign pays, and all accounts together."""
        return parse_response(Ledger, self._asking.ask("GET", campaign_path(name, "pay")))

    def accounts(self, name: str) -> Iterator[Paid]:
        """Yield what raters did and are owed, in the order in which they entered."""
        return iterate_rows(self._asking, campaign_path(name, "pay", "raters"), Paid)

    def account(self, name: str, rater: str) -> History:
        """Return the account of one rater, and what it is made of."""
        return parse_response(History, self._asking.ask("GET", campaign_path(name, "pay", "raters", rater)))

    def note(self, name: str, rater: str, amount: int) -> Payment:
        """Note that a rater was paid, in minor units; nothing is sent to anybody."""
        return parse_response(Payment, post_once(self._asking, campaign_path(name, "pay", "raters", rater, "payments"), {"amount": amount}))

    def take_back(self, name: str, rater: str, payment: str) -> History:
        """Take a payment back that was noted by mistake: it stays, and one that takes it back is added."""
        return parse_response(History, self._asking.ask("DELETE", campaign_path(name, "pay", "raters", rater, "payments", payment)))

    def submissions(self, name: str, *, waiting: bool = False) -> Iterator[Submission]:
        """Yield whom Prolific sent, or those alone that wait for a decision."""
        return iterate_rows(self._asking, campaign_path(name, "submissions"), Submission, {"waiting": waiting})

    def submission(self, name: str, submission: str) -> Submission:
        """Return one submission, and what may be decided on it."""
        return parse_response(Submission, self._asking.ask("GET", campaign_path(name, "submissions", submission)))

    def approve(self, name: str, submission: str) -> Submission:
        """Let Prolific pay somebody."""
        return self._decide(name, submission, decision="approve")

    def ask_return(self, name: str, submission: str, reasons: Sequence[str]) -> Submission:
        """Ask somebody to give a submission back; they read the reasons."""
        return self._decide(name, submission, decision="ask-return", reasons=list(reasons))

    def reject(self, name: str, submission: str, *, category: str, reason: str) -> Submission:
        """Refuse to pay who failed checks of attention; they read the reason, of 100 characters or more."""
        return self._decide(name, submission, decision="reject", category=category, reason=reason)

    def _decide(self, name: str, submission: str, **body: Any) -> Submission:
        return parse_response(Submission, post_once(self._asking, campaign_path(name, "submissions", submission, "decision"), body))

    def forget(self, name: str) -> int:
        """Forget who came from Prolific, once a campaign is closed, and return how many they were."""
        answer = self._asking.ask("DELETE", campaign_path(name, "submissions"), repeat="if refused")
        return parse_response(dict[str, int], answer)["recruits"]
