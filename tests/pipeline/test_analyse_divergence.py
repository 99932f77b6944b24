"""Divergence of the soft labels of groups."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.oracles import divergence, significance
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.support.assignments import Codes, draw_null

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.analyse import GroupDivergence, group_divergence
from dissensus.pipeline.simulate import simulate_ratings
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Design
from dissensus.stats.groups.estimates import group_distance
from dissensus.stats.permutation import draw_permutations


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(7))


def shares_of(ratings: Ratings, axis: str, group: str) -> dict[int, list[float]]:
    """The soft label of a group for each item that it rated."""
    codes, groups = ratings.group_codes(axis)
    counts: dict[int, list[int]] = {}
    for item, rater, answer in zip(*(part.tolist() for part in ratings.codes("Q_overall")), strict=True):
        if codes[rater] == groups.index(group):
            counts.setdefault(item, [0, 0, 0])[answer] += 1
    return {item: [n / sum(row) for n in row] for item, row in counts.items()}


def estimates(result: GroupDivergence) -> list[float | None]:
    return [pair.estimate for pair in result.pairs]


def smooth(p: divergence.Distribution) -> list[float]:
    return divergence.smooth(p, 0.01)


MEASURES: dict[str, Callable[[divergence.Distribution, divergence.Distribution], float]] = {
    "total_variation": divergence.total_variation,
    "jensen_shannon": divergence.jensen_shannon,
    "kullback_leibler": lambda p, q: divergence.kullback_leibler(smooth(p), smooth(q)),
    "cross_entropy": lambda p, q: divergence.cross_entropy(smooth(p), smooth(q)),
    "wasserstein": lambda p, q: divergence.wasserstein(p, q, [0, 1, 2]),
}


@pytest.mark.parametrize("measure", MEASURES)
def test_pairs_by_hand(ratings: Ratings, measure: str) -> None:
    result = group_divergence(ratings, "race", measure=measure)
    assert result.groups == ("Asian", "Black", "White")
    shared: set[int] = set()
    for pair in result.pairs:
        p, q = (shares_of(ratings, "race", group) for group in pair.groups)
        shared_items = sorted(set(p) & set(q))
        shared |= set(shared_items)
        assert pair.estimate == pytest.approx(np.mean([MEASURES[measure](p[i], q[i]) for i in shared_items]), rel=1e-12)
        assert pair.n_items == len(shared_items)
        assert (pair.null_mean, pair.p, pair.p_adjusted) == (None, None, None)
    assert [pair.groups for pair in result.pairs] == [("Asian", "Black"), ("Asian", "White"), ("Black", "White")]
    assert result.estimate == pytest.approx(np.mean([pair.estimate or 0 for pair in result.pairs]), rel=1e-12)
    assert result.n_items == len(shared)
    assert result.n_raters == (10, 8, 6)
    assert (result.null_mean, result.p) == (None, None)
    assert (result.null.shape, result.pair_null.shape) == ((0,), (0, 3))


@pytest.mark.parametrize("measure", ["total_variation", "jensen_shannon"])
def test_the_null_of_every_pair_by_hand(measure: str) -> None:
    """With missing ratings and two raters of unknown group, each replicate is recomputed and ranked."""
    frame = simulate_frame(4, n_items=12, share_rated=0.4)
    unknown = pl.col("rater_id").is_in(["rater-001", "rater-020"])
    frame = frame.with_columns(pl.when(~unknown).then("rater_race").alias("rater_race"))
    ratings = Ratings.from_frame(frame)
    result = group_divergence(ratings, "race", measure=measure, permutations=30, seed=4)
    codes, _ = ratings.group_codes("race")
    rated = list(zip(*(part.tolist() for part in ratings.codes("Q_overall")), strict=True))
    permutations = draw_permutations(np.random.SeedSequence(4).spawn(30), ratings.n_raters, np.sign(codes + 1))
    observed, *replicates = (
        [mean for mean, _ in divergence.mean_pairwise(rated, row.tolist(), 3, MEASURES[measure]) if mean is not None]
        for row in codes[np.vstack([np.arange(ratings.n_raters), permutations])]
    )
    np.testing.assert_allclose(result.pair_null, replicates, rtol=1e-12)
    np.testing.assert_allclose(result.null, np.mean(replicates, axis=1), rtol=1e-12)
    # Replicates that tie come out of two sums that may differ in the last digit.
    columns = np.round(replicates, 12).T.tolist()
    p = [float(significance.two_sided_p(round(s, 12), column)) for s, column in zip(observed, columns, strict=True)]
    assert [pair.p for pair in result.pairs] == pytest.approx(p)
    assert [pair.p_adjusted for pair in result.pairs] == pytest.approx(significance.benjamini_hochberg(p))
    assert [pair.null_mean for pair in result.pairs] == pytest.approx([np.mean(column) for column in columns])


def test_the_names_of_groups_do_not_matter(ratings: Ratings) -> None:
    """Other names change the order of groups, and of the two groups of each pair."""
    names = {"Asian": "z", "Black": "y", "White": "x"}
    frame = simulate_frame(7).with_columns(pl.col("rater_race").replace(names))
    result = group_divergence(ratings, "race", permutations=50, seed=1)
    renamed = group_divergence(Ratings.from_frame(frame), "race", permutations=50, seed=1)
    assert renamed.groups == ("x", "y", "z")
    by_groups = {pair.groups: pair for pair in renamed.pairs}
    for pair in result.pairs:
        renamed_pair = by_groups[names[pair.groups[1]], names[pair.groups[0]]]
        assert replace(renamed_pair, groups=pair.groups) == pair
    assert (renamed.estimate, renamed.null_mean) == pytest.approx((result.estimate, result.null_mean))
    assert renamed.p == result.p


def test_two_like_groups_are_closer_than_chance_where_a_third_differs() -> None:
    """The null of a pair mixes all compared groups; the pair alone does not differ from chance."""
    answers = {f"{group}{r}": letters for group, letters in (("x", "NN"), ("y", "NN"), ("z", "YY")) for r in range(4)}
    ratings = ratings_of(answers, {"rater_race": [name[0] for name in answers]})
    alike_pair, *differing_pairs = group_divergence(ratings, "race", permutations=199).pairs
    assert (alike_pair.estimate, [pair.estimate for pair in differing_pairs]) == (0, [1, 1])
    assert alike_pair.null_mean is not None
    assert alike_pair.null_mean > 0.2
    (only_pair,) = group_divergence(ratings, "race", groups=["x", "y"], permutations=199).pairs
    assert (only_pair.null_mean, only_pair.p, only_pair.p_adjusted) == (0, 1, 1)


def test_small_groups_lie_far_apart_by_chance() -> None:
    """Two groups of 3 and two of 20 whose raters are all alike."""
    frame = simulate_frame(8, n_items=40, n_raters=46, sizes=(6, 20, 20))
    small = pl.when(pl.col("rater_id") < "rater-003").then(pl.lit("Few")).otherwise("rater_race")
    result = group_divergence(Ratings.from_frame(frame.with_columns(rater_race=small)), "race", permutations=50)
    by_size = {pair.groups: pair.null_mean or 0 for pair in result.pairs}
    assert by_size["Asian", "Few"] > 1.5 * by_size["Black", "White"]


def test_groups_are_compared_in_the_order_in_which_they_are_named(ratings: Ratings) -> None:
    result = group_divergence(ratings, "race", groups=["White", "Asian"])
    assert [pair.groups for pair in result.pairs] == [("White", "Asian")]
    assert result.estimate == group_divergence(ratings, "race").pairs[1].estimate


def test_the_null_has_groups_of_the_same_sizes(ratings: Ratings) -> None:
    """Raters of a group that is not compared are excluded from every replicate."""
    result = group_divergence(ratings, "race", groups=["White", "Asian"], permutations=60, seed=2)
    # Replicates that tie come out of sums that may differ in the last digit.
    tied = np.round(result.null, 12).tolist()
    assert result.p == pytest.approx(float(significance.two_sided_p(round(result.estimate, 12), tied)))
    assert result.null_mean == pytest.approx(result.null.mean())
    subset = ratings_without_black()
    by_subset = group_divergence(subset, "race", groups=["White", "Asian"], permutations=400, seed=3)
    assert by_subset.estimate == pytest.approx(result.estimate, rel=1e-12)
    assert by_subset.null_mean == pytest.approx(result.null_mean, abs=5 * result.null.std() / np.sqrt(60))


def ratings_without_black() -> Ratings:
    frame = simulate_frame(7)
    return Ratings.from_frame(frame.filter(frame["rater_race"] != "Black"))


def test_the_same_seed_gives_the_same_null_and_more_begin_with_it(ratings: Ratings) -> None:
    short = group_divergence(ratings, "race", permutations=10, seed=5)
    long = group_divergence(ratings, "race", permutations=25, seed=5)
    np.testing.assert_array_equal(long.null[:10], short.null)
    np.testing.assert_array_equal(long.pair_null[:10], short.pair_null)


@pytest.mark.parametrize("measure", ["total_variation", "wasserstein"])
def test_chunks_of_permutations_do_not_matter_and_are_reported(
    monkeypatch: pytest.MonkeyPatch, ratings: Ratings, measure: str
) -> None:
    unchunked = group_divergence(ratings, "race", measure=measure, permutations=25, seed=5)
    monkeypatch.setattr("dissensus.stats.design.Design.chunk_bytes", 1 << 12)
    progress: list[float] = []
    result = group_divergence(ratings, "race", measure=measure, permutations=25, seed=5, progress=progress.append)
    np.testing.assert_array_equal(result.pair_null, unchunked.pair_null)
    assert len(progress) > 2
    assert progress == sorted(progress)
    assert progress[-1] == 1


def test_shuffling_within_the_axis_changes_nothing(ratings: Ratings) -> None:
    result = group_divergence(ratings, "race", permutations=9, permute_within="race")
    np.testing.assert_allclose(result.null, result.estimate)


def test_simulated_differences_exceed_chance() -> None:
    divergence = group_divergence(
        simulate_ratings(n_items=60, raters_per_cell=6, group_sd=1.5, seed=1), "age", permutations=99
    )
    assert divergence.p == 0.02
    assert divergence.null_mean is not None
    assert divergence.estimate > divergence.null_mean


def test_groups_that_share_no_item_have_no_divergence() -> None:
    ratings = ratings_of({"a": "NY..", "b": "..NY"}, {"rater_race": ["x", "y"]})
    with pytest.raises(UndefinedEstimate, match="No item was rated by two groups of rater_race"):
        group_divergence(ratings, "race")


def test_a_pair_that_shares_no_item_is_left_out() -> None:
    ratings = ratings_of({"a": "NY..", "b": "NYNY", "c": "..NN"}, {"rater_race": ["x", "y", "z"]})
    result = group_divergence(ratings, "race")
    assert estimates(result) == [0, None, 0.5]
    assert [pair.n_items for pair in result.pairs] == [2, 0, 2]
    assert result.estimate == pytest.approx((0 + 0.5) / 2)
    assert result.n_items == 4


def test_a_pair_that_shares_no_item_has_no_test() -> None:
    """Replicates where the pair shares items are kept without a comparison."""
    ratings = ratings_of({"a": "NY..", "b": "NYNY", "c": "..NN"}, {"rater_race": ["x", "y", "z"]})
    result = group_divergence(ratings, "race", permutations=20)
    pair = result.pairs[1]
    assert (pair.estimate, pair.p, pair.p_adjusted) == (None, None, None)
    assert pair.null_mean == pytest.approx(np.nanmean(result.pair_null[:, 1]))
    assert np.isnan(result.pair_null).any()
    assert not np.isnan(result.null).any()
    assert "– no item was rated by both groups." in str(result)
    json.loads(result.to_json())


def test_the_printed_table(ratings: Ratings) -> None:
    result = group_divergence(ratings, "race", permutations=99, seed=3)
    for text in (str(result), result._repr_html_()):
        assert "total variation between the soft labels of 3 groups" in text
        assert "99 permutations of the raters, groups of the same sizes, seed 3" in text
    lines = {line.split("  ")[0]: line for line in str(result).splitlines()}
    for pair in result.pairs:
        assert pair.estimate is not None
        assert pair.p_adjusted is not None
        line = lines[" – ".join(pair.groups)]
        assert f" {pair.estimate:.3f}".replace("0.", ".") in line
        assert line.endswith(f"{pair.p_adjusted:.3f}".removeprefix("0"))
    without = str(group_divergence(ratings, "race", measure="jensen_shannon"))
    assert "Jensen–Shannon divergence" in without
    assert "chance" not in without


def test_hostile_names_are_escaped() -> None:
    evil = "<script>\x1b[31m"
    ratings = ratings_of({"a": "NY", "b": "YY"}, {"rater_race": [evil, "b"]})
    result = group_divergence(ratings, "race", permutations=5)
    assert "<script>" not in result._repr_html_()
    assert "\x1b" not in str(result)


def test_tables_and_plain_values_say_the_same(ratings: Ratings) -> None:
    result = group_divergence(ratings, "race", permutations=19, permute_within="gender")
    table = result.to_polars()
    assert table.columns[:4] == ["axis", "group", "other", "measure"]
    plain = json.loads(result.to_json())
    assert (plain["permutations"], plain["permute_within"], plain["seed"]) == (19, "gender", 0)
    assert plain["groups"][0] == {"group": "Asian", "n_raters": 10}
    for row, pair, as_read in zip(table.iter_rows(named=True), result.pairs, plain["pairs"], strict=True):
        assert (row["axis"], row["measure"], row["group"], row["other"]) == ("rater_race", result.measure, *pair.groups)
        for name in ("estimate", "null_mean", "p", "p_adjusted", "n_items"):
            assert row[name] == getattr(pair, name) == as_read[name]
        assert as_read["groups"] == list(pair.groups)


def test_refusals(ratings: Ratings) -> None:
    with pytest.raises(InvalidInput, match="'chi2'; choose one of total_variation, jensen_shannon"):
        group_divergence(ratings, "race", measure="chi2")
    with pytest.raises(InvalidInput, match=r"no group 'Whit'.*Asian, Black, White"):
        group_divergence(ratings, "race", groups=["Whit", "Asian"])
    with pytest.raises(InvalidInput, match="two groups or more"):
        group_divergence(ratings, "race", groups=["White", "White"])
    with pytest.raises(NotFound, match="'nope'"):
        group_divergence(ratings, "nope")


def draw_ratings(rng: np.random.Generator, assignment: str) -> Ratings:
    """Draw ratings whose answers do not depend on the groups of race."""
    design, group = draw_null(rng, assignment)
    columns = {
        "item_id": [f"i{i}" for i in design.items],
        "rater_id": [f"r{r}" for r in design.raters],
        "Q_overall": [("No", "Unsure", "Yes")[answer] for answer in design.answers],
        "rater_race": [f"g{g}" for g in group[design.raters]],
    }
    return Ratings.from_frame(pl.DataFrame(columns))


@pytest.mark.parametrize(
    ("assignment", "is_tested"),
    [("complete", True), ("random sparse", True), ("loads 55 and 15 %", False), ("quota, 2 of each group", False)],
)
def test_a_test_that_the_assignment_moves_is_withheld(assignment: str, is_tested: bool) -> None:
    result = group_divergence(draw_ratings(np.random.default_rng(3), assignment), "race", permutations=299)
    assert (result.p is not None, result.reason is None) == (is_tested, is_tested)
    assert [pair.p is not None for pair in result.pairs] == [pair.reason is None for pair in result.pairs]
    assert all(pair.reason is None for pair in result.pairs) == is_tested
    assert ("Not tested: the assignment of items" in str(result)) is not is_tested
    assert json.loads(result.to_json())["pairs"][0]["reason"] == result.pairs[0].reason


@pytest.mark.parametrize("share_rated", [0.4, 1.0])
def test_the_unbiased_distance_of_pairs_and_its_test_by_hand(share_rated: float) -> None:
    ratings = Ratings.from_frame(simulate_frame(4, n_items=12, share_rated=share_rated))
    result = group_divergence(ratings, "race", measure="group_distance", permutations=30, seed=4)
    codes, _ = ratings.group_codes("race")
    design = Design(*ratings.codes("Q_overall"), ratings.n_items, ratings.n_raters, 3)
    shuffled = codes[draw_permutations(np.random.SeedSequence(4).spawn(30), ratings.n_raters, np.zeros_like(codes))]

    def distances(group: Codes) -> list[float]:
        counts = design.counts(group)
        return [group_distance(counts[g], counts[h]).estimate for g, h in ((0, 1), (0, 2), (1, 2))]

    assert estimates(result) == pytest.approx(distances(codes))
    assert result.estimate == pytest.approx(np.mean(distances(codes)))
    null = np.array([distances(row) for row in shuffled])
    np.testing.assert_allclose(result.pair_null, null, atol=1e-12)
    if share_rated == 1:
        above = (null >= np.array(distances(codes)) - 1e-9).sum(axis=0)
        assert [pair.p for pair in result.pairs] == pytest.approx((1 + above) / 31)
    counts = design.counts(codes).sum(axis=2)
    assert [pair.n_items for pair in result.pairs] == [
        int(((counts[g] > 1) & (counts[h] > 1)).sum()) for g, h in ((0, 1), (0, 2), (1, 2))
    ]
    assert result.n_items == int(((counts > 1).sum(axis=0) > 1).sum())
    assert "unbiased distance between the soft labels" in str(result)
    assert "p of large values" in str(result)


@pytest.mark.parametrize(("assignment", "is_tested"), [("quota, 2 of each group", True), ("loads 55 and 15 %", False)])
def test_the_unbiased_distance_is_tested_in_quotas_but_not_in_very_unequal_loads(
    assignment: str, is_tested: bool
) -> None:
    ratings = draw_ratings(np.random.default_rng(3), assignment)
    result = group_divergence(ratings, "race", measure="group_distance", permutations=299)
    assert (result.p is not None, result.reason is None) == (is_tested, is_tested)
    if is_tested:
        assert abs(result.estimate) < 0.05 < group_divergence(ratings, "race").estimate


@pytest.mark.slow
@pytest.mark.parametrize("assignment", ["random sparse", "loads 30 and 20 %", "quota, 2 of each group", "8 against 80"])
def test_tests_that_are_offered_have_their_size(assignment: str) -> None:
    """Without withholding, 17 to 40 % of the tests reject in quotas."""
    rng = np.random.default_rng(0)
    p = [
        pair.p
        for _ in range(200)
        for pair in group_divergence(draw_ratings(rng, assignment), "race", permutations=199).pairs
        if pair.p is not None
    ]
    # .05 and three standard errors, if the three pairs of a draw count as one.
    assert sum(one <= 0.05 for one in p) <= 0.05 * len(p) + 3 * (0.0475 * 200) ** 0.5 * (len(p) / 200)
    assert len(p) > 100 or assignment == "quota, 2 of each group"
