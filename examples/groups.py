"""Do groups differ in how much they agree? A simulated pool where age groups see something of their own."""

import dissensus as ds

ratings = ds.simulate_ratings(n_items=150, raters_per_cell=12, group_sd=0.6, seed=7)
analysis = ds.analyse(ratings, by=["age", "gender"], permutations=500, bootstrap=300)
print(analysis)

print()
for axis in ("age", "gender"):
    found = ds.group_divergence(ratings, axis, permutations=500)
    print(f"{axis}: soft labels differ by {found.estimate:.3f}, by chance {found.null_mean:.3f} (p = {found.p:.3f})")
