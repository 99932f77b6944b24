"""Registration of a release: its entry in the log of the campaign and in the file of its key."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import dissensus
from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.files.raw.content import digest_file
from dissensus.files.releases.folder import (
    MANIFEST,
    check_files,
    check_new_folder,
    is_release,
    read_record,
    read_release_table,
)
from dissensus.files.releases.key_file import record_key_use, remove_key_use
from dissensus.pipeline.release.assessment import AssessedRelease
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.pipeline.release.source import KeyUse, ReleaseSource
from dissensus.schema.release.plan import ReleasePlan
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.release.campaign_source import holds_head, log_release

SOFTWARE: Final = f"Dissensus {dissensus.__version__}"
"""Program and version that a release states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRelease:
    """A release with its verdict, before anything is written."""

    plan: ReleasePlan
    folder: Path  # of the plan
    key_file: Path
    pseudonyms: Pseudonyms
    source: ReleaseSource
    assessed: AssessedRelease

    @property
    def is_registered(self) -> bool:
        """True if the log knew this version when the source was loaded, or for files the key."""
        uses = self.source.key_uses if self.source.logged is None else self.source.logged
        return any((use.name, use.version) == (self.plan.name, self.plan.version) for use in uses)


def check_passed(prepared: PreparedRelease) -> None:
    """Raise unless a release passed."""
    verdict = prepared.assessed.verdict
    if not verdict.passed:
        open_checks = [each.check.name for each in verdict.checks if each.outcome != "passed"]
        raise InvalidInput(f"The release did not pass: {', '.join(open_checks)}. Nothing was written.")


def check_folder(prepared: PreparedRelease, folder: Path) -> None:
    """Raise if a folder exists, with a remedy where it is this release and was not logged."""
    if is_release(folder) and _is_same_version(prepared, folder) and not prepared.is_registered:
        raise Conflict(
            f"{folder} is {prepared.plan.name} {prepared.plan.version}, but was not logged: the program was "
            "interrupted. Register it with --register, or remove it and run the command again. Do not publish it as it "
            "is."
        )
    check_new_folder(folder)


def _is_same_version(prepared: PreparedRelease, folder: Path) -> bool:
    record = read_record(folder)
    return (record["name"], record["version"]) == (prepared.plan.name, prepared.plan.version)


def restate_head(prepared: PreparedRelease, folder: Path, platform: Platform | None) -> PreparedRelease:
    """Return a release with the head of the log that its folder states; raise if the folder is of another one."""
    read_release_table(folder)
    check_files(folder)
    if not _is_same_version(prepared, folder):
        raise InvalidInput(
            f"{folder} is another release than {prepared.plan.name} {prepared.plan.version}. Name its folder."
        )
    if prepared.is_registered:
        raise Conflict(f"{prepared.plan.name} {prepared.plan.version} is registered already. Nothing was changed.")
    facts, log = prepared.source.facts, read_record(folder).get("log")
    if facts is None or platform is None or not isinstance(log, dict):
        return prepared
    n_events, head = log.get("events"), log.get("head")
    if (
        type(n_events) is not int
        or not isinstance(head, str)
        or not holds_head(platform, prepared.plan, n_events, head)
    ):
        raise Conflict(
            f"{folder} states a head that the log of {prepared.plan.campaign} does not have. Remove the folder."
        )
    facts = replace(facts, head=head, n_events=n_events)
    return replace(prepared, source=replace(prepared.source, facts=facts))


def check_same(prepared: PreparedRelease, folder: Path, manifest: str) -> None:
    """Raise unless a folder has the manifest of the release that was made again."""
    if digest_file(folder / MANIFEST) != manifest:
        software = read_record(folder).get("software")
        reason = (
            "the data or the plan changed since, such as by a withdrawal"
            if software == SOFTWARE
            else f"{software} wrote it, and this is {SOFTWARE}"
        )
        raise Conflict(
            f"{folder} is not what {prepared.plan.name} {prepared.plan.version} would be by now: {reason}. Remove the "
            "folder, and run the command without --register."
        )


def make_registrar(prepared: PreparedRelease, platform: Platform | None, now: datetime) -> Callable[[str], None]:
    """Return a function that records a manifest as the content of the version, and raises if there is another one."""
    plan = prepared.plan

    def register(manifest: str) -> None:
        use, added = KeyUse(name=plan.name, version=plan.version, manifest=manifest), False
        try:
            with _log_use(prepared, use, platform, now):
                added = record_key_use(prepared.key_file, use)
        except BaseException:
            if added:
                with suppress(DissensusError):  # the first error is raised
                    remove_key_use(prepared.key_file, use)
            raise

    return register


def _log_use(
    prepared: PreparedRelease, use: KeyUse, platform: Platform | None, now: datetime
) -> AbstractContextManager[None]:
    """Return a context that logs the release of a campaign, unless its body raises; files have no log."""
    if platform is None or prepared.plan.campaign is None:
        return nullcontext()
    fingerprint = prepared.pseudonyms.fingerprint
    return log_release(platform, prepared.plan, prepared.source, fingerprint, use, now)
