"""ASGI application: routers, error handlers and middleware."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

import anyio.to_thread
from fastapi import Depends, FastAPI
from fastapi.responses import FileResponse, Response

from dissensus.campaign.chatbot_access import parse_hosts
from dissensus.encryption import SecretKeys
from dissensus.errors import NotFound
from dissensus.settings import Settings, load_mail_sender
from dissensus.web import design, error_handlers
from dissensus.web.api import openapi, openapi_pages
from dissensus.web.builder import builder
from dissensus.web.core import health, oidc
from dissensus.web.core.chat_responder import ChatResponder
from dissensus.web.core.metrics import make_metrics
from dissensus.web.core.renderer import asset_url, create_renderer
from dissensus.web.core.signed_tokens import TokenSigner
from dissensus.web.core.site import Site, now
from dissensus.web.core.staff_auth import Public
from dissensus.web.middleware.access_log import AccessLogMiddleware
from dissensus.web.middleware.cookies import CookieMiddleware
from dissensus.web.middleware.request_limits import RequestLimitsMiddleware
from dissensus.web.middleware.request_origin import AllowedHostsMiddleware, SameOriginMiddleware, list_hosts
from dissensus.web.middleware.security_headers import SecurityHeadersMiddleware
from dissensus.web.planning import interim, plans
from dissensus.web.rater import attention_checks, chat, corrections, entry, rating, recruiter_webhook, withdrawal
from dissensus.web.rater import care as care_web
from dissensus.web.staff import (
    attempts,
    audit_log,
    campaign_settings,
    campaigns,
    care,
    chats,
    curation,
    gold,
    images,
    items,
    members,
    monitoring,
    notices,
    opening,
    pay,
    quota,
    raters,
    reports,
    submissions,
    tasks,
    webhooks,
    withdrawals,
)
from dissensus.web.staff.drafts import drafts
from dissensus.web.staff.identity import account, directory, oidc_sign_in, passkey, second_factor, sign_in
from dissensus.web.staff.release import release
from dissensus.workflows.jobs import N_CONNECTIONS, build_runners
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.models.scorers import RankerCache
from dissensus.workflows.platform.mail_delivery import MailDelivery
from dissensus.workflows.platform.platform import open_platform

DAY_S = 24 * 3600
RATERS = (entry, rating, corrections, withdrawal, chat, attention_checks, care_web, recruiter_webhook)
STAFF = (
    *(sign_in, oidc_sign_in, account, directory, second_factor, passkey, campaigns, campaign_settings, members, drafts),
    *(curation, opening, items, images, raters, chats, reports, release, quota, monitoring, notices, attempts, gold),
    *(care, pay, submissions, webhooks, withdrawals, tasks, audit_log, plans, interim),
)


def create_app(settings: Settings, keys: SecretKeys, *, jobs: bool = False) -> FastAPI:
    """Create the ASGI application."""
    oidc.check_oidc_settings(settings)
    platform = open_platform(
        settings.database_url,
        threads=settings.threads + N_CONNECTIONS,
        rater_limits=settings.rater_limits,
        session_idle=settings.session_idle,
    )
    chat_responder = ChatResponder(
        platform,
        clock=lambda: app.state.site.clock(),
        hosts=parse_hosts(settings.chatbot_hosts or ""),
        registry=RankerCache(settings.model_registry),
    )
    site = Site(settings, platform, TokenSigner(keys), create_renderer(), chat_responder)
    metrics = make_metrics()
    retraining = RetrainingJob(settings.model_registry, interval_h=settings.retrain_hours)
    mail = MailDelivery(sender=load_mail_sender(settings), site=settings.address, keys=keys)
    runners = build_runners(
        platform,
        signer=site.webhook_signer,
        clock=now,
        count=metrics.count_delivery,
        retraining=retraining,
        mail=mail,
        security_log_days=settings.security_log_days,
    )

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        # Each thread has a connection besides those of the jobs, so that no request waits for one.
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
        threads = [runner.start() for runner in runners] if jobs else []
        try:
            async with chat_responder:
                yield
        finally:
            for runner in runners:
                runner.stopped.set()
            for thread in threads:
                await anyio.to_thread.run_sync(thread.join)
            platform.close()

    app = FastAPI(title="Dissensus", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.site = site
    for module in (*RATERS, builder, *STAFF, design, health, openapi, openapi_pages):
        app.include_router(module.router)
    for router in openapi.ROUTERS:
        app.include_router(router)
    app.add_api_route("/static/{digest}/{name}", _static, dependencies=[Depends(Public("look"))])
    error_handlers.install_error_handlers(app)
    # The last one added is the outermost.
    app.add_middleware(CookieMiddleware, secure=settings.is_secure)
    app.add_middleware(SameOriginMiddleware)
    app.add_middleware(AllowedHostsMiddleware, hosts=list_hosts(settings))
    app.add_middleware(RequestLimitsMiddleware)
    app.add_middleware(SecurityHeadersMiddleware, hsts_s=settings.hsts_days * DAY_S if settings.is_secure else 0)
    app.state.metrics = metrics
    app.add_middleware(AccessLogMiddleware, metrics=metrics)
    return app


def _static(digest: str, name: str) -> Response:
    folder = Path(str(files("dissensus.web") / "static"))
    # A name from outside may be too long for the file system, or contain a separator.
    path = next((path for path in folder.iterdir() if path.name == name), None)
    if path is None:
        raise NotFound("There is nothing at this address.")
    # Another digest comes from an older page: send the current file, cached for a minute.
    max_age = "max-age=31536000, immutable" if asset_url(name).split("/")[2] == digest else "max-age=60"
    return FileResponse(path, headers={"cache-control": f"public, {max_age}"})
