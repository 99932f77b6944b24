"""Changes between two releases."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from dissensus.errors import DissensusError
from dissensus.pipeline.release.columns import fold_answers, list_published_answers
from dissensus.pipeline.release.statistics import estimate_alpha, read_published
from dissensus.schema.hints import format_list
from dissensus.schema.ratings import columns as names

_CHANGED: Final = {"pairs": "chosen answer", "attempts": "rating"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChanges:
    """Changes of pairs or attempts."""

    kind: str
    before: int
    now: int
    new: int
    gone: int
    changed: int  # pairs with another chosen answer, attempts with another rating

    def __str__(self) -> str:
        return (
            f"{self.kind.capitalize()}: {self.before:,} before, {self.now:,} now; new {self.new:,}, "
            f"gone {self.gone:,}, with another {_CHANGED[self.kind]} {self.changed:,}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChanges:
    """Changes from one table to another; tuples of two have the value before and now."""

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
    records: tuple[RecordChanges, ...] = ()

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
        yield from map(str, self.records)


def compare_records(old: Mapping[str, pl.DataFrame], new: Mapping[str, pl.DataFrame]) -> tuple[RecordChanges, ...]:
    """Return the changes of pairs and attempts; each table has a key and what may change of it.

    Examples
    --------
    >>> old, new = (pl.DataFrame({"pair_id": ["1", "2"], "chosen_answer": list(chosen)}) for chosen in ("ab", "bb"))
    >>> print(*compare_records({"pairs": old}, {"pairs": new}))
    Pairs: 2 before, 2 now; new 0, gone 0, with another chosen answer 1.
    """
    known = {**old, **new}
    return tuple(
        _compare_kind(kind, old.get(kind, table.clear()), new.get(kind, table.clear())) for kind, table in known.items()
    )


def _compare_kind(kind: str, before: pl.DataFrame, now: pl.DataFrame) -> RecordChanges:
    key, value = before.columns
    before, now = (table.select(pl.all().cast(pl.String)) for table in (before, now))
    n_before, n_now = (table.group_by(key).agg(pl.len().cast(pl.Int64)) for table in (before, now))
    counts = n_before.join(n_now, on=key, how="full", coalesce=True, suffix="_now").fill_null(0)
    more = int((counts["len_now"] - counts["len"]).clip(lower_bound=0).sum())
    both = before.unique(key, keep="none").join(now.unique(key, keep="none"), on=key, suffix="_now")
    return RecordChanges(
        kind=kind,
        before=before.height,
        now=now.height,
        new=more,
        gone=more + before.height - now.height,
        changed=both.filter(pl.col(value).ne_missing(pl.col(f"{value}_now"))).height,
    )


def compare_releases(
    old: pl.DataFrame, new: pl.DataFrame, question: str | None = None, records: tuple[RecordChanges, ...] = ()
) -> ReleaseChanges:
    """Return what changed from an old table to a new one, with the changes of records that are derived from them."""
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
        records=records,
    )


def _count_changes(old: pl.DataFrame, new: pl.DataFrame) -> int:
    """Count the ratings of both tables whose answers differ."""
    keys = [
        names.ITEM_ID,
        names.RATER_ID,
        *([names.REPEAT] if names.REPEAT in old.columns and names.REPEAT in new.columns else []),
    ]
    questions = [name for name in list_published_answers(new.columns) if name in old.columns]
    texts = [
        table.select(pl.col(keys).cast(pl.String), *(fold_answers(table[name]) for name in questions))
        for table in (old, new)
    ]
    both = texts[0].join(texts[1], on=keys, suffix="_new")
    differs = pl.any_horizontal(
        pl.lit(value=False), *(pl.col(name).ne_missing(pl.col(f"{name}_new")) for name in questions)
    )
    return int(both.select(differs.sum()).item())


def _alpha(table: pl.DataFrame, question: str | None) -> float | None:
    try:
        return estimate_alpha(*read_published(table, list_published_answers(table.columns), question))
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
