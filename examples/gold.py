"""Compare a strict expert with each group of raters, and labels with those of fewer raters."""

import polars as pl

import dissensus as ds
from dissensus.pipeline.aggregate import gold_against_crowd, resampled_labels

ratings = ds.simulate_ratings(n_items=120, raters_per_cell=8, group_sd=0.8, seed=5)

# The expert calls an item unsafe if at least three raters in ten do.
gold = ds.soft_labels(ratings, "Q_overall").select(
    "item_id", safety_gold=pl.when(pl.col("Yes") >= 0.3).then(pl.lit("Yes")).otherwise(pl.lit("No"))
)
ratings = ratings.with_items(gold)
print(gold_against_crowd(ratings, "Q_overall", by="age", ties="safe"))

print()
curve = resampled_labels(ratings, "Q_overall", [1, 3, 5, 10, 20]).curve
for row in curve.iter_rows(named=True):
    print(f"with {row['raters_per_item']:2} raters an item, {row['changed']:.0%} of the labels would be others")
