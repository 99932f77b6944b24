"""Server with the Prolific API on loopback: studies, submissions and signed webhooks."""

import json
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from dissensus.recruit.prolific.webhooks import sign_request

TOKEN = "a-token-that-nobody-else-may-see"
WORKSPACE = "f" * 24
NOW = datetime(2030, 1, 2, 12, tzinfo=UTC)
PLACED = {"AUTOMATICALLY_APPROVE": "APPROVED", "FIXED_SCREEN_OUT_PAYMENT": "SCREENED OUT"}
"""Status set at once by an action; after others a person decides."""
Next = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Trouble:
    """Answer that replaces the right one; with `done`, after the request was carried out."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    done: bool = False


@dataclass(frozen=True)
class Delivery:
    """Webhook request, which a test can send late, repeatedly or out of order."""

    headers: dict[str, str]
    body: bytes
    target: str = ""

    def forged(self) -> "Delivery":
        """Return the request with another status and the old signature."""
        return replace(self, body=self.body.replace(b"RETURNED", b"APPROVED"))

    def send(self) -> None:
        httpx.post(self.target, content=self.body, headers=self.headers, verify=False).raise_for_status()


@dataclass
class Prolific:
    """State of the server."""

    root: str = ""
    studies: dict[str, dict[str, Any]] = field(default_factory=dict)
    submissions: dict[str, dict[str, Any]] = field(default_factory=dict)
    hooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    secret: str = ""
    requests: list[str] = field(default_factory=list)
    trouble: deque[Trouble] = field(default_factory=deque)
    events: list[Delivery] = field(default_factory=list)
    inbox: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def forget(self) -> None:
        """Reset the state, at the same address."""
        vars(self).update(vars(Prolific(root=self.root)))

    def new_id(self) -> str:
        return f"{next(self.numbers):024x}"

    def arrive(self, study: str) -> str:
        """Reserve a place for a participant; return their entry URL."""
        assert self.studies[study]["status"] == "ACTIVE"
        submission, pid = self.new_id(), self.new_id()
        self.submissions[submission] = {
            "id": submission,
            "study": study,
            "participant_id": pid,
            "status": "RESERVED",
            "study_code": None,
            "return_requested": None,
        }
        self.record_event(submission)
        address: str = self.studies[study]["external_study_url"]
        for name, value in {"PROLIFIC_PID": pid, "STUDY_ID": study, "SESSION_ID": submission}.items():
            address = address.replace(f"{{{{%{name}%}}}}", value)
        return address

    def move(self, submission: str, status: str) -> None:
        self.submissions[submission]["status"] = status
        self.record_event(submission)

    def complete(self, submission: str, code: str) -> None:
        """Submit a completion code, and apply its action."""
        record = self.submissions[submission]
        codes = {entry["code"]: entry for entry in self.studies[record["study"]]["completion_codes"]}
        action = codes[code]["actions"][0]["action"]
        record |= {"study_code": code, "return_requested": "2030-01-02" if action == "REQUEST_RETURN" else None}
        self.move(submission, "AWAITING REVIEW")
        if action in PLACED:
            self.move(submission, PLACED[action])

    def record_event(self, submission: str) -> None:
        """Record an event for the subscribers."""
        record = self.submissions[submission]
        payload = {"resource_id": submission, "participant_id": record["participant_id"], "status": record["status"]}
        self.events.append(self.signed({"event_type": "submission.status.change", **payload}))

    def signed(self, payload: object, *, at: datetime = NOW, secret: str | None = None) -> Delivery:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        time = f"{at.timestamp():.0f}"
        headers = {
            "X-Prolific-Request-Timestamp": time,
            "X-Prolific-Request-Signature": sign_request(secret or self.secret or "none yet", time, body).decode(),
            "X-Event-Id": self.new_id(),
        }
        enabled = [hook["target_url"] for hook in self.hooks.values() if hook["is_enabled"]]
        return Delivery(headers, body, enabled[0] if enabled else "")


def app_of(state: Prolific) -> FastAPI:
    """Return the API, with an inbox that receives webhooks like a site."""
    app = FastAPI()

    @app.middleware("http")
    async def guard(request: Request, following: Next) -> Response:
        state.requests.append(f"{request.method} {request.url.path}")
        trouble = state.trouble.popleft() if state.trouble else None
        if trouble is not None and trouble.done:
            await following(request)
        if trouble is not None:
            body = trouble.body if isinstance(trouble.body, bytes) else json.dumps(trouble.body).encode()
            return Response(body, trouble.status, trouble.headers)
        authorization = request.headers.get("authorization", "")
        if request.url.path.startswith("/api") and authorization != f"Token {TOKEN}":
            return refusal(401, f"Invalid header: {authorization}")
        return await following(request)

    @app.post("/inbox")
    async def inbox(request: Request) -> None:
        state.inbox.append((dict(request.headers), await request.body()))

    @app.post("/api/v1/studies/")
    async def create(request: Request) -> JSONResponse:
        study = {**await request.json(), "id": state.new_id(), "status": "UNPUBLISHED"}
        paid = [one for one in study["completion_codes"] if one["code_type"] == "FIXED_SCREENOUT"]
        if len(paid) > 1 or len({one["code"] for one in study["completion_codes"]}) < len(study["completion_codes"]):
            return refusal(400, {"completion_codes": ["Codes are not right."]})
        state.studies[study["id"]] = study
        return JSONResponse(study, 201)

    @app.post("/api/v1/studies/{study}/transition/")
    async def publish(study: str, request: Request) -> JSONResponse:
        if study not in state.studies:
            return refusal(404, "Not found.")
        if state.studies[study]["status"] != "UNPUBLISHED":
            return refusal(409, "The study is published already.")
        assert (await request.json())["action"] == "PUBLISH"
        state.studies[study]["status"] = "ACTIVE"
        return JSONResponse(state.studies[study])

    @app.get("/api/v1/studies/{study}/submissions/")
    async def listed(study: str, limit: int, offset: int) -> JSONResponse:
        submissions = [one for one in state.submissions.values() if one["study"] == study]
        return JSONResponse({"results": submissions[offset : offset + limit], "meta": {"count": len(submissions)}})

    @app.post("/api/v1/submissions/{submission}/transition/")
    async def decide(submission: str, request: Request) -> JSONResponse:
        decision = await request.json()
        if decision["action"] == "REJECT":
            assert len(decision["message"]) >= 100
            assert decision["rejection_category"]
        status = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}[decision["action"]]
        if state.submissions[submission]["status"] not in ("AWAITING REVIEW", status):
            return refusal(400, "The submission is not to be reviewed.")
        if state.submissions[submission]["status"] != status:
            state.move(submission, status)
        return JSONResponse(state.submissions[submission])

    @app.post("/api/v1/submissions/{submission}/request-return/")
    async def ask_return(submission: str, request: Request) -> JSONResponse:
        assert (await request.json())["request_return_reasons"]
        state.submissions[submission]["return_requested"] = "2030-01-02T12:00:00Z"
        return JSONResponse(state.submissions[submission])

    @app.post("/api/v1/hooks/secrets/")
    async def new_secret(request: Request) -> JSONResponse:
        state.secret = f"secret-{state.new_id()}"
        return JSONResponse({"value": state.secret, **await request.json()}, 201)

    @app.post("/api/v1/hooks/subscriptions/")
    async def subscribe(request: Request) -> JSONResponse:
        hook = {**await request.json(), "id": state.new_id(), "is_enabled": False}
        state.hooks[hook["id"]] = hook
        return JSONResponse({"results": list(state.hooks.values())}, 201, {"X-Hook-Secret": f"confirm-{hook['id']}"})

    @app.post("/api/v1/hooks/subscriptions/{hook}/")
    async def confirm(hook: str, request: Request) -> JSONResponse:
        assert (await request.json())["secret"] == f"confirm-{hook}"
        state.hooks[hook]["is_enabled"] = True
        return JSONResponse(state.hooks[hook])

    return app


def refusal(status: int, detail: object) -> JSONResponse:
    return JSONResponse({"error": {"status": status, "title": "Bad request", "detail": detail}}, status)


@contextmanager
def serving() -> Iterator[Prolific]:
    """Serve until the block ends."""
    state = Prolific()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app_of(state), log_level="critical", ws="none", date_header=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        state.root = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            yield state
        finally:
            server.should_exit = True
            thread.join()
