"""The online loop of the demo: metrics of models with known preferences."""

from collections.abc import Iterable

import numpy as np
import pytest

from dissensus.demo import online_loop
from dissensus.preference.data.pairs import Purpose
from dissensus.schema.records.conversation import Conversation

TASTE = online_loop.simulate_taste(np.random.default_rng(3))


class SignedTasteModel:
    """A model that scores by the simulated taste, its opposite, or a constant."""

    purpose: Purpose = "helpful"

    def __init__(self, sign: float) -> None:
        self.sign = sign

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        return [[self.sign * TASTE.utility(talk.rated_turn.text)] for talk in transcripts]


@pytest.mark.parametrize(("sign", "agreement"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5)])
def test_the_agreement_of_a_model_with_the_taste(sign: float, agreement: float) -> None:
    assert online_loop.taste_agreement(SignedTasteModel(sign), TASTE).estimate == agreement


@pytest.mark.slow
def test_the_win_rate_of_the_best_of_n() -> None:
    # One more response beats the best of 16 about once in 17 draws, and loses to the worst as seldom.
    best, worst, first = (online_loop.best_of_n_win_rate(SignedTasteModel(sign), TASTE) for sign in (1.0, -1.0, 0.0))
    assert best.ci_low < 16 / 17 < best.ci_high
    assert worst.ci_low < 1 / 17 < worst.ci_high
    assert first.ci_low < 0.5 < first.ci_high
    assert best.n == online_loop.N_TRIALS


def test_picks_follow_the_bradley_terry_model() -> None:
    rng = np.random.default_rng(1)
    a, b = online_loop.SCRIPT.responses[:2]
    picks = [TASTE.pick(a, b, rng) for _ in range(4000)]
    expected = 1 / (1 + np.exp(TASTE.utility(a) - TASTE.utility(b)))
    assert np.mean(np.array(picks) > 0) == pytest.approx(expected, abs=4 * 0.5 / 4000**0.5)
    assert set(map(abs, picks)) == {1, 2, 3}


def test_the_campaign_of_each_phase_names_the_registered_model() -> None:
    base, pinned, online = (online_loop.phase_campaign(phase) for phase in ("base", "rejection-sampled", "online"))
    models = []
    for campaign in (base, pinned, online):
        assert campaign.registered_models == (online_loop.MODEL_NAME,)
        assert campaign.chat is not None
        models.append(campaign.chat.chatbots[0].registered_model)
    assert [None if line is None else str(line) for line in models] == [None, "demo/1", "demo"]
