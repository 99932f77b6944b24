"""Changes between two releases."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dissensus.errors import DissensusError
from dissensus.pipeline.release.statistics import estimate_alpha, read_published
from dissensus.schema.hints import format_list
from dissensus.schema.ratings import columns as names


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChanges:
    """Changes from one table to another; pairs have the value before and now."""

    ratings: tuple[int, int]
    raters: tuple[int, int]
    items: tuple[int, int]
    new_columns: tuple[str, ...]
    gone_columns: tuple[str, ...]
    new_items: tuple[str, ...]
    gone_items: tuple[str, ...]
    gone_raters: int | None  # None if the ids of both have nothing in common
    new_raters: int | None
    changed_ratings: int | None
    alpha: tuple[float | None, float | None]

    def sentences(self) -> Iterator[str]:
        """Yield the changes as sentences."""
        for noun, (old, new) in (("ratings", self.ratings), ("raters", self.raters), ("items", self.items)):
            yield f"{noun.capitalize()}: {old:,} before, {new:,} now."
        for text, values in (
            ("New columns", self.new_columns),
            ("Columns that are gone", self.gone_columns),
            ("New items", self.new_items),
            ("Items that are gone", self.gone_items),
        ):
            if values:
                yield f"{text}: {format_list(values)}."
        if self.gone_raters is None:
            yield "Ids of raters are new: the two versions cannot be joined by them."
        else:
            yield f"Raters who are gone: {self.gone_raters:,}; who are new: {self.new_raters:,}."
            yield f"Ratings of the others that differ: {self.changed_ratings:,}."
        before, now = ("undefined" if value is None else f"{value:.3f}" for value in self.alpha)
        yield f"Krippendorff's alpha: {before} before, {now} now."


def compare_releases(old: pl.DataFrame, new: pl.DataFrame, question: str | None = None) -> ReleaseChanges:
    """Return what changed from an old table to a new one."""
    items = [set(table[names.ITEM_ID].cast(pl.String)) for table in (old, new)]
    raters = [set(table[names.RATER_ID].cast(pl.String)) for table in (old, new)]
    linked = bool(raters[0] & raters[1])
    return ReleaseChanges(
        ratings=(old.height, new.height),
        raters=(len(raters[0]), len(raters[1])),
        items=(len(items[0]), len(items[1])),
        new_columns=tuple(name for name in new.columns if name not in old.columns),
        gone_columns=tuple(name for name in old.columns if name not in new.columns),
        new_items=tuple(sorted(items[1] - items[0])),
        gone_items=tuple(sorted(items[0] - items[1])),
        gone_raters=len(raters[0] - raters[1]) if linked else None,
        new_raters=len(raters[1] - raters[0]) if linked else None,
        changed_ratings=_count_changes(old, new) if linked else None,
        alpha=(_alpha(old, question), _alpha(new, question)),
    )


def _count_changes(old: pl.DataFrame, new: pl.DataFrame) -> int:
    """Count the ratings of both tables whose answers differ."""
    keys = [
        names.ITEM_ID,
        names.RATER_ID,
        *([names.REPEAT] if names.REPEAT in old.columns and names.REPEAT in new.columns else []),
    ]
    questions = [name for name in new.columns if names.is_question(name) and name in old.columns]
    texts = [table.select(pl.col(*keys, *questions).cast(pl.String)) for table in (old, new)]
    both = texts[0].join(texts[1], on=keys, suffix="_new")
    differs = pl.any_horizontal(
        pl.lit(value=False), *(pl.col(name).ne_missing(pl.col(f"{name}_new")) for name in questions)
    )
    return int(both.select(differs.sum()).item())


def _alpha(table: pl.DataFrame, question: str | None) -> float | None:
    try:
        return estimate_alpha(*read_published(table, question))
    except DissensusError:
        return None


def write_changes(version: str, before: str | None, changes: ReleaseChanges | None) -> str:
    """Return CHANGES.md."""
    if changes is None or before is None:
        return f"# Changes\n\n{version} is the first version, or names none before.\n"
    lines = "\n".join(f"- {sentence}" for sentence in changes.sentences())
    return (
        f"# Changes\n\nFrom {before} to {version}:\n\n{lines}\n\nWho withdrew since then is not in this version. "
        f"Please delete {before}.\n"
    )
