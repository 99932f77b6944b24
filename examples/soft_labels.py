"""Soft labels for training: of all raters and of each group, and the items on which groups differ."""

import polars as pl

import dissensus as ds

ratings = ds.simulate_ratings(n_items=60, raters_per_cell=10, group_sd=0.8, seed=3)
pool = ds.soft_labels(ratings, "Q_overall")
groups = ds.soft_labels(ratings, "Q_overall", by="age")
print(pool.head(3))

shares = list(ratings.scale("Q_overall"))
joined = groups.join(pool, on="item_id", suffix="_pool")
distance = ds.total_variation(joined.select(shares).to_numpy(), joined.select(f"{s}_pool" for s in shares).to_numpy())
distances = joined.select("item_id", "group", "Yes", "Yes_pool", distance=pl.Series(distance))
print(distances.sort("distance", descending=True).head(5))

tied = ds.plurality(ratings, "Q_overall").filter("tied")
print(f"{len(tied)} of {ratings.n_items} items have no single most frequent answer")
