"""Multilevel model of one answer, and its variance components on the scale of shares."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput

LARGEST_SD: Final = 5.0
"""Standard deviation beyond which answers of a rater, or to an item, are all the same."""
_NORMAL: Final = NormalDist()
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingModel:
    r"""Cumulative probit model of one answer, such as Yes, with crossed random effects.

    .. math:: y_{ri} = [\eta_{ri} > 0], \qquad
              \eta_{ri} = \mu_{g(r)} + u_r + \lambda_{g(r)} v_i + w_{g(r) i} + \varepsilon_{ri}

    with normal effects of raters, of items, and of groups on items; the error has standard deviation 1.

    Parameters
    ----------
    rater_sd, item_sd, group_item_sd
        Standard deviations of u, v and w.

    Raises
    ------
    InvalidInput
        A standard deviation is not between 0 and 5.
    """

    rater_sd: float
    item_sd: float
    group_item_sd: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rater_sd", "item_sd", "group_item_sd"):
            value = getattr(self, name)
            if not 0 <= value <= LARGEST_SD:
                raise InvalidInput(f"{name} is {value:g}; give a standard deviation from 0 to {LARGEST_SD:g}.")

    def total_sd(self, loading: float = 1.0) -> float:
        """Return the standard deviation of the latent value, given the loading of item effects in the group."""
        return math.sqrt(1 + self.rater_sd**2 + (loading * self.item_sd) ** 2 + self.group_item_sd**2)

    def components(self, share: float, loading: float = 1.0) -> "ShareComponents":
        """Split the variance p(1 - p) of single answers of a group into raters, items and the rest.

        Examples
        --------
        >>> model = RatingModel(rater_sd=1.0, item_sd=1.0)
        >>> parts = model.components(0.5)
        >>> round(parts.rater, 4), round(parts.item, 4), round(parts.residual, 4)
        (0.0541, 0.0541, 0.1418)
        """
        z, total = _NORMAL.inv_cdf(share), self.total_sd(loading) ** 2
        rater = event_covariance(z, z, self.rater_sd**2 / total)
        item = event_covariance(z, z, ((loading * self.item_sd) ** 2 + self.group_item_sd**2) / total)
        return ShareComponents(rater=rater, item=item, residual=share * (1 - share) - rater - item)

    def item_covariance(self, first: tuple[float, float], second: tuple[float, float]) -> float:
        """Return the covariance of the shares of two groups over items, each group as its share and loading."""
        scale = self.total_sd(first[1]) * self.total_sd(second[1])
        rho = first[1] * second[1] * self.item_sd**2 / scale
        return event_covariance(_NORMAL.inv_cdf(first[0]), _NORMAL.inv_cdf(second[0]), rho)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareComponents:
    """Variance components of single answers, 0 or 1, on the scale of shares; their sum is p(1 - p)."""

    rater: float
    item: float
    residual: float  # rater by item, with the error

    @property
    def total(self) -> float:
        """Variance of a single answer."""
        return self.rater + self.item + self.residual

    def design_effect(self, load: float) -> float:
        """Return the variance of a mean over raters of `load` items each, over that of independent answers.

        The items are fixed: 1 - ρ_item + (load - 1) ρ_rater.

        Examples
        --------
        >>> round(ShareComponents(rater=0.05, item=0.0, residual=0.2).design_effect(11), 6)
        3.0
        """
        return 1 - self.item / self.total + (load - 1) * self.rater / self.total


def event_covariance(z_a: float, z_b: float, rho: float) -> float:
    r"""Return the covariance of two events X < z_a and Y < z_b of standard normal X and Y with correlation rho.

    .. math:: \Phi_2(a, b; \rho) - \Phi(a) \Phi(b) = \frac{1}{2 \pi} \int_0^{\arcsin \rho}
              \exp\Bigl(-\frac{a^2 + b^2 - 2 a b \sin t}{2 \cos^2 t}\Bigr) dt

    (Drezner and Wesolowsky 1990), by Gauss-Legendre quadrature.

    Examples
    --------
    >>> round(event_covariance(0.0, 0.0, 0.5), 6)  # asin(.5) / (2 π)
    0.083333
    """
    high = math.asin(rho)
    angle = high * (1 + _NODES) / 2
    exponent = -(z_a**2 + z_b**2 - 2 * z_a * z_b * np.sin(angle)) / (2 * np.cos(angle) ** 2)
    return float(high / 2 * (_WEIGHTS @ np.exp(exponent)) / (2 * math.pi))
