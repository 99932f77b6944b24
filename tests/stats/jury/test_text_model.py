"""Model of the answers of people: recovery of planted reactions, calibration, and texts without signal."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import ndtr

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.jury.model import TextAnswers, fit_answer_model, fit_text_model
from dissensus.stats.jury.verdict import count_votes, decide_verdicts

N_ITEMS, N_RATERS, N_NEW = 200, 60, 300
THRESHOLDS = np.array([0.2, 0.9])
CELLS = np.eye(2, dtype=bool)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """Simulated ratings, and unseen texts with the true share of each answer in each group."""

    ratings: TextAnswers
    unseen: np.ndarray
    shares: np.ndarray  # Shape (N_NEW, 2, 3)


def simulate(*, signal: float, rater_sd: float = 0.3, item_sd: float = 0.3) -> Planted:
    """Let all people react to the first feature, and one group alone to the second."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(N_ITEMS + N_NEW, 12))
    residual = item_sd * rng.normal(size=N_ITEMS + N_NEW)
    locations = (
        signal * features[:, :1]
        + residual[:, None]
        + np.stack([np.zeros(len(features)), 0.4 + signal * features[:, 1]], axis=1)
    )
    items, raters = np.divmod(np.arange(N_ITEMS * N_RATERS), N_RATERS)
    group = (np.arange(N_RATERS) >= N_RATERS // 2).astype(np.int64)
    own = rater_sd * rng.normal(size=N_RATERS)
    answers = np.digitize(locations[items, group[raters]] + own[raters] + rng.normal(size=len(items)), THRESHOLDS)
    ratings = TextAnswers(
        answers=answers,
        n_answers=3,
        items=items,
        raters=raters,
        features=features[:N_ITEMS],
        blocks=np.zeros(12, np.int64),
        groups=group[None],
        n_groups=(2,),
    )
    drawn = locations[N_ITEMS:, :, None] + np.hypot(1, rater_sd) * rng.normal(size=(N_NEW, 2, 2000))
    answered = np.digitize(drawn, THRESHOLDS)
    return Planted(
        ratings=ratings,
        unseen=features[N_ITEMS:],
        shares=np.stack([(answered == k).mean(axis=2) for k in range(3)], axis=2),
    )


def loss(shares: np.ndarray, predicted: np.ndarray) -> float:
    """Expected log-loss of predicted shares, over texts and groups."""
    return float(-(shares * np.log(predicted)).sum(axis=2).mean())


@pytest.fixture(scope="module")
def planted() -> Planted:
    return simulate(signal=0.8)


def test_predicts_the_distribution_of_each_group_on_unseen_texts(planted: Planted) -> None:
    model = fit_text_model(planted.ratings)
    locations = model.locate(planted.unseen)
    predicted = locations.distributions(CELLS)

    assert np.abs(predicted - planted.shares).mean() < 0.06
    assert np.abs((predicted - planted.shares).mean(axis=0)).max() < 0.04
    assert model.weights[:, :2].round(1)[0, 0] == pytest.approx(0.8, abs=0.15)
    between = (model.contrasts.express(CELLS[1:]) - model.contrasts.express(CELLS[:1])) @ model.weights[1:]
    assert between[0, 1] == pytest.approx(0.8, abs=0.2)

    item_blind = np.stack(
        [np.bincount(planted.ratings.answers[planted.ratings.raters // 30 == g], minlength=3) for g in range(2)]
    )
    blind = np.broadcast_to(item_blind / item_blind.sum(axis=1, keepdims=True), predicted.shape)
    plurality = np.array([np.bincount(row).argmax() for row in planted.ratings.answers.reshape(N_ITEMS, -1)])
    labels = fit_answer_model(plurality, 3, planted.ratings.features, planted.ratings.blocks)
    of_labels = labels.locate(planted.unseen).distributions(np.zeros((2, 0), bool))
    assert loss(planted.shares, predicted) < loss(planted.shares, blind) - 0.1
    assert loss(planted.shares, predicted) < loss(planted.shares, of_labels) - 0.1
    assert loss(planted.shares, predicted) < loss(planted.shares, planted.shares.clip(1e-9)) + 0.03

    draws = locations.draw(CELLS, 400, np.random.default_rng(0))[..., 2]
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    covered = ((low <= planted.shares[..., 2]) & (planted.shares[..., 2] <= high)).mean()
    assert 0.84 < covered < 0.96
    assert np.abs(draws.mean(axis=0) - predicted[..., 2]).max() < 0.06


@pytest.mark.slow
def test_variances_are_recovered_and_intervals_of_shares_cover() -> None:
    """Simulate from the model: 120 items with 10 of 30 raters each, and two answers."""
    coverage, estimates = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(180, 4))
        of_groups = rng.normal(0, 0.25, (4, 2))
        shared = features @ rng.normal(0, 0.4, 4) + rng.normal(0, 0.5, 180)
        locations = shared[:, None] + features @ of_groups + rng.normal(0, 0.3, (180, 2)) + [0.2, -0.2]
        group, own = np.arange(30) % 2, rng.normal(0, 0.6, 30)
        raters = np.argsort(rng.random((120, 30)), axis=1)[:, :10].ravel()
        items = np.repeat(np.arange(120), 10)
        answers = locations[items, group[raters]] + own[raters] + rng.normal(size=len(items)) > 0.5
        model = fit_text_model(
            TextAnswers(
                answers=answers.astype(np.int64),
                n_answers=2,
                items=items,
                raters=raters,
                features=features[:120],
                blocks=np.zeros(4, np.int64),
                groups=group[None],
                n_groups=(2,),
            )
        )
        assert model.converged
        draws = model.locate(features[120:]).draw(CELLS, 500, np.random.default_rng(0))[..., 1]
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        shares = ndtr((locations[120:] - 0.5) / np.hypot(1, 0.6))
        coverage.append(((low <= shares) & (shares <= high)).mean())
        estimates.append([*model.residuals, model.rater_variance])
    assert np.mean(coverage) > 0.9
    # Of a text on all people, on the contrast of two groups, and between raters
    assert np.mean(estimates, axis=0) == pytest.approx([0.25 + 0.09 / 2, 0.09, 0.36], rel=0.25)


def test_texts_without_signal_leave_the_level_of_each_group() -> None:
    planted = simulate(signal=0.0)
    model = fit_text_model(planted.ratings)
    predicted = model.locate(planted.unseen).distributions(CELLS)
    assert predicted.std(axis=0).max() < 0.02
    assert np.abs(predicted.mean(axis=0) - planted.shares.mean(axis=0)).max() < 0.05


def test_the_same_ratings_in_another_order_give_the_same_model(planted: Planted) -> None:
    ratings = planted.ratings
    order = np.random.default_rng(1).permutation(len(ratings.answers))
    shuffled = TextAnswers(
        answers=ratings.answers[order],
        n_answers=3,
        items=ratings.items[order],
        raters=ratings.raters[order],
        features=ratings.features,
        blocks=ratings.blocks,
        groups=ratings.groups,
        n_groups=(2,),
    )
    first, second = fit_text_model(ratings), fit_text_model(shuffled)
    assert np.allclose(first.weights, second.weights, atol=1e-6)


def test_one_answer_alone_teaches_nothing() -> None:
    with pytest.raises(UndefinedEstimate, match="All answers are the same"):
        fit_answer_model(np.zeros(4, np.int64), 3, np.zeros((4, 1)), np.zeros(1, np.int64))


def test_votes_equal_an_enumeration() -> None:
    seats = np.array([0.1, 0.5, 0.8])
    expected = np.zeros(4)
    for votes in np.ndindex(2, 2, 2):
        expected[sum(votes)] += np.prod(np.where(votes, seats, 1 - seats))
    assert count_votes(seats) == pytest.approx(expected)


@pytest.mark.parametrize("at_least", [0.2, 1 / 3, 0.5, 1.0])
def test_verdicts_equal_an_enumeration(at_least: float) -> None:
    rng = np.random.default_rng(1)
    seats, groups = rng.random((4, 3, 6)), rng.random((4, 3, 2))
    groups[0, :, 0] = at_least
    unsafe = np.zeros((4, 3))
    for votes in np.ndindex(2, 2, 2, 2, 2, 2):
        if sum(votes) >= at_least * 6:
            unsafe += np.where(votes, seats, 1 - seats).prod(axis=2)
    verdicts = decide_verdicts(seats, groups, at_least=at_least)
    assert verdicts.unsafe == pytest.approx(unsafe.mean(axis=0))
    assert verdicts.differ == pytest.approx((unsafe * (1 - unsafe) + (1 - unsafe) * unsafe).mean(axis=0))
    overruled = np.abs((groups >= at_least) - unsafe[..., None])
    assert verdicts.overruled == pytest.approx(overruled.mean(axis=0))


@pytest.mark.parametrize(("n_unsafe", "verdict"), [(10, 0), (11, 1)])
def test_a_share_of_votes_that_equals_the_threshold_reaches_it(n_unsafe: int, verdict: int) -> None:
    """11 of 20 votes are 55 %, although .55 × 20 is above 11 in floating-point numbers."""
    seats = (np.arange(20) < n_unsafe).astype(float)
    assert decide_verdicts(seats[None, None], np.zeros((1, 1, 1)), at_least=0.55).unsafe.tolist() == [verdict]


def test_juries_of_a_divided_group_differ_and_those_of_a_united_one_do_not() -> None:
    divided = decide_verdicts(np.full((1, 1, 11), 0.5), np.full((1, 1, 1), 0.5))
    assert divided.differ[0] == pytest.approx(0.5)
    united = decide_verdicts(np.full((1, 1, 12), 1.0), np.array([[[1.0, 0.0]]]))
    assert (united.unsafe[0], united.differ[0], united.overruled[0].tolist()) == (1.0, 0.0, [0.0, 1.0])
    # A group whose opinion is uncertain between draws has juries that agree with each other
    uncertain = decide_verdicts(np.array([[[1.0] * 12], [[0.0] * 12]]), np.array([[[1.0]], [[0.0]]]))
    assert (uncertain.unsafe[0], uncertain.differ[0], uncertain.overruled[0, 0]) == (0.5, 0.0, 0.0)


@pytest.mark.parametrize(("n_seats", "at_least", "message"), [(0, 0.5, "no seats"), (12, 0.0, "at_least is 0")])
def test_refuses_juries_of_nobody_and_thresholds_that_are_none(n_seats: int, at_least: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        decide_verdicts(np.full((1, 1, n_seats), 0.5), np.full((1, 1, 1), 0.5), at_least=at_least)
