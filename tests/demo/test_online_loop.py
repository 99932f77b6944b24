"""The online loop of the demo: what is measured of models whose taste is known."""

from collections.abc import Iterable

import numpy as np
import pytest

from dissensus.demo import online_loop
from dissensus.preference.data.pairs import Purpose
from dissensus.schema.records.conversation import Conversation

TASTE = online_loop.simulate_taste(np.random.default_rng(3))


class Knowing:
    """A model that scores as people like, or the other way round, or not at all."""

    purpose: Purpose = "helpful"

    def __init__(self, sign: float) -> None:
        self.sign = sign

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        return [[self.sign * TASTE.liked(talk.rated.text)] for talk in transcripts]


@pytest.mark.parametrize(("sign", "agrees"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5)])
def test_how_often_a_model_agrees_with_the_taste(sign: float, agrees: float) -> None:
    assert online_loop.taste_agreement(Knowing(sign), TASTE).estimate == agrees


def test_how_often_the_best_is_liked_more_than_a_single_one() -> None:
    # The best of 16 is beaten by one more response about once in 17; the worst beats it as seldom.
    best, worst, first = (online_loop.best_of_n_win_rate(Knowing(sign), TASTE) for sign in (1.0, -1.0, 0.0))
    assert best.ci_low < 16 / 17 < best.ci_high
    assert worst.ci_low < 1 / 17 < worst.ci_high
    assert first.ci_low < 0.5 < first.ci_high
    assert best.n == online_loop.N_TRIALS


def test_people_pick_as_bradley_and_terry_say() -> None:
    rng = np.random.default_rng(1)
    a, b = online_loop.SCRIPT.responses[:2]
    picks = [TASTE.pick(a, b, rng) for _ in range(4000)]
    expected = 1 / (1 + np.exp(TASTE.liked(a) - TASTE.liked(b)))
    assert np.mean(np.array(picks) > 0) == pytest.approx(expected, abs=4 * 0.5 / 4000**0.5)
    assert set(map(abs, picks)) == {1, 2, 3}


def test_each_phase_has_a_campaign_that_teaches_the_line() -> None:
    base, pinned, online = (online_loop.phase_campaign(phase) for phase in ("base", "rejection-sampled", "online"))
    told = []
    for one in (base, pinned, online):
        assert one.registered_models == (online_loop.MODEL_NAME,)
        assert one.chat is not None
        told.append(one.chat.chatbots[0].registered_model)
    assert [None if line is None else str(line) for line in told] == [None, "demo/1", "demo"]
