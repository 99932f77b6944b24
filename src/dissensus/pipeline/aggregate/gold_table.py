"""Display of the comparison of gold and crowd labels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dissensus.pipeline.tables import UNKNOWN, Grid, Page, printable

if TYPE_CHECKING:
    from dissensus.pipeline.aggregate.gold import GoldAgainstCrowd

HEADINGS = ("raters", "items", "both safe", "both unsafe", "only gold", "only crowd", "tied", "alpha")


def gold_page(found: "GoldAgainstCrowd") -> Page:
    """Return the comparison as a page."""
    return Page(gold_summary(found), tuple(gold_blocks(found)), tuple(gold_footnotes(found)))


def gold_summary(found: "GoldAgainstCrowd") -> str:
    """Return what was compared, and the rule."""
    return f"{found.question} against {found.gold}. {found.rule}"


def gold_blocks(found: "GoldAgainstCrowd") -> Iterator[Grid]:
    """Yield the whole pool, the groups if there are any, and with platinum all that the three labels do together."""
    rows = found.summary.rows(named=True)
    yield Grid(("whole pool", *HEADINGS), (_line(rows[0]),))
    if found.by is not None:
        yield Grid((found.by, *HEADINGS), tuple(map(_line, rows[1:])))
    if found.platinum is not None:
        yield Grid(("crowd", found.gold, found.platinum, "items"), tuple(_three_way(found)))


def gold_footnotes(found: "GoldAgainstCrowd") -> Iterator[str]:
    """Yield what a reader needs to read the tables."""
    yield "Only gold, only crowd: the items that it alone calls unsafe, with their share (%)."
    yield from (f"{UNKNOWN} {reason}" for reason in found.summary["reason"].drop_nulls().unique(maintain_order=True))
    yield from (f"Note: {note}" for note in found.notes)


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    counts = [_number(row[name]) for name in ("n_raters", "n_items", "both_safe", "both_unsafe")]
    differing = [_share(row[name], row["n_items"]) for name in ("gold_only", "crowd_only")]
    alpha = UNKNOWN if row["alpha"] is None else f"{row['alpha']:.3f}"
    return (printable(row["group"] or "everybody"), *counts, *differing, _number(row["tied"]), alpha)


def _three_way(found: "GoldAgainstCrowd") -> Iterator[tuple[str, ...]]:
    """Yield the combinations of labels that occur in the whole pool."""
    rows = found.confusion.rows(named=True)
    total = sum(row["n_items"] for row in rows if row["group"] is None)
    for row in rows:
        if row["group"] is None and row["n_items"]:
            yield row["crowd"], row["gold"], row["platinum"], _share(row["n_items"], total)


def _number(n: int | None) -> str:
    return UNKNOWN if n is None else f"{n:,}"


def _share(n: int, total: int) -> str:
    return f"{n:,} ({100 * n / total:.1f})" if total else f"{n:,}"
