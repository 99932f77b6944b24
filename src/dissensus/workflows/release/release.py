"""Write a release: plan, source, gate, folder, log."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import dissensus
from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.files.raw.content import decode_utf8
from dissensus.files.releases.folder import (
    MANIFEST,
    check_new_folder,
    digest_file,
    read_derived_tables,
    read_record,
    read_release_table,
    write_release,
)
from dissensus.files.releases.key_file import KeyFile, open_key_file, record_key_use, remove_key_use
from dissensus.pipeline.release.assessment import AssessedRelease, assess_release
from dissensus.pipeline.release.changes import compare_records, compare_releases
from dissensus.pipeline.release.description import DataFile, describe_release
from dissensus.pipeline.release.documents import ChangesBefore, write_documents
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.pipeline.release.source import KeyUse, ReleaseSource, list_earlier_uses
from dissensus.schema.hints import format_list
from dissensus.schema.release.parser import parse_plan
from dissensus.schema.release.plan import ReleasePlan
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.release.campaign_source import load_source, log_release
from dissensus.workflows.release.file_source import read_source


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRelease:
    """A release with its verdict, before anything is written."""

    plan: ReleasePlan
    folder: Path  # of the plan
    key_file: Path
    pseudonyms: Pseudonyms
    source: ReleaseSource
    assessed: AssessedRelease


def read_plan(path: Path) -> ReleasePlan:
    """Read a plan from a TOML file."""
    try:
        return parse_plan(decode_utf8(path.read_bytes(), path))
    except OSError as error:
        raise InvalidInput(f"The plan {path} cannot be read: {error.strerror}.") from None


def prepare_release(plan: ReleasePlan, folder: Path, platform: Platform | None = None) -> PreparedRelease:
    """Load the source of a plan, whose paths are relative to a folder, and judge the release."""
    key_file = folder / plan.key_file
    key = open_key_file(key_file)
    pseudonyms = Pseudonyms(key.key)
    if plan.campaign is None:
        source = read_source(plan, folder)
    elif platform is None:
        raise InvalidInput(f"The campaign {plan.campaign} is on a site, and no site is given.")
    else:
        source = load_source(platform, plan, pseudonyms.fingerprint)
    source = _add_history(source, plan, key, folder)
    return PreparedRelease(
        plan=plan,
        folder=folder,
        key_file=key_file,
        pseudonyms=pseudonyms,
        source=source,
        assessed=assess_release(source, plan, pseudonyms),
    )


def _add_history(source: ReleaseSource, plan: ReleasePlan, key: KeyFile, folder: Path) -> ReleaseSource:
    """Return the source with what was released before, and the tables of the releases that the plan names."""
    uses = tuple(dict.fromkeys((*key.uses, *source.key_uses)))
    earlier = list_earlier_uses(dict.fromkeys((*uses, *source.earlier)), plan)
    folders = [folder / name for name in (plan.previous, *plan.older) if name is not None]
    tables = [read_release_table(path) for path in folders]
    digests = [digest_file(path / MANIFEST) for path in folders]
    known = {use.manifest for use in earlier}
    for path, digest in zip(folders, digests, strict=True):
        if earlier and digest not in known:
            raise InvalidInput(
                f"previous: {os.path.relpath(path, folder)} is not one of the releases of this data: the SHA-256 of "
                f"its {MANIFEST} is {digest}. Name the folders of {format_list([str(use) for use in earlier])}."
            )
    return replace(
        source,
        key_uses=uses,
        earlier=earlier,
        previous=tables[0] if tables else None,
        older=tuple(tables[1:]),
        unnamed=tuple(use for use in earlier if use.manifest not in digests),
    )


def write_prepared(prepared: PreparedRelease, folder: Path, *, platform: Platform | None = None, now: datetime) -> str:
    """Write a release that passed into a new folder, and return the SHA-256 of its manifest."""
    assessed, plan = prepared.assessed, prepared.plan
    if not assessed.verdict.passed:
        open_checks = [each.check.name for each in assessed.verdict.checks if each.outcome != "passed"]
        raise InvalidInput(f"The release did not pass: {', '.join(open_checks)}. Nothing was written.")
    check_new_folder(folder)
    release = describe_release(
        prepared.source,
        plan,
        assessed.publication,
        assessed.ratings,
        assessed.question,
        fingerprint=prepared.pseudonyms.fingerprint,
        software=f"Dissensus {dissensus.__version__}",
    )
    before = _compare_before(prepared)

    def documents(data: Mapping[str, DataFile]) -> dict[str, str]:
        return write_documents(release, assessed.verdict, before, data)

    return write_release(
        assessed.publication.table,
        assessed.derived,
        documents,
        folder,
        register=_make_register(prepared, platform, now),
    )


def _compare_before(prepared: PreparedRelease) -> ChangesBefore | None:
    plan, source = prepared.plan, prepared.source
    if plan.previous is None or source.previous is None:
        return None
    record = read_record(prepared.folder / plan.previous)
    if record["name"] != plan.name:  # another dataset of the same data, which is joined and not replaced
        return None
    assessed = prepared.assessed
    records = compare_records(read_derived_tables(prepared.folder / plan.previous), assessed.derived.tables())
    changes = compare_releases(source.previous, assessed.publication.table, assessed.question, records)
    return ChangesBefore(version=record["version"], changes=changes)


def _make_register(prepared: PreparedRelease, platform: Platform | None, now: datetime) -> Callable[[str], None]:
    """Return what records the manifest of a folder, which is removed if that fails: a version has one content."""
    plan = prepared.plan

    def register(manifest: str) -> None:
        same = [use for use in prepared.source.key_uses if (use.name, use.version) == (plan.name, plan.version)]
        if any(use.manifest != manifest for use in same):
            raise Conflict(
                f"{plan.name} {plan.version} was written before with another content. Raise the version, since users "
                "may have it. Nothing was written."
            )
        use = KeyUse(name=plan.name, version=plan.version, manifest=manifest)
        try:
            with _logging(prepared, use, platform, now, again=bool(same)):
                record_key_use(prepared.key_file, use)
        except BaseException:
            if not same:
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
