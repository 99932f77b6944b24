"""Client for the pay part of the API; amounts are whole minor units of the currency, such as pence."""

from collections.abc import Iterator, Sequence
from typing import Any

from dissensus.api_models.pay import (
    ForgottenRecruitsResource,
    LedgerResource,
    PaymentResource,
    RaterAccountHistoryResource,
    RaterAccountResource,
    SubmissionResource,
)
from dissensus.client.protocol import campaign_path, iterate_rows, parse_response, post_once
from dissensus.http_client import ServiceClient


class PayClient:
    """Pay and submissions: `dissensus.Client.pay`. All methods need the scope ``pay``."""

    def __init__(self, service: ServiceClient) -> None:
        self._service = service

    def ledger(self, name: str) -> LedgerResource:
        """Return the pay rates of a campaign, and the total of all accounts."""
        return parse_response(LedgerResource, self._service.request("GET", campaign_path(name, "pay")))

    def accounts(self, name: str) -> Iterator[RaterAccountResource]:
        """Yield the accounts of raters, in the order in which they entered."""
        return iterate_rows(self._service, campaign_path(name, "pay", "raters"), RaterAccountResource)

    def account(self, name: str, rater: str) -> RaterAccountHistoryResource:
        """Return the account of a rater with its payments."""
        return parse_response(
            RaterAccountHistoryResource, self._service.request("GET", campaign_path(name, "pay", "raters", rater))
        )

    def record_payment(self, name: str, rater: str, amount: int) -> PaymentResource:
        """Record a payment to a rater, in minor units; no money is sent."""
        return parse_response(
            PaymentResource,
            post_once(self._service, campaign_path(name, "pay", "raters", rater, "payments"), {"amount": amount}),
        )

    def reverse_payment(self, name: str, rater: str, payment: str) -> RaterAccountHistoryResource:
        """Reverse a payment that was recorded by mistake, by adding an opposite one."""
        return parse_response(
            RaterAccountHistoryResource,
            self._service.request("DELETE", campaign_path(name, "pay", "raters", rater, "payments", payment)),
        )

    def submissions(self, name: str, *, waiting: bool = False) -> Iterator[SubmissionResource]:
        """Yield submissions from Prolific, optionally only those that wait for a decision."""
        return iterate_rows(self._service, campaign_path(name, "submissions"), SubmissionResource, {"waiting": waiting})

    def submission(self, name: str, submission: str) -> SubmissionResource:
        """Return a submission, and the decisions allowed on it."""
        return parse_response(
            SubmissionResource, self._service.request("GET", campaign_path(name, "submissions", submission))
        )

    def approve(self, name: str, submission: str) -> SubmissionResource:
        """Approve a submission: Prolific pays the participant."""
        return self._decide(name, submission, decision="approve")

    def ask_return(self, name: str, submission: str, reasons: Sequence[str]) -> SubmissionResource:
        """Ask a participant to return a submission; they read the reasons."""
        return self._decide(name, submission, decision="ask-return", reasons=list(reasons))

    def reject(self, name: str, submission: str, *, category: str, reason: str) -> SubmissionResource:
        """Reject a submission for failed checks; the participant reads the reason, 100 characters or more."""
        return self._decide(name, submission, decision="reject", category=category, reason=reason)

    def _decide(self, name: str, submission: str, **body: Any) -> SubmissionResource:
        return parse_response(
            SubmissionResource,
            post_once(self._service, campaign_path(name, "submissions", submission, "decision"), body),
        )

    def forget_recruits(self, name: str) -> int:
        """Erase the recruiter's ids of a closed campaign, and return their number."""
        response = self._service.request("DELETE", campaign_path(name, "submissions"), retry="if refused")
        return parse_response(ForgottenRecruitsResource, response).recruits
