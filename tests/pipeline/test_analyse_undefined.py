"""Undefined estimates are null with a reason, never 0, 1 or NaN."""

import json

import numpy as np
import pytest
from tests.pipeline.tables import find, ratings_of

from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.agreement import ONE_CATEGORY
from dissensus.stats.bootstrap import NO_SPREAD, Resample

# One single rater, three with separate items, three who always answer No, and seven who rate the first six items.
ANSWERS = {
    "solo": "NYNYUN....",
    "far-1": "......NYNY",
    "far-2": "......NYYY",
    "far-3": "......UYNN",
    "no-1": "NNNNNN....",
    "no-2": "NNNNNN....",
    "no-3": "NNNNNN....",
    "a": "NYNYNN....",
    "b": "NYNNUN....",
    "c": "YYNYNY....",
    "d": "NYUYNN....",
    "e": "UYNYNN....",
    "f": "NYNYUN....",
    "g": "NYYYNN....",
}
RACE = ["solo", *["far"] * 3, *["constant"] * 3, *["others"] * 7]


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    ratings = ratings_of(ANSWERS, {"rater_race": RACE})
    return analyse(ratings, by=["race"], permutations=60, bootstrap=60)


UNDEFINED = {
    ("solo", "irr"),
    ("solo", "gai"),
    ("far", "xrr"),
    ("far", "cross_negentropy"),
    ("far", "voting_agreement"),
    ("far", "gai"),
    ("constant", "irr"),
    ("constant", "gai"),
    ("constant", "corrected_gai"),
    ("solo", "negentropy"),
    ("solo", "plurality_size"),
    ("solo", "pairwise_agreement"),
    ("solo", "group_distance"),
    ("solo", "corrected_gai"),
    ("far", "mean_difference"),
    ("far", "group_distance"),
    ("far", "corrected_gai"),
}


def test_undefined_rows_are_null_with_a_reason_and_no_others(analysis: Analysis) -> None:
    assert {(row.group, row.metric) for row in analysis.rows if row.estimate is None} == UNDEFINED
    for row in analysis.rows:
        if row.estimate is None:
            assert row.reason
            nulls = (row.ci_low, row.ci_high, row.p, row.p_adjusted, row.direction, row.ties)
            assert nulls == (None,) * 6, row


@pytest.mark.parametrize(
    ("group", "metric", "says"),
    [
        ("solo", "irr", "Krippendorff's alpha is undefined: no item has two or more ratings."),
        ("far", "xrr", "XRR is undefined: no item was rated by both groups."),
        ("constant", "irr", f"Krippendorff's alpha is undefined: {ONE_CATEGORY}."),
    ],
)
def test_reasons_name_the_cause(analysis: Analysis, group: str, metric: str, says: str) -> None:
    assert find(analysis, group, metric).reason == says


def test_defined_metrics_of_the_same_group_are_reported(analysis: Analysis) -> None:
    ln_3 = 1.0986122886681098
    assert find(analysis, "constant", "negentropy").estimate == pytest.approx(ln_3)
    assert find(analysis, "solo", "xrr").estimate is not None
    assert find(analysis, "constant", "xrr").estimate is not None
    far = find(analysis, "far", "irr")
    assert far.estimate is not None
    assert (far.n_raters, far.n_items) == (3, 4)


def test_dsi_is_the_largest_defined_index(analysis: Analysis) -> None:
    assert find(analysis, None, "dsi", "rater_race").estimate == find(analysis, "others", "gai").estimate


def test_the_json_has_no_nan(analysis: Analysis) -> None:
    text = analysis.to_json()
    assert "NaN" not in text
    assert "Infinity" not in text
    json.loads(text)


def test_undefined_rows_are_not_tests_of_the_family(analysis: Analysis) -> None:
    tested = [row for row in analysis.rows if row.p is not None]
    largest = max(tested, key=lambda row: row.p or 0)
    assert largest.p == largest.p_adjusted
    assert f"({len(tested)} tests in all)" in str(analysis)


def test_the_table_prints_a_dash_and_the_reason_below(analysis: Analysis) -> None:
    text = str(analysis)
    lines = [line for line in text.splitlines() if line.startswith("far ")]
    assert len(lines) == 2
    assert all("–" in line for line in lines)
    for row in analysis.rows:
        if row.estimate is None:
            assert f"– {row.reason}" in text


def test_an_axis_whose_groups_share_no_item_has_no_dsi() -> None:
    ratings = ratings_of(
        {"a": "NYN...", "b": "NYY...", "c": "...NYN", "d": "...YYN"}, {"rater_race": ["x", "x", "y", "y"]}
    )
    row = find(analyse(ratings, by=["race"], permutations=20, bootstrap=10), None, "dsi", "rater_race")
    assert (row.estimate, row.p, row.ci_low) == (None, None, None)
    assert row.reason == "DSI is undefined: no group has a defined GAI."


def test_everybody_saying_the_same_has_no_alpha_and_full_cohesion() -> None:
    ratings = ratings_of({"a": "NNN", "b": "NNN", "c": "NNN", "d": "NNN"}, {"rater_race": ["x", "x", "y", "y"]})
    analysis = analyse(ratings, by=["race"], permutations=20, bootstrap=10)
    for row in (*analysis.overall, *analysis.rows):
        if row.metric in ("irr", "xrr", "voting_agreement", "gai", "dsi"):
            assert row.estimate is None
            assert row.reason
        if row.metric == "plurality_size":
            assert row.estimate == 1


def pair_and_loners() -> Ratings:
    """Only the two raters of x ever rate an item together, so nearly every shuffle leaves alpha undefined."""
    loners = {f"r{i}": "." * (4 + i) + "N" + "." * (11 - i) for i in range(12)}
    return ratings_of(
        {"a": "NYNY" + "." * 12, "b": "NYYY" + "." * 12, **loners}, {"rater_race": ["x"] * 2 + ["y"] * 12}
    )


def test_a_row_with_only_undefined_replicates_has_a_reason() -> None:
    """A replicate of two raters is one of them twice every other time; a single other replicate has no spread."""
    analyses = (analyse(pair_and_loners(), by=["race"], bootstrap=2, seed=seed) for seed in range(20))
    without = [row for analysis in analyses if (row := find(analysis, "x", "irr")).ci_low is None]
    assert {row.reason for row in without} == {"every bootstrap replicate is undefined", NO_SPREAD}
    for row in without:
        assert row.estimate is not None
        assert row.ci_high is None


@pytest.mark.parametrize("resample", ["both", "raters", "items"])
def test_a_statistic_that_is_the_same_in_every_replicate_has_no_interval(resample: Resample) -> None:
    """The raters of x always say No."""
    rng = np.random.default_rng(0)
    others = {f"r{r}": "".join(rng.choice(["N", "U", "Y"], 12)) for r in range(6)}
    ratings = ratings_of({"a": "N" * 12, "b": "N" * 12, **others}, {"rater_race": [*"xx", *"y" * 6]})
    analysis = analyse(ratings, by=["race"], bootstrap=40, permutations=19, resample=resample)
    for metric in ("answer_share", "pairwise_agreement", "negentropy", "plurality_size"):
        row = find(analysis, "x", metric)
        assert (row.ci_low, row.ci_high, row.warning) == (None, None, None)
        assert str(row.reason).endswith(NO_SPREAD)
        assert find(analysis, "y", metric).ci_low is not None
    assert find(analysis, "x", "mean_difference").ci_low is not None
    assert f"{NO_SPREAD.capitalize()}: share, agreement" in str(analysis)


def test_a_row_with_only_undefined_permutations_has_a_reason() -> None:
    """Without the two raters of x, everybody gives the same answer."""
    answers = {"a": "NYNYNY", "b": "NYYYNY", **{f"r{number:02}": "N" * 6 for number in range(40)}}
    ratings = ratings_of(answers, {"rater_race": [*"xx", *"y" * 40]})
    row = find(analyse(ratings, by=["race"], permutations=3), "x", "irr")
    assert row.estimate is not None
    assert row.p is None
    assert row.reason == "every permutation replicate is undefined"
