"""Simulated ratings of a balanced pool."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse import analyse, group_divergence
from dissensus.pipeline.simulate import draw_answers, simulate_ratings
from dissensus.pipeline.simulate.items import draw_item_texts
from dissensus.pipeline.simulate.latent import allot_counts, normal_scores, related_scores


def test_the_same_seed_gives_the_same_ratings() -> None:
    first, second, third = (simulate_ratings(n_items=30, raters_per_cell=3, seed=seed) for seed in (4, 4, 5))
    assert first.answers.equals(second.answers)
    assert not first.answers.equals(third.answers)


def test_the_pool_is_balanced() -> None:
    ratings = simulate_ratings(n_items=5, raters_per_cell=4)
    cells = ratings.raters.group_by("rater_gender", "rater_age").len()
    assert cells.height == 6
    assert set(cells["len"]) == {4}
    assert (ratings.n_ratings, ratings.n_items, ratings.n_raters) == (24 * 5, 5, 24)


def test_shares_of_answers_are_about_those_of_dices() -> None:
    """.61, .06, .33 of 35,700 answers that depend on few raters and items: the mean of ten pools, within .03."""
    shares = [
        simulate_ratings(seed=seed).answers["Q_overall"].value_counts(normalize=True).sort("Q_overall")["proportion"]
        for seed in range(10)
    ]
    assert np.mean(shares, axis=0) == pytest.approx([0.61, 0.06, 0.33], abs=0.03)


def test_group_effects_raise_the_divergence() -> None:
    estimates = [
        group_divergence(simulate_ratings(n_items=100, raters_per_cell=8, group_sd=sd, seed=1), "age").estimate
        for sd in (0.0, 0.5, 1.0, 2.0)
    ]
    assert estimates == sorted(estimates)
    assert estimates[-1] > estimates[0] + 0.1


def test_items_that_differ_raise_alpha_and_raters_that_differ_lower_it() -> None:
    def alpha(**options: float) -> float:
        pool = simulate_ratings(n_items=200, raters_per_cell=5, seed=2, **options)
        return next(row.estimate for row in analyse(pool).overall if row.metric == "irr") or 0.0

    assert alpha(item_sd=1.5) > alpha(item_sd=0.5) > alpha(item_sd=0.0)
    assert alpha(rater_sd=0.0) > alpha(rater_sd=1.5)
    assert abs(alpha(item_sd=0.0)) < 0.02


def test_a_share_of_items_is_rated() -> None:
    ratings = simulate_ratings(n_items=100, raters_per_cell=10, share_rated=0.2, seed=0)
    # 6,000 pairs: five standard errors of a share of .2 are .026.
    assert ratings.n_ratings / 6000 == pytest.approx(0.2, abs=0.026)


def test_answers_are_codes_of_raters_by_items() -> None:
    answers = draw_answers(np.random.default_rng(0), np.array([0, 1, 1, 2]), 50)
    assert answers.shape == (4, 50)
    assert set(np.unique(answers)) <= {0, 1, 2}


def test_the_random_stream_does_not_change() -> None:
    """The calibration in the documentation depends on it."""
    answers = draw_answers(np.random.default_rng(7), np.array([0, 1, 1, 2]), 12, group_sd=0.6)
    letters = ["".join(map(str, row)) for row in answers]
    assert letters == ["000200200000", "000200200022", "000200200000", "000200000000"]


def test_ids_sort_as_text_in_the_order_of_their_numbers() -> None:
    items = simulate_ratings(n_items=120, raters_per_cell=1).items["item_id"]
    assert items.to_list() == sorted(items.to_list(), key=lambda name: int(name.split("-")[1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_items": 0}, "n_items is 0; give a whole number, 1 or more."),
        ({"raters_per_cell": 0}, "raters_per_cell is 0; give a whole number, 1 or more."),
        ({"n_items": 2.5}, "n_items is 2.5; give a whole number"),
        ({"seed": -1}, "seed is -1; give a whole number, 0 or more."),
        ({"item_sd": -1.0}, "item_sd is -1.0; give a number from 0."),
        ({"item_sd": float("nan")}, "item_sd is nan"),
        ({"rater_sd": -0.1}, "rater_sd is -0.1"),
        ({"group_sd": -0.1}, "group_sd is -0.1"),
        ({"share_rated": 0.0}, "With share_rated 0.0 there are no ratings; raise it."),
        ({"share_rated": 1.1}, "share_rated is 1.1; give a number from 0 up to 1."),
        ({"n_items": 1, "raters_per_cell": 1, "share_rated": 1e-9}, "With share_rated 1e-09 there are no ratings"),
    ],
)
def test_impossible_campaigns_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        simulate_ratings(**options)  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6).filter(lambda w: sum(w) > 1e-3), st.integers(0, 500))
@quick
def test_allotted_counts_sum_and_are_proportional(weights: list[float], n: int) -> None:
    counts = allot_counts(weights, n)
    assert counts.sum() == n
    assert np.abs(counts - np.array(weights) / sum(weights) * n).max() < 1 + 1e-9


@pytest.mark.parametrize("n", [2, 3, 10, 351])
def test_normal_scores_have_exactly_the_moments_of_a_normal(n: int) -> None:
    scores = normal_scores(n)
    assert scores.mean() == pytest.approx(0, abs=1e-12)
    assert scores.std() == pytest.approx(1)
    assert (np.diff(scores) > 0).all()


@pytest.mark.parametrize("correlation", [-1.0, -0.5, 0.0, 0.7, 1.0])
def test_related_scores_have_the_given_correlation(correlation: float) -> None:
    """5,000 scores: five standard errors of a correlation of 0 are .07."""
    scores = normal_scores(5000)
    related = related_scores(np.random.default_rng(1), scores, correlation)
    assert np.corrcoef(scores, related)[0, 1] == pytest.approx(correlation, abs=0.07)
    assert np.sort(related) == pytest.approx(scores)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(0, 9))
@quick
def test_texts_have_the_given_numbers_and_distinct_pairs(n: int, contexts: int, responses: int, seed: int) -> None:
    contexts, responses = min(n, contexts), min(n, responses)
    context, response = draw_item_texts(np.random.default_rng(seed), n, [3, 2, 1], contexts, responses)
    assert len(set(context)) == contexts
    assert len(set(response)) in {responses, n}
    assert len(set(zip(context, response, strict=True))) == n
