"""Export of the ratings of a campaign: files, a stream, and pages of the API."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.audit_log import AuditEvent
from dissensus.campaign.consent_scope import required_purposes
from dissensus.campaign.export_table import ExportedRating, ExportForm, export_form, to_frame
from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw import table_stream, table_writer
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.item import Item
from dissensus.store import audit_log, flags
from dissensus.store import export as export_store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.export import RatingExportCounts
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.export.folder import describe_omissions, provenance_lines
from dissensus.workflows.export.source_notices import list_warnings
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform

README: Final = ".README.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Options of an export."""

    purposes: tuple[str, ...] = ()  # consent purposes required besides those of the campaign
    with_text: bool = False  # include free texts, which may identify raters
    raw: bool = False  # do not guard texts in CSV against interpretation as formulas


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsExport:
    """Result of a ratings export."""

    counts: RatingExportCounts
    official: str | None  # name of the published dataset whose columns it has, None for the long table
    left_out: tuple[str, ...]  # questions and attributes without a column
    n_guarded: int  # texts prefixed with an apostrophe against formulas
    readme: Path


def export_ratings(
    platform: Platform,
    name: str,
    path: Path,
    *,
    options: ExportOptions = ExportOptions(),
    overwrite: bool = False,
    staff_id: str | None = None,
    now: datetime,
) -> RatingsExport:
    """Write the finished ratings of a campaign to a file, and a README beside it.

    The export is logged as that of a member of staff, by default an owner.
    """
    extension = table_writer.extension_of(path, table_stream.EXTENSIONS)
    readme = path.with_name(path.name + README)
    for file in (path, readme):
        table_writer.check_overwrite(file, overwrite=overwrite)
    earlier = readme.read_bytes() if readme.exists() else None
    guards = extension.startswith(".csv") and not options.raw
    staff_id = staff_id or overview.find_owner_id(platform, name)
    with open_export(platform, name, staff_id, options) as source:
        # The README is written first, so that the file never exists without it.
        write_atomically(source.readme(path.name, guards=guards, now=now).encode(), readme)
        try:
            parts = source.guarded_frames() if guards else source.frames()
            table_stream.write_parts(parts, source.form.schema, path, overwrite=overwrite)
        except BaseException:
            with suppress(OSError):
                if earlier is None:
                    readme.unlink()
                else:
                    write_atomically(earlier, readme)
            raise
    log_export(platform, name, staff_id, options, now)
    return RatingsExport(
        counts=source.counts,
        official=source.form.official,
        left_out=source.form.left_out,
        n_guarded=source.n_guarded,
        readme=readme,
    )


def stream_ratings_csv(
    platform: Platform, name: str, *, staff_id: str, options: ExportOptions = ExportOptions(), now: datetime
) -> Iterator[bytes]:
    """Return the finished ratings of a campaign as chunks of CSV.

    Raises all errors before the first chunk. A connection is held until the iterator is exhausted or discarded.
    """
    # Logged first, since reading the first part holds a connection until the end.
    log_export(platform, name, staff_id, options, now)
    parts = _csv_parts(platform, name, staff_id, options)
    return chain([next(parts)], parts)


def log_export(platform: Platform, name: str, staff_id: str, options: ExportOptions, now: datetime) -> None:
    """Log that a member of staff exported ratings."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        log_staff_event(
            tx, campaign_row.id, "exported", staff_id, now, purposes=list(options.purposes), with_text=options.with_text
        )


def _csv_parts(platform: Platform, name: str, staff_id: str, options: ExportOptions) -> Iterator[bytes]:
    with open_export(platform, name, staff_id, options) as source:
        frames = source.frames() if options.raw else source.guarded_frames()
        yield from table_stream.csv_parts(frames, source.form.schema)


@dataclass(slots=True, kw_only=True)
class RatingsExportSource:
    """An export in progress, within one transaction."""

    campaign_row: CampaignRow
    campaign: Campaign
    purposes: tuple[str, ...]
    form: ExportForm
    counts: RatingExportCounts
    gold: Mapping[str, Mapping[str, str]]
    warnings: tuple[str, ...]  # content warning and notices of sources, line by line
    windows: Iterator[tuple[ExportedRating, ...]]
    pseudonyms: Pseudonyms = field(default_factory=Pseudonyms)
    n_guarded: int = 0

    def batches(self) -> Iterator[tuple[list[ExportedRating], pl.DataFrame]]:
        """Yield batches of ratings under export ids, each with its table."""
        start = 0
        for window in self.windows:
            ratings = [self._to_export(rating) for rating in window]
            yield ratings, to_frame(ratings, self.form, start=start)
            start += len(ratings)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the ratings as tables."""
        return (frame for _, frame in self.batches())

    def _to_export(self, rating: ExportedRating) -> ExportedRating:
        return replace(
            rating,
            rater_id=f"r{self.pseudonyms.pseudonym_of(rating.rater_id)}",
            item=add_gold_attributes(rating.item, self.gold),
        )

    def guarded_frames(self) -> Iterator[pl.DataFrame]:
        """Yield tables whose texts are guarded against interpretation as formulas."""
        for frame in self.frames():
            guarded, n = table_stream.escape_formulas(frame)
            self.n_guarded += n
            yield guarded

    def readme(self, file: str, *, guards: bool, now: datetime) -> str:
        """Return the text of the README."""
        return "\n".join(_readme_lines(self, file, guards=guards, now=now)) + "\n"


@contextmanager
def open_export(platform: Platform, name: str, staff_id: str, options: ExportOptions) -> Iterator[RatingsExportSource]:
    """Open an export within a transaction that sees one state of the database."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        if campaign.chat is not None:
            raise InvalidInput(f"In {name} raters talk with chatbots. Name a folder for the conversations: -o {name}")
        purposes = required_purposes(campaign, options.purposes)
        counts = export_store.count_rating_export(tx, campaign_row.id, purposes)
        if not counts.exported.ratings:
            raise NotFound(
                f"{name} has no rating to export yet. {' '.join(describe_omissions(counts, purposes))}".rstrip()
            )
        columns, gold = load_export_columns(tx, campaign_row, campaign)
        yield RatingsExportSource(
            campaign_row=campaign_row,
            campaign=campaign,
            purposes=purposes,
            form=export_form(campaign, **columns, with_text=options.with_text),
            counts=counts,
            gold=gold,
            warnings=list_warnings(tx, campaign_row, campaign),
            windows=export_store.iterate_ratings(tx, campaign_row.id, purposes),
        )


def load_export_columns(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign
) -> tuple[dict[str, Any], Mapping[str, Mapping[str, str]]]:
    """Return what determines the columns of an export, and the settled gold labels by item."""
    gold = gold_columns_by_item(tx, campaign, campaign_row)
    attributes = export_store.list_item_attributes(tx, campaign_row.id).union(*gold.values())
    return {
        "attributes": sorted(attributes),
        "with_flag": flags.has_flag_decisions(tx, campaign_row.id),
        "with_corrections": export_store.has_corrections(tx, campaign_row.id),
        "with_repeats": export_store.has_repeats(tx, campaign_row.id),
    }, gold


def add_gold_attributes(item: Item, gold: Mapping[str, Mapping[str, str]]) -> Item:
    """Return an item with its settled gold labels as attributes; those from its file take precedence."""
    settled = gold.get(item.item_id)
    return replace(item, attributes={**settled, **item.attributes}) if settled else item


def _readme_lines(source: RatingsExportSource, file: str, *, guards: bool, now: datetime) -> Iterator[str]:
    """Yield the lines of the README beside a ratings file."""
    form, counts = source.form, source.counts
    yield f"{file} is internal: it is not for publication."
    yield ""
    yield "It has one row per item and rater. Answers, times and self-descriptions of raters may identify them in"
    yield "combination. Publish a release that was made for that purpose, never this file."
    yield ""
    yield from source.warnings
    yield from provenance_lines(source.campaign_row, source.purposes, now)
    yield f"Columns:    {f'as {form.official} was released' if form.official else 'the long table'}"
    yield f"Rows:       {counts.exported.ratings:,} ratings by {counts.exported.raters:,} raters"
    if source.campaign.gold is not None:
        yield f"Gold:       items with labels that experts settled: {sum(map(bool, source.gold.values())):,}"
    yield ""
    yield from describe_omissions(counts, source.purposes) or ["No rating was left out."]
    if form.left_out:
        yield f"Without a column: {format_list(form.left_out, 50)}."
    yield ""
    yield "Ids of raters were drawn for this file alone: they differ between exports."
    if names.REPEAT in form.columns:
        yield "Raters saw some items twice: rows with 2 in the column repeat are second answers to the same item."
    yield "Declined questions have no answer. Several answers are a JSON list."
    if guards:
        yield "A text that begins with = + - @ (full-width too), a tab or a line break has an apostrophe before it,"
        yield "conversations too, since spreadsheets read it as a formula. Parquet, JSON Lines and --raw have unchanged"
        yield "texts."
    else:
        yield "Texts are unchanged: do not open it in a spreadsheet, which reads those with = + - @ first as formulas."


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCursor:
    """Position in a paginated export."""

    start_event: int  # number of the log event that records its start and columns
    last: str = ""  # id of the last assignment read; empty at the start
    n: int = 0  # rows read so far


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsPage:
    """One page of an export."""

    form: ExportForm  # columns, the same for all pages
    rows: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]  # content warning and notices of sources, line by line
    next: PageCursor | None  # None on the last page


def begin_export(platform: Platform, name: str, *, options: ExportOptions, staff_id: str, now: datetime) -> PageCursor:
    """Log the start of an export with its columns and return the first cursor."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        required_purposes(campaign, options.purposes)
        columns, _ = load_export_columns(tx, campaign_row, campaign)
    content = {"purposes": list(options.purposes), "with_text": options.with_text, **columns}
    with platform.database.writing() as tx:
        return PageCursor(start_event=log_staff_event(tx, campaign_row.id, "exported", staff_id, now, **content))


def read_ratings_page(
    platform: Platform,
    name: str,
    *,
    options: ExportOptions,
    cursor: PageCursor,
    most: int,
    to_public_id: Callable[[str], str],
    staff_id: str,
) -> RatingsPage:
    """Return ratings finished before the export began, after a cursor; `to_public_id` maps rater ids to export ids."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        event = _load_begin_event(tx, campaign_row, cursor)
        form = _export_form(campaign, options, event)
        purposes = required_purposes(campaign, options.purposes)
        # Without later ratings: else an old cursor would give access to all future ones.
        ratings_after = export_store.list_ratings_after(
            tx, campaign_row.id, purposes, last=cursor.last, until=event.at, most=most + 1
        )
        gold = gold_columns_by_item(tx, campaign, campaign_row, {rating.item.item_id for _, rating in ratings_after})
        warnings = list_warnings(tx, campaign_row, campaign)
    page = ratings_after[:most]
    ratings = [
        replace(rating, rater_id=to_public_id(rating.rater_id), item=add_gold_attributes(rating.item, gold))
        for _, rating in page
    ]
    rows = tuple(to_frame(ratings, form, start=cursor.n).to_dicts())
    following = replace(cursor, last=page[-1][0], n=cursor.n + len(rows)) if len(ratings_after) > most else None
    return RatingsPage(form=form, rows=rows, warnings=warnings, next=following)


def _load_begin_event(tx: Connection, campaign_row: CampaignRow, cursor: PageCursor) -> AuditEvent:
    event = audit_log.find_event(tx, campaign_row.id, cursor.start_event)
    if event is None:
        raise NotFound("This listing is not in the log. Leave `after` out to begin another one.")
    return event


def _export_form(campaign: Campaign, options: ExportOptions, event: AuditEvent) -> ExportForm:
    """Return the columns that the export began with, so that a page reads only its own rows."""
    columns = {name: event.content[name] for name in ("attributes", "with_flag", "with_corrections", "with_repeats")}
    return export_form(campaign, **columns, with_text=options.with_text)
