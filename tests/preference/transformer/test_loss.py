"""The transformer loss equals that of the linear model."""

from types import SimpleNamespace

import numpy as np
import pytest

from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.transformer.trainer import N_LABELS, loss

pytestmark = pytest.mark.ml

PAIRS = [
    Pair((), "yes", "no", strength=3.0, weight=2.0, agreement=0.75),
    Pair((), "yes", "no", strength=1.0, agreement=0.75),
    Pair((), "a", "b", strength=2.0),
    Pair((), "c", "d", weight=0.5, agreement=0.0),
]
ODDS = np.array([1.5, -0.25, 40.0, -3.0])


@pytest.mark.parametrize(
    "weighting",
    [
        Weighting(),
        Weighting(strength="weight"),
        Weighting(strength="margin"),
        Weighting(soft=True),
        Weighting(strength="weight", soft=True),
    ],
    ids=str,
)
def test_the_loss_is_the_mean_over_pairs(weighting: Weighting) -> None:
    import torch

    choices = weighting.choices(PAIRS)
    scores = torch.tensor(np.stack([ODDS + 7, np.full(4, 7.0)], axis=1).ravel(), dtype=torch.float32)
    outputs = SimpleNamespace(logits=scores[:, None])
    labels = torch.tensor(np.stack([choices.weight, choices.share, choices.margin], axis=1))
    expected = choices.loss(ODDS - choices.margin)
    assert float(loss(outputs, labels)) == pytest.approx(float(expected.mean()), rel=1e-6)
    n_labels = N_LABELS * 10  # A step of ten pairs, of which these are four
    assert float(loss(outputs, labels, n_labels)) == pytest.approx(float(expected.sum()) / 10, rel=1e-6)
