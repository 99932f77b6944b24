"""People who come to the site with a browser without scripts, or with a program."""

import re
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import httpx
from fastapi import FastAPI
from tests.behaviour.determinism import DRAWS, Clock, as_json
from tests.behaviour.forms import Form, form_to
from tests.behaviour.writer import Writer

ID: Final = r"[\w-]+"
STEPS: Final = {
    "consent": "(/c/[^/]+)?/consent",
    "check": "/check",
    "rate": f"/rate/{ID}",
    "end": f"/chat/{ID}/end",
    "say": f"/chat/{ID}/messages",
    "pick": f"/chat/{ID}/pick",  # Also the form that changes the last pick
    "begin": "/chat/begin",
    "about-you": "/about-you",
    "survey": "/survey",
    "topics": "/topics",
    "warning": "/c/[^/]+",
    "go-on": "/resume",
}
"""Forms on the way of a rater by their addresses, the most urgent first."""
Files = Mapping[str, tuple[str, bytes]]
POLLS: Final = 400
REFUSED: Final = 422
AS_DATA: Final = {"accept": "application/json"}


@dataclass
class Visitor:
    """A client with separate cookies.

    Parameters
    ----------
    client, clock
        Of the site; the clock passes at each request.
    writer
        Where every answer is recorded.
    """

    client: httpx.Client
    clock: Clock
    writer: Writer
    cookies: httpx.Cookies = field(default_factory=httpx.Cookies)
    headers: dict[str, str] = field(default_factory=dict)
    n: int = 0

    def ask(
        self, method: str, path: str, *, follow: bool = True, repeat: bool = False, **options: Any
    ) -> httpx.Response:
        """Send a request as this visitor; a repeated request takes no time."""
        DRAWS.begin(repeat=repeat)
        self.clock.forward(seconds=0 if repeat else 7)
        self.client.cookies = self.cookies
        headers = {**self.headers, **options.pop("headers", {})}
        answer = self.client.request(method, path, follow_redirects=follow, headers=headers, **options)
        self.cookies = self.client.cookies
        return answer

    def record(self, name: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and record the response."""
        answer = self.ask(method, path, **options)
        self.note(name, f"{method} {path}", answer)
        return answer

    def note(self, name: str, request: str, answer: httpx.Response) -> None:
        """Record a response."""
        self.n += 1
        self.writer.write(f"{self.n:03} {name.replace('/', '.')}.txt", f"{request}\n{as_text(answer)}")

    def press(
        self, path: str, action: str = "", *, choice: int = 0, files: Files | None = None, **typed: str | Sequence[str]
    ) -> httpx.Response:
        """Send a form of a page, by default the one to its own address."""
        return self.proceed(self.ask("GET", path), action or path, choice=choice, files=files, **typed)

    def proceed(
        self,
        page: httpx.Response,
        action: str,
        *,
        choice: int = 0,
        files: Files | None = None,
        **typed: str | Sequence[str],
    ) -> httpx.Response:
        """Send a form of a page."""
        form = form_to(page.text, action)
        if form is None:
            raise LookupError(f"{page.request.url} has no form to {action}.")
        values = form.fill(**typed) | form.button(choice)
        return self.record(f"press {form.action}", "POST", form.action, data=values, files=files)


@dataclass
class Rater(Visitor):
    """A rater who takes the same choice everywhere except in named fields.

    Parameters
    ----------
    choice
        Index of the choice taken in each question.
    answers
        Answers by the names of fields.
    ends_after
        Messages after which a conversation is ended.
    """

    choice: int = 0
    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ends_after: int = 2
    n_messages: int = 0

    def arrive(self, link: str) -> None:
        """Open a link, read the warning and consent."""
        page = self.record("arrive", "GET", link)
        while self._next(page, ("warning", "consent")) is not None:
            page = self._send(page, ("warning", "consent"))

    def steps(self, n: int = 100, *, only: Sequence[str] = tuple(STEPS)) -> httpx.Response:
        """Take up to n steps, or all."""
        page = self.current_page()
        for _ in range(n):
            if self._next(page, only) is None:
                break
            if self._send(page, only).status_code == REFUSED:
                break
            page = self.current_page()
        return page

    def current_page(self) -> httpx.Response:
        """Return the current page of the rater, after chatbots have answered."""
        for n in range(POLLS):
            page = self.ask("GET", "/rate", repeat=n > 0)
            if link := re.search(r'href="(/rate\?opened=[^"]+)"', page.text):
                page = self.ask("GET", link[1])
            if "/chat/" not in page.text or self._next(page, tuple(STEPS)) is not None or "/retry" in page.text:
                return page
            time.sleep(0.02)
        raise TimeoutError(page.text)

    def leave_out(self) -> None:
        """Skip the current item."""
        self._send_to(self.current_page(), f"/rate/{ID}/skip", "skip")

    def rate_quickly(self, milliseconds: int) -> None:
        """Rate all items as the script of the page does, each in the given time."""
        n = 0
        while (step := self.ask("GET", "/rate", headers=AS_DATA).json())["stage"] == "rate":
            n += 1
            values = {name: {"value": one[self.choice % len(one)]} for name, one in self.answers.items()}
            body = {
                "key": str(uuid4()),
                "revision": 1,
                "visit": "v",
                "visible_ms": milliseconds,
                "idle_ms": 0,
                "open_ms": milliseconds,
            }
            body |= {"answers": values, "final": n % 5 != 0}
            headers = AS_DATA | {"x-form-token": step["form_token"]}
            path = f"/rate/{step['item']['assignment']}/save"
            self.record("save", "POST", path, json=body, headers=headers)
            if n % 5 == 0:
                self.record("submit", "POST", path, json=body | {"final": True, "revision": 2}, headers=headers)

    def send_blank(self) -> None:
        """Send a form without answers."""
        step = self._next(self.current_page(), tuple(STEPS))
        if step is not None:
            hidden = {name: one.values for name, one in step[1].fields.items() if one.kind == "hidden"}
            self._post("forget", step[1], hidden)

    def report(self, text: str) -> None:
        """Report the current item."""
        self._send_to(self.current_page(), "/notice", "report", text=text)

    def _next(self, page: httpx.Response, only: Sequence[str]) -> tuple[str, Form] | None:
        for name in only:
            form = form_to(page.text, STEPS[name])
            if form is not None and not (name == "end" and self.n_messages % self.ends_after):
                return name, form
        return None

    def _send(self, page: httpx.Response, only: Sequence[str]) -> httpx.Response:
        step = self._next(page, only)
        if step is None:
            raise LookupError(f"The page has no form of {only}: {page.text}")
        name, form = step
        self.n_messages += name == "say"
        return self._post(name, form, form.fill_out(self.answers, self.choice))

    def _send_to(self, page: httpx.Response, action: str, name: str, **typed: str) -> httpx.Response:
        form = form_to(page.text, action)
        if form is None:
            raise LookupError(f"The page has no form to {action}: {page.text}")
        return self._post(name, form, form.fill(**typed))

    def _post(self, name: str, form: Form, values: Mapping[str, list[str]]) -> httpx.Response:
        if name != "say":
            return self.record(name, "POST", form.action, data=values)
        # The next page has the responses or not, depending on timing.
        answer = self.record(name, "POST", form.action, data=values, follow=False)
        self.note("responses", "GET /rate", self.current_page())
        return answer


@contextmanager
def serving(app: FastAPI, base_url: str) -> Iterator[httpx.Client]:
    """Serve an application in this process, and yield a client of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient
    with TestClient(app, base_url=base_url) as client:
        yield client


def as_text(answer: httpx.Response) -> str:
    """Return a response as text: status, relevant headers and body."""
    lines = [str(answer.status_code)]
    for name in ("content-type", "location", "content-disposition", "cache-control", "link", "retry-after"):
        if name in answer.headers:
            lines.append(f"{name}: {answer.headers[name]}")
    body = as_json(answer.json()) if is_json(answer) and answer.content else answer.text
    return "\n".join([*lines, "", body])


def is_json(answer: httpx.Response) -> bool:
    """Return True for a JSON response."""
    kind = str(answer.headers.get("content-type", "")).partition(";")[0]
    return kind == "application/json" or kind.endswith("+json")


def find_match(text: str, pattern: str) -> str:
    """Return the first match of a pattern in a text."""
    match = re.search(pattern, text)
    if match is None:
        raise LookupError(f"{pattern} is not in: {text}")
    return match[1] if match.re.groups else match[0]
