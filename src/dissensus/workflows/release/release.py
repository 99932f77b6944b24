"""Write a release: plan, source, gate, folder, log; or register a folder that was not logged."""

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from dissensus.errors import InvalidInput
from dissensus.files.raw.content import digest_file, read_text
from dissensus.files.releases.folder import (
    MANIFEST,
    read_derived_tables,
    read_record,
    read_release_table,
    write_release,
)
from dissensus.files.releases.key_file import KeyFile, open_key_file
from dissensus.pipeline.release.assessment import assess_release
from dissensus.pipeline.release.changes import compare_records, compare_releases
from dissensus.pipeline.release.description import DataFile, describe_release
from dissensus.pipeline.release.documents import ChangesBefore, write_documents
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.pipeline.release.publication import list_images
from dissensus.pipeline.release.source import ReleaseSource, list_earlier_uses
from dissensus.schema.hints import format_list
from dissensus.schema.release.parser import parse_plan
from dissensus.schema.release.plan import ReleasePlan
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.release.campaign_source import iterate_released_images, load_source
from dissensus.workflows.release.effects import estimate_effects
from dissensus.workflows.release.file_source import read_source
from dissensus.workflows.release.registration import (
    SOFTWARE,
    PreparedRelease,
    check_folder,
    check_passed,
    check_same,
    make_registrar,
    restate_head,
)


def read_plan(path: Path) -> ReleasePlan:
    """Read a plan from a TOML file."""
    return parse_plan(read_text(path))


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
    check_passed(prepared)
    check_folder(prepared, folder)
    return write_files(prepared, folder, platform, register=make_registrar(prepared, platform, now))


def register_folder(prepared: PreparedRelease, folder: Path, *, platform: Platform | None = None, now: datetime) -> str:
    """Register a complete folder that was not logged because the program was interrupted, and return its digest.

    The release is made again in a temporary folder, with the head of the log that it states: only the same bytes are
    registered.
    """
    check_passed(prepared)
    prepared = restate_head(prepared, folder, platform)
    with tempfile.TemporaryDirectory() as temporary:
        manifest = write_files(prepared, Path(temporary) / "again", platform, register=lambda _: None)
    check_same(prepared, folder, manifest)
    make_registrar(prepared, platform, now)(manifest)
    return manifest


def write_files(
    prepared: PreparedRelease, folder: Path, platform: Platform | None = None, *, register: Callable[[str], None]
) -> str:
    """Write the files of a release into a new folder, and return the SHA-256 of their manifest."""
    assessed, plan = prepared.assessed, prepared.plan
    release = describe_release(
        prepared.source,
        plan,
        assessed.publication,
        assessed.ratings,
        assessed.question,
        fingerprint=prepared.pseudonyms.fingerprint,
        software=SOFTWARE,
        effects=estimate_effects(prepared.source, assessed),
    )
    before = _compare_before(prepared)

    def documents(data: Mapping[str, DataFile]) -> dict[str, str]:
        return write_documents(release, assessed.verdict, before, data)

    table = assessed.publication.table
    images = () if platform is None else iterate_released_images(platform, plan, list_images(table))
    return write_release(table, assessed.derived, documents, folder, images=images, register=register)


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
