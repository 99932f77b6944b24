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
    "pick": f"/chat/{ID}/pick",
    "end": f"/chat/{ID}/end",
    "say": f"/chat/{ID}/say",
    "begin": "/chat/begin",
    "about-you": "/about-you",
    "feelings": "/feelings",
    "topics": "/topics",
    "warning": "/c/[^/]+",
    "go-on": "/go-on",
}
"""Forms on the way of a rater by their addresses, the most urgent first."""
Files = Mapping[str, tuple[str, bytes]]
POLLS: Final = 400
REFUSED: Final = 422
AS_DATA: Final = {"accept": "application/json"}


@dataclass
class Visitor:
    """Somebody with cookies of their own.

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
        self, method: str, path: str, *, follow: bool = True, again: bool = False, **options: Any
    ) -> httpx.Response:
        """Send a request as this visitor; where it is sent again, no time passes."""
        DRAWS.begin(again=again)
        self.clock.forward(seconds=0 if again else 7)
        self.client.cookies = self.cookies
        headers = {**self.headers, **options.pop("headers", {})}
        answer = self.client.request(method, path, follow_redirects=follow, headers=headers, **options)
        self.cookies = self.client.cookies
        return answer

    def told(self, name: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, and record what is answered."""
        answer = self.ask(method, path, **options)
        self.note(name, f"{method} {path}", answer)
        return answer

    def note(self, name: str, asked: str, answer: httpx.Response) -> None:
        """Record what is answered."""
        self.n += 1
        self.writer.write(f"{self.n:03} {name.replace('/', '.')}.txt", f"{asked}\n{shown(answer)}")

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
        """Send a form of a page that was answered."""
        form = form_to(page.text, action)
        if form is None:
            raise LookupError(f"{page.request.url} has no form to {action}.")
        sent = form.filled(**typed) | form.button(choice)
        return self.told(f"press {form.action}", "POST", form.action, data=sent, files=files)


@dataclass
class Rater(Visitor):
    """A rater who takes the same choice everywhere, but for what is given.

    Parameters
    ----------
    choice
        Which of the choices of each question.
    given
        Answers by the names of fields.
    ends_after
        Messages after which a conversation is ended.
    """

    choice: int = 0
    given: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ends_after: int = 2
    said: int = 0

    def arrive(self, link: str) -> None:
        """Come by a link, read and agree."""
        page = self.told("arrive", "GET", link)
        while self._next(page, ("warning", "consent")) is not None:
            page = self._send(page, ("warning", "consent"))

    def steps(self, n: int = 100, *, only: Sequence[str] = tuple(STEPS)) -> httpx.Response:
        """Take some steps on the way, or all that there are."""
        page = self.where()
        for _ in range(n):
            if self._next(page, only) is None:
                break
            if self._send(page, only).status_code == REFUSED:
                break
            page = self.where()
        return page

    def where(self) -> httpx.Response:
        """Return the page on which the rater is, once chatbots have answered."""
        for n in range(POLLS):
            page = self.ask("GET", "/rate", again=n > 0)
            if "/chat/" not in page.text or self._next(page, tuple(STEPS)) is not None or "/again" in page.text:
                return page
            time.sleep(0.02)
        raise TimeoutError(page.text)

    def leave_out(self) -> None:
        """Leave out the item that is shown."""
        self._send_to(self.where(), f"/rate/{ID}/skip", "skip")

    def quick(self, milliseconds: int) -> None:
        """Rate all items as the script of the page does, each within some time."""
        n = 0
        while (step := self.ask("GET", "/rate", headers=AS_DATA).json())["place"] == "rate":
            n += 1
            values = {name: {"value": one[self.choice % len(one)]} for name, one in self.given.items()}
            sent = {"key": str(uuid4()), "revision": 1, "visit": "v", "visible_ms": milliseconds, "idle_ms": 0}
            sent |= {"answers": values, "final": n % 5 != 0}
            headers = AS_DATA | {"x-form-token": step["form_token"]}
            path = f"/rate/{step['item']['assignment']}/save"
            self.told("save", "POST", path, json=sent, headers=headers)
            if n % 5 == 0:
                self.told("submit", "POST", path, json=sent | {"final": True, "revision": 2}, headers=headers)

    def forget(self) -> None:
        """Send a form without answers."""
        found = self._next(self.where(), tuple(STEPS))
        if found is not None:
            hidden = {name: one.values for name, one in found[1].fields.items() if one.kind == "hidden"}
            self._post("forget", found[1], hidden)

    def report(self, text: str) -> None:
        """Report what is shown."""
        self._send_to(self.where(), "/notice", "report", text=text)

    def _next(self, page: httpx.Response, only: Sequence[str]) -> tuple[str, Form] | None:
        for name in only:
            form = form_to(page.text, STEPS[name])
            if form is not None and not (name == "end" and self.said % self.ends_after):
                return name, form
        return None

    def _send(self, page: httpx.Response, only: Sequence[str]) -> httpx.Response:
        found = self._next(page, only)
        if found is None:
            raise LookupError(f"The page has no form of {only}: {page.text}")
        name, form = found
        self.said += name == "say"
        return self._post(name, form, form.answered(self.given, self.choice))

    def _send_to(self, page: httpx.Response, action: str, name: str, **typed: str) -> httpx.Response:
        form = form_to(page.text, action)
        if form is None:
            raise LookupError(f"The page has no form to {action}: {page.text}")
        return self._post(name, form, form.filled(**typed))

    def _post(self, name: str, form: Form, sent: Mapping[str, list[str]]) -> httpx.Response:
        if name != "say":
            return self.told(name, "POST", form.action, data=sent)
        # Whether the page after it has the responses already is chance.
        answer = self.told(name, "POST", form.action, data=sent, follow=False)
        self.note("responses", "GET /rate", self.where())
        return answer


@contextmanager
def serving(app: FastAPI, base_url: str) -> Iterator[httpx.Client]:
    """Serve an application in this process, and yield a client of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient
    with TestClient(app, base_url=base_url) as client:
        yield client


def shown(answer: httpx.Response) -> str:
    """Return an answer as text: its status, headers that matter, and its body."""
    lines = [str(answer.status_code)]
    for name in ("content-type", "location", "content-disposition", "cache-control", "link", "retry-after"):
        if name in answer.headers:
            lines.append(f"{name}: {answer.headers[name]}")
    body = as_json(answer.json()) if is_json(answer) and answer.content else answer.text
    return "\n".join([*lines, "", body])


def is_json(answer: httpx.Response) -> bool:
    """Tell whether an answer is JSON."""
    kind = str(answer.headers.get("content-type", "")).partition(";")[0]
    return kind == "application/json" or kind.endswith("+json")


def found_in(text: str, pattern: str) -> str:
    """Return the first match of a pattern in a text."""
    found = re.search(pattern, text)
    if found is None:
        raise LookupError(f"{pattern} is not in: {text}")
    return found[1] if found.re.groups else found[0]
