"""Ratings without raters: statistics of counts are computed, others are refused."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.pipeline.tables import find, simulate_frame

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import plurality, soft_labels
from dissensus.pipeline.analyse import analyse, group_divergence
from dissensus.schema.ratings.table import Ratings

FRAME = simulate_frame(share_rated=0.7)
KNOWN = Ratings.from_frame(FRAME)
COUNTS = Ratings.from_frame(FRAME.drop("rater_id"), rater=None)


def test_agreement_of_the_pool_is_the_same() -> None:
    with_raters, counts = analyse(KNOWN), analyse(COUNTS)
    for metric in ("irr", "negentropy", "plurality_size"):
        assert find(counts, None, metric).estimate == find(with_raters, None, metric).estimate


def test_the_number_of_raters_is_null_not_zero() -> None:
    report = json.loads(analyse(COUNTS).to_json())
    assert report["n_raters"] is None
    assert {row["n_raters"] for row in report["overall"].values()} == {None}
    assert "by unknown raters" in str(analyse(COUNTS))


def test_items_can_be_resampled() -> None:
    with_raters = analyse(KNOWN, bootstrap=50, resample="items")
    counts = analyse(COUNTS, bootstrap=50, resample="items")
    for metric in ("irr", "negentropy", "plurality_size"):
        of_known, of_counts = find(with_raters, None, metric), find(counts, None, metric)
        assert (of_counts.ci_low, of_counts.ci_high) == pytest.approx((of_known.ci_low, of_known.ci_high))


def test_labels_of_items_are_the_same() -> None:
    assert soft_labels(COUNTS, "Q_overall").equals(soft_labels(KNOWN, "Q_overall"))
    assert plurality(COUNTS, "Q_overall").equals(plurality(KNOWN, "Q_overall"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: analyse(COUNTS, by=["race"]),
        lambda: analyse(COUNTS, cross=["race*gender"]),
        lambda: analyse(COUNTS, permutations=9),
        lambda: analyse(COUNTS, bootstrap=9),
        lambda: analyse(COUNTS, bootstrap=9, resample="raters"),
        lambda: group_divergence(COUNTS, "race"),
        lambda: soft_labels(COUNTS, "Q_overall", by="race"),
    ],
)
def test_analyses_that_need_raters_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="needs to know who gave which answer"):
        call()


def test_dices_990_in_the_published_form(real_data: Callable[[str], Path]) -> None:
    """The alpha of 72,103 answers without rater ids, from the counts of each item."""
    analysis = analyse(read_ratings(real_data("dices-990/ratings.csv"), rater=None))
    items = pl.read_csv(real_data("dices-990/items.csv"))
    assert (analysis.n_ratings, analysis.n_items) == (items["n_ratings"].sum(), items.height)
    counts = items.select("n_No", "n_Unsure", "n_Yes").to_numpy()
    n, m = counts.sum(), counts.sum(axis=1)
    observed = ((m**2 - (counts**2).sum(axis=1)) / (m - 1)).sum() / n
    expected = (n**2 - (counts.sum(axis=0) ** 2).sum()) / (n * (n - 1))
    assert find(analysis, None, "irr").estimate == pytest.approx(1 - observed / expected)
