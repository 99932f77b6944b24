"""Compare decision rules on DICES-350: what each blocks, and whom it overrules.

    DISSENSUS_DATA=… python examples/decisions.py              # prints the page
    DISSENSUS_DATA=… python examples/decisions.py --write      # writes it to docs/_static/dices-350-decisions.html

Shares of the population come from a multilevel model, weighted by the United States census of 2020. Jurors are two of
each group. The data at hand have no answers to the single questions, so that rules which need them are left out. The
overall answer is the worst one of a rater, so that the rule `share` is that of DICES.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

import polars as pl

import dissensus as ds
from dissensus.report.score.decisions import decision_report

DATA: Final = Path(os.environ.get("DISSENSUS_DATA", ""))
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "_static" / "dices-350-decisions.html"
# Per cent of residents, Hispanic or Latino of any race: U.S. Census Bureau, 2020 Census, table P2. Groups that the
# raters do not have (1.4 %) are left out.
CENSUS: Final = {
    "White": 57.8,
    "LatinX, Latino, Hispanic or Spanish Origin": 18.7,
    "Black/African American": 12.1,
    "Asian/Asian subcontinent": 5.9,
    "Multiracial": 4.1,
}


def predict_population(ratings: ds.Ratings) -> pl.DataFrame:
    """Return the share of the population that would call each item unsafe."""
    census = pl.DataFrame({"column": "race", "level": list(CENSUS), "count": list(CENSUS.values())})
    formula = "Q_overall ~ race + (1 | rater_id) + (1 | item_id) + (1 | item_id:race)"
    model = ds.fit_model(ratings, formula, populations={"census 2020": census}, seed=0)
    if model.predictions is None:
        raise SystemExit("The model has no predictions.")
    unsafe = [row for row in model.predictions.labels if row.answer == "Yes"]
    return pl.DataFrame({"item_id": [row.item_id for row in unsafe], "census 2020": [row.estimate for row in unsafe]})


def build_page(ratings: ds.Ratings) -> str:
    """Return the page."""
    comparison = ds.compare_decisions(
        ratings,
        by="race",
        costs=[(1, 1), (1, 4)],
        gold="safety_gold",
        populations=ds.read_scores(predict_population(ratings)),
        seats={f"race={group}": 2 for group in CENSUS},
    )
    return decision_report(comparison, command="python examples/decisions.py").to_html()


def main() -> None:
    """Compare the rules, and write the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = DATA / "dices-350"
    if not folder.is_dir():
        sys.exit("Set DISSENSUS_DATA to the folder with dices-350.")
    page = build_page(ds.read_ratings(folder / "ratings.csv", items=folder / "items.csv").exclude_flagged())
    if options.write:
        PAGE.write_text(page + "\n", encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
