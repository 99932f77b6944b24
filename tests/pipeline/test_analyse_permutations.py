"""Permutations of raters, and families of tests."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.oracles import significance
from tests.pipeline.tables import find, ratings_of, simulate_frame

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse import Analysis, Row, analyse, group_divergence
from dissensus.pipeline.analyse.settings import Family
from dissensus.pipeline.simulate import simulate_ratings
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(1))


PUBLISHED = ("irr", "xrr", "negentropy", "cross_negentropy", "plurality_size", "voting_agreement", "gai", "dsi")
KEYS: dict[Family, Callable[[Row], str]] = {
    "table": lambda row: "",
    "metric": lambda row: row.metric,
    "axis": lambda row: str(row.axis),
    "axis-metric": lambda row: f"{row.axis} {row.metric}",
}


def families(analysis: Analysis, family: Family) -> list[list[int]]:
    """Return the row numbers of each family of tests."""
    tested = [r for r, row in enumerate(analysis.rows) if row.p is not None]
    keys = [f"{analysis.rows[r].metric in PUBLISHED} {KEYS[family](analysis.rows[r])}" for r in tested]
    return [[r for r, key in zip(tested, keys, strict=True) if key == one] for one in sorted(set(keys))]


def statistic_of(row: Row) -> float:
    assert row.estimate is not None
    return row.estimate


@pytest.mark.parametrize("family", KEYS)
def test_adjustment_by_hand_over_each_family(ratings: Ratings, family: Family) -> None:
    analysis = analyse(ratings, by=["race", "gender"], permutations=199, family=family)
    groups = families(analysis, family)
    assert len(groups) == {"table": 2, "metric": 13, "axis": 4, "axis-metric": 26}[family]
    for members in groups:
        raw = [analysis.rows[r].p or 0.0 for r in members]
        adjusted = [analysis.rows[r].p_adjusted for r in members]
        assert adjusted == pytest.approx(significance.benjamini_hochberg(raw), rel=1e-12)


@pytest.mark.parametrize("family", KEYS)
def test_max_t_by_hand_over_each_family(ratings: Ratings, family: Family) -> None:
    analysis = analyse(ratings, by=["race", "gender"], permutations=99, family=family, adjust="max-t")
    for members in families(analysis, family):
        if analysis.rows[members[0]].metric not in PUBLISHED:  # others are tested by studentised statistics
            continue
        null = analysis.null[:, members]
        assert not np.isnan(null).any()
        expected = significance.max_t([statistic_of(analysis.rows[r]) for r in members], null.tolist())
        expected = np.maximum(expected, [analysis.rows[r].p or 0 for r in members]).tolist()
        # The oracle computes t in another order, so a replicate that ties with the estimate may fall on either side.
        assert [analysis.rows[r].p_adjusted for r in members] == pytest.approx(expected, abs=2.1 / 100)


def test_adjusting_never_makes_a_p_smaller(ratings: Ratings) -> None:
    """DSI is a maximum, so it is skewed: far out by its standard deviation, not by its ranks."""
    for adjust in ("bh", "max-t"):
        analysis = analyse(ratings, by=["race"], cross=["race*gender"], permutations=99, family="metric", adjust=adjust)
        assert all(row.p_adjusted >= row.p for row in analysis.rows if row.p is not None and row.p_adjusted is not None)


def test_raters_without_a_known_group_do_not_affect_the_null() -> None:
    """Raters without a group who answer at random would make every group look cohesive beside shuffled ones."""
    rng = np.random.default_rng(3)
    shares = rng.dirichlet([1, 1, 1], 30)
    texts = ["".join(rng.choice([*"NUY"], p=share) for share in shares) for _ in range(20)]
    noise = ["".join(rng.choice([*"NUY"], size=30)) for _ in range(20)]
    groups = [*"ab" * 10]
    grouped = ratings_of({f"k{i:02}": text for i, text in enumerate(texts)}, {"rater_g": groups})
    mixed = ratings_of(
        {f"k{i:02}": text for i, text in enumerate([*texts, *noise])}, {"rater_g": [*groups, *[None] * 20]}
    )
    grouped_result, mixed_result = (analyse(r, by=["g"], permutations=199) for r in (grouped, mixed))
    for grouped_row, mixed_row in zip(grouped_result.rows, mixed_result.rows, strict=True):
        assert grouped_row.estimate == mixed_row.estimate
        if grouped_row.metric == "answer_share":
            continue
        assert grouped_row.p is not None
        assert mixed_row.p == pytest.approx(grouped_row.p, abs=0.2)  # other shuffles of the same raters
    assert min(row.p for row in mixed_result.rows if row.p is not None) > 0.02


def test_strata_that_fix_an_axis_are_warned_of(ratings: Ratings) -> None:
    analysis = analyse(ratings, by=["race", "gender"], permutations=50, permute_within="race")
    assert any("rater_race: permutations change nothing" in warning for warning in analysis.warnings)
    assert not any("rater_gender: permutations change nothing" in warning for warning in analysis.warnings)


@pytest.mark.parametrize("method", ["two-sided", "grasp"])
def test_p_by_hand(ratings: Ratings, method: str) -> None:
    rule = significance.two_sided_p if method == "two-sided" else significance.grasp_p
    analysis = analyse(ratings, by=["race"], permutations=99, method="grasp" if method == "grasp" else "two-sided")
    for r, row in enumerate(analysis.rows):
        if row.metric in ("irr", "xrr", "negentropy", "gai", "dsi"):  # the others have ties
            assert row.p == pytest.approx(float(rule(statistic_of(row), analysis.null[:, r].tolist())), abs=1e-12)


@pytest.mark.parametrize("seed", [1, 8, 9, 13])
def test_replicates_that_differ_by_rounding_are_ties(seed: int) -> None:
    """With six raters many shuffles give the same statistic, summed in another order."""
    ratings = simulate_ratings(n_items=10, raters_per_cell=1, seed=seed)
    analysis = analyse(ratings, by=["gender", "age"], permutations=199, seed=seed)
    for r, row in enumerate(analysis.rows):
        if row.p is not None and row.metric in PUBLISHED:
            null = np.round(analysis.null[:, r], 11)
            expected = significance.two_sided_p(round(statistic_of(row), 11), null[~np.isnan(null)].tolist())
            assert row.p == pytest.approx(float(expected)), row


def test_identical_raters_give_p_one_everywhere() -> None:
    profile = "NYUNYNYNUY"
    ratings = ratings_of({f"r{i}": profile for i in range(9)}, {"rater_race": [*"aabbbcccc"]})
    for row in analyse(ratings, by=["race"], permutations=99).rows:
        assert row.estimate is not None or row.metric == "between_share", row
        if row.metric in ("answer_share", "between_share"):
            continue
        assert row.p == 1, row
        assert row.p_adjusted == 1
        assert row.direction is None


def test_identical_raters_have_an_adjusted_p_or_a_reason_by_max_t() -> None:
    ratings = ratings_of({f"r{i}": "NYUNYNYNUY" for i in range(9)}, {"rater_race": [*"aabbbcccc"]})
    for row in analyse(ratings, by=["race"], permutations=99, adjust="max-t").rows:
        assert row.p_adjusted is not None or row.reason, row


def test_within_the_axis_itself_nobody_changes_group(ratings: Ratings) -> None:
    for row in analyse(ratings, by=["race"], permutations=50, permute_within="race").rows:
        if row.metric == "answer_share":
            continue
        assert row.p == 1
        assert row.direction is None


def test_demographic_rows_are_permuted_as_units() -> None:
    """A second axis that repeats the first, and their crossing, have the replicates of the first."""
    frame = simulate_frame(2)
    ratings = Ratings.from_frame(frame.with_columns(rater_again=frame["rater_gender"]))
    analysis = analyse(ratings, by=["gender", "again"], cross=["gender*again"], permutations=60)
    gender, repeated, crossed = np.split(analysis.null, 3, axis=1)
    np.testing.assert_array_equal(repeated, gender)
    np.testing.assert_array_equal(crossed, gender)
    assert [row.group for row in analysis.rows][-26::12] == ["Man × Man", "Woman × Woman", None]


def test_shuffles_within_a_stratum_keep_its_groups_apart() -> None:
    """All Asian raters are in the first stratum, so their group has the same number of its raters in every shuffle."""
    frame = simulate_frame(3)
    ratings = Ratings.from_frame(frame.with_columns(rater_phase=frame["rater_race"].replace({"White": "Black"})))
    analysis = analyse(ratings, by=["race"], permutations=40, permute_within="phase")
    null = dict(zip([(row.group, row.metric) for row in analysis.rows], analysis.null.T, strict=True))
    assert np.ptp(null["Asian", "irr"]) < 1e-12
    assert np.ptp(null["Black", "irr"]) > 0.001
    free = analyse(ratings, by=["race"], permutations=40)
    (asian,) = (r for r, row in enumerate(free.rows) if (row.group, row.metric) == ("Asian", "irr"))
    assert np.ptp(free.null[:, asian]) > 0.001


def test_shuffles_within_crossed_strata(ratings: Ratings) -> None:
    """Within race × gender nobody changes either group."""
    for row in analyse(ratings, by=["race", "gender"], permutations=30, permute_within="race*gender").rows:
        assert row.p == 1 or row.metric == "answer_share"


def test_an_attribute_of_items_can_be_the_stratum_if_constant_per_rater() -> None:
    answers = {"a": "NYN...", "b": "NYY...", "c": "UYN...", "d": "...NYN", "e": "...YYN", "f": "...NUN"}
    ratings = ratings_of(answers, {"rater_race": [*"xyxyxy"]})
    phase = {f"item-{i}": "one" if i < 3 else "two" for i in range(6)}
    table = pl.DataFrame({"item_id": list(phase), "phase": list(phase.values())})
    with_phase = ratings.with_items(table)
    result = analyse(with_phase, by=["race"], permutations=99, permute_within="phase")
    assert result.settings.permute_within == "phase"
    mixed = ratings.with_items(table.with_columns(phase=pl.Series(["one", "two"] * 3)))
    with pytest.raises(InvalidInput, match="rated items whose phase is 'one' and items whose phase is 'two'"):
        analyse(mixed, by=["race"], permutations=9, permute_within="phase")


def test_intervals_of_an_item_attribute_can_be_the_stratum() -> None:
    answers = {"a": "NYN...", "b": "NYY...", "c": "UYN...", "d": "...NYN", "e": "...YYN", "f": "...NUN"}
    ratings = ratings_of(answers, {"rater_race": [*"xyxyxy"]})
    words = pl.DataFrame({"item_id": [f"item-{i}" for i in range(6)], "words": [str(4 + 2 * i) for i in range(6)]})
    binned = ratings.with_items(words).with_bins("words", [10])
    named = ratings.with_items(words.with_columns(words=pl.Series(["long"] * 3 + ["short"] * 3)))
    one, other = (analyse(table, by="race", permutations=9, permute_within="words") for table in (binned, named))
    np.testing.assert_array_equal(one.null, other.null)
    p = [group_divergence(table, "race", permutations=9, permute_within="words").p for table in (binned, named)]
    assert p[0] == p[1]


def test_a_sparse_design_is_warned_of_unless_shuffled_within() -> None:
    ratings = Ratings.from_frame(simulate_frame(4, share_rated=0.5))
    free = analyse(ratings, by=["race"], permutations=99)
    assert any("--permute-within" in warning and "% of the items" in warning for warning in free.warnings)
    assert "Warning: Raters rated" in str(free)
    assert not analyse(ratings, by=["race"], permutations=99, permute_within="gender").warnings
    assert not analyse(ratings, by=["race"]).warnings


def test_a_complete_design_is_not_warned_of(ratings: Ratings) -> None:
    assert not analyse(ratings, by=["race"], permutations=99).warnings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ["race"], "permutations": 99, "method": "grasp"}, "nearly 10 % of the time"),
        ({"by": ["race"], "permutations": 20}, "no p-value can be below 0.095"),
        ({"permutations": 99}, "no axis was given"),
        ({"by": ["race"], "bootstrap": 20}, "do not reach the tails"),
    ],
)
def test_misleading_designs_have_warnings(ratings: Ratings, options: dict[str, object], message: str) -> None:
    (warning,) = analyse(ratings, **options).warnings  # type: ignore[arg-type]
    assert message in warning


def test_stars() -> None:
    def stars(p: float | None, p_adjusted: float | None) -> str:
        row = Row(axis="a", group="g", against=None, metric="irr", estimate=0.1, n_raters=2, n_items=2)
        return replace(row, p=p, p_adjusted=p_adjusted).stars

    assert stars(0.01, 0.04) == "**"
    assert stars(0.01, 0.05) == "*"
    assert stars(0.049, None) == "*"
    assert stars(0.05, 0.05) == ""
    assert stars(None, None) == ""


def test_a_true_difference_is_found() -> None:
    ratings = simulate_ratings(n_items=150, raters_per_cell=8, group_sd=1.2, seed=5)
    analysis = analyse(ratings, by=["age", "gender"], permutations=199)
    for group in ("18-29", "30-49", "50+"):
        xrr = find(analysis, group, "xrr")
        assert xrr.p is not None
        assert xrr.p <= 0.02
        assert xrr.direction == "below"
