"""Predicted shares: against simulated raters, and against their limits."""

import numpy as np
import pytest

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.kernels import LOGIT, PROBIT
from dissensus.stats.multilevel.prediction import RaterVariation, predict_shares

THRESHOLDS = np.array([[-0.4, 0.1, 0.9]])


@pytest.mark.parametrize("link", [PROBIT, LOGIT])
@pytest.mark.parametrize("width", [0.0, 0.8])
def test_shares_are_those_of_simulated_raters(link: int, width: float) -> None:
    rng = np.random.default_rng(1)
    n = 400_000
    covariance = np.array([[0.49, 0.2], [0.2, width**2]]) if width else np.array([[0.49, 0], [0, 0]])
    effect, log_width = rng.multivariate_normal([0, 0], covariance, n).T
    latent = 0.3 + effect + (rng.normal(size=n) if link == PROBIT else rng.logistic(size=n))
    centre = 0.25
    edges = centre + (THRESHOLDS[0] - centre) * np.exp(log_width)[:, None]
    expected = np.bincount((latent[:, None] > edges).sum(1), minlength=4) / n
    variation = RaterVariation(
        variance=np.full((1, 1), 0.49),
        width_sds=np.array([width]) if width else None,
        width_covariances=np.array([0.2]) if width else None,
    )
    shares = predict_shares(np.full((1, 1), 0.3), THRESHOLDS, variation, link=link)
    assert shares[0, 0] == pytest.approx(expected, abs=4 * np.sqrt(0.25 / n))
    assert shares.sum() == pytest.approx(1)


def test_raters_who_do_not_differ_leave_the_model_itself() -> None:
    variation = RaterVariation(variance=np.zeros((1, 2)))
    shares = predict_shares(np.array([[0.0, 1.0]]), np.array([[0.0]]), variation, link=LOGIT)
    assert shares[0, :, 1] == pytest.approx([0.5, 1 / (1 + np.exp(-1))])


def test_shapes_must_agree() -> None:
    with pytest.raises(InvalidInput, match="the first two are"):
        predict_shares(np.zeros((2, 3)), THRESHOLDS, RaterVariation(variance=np.zeros((2, 3))), link=PROBIT)
