"""Analysis of groups: contract, options and reproducibility."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import find, ratings_of, simulate_frame

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.association import dsi, gai
from dissensus.stats.cohesion import negentropy, plurality_size
from dissensus.stats.crossgroup import cross_negentropy, voting_agreement, xrr

UNBIASED = ("answer_share", "mean_difference", "pairwise_agreement", "group_distance")
PUBLISHED = ("irr", "xrr", "negentropy", "cross_negentropy", "plurality_size", "voting_agreement", "gai")
METRICS = (*UNBIASED, *PUBLISHED, "corrected_gai")
OF_AXIS = ("between_share", "dsi")
STABLE_KEYS = (
    *("axis", "group", "against", "metric", "estimate", "ci_low", "ci_high", "p", "p_adjusted", "direction"),
    *("n_raters", "n_items", "reason"),
)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame())


@pytest.fixture(scope="module")
def full(ratings: Ratings) -> Analysis:
    """An analysis with all options."""
    return analyse(ratings, by=["race", "gender"], cross=["gender*race"], permutations=99, bootstrap=60, seed=4)


def repeat_analysis(ratings: Ratings, settings: dict[str, Any]) -> Analysis:
    """Repeat an analysis from the settings in its result."""
    return analyse(ratings, by=settings["axes"], **{k: v for k, v in settings.items() if k != "axes"})


def test_the_contract_of_the_json(full: Analysis) -> None:
    result = json.loads(full.to_json())
    assert result["schema_version"] == 1
    assert set(result["overall"]) == {*METRICS, *OF_AXIS}
    for row in (*result["overall"].values(), *result["rows"]):
        assert set(STABLE_KEYS) <= set(row)
        assert list(row)[:4] == ["axis", "group", "against", "metric"]
    assert {row["metric"] for row in result["rows"]} == {*METRICS, *OF_AXIS}
    assert (result["n_raters"], result["n_items"], result["n_ratings"]) == (24, 30, 720)
    assert result["categories"] == ["No", "Unsure", "Yes"]
    assert result == json.loads(json.dumps(full.to_dict(), allow_nan=False))


def test_every_group_has_every_metric_and_every_axis_a_dsi(full: Analysis) -> None:
    groups = {
        "rater_race": ["Asian", "Black", "White"],
        "rater_gender": ["Man", "Woman"],
        "rater_gender*rater_race": [f"{g} × {r}" for g in ("Man", "Woman") for r in ("Asian", "Black", "White")],
    }
    expected = [
        (axis, group, metric)
        for axis, values in groups.items()
        for group, metric in [
            *((group, metric) for group in values for metric in METRICS),
            *((None, name) for name in OF_AXIS),
        ]
    ]
    assert [(row.axis, row.group, row.metric) for row in full.rows] == expected


def test_only_comparisons_name_a_reference(full: Analysis) -> None:
    across = {
        "mean_difference",
        "group_distance",
        "corrected_gai",
        "xrr",
        "cross_negentropy",
        "voting_agreement",
        "gai",
        "dsi",
    }
    for row in full.rows:
        assert row.against == ("rest" if row.metric in across else None), row


def test_the_whole_pool_has_no_axis_and_no_comparison(full: Analysis) -> None:
    for row in full.overall:
        assert (row.axis, row.group, row.against, row.p, row.direction) == (None, None, None, None, None)
        within = row.metric in ("answer_share", "pairwise_agreement", "irr", "negentropy", "plurality_size")
        assert (row.estimate is not None) == within
        assert within or row.reason == "compares groups; name an axis"
        assert row.n_raters == 24


def test_requested_values_are_present_or_have_a_reason(full: Analysis) -> None:
    for row in full.rows:
        missing = [name for name in ("estimate", "ci_low", "p", "p_adjusted") if getattr(row, name) is None]
        assert not missing or row.reason, row
        if row.ci_low is not None and row.ci_high is not None:
            assert row.ci_low <= row.ci_high
        if row.p is not None and row.p_adjusted is not None:
            assert 0 < row.p <= row.p_adjusted <= 1


def test_dsi_is_tested_but_has_no_interval(full: Analysis) -> None:
    for row in full.rows:
        if row.metric == "dsi":
            assert row.ci_low is row.ci_high is None
            assert row.reason == "a maximum of noisy values has no valid interval"
            assert row.p is not None


def test_values_not_requested_are_null(ratings: Ratings) -> None:
    for row in analyse(ratings, by=["race"]).rows:
        assert (row.ci_low, row.ci_high, row.p, row.p_adjusted, row.direction) == (None,) * 5
        assert row.estimate is not None


def test_direction_is_that_from_the_median_of_the_null(full: Analysis) -> None:
    for r, row in enumerate(full.rows):
        if row.p is not None and row.estimate is not None and row.metric in PUBLISHED:
            middle = float(np.nanmedian(full.null[:, r]))
            if abs(row.estimate - middle) > 1e-12:
                assert row.direction == ("above" if row.estimate > middle else "below")


def test_estimates_are_those_of_the_public_functions(ratings: Ratings, full: Analysis) -> None:
    item, rater, answer = ratings.codes("Q_overall")
    for axis in full.settings.axes:
        codes, groups = ratings.group_codes(axis)
        counts = np.zeros((len(groups), ratings.n_items, 3), dtype=np.int64)
        np.add.at(counts, (codes[rater], item, answer), 1)
        for g, group in enumerate(groups):
            outside = counts.sum(axis=0) - counts[g]
            for metric, function in (("irr", krippendorff_alpha), ("negentropy", negentropy)):
                assert find(full, group, metric, axis).estimate == function(counts[g]).estimate
            assert find(full, group, "plurality_size", axis).estimate == plurality_size(counts[g]).estimate
            for metric, compare in (
                ("xrr", xrr),
                ("cross_negentropy", cross_negentropy),
                ("voting_agreement", voting_agreement),
                ("gai", gai),
            ):
                assert find(full, group, metric, axis).estimate == compare(counts[g], outside).estimate
            assert find(full, group, "irr", axis).n_raters == (codes == g).sum()
        assert find(full, None, "dsi", axis).estimate == pytest.approx(dsi(counts).estimate, rel=1e-12)


def test_against_a_group_compares_all_others_with_it(ratings: Ratings) -> None:
    analysis = analyse(ratings, by=["race"], against="White", permutations=19)
    assert {row.group for row in analysis.rows if row.group} == {"Asian", "Black", "White"}
    assert {row.against for row in analysis.rows if row.metric == "xrr"} == {"White"}
    item, rater, answer = ratings.codes("Q_overall")
    codes, groups = ratings.group_codes("race")
    counts = np.zeros((3, ratings.n_items, 3), dtype=np.int64)
    np.add.at(counts, (codes[rater], item, answer), 1)
    for group in ("Asian", "Black"):
        inside, outside = counts[groups.index(group)], counts[groups.index("White")]
        assert find(analysis, group, "xrr").estimate == xrr(inside, outside).estimate
        assert find(analysis, group, "cross_negentropy").estimate == cross_negentropy(inside, outside).estimate
    reference, dsi_row = find(analysis, "White", "xrr"), find(analysis, None, "dsi", "rater_race")
    assert reference.estimate is None
    assert "this is the reference group" in str(reference.reason)
    assert find(analysis, "White", "irr").estimate == krippendorff_alpha(counts[groups.index("White")]).estimate
    assert dsi_row.estimate is None
    assert "with the rest" in str(dsi_row.reason)


def test_the_settings_of_a_result_reproduce_it(ratings: Ratings) -> None:
    first = analyse(
        ratings,
        by=["race"],
        cross=["race*gender"],
        permutations=49,
        permute_within="gender",
        method="grasp",
        adjust="max-t",
        family="axis",
        bootstrap=20,
        resample="raters",
        confidence=0.8,
        seed=9,
        min_raters=3,
    )
    second = repeat_analysis(ratings, json.loads(first.to_json())["settings"])
    assert second.to_json() == first.to_json()
    np.testing.assert_array_equal(second.null, first.null)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_and_columns_of_the_file_does_not_matter(full: Analysis, seed: int) -> None:
    frame = simulate_frame().sample(fraction=1, shuffle=True, seed=seed)
    reordered = repeat_analysis(Ratings.from_frame(frame.select(sorted(frame.columns))), asdict(full.settings))
    assert reordered.to_json() == full.to_json()
    np.testing.assert_array_equal(reordered.null, full.null)


def test_the_test_of_an_axis_does_not_depend_on_other_axes(ratings: Ratings, full: Analysis) -> None:
    gender_only = analyse(ratings, by=["gender"], permutations=99, seed=4)
    for row in gender_only.rows:
        beside = find(full, row.group, row.metric, "rater_gender")
        assert (row.estimate, row.p, row.direction) == (beside.estimate, beside.p, beside.direction)


def test_the_interval_of_an_axis_does_not_depend_on_other_axes(ratings: Ratings, full: Analysis) -> None:
    gender_only = analyse(ratings, by=["gender"], bootstrap=60, seed=4)
    for row in gender_only.rows:
        beside = find(full, row.group, row.metric, "rater_gender")
        assert (row.ci_low, row.ci_high) == (beside.ci_low, beside.ci_high)


def test_another_seed_gives_other_replicates(ratings: Ratings, full: Analysis) -> None:
    other_seed = repeat_analysis(ratings, {**asdict(full.settings), "seed": 5})
    assert not np.array_equal(other_seed.null, full.null)
    assert [row.estimate for row in other_seed.rows] == [row.estimate for row in full.rows]


def test_more_permutations_begin_with_the_same(ratings: Ratings, full: Analysis) -> None:
    longer = repeat_analysis(ratings, {**asdict(full.settings), "permutations": 120, "bootstrap": 0})
    np.testing.assert_array_equal(longer.null[:99], full.null)


def test_raters_without_a_known_group_take_no_part_and_are_counted() -> None:
    answers = {"a": "NYNY", "b": "NYYY", "c": "YYNU", "d": "NNNY", "e": "UUUU"}
    gender = ["Man", "Man", "Woman", "Woman", None]
    with_e = ratings_of(answers, {"rater_gender": gender})
    without = ratings_of({k: v for k, v in answers.items() if k != "e"}, {"rater_gender": gender})
    partly_known, known = (analyse(r, by=["gender"], permutations=9) for r in (with_e, without))
    assert [row.estimate for row in partly_known.rows] == [row.estimate for row in known.rows]
    assert partly_known.notes[-1] == "Left out of the comparisons on rater_gender: 1 rater without a known value."
    assert partly_known.overall != known.overall


def test_one_of_several_questions_counts_those_who_answered_it() -> None:
    frame = pl.DataFrame(
        {
            "item_id": ["1", "1", "1", "2", "2", "2"],
            "rater_id": ["a", "b", "c"] * 2,
            "rater_x": ["u", "v", "v"] * 2,
            "Q1": ["Yes", "No", None, "No", "No", None],
            "Q2": ["Yes", "No", "No", "No", "No", "Yes"],
        }
    )
    ratings = Ratings.from_frame(frame, questions=["Q1", "Q2"])
    assert analyse(ratings, question="Q1").overall[0].n_raters == analyse(ratings, question="Q1").n_raters == 2
    assert analyse(ratings, question="Q2").n_raters == 3


def test_a_crossing_in_either_order_is_one_crossing(ratings: Ratings) -> None:
    assert analyse(ratings, cross=["race*gender", "gender*race"]).settings.axes == ("rater_race*rater_gender",)
    assert analyse(ratings, by="race").settings.axes == ("rater_race",)


def test_an_axis_named_twice_comes_once(ratings: Ratings) -> None:
    assert analyse(ratings, by=["race", "rater_race"], cross=["race"]).settings.axes == ("rater_race",)


def test_without_an_axis_there_is_the_whole_pool(ratings: Ratings) -> None:
    analysis = analyse(ratings, bootstrap=40)
    assert analysis.rows == ()
    irr = find(analysis, None, "irr")
    assert irr.ci_low is not None
    assert irr.ci_high is not None
    assert irr.estimate is not None
    assert irr.ci_low < irr.estimate < irr.ci_high
    assert not analysis.warnings


@pytest.mark.parametrize("resample", ["raters", "items"])
def test_intervals_of_one_way_are_narrower_than_of_two(full: Analysis, ratings: Ratings, resample: str) -> None:
    settings = {**asdict(full.settings), "permutations": 0, "bootstrap": 200}
    two_way = repeat_analysis(ratings, settings)
    one_way = repeat_analysis(ratings, {**settings, "resample": resample})

    def width(analysis: Analysis) -> float:
        ends = [(row.ci_low, row.ci_high) for row in analysis.rows if row.metric == "irr"]
        return float(np.mean([high - low for low, high in ends if low is not None and high is not None]))

    assert 0 < width(one_way) < width(two_way)


def test_a_higher_level_gives_wider_intervals(ratings: Ratings) -> None:
    narrow, wide = (analyse(ratings, by=["race"], bootstrap=50, confidence=confidence) for confidence in (0.5, 0.9))
    for narrow_row, wide_row in zip(narrow.rows, wide.rows, strict=True):
        if narrow_row.ci_low is not None and narrow_row.ci_high is not None:
            assert wide_row.ci_low is not None
            assert wide_row.ci_high is not None
            assert wide_row.ci_low <= narrow_row.ci_low <= narrow_row.ci_high <= wide_row.ci_high


def test_progress_rises_to_one(ratings: Ratings) -> None:
    shares: list[float] = []
    analyse(ratings, by=["race"], permutations=30, bootstrap=20, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_to_polars_has_one_line_a_row_with_the_settings(full: Analysis) -> None:
    frame = full.to_polars(settings=True)
    assert frame.height == len(full.overall) + len(full.rows)
    assert frame.columns[:12] == list(STABLE_KEYS[:12])
    assert set(STABLE_KEYS) <= set(frame.columns)
    assert set(frame["setting_seed"]) == {4}
    assert set(frame["setting_axes"]) == {"rater_race rater_gender rater_gender*rater_race"}
    assert frame["estimate"].dtype == pl.Float64
    assert frame["n_raters"].dtype == pl.Int64
    assert [tuple(row[:4]) for row in frame.rows()][14:] == [
        (row.axis, row.group, row.against, row.metric) for row in full.rows
    ]
    again_read = pl.read_csv(frame.write_csv().encode())
    assert again_read.height == frame.height


def test_a_frame_of_the_whole_pool_alone_has_the_same_columns(ratings: Ratings, full: Analysis) -> None:
    assert analyse(ratings).to_polars().schema.names() == full.to_polars().schema.names()


@pytest.mark.parametrize(
    ("options", "error", "messages"),
    [
        ({"by": ["rase"]}, NotFound, ["'rase'", "rater_race", "rater_gender"]),
        ({"cross": ["race*nope"]}, NotFound, ["'nope'", "rater_race"]),
        ({"cross": ["race*race"]}, InvalidInput, ["crosses an axis with itself"]),
        ({"by": ["race"], "against": "Whit"}, InvalidInput, ["'Whit'", "Asian, Black, White", "rest"]),
        ({"question": "Q9"}, NotFound, ["'Q9'", "Q_overall"]),
        ({"method": "one-sided"}, InvalidInput, ["'one-sided'", "two-sided, grasp"]),
        ({"adjust": "holm"}, InvalidInput, ["'holm'", "bh, max-t"]),
        ({"family": "all"}, InvalidInput, ["'all'", "table, metric, axis, axis-metric"]),
        ({"resample": "nobody"}, InvalidInput, ["'nobody'", "both, raters, items"]),
        ({"permutations": -1}, InvalidInput, ["permutations is -1"]),
        ({"bootstrap": -5}, InvalidInput, ["bootstrap is -5"]),
        ({"bootstrap": 1}, InvalidInput, ["one replicate has no spread"]),
        ({"seed": -1}, InvalidInput, ["seed is -1"]),
        ({"confidence": 95}, InvalidInput, ["confidence is 95", "0.95"]),
        ({"by": ["race"], "permutations": 9, "permute_within": "nope"}, NotFound, ["'nope'", "rater_race"]),
    ],
)
def test_refusals_say_what_is_allowed(
    ratings: Ratings, options: dict[str, Any], error: type[Exception], messages: list[str]
) -> None:
    with pytest.raises(error) as refusal:
        analyse(ratings, **options)
    for text in messages:
        assert text in str(refusal.value)


@pytest.mark.parametrize(("values", "message"), [(["Man"] * 3, "only 'Man'"), ([None] * 3, "no known value")])
def test_an_axis_with_nobody_to_compare_with_is_refused(values: list[str | None], message: str) -> None:
    ratings = ratings_of({"a": "NY", "b": "NN", "c": "YY"}, {"rater_gender": values})
    with pytest.raises(InvalidInput, match=f"Axis rater_gender has {message}.*Give another axis"):
        analyse(ratings, by=["gender"])


def test_of_several_questions_one_must_be_named() -> None:
    frame = simulate_frame().rename({"Q_overall": "Q1"}).with_columns(Q2=pl.lit("No"))
    ratings = Ratings.from_frame(frame, questions=["Q1", "Q2"], categories=["No", "Unsure", "Yes"])
    with pytest.raises(InvalidInput, match=r"Q1, Q2\. Name one"):
        analyse(ratings)
    assert analyse(ratings, question="Q1").settings.question == "Q1"
