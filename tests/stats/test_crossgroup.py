"""Agreement between two groups that rated the same items."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from tests.oracles import agreement
from tests.oracles import crossgroup as oracle
from tests.reference import published
from tests.stats.compare import assert_equal_outcomes, assert_same, close, outcome
from tests.strategies import Counts, complete_tables, quick, stacks, values_for

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import krippendorff_alpha, krippendorff_alpha_long
from dissensus.stats.cohesion import negentropy
from dissensus.stats.crossgroup import NO_SHARED_ITEM, cross_negentropy, normalised_xrr, voting_agreement, xrr
from dissensus.stats.distance import Distance
from dissensus.stats.result import Estimate

Statistic = Callable[[Counts, Counts], Estimate]
STATISTICS = [xrr, normalised_xrr, cross_negentropy, voting_agreement]


def _pair(example: published.CrossGroup) -> tuple[Counts, Counts]:
    return np.array(example.counts_x), np.array(example.counts_y)


def test_xrr_of_the_java_unit_test() -> None:
    result = xrr(*_pair(published.XRR_UNIT_TEST))
    values = published.XRR_UNIT_TEST.values
    assert result.observed is not None
    assert result.expected is not None
    assert round(result.estimate, 10) == values["xrr"]
    assert round(result.observed, 10) == values["observed"]
    assert round(result.expected, 10) == values["expected"]


def test_items_of_one_group_alone_do_not_enter_xrr() -> None:
    x, y = _pair(published.XRR_UNIT_TEST)
    shared = xrr(x, y)
    longer = np.concatenate([x, published.XRR_UNSHARED_ITEMS])
    result = xrr(longer, np.pad(y, ((0, 2), (0, 0))))
    assert (result.estimate, result.observed, result.expected) == (
        shared.estimate,
        shared.observed,
        shared.expected,
    )
    assert (result.n_items, result.n_dropped, result.n_ratings) == (5, 2, shared.n_ratings)
    assert shared.n_ratings == x.sum() + y.sum()


def test_grasp_toy() -> None:
    x, y = _pair(published.GRASP_TOY)
    values = published.GRASP_TOY.values
    assert round(xrr(x, y).estimate, 10) == values["xrr"]
    assert round(cross_negentropy(x, y).estimate, 10) == values["cross_negentropy"]
    assert round(voting_agreement(x, y).estimate, 10) == values["voting_agreement"]
    expected = values["xrr"] / math.sqrt(values["alpha_x"] * values["alpha_y"])
    assert normalised_xrr(x, y).estimate == pytest.approx(expected, abs=1e-9)  # of three ten-digit values


@quick
@given(stacks())
def test_nominal_xrr_oracle(pair: Counts) -> None:
    x, y = pair
    assert_same(lambda: xrr(x, y), lambda: oracle.xrr(x.tolist(), y.tolist()))


@quick
@given(data=st.data())
def test_interval_xrr_oracle(data: st.DataObject) -> None:
    x, y = data.draw(stacks())
    values = data.draw(values_for(x.shape[1]))
    distance = agreement.interval([Fraction(value) for value in values.tolist()])
    assert_same(
        lambda: xrr(x, y, level="interval", values=values),
        lambda: oracle.xrr(x.tolist(), y.tolist(), distance),
    )


@quick
@given(stacks())
def test_xrr_with_a_callable_distance(pair: Counts) -> None:
    x, y = pair
    assert_same(
        lambda: xrr(x, y, level=lambda a, b: np.abs(a - b)),
        lambda: oracle.xrr(x.tolist(), y.tolist(), lambda a, b: Fraction(abs(a - b))),
    )


@quick
@given(stacks())
def test_other_oracles(pair: Counts) -> None:
    x, y = pair
    shared = (x.sum(axis=1) > 0) & (y.sum(axis=1) > 0)
    for result in (
        assert_same(lambda: voting_agreement(x, y), lambda: oracle.voting_agreement(x.tolist(), y.tolist())),
        assert_same(lambda: cross_negentropy(x, y), lambda: oracle.cross_negentropy(x.tolist(), y.tolist())),
        assert_same(
            lambda: cross_negentropy(x, y, smoothing=0.5),
            lambda: oracle.cross_negentropy(x.tolist(), y.tolist(), 0.5),
        ),
    ):
        if result is not None:
            assert (result.n_items, result.n_dropped) == (shared.sum(), (~shared).sum())


@quick
@given(stacks())
def test_normalised_xrr_oracle(pair: Counts) -> None:
    x, y = pair

    def expected() -> float:
        kappa, product = oracle.normalised_xrr_squared(x.tolist(), y.tolist())
        if product <= 0 or agreement.alpha(x.tolist()).value <= 0:
            raise ZeroDivisionError
        return float(kappa) / math.sqrt(product)

    assert_same(lambda: normalised_xrr(x, y), expected)


@quick
@given(stacks())
def test_xrr_is_symmetric(pair: Counts) -> None:
    x, y = pair
    assert_equal_outcomes(lambda: xrr(x, y), lambda: xrr(y, x))
    assert_equal_outcomes(lambda: xrr(x, y, level="interval"), lambda: xrr(y, x, level="interval"))
    assert_equal_outcomes(lambda: normalised_xrr(x, y), lambda: normalised_xrr(y, x))
    assert_equal_outcomes(lambda: voting_agreement(x, y), lambda: voting_agreement(y, x))


def test_cross_negentropy_is_not_symmetric() -> None:
    """A unanimous group against a split group, and conversely (a zero term is left out)."""
    one_voice, split = np.array([[4, 0]]), np.array([[2, 2]])
    assert cross_negentropy(one_voice, split).estimate == close(0.0)
    assert cross_negentropy(split, one_voice).estimate == close(math.log(2))


@quick
@given(data=st.data())
def test_order_of_items_and_items_not_shared_do_not_matter(data: st.DataObject) -> None:
    pair = data.draw(stacks())
    order = data.draw(st.permutations(range(pair.shape[1])))
    padded = np.pad(pair[:, order], ((0, 0), (0, 2), (0, 0)))
    padded[0, -1, 0] = 2  # only X has rated the last item
    for statistic in (xrr, cross_negentropy, voting_agreement):
        assert_equal_outcomes(partial(statistic, *padded), partial(statistic, *pair))


@quick
@given(data=st.data())
def test_nominal_statistics_do_not_depend_on_category_names(data: st.DataObject) -> None:
    pair = data.draw(stacks())
    order = data.draw(st.permutations(range(pair.shape[2])))
    for statistic in (xrr, normalised_xrr, cross_negentropy):  # voting breaks ties by code
        assert_equal_outcomes(partial(statistic, *pair[:, :, order]), partial(statistic, *pair))


@quick
@given(complete_tables())
def test_xrr_of_a_group_with_its_copy(counts: Counts) -> None:
    """Unlike alpha, xrr pairs a rating with its own copy and draws chance with replacement.

    With m raters for each item and n ratings: 1 - xrr = (1 - alpha) (m - 1)/m n/(n - 1).
    """
    m, n = int(counts[0].sum()), int(counts.sum())
    alpha = outcome(lambda: krippendorff_alpha(counts))
    if alpha is None:
        with pytest.raises(UndefinedEstimate, match="always gave the same answer"):
            xrr(counts, counts)
    else:
        assert 1 - xrr(counts, counts).estimate == close((1 - alpha) * (m - 1) / m * n / (n - 1))


def test_perfect_and_opposite_groups() -> None:
    x, y = np.array([[3, 0], [0, 3]]), np.array([[0, 2], [2, 0]])
    assert xrr(x, x).estimate == 1.0
    assert xrr(x, y).estimate == -1.0
    assert normalised_xrr(x, y).estimate == -1.0
    assert voting_agreement(x, x).estimate == 1.0
    assert voting_agreement(x, y).estimate == close(-0.5)  # alpha of two voters, n = 4: D_o = 1, D_e = 2/3


def test_normalised_xrr_may_exceed_one() -> None:
    """Groups that agree more with each other than within; values are not clipped."""
    x = np.array([[4, 2], [2, 4], [4, 2], [1, 5]])
    assert normalised_xrr(x, x).estimate > 1


def test_xrr_of_large_groups_does_not_overflow() -> None:
    """Fifty thousand ratings a group: their product exceeds 32 bits (and 4e6 × 4e6 is far from 64)."""
    small = published.XRR_UNIT_TEST
    x, y = np.array(small.counts_x) * 1_000_000, np.array(small.counts_y) * 1_000_000
    # proportional counts give the same weights and the same shares
    assert xrr(x.astype(np.int32), y.astype(np.int32)).estimate == close(Fraction(2, 11))


@quick
@given(stacks(1))
def test_cross_negentropy_with_itself_is_negentropy(stack: Counts) -> None:
    counts = stack[0]
    assert_equal_outcomes(lambda: cross_negentropy(counts, counts), lambda: negentropy(counts))


@quick
@given(stacks())
def test_no_other_group_explains_a_group_better_than_itself(pair: Counts) -> None:
    """Gibbs: sum p ln q <= sum p ln p if no term is left out."""
    x, y = pair[0] + (pair[0].sum(axis=1, keepdims=True) == 0), pair[1] + 1
    assert cross_negentropy(x, y).estimate <= negentropy(x).estimate + 1e-12  # rounding


def test_cross_negentropy_by_scipy() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.multinomial(9, [0.5, 0.3, 0.2], size=15), rng.multinomial(20, [0.4, 0.4, 0.2], size=15) + 1
    cross_entropy = entropy(x / 9, axis=1) + entropy(x / 9, y / 23, axis=1)
    assert cross_negentropy(x, y).estimate == close(float(math.log(3) - cross_entropy.mean()))


def test_smoothing_makes_an_impossible_answer_merely_unlikely() -> None:
    x, y = np.array([[1, 1]]), np.array([[3, 0]])
    assert cross_negentropy(x, y).estimate == close(math.log(2))  # ln 1 / 2, and the infinite term left out
    smoothed = cross_negentropy(x, y, smoothing=1.0).estimate
    assert smoothed == close(math.log(2) + (math.log(4 / 5) + math.log(1 / 5)) / 2)


def test_ties_vote_for_the_smallest_code() -> None:
    """X ties on both items: it votes 0 and 1, as Y does without a tie."""
    x, y = np.array([[2, 2, 0], [0, 3, 3]]), np.array([[3, 0, 0], [0, 1, 0]])
    result = voting_agreement(x, y)
    assert result.estimate == 1.0
    assert result.ties == 2


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param([[2, 0], [0, 0]], [[0, 0], [0, 2]], id="no shared item"),
        pytest.param([[0, 0]], [[0, 0]], id="nobody rated"),
    ],
)
def test_undefined(statistic: Statistic, x: list[list[int]], y: list[list[int]]) -> None:
    with pytest.raises(UndefinedEstimate, match=NO_SHARED_ITEM):
        statistic(np.array(x), np.array(y))


@pytest.mark.parametrize("statistic", [xrr, normalised_xrr, voting_agreement])
def test_one_answer_everywhere_is_undefined(statistic: Statistic) -> None:
    with pytest.raises(UndefinedEstimate, match="the same answer"):
        statistic(np.array([[2, 0], [3, 0]]), np.array([[1, 0], [4, 0]]))


def test_normalising_needs_two_positive_reliabilities() -> None:
    agreed, opposed = np.array([[2, 0], [0, 2]]), np.array([[1, 1], [1, 1]])
    with pytest.raises(UndefinedEstimate, match="both must be positive"):
        normalised_xrr(agreed, opposed)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        pytest.param([[1, 1]], [[1, -1]], "cannot be negative", id="negative"),
        pytest.param([[1, 1]], [[1, 1, 1]], "the same items and answers", id="other categories"),
        pytest.param([[1, 1]], [[1, 1], [1, 1]], "the same items and answers", id="other items"),
        pytest.param([1, 1], [1, 1], "has 1 dimensions", id="one dimension"),
        pytest.param([[1, 1]], [[0.5, 1]], "whole numbers of raters", id="not integer"),
    ],
)
def test_malformed(statistic: Statistic, x: list[list[float]], y: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        statistic(np.array(x), np.array(y))


def test_malformed_options() -> None:
    x = np.array([[1, 1], [2, 0]])
    with pytest.raises(InvalidInput, match="level is 'polar'"):
        xrr(x, x, level="polar")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="level is 'ratio'"):
        xrr(x, x, level="ratio")
    with pytest.raises(InvalidInput, match="2 categories need"):
        xrr(x, x, level="interval", values=np.array([1.0]))
    with pytest.raises(InvalidInput, match=r"smoothing is -0\.1"):
        cross_negentropy(x, x, smoothing=-0.1)


@pytest.mark.parametrize(
    "distance",
    [
        pytest.param(lambda a, b: (a < b).astype(float), id="not symmetric"),
        pytest.param(lambda a, b: -(a != b).astype(float), id="negative"),
        pytest.param(lambda a, b: np.where(a != b, np.nan, 0.0), id="not a number"),
        pytest.param(lambda a, b: a + b + 1, id="to itself"),
        pytest.param(lambda a, b: np.ones(3), id="shape"),
    ],
)
def test_functions_that_are_no_distance_are_refused(distance: Distance) -> None:
    with pytest.raises(InvalidInput, match="The distance"):
        xrr([[1, 1], [2, 0]], [[1, 1], [0, 2]], level=distance)
    with pytest.raises(InvalidInput, match="The distance"):
        krippendorff_alpha_long([0, 0, 1, 1], [1, 2, 3, 4], level=distance)
