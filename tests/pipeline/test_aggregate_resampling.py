"""Labels of fewer raters, by item and as a curve."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import plurality, resampled_labels, soft_labels
from dissensus.schema.ratings.table import Ratings

KEYS = ["item_id", "n_ratings", "No", "Unsure", "Yes"]


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(8, share_rated=0.5))


@pytest.mark.slow
def test_draws_of_the_rows_of_the_table_give_the_same_in_the_long_run() -> None:
    """Labels of random subsets of the table have the resampled distribution."""
    frame = simulate_frame(5, n_items=12)
    result = resampled_labels(Ratings.from_frame(frame), "Q_overall", 5).labels
    everybody = plurality(Ratings.from_frame(frame), "Q_overall")["answers"]
    replicates, unique, equal, shares = 300, [], [], []
    for seed in range(replicates):
        sample = pl.concat(part.sample(5, seed=seed + 1000 * i) for i, part in enumerate(frame.partition_by("item_id")))
        ratings = Ratings.from_frame(sample)
        winners = plurality(ratings, "Q_overall")["answers"]
        unique.append([answer.to_list() == ["Yes"] for answer in winners])
        equal.append((winners == everybody).to_list())
        shares.append(soft_labels(ratings, "Q_overall")["Yes"].to_list())
    five_errors = 5 * 0.5 / replicates**0.5
    assert np.abs(np.mean(unique, axis=0) - result["Yes_plurality"].to_numpy()).max() < five_errors
    assert np.abs(np.mean(equal, axis=0) - result["same_plurality"].to_numpy()).max() < five_errors
    assert np.std(shares, axis=0) == pytest.approx(result["Yes_sd"].to_numpy(), rel=0.25, abs=1e-12)


def test_rows_are_those_of_the_soft_labels(ratings: Ratings) -> None:
    result = resampled_labels(ratings, "Q_overall", 3).labels
    assert result.columns[:6] == ["raters_per_item", *KEYS]
    assert result.columns[6:10] == ["No_sd", "No_low", "No_high", "No_plurality"]
    assert result.columns[-3:] == ["tied", "same_plurality", "distance"]
    assert result.select(KEYS).equals(soft_labels(ratings, "Q_overall"))
    chances = result.select(pl.sum_horizontal("^.*_plurality$", "tied") - pl.col("same_plurality")).to_series()
    assert chances.to_list() == pytest.approx([1] * result.height)


def test_items_with_fewer_ratings_are_left_out_and_counted() -> None:
    ratings = ratings_of({"a": "NYU", "b": "NN.", "c": "UY.", "d": "Y.."}, {})
    result = resampled_labels(ratings, "Q_overall", [1, 3, 4])
    assert result.curve.select("raters_per_item", "n_items", "n_left_out").rows() == [(1, 3, 0), (3, 2, 1), (4, 1, 2)]
    assert result.labels["item_id"].to_list() == ["item-0", "item-1", "item-2", "item-0", "item-1", "item-0"]


def test_the_curve_is_the_mean_of_the_items(ratings: Ratings) -> None:
    result = resampled_labels(ratings, "Q_overall", [5, 1, 5])
    assert result.curve["raters_per_item"].to_list() == [1, 5]
    for row in result.curve.iter_rows(named=True):
        items = result.labels.filter(raters_per_item=row["raters_per_item"])
        assert row["n_items"] == items.height
        assert row["distance"] == pytest.approx(items["distance"].to_numpy().mean())
        assert row["changed"] == pytest.approx(1 - items["same_plurality"].to_numpy().mean())
        assert row["tied"] == pytest.approx(items["tied"].to_numpy().mean())


def test_a_group_is_its_raters_alone(ratings: Ratings) -> None:
    result = resampled_labels(ratings, "Q_overall", 2, by="race")
    for group in ("Asian", "Black", "White"):
        group_labels = resampled_labels(ratings.where("race", group), "Q_overall", 2)
        assert result.labels.filter(group=group).drop("group").equals(group_labels.labels)
        assert result.curve.filter(group=group).drop("group").equals(group_labels.curve)


def test_a_group_with_too_few_raters_has_no_mean() -> None:
    ratings = ratings_of({"a": "NY", "b": "NN", "c": "YY"}, {"rater_race": ["x", "x", "y"]})
    result = resampled_labels(ratings, "Q_overall", 2, by="race").curve
    assert result.drop("distance", "changed", "tied").rows() == [(2, "x", 2, 0), (2, "y", 0, 2)]
    assert result.row(1)[-3:] == (None, None, None)


def test_counts_are_enough() -> None:
    frame = simulate_frame(3)
    with_raters, without_raters = Ratings.from_frame(frame), read_ratings(frame.drop("rater_id"), rater=None)
    assert resampled_labels(without_raters, "Q_overall", 4).labels.equals(
        resampled_labels(with_raters, "Q_overall", 4).labels
    )


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (0, "raters_per_item is 0"),
        ([], r"raters_per_item is \[\]"),
        ([3, -1], "1 or more each"),
        (2.5, "raters_per_item is '2.5'; give whole numbers"),
        ("3", "give whole numbers"),
        (1000, "1,000 raters per item cannot be drawn: no item has more than"),
    ],
)
def test_numbers_that_cannot_be_drawn(ratings: Ratings, size: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        resampled_labels(ratings, "Q_overall", size)


def test_an_invalid_level_is_refused(ratings: Ratings) -> None:
    with pytest.raises(InvalidInput, match="confidence is 95"):
        resampled_labels(ratings, "Q_overall", 3, confidence=95)


@pytest.mark.parametrize("answer", ["tied", "distance", "other_sd", "raters_per_item"])
def test_answers_that_would_collide_with_columns_are_refused(answer: str) -> None:
    frame = pl.DataFrame({"item_id": ["1", "1"], "rater_id": ["a", "b"], "label": [answer, "other"]})
    with pytest.raises(InvalidInput, match=f"'{answer}' is also the name of a column"):
        resampled_labels(Ratings.from_frame(frame, answer="label", categories=[answer, "other"]), "label", 1)


def test_dices_350_with_fewer_raters(dices_104: Ratings) -> None:
    """Figures of docs/methods/aggregation.md."""
    curve = resampled_labels(dices_104, "Q_overall", [1, 3, 5, 10, 20, 50, 104]).curve
    assert curve.select(pl.col("distance", "changed", "tied").round(3)).rows() == [
        (0.425, 0.312, 0.0),
        (0.249, 0.248, 0.063),
        (0.191, 0.212, 0.078),
        (0.131, 0.151, 0.058),
        (0.087, 0.095, 0.026),
        (0.044, 0.051, 0.010),
        (0.0, 0.0, 0.011),
    ]
