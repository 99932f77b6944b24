"""The application: routes, errors and what stands before them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

import anyio.to_thread
from fastapi import Depends, FastAPI
from fastapi.responses import FileResponse, Response

from dissensus.errors import NotFound
from dissensus.settings import Settings
from dissensus.web.api import openapi
from dissensus.web.core import errors, health, oidc
from dissensus.web.core.access_log import Watch
from dissensus.web.core.chat_responder import Answering, hosts_of
from dissensus.web.core.metrics import make_metrics
from dissensus.web.core.renderer import asset, make_pages
from dissensus.web.core.request_limits import Guard
from dissensus.web.core.signed_tokens import Tokens
from dissensus.web.core.site import Site, now
from dissensus.web.core.staff_auth import Open
from dissensus.web.rater import attention_checks, chat, rating, recruiter_webhook
from dissensus.web.rater import care as care_web
from dissensus.web.staff import (
    account,
    attempts,
    campaigns,
    care,
    curation,
    drafts,
    gold,
    members,
    monitoring,
    oidc_sign_in,
    pay,
    quota,
    sign_in,
    submissions,
    webhooks,
    withdrawals,
)
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.models.scorers import ModelRegistry
from dissensus.workflows.platform.jobs import N_RUNNERS, build_runners
from dissensus.workflows.platform.platform import open_platform

RATERS = (rating, chat, attention_checks, care_web, recruiter_webhook)
STAFF = (
    *(sign_in, oidc_sign_in, account, campaigns, members, drafts, curation),
    *(quota, monitoring, attempts, gold, care, pay, submissions, webhooks, withdrawals),
)


def create_app(settings: Settings, secret: str, *, jobs: bool = False) -> FastAPI:
    """Return the site as an ASGI application."""
    oidc.check(settings)
    # More connections than threads that answer, for the jobs.
    platform = open_platform(settings.database_url, threads=settings.threads + N_RUNNERS)
    answering = Answering(
        platform,
        clock=lambda: app.state.site.clock(),
        hosts=hosts_of(settings.chatbot_hosts or ""),
        lines=ModelRegistry(settings.models),
    )
    site = Site(settings, platform, Tokens(secret), make_pages(), answering)
    metrics = make_metrics()
    learning = RetrainingJob(settings.models, every_h=settings.retrain_h)
    runners = build_runners(platform, post=site.post, clock=now, count=metrics.count_delivery, learning=learning)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        # As many threads as connections: no request waits for a connection that another thread holds.
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
        threads = [runner.start() for runner in runners] if jobs else []
        async with answering:
            yield
        for runner in runners:
            runner.stopped.set()
        for thread in threads:
            await anyio.to_thread.run_sync(thread.join)
        platform.close()

    app = FastAPI(title="Dissensus", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.site = site
    for room in (*RATERS, *STAFF, health, openapi):
        app.include_router(room.router)
    for programs in openapi.ROUTERS:
        app.include_router(programs)
    app.add_api_route("/static/{digest}/{name}", _static, dependencies=[Depends(Open("look"))])
    errors.install(app)
    app.add_middleware(Guard)
    app.state.metrics = metrics
    app.add_middleware(Watch, metrics=metrics)
    return app


def _static(digest: str, name: str) -> Response:
    path = Path(str(files("dissensus.web") / "static")) / name
    if "/" in name or "\\" in name or name.startswith(".") or not path.is_file():
        raise NotFound("There is nothing at this address.")
    # Of another digest it is an older page that asks: it gets the present file, and keeps it for a minute.
    kept = "max-age=31536000, immutable" if asset(name).split("/")[2] == digest else "max-age=60"
    return FileResponse(path, headers={"cache-control": f"public, {kept}"})
