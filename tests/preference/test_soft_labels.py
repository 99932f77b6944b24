"""Soft-label metrics: distance from the shares of raters."""

import json
import math
from dataclasses import astuple, replace

import numpy as np
import pytest
from tests.oracles.preferences import Vote, soft_label_scores
from tests.preference.pairs import simulate_pairs

from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.soft_labels import SoftLabelDistance, evaluate_soft_labels
from dissensus.schema.records.conversation import Turn

ONE = Pair((Turn("human", "Well?"),), "yes", "no", rater="ann")
OTHER = Pair((Turn("human", "And?"),), "a", "b", agreement=0.8)


def estimates(distances: SoftLabelDistance) -> tuple[float, float, float]:
    return distances.distance.estimate, distances.cross_entropy.estimate, distances.error_rate.estimate


def draw_votes(seed: int = 0, comparisons: int = 60) -> tuple[list[Pair], np.ndarray, list[Vote]]:
    """Return votes of two to five raters on each comparison, predicted margins, and both for the oracle."""
    rng = np.random.default_rng(seed)
    pairs, margins, votes = [], [], []
    for number, first in enumerate(simulate_pairs(comparisons, dialogues=20, seed=seed)[0]):
        odds = rng.normal()
        for rater in range(rng.integers(2, 6)):
            by_rater = replace(first, rater=f"r{rater}")
            chosen = bool(rng.random() < 0.6)
            log_odds = odds + 0.3 * rater
            pairs.append(by_rater if chosen else by_rater.swapped())
            margins.append(log_odds if chosen else -log_odds)
            votes.append((str(number), chosen, log_odds))
    return pairs, np.array(margins), votes


def test_two_of_three_by_hand() -> None:
    """A share of 2/3, predicted as 3/4: 2(3/4 - 2/3) = 1/6; the third rater's choice is predicted wrongly."""
    pairs = [ONE, replace(ONE, rater="bo"), replace(ONE, rater="cy").swapped()]
    evaluation = evaluate_soft_labels(pairs, math.log(3) * np.array([1, 1, -1]), np.zeros(3))
    assert evaluation is not None
    assert estimates(evaluation.model) == pytest.approx((1 / 6, math.log(4) - 2 / 3 * math.log(3), 1 / 3))
    assert estimates(evaluation.one_half) == pytest.approx((1 / 3, math.log(2), 1 / 2))
    assert evaluation.entropy == pytest.approx(math.log(3) - 2 / 3 * math.log(2))
    assert (evaluation.n_comparisons, evaluation.n_raters) == (1, 3)
    assert (evaluation.model.distance.ci_low, evaluation.model.distance.clusters) == (None, 1)


def test_shares_by_agreement() -> None:
    evaluation = evaluate_soft_labels([OTHER, ONE], [0.0, 5.0], [math.log(4), 5.0])
    assert evaluation is not None
    assert estimates(evaluation.model) == pytest.approx((0.6, math.log(2), 0.5))
    assert estimates(evaluation.length_alone) == pytest.approx((0, evaluation.entropy, 0.2))
    assert (evaluation.n_comparisons, evaluation.n_raters) == (1, 0)


def test_metrics_equal_those_of_a_loop() -> None:
    pairs, margins, votes = draw_votes()
    evaluation = evaluate_soft_labels(pairs, margins, np.zeros(len(pairs)))
    assert evaluation is not None
    assert estimates(evaluation.model) == pytest.approx(soft_label_scores(votes))
    assert estimates(evaluation.one_half) == pytest.approx(
        soft_label_scores([(c, first, 0.0) for c, first, _ in votes])
    )
    assert (evaluation.model.distance.n, evaluation.model.distance.clusters) == (60, 20)


def test_neither_the_order_of_votes_nor_that_of_answers_makes_a_difference() -> None:
    """Exchanging both answers changes neither metric."""
    pairs, margins, _ = draw_votes(3)
    evaluation = evaluate_soft_labels(pairs, margins, margins / 2)
    swapped = evaluate_soft_labels([pair.swapped() for pair in pairs[::-1]], margins[::-1], margins[::-1] / 2)
    assert evaluation is not None
    assert swapped is not None
    for original, exchanged in ((evaluation.model, swapped.model), (evaluation.length_alone, swapped.length_alone)):
        for measure in ("distance", "cross_entropy", "error_rate"):
            assert astuple(getattr(original, measure)) == pytest.approx(astuple(getattr(exchanged, measure)))
    assert evaluation.entropy == pytest.approx(swapped.entropy)


def test_cross_entropy_is_lowest_for_the_true_shares() -> None:
    pairs, _, votes = draw_votes(1)
    shares = {c: np.mean([first for other, first, _ in votes if other == c]) for c, _, _ in votes}
    odds = {c: float(np.log((t + 1e-12) / (1 - t + 1e-12))) for c, t in shares.items()}
    margins = np.array([odds[c] if first else -odds[c] for c, first, _ in votes])
    evaluation = evaluate_soft_labels(pairs, margins, margins + 0.5)
    assert evaluation is not None
    assert evaluation.model.cross_entropy.estimate == pytest.approx(evaluation.entropy, abs=1e-9)
    assert evaluation.model.distance.estimate == pytest.approx(0, abs=1e-9)
    assert evaluation.length_alone.cross_entropy.estimate > evaluation.entropy


def test_extreme_margins_do_not_underflow() -> None:
    pairs = [ONE, replace(ONE, rater="bo").swapped(), OTHER]
    evaluation = evaluate_soft_labels(pairs, [2000.0, -2000.0, -2000.0], np.zeros(3))
    assert evaluation is not None
    assert evaluation.model.cross_entropy.estimate == pytest.approx((1000 + 1600) / 2)


def test_comparisons_count_by_their_weight_and_raters_alike() -> None:
    pairs = [replace(ONE, weight=3.0), replace(ONE, rater="bo", weight=3.0), OTHER]
    evaluation = evaluate_soft_labels(pairs, [0.0, 0.0, 0.0], np.zeros(3))
    assert evaluation is not None
    assert evaluation.model.distance.estimate == pytest.approx((3 * 1 + 0.6) / 4)


def test_without_common_comparisons_there_are_no_metrics() -> None:
    pairs, odds = simulate_pairs(30)
    evaluation = evaluate([replace(pair, rater="ann") for pair in pairs], odds, np.zeros(30))
    assert evaluation.soft_labels is None
    assert "soft_labels" not in evaluation.to_dict()


def test_soft_labels_are_part_of_the_evaluation() -> None:
    pairs, margins, _ = draw_votes(5)
    values = json.loads(json.dumps(evaluate(pairs, margins, np.zeros(len(pairs)), confidence=0.9).to_dict()))[
        "soft_labels"
    ]
    wide = evaluate_soft_labels(pairs, margins, np.zeros(len(pairs)))
    assert wide is not None
    assert set(values["model"]) == {"distance", "cross_entropy", "error_rate"}
    assert values["model"]["distance"]["estimate"] == wide.model.distance.estimate
    assert values["model"]["distance"]["ci_low"] > (wide.model.distance.ci_low or 0)


def test_predictions_by_rater_are_averaged() -> None:
    """Both raters are predicted rightly although they differ; the prediction of the comparison is their mean."""
    pairs = [ONE, replace(ONE, rater="bo").swapped()]
    by_rater = evaluate_soft_labels(pairs, [2.0, 2.0], np.zeros(2))
    as_all = evaluate_soft_labels(pairs, [2.0, -2.0], np.zeros(2))
    assert by_rater is not None
    assert as_all is not None
    assert estimates(by_rater.model) == pytest.approx((0, math.log(2), 0))
    assert as_all.model.error_rate.estimate == 0.5
