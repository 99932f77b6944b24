"""Background job that makes the reports that members asked for, one at a time, each in a process of its own."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic
from typing import Any, Final

from dissensus.errors import DissensusError, NotFound
from dissensus.files.raw import table_stream
from dissensus.pipeline.release.documents import ATTEMPTS
from dissensus.schema.advice import site_message
from dissensus.stats.suppression import MIN_CELL
from dissensus.store.lists import reports as store
from dissensus.store.lists.reports import ClaimedReport, StoredReport
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.export.conversations import REVIEWS, export_conversations
from dissensus.workflows.export.ratings import ExportOptions, log_export, open_export
from dissensus.workflows.platform.platform import Platform

CLAIM_DURATION: Final = timedelta(seconds=60)
"""Time after which a report of a process that died is made anew."""
EXPORT_CLAIM_DURATION: Final = timedelta(minutes=10)
"""The same while the export is written."""
POLL_S: Final = 1.0
MAX_DURATION_S: Final = 3600.0
TOO_LONG: Final = "It took longer than an hour. Ask for one question, fewer axes, or without tests and intervals."
LOST: Final = "The process that made it ended early, perhaps for lack of memory. Ask for fewer axes."
MAX_CLAIMS: Final = 3
"""Number of times that a report is begun, if processes of the site die while they make it."""
LOST_AGAIN: Final = (
    f"The site stopped {MAX_CLAIMS} times while it was made, perhaps for lack of memory. Ask for fewer axes, without "
    "tests and intervals, or ask the operator."
)
NO_FILES: Final = (
    "Its files could not be written. Ask the operator whether the disk is full, and make the report again."
)

log = logging.getLogger("dissensus.report")


@dataclass(slots=True, kw_only=True)
class ReportJob:
    """Job that makes the next report, if one waits."""

    stopped: Event = field(default_factory=Event)

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Make the next report, if one waits."""
        with platform.database.reading() as tx:
            if not store.has_unfinished_report(tx):
                return
        with platform.database.writing() as tx:
            store.fail_lost_reports(tx, LOST_AGAIN, most=MAX_CLAIMS, now=now)
            claimed = store.claim_report(tx, until=now + EXPORT_CLAIM_DURATION, now=now)
        if claimed is not None:
            self._make(platform, claimed, _start_clock(now))

    def _make(self, platform: Platform, claimed: ClaimedReport, clock: Callable[[], datetime]) -> None:
        with TemporaryDirectory(prefix="dissensus-report-") as name:
            folder = Path(name)
            try:
                job = _write_export(platform, claimed, folder, clock())
                path = folder / "job.json"
                path.write_text(json.dumps(job), "utf-8")
            except DissensusError as error:
                _fail(platform, claimed, site_message(error))
                return
            except OSError as error:
                log.warning("The files of report %s of campaign %s: %s", claimed.id, claimed.campaign, error)
                _fail(platform, claimed, NO_FILES)
                return
            fault = self._run(platform, claimed, path, clock)
            if fault is not None:
                _fail(platform, claimed, fault)
            elif not self.stopped.is_set():
                _store(platform, claimed, json.loads(Path(job["output"]).read_text("utf-8")))

    def _run(self, platform: Platform, claimed: ClaimedReport, path: Path, clock: Callable[[], datetime]) -> str | None:
        """Run the process until it ends; kill it if the claim is lost or the job stopped. Return a fault."""
        command = [sys.executable, "-m", "dissensus.workflows.report.report_process", str(path)]
        progress, begun = [0.0], monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
            readers = [
                Thread(target=_read_progress, args=(process.stdout, progress)),
                Thread(target=_log_errors, args=(process.stderr, claimed)),
            ]
            for reader in readers:
                reader.start()
            fault = None
            try:
                while process.poll() is None:
                    with platform.database.writing() as tx:
                        is_held = store.extend_report_claim(tx, claimed, progress[0], until=clock() + CLAIM_DURATION)
                    fault = TOO_LONG if monotonic() - begun > MAX_DURATION_S else None
                    if not is_held or fault or self.stopped.wait(POLL_S):
                        break
            finally:
                process.kill()
                process.wait()
                for reader in readers:
                    reader.join()
        if fault is None and process.returncode and not self.stopped.is_set():
            return LOST
        return fault


def _start_clock(now: datetime) -> Callable[[], datetime]:
    """Return a clock that shows a time now, and advances with the monotonic clock."""
    begun = monotonic()
    return lambda: now + timedelta(seconds=monotonic() - begun)


def _read_progress(stream: Any, progress: list[float]) -> None:
    for line in stream:
        # A library may print too. The reader must not stop, since the process would wait for room in the pipe.
        with suppress(ValueError):
            progress[0] = float(line)


def _log_errors(stream: Any, claimed: ClaimedReport) -> None:
    if text := stream.read().strip():
        log.warning("The process of report %s of campaign %s: %s", claimed.id, claimed.campaign, text)


def _write_export(platform: Platform, claimed: ClaimedReport, folder: Path, now: datetime) -> dict[str, Any]:
    """Write the export that a report is made of, and return its job."""
    campaign = campaigns.load_definition(platform, claimed.campaign, staff_id=claimed.staff_id)
    job: dict[str, Any] = {"request": claimed.request, "title": claimed.campaign}
    job |= {"output": str(folder / "output.json"), "suppress_below": 0 if claimed.with_raters else MIN_CELL}
    if campaign.chat is not None:
        export_conversations(platform, claimed.campaign, folder / "export", staff_id=claimed.staff_id, now=now)
        export = folder / "export"
        if not (export / ATTEMPTS).exists():
            raise NotFound("None of the conversations that were exported is a red-team attempt.")
        return {**job, "source": str(export / ATTEMPTS), "reviews": str(export / REVIEWS)}
    path = folder / "ratings.parquet"
    with open_export(platform, claimed.campaign, claimed.staff_id, ExportOptions()) as source:
        table_stream.write_parts(source.frames(), source.form.schema, path)
    log_export(platform, claimed.campaign, claimed.staff_id, ExportOptions(), now)
    return {**job, "source": str(path), "reviews": None}


def _fail(platform: Platform, claimed: ClaimedReport, fault: str) -> None:
    with platform.database.writing() as tx:
        store.fail_report(tx, claimed, fault)


def _store(platform: Platform, claimed: ClaimedReport, result: dict[str, Any]) -> None:
    if "fault" in result:
        _fail(platform, claimed, result["fault"])
        return
    stored = StoredReport(
        content=json.dumps(result["content"], ensure_ascii=False),
        sections=[(name, json.dumps(one, ensure_ascii=False)) for name, one in result["sections"].items()],
        figures=[tuple(figure) for figure in result["figures"]],
    )
    with platform.database.writing() as tx:
        store.finish_report(tx, claimed, stored)
