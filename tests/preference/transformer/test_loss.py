"""The loss is that of the linear model, by numbers that another library computes."""

from types import SimpleNamespace

import numpy as np
import pytest

from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.transformer.trainer import OF_PAIR, loss

pytestmark = pytest.mark.ml

PAIRS = [
    Pair((), "yes", "no", strength=3.0, weight=2.0, agreement=0.75),
    Pair((), "yes", "no", strength=1.0, agreement=0.75),
    Pair((), "a", "b", strength=2.0),
    Pair((), "c", "d", weight=0.5, agreement=0.0),
]
ODDS = np.array([1.5, -0.25, 40.0, -3.0])


@pytest.mark.parametrize(
    "counting",
    [
        Weighting(),
        Weighting(strength="weight"),
        Weighting(strength="margin"),
        Weighting(soft=True),
        Weighting(strength="weight", soft=True),
    ],
    ids=str,
)
def test_it_is_the_mean_of_what_pairs_cost(counting: Weighting) -> None:
    import torch

    choices = counting.choices(PAIRS)
    scores = torch.tensor(np.stack([ODDS + 7, np.full(4, 7.0)], axis=1).ravel(), dtype=torch.float32)
    outputs = SimpleNamespace(logits=scores[:, None])
    labels = torch.tensor(np.stack([choices.weight, choices.share, choices.margin], axis=1))
    wanted = choices.loss(ODDS - choices.margin)
    assert float(loss(outputs, labels)) == pytest.approx(float(wanted.mean()), rel=1e-6)
    of_step = OF_PAIR * 10  # of which these four are a part
    assert float(loss(outputs, labels, of_step)) == pytest.approx(float(wanted.sum()) / 10, rel=1e-6)
