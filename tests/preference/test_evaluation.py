"""Accuracy, calibration, slices and their intervals."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.preference.pairs import simulate_pairs

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.pairs import Pair, unanimity
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.paired import compare_models
from dissensus.preference.fit.logistic import probability
from dissensus.schema.records.conversation import Turn
from dissensus.stats.cluster_robust import clustered_share, paired_difference


def test_true_log_odds_are_calibrated() -> None:
    pairs, odds = simulate_pairs(4000)
    evaluation = evaluate(pairs, odds, np.zeros(4000))
    assert evaluation.ece < 0.02
    assert evaluation.accuracy.estimate == pytest.approx(probability(np.abs(odds)).mean(), abs=0.02)
    assert evaluation.length_alone.estimate == 0.5
    assert evaluation.length_log_loss == pytest.approx(math.log(2))
    assert sum(one.accuracy.n for one in evaluation.bins) == 4000
    gaps = [abs(one.confidence - one.accuracy.estimate) * one.accuracy.n for one in evaluation.bins]
    assert evaluation.ece == pytest.approx(sum(gaps) / 4000)


@pytest.mark.slow
def test_the_expected_ece_is_the_mean_of_calibrated_models() -> None:
    rng = np.random.default_rng(4)
    pairs, odds = simulate_pairs(460)
    confidence = probability(np.abs(odds))
    hits = rng.random((120, 460)) < confidence
    evaluations = [evaluate(pairs, np.where(row, 1, -1) * np.abs(odds), np.zeros(460)) for row in hits]
    assert np.mean([one.ece for one in evaluations]) == pytest.approx(evaluations[0].calibrated_ece, rel=0.1)


def test_intervals_refer_to_other_raters_if_raters_are_known() -> None:
    """Each of ten raters is predicted always or never: fifty dialogues a rater say little about other raters."""
    pairs = [Pair((Turn("human", f"{n}"),), "yes", "no", rater=f"r{n % 10}") for n in range(500)]
    margins = [1.0 if n % 10 < 6 else -1.0 for n in range(500)]
    unknown = evaluate([replace(pair, rater=None) for pair in pairs], margins, np.zeros(500)).accuracy
    known = evaluate(pairs, margins, np.zeros(500)).accuracy
    assert (known.estimate, known.clusters, known.crossed_clusters) == (unknown.estimate, 500, 10)
    assert known.ci_high - known.ci_low > 5 * (unknown.ci_high - unknown.ci_low)
    other = [1.0 if n % 10 < 5 else -1.0 for n in range(500)]
    difference = compare_models(pairs, margins, other).accuracy
    assert difference.ci_low < 0 < difference.ci_high


def test_overconfident_scores_are_not_calibrated() -> None:
    pairs, odds = simulate_pairs(2000)
    sober, bold = (evaluate(pairs, scale * np.array(odds), odds) for scale in (1, 5))
    assert bold.ece > sober.ece + 0.05
    assert bold.log_loss > sober.log_loss
    assert bold.accuracy == sober.accuracy


def test_slices_by_known_attributes() -> None:
    context = (Turn("human", "a"), Turn("bot", "b"))
    pairs = [
        Pair((Turn("human", "x"),), "no", "certainly", strength=3, group="Woman"),
        Pair((*context * 6, Turn("human", "y")), "certainly", "no", strength=10),
    ]
    evaluation = evaluate(pairs, [1.0, -1.0], [1.0, 1.0])
    values = {(one.by, one.value): one.accuracy.estimate for one in evaluation.slices}
    assert values["turns", "1"] == 1
    assert values["turns", "5 or more"] == 0
    assert [value for by, value in values if by == "strength"] == ["3", "10"]
    assert values["strength", "3"] == values["group", "Woman"] == 1
    assert values["chosen is", "less than half as long"] == 1
    assert json.loads(json.dumps(evaluation.to_dict()))["accuracy"]["estimate"] == 0.5


@pytest.mark.parametrize(
    ("chosen", "rejected", "length"),
    [
        (1, 3, "less than half as long"),
        (2, 4, "shorter"),
        (3, 4, "shorter"),
        (4, 4, "as long"),
        (5, 4, "longer"),
        (4, 2, "longer"),
        (5, 2, "more than twice as long"),
        (9, 4, "more than twice as long"),
        (2000, 1000, "longer"),
        (2001, 1000, "more than twice as long"),
    ],
)
def test_classes_of_length_are_ratios_of_characters(chosen: int, rejected: int, length: str) -> None:
    pairs = [Pair((), "x" * chosen, "y" * rejected), Pair((), "other", "words")]
    if length == "as long":
        pairs[1] = replace(pairs[1], chosen="others")
    slices = evaluate(pairs, [1.0, -1.0], np.zeros(2)).slices
    (right,) = [one.value for one in slices if one.by == "chosen is" and one.accuracy.estimate == 1]
    assert right == length


@pytest.mark.parametrize(("n_turns", "value"), [(1, "1"), (4, "4"), (5, "5 or more"), (6, "5 or more")])
def test_dialogues_of_many_turns_are_one_slice(n_turns: int, value: str) -> None:
    turns = tuple(Turn("human", f"{n}") for n in range(n_turns))
    pairs = [Pair(turns, "yes", "no"), Pair((Turn("human", "a"), Turn("human", "b")), "yes", "no")]
    slices = evaluate(pairs, [1.0, -1.0], np.zeros(2)).slices
    assert {one.value: one.accuracy.estimate for one in slices if one.by == "turns"} == {value: 1, "2": 0}


def test_the_first_bin_begins_at_one_half_and_the_last_includes_one() -> None:
    pairs = [Pair((Turn("human", f"{n}"),), "yes", "no") for n in range(3)]
    bins = evaluate(pairs, [0.0, -1e-9, 800.0], np.zeros(3)).bins
    assert [bound for one in bins for bound in (one.low, one.high)] == pytest.approx([0.5, 0.55, 0.95, 1])
    assert [one.accuracy.n for one in bins] == [2, 1]
    assert bins[0].accuracy.estimate == pytest.approx(0.25)


def test_weights_count() -> None:
    pairs = [Pair((Turn("human", str(n)),), "a", "b", weight=weight) for n, weight in enumerate((3.0, 1.0))]
    assert evaluate(pairs, [1.0, -1.0], [0.0, 0.0]).accuracy.estimate == 0.75


def test_margins_by_length_are_one_for_each_pair() -> None:
    pairs, odds = simulate_pairs(20)
    with pytest.raises(InvalidInput, match="There are 3 scores for 20 pairs"):
        evaluate(pairs, odds, np.zeros(3))
    with pytest.raises(InvalidInput, match="The scores of pair 1 differ by nan"):
        evaluate(pairs, odds, np.full(20, np.nan))


def test_no_pairs_and_scores_that_are_not_finite() -> None:
    with pytest.raises(InvalidInput, match="There is no pair"):
        evaluate([], [], [])
    with pytest.raises(InvalidInput, match="The scores of pair 2 differ by nan"):
        evaluate(simulate_pairs(2)[0], [0.1, math.nan], [0, 0])
    with pytest.raises(UndefinedEstimate, match="there are no cases"):
        clustered_share([], [])


def test_clusters_of_one_case_give_the_wilson_interval() -> None:
    """3 of 10 with Wilson's interval for the variance p(1 - p)/(n - 1), so for 9 cases, and the t quantile."""
    share = clustered_share([1] * 3 + [0] * 7, range(10))
    n, z, p = 9, 2.262157, 0.3
    center, half = (
        (p + z * z / 2 / n) / (1 + z * z / n),
        z / (1 + z * z / n) * math.sqrt(p * 0.7 / n + z * z / 4 / n**2),
    )
    assert (share.ci_low, share.ci_high) == pytest.approx((center - half, center + half), abs=1e-6)


def test_copies_of_a_dialogue_add_nothing() -> None:
    single = clustered_share([1, 0, 1, 1, 0], range(5))
    copied = clustered_share([1, 0, 1, 1, 0] * 20, [*range(5)] * 20)
    assert (copied.ci_low, copied.ci_high) == pytest.approx((single.ci_low, single.ci_high))


def test_the_interval_of_hits_alone_has_positive_width() -> None:
    share = clustered_share([1.0] * 8, range(8))
    assert share.estimate == share.ci_high == 1
    assert 0.5 < share.ci_low < 0.8


def test_coverage_of_intervals() -> None:
    rng, n_covered, draws = np.random.default_rng(0), 0, 600
    cluster = np.repeat(np.arange(60), 4)
    for _ in range(draws):
        p = rng.beta(3, 2, size=60)[cluster]
        share = clustered_share(rng.random(240) < p, cluster)
        n_covered += share.ci_low <= 0.6 <= share.ci_high
    assert 0.92 <= n_covered / draws <= 0.98


def test_unanimous_and_split_pairs_are_shown_apart() -> None:
    first = Pair((Turn("human", "x"),), "no", "certainly", rater="ada")
    second = Pair((Turn("human", "y"),), "no", "yes", rater="ada")
    unjudged = Pair((Turn("human", "z"),), "no", "yes", rater="ada")
    pairs = [first, replace(first, rater="bob"), second, replace(second, rater="bob").swapped(), unjudged, unjudged]
    evaluation = evaluate(pairs, [1.0, 1.0, 1.0, -1.0, 1.0, 1.0], [0.0] * 6)
    shares = {one.value: one.accuracy for one in evaluation.slices if one.by == "raters were"}
    assert {value: (share.estimate, share.n) for value, share in shares.items()} == {
        "unanimous": (1, 2),
        "split": (0.5, 2),
    }


def test_unanimity_by_agreement() -> None:
    unanimous, split = (
        Pair((Turn("human", text),), "no", "yes", agreement=of) for text, of in (("a", 1.0), ("b", 0.6))
    )
    assert unanimity([unanimous, split, unanimous.swapped()]) == [True, False, True]
    assert split.swapped().agreement == pytest.approx(0.4)
    with pytest.raises(InvalidInput, match=r"agreement on a pair is 1\.2"):
        replace(unanimous, agreement=1.2)


def test_slices_of_all_pairs_are_omitted() -> None:
    pairs = [Pair((Turn("human", str(n)),), "no", "yes" * (n + 1), tranche="base") for n in range(8)]
    evaluation = evaluate(pairs, np.ones(8), np.zeros(8))
    assert {one.by for one in evaluation.slices}.isdisjoint({"tranche", "turns", "group"})
    mixed = [*pairs, replace(pairs[0], tranche="online")]
    by = {one.value for one in evaluate(mixed, np.ones(9), np.zeros(9)).slices if one.by == "tranche"}
    assert by == {"base", "online"}


def test_paired_differences_of_equal_and_different_models() -> None:
    pairs, odds = simulate_pairs(500)
    equal = compare_models(pairs, odds, odds)
    assert (equal.accuracy.estimate, equal.accuracy.ci_low, equal.accuracy.ci_high) == (0, 0, 0)
    noise = np.array(odds) + np.random.default_rng(1).normal(scale=3, size=500)
    better, worse = compare_models(pairs, odds, noise), compare_models(pairs, noise, odds)
    assert better.accuracy.ci_low > 0 > better.log_loss.ci_high
    assert better.accuracy.estimate == -worse.accuracy.estimate
    accuracies = [evaluate(pairs, margins, np.zeros(500)).accuracy for margins in (odds, noise)]
    assert better.accuracy.estimate == pytest.approx(accuracies[0].estimate - accuracies[1].estimate)
    assert better.accuracy.ci_high - better.accuracy.ci_low < sum(one.ci_high - one.ci_low for one in accuracies)


def test_nothing_to_compare_two_models_on() -> None:
    pairs, odds = simulate_pairs(6, dialogues=1)
    with pytest.raises(UndefinedEstimate, match="all 6 cases belong to 1 cluster"):
        compare_models(pairs, odds, odds)
    with pytest.raises(InvalidInput, match="5 scores for 6 pairs"):
        compare_models(pairs, odds, odds[1:])
    with pytest.raises(InvalidInput, match="first has 2 values and second 1"):
        paired_difference([1, 0], [1], [0, 1])


def test_coverage_of_intervals_of_differences() -> None:
    rng, n_covered, draws = np.random.default_rng(0), 0, 600
    cluster = np.repeat(np.arange(60), 4)
    for _ in range(draws):
        hard = rng.beta(2, 2, size=60)[cluster]
        first, second = (rng.random(240) < hard, rng.random(240) < hard / 2)
        difference = paired_difference(first, second, cluster)
        n_covered += difference.ci_low <= 0.25 <= difference.ci_high
    assert 0.92 <= n_covered / draws <= 0.98
