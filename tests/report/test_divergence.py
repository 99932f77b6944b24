"""Figure of the divergence between groups."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import SCALE, ratings_of, simulate_frame
from tests.report.svg import fits, texts

from dissensus.pipeline.analyse import group_divergence
from dissensus.report.figures.divergence import divergence
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings


def distance(frame: pl.DataFrame, first: str, second: str) -> float:
    """Return the mean total variation of two groups, item by item."""
    distances = []
    for (_,), of_item in frame.group_by("item_id"):
        shares = [
            [(of_item.filter(rater_race=race)["Q_overall"] == answer).mean() for answer in SCALE]
            for race in (first, second)
        ]
        distances.append(sum(abs(a - b) for a, b in zip(*shares, strict=True)) / 2)
    return float(np.mean(distances))


def test_distances_match_an_oracle_in_descending_order() -> None:
    frame = simulate_frame(3)
    figure = divergence(group_divergence(Ratings.from_frame(frame), "race", permutations=19))
    by_hand = {pair: distance(frame, *pair) for pair in combinations(("Asian", "Black", "White"), 2)}
    for row in figure.table.iter_rows(named=True):
        assert row["distance"] == pytest.approx(by_hand[row["group"], row["other"]])
        assert row["chance_2.5_%"] <= row["chance_median"] <= row["chance_97.5_%"]
    furthest = max(by_hand, key=lambda pair: by_hand[pair])
    assert f"{' and '.join(furthest)} are furthest apart ({by_hand[furthest]:.3f}".replace("0.", ".") in figure.reading
    assert fits(figure)


def test_without_permutations_chance_is_not_mentioned() -> None:
    figure = divergence(group_divergence(Ratings.from_frame(simulate_frame(3)), "race"))
    assert "chance" not in figure.reading
    assert figure.table["chance_median"].to_list() == [None] * 3
    assert "not tested" in texts(figure)


def test_hidden_groups_are_in_no_pair() -> None:
    ratings = Ratings.from_frame(simulate_frame(3, sizes=(12, 9, 3)))
    result = group_divergence(ratings, "race*gender")
    groups = list_groups(ratings, "race*gender", suppress_below=3)
    figure = divergence(result, groups)
    assert groups.hidden
    assert not groups.hidden & {*figure.table["group"], *figure.table["other"]}
    assert not any(name in figure.reading for name in groups.hidden)
    assert "The mean" not in figure.reading  # it includes pairs of hidden groups
    assert "are furthest apart" in figure.reading


def test_thirty_pairs_are_drawn_and_the_table_has_all() -> None:
    answers = {f"r{r:02}": "NYNYYN"[r % 3 :] + "NUY"[: r % 3] for r in range(20)}
    ratings = ratings_of(answers, {"rater_x": [f"g{r % 10}" for r in range(20)]})
    figure = divergence(group_divergence(ratings, "x"))
    assert figure.table.height == 45
    assert "The figure shows the 30 pairs furthest apart of 45; the table has all." in figure.notes
    assert len([text for text in texts(figure) if " –\u00a0g" in text or " – g" in text]) == 30
