"""Verification of a release folder: digests, twins, ids, cells and times."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from dissensus.errors import DissensusError
from dissensus.files.attempts.tables import read_attempts
from dissensus.files.pairs.columns import CHOSEN, REJECTED
from dissensus.files.pairs.release import TWIN
from dissensus.files.raw.content import digest_file
from dissensus.files.raw.table_reader import read_frame
from dissensus.files.raw.table_writer import to_text_table
from dissensus.files.releases.folder import (
    MANIFEST,
    SIGNATURE,
    list_release_files,
    read_columns,
    read_manifest,
    read_plain_table,
    read_record,
)
from dissensus.pipeline.release.cells import N_RATERS, count_cells
from dissensus.pipeline.release.columns import MOMENTS, list_published_answers, list_quasi_identifiers
from dissensus.pipeline.release.documents import ATTEMPTS, ATTEMPTS_TWIN, CSV, IMAGES, PAIRS, PARQUET
from dissensus.pipeline.release.publication import list_images
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.findings import FailedCheck
from dissensus.schema.ratings.validation import Validation, unreadable_validation
from dissensus.schema.records.image import IMAGE_NAME

KIND: Final = "release"
PSEUDONYM: Final = "^r[0-9a-f]{20}$"


def validate_release(folder: Path) -> Validation:
    """List all problems of a release."""
    findings: list[FailedCheck] = []
    try:
        digests, record = read_manifest(folder), read_record(folder)
        table = read_plain_table(folder / PARQUET)
        findings.extend(_find_faults(folder, digests, record, table))
    except DissensusError as error:
        unreadable = unreadable_validation(str(folder), error)
        return replace(unreadable, findings=(*findings, *unreadable.findings))
    return Validation(
        source=str(folder),
        kind=KIND,
        n_rows=table.height,
        n_items=table[names.ITEM_ID].n_unique(),
        n_raters=table[names.RATER_ID].n_unique(),
        questions=list_published_answers(table.columns),
        axes=tuple(filter(names.is_rater_attribute, table.columns)),
        findings=tuple(findings),
        notes=(
            f"The SHA-256 of {MANIFEST} is {digest_file(folder / MANIFEST)}. Compare it with what its owner states.",
            *_note_signature(folder),
        ),
    )


def _note_signature(folder: Path) -> Iterator[str]:
    if (folder / SIGNATURE).is_file():
        yield (
            f"{SIGNATURE} is not verified here. With the public key of its owner: ssh-keygen -Y verify -f SIGNERS "
            f"-I OWNER -n dissensus-release -s {SIGNATURE} < {MANIFEST}"
        )


def _find_faults(
    folder: Path, digests: dict[str, str], record: dict[str, Any], table: pl.DataFrame
) -> Iterator[FailedCheck]:
    again = "Get the release again from its owner."
    files = list_release_files(folder)
    for path in sorted(files | set(digests)):
        if path not in files:
            yield _fault("missing file", f"{path} is in {MANIFEST}, and is not there.", again)
        elif path not in digests:
            yield _fault("unknown file", f"{path} is not in {MANIFEST}.", "Remove it, or get the release again.")
        elif digest_file(folder / path) != digests[path]:
            yield _fault(
                "changed file", f"{path} does not have its digest: it was changed after the release was written.", again
            )
    yield from _find_table_faults(folder, record, table, again)
    yield from _find_derived_faults(folder, table, again)
    for name in list_images(table):
        if not IMAGE_NAME.fullmatch(name) or not (folder / IMAGES / name).is_file():
            yield _fault("missing image", f"An item shows {name!r}, which is not in {IMAGES}/.", again)


def _find_table_faults(folder: Path, record: dict[str, Any], table: pl.DataFrame, again: str) -> Iterator[FailedCheck]:
    twin = to_text_table(table)
    text = read_frame(folder / CSV)
    if text.columns != twin.columns or not text.equals(twin):
        yield _fault("twins differ", f"{CSV} and {PARQUET} do not have the same cells.", again)
    for name, count in (("ratings", table.height), ("raters", table[names.RATER_ID].n_unique())):
        if record.get(name) != count:
            yield _fault(
                "wrong count", f"release.json states {record.get(name)} {name}, and there are {count:,}.", again
            )
    if not table[names.RATER_ID].str.contains(PSEUDONYM).all():
        yield _fault("not pseudonyms", "Ids of raters are not those that the program writes.", again)
    axes = list_quasi_identifiers(table.columns)
    raters = table.select(names.RATER_ID, *axes).unique()
    small = count_cells(raters, axes).filter(pl.col(N_RATERS) < record["k"])
    if axes and small.height:
        noun, verb = ("cell", "holds") if small.height == 1 else ("cells", "hold")
        fault = f"{small.height:,} {noun} of {', '.join(axes)} {verb} fewer than {record['k']}."
        yield _fault("small cells", fault, again)
    elif raters.height < record["k"]:
        yield _fault("small cells", f"The release has {raters.height:,} raters, fewer than {record['k']}.", again)
    for name in MOMENTS:
        if name in table.columns and record.get("timestamps") == "none" and table[name].null_count() < table.height:
            yield _fault("moments", f"{name} has moments of answers, which the release states to leave out.", again)


def _find_derived_faults(folder: Path, table: pl.DataFrame, again: str) -> Iterator[FailedCheck]:
    """Yield faults of pairs and attempts: other records in a twin, or raters who are not in the table."""
    raters = set(table[names.RATER_ID])
    for path in sorted((folder / PAIRS).rglob("*.parquet")):
        twin, name = read_frame(path), path.relative_to(folder).as_posix()
        if dict(twin.schema) != TWIN:
            yield _fault("other columns", f"{name} has other columns or types than pairs of a release.", again)
            continue
        published = read_columns(path.with_suffix(".jsonl.gz"), CHOSEN, REJECTED)
        if not twin.select(CHOSEN, REJECTED).equals(published):
            yield _fault("twins differ", f"{name} does not have the pairs of its .jsonl.gz.", again)
        named = {*twin["edited_by"].drop_nulls(), *twin["strengths"].explode().struct.field("rater_id").drop_nulls()}
        if not named <= raters:
            yield _fault("unknown raters", f"{name} names {len(named - raters):,} raters who are not in {CSV}.", again)
    if (folder / ATTEMPTS).is_file():
        attempts, twins = (read_attempts(folder / name).attempts for name in (ATTEMPTS, ATTEMPTS_TWIN))
        if attempts != twins:
            yield _fault("twins differ", f"{ATTEMPTS} and {ATTEMPTS_TWIN} do not have the same attempts.", again)
        if len({attempt.red_team_member_id for attempt in attempts}) > len(raters):
            yield _fault("unknown raters", f"{ATTEMPTS} has more red-teamers than {CSV} has raters.", again)


def _fault(check: str, message: str, remedy: str) -> FailedCheck:
    return FailedCheck(
        check=check,
        column=None,
        rows=np.array([], np.int64),
        value=lambda _: None,
        message=lambda _: message,
        allowed="",
        remedy=remedy,
    )
