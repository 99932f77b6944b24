"""One question to a service: asked again where that helps and harms nothing, refusals told, the token never shown."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, TypeAlias

import httpx

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable

RetryPolicy: TypeAlias = Literal["always", "if refused"]
"""When something may be asked again: always, or only if the service did not take the request."""

MAX_BACKOFF: Final = 60.0
MAX_DETAIL_LENGTH: Final = 500
ERRORS_BY_STATUS: Final[Mapping[int, type[DissensusError]]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
}
RETRYABLE_WITH_RETRY_AFTER: Final = (409, 429)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteService:
    """Whom one asks, as messages tell it."""

    name: str  # How it is called in a sentence
    remedies: Mapping[int, str]  # What to do about a refusal, by its status; each begins with a space
    look: str = ""  # Where to see whether something was done that must not be done twice
    ours: bool = False  # Whether its words are ours: told whole, line by line, and with what to do


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What went wrong with one try."""

    reason: str
    wait: float = 0.0
    taken: bool = True
    """Whether the service may have done what was asked."""


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """A connection to a service, and how patient it is."""

    service: RemoteService
    http: httpx.Client
    token: str = field(repr=False)
    tries: int
    sleep: Callable[[float], None]

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        repeat: RetryPolicy = "always",
    ) -> httpx.Response:
        """Return the answer, which is JSON or empty."""
        number = 0
        while True:
            number += 1
            answer = self._try(self.http.build_request(method, path, json=body, params=query, headers=headers))
            if isinstance(answer, httpx.Response):
                return answer
            if number == self.tries or answer.wait > MAX_BACKOFF or (answer.taken and repeat == "if refused"):
                raise self._unavailable(answer, number, repeat)
            self.sleep(max(2.0 ** (number - 1), answer.wait))

    def _try(self, request: httpx.Request) -> httpx.Response | FailedAttempt:
        try:
            response = self.http.send(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return FailedAttempt(self._plain(str(error)) or "no connection", taken=False)
        except httpx.TimeoutException:
            return FailedAttempt(f"nothing came for {self.http.timeout.read:g} seconds")
        except (httpx.TransportError, httpx.DecodingError) as error:
            return FailedAttempt(self._plain(str(error)) or type(error).__name__)
        status = response.status_code
        if (
            status == 429
            or status >= 500
            or (status in RETRYABLE_WITH_RETRY_AFTER and "retry-after" in response.headers)
        ):
            return FailedAttempt(f"it answers HTTP {status}", parse_retry_after(response.headers), taken=status >= 500)
        if not response.is_success:
            raise self._refusal(response)
        return self._checked(response)

    def _checked(self, response: httpx.Response) -> httpx.Response:
        with suppress(ValueError, RecursionError):
            if not response.content or response.json() is not None:
                return response
        raise Unavailable(
            f"{response.url.host} answers with something else than JSON. Is it the API of {self.service.name}?"
        )

    def _refusal(self, response: httpx.Response) -> DissensusError:
        status = response.status_code
        error = ERRORS_BY_STATUS.get(status, InvalidInput if 400 <= status < 500 else Unavailable)
        if self.service.ours and (detail := _response_detail(response)):
            return error(self._hidden(detail))
        says, remedy = self._plain(" ".join(_response_detail(response).split())), self.service.remedies.get(status, "")
        return error(f"{self.service.name} refuses this with HTTP {status}{f': {says}' if says else ''}.{remedy}")

    def _unavailable(self, problem: FailedAttempt, number: int, repeat: RetryPolicy) -> Unavailable:
        wait = f" and asks to wait {problem.wait:,.0f} seconds" if problem.wait else ""
        unclear = problem.taken and repeat == "if refused"
        look = f" It may be done nevertheless: look on {self.service.look} before you try again." if unclear else ""
        return Unavailable(
            f"{self.service.name} does not answer: {problem.reason}{wait} (try {number} of {self.tries})."
            f"{look or ' Try later.'}"
        )

    def _plain(self, text: str) -> str:
        """Return what a server said without the token, which it may repeat."""
        return self._hidden(text)[:MAX_DETAIL_LENGTH].rstrip(" .")

    def _hidden(self, text: str) -> str:
        return text.replace(self.token, "…") if self.token else text


def open_client(base: str, authorization: str, timeout: float) -> httpx.Client:
    """Return a client that follows no redirect, so that the token goes nowhere else."""
    headers = {"Authorization": authorization, "User-Agent": "dissensus"}
    try:
        return httpx.Client(base_url=f"{base}/api/v1/", headers=headers, timeout=timeout, follow_redirects=False)
    except (ImportError, OSError, ValueError) as error:
        # Proxies and certificates come from the environment, where anything may stand.
        raise Unavailable(f"No connection can be made: {error}. Look at SSL_CERT_FILE and the *_PROXY.") from None


def parse_retry_after(headers: httpx.Headers) -> float:
    """Return the seconds that a server asks for, in numbers or as a date by its own clock."""
    value = headers.get("retry-after", "")
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        if value.isdecimal():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(headers["date"])).total_seconds())
    return 0.0


def _response_detail(response: httpx.Response) -> str:
    """Return why a service refuses something, in its words."""
    with suppress(ValueError, RecursionError):
        return error_detail(response.json())
    return ""


def error_detail(read: object) -> str:
    """Return why a service refuses something, in its words, whichever of the known forms they have."""
    nested = read.get("error") if isinstance(read, dict) else None
    said = nested if isinstance(nested, dict) else read if isinstance(read, dict) else {}
    detail = said.get("detail") or said.get("message") or said.get("title") or ""
    return str(detail)


def check_token(token: str, where: str) -> None:
    """Refuse what cannot be a token, without showing it."""
    if not re.fullmatch(r"[!-~]+", token):
        raise InvalidInput(f"The token is empty or has blanks or other signs in it. Copy it again from {where}.")
