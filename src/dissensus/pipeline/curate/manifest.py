"""Manifest of a sample: the fate of every item, counts, and the digest of the input."""

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
from dissensus.schema.records.item import Item

# Strata that a message lists.
LISTED = 8

_ITEMS: Mapping[str, Any] = {
    "item_id": pl.String,
    "stratum": pl.String,
    "outcome": OUTCOMES,
    "duplicate_of": pl.String,
    "personal_data": pl.List(pl.String),
}


def tabulate_outcomes(pool: Sequence[SampleCandidate]) -> pl.DataFrame:
    """Return what became of every item."""
    rows = [(one.item.item_id, one.stratum, one.outcome, one.duplicate_of, one.personal_data) for one in pool]
    return pl.DataFrame(rows, schema=_ITEMS, orient="row")


def count_strata(items: pl.DataFrame, wanted: Mapping[str, int]) -> pl.DataFrame:
    """Return how many items of each stratum there were, were left, were wanted and were chosen."""
    others = sorted(set(items["stratum"].drop_nulls()) - set(wanted))
    missing = [None] * bool(items["stratum"].null_count())
    asked = pl.DataFrame(
        {"stratum": [*wanted, *others, *missing], "n_wanted": [*wanted.values(), *[None] * len([*others, *missing])]},
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
    joined = asked.join(counted, on="stratum", how="left", nulls_equal=True, maintain_order="left")
    return joined.select("stratum", "n_items", "n_personal_data", "n_duplicates", "n_left", "n_wanted", "n_chosen")


def digest_items(items: Sequence[Item]) -> str:
    """Return SHA-256 of items in the order of their ids: of their turns and of all that is known of them."""
    found = hashlib.sha256()
    for item in items:
        known = [item.item_id, item.conversation.digest, sorted(item.attributes.items())]
        found.update(json.dumps(known, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return found.hexdigest()


def to_json_lines(sample: Sequence[Item]) -> str:
    """Return a sample as JSON Lines, with all attributes in all lines."""
    names = sorted({name for item in sample for name in item.attributes})
    clash = next((name for name in names if name in ("item_id", "turns")), None)
    if clash is not None:
        raise InvalidInput(
            f"The items have an attribute {clash!r}, which means another thing in the sample. Rename it."
        )
    rows = (
        {"item_id": item.item_id, "turns": item.conversation.to_dicts()}
        | {name: item.attributes.get(name) for name in names}
        for item in sample
    )
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def describe_shortfalls(plan: SamplePlan, strata: pl.DataFrame) -> Iterator[str]:
    """Say where the sample is not what was wanted, and what it leaves out."""
    scarce = strata.filter(pl.col("n_left") < pl.col("n_wanted"))
    if scarce.height:
        few = [f"{format_value(name)} {left:,} of {n:,}" for name, left, n in scarce.select(_SCARCE).iter_rows()]
        rest = f" and {len(few) - LISTED:,} more" * (len(few) > LISTED)
        yield f"Too few items are left of {', '.join(few[:LISTED])}{rest}. {_describe_consequence(plan, strata)}"
    empty = strata.filter(pl.col("n_wanted") == 0).height
    if empty:
        yield f"Strata too small for their share to come to one item, so that none of theirs can be drawn: {empty:,}."
    missing = strata.filter(pl.col("stratum").is_null())["n_items"].sum()
    if missing:
        yield f"Items that lack a value of {' or '.join(plan.by)}, and so belong to no stratum: {missing:,}."
    unasked = strata.filter(pl.col("stratum").is_not_null() & pl.col("n_wanted").is_null())
    if unasked.height:
        yield f"Items of strata that the allocation does not name: {unasked['n_items'].sum():,}."


_SCARCE = ("stratum", "n_left", "n_wanted")


def _describe_consequence(plan: SamplePlan, strata: pl.DataFrame) -> str:
    short = plan.n - strata["n_chosen"].sum()
    if short:
        return f"The sample is {short:,} short of the {plan.n:,} wanted; fill takes them from other strata."
    return "Other strata give what they lack."
