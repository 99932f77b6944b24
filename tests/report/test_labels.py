"""Figures of soft labels and their entropy."""

import json
from math import log

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.svg import fits

from dissensus.pipeline.aggregate import soft_labels as labels_of
from dissensus.report.figures.labels import MOST_COLUMNS, entropy, soft_labels
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.cohesion import compute_entropies


def test_deciles_are_those_of_the_soft_labels() -> None:
    ratings = Ratings.from_frame(simulate_frame(3, n_items=41, share_rated=0.8))
    figure = soft_labels(ratings)
    shares = labels_of(ratings)["Yes"]
    assert figure.table["share of Yes"].to_list() == pytest.approx(
        [shares.quantile(q / 10, interpolation="linear") for q in range(11)]
    )
    split = shares.is_between(0.1, 0.9, closed="none").sum()
    assert figure.reading.startswith(f"On {split} of 41 items between 10 % and 90 % of the raters answer Yes;")
    assert fits(figure)


def test_columns_are_the_items_in_order() -> None:
    ratings = Ratings.from_frame(simulate_frame(3))
    spec = json.loads(soft_labels(ratings).render("json"))
    marks = [mark for mark in spec["layer"][0]["data"]["values"] if mark["item"] < 30]
    yes_shares = [mark["to"] - mark["from"] for mark in marks if mark["answer"] == "Yes"]
    assert yes_shares == pytest.approx(sorted(labels_of(ratings)["Yes"]))


def test_neighbours_are_means_where_items_are_many() -> None:
    frame = pl.DataFrame({"item_id": [f"{i}" for i in range(1000)], "rater_id": "a", "Q_overall": ["No", "Yes"] * 500})
    figure = soft_labels(Ratings.from_frame(frame))
    marks = json.loads(figure.render("json"))["layer"][0]["data"]["values"]
    assert len({mark["item"] for mark in marks}) <= MOST_COLUMNS + 1
    assert max(mark["item"] for mark in marks) == 1000
    assert figure.notes == ("Each item is a column; columns that would be too thin are means of neighbours.",)
    few = soft_labels(Ratings.from_frame(frame.head(MOST_COLUMNS)))
    assert few.notes == ()


def test_entropy_is_that_of_shannon() -> None:
    shares = np.array([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3] * 3, [0.7, 0.2, 0.1]])
    slow = [-sum(p * log(p) for p in row if p) for row in shares.tolist()]
    assert compute_entropies(shares) == pytest.approx(slow)


def test_every_item_is_in_one_bin() -> None:
    ratings = Ratings.from_frame(simulate_frame(3))
    figure = entropy(ratings)
    assert figure.table["n_items"].sum() == 30
    assert figure.table["entropy_to"][-1] == pytest.approx(log(3))
    values = compute_entropies(labels_of(ratings).select("No", "Unsure", "Yes").to_numpy())
    first = figure.table.row(0, named=True)
    assert first["n_items"] == (values < first["entropy_to"]).sum()
    assert f"of one mind on {(values == 0).sum()} of 30 items" in figure.reading
    assert fits(figure)


def test_one_category_has_no_entropy() -> None:
    ratings = Ratings.from_frame(simulate_frame(3).with_columns(Q_overall=pl.lit("No")), categories=["No"])
    assert entropy(ratings).reading.endswith("the median entropy is .00 nats, 0 % of the largest possible.")
    assert fits(soft_labels(ratings))


def test_one_item_is_singular() -> None:
    ratings = ratings_of({"a": "N", "b": "Y"}, {})
    assert "of 1 item " in soft_labels(ratings).reading
    assert fits(soft_labels(ratings))
