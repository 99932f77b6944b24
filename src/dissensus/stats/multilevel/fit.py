"""Maximum likelihood fit of a multilevel model of ordered answers."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.multilevel.covariance import cholesky_factor, start_parameters
from dissensus.stats.multilevel.design import ModelDesign, RandomTerm
from dissensus.stats.multilevel.kernels import LOGIT, PROBIT
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.maximum import maximize
from dissensus.stats.multilevel.posterior import Curvature, NormalApproximation
from dissensus.stats.multilevel.quadrature import difference_gradient, quadrature_correction
from dissensus.stats.result import FloatArray

Link = Literal["probit", "logit"]
Integration = Literal["auto", "laplace", "quadrature"]
LINKS: Final[dict[str, int]] = {"probit": PROBIT, "logit": LOGIT}
# Standard deviation of the latent error of each link.
ERROR_SDS: Final[dict[str, float]] = {"probit": 1.0, "logit": np.pi / np.sqrt(3)}
# Standard deviation below which random effects have vanished, and the likelihood no longer depends on it.
SMALLEST_SD: Final = 1e-3
# Information about a parameter, given the others, as a share of that at the start: what is less is rounding.
LEAST_INFORMATION: Final = 1e-6
FLAT: Final = (
    "The answers do not determine all parameters: a coefficient grows without bound, or two cannot be told apart. "
    "Look for groups whose answers are all the same, or leave out a term."
)
# Step of the finite differences of the gradient, in approximate standard errors.
DIFFERENCE: Final = 0.02
# Ratings of an inner group below which "auto" integrates by quadrature.
FEW_RATINGS: Final = 20
# Steps towards the maximum by quadrature: their number, the finite differences, and the last step, in standard errors.
MAX_REFINEMENTS: Final = 8
REFINEMENT_DIFFERENCE: Final = 0.1
REFINEMENT_TOLERANCE: Final = 0.005


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
        Standard errors of the logarithms of `sds`, shape (D,); NaN if effects have vanished.
    is_singular
        True if a standard deviation is zero, or a correlation or a combination of them is one: the estimate lies on the
        boundary, and standard errors hold it there.
    """

    name: str
    sds: FloatArray
    correlations: FloatArray
    modes: FloatArray
    sd_errors: FloatArray
    is_singular: bool

    @property
    def has_vanished(self) -> bool:
        """True if some effects of the term have an estimated standard deviation of zero."""
        return bool(np.isnan(self.sd_errors).any())

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
        Covariance matrix of the estimates: thresholds, coefficients, then parameters of the random effects' covariance;
        NaN for those on the boundary.
    log_likelihood
        Log marginal likelihood, with all constants.
    n_parameters, n_ratings
        Numbers of estimated parameters and of ratings.
    n_iterations
        Iterations of the optimizer.
    link
        "probit" or "logit".
    integration
        "laplace" or "quadrature".
    approximation
        Normal approximation of the joint distribution of parameters and random effects, from which to draw.
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
    integration: Integration
    approximation: NormalApproximation

    @property
    def threshold_errors(self) -> FloatArray:
        """Standard errors of the thresholds."""
        return np.sqrt(np.diag(self.covariance)[: len(self.thresholds)])

    @property
    def coefficient_errors(self) -> FloatArray:
        """Standard errors of the coefficients."""
        first = len(self.thresholds)
        return np.sqrt(np.diag(self.covariance)[first : first + len(self.coefficients)])


def fit_ordinal(design: ModelDesign, *, link: Link = "probit", integration: Integration = "auto") -> OrdinalFit:
    """Fit a cumulative model with random effects by maximum likelihood.

    The answer of a rating is at most k with probability F(τ_k − η), where F is the normal or logistic distribution and
    η = x β + z b, with random effects b (McCullagh 1980, https://doi.org/10.1111/j.2517-6161.1980.tb01109.x; two
    categories make a binary model). The likelihood is integrated over b by Laplace's approximation (`laplace`). It is
    maximized by BFGS with its exact gradient, and standard errors come from differences of this gradient.

    With few ratings a group, the approximation makes standard deviations of random effects too small: those of items by
    about .05, .01 and .004 at 3, 5 and 10 ratings an item. `quadrature` over the effects of the factor with the most
    groups corrects that; standard errors remain those of the approximation.

    Parameters
    ----------
    design
        Answers, covariates and random effects.
    link
        "probit" or "logit".
    integration
        "laplace", "quadrature" (a single effect for each group of the factor with the most groups), or "auto":
        quadrature if that factor has a single effect and less than 20 ratings a group.

    Raises
    ------
    InvalidInput
        `link` or `integration` is not allowed.
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
    (array([1.02]), array([-0.49,  0.52]), [0.39, 1.04])
    """
    if link not in LINKS:
        raise InvalidInput(f"link is {link!r}; 'probit' and 'logit' are allowed.")
    if integration not in get_args(Integration):
        raise InvalidInput(f"integration is {integration!r}; 'auto', 'laplace' and 'quadrature' are allowed.")
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
    parameters, log_likelihood = maximum.parameters, maximum.value
    curvature = _curvature(likelihood, parameters, start)
    if integration == "auto":
        few = len(design.answers) < FEW_RATINGS * likelihood.layout.n_groups
        integration = "quadrature" if few and likelihood.layout.ratings.inner.shape[1] == 1 else "laplace"
    if integration == "quadrature":
        parameters = _refine(likelihood, parameters, curvature.covariance)
        curvature = _curvature(likelihood, parameters, start)
        mode = likelihood.mode(parameters)
        log_likelihood = mode.log_likelihood + quadrature_correction(likelihood, mode)
    mode = likelihood.mode(parameters)
    first = likelihood.n_thresholds
    return OrdinalFit(
        thresholds=parameters[:first],
        coefficients=parameters[first : first + likelihood.n_coefficients],
        random=tuple(
            _random_effects(term, parameters[part], curvature.covariance[part, part], modes)
            for term, part, modes in zip(
                design.random, likelihood.covariance_slices, likelihood.effects(mode.u, mode.v), strict=True
            )
        ),
        covariance=curvature.covariance,
        log_likelihood=log_likelihood,
        n_parameters=likelihood.n_parameters,
        n_ratings=len(design.answers),
        n_iterations=maximum.n_iterations,
        link=link,
        integration=integration,
        approximation=NormalApproximation(likelihood=likelihood, parameters=parameters, mode=mode, curvature=curvature),
    )


def _start(likelihood: LaplaceLikelihood, error_sd: float) -> FloatArray:
    """Return the first parameters: thresholds that give the answers' shares, and no effects."""
    design = likelihood.design
    terms = [start_parameters(term) for term in design.random]
    shares = np.bincount(design.answers, minlength=design.n_categories).cumsum()[:-1] / len(design.answers)
    # The logistic quantile, scaled, serves both links as a start.
    spread = np.sqrt(error_sd**2 + 0.36 * len(terms))
    thresholds = np.log(shares / (1 - shares)) * np.sqrt(3) / np.pi * spread
    return np.concatenate([thresholds, np.zeros(likelihood.n_coefficients), *terms])


def _refine(likelihood: LaplaceLikelihood, parameters: FloatArray, covariance: FloatArray) -> FloatArray:
    """Move to the maximum of the likelihood by quadrature, with the curvature of Laplace's approximation."""
    # Parameters at the boundary stay there.
    covariance = np.nan_to_num(covariance)
    errors = np.sqrt(np.diag(covariance))
    for _ in range(MAX_REFINEMENTS):
        gradient = likelihood.gradient(parameters, likelihood.mode(parameters))
        step = covariance @ (gradient + difference_gradient(likelihood, parameters, REFINEMENT_DIFFERENCE * errors))
        while not likelihood.is_allowed(parameters + step):
            step /= 2
        parameters = parameters + step
        if (np.abs(step) <= REFINEMENT_TOLERANCE * errors).all():
            break
    return parameters


def _curvature(likelihood: LaplaceLikelihood, parameters: FloatArray, start: FloatArray) -> Curvature:
    """Return the covariance of the estimates, and how effects follow the parameters, by central differences.

    `start` is where the information has an ordinary size.
    """
    scale = np.sqrt(np.diag(likelihood.information(parameters, likelihood.mode(parameters))))
    if not (scale > 0).all():
        raise UndefinedEstimate(FLAT)
    free = np.flatnonzero(~_at_boundary(likelihood, parameters))
    hessian = np.zeros((len(parameters), len(parameters)))
    by_u = np.zeros((len(parameters), likelihood.layout.n_outer))
    by_v = np.zeros((len(parameters), *likelihood.inner_shape))
    for j in free:
        step = DIFFERENCE / scale[j]
        change = np.zeros_like(parameters)
        change[j] = step
        above, below = likelihood.mode(parameters + change), likelihood.mode(parameters - change)
        hessian[j] = likelihood.gradient(parameters - change, below) - likelihood.gradient(parameters + change, above)
        hessian[j] /= 2 * step
        by_u[j], by_v[j] = (above.u - below.u) / (2 * step), (above.v - below.v) / (2 * step)
    scale = np.sqrt(np.diag(likelihood.information(start, likelihood.mode(start))))[free]
    scaled = 0.5 * (hessian + hessian.T)[np.ix_(free, free)] / np.outer(scale, scale)
    if np.linalg.eigvalsh(scaled)[0] < LEAST_INFORMATION:
        raise UndefinedEstimate(FLAT)
    covariance = np.full(hessian.shape, np.nan)
    covariance[np.ix_(free, free)] = np.linalg.inv(scaled) / np.outer(scale, scale)
    return Curvature(covariance=covariance, by_u=by_u, by_v=by_v)


def _at_boundary(likelihood: LaplaceLikelihood, parameters: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which parameters are the logarithm of a diagonal element of almost zero."""
    boundary = np.zeros(len(parameters), bool)
    for term, part in zip(likelihood.design.random, likelihood.covariance_slices, strict=True):
        diagonal = np.diag(cholesky_factor(term, parameters[part]))
        n = 1 if term.structure == "identity" else term.size
        boundary[part.start : part.start + n] = diagonal[:n] < SMALLEST_SD
    return boundary


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
    # Parameters at the boundary have no variance, and move no other standard deviation.
    variances = np.diag(derivatives @ np.nan_to_num(covariance) @ derivatives.T)
    return RandomEffects(
        name=term.name,
        sds=sds,
        correlations=matrix / np.outer(sds, sds),
        modes=modes,
        sd_errors=np.where(sds < SMALLEST_SD, np.nan, np.sqrt(variances)),
        is_singular=bool((np.diag(factor) < SMALLEST_SD).any()),
    )
