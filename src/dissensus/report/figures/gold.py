"""Figure of the labels of experts against those of the crowd."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate.gold import GoldAgainstCrowd, describe_intervals
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.graphics.bars import BarPart, draw_whole_bars
from dissensus.report.graphics.layout import RowLabels
from dissensus.report.graphics.theme import BLUE, INK, LINE, MUTED, ON_MIDDLE, ORANGE, PAPER, RAMP
from dissensus.report.groups import EVERYBODY, MOST_GROUPS, DisplayedGroups, format_percent, make_slug
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.columns import RATER_PREFIX

# Agreement comes first, at the left; neighbours differ in grey too.
PARTS = {
    "both_safe": BarPart("both safe", LINE, INK),
    "both_unsafe": BarPart("both unsafe", MUTED, PAPER),
    "tied": BarPart("crowd tied", RAMP[1], INK),
    "gold_only": BarPart("only experts unsafe", ORANGE, ON_MIDDLE),
    "crowd_only": BarPart("only crowd unsafe", BLUE, PAPER),
}


def gold(comparison: GoldAgainstCrowd, groups: DisplayedGroups | None = None) -> Figure:
    """Draw on how many items experts and crowd agree and differ, for all raters and each group.

    Parameters
    ----------
    comparison
        The comparison.
    groups
        The displayed groups of raters; None for all that were compared.

    Raises
    ------
    InvalidInput
        The groups are of another axis than the comparison.
    """
    if groups is not None and groups.axis != comparison.by:
        raise InvalidInput(
            f"The groups are of {groups.axis}, the comparison is by {comparison.by}. Give both one axis."
        )
    parts = {name: part for name, part in PARTS.items() if name != "tied" or comparison.ties == "apart"}
    everybody, *group_rows = comparison.summary.rows(named=True)
    listed = [row for row in group_rows if groups is None or row["group"] in groups.listed]
    drawn = [everybody, *_select_drawn(listed, groups)]
    names, shares, texts = zip(*(_bar(row, tuple(parts), groups) for row in drawn), strict=True)
    return Figure(
        name="gold" if comparison.by is None else f"gold-{make_slug(comparison.by)}",
        axis=comparison.by,
        title="Experts against the crowd" + ("" if comparison.by is None else f" by {format_axis(comparison.by)}"),
        reading=_reading(everybody, listed, comparison),
        table=_table([everybody, *listed]),
        draw=lambda width: draw_whole_bars(RowLabels(names, width), shares, list(parts.values()), labels=texts),
        notes=tuple(_notes(comparison, groups, len(listed), len(drawn) - 1)),
    )


def _select_drawn(rows: Sequence[dict[str, Any]], groups: DisplayedGroups | None) -> list[dict[str, Any]]:
    if groups is not None:
        return [row for row in rows if row["group"] in groups.drawn]
    largest = sorted(range(len(rows)), key=lambda r: -rows[r]["n_items"])[:MOST_GROUPS]
    return [rows[r] for r in sorted(largest)]


def _bar(
    row: dict[str, Any], parts: Sequence[str], groups: DisplayedGroups | None
) -> tuple[str, tuple[float, ...], tuple[str, ...]]:
    """Return the name of a bar, its parts as shares, and their items as text."""
    n, name = row["n_items"], row["group"]
    if name is None:
        label = f"{EVERYBODY}\n{count_noun(n, 'item')}"
    else:
        label = f"{escape_unprintable(name)}\n{count_noun(n, 'item')}" if groups is None else groups.label(name)
    return label, tuple(row[part] / max(1, n) for part in parts), tuple(f"{row[part]:,}" for part in parts)


def _reading(row: dict[str, Any], groups: Sequence[dict[str, Any]], comparison: GoldAgainstCrowd) -> str:
    text = (
        f"Of {count_noun(row['n_items'], 'item')}, experts and crowd call {row['both_safe']:,} safe and "
        f"{row['both_unsafe']:,} unsafe; experts alone call {row['gold_only']:,} unsafe, the crowd alone "
        f"{row['crowd_only']:,}"
    )
    if comparison.ties == "apart" and row["tied"]:
        text += f"; on {row['tied']:,} the crowd is tied"
    if row["disagreement_low"] is not None:
        interval = " to ".join(format_percent(row[f"disagreement_{end}"], 1) for end in ("low", "high"))
        text += f". They differ on {format_percent(row['disagreement'], 1)} (interval {interval})"
    if len(groups) < 2 or comparison.by is None:
        return text + "."
    low, high = (pick(groups, key=_share_of_gold_only) for pick in (min, max))
    ends = [
        f"{format_percent(_share_of_gold_only(group), 1)} ({escape_unprintable(group['group'])})"
        for group in (low, high)
    ]
    by_raters = comparison.by.startswith(RATER_PREFIX)
    where = "Against one group" if by_raters else f"On items by {format_axis(comparison.by)}"
    return f"{text}. {where}, experts alone call from {ends[0]} to {ends[1]} unsafe."


def _share_of_gold_only(row: dict[str, Any]) -> float:
    """Return the share of items that experts alone call unsafe."""
    return float(row["gold_only"] / max(1, row["n_items"]))


def _table(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col("group").fill_null(EVERYBODY))


def _notes(comparison: GoldAgainstCrowd, groups: DisplayedGroups | None, n_listed: int, n_drawn: int) -> Iterator[str]:
    yield "Numbers are items."
    if comparison.bootstrap:
        yield describe_intervals(comparison)
    yield comparison.rule
    yield from comparison.notes
    if groups is not None:
        yield from groups.notes
    elif n_drawn < n_listed:
        yield f"The figure shows the {n_drawn} largest of {n_listed:,} groups; the table has all."
