"""How near a model comes to the shares of raters."""

import json
import math
from dataclasses import astuple, replace

import numpy as np
import pytest
from tests.oracles.preferences import Vote, soft_label_scores
from tests.preference.pairs import simulated

from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.soft_labels import SoftLabelDistance, evaluate_soft_labels
from dissensus.schema.records.conversation import Turn

ONE = Pair((Turn("human", "Well?"),), "yes", "no", rater="ann")
OTHER = Pair((Turn("human", "And?"),), "a", "b", agreement=0.8)


def estimates(found: SoftLabelDistance) -> tuple[float, float, float]:
    return found.distance.estimate, found.cross_entropy.estimate, found.error_rate.estimate


def drawn(seed: int = 0, comparisons: int = 60) -> tuple[list[Pair], np.ndarray, list[Vote]]:
    """Return votes of two to five raters on each comparison, what a model says of each, and both for the oracle."""
    rng = np.random.default_rng(seed)
    pairs, margins, votes = [], [], []
    for number, first in enumerate(simulated(comparisons, dialogues=20, seed=seed)[0]):
        odds = rng.normal()
        for rater in range(rng.integers(2, 6)):
            by_rater = replace(first, rater=f"r{rater}")
            chosen = bool(rng.random() < 0.6)
            own = odds + 0.3 * rater
            pairs.append(by_rater if chosen else by_rater.swapped())
            margins.append(own if chosen else -own)
            votes.append((str(number), chosen, own))
    return pairs, np.array(margins), votes


def test_two_of_three_by_hand() -> None:
    """A share of 2/3, said to be 3/4: 2(3/4 - 2/3) = 1/6; the third rater's choice is foretold wrongly."""
    pairs = [ONE, replace(ONE, rater="bo"), replace(ONE, rater="cy").swapped()]
    found = evaluate_soft_labels(pairs, math.log(3) * np.array([1, 1, -1]), np.zeros(3))
    assert found is not None
    assert estimates(found.model) == pytest.approx((1 / 6, math.log(4) - 2 / 3 * math.log(3), 1 / 3))
    assert estimates(found.one_half) == pytest.approx((1 / 3, math.log(2), 1 / 2))
    assert found.entropy == pytest.approx(math.log(3) - 2 / 3 * math.log(2))
    assert (found.n_comparisons, found.n_raters) == (1, 3)
    assert (found.model.distance.ci_low, found.model.distance.clusters) == (None, 1)


def test_agreement_tells_a_share_without_raters() -> None:
    found = evaluate_soft_labels([OTHER, ONE], [0.0, 5.0], [math.log(4), 5.0])
    assert found is not None
    assert estimates(found.model) == pytest.approx((0.6, math.log(2), 0.5))
    assert estimates(found.length_alone) == pytest.approx((0, found.entropy, 0.2))
    assert (found.n_comparisons, found.n_raters) == (1, 0)


def test_it_is_what_a_loop_over_comparisons_finds() -> None:
    pairs, margins, votes = drawn()
    found = evaluate_soft_labels(pairs, margins, np.zeros(len(pairs)))
    assert found is not None
    assert estimates(found.model) == pytest.approx(soft_label_scores(votes))
    assert estimates(found.one_half) == pytest.approx(soft_label_scores([(c, first, 0.0) for c, first, _ in votes]))
    assert (found.model.distance.n, found.model.distance.clusters) == (60, 20)


def test_neither_the_order_of_votes_nor_that_of_answers_makes_a_difference() -> None:
    """With the texts of both answers exchanged, people and model say the same of the other one."""
    pairs, margins, _ = drawn(3)
    told = evaluate_soft_labels(pairs, margins, margins / 2)
    turned = evaluate_soft_labels([pair.swapped() for pair in pairs[::-1]], margins[::-1], margins[::-1] / 2)
    assert told is not None
    assert turned is not None
    for one, other in ((told.model, turned.model), (told.length_alone, turned.length_alone)):
        for measure in ("distance", "cross_entropy", "error_rate"):
            assert astuple(getattr(one, measure)) == pytest.approx(astuple(getattr(other, measure)))
    assert told.entropy == pytest.approx(turned.entropy)


def test_cross_entropy_is_least_for_who_says_the_shares() -> None:
    pairs, _, votes = drawn(1)
    shares = {c: np.mean([first for other, first, _ in votes if other == c]) for c, _, _ in votes}
    odds = {c: float(np.log((t + 1e-12) / (1 - t + 1e-12))) for c, t in shares.items()}
    margins = np.array([odds[c] if first else -odds[c] for c, first, _ in votes])
    found = evaluate_soft_labels(pairs, margins, margins + 0.5)
    assert found is not None
    assert found.model.cross_entropy.estimate == pytest.approx(found.entropy, abs=1e-9)
    assert found.model.distance.estimate == pytest.approx(0, abs=1e-9)
    assert found.length_alone.cross_entropy.estimate > found.entropy


def test_surer_than_a_number_can_say_costs_what_it_costs() -> None:
    pairs = [ONE, replace(ONE, rater="bo").swapped(), OTHER]
    found = evaluate_soft_labels(pairs, [2000.0, -2000.0, -2000.0], np.zeros(3))
    assert found is not None
    assert found.model.cross_entropy.estimate == pytest.approx((1000 + 1600) / 2)


def test_comparisons_count_by_their_weight_and_raters_alike() -> None:
    pairs = [replace(ONE, weight=3.0), replace(ONE, rater="bo", weight=3.0), OTHER]
    found = evaluate_soft_labels(pairs, [0.0, 0.0, 0.0], np.zeros(3))
    assert found is not None
    assert found.model.distance.estimate == pytest.approx((3 * 1 + 0.6) / 4)


def test_where_nobody_compared_what_another_one_did_there_is_nothing() -> None:
    pairs, odds = simulated(30)
    found = evaluate([replace(pair, rater="ann") for pair in pairs], odds, np.zeros(30))
    assert found.soft_labels is None
    assert "soft_labels" not in found.to_dict()


def test_it_is_part_of_the_evaluation() -> None:
    pairs, margins, _ = drawn(5)
    told = json.loads(json.dumps(evaluate(pairs, margins, np.zeros(len(pairs)), level=0.9).to_dict()))["soft_labels"]
    wide = evaluate_soft_labels(pairs, margins, np.zeros(len(pairs)))
    assert wide is not None
    assert set(told["model"]) == {"distance", "cross_entropy", "error_rate"}
    assert told["model"]["distance"]["estimate"] == wide.model.distance.estimate
    assert told["model"]["distance"]["ci_low"] > (wide.model.distance.ci_low or 0)


def test_a_model_that_knows_groups_is_judged_by_what_it_says_of_each_rater() -> None:
    """Each of two raters is foretold rightly though they differ, and together they are what the model says of all."""
    pairs = [ONE, replace(ONE, rater="bo").swapped()]
    by_rater = evaluate_soft_labels(pairs, [2.0, 2.0], np.zeros(2))
    as_all = evaluate_soft_labels(pairs, [2.0, -2.0], np.zeros(2))
    assert by_rater is not None
    assert as_all is not None
    assert estimates(by_rater.model) == pytest.approx((0, math.log(2), 0))
    assert as_all.model.error_rate.estimate == 0.5
