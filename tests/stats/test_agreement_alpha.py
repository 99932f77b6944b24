"""Krippendorff's alpha: published values, oracle, two libraries, invariances and undefined cases."""

from fractions import Fraction
from functools import partial

import evalica
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import binary_distance, interval_distance
from tests.oracles import agreement as oracle
from tests.reference import published
from tests.stats.compare import assert_equal_outcomes, assert_same, close, outcome
from tests.strategies import Counts, Floats, complete_tables, quick, tables, values_for

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import NO_PAIR, ONE_CATEGORY, krippendorff_alpha
from dissensus.stats.counts import count_matrix
from dissensus.stats.distance import Level

LEVELS: list[Level] = ["nominal", "ordinal", "interval", "ratio"]


def _counts(example: published.Agreement) -> Counts:
    return np.asarray(count_matrix(np.array(example.matrix), n_categories=len(example.values)), np.int64)


@pytest.mark.parametrize(
    ("name", "level"),
    [(name, level) for name, example in published.AGREEMENTS.items() for level in example.alpha],
)
def test_published(name: str, level: Level) -> None:
    example = published.AGREEMENTS[name]
    result = krippendorff_alpha(_counts(example), level=level, values=np.array(example.values))
    assert round(result.estimate, example.digits) == example.alpha[level]
    assert result.level == level


@pytest.mark.parametrize("level", LEVELS)
@quick
@given(data=st.data())
def test_oracle(level: Level, data: st.DataObject) -> None:
    counts = data.draw(tables())
    values = data.draw(values_for(counts.shape[1]))
    table, exact = counts.tolist(), [Fraction(value) for value in values.tolist()]
    distance = {
        "nominal": oracle.nominal,
        "ordinal": oracle.ordinal(table),
        "interval": oracle.interval(exact),
        "ratio": oracle.ratio(exact),
    }[level]
    result = assert_same(
        lambda: krippendorff_alpha(counts, level=level, values=values), lambda: oracle.alpha(table, distance)
    )
    if result is not None:
        ratings_per_item = counts.sum(axis=1)
        assert result.n_items == (ratings_per_item >= 2).sum()
        assert result.n_dropped == (ratings_per_item < 2).sum()
        assert result.n_ratings == ratings_per_item[ratings_per_item >= 2].sum()


@quick
@given(tables())
def test_values_are_the_codes_by_default(counts: Counts) -> None:
    codes = np.arange(counts.shape[1], dtype=float)
    for level in LEVELS:  # ratio has a true zero among the codes here
        assert_equal_outcomes(
            partial(krippendorff_alpha, counts, level=level),
            partial(krippendorff_alpha, counts, level=level, values=codes),
        )


@quick
@given(tables())
def test_a_callable_may_be_the_distance(counts: Counts) -> None:
    """Linear instead of squared differences: no named level has it."""

    def linear(a: Floats, b: Floats) -> Floats:
        return np.abs(a - b)

    assert_same(
        lambda: krippendorff_alpha(counts, level=linear),
        lambda: oracle.alpha(counts.tolist(), lambda a, b: Fraction(abs(a - b))),
    )


@quick
@given(data=st.data())
def test_a_callable_equal_to_a_level_gives_that_level(data: st.DataObject) -> None:
    counts = data.draw(tables())
    values = data.draw(values_for(counts.shape[1]))
    assert_equal_outcomes(
        lambda: krippendorff_alpha(counts, level=lambda a, b: (a - b) ** 2, values=values),
        lambda: krippendorff_alpha(counts, level="interval", values=values),
    )


def _random_matrix(seed: int, *, missing: float) -> Floats:
    """Raters × items, codes 0 to 3 around a common item effect."""
    rng = np.random.default_rng(seed)
    answers = np.clip(rng.integers(0, 4, size=12) + rng.integers(-1, 2, size=(5, 12)), 0, 3).astype(float)
    answers[rng.random(answers.shape) < missing] = np.nan
    matrix: Floats = answers
    return matrix


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_evalica(level: Level, missing: float) -> None:
    for seed in range(5):
        matrix = _random_matrix(seed, missing=missing)
        expected = evalica.alpha(pd.DataFrame(matrix), distance=level)
        alpha = krippendorff_alpha(count_matrix(matrix, n_categories=4), level=level)
        assert alpha.estimate == close(expected.alpha)
        # observed and expected are totals there and means here
        assert alpha.observed is not None
        assert alpha.expected is not None
        assert alpha.observed / alpha.expected == close(expected.observed / expected.expected)


@pytest.mark.parametrize(("level", "distance"), [("nominal", binary_distance), ("interval", interval_distance)])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_nltk(level: Level, distance: object, missing: float) -> None:
    for seed in range(5):
        matrix = _random_matrix(seed, missing=missing)
        triples = [(rater, item, int(answer)) for (rater, item), answer in np.ndenumerate(matrix) if answer == answer]
        expected = AnnotationTask(data=triples, distance=distance).alpha()
        assert krippendorff_alpha(count_matrix(matrix), level=level).estimate == close(expected)


@quick
@given(data=st.data())
def test_nominal_alpha_does_not_depend_on_category_names(data: st.DataObject) -> None:
    counts = data.draw(tables())
    order = data.draw(st.permutations(range(counts.shape[1])))
    assert_equal_outcomes(
        lambda: krippendorff_alpha(counts[:, order]),
        lambda: krippendorff_alpha(counts),
    )


@pytest.mark.parametrize("level", ["nominal", "interval", "ratio"])
@quick
@given(data=st.data())
def test_columns_may_stand_in_any_order_with_their_values(level: Level, data: st.DataObject) -> None:
    counts = data.draw(tables())
    values = data.draw(values_for(counts.shape[1]))
    order = data.draw(st.permutations(range(counts.shape[1])))
    assert_equal_outcomes(
        lambda: krippendorff_alpha(counts[:, order], level=level, values=values[order]),
        lambda: krippendorff_alpha(counts, level=level, values=values),
    )


@pytest.mark.parametrize("level", LEVELS)
@quick
@given(data=st.data())
def test_item_order_unrated_items_and_unused_categories_do_not_matter(level: Level, data: st.DataObject) -> None:
    counts = data.draw(tables())
    n_items, n_categories = counts.shape
    order = data.draw(st.permutations(range(n_items)))
    padded = np.zeros((n_items + 2, n_categories + 1), dtype=np.int64)
    padded[:n_items, :n_categories] = counts[order]
    if outcome(lambda: krippendorff_alpha(counts, level=level)) is None:
        with pytest.raises(UndefinedEstimate, match="alpha is undefined"):
            krippendorff_alpha(padded, level=level)
        return
    plain = krippendorff_alpha(counts, level=level)
    with_padding = krippendorff_alpha(padded, level=level)
    assert with_padding.estimate == close(plain.estimate)
    assert with_padding.n_dropped == plain.n_dropped + 2
    assert (with_padding.n_items, with_padding.n_ratings) == (plain.n_items, plain.n_ratings)


@quick
@given(data=st.data())
def test_ordinal_alpha_depends_on_the_order_of_values_only(data: st.DataObject) -> None:
    counts = data.draw(tables())
    values = data.draw(values_for(counts.shape[1]))
    assert_equal_outcomes(
        lambda: krippendorff_alpha(counts, level="ordinal", values=values**3 - 100),
        lambda: krippendorff_alpha(counts, level="ordinal"),
    )


@quick
@given(data=st.data(), shift=st.integers(-50, 50), scale=st.sampled_from([-2.0, 0.5, 3.0]))
def test_interval_ignores_origin_and_unit(data: st.DataObject, shift: int, scale: float) -> None:
    counts = data.draw(tables())
    values = data.draw(values_for(counts.shape[1]))
    assert_equal_outcomes(
        lambda: krippendorff_alpha(counts, level="interval", values=shift + scale * values),
        lambda: krippendorff_alpha(counts, level="interval", values=values),
    )


@quick
@given(data=st.data(), scale=st.sampled_from([0.25, 7.0]))
def test_ratio_ignores_the_unit(data: st.DataObject, scale: float) -> None:
    counts = data.draw(tables())
    values = data.draw(values_for(counts.shape[1]))
    assert_equal_outcomes(
        lambda: krippendorff_alpha(counts, level="ratio", values=scale * values),
        lambda: krippendorff_alpha(counts, level="ratio", values=values),
    )


@quick
@given(tables(max_categories=2))
def test_two_categories_have_one_level(counts: Counts) -> None:
    """With two categories every distance is 0 or a constant."""
    for level in LEVELS[1:]:
        assert_equal_outcomes(partial(krippendorff_alpha, counts, level=level), partial(krippendorff_alpha, counts))


@quick
@given(complete_tables(n_raters=2))
def test_two_raters_give_scotts_pi_corrected_for_small_samples(counts: Counts) -> None:
    """Scott (1955) takes chance from the same shares with replacement: 1 - alpha = (1 - pi)(n - 1)/n."""
    n = counts.sum()
    shares = counts.sum(axis=0) / n
    chance = 1 - (shares**2).sum()
    agreed = (counts.max(axis=1) == 2).mean()
    if (counts.sum(axis=0) > 0).sum() < 2:
        with pytest.raises(UndefinedEstimate, match="gave the same answer"):
            krippendorff_alpha(counts)
    else:
        alpha = krippendorff_alpha(counts).estimate
        assert 1 - alpha == close((1 - agreed) / chance * (n - 1) / n)


def test_perfect_agreement_is_exactly_one() -> None:
    assert krippendorff_alpha(np.array([[3, 0, 0], [0, 0, 3], [0, 2, 0]])).estimate == 1.0


def test_systematic_disagreement_is_negative_and_not_clipped() -> None:
    """Two raters who never agree on two categories: D_o = 1, D_e = 2/3."""
    assert krippendorff_alpha(np.array([[1, 1], [1, 1]])).estimate == close(-0.5)


def test_single_ratings_leave_the_chance_distribution_alone() -> None:
    """A single rating is not pairable, so it does not change the shares (Krippendorff 2011, section C)."""
    pairs = np.array([[2, 0], [1, 1], [0, 2]])
    expected_counts = np.array([[2, 0], [1, 1], [0, 2], [1, 0], [1, 0]])
    assert krippendorff_alpha(expected_counts).estimate == krippendorff_alpha(pairs).estimate
    assert krippendorff_alpha(expected_counts).n_dropped == 2


def test_large_counts_do_not_overflow() -> None:
    """Four million raters an item: n squared times an ordinal distance is near 4e27, far beyond 64 bits."""
    counts = np.array([[3, 1], [1, 3]]) * 1_000_000
    # D_o = 3/8 m/(m - 1) and D_e = 1/2 n/(n - 1): alpha is 1/4 up to terms of the order of 1/m
    for level in LEVELS:
        assert krippendorff_alpha(counts, level=level).estimate == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        pytest.param([[0, 0], [0, 0]], NO_PAIR, id="nobody rated"),
        pytest.param([[1, 0], [0, 1]], NO_PAIR, id="one rating per item"),
        pytest.param([[2, 0], [3, 0]], ONE_CATEGORY, id="one category used"),
        pytest.param([[2, 0], [0, 1]], ONE_CATEGORY, id="one category used by pairable items"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_undefined(counts: list[list[int]], reason: str, level: Level) -> None:
    with pytest.raises(UndefinedEstimate, match=reason):
        krippendorff_alpha(np.array(counts), level=level)


def test_alpha_of_equal_values_is_undefined() -> None:
    with pytest.raises(UndefinedEstimate, match=ONE_CATEGORY):
        krippendorff_alpha(np.array([[1, 1], [2, 0]]), level="interval", values=np.array([1.0, 1.0]))


def test_no_items() -> None:
    with pytest.raises(UndefinedEstimate, match=NO_PAIR):
        krippendorff_alpha(np.zeros((0, 3), dtype=np.int64))


@pytest.mark.parametrize(
    ("counts", "options", "message"),
    [
        pytest.param([[1, -1]], {}, "cannot be negative", id="negative"),
        pytest.param([1, 2], {}, "has 1 dimensions", id="one dimension"),
        pytest.param([[[1, 2]]], {}, "has 3 dimensions", id="three dimensions"),
        pytest.param([[1.5, 2.0]], {}, "whole numbers of raters", id="not integer"),
        pytest.param([[1.0, np.nan]], {}, "there is NaN", id="nan"),
        pytest.param([[1, 2]], {"level": "polar"}, "level is 'polar'", id="unknown level"),
        pytest.param(
            [[1, 2]], {"level": "interval", "values": np.array([1.0])}, "2 categories need", id="values too short"
        ),
        pytest.param(
            [[1, 2]], {"level": "interval", "values": np.array([1.0, np.nan])}, "finite numbers", id="values with nan"
        ),
        pytest.param(
            [[1, 2]], {"level": "ordinal", "values": np.array([2.0, 1.0])}, "strictly increasing", id="order reversed"
        ),
        pytest.param(
            [[1, 2]], {"level": "ordinal", "values": np.array([1.0, 1.0])}, "strictly increasing", id="no order"
        ),
        pytest.param(
            [[1, 2]], {"level": "ratio", "values": np.array([-1.0, 1.0])}, "cannot be negative", id="ratio below zero"
        ),
        pytest.param([[1, 2]], {"level": lambda a, b: a - b}, "symmetric", id="distance not symmetric"),
        pytest.param(
            [[1, 2]], {"level": lambda a, b: a + b + 1}, "zero between equal answers", id="distance to itself"
        ),
    ],
)
def test_malformed(counts: list[list[float]], options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        krippendorff_alpha(np.array(counts), **options)  # type: ignore[arg-type]
