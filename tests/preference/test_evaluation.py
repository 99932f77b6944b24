"""Accuracy, calibration, and the intervals of both."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.preference.pairs import simulated

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.pairs import Pair, unanimity
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.paired import compare_models
from dissensus.preference.fit.logistic import probability
from dissensus.schema.records.conversation import Turn
from dissensus.stats.cluster_robust import clustered_share, paired_difference


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


def test_unanimous_and_split_pairs_are_shown_apart() -> None:
    first = Pair((Turn("human", "x"),), "no", "certainly", rater="ada")
    second = Pair((Turn("human", "y"),), "no", "yes", rater="ada")
    alone = Pair((Turn("human", "z"),), "no", "yes", rater="ada")
    pairs = [first, replace(first, rater="bob"), second, replace(second, rater="bob").swapped(), alone, alone]
    found = evaluate(pairs, [1.0, 1.0, 1.0, -1.0, 1.0, 1.0], [0.0] * 6)
    shares = {one.value: one.accuracy for one in found.slices if one.by == "raters were"}
    assert {value: (share.estimate, share.n) for value, share in shares.items()} == {
        "unanimous": (1, 2),
        "split": (0.5, 2),
    }


def test_agreement_tells_split_pairs_where_raters_were_counted() -> None:
    one, other = (Pair((Turn("human", text),), "no", "yes", agreement=of) for text, of in (("a", 1.0), ("b", 0.6)))
    assert unanimity([one, other, one.swapped()]) == [True, False, True]
    assert other.swapped().agreement == pytest.approx(0.4)
    with pytest.raises(InvalidInput, match=r"agreement on a pair is 1\.2"):
        replace(one, agreement=1.2)


def test_parts_that_are_all_pairs_are_left_out() -> None:
    pairs = [Pair((Turn("human", str(n)),), "no", "yes" * (n + 1), tranche="base") for n in range(8)]
    found = evaluate(pairs, np.ones(8), np.zeros(8))
    assert {one.by for one in found.slices}.isdisjoint({"tranche", "turns", "group"})
    mixed = [*pairs, replace(pairs[0], tranche="online")]
    by = {one.value for one in evaluate(mixed, np.ones(9), np.zeros(9)).slices if one.by == "tranche"}
    assert by == {"base", "online"}


def test_a_model_beside_itself_differs_by_nothing_and_others_by_what_they_differ() -> None:
    pairs, odds = simulated(500)
    same = compare_models(pairs, odds, odds)
    assert (same.accuracy.estimate, same.accuracy.ci_low, same.accuracy.ci_high) == (0, 0, 0)
    noise = np.array(odds) + np.random.default_rng(1).normal(scale=3, size=500)
    better, worse = compare_models(pairs, odds, noise), compare_models(pairs, noise, odds)
    assert better.accuracy.ci_low > 0 > better.log_loss.ci_high
    assert better.accuracy.estimate == -worse.accuracy.estimate
    alone = [evaluate(pairs, margins, np.zeros(500)).accuracy for margins in (odds, noise)]
    assert better.accuracy.estimate == pytest.approx(alone[0].estimate - alone[1].estimate)
    assert better.accuracy.ci_high - better.accuracy.ci_low < sum(one.ci_high - one.ci_low for one in alone)


def test_nothing_to_compare_two_models_on() -> None:
    pairs, odds = simulated(6, dialogues=1)
    with pytest.raises(UndefinedEstimate, match="6 cases of 1 cluster tell nothing of others"):
        compare_models(pairs, odds, odds)
    with pytest.raises(InvalidInput, match="5 scores for 6 pairs"):
        compare_models(pairs, odds, odds[1:])
    with pytest.raises(InvalidInput, match="2 values of the one and 1 of the other"):
        paired_difference([1, 0], [1], [0, 1])


def test_intervals_of_differences_hold_the_truth_as_often_as_they_say() -> None:
    rng, held, draws = np.random.default_rng(0), 0, 600
    cluster = np.repeat(np.arange(60), 4)
    for _ in range(draws):
        hard = rng.beta(2, 2, size=60)[cluster]
        one, other = (rng.random(240) < hard, rng.random(240) < hard / 2)
        found = paired_difference(one, other, cluster)
        held += found.ci_low <= 0.25 <= found.ci_high
    assert 0.92 <= held / draws <= 0.98
