"""Internal names of the package that the recorder needs: the one module to edit when they move."""

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import typer
from fastapi import FastAPI
from sqlalchemy import Connection, MetaData
from tests.support.permission_tables import tabulate_permissions as permission_table

from dissensus.cli import main as main
from dissensus.cli.app import app as commands
from dissensus.cli.platform import options
from dissensus.encryption import SecretKeys
from dissensus.schema.campaign.completion_codes import OUTCOMES as OUTCOMES
from dissensus.schema.campaign.roles import ROLES as ROLES
from dissensus.settings import Settings
from dissensus.store.core.metadata import METADATA
from dissensus.web.api.openapi import openapi_document as openapi_document
from dissensus.web.app import create_app
from dissensus.web.core.permissions import SCOPES as SCOPES
from dissensus.workflows.jobs import build_runners
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.platform.mail_delivery import MailDelivery

__all__ = ("OUTCOMES", "ROLES", "SCOPES", "main", "openapi_document", "permission_table")

MEASURED = frozenset({"first_ms"})
"""Columns and fields that hold measured durations."""
RANDOM_BYTES = 10
"""Random bytes in an id that sorts by time."""

Clock = Callable[[], datetime]


def command_tree() -> Any:
    """Return the root of all commands."""
    return typer.main.get_command(commands)


def settings_fields() -> dict[str, Any]:
    """Return the fields of the settings by name."""
    return dict(Settings.model_fields)


def tables() -> MetaData:
    """Return the tables of the database."""
    return METADATA


def freeze_commands(clock: Clock) -> None:
    """Make commands read the time from a clock."""
    original = options.utc_now
    for module in list(sys.modules.values()):
        if getattr(module, "utc_now", None) is original and module.__name__.startswith("dissensus.cli"):
            setattr(module, "utc_now", clock)  # noqa: B010


def make_app(secret: str, clock: Clock, **values: Any) -> FastAPI:
    """Return the site with a given clock."""
    app = create_app(Settings(**values), SecretKeys(secret))
    app.state.site = replace(app.state.site, clock=clock)
    return app


def run_jobs(app: FastAPI, clock: Clock, models: Path) -> None:
    """Run each background job once, in this thread."""
    site = app.state.site
    learning = RetrainingJob(models, interval_h=0)
    mail = MailDelivery(sender=None, site=site.settings.address, keys=site.tokens.keys)
    runners = build_runners(site.platform, signer=site.webhook_signer, clock=clock, retraining=learning, mail=mail)
    for runner in runners:
        runner.run_once()
        for job in runner.final_jobs.values():
            job(site.platform, clock())


def reading(app: FastAPI) -> Any:
    """Return a context that yields a connection for reading."""
    return app.state.site.platform.database.reading()


def rows_of(connection: Connection, name: str) -> list[dict[str, Any]]:
    """Return all rows of a table in the order of its primary key."""
    table = tables().tables[name]
    result = connection.execute(table.select().order_by(*table.primary_key.columns))
    return [dict(row) for row in result.mappings()]
