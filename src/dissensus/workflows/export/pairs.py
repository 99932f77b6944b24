"""Export the ratings and preferences of a campaign that compares two responses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from dissensus.campaign.export_table import TIMESTAMP, ExportedRating
from dissensus.campaign.preferences import build_preferences, pairs_by_rater
from dissensus.errors import InvalidInput
from dissensus.files.raw import table_stream
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.pipeline.release import PairPolicy
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.pair import PairSettings
from dissensus.schema.records.preference import Preference
from dissensus.workflows.campaign import overview
from dissensus.workflows.export.folder import (
    PAIRS,
    PREFERENCES,
    README,
    FolderExport,
    create_empty_folder,
    write_jsonl,
    write_preferences,
)
from dissensus.workflows.export.ratings import ExportOptions, RatingsExportSource, log_export, open_export
from dissensus.workflows.platform.platform import Platform

RATINGS: Final = "ratings.parquet"
RATERS: Final = "raters.jsonl"
BY_RATER: Final = "{}-by-rater.jsonl"
"""Named after the purpose, helpful or harmless, which training needs to know."""


def export_pairs(
    platform: Platform,
    name: str,
    folder: Path,
    *,
    options: ExportOptions | None = None,
    policy: PairPolicy | None = None,
    staff_id: str | None = None,
    now: datetime,
) -> FolderExport:
    """Write the finished ratings of a pair campaign and its preferences to a new or empty folder.

    The export is logged as that of a member of staff, by default an owner.
    """
    staff_id, options = staff_id or overview.find_owner_id(platform, name), options or ExportOptions()
    with open_export(platform, name, staff_id, options) as source:
        if source.campaign.pair is None:
            raise InvalidInput(f"In {name} raters rate single responses. Name a file for them: -o {name}.csv")
        create_empty_folder(folder)
        collector = _PairCollector(pair=source.campaign.pair)
        table_stream.write_parts(collector.frames(source), source.form.schema, folder / RATINGS)
        exported = collector.write(folder, policy or PairPolicy())
        readme = source.readme(RATINGS, guards=False, now=now) + "\n".join(
            ["", *_readme_lines(folder, exported, collector), ""]
        )
        write_atomically(readme.encode(), folder / README)
    log_export(platform, name, staff_id, options, now)
    return exported


@dataclass(slots=True, kw_only=True)
class _PairCollector:
    """Preferences collected while the ratings are written."""

    pair: PairSettings
    ratings: list[ExportedRating] = field(default_factory=list)
    rater_rows: list[Mapping[str, Any]] = field(default_factory=list)

    def frames(self, source: RatingsExportSource) -> Iterator[pl.DataFrame]:
        """Yield the ratings and collect their preferences."""
        columns = (names.RATER_ID, *source.form.about_raters, names.FLAG, names.ANSWER_TIME, TIMESTAMP)
        for ratings, frame in source.batches():
            self.ratings += ratings
            self.rater_rows += frame.select(name for name in columns if name in frame.columns).to_dicts()
            yield frame

    @property
    def purpose(self) -> str:
        """Aspect by which raters chose."""
        return "helpful" if self.pair.criterion == "more helpful" else "harmless"

    @property
    def by_rater(self) -> str:
        """File name of the pairs of each rater."""
        return BY_RATER.format(self.purpose)

    def write(self, folder: Path, policy: PairPolicy) -> FolderExport:
        """Write all files except the ratings."""
        preferences = build_preferences((rating for rating in self.ratings if not rating.flagged), self.pair.criterion)
        n_pairs, notes = write_preferences(preferences, policy, folder, subject="pairs ")
        n_flagged = sum(rating.flagged for rating in self.ratings)
        if n_flagged:
            notes.append(f"{n_flagged:,} preferences are of excluded raters, and yield no pair.")
        write_jsonl(self._raters(), folder / RATERS)
        write_jsonl(self._pairs(preferences), folder / self.by_rater)
        return FolderExport(
            n_preferences=len(self.ratings),
            n_raters=len({rating.rater_id for rating in self.ratings}),
            n_pairs=n_pairs,
            notes=tuple(notes),
        )

    def _raters(self) -> Iterator[Mapping[str, Any]]:
        """Yield each rater's attributes once."""
        for rater_id, row in {row[names.RATER_ID]: row for row in self.rater_rows}.items():
            yield {names.RATER_ID: rater_id, **_rater_attributes(row)}

    def _pairs(self, preferences: Iterable[Preference]) -> Iterator[Mapping[str, Any]]:
        """Yield each rater's decisive preferences."""
        row_of = {row[names.RATER_ID]: row for row in self.rater_rows}
        for preference in preferences:
            for rater_id, pair in pairs_by_rater(preference):
                tranche = f"{self.purpose}-{preference.phase or 'base'}"
                yield {
                    **pair,
                    names.RATER_ID: rater_id,
                    **_rater_attributes(row_of[rater_id]),
                    "tranche": tranche,
                    "pair_id": preference.preference_id,
                }


def _rater_attributes(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in row.items() if names.is_rater_attribute(name)}


def _readme_lines(folder: Path, exported: FolderExport, collector: _PairCollector) -> Iterator[str]:
    files = (
        (PREFERENCES, "the question about each pair, and the pick of each rater"),
        (f"{PAIRS}/", "chosen and rejected responses of all raters together, as hh-rlhf has them"),
        (collector.by_rater, "the same for each rater, with their self-descriptions"),
        (RATERS, "self-descriptions of raters, by their ids in this export"),
    )
    # Files without a row are not written.
    yield from (f"{name:<24} {description}" for name, description in files if (folder / name).exists())
    yield ""
    yield from exported.notes
    yield "Of each pair chosen is the better response: the more helpful, or the less harmful one, whatever was asked."
