"""Which version of a model follows which."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preference.pairs import simulated
from tests.strategies import quick

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.promotion import HELD_OUT, LEAST, PromotionRule, decide_promotion, split_holdout
from dissensus.preference.fit.training import train
from dissensus.schema.records.conversation import Turn


@cache
def pairs_of(n: int, each: int = 1) -> Sequence[Pair]:
    return [Pair((Turn("human", f"Question {i // each}"),), f"yes {i}", f"no {i}") for i in range(n)]


@quick
@given(st.lists(st.integers(0, 400), min_size=1, max_size=60, unique=True), st.randoms())
def test_a_dialogue_stays_on_its_side_whatever_else_there_is(numbers: list[int], random: object) -> None:
    every = pairs_of(1000, each=2)
    some = [every[number] for number in numbers]
    apart = set(split_holdout(every).apart)
    assert [pair in apart for pair in some] == [pair in set(split_holdout(some).apart) for pair in some]
    known, out = split_holdout(every)
    assert not {pair.dialogue for pair in known} & {pair.dialogue for pair in out}
    assert len(known) + len(out) == len(every)


def test_about_one_dialogue_of_five_is_held_out() -> None:
    n = 10_000
    share = len(split_holdout(pairs_of(n)).apart) / n
    # Four standard errors.
    assert abs(share - 1 / HELD_OUT) < 4 * (0.2 * 0.8 / n) ** 0.5


def margins(right: np.ndarray) -> np.ndarray:
    return np.where(right, 1.0, -1.0)


def promoted(rng: np.random.Generator, lower_by: float, n: int, rule: PromotionRule, *, better: float = 0.1) -> bool:
    """Draw both versions: where they differ, the new one is right on a share `better` of all, and wrong on more."""
    drawn = rng.random(n)
    wrong, right = drawn < better + lower_by, drawn > 1 - better
    current = wrong | (~right & (rng.random(n) < 0.65))
    new = right | (~wrong & current)
    return decide_promotion(pairs_of(n), margins(new), margins(current), rule=rule).promoted


@pytest.mark.parametrize(("margin", "level"), [(0.02, 0.95), (0.05, 0.95), (0.05, 0.9), (0.1, 0.95)])
@pytest.mark.parametrize("better", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("n", [30, 100, 600])
def test_what_is_worse_by_the_margin_is_promoted_as_seldom_as_the_level_says(
    margin: float, level: float, better: float, n: int
) -> None:
    # Versions of a line agree on most pairs: of few pairs they may agree on all, which shows nothing.
    rng, n_draws, rule = np.random.default_rng(1), 300, PromotionRule(margin=margin, level=level)
    share = np.mean([promoted(rng, margin, n, rule, better=better) for _ in range(n_draws)])
    nominal = (1 - level) / 2
    # On a few dozen dialogues up to twice as often, as the documentation says.
    allowed = 2 * nominal if n < 100 else 1.3 * nominal
    assert share <= allowed + 3.5 * (allowed * (1 - allowed) / n_draws) ** 0.5


def test_what_is_as_good_is_promoted_where_there_are_enough_pairs() -> None:
    rng = np.random.default_rng(2)
    shares = [np.mean([promoted(rng, 0.0, n, PromotionRule(margin=0.05)) for _ in range(100)]) for n in (200, 3000)]
    assert shares[0] < 0.6 < 0.95 < shares[1]


def test_with_few_dialogues_none_takes_the_place_of_another() -> None:
    n = LEAST - 1
    kept = decide_promotion(pairs_of(n), np.ones(n), np.ones(n), rule=PromotionRule(margin=0.4))
    assert not kept.promoted
    assert "29 dialogues are held out, and with fewer than 30 no version takes the place of another" in kept.why
    assert decide_promotion(pairs_of(LEAST), np.ones(LEAST), np.ones(LEAST), rule=PromotionRule(margin=0.4)).promoted
    # To beat a coin fewer may do.
    assert decide_promotion(pairs_of(n), np.ones(n)).promoted


def test_the_level_and_weights_count() -> None:
    pairs, right = pairs_of(100), margins(np.arange(100) < 90)
    other = margins((np.arange(100) < 90) ^ (np.arange(100) % 10 == 0))
    narrow, wide = (
        decide_promotion(pairs, other, right, rule=PromotionRule(margin=0.1, level=level)) for level in (0.5, 0.99)
    )
    for one in ("difference", "accuracy"):
        short, long = getattr(narrow, one), getattr(wide, one)
        assert short.estimate == long.estimate
        assert short.ci_low > long.ci_low
        assert short.ci_high < long.ci_high
    heavy = [replace(pair, weight=9.0 if number >= 90 else 1.0) for number, pair in enumerate(pairs)]
    assert decide_promotion(heavy, right).accuracy.estimate == pytest.approx(0.5)
    found = decide_promotion(heavy, other, right).difference
    assert found is not None
    assert found.estimate == pytest.approx((9 * 1 - 9) / 180)


@pytest.mark.parametrize("other", ["  HELLO\tthere ", "hello there", "Ｈello there"])
def test_neither_case_nor_spaces_tell_dialogues_apart(other: str) -> None:
    every = [
        Pair((Turn("human", text), Turn("bot", "?"), Turn("human", last)), "yes", "no")
        for text in ("Hello there", other)
        for last in map(str, range(40))
    ]
    known, apart = split_holdout(every)
    # The first human turn tells, and the last one does not: all of a dialogue is on one side.
    assert not known or not apart


def test_the_first_version_must_be_better_than_a_coin() -> None:
    pairs = pairs_of(100)
    assert decide_promotion(pairs, margins(np.arange(100) < 70)).promoted
    kept = decide_promotion(pairs, margins(np.arange(100) < 55))
    assert not kept.promoted
    assert "not shown to be better than a coin: it is right on 0.550" in kept.why
    assert kept.difference is None
    # One that says nothing has ties alone.
    assert not decide_promotion(pairs, np.zeros(100)).promoted


def test_it_must_be_no_worse_than_the_reference_either() -> None:
    pairs, numbers = pairs_of(3000), np.arange(3000)
    new, current, reference = (margins(numbers >= wrong) for wrong in (700, 640, 550))
    rule = PromotionRule(margin=0.04)
    found = decide_promotion(pairs, new, current, reference=reference, rule=rule)
    assert decide_promotion(pairs, new, current, rule=rule).promoted
    assert not found.promoted
    assert found.why.startswith("It is not shown to be no worse than the reference by more than 0.04")
    assert found.difference is not None
    assert found.over_reference is not None
    assert found.difference.estimate == pytest.approx(-60 / 3000)
    assert found.over_reference.estimate == pytest.approx(-150 / 3000)
    # It is told of both where it passes both, and of both where it fails both.
    both = decide_promotion(pairs, reference, current, reference=reference, rule=rule)
    assert both.promoted
    assert both.why.count("It is shown to be no worse than") == 2
    neither = decide_promotion(pairs, margins(numbers >= 2000), current, reference=reference, rule=rule)
    assert not neither.promoted
    assert neither.why.count("It is not shown") == 2
    # The other way round: no worse than the reference is not enough.
    assert not decide_promotion(pairs, current, reference, reference=new, rule=PromotionRule(margin=0.02)).promoted


def test_it_says_how_many_pairs_would_show_it() -> None:
    pairs, right = pairs_of(100), np.arange(100) < 60
    other = np.where(np.arange(100) < 20, ~right, right) & (np.arange(100) != 70) | (np.arange(100) < 10)
    found = decide_promotion(pairs, margins(other), margins(right), rule=PromotionRule(margin=0.2))
    assert found.difference is not None
    assert found.difference.estimate == pytest.approx(np.mean(other) - np.mean(right))
    judged = decide_promotion(pairs, margins(other), margins(right), rule=PromotionRule(margin=0.11))
    assert not judged.promoted
    n = int(judged.why.split("about ")[1].split(" ")[0].replace(",", ""))
    half = judged.difference.estimate - judged.difference.ci_low if judged.difference else 0
    # With so many the margin would be 1.96 + 0.84 standard errors away: it is shown in four of five cases.
    beyond = np.mean(other) - np.mean(right) + 0.11
    assert beyond / (half / 1.96 * (100 / n) ** 0.5) == pytest.approx(1.96 + 0.8416, abs=0.01)
    hopeless = decide_promotion(pairs, margins(~right), margins(right))
    assert "Were that the truth" not in hopeless.why


def test_pairs_of_one_dialogue_count_as_one() -> None:
    right, other = np.arange(200) < 140, np.arange(200) >= 60
    alone = decide_promotion(
        pairs_of(800, each=1), margins(np.tile(other, 4)), margins(np.tile(right, 4)), rule=PromotionRule(margin=0.2)
    )
    together = decide_promotion(
        pairs_of(800, each=20), margins(np.tile(other, 4)), margins(np.tile(right, 4)), rule=PromotionRule(margin=0.2)
    )
    assert alone.promoted
    assert not together.promoted
    with pytest.raises(UndefinedEstimate, match="1 of the dialogues are held out"):
        decide_promotion(pairs_of(10, each=10), np.ones(10), np.ones(10))


@pytest.mark.parametrize(
    "given", [{"margin": -0.1}, {"margin": 0.5}, {"level": 0.4}, {"level": 1.0}, {"margin": np.nan}]
)
def test_rules_that_cannot_be(given: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="give"):
        PromotionRule(**given)


def test_what_is_measured_on_is_never_trained_on() -> None:
    known, apart = split_holdout(simulated(300)[0])
    model = train(known, purpose="harmless", apart=apart)
    assert model.card["n_pairs"] == len(known)
    assert model.card["held_out"]["accuracy"]["n"] == len(apart)
    # Whatever it is measured on, the weights are the same.
    other = train(known, purpose="harmless", apart=[pair.swapped() for pair in apart[:20]])
    assert {kind: weights.tolist() for kind, weights in model.weights.items()} == {
        kind: weights.tolist() for kind, weights in other.weights.items()
    }
    assert other.card["held_out"]["accuracy"]["n"] == 20
    with pytest.raises(InvalidInput, match="1 dialogues are among those to train on and among those to measure on"):
        train(known, purpose="harmless", apart=[*apart, known[0]])
