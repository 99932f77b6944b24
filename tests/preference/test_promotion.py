"""Promotion of model versions: holdout split, non-inferiority and reference."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preference.pairs import simulate_pairs
from tests.strategies import quick

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.holdout_split import HELD_OUT, split_holdout
from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.promotion import (
    MIN_DIALOGUES,
    PromotionRule,
    decide_promotion,
)
from dissensus.preference.fit.training import train
from dissensus.schema.records.conversation import Turn


@cache
def pairs_of(n: int, per_dialogue: int = 1) -> Sequence[Pair]:
    return [Pair((Turn("human", f"Question {i // per_dialogue}"),), f"yes {i}", f"no {i}") for i in range(n)]


@quick
@given(st.lists(st.integers(0, 400), min_size=1, max_size=60, unique=True), st.randoms())
def test_a_dialogue_stays_on_its_side_of_the_split(numbers: list[int], random: object) -> None:
    all_pairs = pairs_of(1000, per_dialogue=2)
    some = [all_pairs[number] for number in numbers]
    expected = set(split_holdout(all_pairs).held_out)
    assert [pair in expected for pair in some] == [pair in set(split_holdout(some).held_out) for pair in some]
    training, held_out = split_holdout(all_pairs)
    assert not {pair.dialogue for pair in training} & {pair.dialogue for pair in held_out}
    assert len(training) + len(held_out) == len(all_pairs)


def test_about_one_dialogue_of_five_is_held_out() -> None:
    n = 10_000
    share = len(split_holdout(pairs_of(n)).held_out) / n
    # Four standard errors.
    assert abs(share - 1 / HELD_OUT) < 4 * (0.2 * 0.8 / n) ** 0.5


def margins(right: np.ndarray) -> np.ndarray:
    return np.where(right, 1.0, -1.0)


def simulate_promotion(
    rng: np.random.Generator, lower_by: float, n: int, rule: PromotionRule, *, better: float = 0.1
) -> bool:
    """Simulate two versions: the new one alone is right on a share `better` of pairs, and wrong on `lower_by` more."""
    draws = rng.random(n)
    is_wrong, is_right = draws < better + lower_by, draws > 1 - better
    current = is_wrong | (~is_right & (rng.random(n) < 0.65))
    new = is_right | (~is_wrong & current)
    return decide_promotion(pairs_of(n), margins(new), margins(current), rule=rule).promoted


@pytest.mark.parametrize(
    ("margin", "confidence"),
    [
        *(pytest.param(margin, 0.95, marks=pytest.mark.slow) for margin in (0.02, 0.1)),
        (0.05, 0.95),
        pytest.param(0.05, 0.9, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("better", [0.0, *(pytest.param(better, marks=pytest.mark.slow) for better in (0.02, 0.1))])
@pytest.mark.parametrize("n", [*(pytest.param(n, marks=pytest.mark.slow) for n in (30, 100)), 300])
def test_a_version_worse_by_the_margin_is_promoted_at_the_nominal_rate(
    margin: float, confidence: float, better: float, n: int
) -> None:
    # Successive versions agree on most pairs, and may agree on all of few pairs by chance.
    rng, n_draws, rule = np.random.default_rng(1), 300, PromotionRule(margin=margin, confidence=confidence)
    share = np.mean([simulate_promotion(rng, margin, n, rule, better=better) for _ in range(n_draws)])
    nominal = (1 - confidence) / 2
    # Up to twice the nominal rate with a few dozen dialogues, as documented.
    max_rate = 2 * nominal if n < 100 else 1.3 * nominal
    assert share <= max_rate + 3.5 * (max_rate * (1 - max_rate) / n_draws) ** 0.5


@pytest.mark.slow
def test_an_equally_good_version_is_promoted_with_enough_pairs() -> None:
    rng = np.random.default_rng(2)
    shares = [
        np.mean([simulate_promotion(rng, 0.0, n, PromotionRule(margin=0.05)) for _ in range(100)]) for n in (200, 3000)
    ]
    assert shares[0] < 0.6 < 0.95 < shares[1]


def test_with_few_dialogues_no_version_replaces_another() -> None:
    n = MIN_DIALOGUES - 1
    decision = decide_promotion(pairs_of(n), np.ones(n), np.ones(n), rule=PromotionRule(margin=0.4))
    assert not decision.promoted
    assert "29 dialogues are held out, and with fewer than 30 no version replaces another" in decision.reason
    assert decide_promotion(
        pairs_of(MIN_DIALOGUES), np.ones(MIN_DIALOGUES), np.ones(MIN_DIALOGUES), rule=PromotionRule(margin=0.4)
    ).promoted
    # A first version needs fewer.
    assert decide_promotion(pairs_of(n), np.ones(n)).promoted


def test_the_level_and_weights_count() -> None:
    pairs, right = pairs_of(100), margins(np.arange(100) < 90)
    other_margins = margins((np.arange(100) < 90) ^ (np.arange(100) % 10 == 0))
    narrow, wide = (
        decide_promotion(pairs, other_margins, right, rule=PromotionRule(margin=0.1, confidence=confidence))
        for confidence in (0.5, 0.99)
    )
    for field in ("difference", "accuracy"):
        short, long = getattr(narrow, field), getattr(wide, field)
        assert short.estimate == long.estimate
        assert short.ci_low > long.ci_low
        assert short.ci_high < long.ci_high
    heavy = [replace(pair, weight=9.0 if number >= 90 else 1.0) for number, pair in enumerate(pairs)]
    assert decide_promotion(heavy, right).accuracy.estimate == pytest.approx(0.5)
    difference = decide_promotion(heavy, other_margins, right).difference
    assert difference is not None
    assert difference.estimate == pytest.approx((9 * 1 - 9) / 180)


@pytest.mark.parametrize("variant", ["  HELLO\tthere ", "hello there", "Ｈello there"])
def test_neither_case_nor_spaces_tell_dialogues_apart(variant: str) -> None:
    variants = [
        Pair((Turn("human", text), Turn("bot", "?"), Turn("human", last)), "yes", "no")
        for text in ("Hello there", variant)
        for last in map(str, range(40))
    ]
    training, held_out = split_holdout(variants)
    # The first human turn identifies the dialogue, and the last one does not.
    assert not training or not held_out


def test_the_first_version_must_be_better_than_a_coin() -> None:
    pairs = pairs_of(100)
    assert decide_promotion(pairs, margins(np.arange(100) < 70)).promoted
    decision = decide_promotion(pairs, margins(np.arange(100) < 55))
    assert not decision.promoted
    assert "not shown to be better than chance: it is right on 0.550" in decision.reason
    assert decision.difference is None
    # An uninformative model has only ties.
    assert not decide_promotion(pairs, np.zeros(100)).promoted


def test_a_version_must_be_non_inferior_to_the_reference_too() -> None:
    pairs, numbers = pairs_of(3000), np.arange(3000)
    new, current, reference = (margins(numbers >= wrong) for wrong in (700, 640, 550))
    rule = PromotionRule(margin=0.04)
    decision = decide_promotion(pairs, new, current, reference=reference, rule=rule)
    assert decide_promotion(pairs, new, current, rule=rule).promoted
    assert not decision.promoted
    assert decision.reason.startswith("It is not shown to be no worse than the reference by more than 0.04")
    assert decision.difference is not None
    assert decision.over_reference is not None
    assert decision.difference.estimate == pytest.approx(-60 / 3000)
    assert decision.over_reference.estimate == pytest.approx(-150 / 3000)
    # The reason names both comparisons if both pass, or both fail.
    passing = decide_promotion(pairs, reference, current, reference=reference, rule=rule)
    assert passing.promoted
    assert passing.reason.count("It is shown to be no worse than") == 2
    neither = decide_promotion(pairs, margins(numbers >= 2000), current, reference=reference, rule=rule)
    assert not neither.promoted
    assert neither.reason.count("It is not shown") == 2
    # Conversely, non-inferiority to the reference is not enough.
    assert not decide_promotion(pairs, current, reference, reference=new, rule=PromotionRule(margin=0.02)).promoted


def test_the_reason_has_the_number_of_pairs_needed() -> None:
    pairs, right = pairs_of(100), np.arange(100) < 60
    other = np.where(np.arange(100) < 20, ~right, right) & (np.arange(100) != 70) | (np.arange(100) < 10)
    decision = decide_promotion(pairs, margins(other), margins(right), rule=PromotionRule(margin=0.2))
    assert decision.difference is not None
    assert decision.difference.estimate == pytest.approx(np.mean(other) - np.mean(right))
    narrow = decide_promotion(pairs, margins(other), margins(right), rule=PromotionRule(margin=0.11))
    assert not narrow.promoted
    n = int(narrow.reason.split("about ")[1].split(" ")[0].replace(",", ""))
    half = narrow.difference.estimate - narrow.difference.ci_low if narrow.difference else 0
    # With that many pairs the margin is 1.96 + 0.84 standard errors away: a power of 80 %.
    beyond = np.mean(other) - np.mean(right) + 0.11
    assert beyond / (half / 1.96 * (100 / n) ** 0.5) == pytest.approx(1.96 + 0.8416, abs=0.01)
    hopeless = decide_promotion(pairs, margins(~right), margins(right))
    assert "If this is the true difference" not in hopeless.reason


def test_pairs_of_one_dialogue_count_as_one() -> None:
    right, other = np.arange(200) < 140, np.arange(200) >= 60
    current, new = margins(np.tile(other, 4)), margins(np.tile(right, 4))
    separate = decide_promotion(pairs_of(800, per_dialogue=1), current, new, rule=PromotionRule(margin=0.2))
    together = decide_promotion(pairs_of(800, per_dialogue=20), current, new, rule=PromotionRule(margin=0.2))
    assert separate.promoted
    assert not together.promoted
    with pytest.raises(UndefinedEstimate, match="Only 1 dialogue is held out"):
        decide_promotion(pairs_of(10, per_dialogue=10), np.ones(10), np.ones(10))


@pytest.mark.parametrize(
    "values", [{"margin": -0.1}, {"margin": 0.5}, {"confidence": 0.49}, {"confidence": 1.0}, {"margin": np.nan}]
)
def test_rules_out_of_range_are_refused(values: dict[str, float]) -> None:
    ((name, value),) = values.items()
    with pytest.raises(InvalidInput, match=f"The {name} is {value:g}; give"):
        PromotionRule(**values)


def test_the_ends_of_the_ranges_are_rules() -> None:
    rule = PromotionRule(margin=0.0, confidence=0.5)
    assert (rule.margin, rule.confidence) == (0, 0.5)


def test_without_a_margin_equal_versions_replace_nothing() -> None:
    """The interval of the difference has length 0, and must lie above minus the margin."""
    pairs, right = pairs_of(100), margins(np.arange(100) < 90)
    decision = decide_promotion(pairs, right, right, rule=PromotionRule(margin=0.0))
    assert decision.difference is not None
    assert (decision.difference.ci_low, decision.promoted) == (0, False)


def test_evaluation_pairs_are_never_trained_on() -> None:
    training, held_out = split_holdout(simulate_pairs(300)[0])
    model = train(training, purpose="harmless", apart=held_out)
    assert model.card["n_pairs"] == len(training)
    assert model.card["held_out"]["accuracy"]["n"] == len(held_out)
    # The weights do not depend on the evaluation pairs.
    retrained = train(training, purpose="harmless", apart=[pair.swapped() for pair in held_out[:20]])
    assert {kind: weights.tolist() for kind, weights in model.weights.items()} == {
        kind: weights.tolist() for kind, weights in retrained.weights.items()
    }
    assert retrained.card["held_out"]["accuracy"]["n"] == 20
    with pytest.raises(InvalidInput, match="1 dialogues are among both the training pairs and the evaluation pairs"):
        train(training, purpose="harmless", apart=[*held_out, training[0]])


@pytest.mark.parametrize(
    ("margins", "message"),
    [([float("nan")] * 40, "The scores of pair 1 differ by nan"), ([1.0] * 39, "There are 39 scores for 40 pairs")],
    ids=["not finite", "too few"],
)
def test_a_first_version_needs_a_finite_margin_for_each_pair(margins: list[float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        decide_promotion(pairs_of(40), margins)
