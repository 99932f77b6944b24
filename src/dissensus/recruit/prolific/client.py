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
from dissensus.schema.address import check_secure_url
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_number, check_whole

PROLIFIC_API: Final = "https://api.prolific.com"
PROLIFIC: Final = RemoteService(
    name="Prolific",
    remedies={
        401: " Is the token right? Make another one at https://app.prolific.com/researcher/tokens.",
        403: " The token may not do this: is it of the right workspace?",
        404: " Is the id right, and the token of its workspace?",
    },
    status_page="https://app.prolific.com",
)
PAGE_SIZE: Final = 100
MAX_PAGES: Final = 10_000


class ProlificClient:
    """Asks Prolific on behalf of whoever a token belongs to; used in a ``with`` block.

    Notes
    -----
    All methods raise `NotAllowed` where the token is not accepted, `NotFound` for what is not there, `Conflict` where
    something changed meanwhile, `InvalidInput` for what Prolific refuses, with its words, and `Unavailable` where it
    does not answer, or not as its documentation says.

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
        """Make a draft of a study, which nobody sees yet."""
        return _created_id(_json_body(self._post("studies/", study_body(study), retry="if refused")), "a study")

    def publish(self, study: str) -> None:
        """Show a draft to people. From then on it costs money, and places can only be added."""
        self._post(f"studies/{_check_id(study, 'study')}/transition/", {"action": "PUBLISH"}, retry="if refused")

    def submissions(self, study: str) -> Iterator[ProlificSubmission]:
        """Yield all submissions of a study, page by page, each once even if others come meanwhile."""
        path, seen, offset = f"studies/{_check_id(study, 'study')}/submissions/", set[str](), 0
        for _ in range(MAX_PAGES):
            answer = _json_body(self._service.request("GET", path, query={"limit": PAGE_SIZE, "offset": offset}))
            page = [parse_submission(one) for one in _result_list(answer)]
            new = [one for one in page if one.id not in seen]
            yield from new
            seen |= {one.id for one in new}
            offset += len(page)
            # A server that ignores the offset gives the same page for ever.
            if not new or offset >= _total_count(answer, offset + 1):
                return
        raise Unavailable(f"Prolific lists more than {MAX_PAGES:,} pages of submissions. Ask again later.")

    def approve(self, submission: str) -> None:
        """Pay a submission."""
        self._decide(submission, {"action": "APPROVE"})

    def reject(self, submission: str, category: RejectionCategory, reason: str) -> None:
        """Refuse to pay a submission. Who is rejected often loses the account: ask for a return first."""
        self._decide(submission, rejection_body(category, reason))

    def ask_return(self, submission: str, reasons: Sequence[str]) -> None:
        """Ask somebody to give a submission back, which costs them nothing but the reward."""
        if isinstance(reasons, str) or not reasons or not all(reason.strip() for reason in reasons):
            raise InvalidInput("There is no reason, or a blank one. Give a list of reasons, which the person reads.")
        path = f"submissions/{_check_id(submission, 'submission')}/request-return/"
        self._post(path, {"request_return_reasons": list(reasons)}, retry="if refused")

    def new_secret(self, workspace: str) -> str:
        """Make the secret with which Prolific signs from now on; the one before is void."""
        answer = _json_body(self._post("hooks/secrets/", {"workspace_id": _check_id(workspace, "workspace")}))
        value = answer.get("value") if isinstance(answer, dict) else None
        if not isinstance(value, str) or not value:
            raise Unavailable("Prolific made a secret and did not tell it. Make another one.")
        return value

    def subscribe(self, kind: ProlificEventKind, address: str, workspace: str) -> str:
        """Let Prolific send events to an address, and confirm it."""
        check_secure_url(address)
        wanted = {"event_type": kind.value, "target_url": address}
        body = {**wanted, "workspace_id": _check_id(workspace, "workspace")}
        response = self._post("hooks/subscriptions/", body, retry="if refused")
        found, secret = _subscription_id(_json_body(response), wanted), response.headers.get("x-hook-secret")
        if secret is None:
            raise Unavailable(
                "Prolific made a subscription and did not tell how to confirm it. Remove it, and try again."
            )
        self._post(f"hooks/subscriptions/{found}/", {"secret": secret})
        return found

    def _decide(self, submission: str, decision: dict[str, str]) -> None:
        # Prolific says of this address alone that the same request twice is one.
        self._post(f"submissions/{_check_id(submission, 'submission')}/transition/", decision)

    def _post(self, path: str, body: object, *, retry: RetryPolicy = "always") -> httpx.Response:
        return self._service.request("POST", path, body=body, retry=retry)


def _check_id(given: str, what: str) -> str:
    if not PROLIFIC_ID.fullmatch(given):
        raise InvalidInput(f"{format_value(given)} is no id of a {what}. It has 24 hexadecimal digits.")
    return given.lower()


def _json_body(response: httpx.Response) -> Any:
    return response.json() if response.content else None


def _created_id(answer: Any, what: str) -> str:
    """Return the id of what was made."""
    found = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(found, str) or not PROLIFIC_ID.fullmatch(found):
        raise Unavailable(f"Prolific made {what} and did not tell its id. Look for it on https://app.prolific.com.")
    return found.lower()


def _subscription_id(answer: Any, wanted: dict[str, str]) -> str:
    """Return the id of a subscription: the reference shows a list of all of them, and the guide the new one alone."""
    every = _result_list(answer) if isinstance(answer, dict) and "results" in answer else [answer]
    made = [one for one in every if isinstance(one, dict) and wanted.items() <= one.items()]
    return _created_id(made[-1] if made else None, "a subscription")


def _result_list(answer: Any) -> list[Any]:
    found = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise Unavailable("Prolific answers without a list of results. Has its API changed?")
    return found


def _total_count(answer: Any, unknown: int) -> int:
    """Return how many there are in all, if Prolific says so."""
    meta = answer.get("meta")
    found = meta.get("count") if isinstance(meta, dict) else None
    return found if isinstance(found, int) else unknown
