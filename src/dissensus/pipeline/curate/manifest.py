"""Manifest of a sample: the outcome of every item, counts, and the digest of the input."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.screening import SampleCandidate
from dissensus.pipeline.curate.selection import OUTCOMES
from dissensus.schema.hints import format_value
from dissensus.schema.item_sets import TOPICS
from dissensus.schema.records.item import Item

# Most strata listed in a message.
MAX_LISTED = 8
# Separator of the strata of an item that belongs to several.
STRATUM_SEPARATOR = " | "

_ITEMS: Mapping[str, Any] = {
    "item_id": pl.String,
    "stratum": pl.String,
    "outcome": OUTCOMES,
    "duplicate_of": pl.String,
    "personal_data": pl.List(pl.String),
}


def tabulate_outcomes(pool: Sequence[SampleCandidate]) -> pl.DataFrame:
    """Return the outcome of every item."""
    rows = [
        (
            candidate.item.item_id,
            STRATUM_SEPARATOR.join(candidate.strata) or None,
            candidate.outcome,
            candidate.duplicate_of,
            candidate.personal_data,
        )
        for candidate in pool
    ]
    return pl.DataFrame(rows, schema=_ITEMS, orient="row")


def count_strata(pool: Sequence[SampleCandidate], targets: Mapping[str, int]) -> pl.DataFrame:
    """Count the items of each stratum: all, excluded by reason, left to draw, wanted and chosen."""
    rows = [(stratum, candidate.outcome) for candidate in pool for stratum in candidate.strata or (None,)]
    items = pl.DataFrame(rows, schema={"stratum": pl.String, "outcome": OUTCOMES}, orient="row")
    unnamed = sorted(set(items["stratum"].drop_nulls()) - set(targets))
    missing = [None] * bool(items["stratum"].null_count())
    strata = pl.DataFrame(
        {
            "stratum": [*targets, *unnamed, *missing],
            "n_wanted": [*targets.values(), *[None] * len([*unnamed, *missing])],
        },
        schema={"stratum": pl.String, "n_wanted": pl.Int64},
    )
    is_duplicate, outcome = pl.col("outcome").is_in(["exact duplicate", "near duplicate"]), pl.col("outcome")
    counted = items.group_by("stratum").agg(
        n_items=pl.len().cast(pl.Int64),
        n_personal_data=(outcome == "personal data").sum().cast(pl.Int64),
        n_duplicates=is_duplicate.sum().cast(pl.Int64),
        n_left=outcome.is_in(["chosen", "not drawn"]).sum().cast(pl.Int64),
        n_chosen=(outcome == "chosen").sum().cast(pl.Int64),
    )
    joined = strata.join(counted, on="stratum", how="left", nulls_equal=True, maintain_order="left")
    return joined.select("stratum", "n_items", "n_personal_data", "n_duplicates", "n_left", "n_wanted", "n_chosen")


def digest_items(items: Sequence[Item]) -> str:
    """Return the SHA-256 of items in the order of their ids, with turns and attributes."""
    digest = hashlib.sha256()
    for item in items:
        content = [item.item_id, item.conversation.digest, sorted(item.attributes.items())]
        digest.update(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def to_json_lines(sample: Sequence[Item]) -> str:
    """Return a sample as JSON Lines, with all attributes in all lines."""
    names = sorted({name for item in sample for name in item.attributes})
    clash = next((name for name in names if name in ("item_id", "turns")), None)
    if clash is not None:
        raise InvalidInput(f"The items have an attribute {clash!r}, which is a column of the sample. Rename it.")
    rows = (
        {"item_id": item.item_id, "turns": item.conversation.to_dicts()}
        | {name: item.attributes.get(name) for name in names}
        for item in sample
    )
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def describe_shortfalls(plan: SamplePlan, strata: pl.DataFrame, n_chosen: int) -> Iterator[str]:
    """Yield notes on shortfalls and on items outside the allocation, given the number of chosen items."""
    scarce = strata.filter(pl.col("n_left") < pl.col("n_wanted"))
    if scarce.height:
        counts = scarce.select("stratum", "n_left", "n_wanted").iter_rows()
        parts = [f"{format_value(name)} {left:,} of {n:,}" for name, left, n in counts]
        more = f" and {len(parts) - MAX_LISTED:,} more" * (len(parts) > MAX_LISTED)
        listed_parts = f"{', '.join(parts[:MAX_LISTED])}{more}"
        yield f"Too few items are left of {listed_parts}. {_describe_consequence(plan, n_chosen)}"
    empty = strata.filter(pl.col("n_wanted") == 0).height
    if empty:
        yield f"Strata too small for a share of one item, so that none is drawn from them: {empty:,}."
    missing = strata.filter(pl.col("stratum").is_null())["n_items"].sum()
    if missing:
        yield f"Items without a value of {' or '.join(plan.by)}, which belong to no stratum: {missing:,}."
    unnamed = strata.filter(pl.col("stratum").is_not_null() & pl.col("n_wanted").is_null())
    if unnamed.height:
        yield f"Items of strata that the allocation does not name: {unnamed['n_items'].sum():,}."


def describe_overlaps(plan: SamplePlan, pool: Sequence[SampleCandidate]) -> Iterator[str]:
    """Yield a note on items of several strata."""
    several = [candidate for candidate in pool if len(candidate.strata) > 1]
    if several:
        sets = " and ".join(name for name in plan.by if name in (*TOPICS, *plan.sets))
        n_chosen = sum(candidate.outcome == "chosen" for candidate in several)
        yield (
            f"Items with several values of {sets}, which count in the stratum of each: {len(several):,}; "
            f"{n_chosen:,} of them are chosen."
        )


def _describe_consequence(plan: SamplePlan, n_chosen: int) -> str:
    short = plan.n - n_chosen  # Strata count an item of several more than once
    if short:
        return f"The sample is {short:,} short of the {plan.n:,} wanted; fill takes them from other strata."
    return "They are filled from other strata."
