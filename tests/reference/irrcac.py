# /// script
# requires-python = ">=3.9,<3.12"
# dependencies = ["irrCAC==0.4.4"]
# ///
"""Write irrcac.csv: the results of irrCAC for a few small tables of ratings.

irrCAC (Gwet's own definitions, in Python) needs an older NumPy than Dissensus, so it runs apart:

    uv run --python 3.11 tests/reference/irrcac.py

`alpha` is nominal and `alpha_interval` uses quadratic weights. `observed` and `expected` are agreements.
"""

import csv
from pathlib import Path

Matrix = list[list[int]]

#: raters × items; -1 is a missing answer
MATRICES: dict[str, Matrix] = {
    # Krippendorff's four observers; one item has a single rating
    "four_observers": [
        [0, 1, 2, 2, 1, 0, 3, 0, 1, -1, -1, -1],
        [0, 1, 2, 2, 1, 1, 3, 0, 1, 4, -1, 2],
        [-1, 2, 2, 2, 1, 2, 3, 1, 1, 4, 0, -1],
        [0, 1, 2, 2, 1, 3, 3, 0, 1, 4, 0, -1],
    ],
    # three raters, three categories, complete
    "complete": [
        [0, 1, 2, 2, 0, 1, 0, 2],
        [0, 1, 1, 2, 0, 2, 0, 2],
        [0, 2, 2, 2, 1, 1, 0, 1],
    ],
    # two raters who agree less often than chance
    "below_chance": [
        [0, 1, 0, 1, 0, 0],
        [1, 0, 1, 1, 1, 0],
    ],
    # nearly all ratings are 0: the case for AC1
    "skewed": [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    # the third of three categories is never used, some answers are missing
    "unused_category": [
        [0, 1, -1, 1, 0, 1],
        [0, 1, 1, -1, 1, 0],
        [0, -1, 1, 0, 0, -1],
    ],
}
#: how many categories the raters could choose from
CATEGORIES = {"four_observers": 5, "complete": 3, "below_chance": 2, "skewed": 2, "unused_category": 3}


def main() -> None:
    """Run irrCAC and write its results beside this script."""
    import pandas as pd
    from irrCAC.raw import CAC  # type: ignore[import-not-found, unused-ignore]

    rows = []
    for name, matrix in MATRICES.items():
        frame = pd.DataFrame(matrix).T.replace(-1, None).astype(float)
        categories = [float(k) for k in range(CATEGORIES[name])]
        plain = CAC(frame, categories=categories, digits=15)
        quadratic = CAC(frame, weights="quadratic", categories=categories, digits=15)
        answers = {
            "ac1": plain.gwet(),
            "fleiss": plain.fleiss(),
            "alpha": plain.krippendorff(),
            "alpha_interval": quadratic.krippendorff(),
        }
        for statistic, answer in answers.items():
            estimates = answer["est"]
            rows.append([name, statistic, estimates["coefficient_value"], estimates["pa"], estimates["pe"]])
    with Path(__file__).with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["matrix", "statistic", "estimate", "observed", "expected"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
