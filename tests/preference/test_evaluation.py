"""Accuracy, calibration, and the intervals of both."""

import json
import math

import numpy as np
import pytest
from tests.preference.pairs import simulated

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.evaluation import evaluate
from dissensus.preference.logistic import probability
from dissensus.preference.pairs import Pair
from dissensus.schema.conversation import Turn
from dissensus.stats.proportion import clustered_share


def test_who_knows_the_taste_is_calibrated() -> None:
    pairs, odds = simulated(4000)
    found = evaluate(pairs, odds, np.zeros(4000))
    assert found.ece < 0.02
    assert found.accuracy.estimate == pytest.approx(probability(np.abs(odds)).mean(), abs=0.02)
    assert found.length_alone.estimate == 0.5
    assert found.length_log_loss == pytest.approx(math.log(2))
    assert sum(one.accuracy.n for one in found.bins) == 4000
    gaps = [abs(one.confidence - one.accuracy.estimate) * one.accuracy.n for one in found.bins]
    assert found.ece == pytest.approx(sum(gaps) / 4000)


def test_who_is_too_sure_is_not() -> None:
    pairs, odds = simulated(2000)
    sober, bold = (evaluate(pairs, scale * np.array(odds), odds) for scale in (1, 5))
    assert bold.ece > sober.ece + 0.05
    assert bold.log_loss > sober.log_loss
    assert bold.accuracy == sober.accuracy


def test_slices_are_of_what_is_known() -> None:
    context = (Turn("human", "a"), Turn("bot", "b"))
    pairs = [
        Pair((Turn("human", "x"),), "no", "certainly", strength=3, group="Woman"),
        Pair((*context * 6, Turn("human", "y")), "certainly", "no", strength=10),
    ]
    found = evaluate(pairs, [1.0, -1.0], [1.0, 1.0])
    values = {(one.by, one.value): one.accuracy.estimate for one in found.slices}
    assert values["turns", "1"] == 1
    assert values["turns", "5 or more"] == 0
    assert [value for by, value in values if by == "strength"] == ["3", "10"]
    assert values["strength", "3"] == values["group", "Woman"] == 1
    assert values["chosen is", "less than half as long"] == 1
    assert json.loads(json.dumps(found.to_dict()))["accuracy"]["estimate"] == 0.5


def test_weights_count() -> None:
    pairs = [Pair((Turn("human", str(n)),), "a", "b", weight=weight) for n, weight in enumerate((3.0, 1.0))]
    assert evaluate(pairs, [1.0, -1.0], [0.0, 0.0]).accuracy.estimate == 0.75


def test_nothing_and_no_number() -> None:
    with pytest.raises(InvalidInput, match="There is no pair"):
        evaluate([], [], [])
    with pytest.raises(InvalidInput, match="The scores of pair 2 differ by nan"):
        evaluate(simulated(2)[0], [0.1, math.nan], [0, 0])
    with pytest.raises(UndefinedEstimate):
        clustered_share([], [])


def test_one_case_a_cluster_is_wilson() -> None:
    """3 of 10 with Wilson's interval of .108 to .603 for the variance p(1 - p)/(n - 1), so for 9 cases."""
    share = clustered_share([1] * 3 + [0] * 7, range(10))
    n, z, p = 9, 1.959964, 0.3
    center, half = (
        (p + z * z / 2 / n) / (1 + z * z / n),
        z / (1 + z * z / n) * math.sqrt(p * 0.7 / n + z * z / 4 / n**2),
    )
    assert (share.ci_low, share.ci_high) == pytest.approx((center - half, center + half), abs=1e-6)


def test_copies_of_a_dialogue_add_nothing() -> None:
    once = clustered_share([1, 0, 1, 1, 0], range(5))
    copied = clustered_share([1, 0, 1, 1, 0] * 20, [*range(5)] * 20)
    assert (copied.ci_low, copied.ci_high) == pytest.approx((once.ci_low, once.ci_high))


def test_hits_alone_leave_doubt() -> None:
    share = clustered_share([1.0] * 8, range(8))
    assert share.estimate == share.ci_high == 1
    assert 0.5 < share.ci_low < 0.8


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng, held, draws = np.random.default_rng(0), 0, 600
    cluster = np.repeat(np.arange(60), 4)
    for _ in range(draws):
        p = rng.beta(3, 2, size=60)[cluster]
        share = clustered_share(rng.random(240) < p, cluster)
        held += share.ci_low <= 0.6 <= share.ci_high
    assert 0.92 <= held / draws <= 0.98
