"""Prior distributions of the parameters of a multilevel model.

Thresholds and coefficients have normal or Student t priors, standard deviations of random effects the same cut off at
zero, or exponential ones, and correlation matrices the LKJ distribution (Lewandowski, Kurowicka & Joe 2009,
https://doi.org/10.1016/j.jmva.2009.04.008). A parameter without a prior has a flat one. As in brms, the priors of
thresholds are those of a rating whose covariates have their mean.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal, get_args

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.covariance import cholesky_factor, count_parameters, lower_triangle
from dissensus.stats.multilevel.design import ModelDesign
from dissensus.stats.result import FloatArray

Family = Literal["normal", "student_t", "exponential"]
MOST_DEGREES: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A prior of one parameter.

    Parameters
    ----------
    family
        "normal", "student_t" or "exponential" (for standard deviations).
    location, scale
        Centre and scale; the mean of an exponential distribution is its scale, and its location is 0.
    degrees
        Degrees of freedom of Student's t distribution.

    Raises
    ------
    InvalidInput
        A number is out of range.

    Examples
    --------
    >>> round(Prior(family="normal", location=0, scale=2).log_density(1.0), 3)
    -0.125
    """

    family: Family
    location: float = 0.0
    scale: float = 1.0
    degrees: float = math.inf

    def __post_init__(self) -> None:
        """Validate the numbers."""
        if self.family not in get_args(Family):
            raise InvalidInput(f"The prior family is {self.family!r}; {', '.join(get_args(Family))} are allowed.")
        if not (math.isfinite(self.location) and 0 < self.scale < math.inf):
            raise InvalidInput(
                f"The prior has location {self.location} and scale {self.scale}; give finite numbers, the scale "
                "above 0."
            )
        if self.family == "student_t" and not 0 < self.degrees <= MOST_DEGREES:
            raise InvalidInput(
                f"The prior has {self.degrees:g} degrees of freedom; give a number above 0, up to {MOST_DEGREES:,.0f}."
            )

    def log_density(self, x: float) -> float:
        """Log density at `x`, without its constant."""
        if self.family == "exponential":
            return -x / self.scale
        z = (x - self.location) / self.scale
        if self.family == "normal":
            return -0.5 * z * z
        return -0.5 * (self.degrees + 1) * math.log1p(z * z / self.degrees)

    def slope(self, x: float) -> float:
        """Return the derivative of the log density."""
        if self.family == "exponential":
            return -1 / self.scale
        z = (x - self.location) / self.scale
        if self.family == "normal":
            return -z / self.scale
        return -(self.degrees + 1) * z / (self.degrees + z * z) / self.scale

    @property
    def precision(self) -> float:
        """Minus the second derivative of the log density at its centre."""
        if self.family == "exponential":
            return 0.0
        return (1 if self.family == "normal" else (self.degrees + 1) / self.degrees) / self.scale**2

    def draw_precision(self, x: float, rng: np.random.Generator) -> float:
        """Draw the precision of the normal distribution whose mixture the prior is, given the parameter `x`."""
        if self.family == "normal":
            return 1 / self.scale**2
        z = (x - self.location) / self.scale
        return float(rng.gamma(0.5 * (self.degrees + 1)) / (0.5 * (self.degrees + z * z)) / self.scale**2)

    def draw(self, rng: np.random.Generator, *, positive: bool = False) -> float:
        """Draw a parameter; `positive` cuts the distribution off at zero."""
        while True:
            if self.family == "exponential":
                x = self.scale * rng.standard_exponential()
            else:
                noise = rng.standard_normal() if self.family == "normal" else rng.standard_t(self.degrees)
                x = self.location + self.scale * noise
            if x > 0 or not positive:
                return float(x)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelPriors:
    """Priors of all parameters; None for a flat one.

    Parameters
    ----------
    thresholds
        Prior of each threshold, at the mean of the covariates, K - 1 of them.
    coefficients
        Prior of each coefficient, P of them.
    sds
        Priors of the standard deviations of each random term, one for each effect of a group; a single one for terms of
        the structure "identity".
    shape
        Shape η of the LKJ distribution of correlations; 1 is flat.

    Raises
    ------
    InvalidInput
        Thresholds or coefficients have an exponential prior, or the shape is not a positive number.
    """

    thresholds: tuple[Prior | None, ...]
    coefficients: tuple[Prior | None, ...]
    sds: tuple[tuple[Prior | None, ...], ...]
    shape: float = 1.0

    def __post_init__(self) -> None:
        """Validate families and the shape."""
        if any(prior is not None and prior.family == "exponential" for prior in self.thresholds + self.coefficients):
            raise InvalidInput(
                "An exponential prior is for standard deviations, which are above 0. Give coefficients and thresholds "
                "a normal or a student_t prior."
            )
        if not 0 < self.shape < math.inf:
            raise InvalidInput(f"The shape of the LKJ distribution is {self.shape}; give a number above 0.")

    @classmethod
    def flat(cls, design: ModelDesign) -> "ModelPriors":
        """Return flat priors of all parameters."""
        return cls(
            thresholds=(None,) * (design.n_categories - 1),
            coefficients=(None,) * design.fixed.values.shape[1],
            sds=tuple((None,) * (1 if term.structure == "identity" else term.size) for term in design.random),
        )

    @property
    def is_flat(self) -> bool:
        """True if no parameter has a prior."""
        every = (*self.thresholds, *self.coefficients, *(prior for term in self.sds for prior in term))
        return self.shape == 1 and all(prior is None for prior in every)


class PriorPenalty:
    """Log density of the priors, as a function of the parameters of `LaplaceLikelihood`.

    Its sum with the log-likelihood is greatest at the posterior mode of thresholds, coefficients, standard deviations
    and correlations, which is the maximum of the likelihood under flat priors.

    Parameters
    ----------
    priors
        Priors of all parameters.
    design
        Design of the model.
    """

    def __init__(self, priors: ModelPriors, design: ModelDesign) -> None:
        self.priors = priors
        self.design = design
        n, p = design.n_categories - 1, design.fixed.values.shape[1]
        shapes = (len(priors.thresholds), len(priors.coefficients), tuple(len(term) for term in priors.sds))
        expected = (n, p, tuple(1 if term.structure == "identity" else term.size for term in design.random))
        if shapes != expected:
            raise InvalidInput(
                f"Priors are of {shapes[0]} thresholds, {shapes[1]} coefficients and {shapes[2]} standard deviations, "
                f"and the design has {expected[0]}, {expected[1]} and {expected[2]}."
            )
        counts = np.cumsum([n + p, *(count_parameters(term) for term in design.random)])
        self._parts = [slice(int(a), int(b)) for a, b in pairwise(counts)]

    @cached_property
    def centre(self) -> FloatArray:
        """Mean of each covariate over the ratings, shape (P,)."""
        weights = np.bincount(self.design.fixed.row, minlength=len(self.design.fixed.values))
        return np.asarray(weights @ self.design.fixed.values / weights.sum())

    def value(self, parameters: FloatArray) -> float:
        """Log density, without its constant."""
        if self.priors.is_flat:
            return 0.0
        total = sum(prior.log_density(float(x)) for prior, x, _ in self._linear(parameters) if prior is not None)
        for term, part, priors in zip(self.design.random, self._parts, self.priors.sds, strict=True):
            factor = cholesky_factor(term, parameters[part])
            sds = np.sqrt((factor**2).sum(1))
            total += sum(
                prior.log_density(float(sd)) for prior, sd in zip(priors, sds, strict=False) if prior is not None
            )
            total += 2 * (self.priors.shape - 1) * float(np.log(factor.diagonal() / sds).sum())
        return float(total)

    def gradient(self, parameters: FloatArray) -> FloatArray:
        """Gradient of `value`."""
        gradient = np.zeros(len(parameters))
        if self.priors.is_flat:
            return gradient
        for prior, x, direction in self._linear(parameters):
            if prior is not None:
                gradient[: len(direction)] += prior.slope(float(x)) * direction
        for term, part, priors in zip(self.design.random, self._parts, self.priors.sds, strict=True):
            factor = cholesky_factor(term, parameters[part])
            sds = np.sqrt((factor**2).sum(1))
            slopes = np.array(
                [0.0 if prior is None else prior.slope(float(sd)) * sd for prior, sd in zip(priors, sds, strict=False)]
            )
            if term.structure == "identity":
                gradient[part] = slopes[:1]
                continue
            # By the logarithm of a standard deviation, and by the correlations, whose determinant is that of the factor
            # divided by the standard deviations.
            slopes -= 2 * (self.priors.shape - 1)
            by_factor = (slopes / sds**2)[:, None] * factor
            diagonal = np.diag(by_factor) * factor.diagonal() + 2 * (self.priors.shape - 1)
            gradient[part] = np.concatenate([diagonal, by_factor[lower_triangle(term.size)]])
        return gradient

    def information(self, parameters: FloatArray) -> FloatArray:
        """Minus the second derivatives by thresholds and coefficients at the centres of their priors."""
        information = np.zeros((len(parameters), len(parameters)))
        for prior, _, direction in self._linear(parameters):
            if prior is not None:
                information[: len(direction), : len(direction)] += prior.precision * np.outer(direction, direction)
        return information

    def log_volume(self, parameters: FloatArray) -> float:
        """Log of the volume of standard deviations and correlations that a unit of volume of the parameters has.

        With it the posterior density of the parameters is that under priors of standard deviations and correlations.
        """
        total = 0.0
        for term, part in zip(self.design.random, self._parts, strict=True):
            factor = cholesky_factor(term, parameters[part])
            if term.structure == "identity":
                total += math.log(factor[0, 0])
                continue
            sds = np.sqrt((factor**2).sum(1))
            order = np.arange(term.size)
            total += float((term.size - order + 1) @ np.log(factor.diagonal() / sds) - (order - 1) @ np.log(sds))
        return total

    def _linear(self, parameters: FloatArray) -> list[tuple[Prior | None, float, FloatArray]]:
        """Return prior, value and derivative of each threshold at the mean covariates, and of each coefficient."""
        matrix = self._directions
        values = matrix @ parameters[: len(matrix)]
        return list(zip((*self.priors.thresholds, *self.priors.coefficients), values, matrix, strict=True))

    @cached_property
    def _directions(self) -> FloatArray:
        """Derivatives of each threshold at the mean covariates, and of each coefficient."""
        n, p = len(self.priors.thresholds), len(self.priors.coefficients)
        matrix = np.eye(n + p)
        matrix[:n, n:] = -self.centre
        return matrix
