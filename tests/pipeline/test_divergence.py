"""How far apart the soft labels of groups are."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.oracles import divergence, significance
from tests.pipeline.tables import drawn_frame, ratings_of

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.analyse import group_divergence
from dissensus.pipeline.simulate import simulate_ratings
from dissensus.schema.ratings import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(drawn_frame(7, share_rated=0.5))


def shares_of(ratings: Ratings, axis: str, group: str) -> dict[int, list[float]]:
    """The soft label of a group for each item that it rated."""
    codes, groups = ratings.group_codes(axis)
    counts: dict[int, list[int]] = {}
    for item, rater, answer in zip(*(part.tolist() for part in ratings.coded("Q_overall")), strict=True):
        if codes[rater] == groups.index(group):
            counts.setdefault(item, [0, 0, 0])[answer] += 1
    return {item: [n / sum(row) for n in row] for item, row in counts.items()}


def smooth(p: list[float]) -> list[float]:
    return divergence.smooth(p, 0.01)


MEASURES: dict[str, Callable[[list[float], list[float]], float]] = {
    "total_variation": divergence.total_variation,
    "jensen_shannon": divergence.jensen_shannon,
    "kullback_leibler": lambda p, q: divergence.kullback_leibler(smooth(p), smooth(q)),
    "cross_entropy": lambda p, q: divergence.cross_entropy(smooth(p), smooth(q)),
    "wasserstein": lambda p, q: divergence.wasserstein(p, q, [0, 1, 2]),
}


@pytest.mark.parametrize("measure", MEASURES)
def test_pairs_by_hand(ratings: Ratings, measure: str) -> None:
    found = group_divergence(ratings, "race", measure=measure)
    assert found.groups == ("Asian", "Black", "White")
    shared: set[int] = set()
    for (one, other), value in found.pairs.items():
        p, q = shares_of(ratings, "race", one), shares_of(ratings, "race", other)
        both = sorted(set(p) & set(q))
        shared |= set(both)
        assert value == pytest.approx(np.mean([MEASURES[measure](p[i], q[i]) for i in both]), rel=1e-12)
    assert found.estimate == pytest.approx(np.mean(list(found.pairs.values())), rel=1e-12)
    assert found.n_items == len(shared)
    assert (found.null_mean, found.p, found.null.size) == (None, None, 0)


def test_groups_are_compared_in_the_order_in_which_they_are_named(ratings: Ratings) -> None:
    found = group_divergence(ratings, "race", groups=["White", "Asian"])
    assert list(found.pairs) == [("White", "Asian")]
    assert found.estimate == group_divergence(ratings, "race").pairs["Asian", "White"]


def test_the_null_has_groups_of_the_same_sizes(ratings: Ratings) -> None:
    """Raters of the group that is not compared stay out, in every replicate."""
    found = group_divergence(ratings, "race", groups=["White", "Asian"], permutations=60, seed=2)
    assert found.p == pytest.approx(float(significance.two_sided_p(found.estimate, found.null.tolist())))
    assert found.null_mean == pytest.approx(found.null.mean())
    kept = ratings_without_black()
    alone = group_divergence(kept, "race", groups=["White", "Asian"], permutations=400, seed=3)
    assert alone.estimate == pytest.approx(found.estimate, rel=1e-12)
    assert alone.null_mean == pytest.approx(found.null_mean, abs=5 * found.null.std() / np.sqrt(60))


def ratings_without_black() -> Ratings:
    frame = drawn_frame(7, share_rated=0.5)
    return Ratings.from_frame(frame.filter(frame["rater_race"] != "Black"))


def test_the_same_seed_gives_the_same_null_and_more_begin_with_it(ratings: Ratings) -> None:
    few = group_divergence(ratings, "race", permutations=10, seed=5)
    many = group_divergence(ratings, "race", permutations=25, seed=5)
    np.testing.assert_array_equal(many.null[:10], few.null)


def test_shuffling_within_the_axis_changes_nothing(ratings: Ratings) -> None:
    found = group_divergence(ratings, "race", permutations=9, permute_within="race")
    np.testing.assert_allclose(found.null, found.estimate)


def test_what_groups_see_apart_shows_above_chance() -> None:
    apart = group_divergence(
        simulate_ratings(n_items=60, raters_per_cell=6, group_sd=1.5, seed=1), "age", permutations=99
    )
    assert apart.p == 0.02
    assert apart.null_mean is not None
    assert apart.estimate > apart.null_mean


def test_groups_that_share_no_item_have_no_divergence() -> None:
    ratings = ratings_of({"a": "NY..", "b": "..NY"}, {"rater_race": ["x", "y"]})
    with pytest.raises(UndefinedEstimate, match="No item was rated by two groups of rater_race"):
        group_divergence(ratings, "race")


def test_a_pair_that_shares_no_item_is_left_out() -> None:
    ratings = ratings_of({"a": "NY..", "b": "NYNY", "c": "..NN"}, {"rater_race": ["x", "y", "z"]})
    found = group_divergence(ratings, "race")
    assert np.isnan(found.pairs["x", "z"])
    assert found.estimate == pytest.approx((0 + 0.5) / 2)
    assert found.n_items == 4


def test_refusals(ratings: Ratings) -> None:
    with pytest.raises(InvalidInput, match="'chi2'; choose one of total_variation, jensen_shannon"):
        group_divergence(ratings, "race", measure="chi2")
    with pytest.raises(InvalidInput, match=r"no group 'Whit'.*Asian, Black, White"):
        group_divergence(ratings, "race", groups=["Whit", "Asian"])
    with pytest.raises(InvalidInput, match="two groups or more"):
        group_divergence(ratings, "race", groups=["White", "White"])
    with pytest.raises(NotFound, match="'nope'"):
        group_divergence(ratings, "nope")
