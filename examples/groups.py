"""Test whether groups differ in agreement, on simulated ratings with an effect of age groups."""

import dissensus as ds

ratings = ds.simulate_ratings(n_items=150, raters_per_cell=12, group_sd=0.6, seed=7)
analysis = ds.analyse(ratings, by=["age", "gender"], permutations=500, bootstrap=300)
print(analysis)

print()
for axis in ("age", "gender"):
    result = ds.group_divergence(ratings, axis, permutations=500)
    print(f"{axis}: soft labels differ by {result.estimate:.3f}, by chance {result.null_mean:.3f} (p = {result.p:.3f})")
