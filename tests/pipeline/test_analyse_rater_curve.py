"""Agreement and differences of groups with fewer raters."""

import json
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import find, ratings_of, simulate_frame

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.analyse import analyse, rater_curve
from dissensus.schema.ratings.table import Ratings

ANSWERS = {"a1": "NYNY", "a2": "NYYY", "a3": "YYNN", "b1": "NNNY", "b2": "YYNY", "b3": "NYNN"}
GROUPS = {"rater_side": ["a", "a", "a", "b", "b", "b"]}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(2, share_rated=0.7))


def value(curve: pl.DataFrame, metric: str, group: str | None = None) -> dict[str, Any]:
    named = pl.col("group").is_null() if group is None else pl.col("group") == group
    return curve.filter(pl.col("metric") == metric, named).row(0, named=True)


def test_draws_of_two_of_three_are_those_of_all_subsets() -> None:
    """Means and ends over many draws, against the nine sets of two of three raters of each group."""
    everybody = ratings_of(ANSWERS, GROUPS)
    curve = rater_curve(everybody, 2, by="side", draws=3000, confidence=0.999).curve
    pairs = [list(combinations((f"{side}1", f"{side}2", f"{side}3"), 2)) for side in "ab"]
    sets = [(*first, *second) for first, second in product(*pairs)]
    analyses = [
        analyse(ratings_of({r: ANSWERS[r] for r in own}, {"rater_side": list("aabb")}), by="side") for own in sets
    ]
    for metric, group in (("irr", None), ("mean_difference", "a"), ("group_distance", "a")):
        expected = np.array([find(analysis, group, metric).estimate for analysis in analyses], dtype=np.float64)
        row = value(curve, metric, group)
        assert row["estimate"] == pytest.approx(expected.mean(), abs=0.02)
        assert (row["low"], row["high"]) == (pytest.approx(expected.min()), pytest.approx(expected.max()))
    assert value(curve, "mean_difference", "a")["against"] == "b"


def test_with_all_raters_there_is_one_value_the_one_of_analyse() -> None:
    everybody = ratings_of(ANSWERS, GROUPS)
    curve = rater_curve(everybody, 3, by="side", draws=20).curve
    analysis = analyse(everybody, by="side")
    for metric, group in (("irr", None), ("between_share", None), ("mean_difference", "a"), ("group_distance", "a")):
        row = value(curve, metric, group)
        expected = find(analysis, group, metric, None if metric == "irr" else "rater_side").estimate
        assert [row[name] for name in ("estimate", "low", "high", "all_raters")] == pytest.approx([expected] * 4)


def test_raters_of_unknown_group_are_left_out() -> None:
    known = rater_curve(ratings_of(ANSWERS, GROUPS), [2, 1, 2], by="side", draws=20)
    answers = ANSWERS | {"c": "YYYY"}
    mixed = rater_curve(ratings_of(answers, {"rater_side": [*GROUPS["rater_side"], None]}), [1, 2], by="side", draws=20)
    assert mixed.curve.equals(known.curve)
    assert mixed.n_raters == {"a": 3, "b": 3}


def test_the_range_shrinks_with_the_number_of_raters(ratings: Ratings) -> None:
    curve = rater_curve(ratings, [2, 5], by="race", draws=100).curve
    widths = curve.with_columns(width=pl.col("high") - pl.col("low"))
    few, many = (widths.filter(raters_per_group=n)["width"].to_numpy() for n in (2, 5))
    assert len(few) == 2 + 2 * 3
    assert (many < few).all()
    assert curve.filter(metric="mean_difference")["against"].unique().to_list() == ["rest"]


def test_the_seed_decides_and_the_result_is_json(ratings: Ratings) -> None:
    first, same, other = (rater_curve(ratings, [3], by="race", draws=20, seed=seed) for seed in (1, 1, 2))
    assert first.curve.equals(same.curve)
    assert not first.curve.equals(other.curve)
    plain = json.loads(first.to_json())
    assert list(plain)[1:] == ["question", "axis", "share_of", "draws", "confidence", "seed", "n_raters"]
    assert (plain["axis"], plain["share_of"], plain["n_raters"]) == (
        "rater_race",
        "Yes",
        {"Asian": 10, "Black": 8, "White": 6},
    )
    assert plain["curve"][0]["metric"] == "irr"


def test_statistics_of_pairs_are_undefined_with_one_rater() -> None:
    row = value(rater_curve(ratings_of(ANSWERS, GROUPS), 1, by="side", draws=10).curve, "group_distance", "a")
    assert [row[name] for name in ("estimate", "low", "high", "n_draws")] == [None, None, None, 0]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (7, "7 raters per group cannot be drawn: White has 6"),
        (0, "raters_per_group is 0; give one or more whole numbers, 1 or more each"),
        ([], r"raters_per_group is \[\]"),
        ([2.5], r"raters_per_group is '2\.5'; give whole numbers"),
    ],
)
def test_impossible_numbers_are_refused(ratings: Ratings, numbers: list[int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        rater_curve(ratings, numbers, by="race")


def test_other_refusals(ratings: Ratings) -> None:
    with pytest.raises(NotFound, match="There is no axis 'height'"):
        rater_curve(ratings, 2, by="height")
    with pytest.raises(InvalidInput, match="rater_side has fewer than two groups"):
        rater_curve(ratings_of(ANSWERS, {"rater_side": ["a"] * 6}), 2, by="side")
    with pytest.raises(InvalidInput, match="'Maybe' is not an answer"):
        rater_curve(ratings, 2, by="race", share_of="Maybe")
    with pytest.raises(InvalidInput, match="draws is 0"):
        rater_curve(ratings, 2, by="race", draws=0)


@pytest.mark.slow
def test_dices_350_by_race(dices_104: Ratings) -> None:
    """Figures of docs/methods/aggregation.md."""
    curve = rater_curve(dices_104, [3, 5, 10, 13], by="race").curve
    rows = {
        n: [
            [round(row[name], 3) for name in ("estimate", "low", "high", "all_raters")]
            for row in (
                value(curve.filter(raters_per_group=n), metric, group)
                for metric, group in (
                    ("irr", None),
                    ("between_share", None),
                    ("mean_difference", "White"),
                    ("group_distance", "White"),
                )
            )
        ]
        for n in (3, 10)
    }
    assert rows[3] == [
        [0.165, 0.111, 0.214, 0.173],
        [0.015, -0.072, 0.133, 0.013],
        [-0.099, -0.299, 0.110, -0.092],
        [0.017, -0.036, 0.121, 0.013],
    ]
    assert rows[10] == [
        [0.170, 0.149, 0.189, 0.173],
        [0.012, -0.008, 0.047, 0.013],
        [-0.093, -0.167, 0.000, -0.092],
        [0.014, -0.007, 0.044, 0.013],
    ]
