"""Client of the Prolific API: studies, submissions and webhooks."""

from collections.abc import Callable, Iterator, Sequence
from time import sleep as wait_seconds
from types import TracebackType
from typing import Any, Final, Self

import httpx

from dissensus.errors import InvalidInput, Unavailable
from dissensus.http_client import RemoteService, RetryPolicy, ServiceClient, check_token, open_client
from dissensus.recruit.prolific.entry import PROLIFIC_ID
from dissensus.recruit.prolific.study import Study, study_body
from dissensus.recruit.prolific.submissions import (
    ProlificSubmission,
    RejectionCategory,
    parse_submission,
    rejection_body,
)
from dissensus.recruit.prolific.webhooks import ProlificEventKind
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_number, check_whole
from dissensus.schema.urls import check_secure_url

PROLIFIC_API: Final = "https://api.prolific.com"
PROLIFIC: Final = RemoteService(
    name="Prolific",
    remedies={
        401: " Check the token, or create another one at https://app.prolific.com/researcher/tokens.",
        403: " The token lacks the permission. Check its workspace.",
        404: " Check the id, and the workspace of the token.",
    },
    status_page="https://app.prolific.com",
)
PAGE_SIZE: Final = 100
MAX_PAGES: Final = 10_000


class ProlificClient:
    """Client of the Prolific API with the permissions of a token; a context manager.

    Notes
    -----
    All methods raise `NotAllowed` if the token is not accepted, `NotFound` for missing objects, `Conflict` after
    concurrent changes, `InvalidInput` for requests that Prolific refuses, with its message, and `Unavailable` if it
    does not answer as documented.

    Examples
    --------
    >>> ProlificClient("a-token")
    ProlificClient(base='https://api.prolific.com')
    """

    def __init__(
        self,
        token: str,
        *,
        base: str = PROLIFIC_API,
        timeout: float = 30.0,
        max_attempts: int = 4,
        sleep: Callable[[float], None] = wait_seconds,
    ) -> None:
        check_secure_url(base)
        check_number("timeout", timeout, 0.001)
        check_whole("max_attempts", max_attempts, 1)
        check_token(token, "https://app.prolific.com/researcher/tokens")
        self._base = base.rstrip("/")
        self._service = ServiceClient(
            PROLIFIC, open_client(self._base, f"Token {token}", timeout), token, max_attempts, sleep
        )

    def __repr__(self) -> str:
        return f"ProlificClient(base={self._base!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.http.close()

    def create(self, study: Study) -> str:
        """Create a draft of a study, which is not public yet, and return its id."""
        return _created_id(_json_body(self._post("studies/", study_body(study), retry="if refused")), "a study")

    def publish(self, study: str) -> None:
        """Publish a draft. From then on it costs money, and places can only be added."""
        self._post(f"studies/{_check_id(study, 'study')}/transition/", {"action": "PUBLISH"}, retry="if refused")

    def submissions(self, study: str) -> Iterator[ProlificSubmission]:
        """Yield the submissions of a study, page by page, each once even if others arrive meanwhile."""
        path, seen_ids, offset = f"studies/{_check_id(study, 'study')}/submissions/", set[str](), 0
        for _ in range(MAX_PAGES):
            answer = _json_body(self._service.request("GET", path, query={"limit": PAGE_SIZE, "offset": offset}))
            page = [parse_submission(entry) for entry in _result_list(answer)]
            new = [submission for submission in page if submission.id not in seen_ids]
            yield from new
            seen_ids |= {submission.id for submission in new}
            offset += len(page)
            # A server that ignores the offset would return the same page for ever.
            if not new or offset >= _total_count(answer, offset + 1):
                return
        raise Unavailable(f"Prolific lists more than {MAX_PAGES:,} pages of submissions. Try again later.")

    def approve(self, submission: str) -> None:
        """Approve a submission, which pays it."""
        self._decide(submission, {"action": "APPROVE"})

    def reject(self, submission: str, category: RejectionCategory, reason: str) -> None:
        """Reject a submission without pay. Rejected people often lose the account: ask for a return first."""
        self._decide(submission, rejection_body(category, reason))

    def ask_return(self, submission: str, reasons: Sequence[str]) -> None:
        """Ask a participant to return a submission, which costs them only the reward."""
        if isinstance(reasons, str) or not reasons or not all(reason.strip() for reason in reasons):
            raise InvalidInput("There is no reason, or a blank one. Give a list of reasons, which the person reads.")
        path = f"submissions/{_check_id(submission, 'submission')}/request-return/"
        self._post(path, {"request_return_reasons": list(reasons)}, retry="if refused")

    def new_secret(self, workspace: str) -> str:
        """Create a signing secret for the webhooks of a workspace, which replaces the earlier one, and return it."""
        answer = _json_body(self._post("hooks/secrets/", {"workspace_id": _check_id(workspace, "workspace")}))
        value = answer.get("value") if isinstance(answer, dict) else None
        if not isinstance(value, str) or not value:
            raise Unavailable("Prolific created a secret and did not return it. Create another one.")
        return value

    def subscribe(self, kind: ProlificEventKind, address: str, workspace: str) -> str:
        """Subscribe an address to events of a kind, confirm the subscription, and return its id."""
        check_secure_url(address)
        subscription = {"event_type": kind.value, "target_url": address}
        body = {**subscription, "workspace_id": _check_id(workspace, "workspace")}
        response = self._post("hooks/subscriptions/", body, retry="if refused")
        subscription_id, secret = (
            _subscription_id(_json_body(response), subscription),
            response.headers.get("x-hook-secret"),
        )
        if secret is None:
            raise Unavailable(
                "Prolific created a subscription without a secret to confirm it. Remove it, and try again."
            )
        self._post(f"hooks/subscriptions/{subscription_id}/", {"secret": secret})
        return subscription_id

    def _decide(self, submission: str, decision: dict[str, str]) -> None:
        # Retried always: the only POST that Prolific documents as idempotent.
        self._post(f"submissions/{_check_id(submission, 'submission')}/transition/", decision)

    def _post(self, path: str, body: object, *, retry: RetryPolicy = "always") -> httpx.Response:
        return self._service.request("POST", path, body=body, retry=retry)


def _check_id(value: str, kind: str) -> str:
    if not PROLIFIC_ID.fullmatch(value):
        raise InvalidInput(f"{format_value(value)} is not an id of a {kind}. It has 24 hexadecimal digits.")
    return value.lower()


def _json_body(response: httpx.Response) -> Any:
    return response.json() if response.content else None


def _created_id(answer: Any, kind: str) -> str:
    """Return the id of a created object."""
    value = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(value, str) or not PROLIFIC_ID.fullmatch(value):
        raise Unavailable(
            f"Prolific created {kind} and did not return its id. Look for it on https://app.prolific.com."
        )
    return value.lower()


def _subscription_id(answer: Any, expected: dict[str, str]) -> str:
    """Return the id of a new subscription, in a list of all (API reference) or in the answer itself (guide)."""
    subscriptions = _result_list(answer) if isinstance(answer, dict) and "results" in answer else [answer]
    matches = [entry for entry in subscriptions if isinstance(entry, dict) and expected.items() <= entry.items()]
    return _created_id(matches[-1] if matches else None, "a subscription")


def _result_list(answer: Any) -> list[Any]:
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise Unavailable("Prolific answered without a list of results; its API may have changed.")
    return results


def _total_count(answer: Any, default: int) -> int:
    """Return the total number of results, or the default if Prolific does not report it."""
    meta = answer.get("meta")
    total = meta.get("count") if isinstance(meta, dict) else None
    return total if isinstance(total, int) else default
