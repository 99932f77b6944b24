"""Maximum likelihood fit of a multilevel model of ordered answers."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.multilevel.covariance import cholesky_factor, start_parameters
from dissensus.stats.multilevel.design import ModelDesign, RandomTerm
from dissensus.stats.multilevel.kernels import LOGIT, PROBIT
from dissensus.stats.multilevel.laplace import LaplaceLikelihood, Mode
from dissensus.stats.multilevel.maximum import maximize
from dissensus.stats.result import FloatArray

Link = Literal["probit", "logit"]
LINKS: Final[dict[str, int]] = {"probit": PROBIT, "logit": LOGIT}
# Standard deviation of the latent error of each link.
ERROR_SDS: Final[dict[str, float]] = {"probit": 1.0, "logit": np.pi / np.sqrt(3)}
# Step of the finite differences of the gradient, in approximate standard errors.
DIFFERENCE: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomEffects:
    """Random effects of one term.

    Parameters
    ----------
    name
        Name of the term.
    sds
        Standard deviation of each effect of a group, shape (D,).
    correlations
        Correlations of the effects of a group, shape (D, D).
    modes
        Most likely effects of each group, given the answers, shape (G, D).
    sd_errors
        Standard errors of the logarithms of `sds`, shape (D,).
    """

    name: str
    sds: FloatArray
    correlations: FloatArray
    modes: FloatArray
    sd_errors: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the effects of a group."""
        return self.correlations * np.outer(self.sds, self.sds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrdinalFit:
    """A fitted model.

    Parameters
    ----------
    thresholds
        Thresholds on the latent scale, ascending, shape (K - 1,).
    coefficients
        Coefficients of the fixed covariates, shape (P,).
    random
        Random effects of each term, in the order of the design.
    covariance
        Covariance matrix of the estimates: thresholds, coefficients, then parameters of the random effects' covariance.
    log_likelihood
        Laplace approximation of the log marginal likelihood, with all constants.
    n_parameters, n_ratings
        Numbers of estimated parameters and of ratings.
    n_iterations
        Iterations of the optimizer.
    link
        "probit" or "logit".
    """

    thresholds: FloatArray
    coefficients: FloatArray
    random: tuple[RandomEffects, ...]
    covariance: FloatArray
    log_likelihood: float
    n_parameters: int
    n_ratings: int
    n_iterations: int
    link: Link

    @property
    def threshold_errors(self) -> FloatArray:
        """Standard errors of the thresholds."""
        return np.sqrt(np.diag(self.covariance)[: len(self.thresholds)])

    @property
    def coefficient_errors(self) -> FloatArray:
        """Standard errors of the coefficients."""
        first = len(self.thresholds)
        return np.sqrt(np.diag(self.covariance)[first : first + len(self.coefficients)])


def fit_ordinal(design: ModelDesign, *, link: Link = "probit") -> OrdinalFit:
    """Fit a cumulative model with random effects by maximum likelihood.

    The answer of a rating is at most k with probability F(τ_k − η), where F is the normal or logistic distribution and
    η = x β + z b, with random effects b (McCullagh 1980, https://doi.org/10.1111/j.2517-6161.1980.tb01109.x; two
    categories make a binary model). The likelihood is integrated over b by Laplace's approximation (`laplace`). It is
    maximized by BFGS with its exact gradient, and standard errors come from differences of this gradient.

    With few ratings a group, the approximation makes standard deviations of random effects too small: those of items by
    about .05, .01 and .004 at 3, 5 and 10 ratings an item.

    Parameters
    ----------
    design
        Answers, covariates and random effects.
    link
        "probit" or "logit".

    Raises
    ------
    InvalidInput
        `link` is not one of the two.
    UndefinedEstimate
        The answers do not determine the model.

    Examples
    --------
    >>> import numpy as np
    >>> from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
    >>> rng = np.random.default_rng(0)
    >>> item, rater = np.repeat(np.arange(60), 20), np.tile(np.arange(20), 60)
    >>> woman = (rater % 2).astype(float)
    >>> latent = 0.8 * woman + rng.normal(0, 0.5, 20)[rater] + rng.normal(0, 1, 60)[item] + rng.normal(0, 1, 1200)
    >>> design = ModelDesign(
    ...     answers=np.digitize(latent, [-0.5, 0.5]),
    ...     n_categories=3,
    ...     fixed=Covariates.from_matrix(woman[:, None]),
    ...     random=(
    ...         RandomTerm(name="rater", groups=rater, n_groups=20),
    ...         RandomTerm(name="item", groups=item, n_groups=60),
    ...     ),
    ... )
    >>> fit = fit_ordinal(design)
    >>> fit.coefficients.round(2), fit.thresholds.round(2), [float(term.sds[0].round(2)) for term in fit.random]
    (array([0.69]), array([-0.55,  0.44]), [0.53, 0.93])
    """
    if link not in LINKS:
        raise InvalidInput(f"link is {link!r}; 'probit' and 'logit' are allowed.")
    likelihood = LaplaceLikelihood(design, LINKS[link])
    start = _start(likelihood, ERROR_SDS[link])
    mode = likelihood.mode(start)
    longest = np.ones(likelihood.n_parameters)

    def value_and_gradient(parameters: FloatArray) -> tuple[float, FloatArray]:
        if not likelihood.is_allowed(parameters):
            return -np.inf, np.zeros_like(parameters)
        point = likelihood.mode(parameters)
        return point.log_likelihood, likelihood.gradient(parameters, point)

    maximum = maximize(value_and_gradient, start, likelihood.information(start, mode), longest)
    mode = likelihood.mode(maximum.parameters)
    covariance = _covariance(likelihood, maximum.parameters, mode)
    first = likelihood.n_thresholds
    return OrdinalFit(
        thresholds=maximum.parameters[:first],
        coefficients=maximum.parameters[first : first + likelihood.n_coefficients],
        random=tuple(
            _random_effects(term, maximum.parameters[part], covariance[part, part], modes)
            for term, part, modes in zip(
                design.random, likelihood.covariance_slices, likelihood.effects(mode), strict=True
            )
        ),
        covariance=covariance,
        log_likelihood=maximum.value,
        n_parameters=likelihood.n_parameters,
        n_ratings=len(design.answers),
        n_iterations=maximum.n_iterations,
        link=link,
    )


def _start(likelihood: LaplaceLikelihood, error_sd: float) -> FloatArray:
    """First parameters: thresholds that give the answers' shares, and no effects."""
    design = likelihood.design
    terms = [start_parameters(term) for term in design.random]
    shares = np.bincount(design.answers, minlength=design.n_categories).cumsum()[:-1] / len(design.answers)
    # The logistic quantile, scaled, serves both links as a start.
    spread = np.sqrt(error_sd**2 + 0.36 * len(terms))
    thresholds = np.log(shares / (1 - shares)) * np.sqrt(3) / np.pi * spread
    return np.concatenate([thresholds, np.zeros(likelihood.n_coefficients), *terms])


def _covariance(likelihood: LaplaceLikelihood, parameters: FloatArray, mode: Mode) -> FloatArray:
    """Inverse of minus the second derivatives, by central differences of the gradient."""
    steps = DIFFERENCE / np.sqrt(np.diag(likelihood.information(parameters, mode)))
    hessian = np.empty((len(parameters), len(parameters)))
    for j, step in enumerate(steps):
        change = np.zeros_like(parameters)
        change[j] = step
        above, below = parameters + change, parameters - change
        hessian[j] = likelihood.gradient(below, likelihood.mode(below)) - likelihood.gradient(
            above, likelihood.mode(above)
        )
        hessian[j] /= 2 * step
    hessian = 0.5 * (hessian + hessian.T)
    if np.linalg.eigvalsh(hessian)[0] <= 0:
        raise UndefinedEstimate(
            "The answers do not determine all parameters: the likelihood is flat or has no maximum. "
            "Look for groups whose answers are all the same, or leave out a term."
        )
    return np.linalg.inv(hessian)


def _random_effects(
    term: RandomTerm, parameters: FloatArray, covariance: FloatArray, modes: FloatArray
) -> RandomEffects:
    """Describe a term's effects by standard deviations and correlations, with errors by the delta method."""
    factor = cholesky_factor(term, parameters)
    matrix = factor @ factor.T
    sds = np.sqrt(np.diag(matrix))
    derivatives = np.zeros((term.size, len(parameters)))
    if term.structure == "identity":
        derivatives[:, 0] = 1.0
    else:
        # log sd of effect d is half the logarithm of the sum of squares of row d of the factor.
        diagonal = np.arange(term.size)
        derivatives[diagonal, diagonal] = np.diag(factor) ** 2 / sds**2
        rows, columns = np.tril_indices(term.size, -1)
        derivatives[rows, term.size + np.arange(len(rows))] = factor[rows, columns] / sds[rows] ** 2
    return RandomEffects(
        name=term.name,
        sds=sds,
        correlations=matrix / np.outer(sds, sds),
        modes=modes,
        sd_errors=np.sqrt(np.diag(derivatives @ covariance @ derivatives.T)),
    )
