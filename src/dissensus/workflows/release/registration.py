"""Registration of a release: its entry in the log of the campaign and in the file of its key."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.files.releases.folder import (
    MANIFEST,
    check_new_folder,
    digest_file,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRelease:
    """A release with its verdict, before anything is written."""

    plan: ReleasePlan
    folder: Path  # of the plan
    key_file: Path
    pseudonyms: Pseudonyms
    source: ReleaseSource
    assessed: AssessedRelease

    def list_manifests(self, uses: Iterable[KeyUse]) -> frozenset[str]:
        """Return the manifests of this version among releases."""
        same = (self.plan.name, self.plan.version)
        return frozenset(use.manifest for use in uses if (use.name, use.version) == same)

    @property
    def is_registered(self) -> bool:
        """True if the log knows this version, or for files the key."""
        source = self.source
        return bool(self.list_manifests(source.key_uses if source.logged is None else source.logged))


def check_passed(prepared: PreparedRelease) -> None:
    """Raise unless a release passed."""
    verdict = prepared.assessed.verdict
    if not verdict.passed:
        open_checks = [each.check.name for each in verdict.checks if each.outcome != "passed"]
        raise InvalidInput(f"The release did not pass: {', '.join(open_checks)}. Nothing was written.")


def check_folder(prepared: PreparedRelease, folder: Path) -> None:
    """Raise if a folder exists, with a remedy where it is this release and no log knows it."""
    if is_release(folder) and _is_named_so(prepared, folder) and not prepared.is_registered:
        raise Conflict(
            f"{folder} is {prepared.plan.name} {prepared.plan.version}, and no log knows it: the program stopped "
            "before. Register it with --register, or remove it and run the command again. Do not publish it as it is."
        )
    check_new_folder(folder)


def _is_named_so(prepared: PreparedRelease, folder: Path) -> bool:
    record = read_record(folder)
    return (record["name"], record["version"]) == (prepared.plan.name, prepared.plan.version)


def restate_head(prepared: PreparedRelease, folder: Path, platform: Platform | None) -> PreparedRelease:
    """Return a release with the head of the log that its folder states; raise if the folder is of another one."""
    read_release_table(folder)
    if not _is_named_so(prepared, folder):
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
        raise Conflict(
            f"{folder} is not what {prepared.plan.name} {prepared.plan.version} would be by now: the data or the plan "
            "changed since, such as by a withdrawal. Remove the folder, and run the command without --register."
        )


def make_register(prepared: PreparedRelease, platform: Platform | None, now: datetime) -> Callable[[str], None]:
    """Return what records the manifest of a folder, which is removed if that fails: a version has one content."""
    plan = prepared.plan

    def register(manifest: str) -> None:
        known = prepared.list_manifests(prepared.source.key_uses)
        if known - {manifest}:
            raise Conflict(
                f"{plan.name} {plan.version} was written before with another content. Raise the version, since users "
                "may have it. Nothing was written."
            )
        use = KeyUse(name=plan.name, version=plan.version, manifest=manifest)
        try:
            with _logging(prepared, use, platform, now, again=prepared.is_registered):
                record_key_use(prepared.key_file, use)
        except BaseException:
            if not known:
                with suppress(DissensusError):  # the first error is told
                    remove_key_use(prepared.key_file, use)
            raise

    return register


def _logging(
    prepared: PreparedRelease, use: KeyUse, platform: Platform | None, now: datetime, *, again: bool
) -> AbstractContextManager[None]:
    """Return a context after which the release of a campaign is logged, unless it raises."""
    if platform is None or prepared.plan.campaign is None:
        return nullcontext()
    fingerprint = prepared.pseudonyms.fingerprint
    return log_release(platform, prepared.plan, prepared.source, fingerprint, use.manifest, now, again=again)
