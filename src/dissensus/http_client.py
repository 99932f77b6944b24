"""HTTP client for JSON APIs: retries with backoff, errors by status code, and messages without the token."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, TypeAlias

import httpx

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable

RetryPolicy: TypeAlias = Literal["always", "if refused"]
"""Retry policy of failed requests: always, or only if the service cannot have processed them."""

MAX_BACKOFF_S: Final = 60.0
POOL_LIMITS: Final = httpx.Limits(keepalive_expiry=2.0)
"""Idle connections are closed before `dissensus serve` closes them after 5 s, which could coincide with a request."""

MAX_DETAIL_LENGTH: Final = 500
ERRORS_BY_STATUS: Final[Mapping[int, type[DissensusError]]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteService:
    """A remote service, as error messages describe it."""

    name: str  # Subject of a sentence
    remedies: Mapping[int, str]  # By status code; each begins with a space
    status_page: str = ""  # Page that shows whether a request was processed
    trusted: bool = False  # True for a Dissensus site, whose error details are shown in full


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A failed attempt of a request that may be retried."""

    reason: str
    retry_after_s: float = 0.0
    maybe_processed: bool = True  # False if the service cannot have processed the request


class NotJson(Unavailable):
    """A service answered with another format than JSON."""


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """Client of one service, with a limit on attempts."""

    service: RemoteService
    http: httpx.Client
    token: str = field(repr=False)
    max_attempts: int
    sleep: Callable[[float], None]

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        retry: RetryPolicy = "always",
    ) -> httpx.Response:
        """Send a request and return the response, which is JSON or empty.

        Requests to a busy service and failed connections are retried after the seconds that `compute_backoff` returns;
        not if the service asks to wait longer than `MAX_BACKOFF_S`.
        """
        attempt = 0
        while True:
            attempt += 1
            outcome = self._attempt(self.http.build_request(method, path, json=body, params=query, headers=headers))
            if isinstance(outcome, httpx.Response):
                return outcome
            final = attempt == self.max_attempts or outcome.retry_after_s > MAX_BACKOFF_S
            if final or (outcome.maybe_processed and retry == "if refused"):
                raise self._unavailable(outcome, attempt, retry)
            self.sleep(compute_backoff(attempt, outcome.retry_after_s))

    def _attempt(self, request: httpx.Request) -> httpx.Response | FailedAttempt:
        try:
            response = self.http.send(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return FailedAttempt(self._redact_detail(str(error)) or "no connection", maybe_processed=False)
        except httpx.TimeoutException:
            return FailedAttempt(f"no response for {self.http.timeout.read:g} seconds")
        except (httpx.TransportError, httpx.DecodingError) as error:
            return FailedAttempt(self._redact_detail(str(error)) or type(error).__name__)
        status = response.status_code
        if is_retryable(response):
            return FailedAttempt(
                f"it answers HTTP {status}", parse_retry_after(response.headers), maybe_processed=status >= 500
            )
        if not response.is_success:
            raise self._refusal(response)
        return self._check_json(response)

    def _check_json(self, response: httpx.Response) -> httpx.Response:
        with suppress(ValueError, RecursionError):
            if not response.content or response.json() is not None:
                return response
        raise NotJson(f"{response.url.host} does not answer with JSON. Is it the API of {self.service.name}?")

    def _refusal(self, response: httpx.Response) -> DissensusError:
        status = response.status_code
        error = ERRORS_BY_STATUS.get(status, InvalidInput if 400 <= status < 500 else Unavailable)
        if self.service.trusted and (detail := _response_detail(response)):
            return error(self._redact_token(detail))
        detail = self._redact_detail(" ".join(_response_detail(response).split()))
        remedy = self.service.remedies.get(status, "")
        return error(f"{self.service.name} refuses this with HTTP {status}{f': {detail}' if detail else ''}.{remedy}")

    def _unavailable(self, failure: FailedAttempt, attempt: int, retry: RetryPolicy) -> Unavailable:
        wait = f" and asks to wait {failure.retry_after_s:,.0f} seconds" if failure.retry_after_s else ""
        unclear = failure.maybe_processed and retry == "if refused"
        hint = f" It may have been processed: check {self.service.status_page} before you try again." if unclear else ""
        return Unavailable(
            f"{self.service.name} is not available: {failure.reason}{wait} (try {attempt} of {self.max_attempts})."
            f"{hint or ' Try later.'}"
        )

    def _redact_detail(self, text: str) -> str:
        """Shorten an error detail, and remove the token, which a server may echo."""
        return self._redact_token(text)[:MAX_DETAIL_LENGTH].rstrip(" .")

    def _redact_token(self, text: str) -> str:
        return text.replace(self.token, "…") if self.token else text


def open_client(base: str, authorization: str, timeout: float) -> httpx.Client:
    """Open an HTTP client without redirects, so that the token is sent to this service only."""
    headers = {"Authorization": authorization, "User-Agent": "dissensus"}
    with check_environment():
        return httpx.Client(
            base_url=f"{base}/api/v1/", headers=headers, timeout=timeout, limits=POOL_LIMITS, follow_redirects=False
        )


@contextmanager
def check_environment() -> Iterator[None]:
    """Raise `Unavailable` if a client cannot be opened with the proxies and certificates of the environment."""
    try:
        yield
    except (ImportError, OSError, ValueError) as error:
        raise Unavailable(f"No connection can be made: {error}. Check SSL_CERT_FILE and *_PROXY.") from None


def compute_backoff(attempt: int, retry_after_s: float, *, first_s: float = 1.0) -> float:
    """Return the seconds before the next attempt: 1, 2, 4 … up to `MAX_BACKOFF_S`, or more if the service asks.

    Examples
    --------
    >>> [compute_backoff(attempt, 0) for attempt in (1, 3, 9)], compute_backoff(1, 30)
    ([1.0, 4.0, 60.0], 30)
    """
    return max(min(first_s * 2.0 ** (attempt - 1), MAX_BACKOFF_S), retry_after_s)


def is_retryable(response: httpx.Response) -> bool:
    """Return whether a failed request may be sent again: a conflict only if the service says when."""
    status = response.status_code
    return status in (408, 429) or status >= 500 or (status == 409 and "retry-after" in response.headers)


def parse_retry_after(headers: httpx.Headers) -> float:
    """Return the seconds of a `Retry-After` header, given as a number or as a date by the server's clock."""
    value = headers.get("retry-after", "")
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        if value.isdecimal():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(headers["date"])).total_seconds())
    return 0.0


def _response_detail(response: httpx.Response) -> str:
    """Return the error detail of a response."""
    with suppress(ValueError, RecursionError):
        return error_detail(response.json())
    return ""


def error_detail(body: object) -> str:
    """Return the error detail of a JSON body in any of the known formats."""
    nested = body.get("error") if isinstance(body, dict) else None
    problem = nested if isinstance(nested, dict) else body if isinstance(body, dict) else {}
    detail = problem.get("detail") or problem.get("message") or problem.get("title") or ""
    return str(detail)


def check_token(token: str, source: str) -> None:
    """Raise unless a token is well-formed; the message does not show it."""
    if not re.fullmatch(r"[!-~]+", token):
        raise InvalidInput(f"The token is empty or contains invalid characters. Copy it again from {source}.")
