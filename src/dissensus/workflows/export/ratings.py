"""What a campaign collected, out again: for those who run it, and not for publication."""

import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.export_table import Form, Rated, form_of, frame_of
from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw import table_stream, table_writer
from dissensus.files.raw.atomic_write import write_whole
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import suggest, format_list
from dissensus.schema.records.item import Item
from dissensus.store import export as export_store
from dissensus.store import flags
from dissensus.store.campaigns import Kept
from dissensus.store.export import Counts
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.readme import describe_omissions, readme_lines
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform

README: Final = ".README.txt"
KEY_BYTES: Final = 32
ID_DIGITS: Final = 20
"""Hexadecimal digits of a rater's id in a file: 80 bits, so that no two raters share one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What an export is asked to hold."""

    purposes: tuple[str, ...] = ()  # What raters must have agreed to, besides all that the campaign requires
    with_text: bool = False  # Whether it has what raters wrote in their own words, which may tell who they are
    raw: bool = False  # Whether texts in CSV stay as they are where a spreadsheet would take them for formulas


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsExport:
    """What was exported."""

    counts: Counts  # What the file holds, and what was left out
    official: str | None  # Name of the released dataset whose columns it has, None for the long table
    left_out: tuple[str, ...]  # What was asked or known and has no column
    guarded: int  # Texts that got an apostrophe, so that no spreadsheet takes them for formulas
    readme: Path  # The file beside it that says all this


def export_ratings(
    platform: Platform,
    name: str,
    path: Path,
    *,
    asked: ExportOptions = ExportOptions(),
    overwrite: bool = False,
    now: datetime,
) -> RatingsExport:
    """Write the finished ratings of a campaign to a file, and beside it what that holds."""
    extension = table_writer.extension_of(path, table_stream.ENDS)
    readme = path.with_name(path.name + README)
    for one in (path, readme):
        table_writer.check_free(one, overwrite=overwrite)
    guards = extension.startswith(".csv") and not asked.raw
    staff_id = overview.owner_id_of(platform, name)
    with open_export(platform, name, staff_id, asked) as found:
        # Before the file, which is never there without it.
        write_whole(found.readme(path.name, guards=guards, now=now).encode(), readme)
        try:
            parts = found.guarded_frames() if guards else found.frames()
            table_stream.write_parts(parts, found.form.schema, path, overwrite=overwrite)
        except BaseException:
            with suppress(OSError):
                readme.unlink()
            raise
    log_export(platform, name, staff_id, asked, now)
    return RatingsExport(
        counts=found.counts,
        official=found.form.official,
        left_out=found.form.left_out,
        guarded=found.guarded,
        readme=readme,
    )


def stream_ratings_csv(
    platform: Platform, name: str, *, staff_id: str, asked: ExportOptions = ExportOptions(), now: datetime
) -> Iterator[bytes]:
    """Return the finished ratings of an owner's campaign as CSV, part by part.

    All that is refused is refused here, before the first part. A connection is held until the last one was taken, or
    the iterator is closed.
    """
    # Before, since a connection is held from the first part on.
    log_export(platform, name, staff_id, asked, now)
    parts = _csv_parts(platform, name, staff_id, asked)
    return chain([next(parts)], parts)


def log_export(platform: Platform, name: str, staff_id: str, asked: ExportOptions, now: datetime) -> None:
    """Keep in the log that somebody takes ratings out."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        log_staff_event(tx, kept.id, "export", staff_id, now, purposes=list(asked.purposes), with_text=asked.with_text)


def _csv_parts(platform: Platform, name: str, staff_id: str, asked: ExportOptions) -> Iterator[bytes]:
    with open_export(platform, name, staff_id, asked) as found:
        frames = found.frames() if asked.raw else found.guarded_frames()
        yield from table_stream.csv_parts(frames, found.form.schema)


@dataclass(slots=True, kw_only=True)
class RatingsExportSource:
    """An export that is under way, within one transaction."""

    kept: Kept
    campaign: Campaign
    purposes: tuple[str, ...]
    form: Form
    counts: Counts
    gold: Mapping[str, Mapping[str, str]]
    windows: Iterator[tuple[Rated, ...]]
    # Never kept: the same rater has another id in every export.
    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES))
    guarded: int = 0

    def told(self) -> Iterator[list[Rated]]:
        """Yield the ratings as they are told, under ids of this export, some at a time."""
        return ([self._told(one) for one in window] for window in self.windows)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield them as tables."""
        start = 0
        for window in self.told():
            yield frame_of(window, self.form, start=start)
            start += len(window)

    def _told(self, one: Rated) -> Rated:
        return replace(one, rater_id=self._public(one.rater_id), item=add_gold_attributes(one.item, self.gold))

    def guarded_frames(self) -> Iterator[pl.DataFrame]:
        """Yield tables whose texts no spreadsheet takes for formulas."""
        for frame in self.frames():
            guarded, n = table_stream.guarded(frame)
            self.guarded += n
            yield guarded

    def _public(self, rater_id: str) -> str:
        return f"r{hmac.new(self.key, rater_id.encode(), 'sha256').hexdigest()[:ID_DIGITS]}"

    def readme(self, file: str, *, guards: bool, now: datetime) -> str:
        """Return what is said beside a file."""
        return "\n".join(readme_lines(self, file, guards=guards, now=now)) + "\n"


@contextmanager
def open_export(platform: Platform, name: str, staff_id: str, asked: ExportOptions) -> Iterator[RatingsExportSource]:
    """Open an export, within a transaction of one moment."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        if campaign.chat is not None:
            raise InvalidInput(f"In {name} raters talk with chatbots. Name a folder for what came of it: -o {name}")
        purposes = required_purposes(campaign, asked.purposes)
        counts = export_store.counts_of(tx, kept.id, purposes)
        if not counts.exported.ratings:
            raise NotFound(f"{name} has no rating to export yet. {' '.join(describe_omissions(counts, purposes))}".rstrip())
        form, gold = _export_columns(tx, kept, campaign, asked)
        yield RatingsExportSource(
            kept=kept,
            campaign=campaign,
            purposes=purposes,
            form=form,
            counts=counts,
            gold=gold,
            windows=export_store.rated_of(tx, kept.id, purposes),
        )


def _export_columns(
    tx: Connection, kept: Kept, campaign: Campaign, asked: ExportOptions
) -> tuple[Form, Mapping[str, Mapping[str, str]]]:
    """Return the columns of an export, and what experts settled by item and column."""
    gold = gold_columns_by_item(tx, campaign, kept)
    attributes = export_store.attributes_of(tx, kept.id).union(*gold.values())
    form = form_of(campaign, attributes, with_text=asked.with_text, with_flag=flags.any_decided(tx, kept.id))
    return form, gold


def add_gold_attributes(item: Item, gold: Mapping[str, Mapping[str, str]]) -> Item:
    """Return an item with what experts settled of it, as attributes, beside what its file says, which stays."""
    settled = gold.get(item.item_id)
    return replace(item, attributes={**settled, **item.attributes}) if settled else item


def required_purposes(campaign: Campaign, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return what raters must have agreed to: all that is required, and what is asked for."""
    known = [purpose.name for purpose in campaign.consent.purposes]
    for name in asked:
        if name not in known:
            hint = suggest(name, known)
            raise NotFound(f"{name!r} is no purpose of {campaign.name}.{hint} Its purposes are {format_list(known)}.")
    required = {purpose.name for purpose in campaign.consent.purposes if purpose.required}
    return tuple(name for name in known if name in required or name in asked)
