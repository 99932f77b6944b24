"""Weighting of votes by strengths and shares of raters."""

from dataclasses import replace

import numpy as np
import pytest
from tests.preference.pairs import simulate_pairs

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.weighting import PairChoices, Weighting
from dissensus.preference.fit.logistic import fit_logistic
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.schema.records.conversation import Turn
from dissensus.stats.sparse import SparseRows

ONE = Pair((Turn("human", "Well?"),), "yes", "no", strength=1.0, rater="ann")


def test_by_default_choices_count_the_same() -> None:
    choices = Weighting().choices([ONE, replace(ONE, strength=4.0, weight=2.0, agreement=0.6)])
    assert (choices.weight.tolist(), choices.share.tolist(), choices.margin.tolist()) == ([1, 2], [1, 1], [0, 0])


def test_strength_is_a_weight_of_mean_one_or_a_margin_of_at_most_one() -> None:
    pairs = [ONE, replace(ONE, strength=3.0), replace(ONE, strength=None)]
    assert Weighting(strength="weight").choices(pairs).weight.tolist() == [0.5, 1.5, 1.0]
    assert Weighting(strength="margin").choices(pairs).margin.tolist() == [1 / 3, 1.0, 0.0]


def test_raters_of_one_comparison_share_it() -> None:
    other_pair = Pair((Turn("human", "And?"),), "a", "b", agreement=0.8)
    pairs = [ONE, replace(ONE, rater="bo"), replace(ONE, rater="cy").swapped(), other_pair]
    choices = Weighting(soft=True).choices(pairs)
    assert choices.weight.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    assert choices.share.tolist() == [1, 1, 1, 0.8]


def test_votes_that_share_a_comparison_are_a_pair_with_that_share() -> None:
    """Two of three for the first answer, as three votes and as one pair of agreement two thirds."""
    x = np.array([[1.0, -2.0], [1.0, -2.0], [-1.0, 2.0]])
    votes = fit_logistic(SparseRows.dense(x), PairChoices.unanimous(np.full(3, 1 / 3)), 0.1)
    share = PairChoices(weight=np.ones(1), share=np.array([2 / 3]), margin=np.zeros(1))
    assert np.allclose(votes, fit_logistic(SparseRows.dense(x[:1]), share, 0.1), atol=1e-3)


def test_a_margin_increases_score_differences() -> None:
    x = np.random.default_rng(1).normal(size=(80, 3)) + 0.3
    plain = PairChoices.unanimous(np.ones(80))
    with_margin = PairChoices(weight=np.ones(80), share=np.ones(80), margin=np.full(80, 2.0))
    assert (SparseRows.dense(x) @ fit_logistic(SparseRows.dense(x), with_margin, 1.0)).mean() > 1.2 * (
        SparseRows.dense(x) @ fit_logistic(SparseRows.dense(x), plain, 1.0)
    ).mean()


@pytest.mark.parametrize(
    ("weighting", "strength", "message"),
    [
        ({"strength": "wieght"}, 1.0, "Did you mean 'weight'"),
        ({"strength": "margin", "soft": True}, 1.0, "Use strength as weight, or leave soft labels out"),
        ({"strength": "weight"}, None, "No pair has a strength"),
        ({"strength": "margin"}, 0.0, "that of pair 1 is 0"),
        ({"strength": "weight"}, -2.0, "that of pair 1 is -2"),
    ],
)
def test_invalid_strengths_are_refused(weighting: dict[str, object], strength: float | None, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Weighting(**weighting).choices([replace(ONE, strength=strength)])  # type: ignore[arg-type]


def test_the_card_has_the_weighting() -> None:
    pairs = [replace(pair, strength=1.0 + n % 3) for n, pair in enumerate(simulate_pairs(60)[0])]
    plain = train(pairs, purpose="harmless")
    ignored = train(pairs, purpose="harmless", plan=TrainingPlan())
    weighed = train(pairs, purpose="harmless", plan=TrainingPlan(weighting=Weighting(strength="weight")))
    assert plain.margins(pairs).tolist() == ignored.margins(pairs).tolist() != weighed.margins(pairs).tolist()
    assert plain.card["weighting"] == {"strength": "ignored", "soft": False}
    assert weighed.card["weighting"] == {"strength": "weight", "soft": False}


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'groups'"):
        TrainingPlan(kind="group")  # type: ignore[arg-type]
