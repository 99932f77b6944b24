"""Maximum likelihood fit of a multilevel model of ordered answers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.multilevel.covariance import (
    SMALLEST,
    SMALLEST_SD,
    canonicalize,
    cholesky_factor,
    lower_triangle,
    mark_boundary,
    start_parameters,
)
from dissensus.stats.multilevel.design import ModelDesign, RandomTerm
from dissensus.stats.multilevel.kernels import LOGIT, PROBIT
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.maximum import TOLERANCE, Maximum, maximize, update_inverse
from dissensus.stats.multilevel.posterior import ChainSample, Curvature, NormalApproximation, PosteriorDistribution
from dissensus.stats.multilevel.priors import ModelPriors, PriorPenalty
from dissensus.stats.multilevel.quadrature import correct_by_quadrature
from dissensus.stats.result import FloatArray, IntArray

Link = Literal["probit", "logit"]
Integration = Literal["auto", "laplace", "quadrature"]
Estimator = Literal["maximum likelihood", "maximum a posteriori", "posterior"]
LINKS: Final[dict[str, int]] = {"probit": PROBIT, "logit": LOGIT}
# Standard deviation of the latent error of each link.
ERROR_SDS: Final[dict[str, float]] = {"probit": 1.0, "logit": np.pi / np.sqrt(3)}
# Logarithm of the diagonal element of a covariance's factor from which one that has vanished starts again.
RESTART_LOG: Final = -2.3
# Information about a parameter, given the others, as a share of that at the start: what is less is rounding.
LEAST_INFORMATION: Final = 1e-6
FLAT: Final = (
    "The answers do not determine all parameters: a coefficient grows without bound, or two cannot be told apart. "
    "Look for groups whose answers are all the same, or leave out a term."
)
# Step of the finite differences of the gradient, in approximate standard errors: on one side, and on both where the
# information is too small for it.
DIFFERENCE: Final = 0.005
CENTRAL_DIFFERENCE: Final = 0.02
# Ratings of an inner group below which "auto" integrates by quadrature.
FEW_RATINGS: Final = 20
# Expected gain of the likelihood without corrections below which they are added.
NEAR: Final = 1e-4
# Steps towards the maximum of the corrected likelihood: their number, and the last one, in standard errors.
MAX_REFINEMENTS: Final = 20
REFINEMENT_TOLERANCE: Final = 0.002


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
    log_likelihood_error
        Standard error of the log-likelihood; zero unless there are more than 2,000 random effects beside those of the
        factor with the most groups.
    n_parameters, n_ratings
        Numbers of estimated parameters and of ratings.
    link
        "probit" or "logit".
    integration
        "laplace" or "quadrature".
    estimator
        "maximum likelihood", "maximum a posteriori" under priors that are not flat, or "posterior" for the means of a
        sampler's draws.
    approximation
        Normal approximation of the joint distribution of parameters and random effects, from which to draw, or a
        sampler's draws.
    """

    thresholds: FloatArray
    coefficients: FloatArray
    random: tuple[RandomEffects, ...]
    covariance: FloatArray
    log_likelihood: float
    n_parameters: int
    n_ratings: int
    link: Link
    integration: Integration
    estimator: Estimator
    approximation: PosteriorDistribution
    log_likelihood_error: float = 0.0

    @property
    def threshold_errors(self) -> FloatArray:
        """Standard errors of the thresholds."""
        return np.sqrt(np.diag(self.covariance)[: len(self.thresholds)])

    @property
    def coefficient_errors(self) -> FloatArray:
        """Standard errors of the coefficients."""
        first = len(self.thresholds)
        return np.sqrt(np.diag(self.covariance)[first : first + len(self.coefficients)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaximumFit(OrdinalFit):
    """A fit at the maximum, with the normal approximation around it; see `OrdinalFit`."""

    approximation: NormalApproximation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PosteriorFit(OrdinalFit):
    """A fit by posterior means, with the draws of a sampler; see `OrdinalFit`."""

    approximation: ChainSample


class RefinedMaximum(NamedTuple):
    """Maximum of the likelihood with its corrections, and the standard error of its value."""

    parameters: FloatArray
    log_likelihood: float
    error: float


def fit_ordinal(
    design: ModelDesign,
    *,
    link: Link = "probit",
    integration: Integration = "auto",
    priors: ModelPriors | None = None,
) -> MaximumFit:
    """Fit a cumulative model with random effects by maximum likelihood, or to its posterior mode under priors.

    The answer of a rating is at most k with probability F(τ_k − η), where F is the normal or logistic distribution and
    η = x β + z b, with random effects b (McCullagh 1980, https://doi.org/10.1111/j.2517-6161.1980.tb01109.x; two
    categories make a binary model). The likelihood is integrated over b by Laplace's approximation (`laplace`). It is
    maximized by BFGS with its exact gradient, and standard errors come from differences of this gradient.

    With few ratings a group, the approximation makes standard deviations of random effects too small: those of items by
    about .05, .01 and .004 at 3, 5 and 10 ratings an item. `quadrature` over the effects of the factor with the most
    groups corrects that. Standard errors remain those of the approximation, except where it leads to a standard
    deviation of zero and quadrature does not: there they are by quadrature too.

    Effects of that factor are eliminated group by group. The equations of all other effects are solved with a matrix,
    and beyond 2,000 of them by conjugate gradients, in time and memory proportional to the ratings. Then gradient and
    log-likelihood have a part that is estimated from a few random vectors, the same in each call. Standard errors of
    thresholds and coefficients are of the joint density of answers and effects, mostly tenths of a percent smaller.

    Parameters
    ----------
    design
        Answers, covariates and random effects.
    link
        "probit" or "logit".
    integration
        "laplace", "quadrature" (a single effect for each group of the factor with the most groups), or "auto":
        quadrature if that factor has a single effect and less than 20 ratings a group.
    priors
        Priors, whose log density is added to the marginal log-likelihood; None for flat ones. The maximum is the
        posterior mode of thresholds, coefficients, standard deviations and correlations.

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
    penalty = PriorPenalty(ModelPriors.flat(design) if priors is None else priors, design)
    if integration == "auto":
        few = len(design.answers) < FEW_RATINGS * likelihood.layout.n_groups
        integration = "quadrature" if few and likelihood.layout.ratings.inner.shape[1] == 1 else "laplace"
    is_quadrature = integration == "quadrature"
    is_refined = is_quadrature or likelihood.is_iterative
    start = _start(likelihood, ERROR_SDS[link])
    information = likelihood.information(start, likelihood.mode(start)) + penalty.information(start)
    maximum = _maximize(likelihood, penalty, start, information, tolerance=NEAR if is_refined else TOLERANCE)
    parameters, error, is_released = maximum.parameters, 0.0, False
    log_likelihood = maximum.value - penalty.value(parameters)
    if is_refined:
        held = _refine(likelihood, penalty, maximum, is_quadrature=is_quadrature)
        refined = _release_zeros(likelihood, penalty, held) if is_quadrature else held
        (parameters, log_likelihood, error), is_released = refined, refined is not held
    curvature = _curvature(likelihood, penalty, parameters, information, is_quadrature=is_released)
    mode = likelihood.mode(parameters)
    first = likelihood.n_thresholds
    return MaximumFit(
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
        link=link,
        integration=integration,
        estimator="maximum likelihood" if penalty.priors.is_flat else "maximum a posteriori",
        log_likelihood_error=error,
        approximation=NormalApproximation(
            likelihood=likelihood, penalty=penalty, parameters=parameters, mode=mode, curvature=curvature
        ),
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


def _canonicalize(likelihood: LaplaceLikelihood, parameters: FloatArray, zero: float) -> FloatArray:
    """Return parameters of the same covariances without redundant ones; the same array if there are none."""
    canonical = parameters.copy()
    for term, part in zip(likelihood.design.random, likelihood.covariance_slices, strict=True):
        canonical[part] = canonicalize(term, parameters[part], zero)
    return parameters if (canonical == parameters).all() else canonical


def _objective(
    likelihood: LaplaceLikelihood, penalty: PriorPenalty, *, is_quadrature: bool
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return the function of the parameters that gives the penalized log-likelihood and its gradient."""

    def evaluate(parameters: FloatArray) -> tuple[float, FloatArray]:
        if not likelihood.is_allowed(parameters):
            return -np.inf, np.zeros_like(parameters)
        point = likelihood.mode(parameters)
        correction = correct_by_quadrature(likelihood, point) if is_quadrature else None
        value = point.log_likelihood + (correction.value if correction else 0.0) + penalty.value(parameters)
        return value, likelihood.gradient(parameters, point, correction) + penalty.gradient(parameters)

    return evaluate


def _maximize(
    likelihood: LaplaceLikelihood,
    penalty: PriorPenalty,
    start: FloatArray,
    information: FloatArray,
    *,
    tolerance: float,
    is_quadrature: bool = False,
) -> Maximum:
    """Maximize over all parameters; covariances have none that are redundant."""
    function = _objective(likelihood, penalty, is_quadrature=is_quadrature)
    maximum = maximize(function, start, information, np.ones_like(start), tolerance=tolerance)
    zero = RESTART_LOG
    while (start := _canonicalize(likelihood, maximum.parameters, zero)) is not maximum.parameters:
        # Once, effects that vanished are released: their covariances may only have had the wrong sign.
        free = ~_find_boundary(likelihood, start)
        current = likelihood.information(start, likelihood.mode(start)) + penalty.information(start)
        maximum = _maximize_free(function, start, current, free, tolerance)
        zero = SMALLEST
    return maximum


def _maximize_free(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    information: FloatArray,
    free: npt.NDArray[np.bool_],
    tolerance: float,
) -> Maximum:
    """Maximize over some of the parameters, with the others held."""

    def fill(values: FloatArray) -> FloatArray:
        parameters = start.copy()
        parameters[free] = values
        return parameters

    def evaluate(values: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(fill(values))
        return value, gradient[free]

    block = np.ix_(free, free)
    maximum = maximize(evaluate, start[free], information[block], np.ones(free.sum()), tolerance=tolerance)
    gradient, inverse = np.zeros_like(start), np.zeros_like(information)
    gradient[free], inverse[block] = maximum.gradient, maximum.inverse
    return replace(maximum, parameters=fill(maximum.parameters), gradient=gradient, inverse=inverse)


def _refine(
    likelihood: LaplaceLikelihood, penalty: PriorPenalty, maximum: Maximum, *, is_quadrature: bool
) -> RefinedMaximum:
    """Move to the maximum of the likelihood with its corrections by the BFGS method.

    Corrections are those of quadrature, and what the approximate inverse of a large complement leaves out.
    """
    free = ~_find_boundary(likelihood, maximum.parameters)
    # Parameters at the boundary stay there.
    inverse = np.where(np.outer(free, free), maximum.inverse, 0.0)
    parameters, gradient = maximum.parameters, maximum.gradient
    step = np.zeros_like(parameters)
    for _ in range(MAX_REFINEMENTS):
        mode = likelihood.add_probes(likelihood.mode(parameters))
        correction = correct_by_quadrature(likelihood, mode) if is_quadrature else None
        previous = gradient
        gradient = likelihood.gradient(parameters, mode, correction) + penalty.gradient(parameters)
        if step.any():
            inverse = update_inverse(inverse, step, previous - gradient)
        step = inverse @ gradient
        if (np.abs(step) <= REFINEMENT_TOLERANCE * np.sqrt(np.diag(inverse))).all():
            break
        while not likelihood.is_allowed(parameters + step):
            step /= 2
        parameters = parameters + step
    mode = likelihood.estimate_determinant(mode)
    value = mode.log_likelihood + (correction.value if correction else 0.0)
    return RefinedMaximum(parameters, value, 0.5 * mode.hessian.error)


def _release_zeros(likelihood: LaplaceLikelihood, penalty: PriorPenalty, held: RefinedMaximum) -> RefinedMaximum:
    """Return the maximum of the corrected likelihood from larger standard deviations, if it is higher.

    Without corrections the search may have ended near zero, where no gradient leads away again, although the maximum
    is elsewhere.
    """
    start = held.parameters.copy()
    for term, part in zip(likelihood.design.random, likelihood.covariance_slices, strict=True):
        diagonal = slice(part.start, part.start + (1 if term.structure == "identity" else term.size))
        start[diagonal] = np.maximum(start[diagonal], RESTART_LOG)
    if (start == held.parameters).all():
        return held
    information = likelihood.information(start, likelihood.mode(start)) + penalty.information(start)
    maximum = _maximize(likelihood, penalty, start, information, tolerance=NEAR, is_quadrature=True)
    released = _refine(likelihood, penalty, maximum, is_quadrature=True)
    gain = released.log_likelihood + penalty.value(released.parameters)
    gain -= held.log_likelihood + penalty.value(held.parameters)
    return released if gain > NEAR else held


def _curvature(
    likelihood: LaplaceLikelihood,
    penalty: PriorPenalty,
    parameters: FloatArray,
    ordinary: FloatArray,
    *,
    is_quadrature: bool,
) -> Curvature:
    """Return the covariance of the estimates, and how effects follow the parameters, by differences.

    `ordinary` is the information at the start, where it has an ordinary size. The curvature is that of Laplace's
    approximation, or of the likelihood by quadrature.
    """
    information, by_u, by_v = likelihood.joint_information(parameters, likelihood.mode(parameters))
    joint = information + penalty.information(parameters), by_u, by_v
    scale = np.sqrt(np.diag(joint[0]))
    if not (scale > 0).all():
        raise UndefinedEstimate(FLAT)
    first_scale = np.sqrt(np.diag(ordinary))
    free = np.flatnonzero(~_find_boundary(likelihood, parameters))
    for is_central in (False, True):
        hessian, by_u, by_v = _differences(
            likelihood, penalty, parameters, free, joint, is_central=is_central, is_quadrature=is_quadrature
        )
        scaled = (hessian / np.outer(first_scale, first_scale))[np.ix_(free, free)]
        if np.linalg.eigvalsh(scaled)[0] >= LEAST_INFORMATION:
            break
    else:
        raise UndefinedEstimate(FLAT)
    covariance = np.full(hessian.shape, np.nan)
    covariance[np.ix_(free, free)] = np.linalg.inv(scaled) / np.outer(first_scale, first_scale)[np.ix_(free, free)]
    return Curvature(covariance=covariance, by_u=by_u, by_v=by_v)


def _differences(
    likelihood: LaplaceLikelihood,
    penalty: PriorPenalty,
    parameters: FloatArray,
    free: IntArray,
    joint: tuple[FloatArray, FloatArray, FloatArray],
    *,
    is_central: bool,
    is_quadrature: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return minus the second derivatives of the log-likelihood, and the derivatives of the modes of the effects.

    Where the complement of the outer effects has no matrix, those by parameters of the mean are of the joint density.
    """
    step = (CENTRAL_DIFFERENCE if is_central else DIFFERENCE) / np.sqrt(np.diag(joint[0]))
    hessian = np.zeros((len(parameters), len(parameters)))
    by_u = np.zeros((len(parameters), likelihood.layout.n_outer))
    by_v = np.zeros((len(parameters), *likelihood.inner_shape))
    n = len(joint[1]) if likelihood.is_iterative else 0
    hessian[:n, :n], by_u[:n], by_v[:n] = joint[0][:n, :n], joint[1][:n], joint[2][:n]

    def evaluate(change: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        moved = parameters + change
        mode = likelihood.mode(moved)
        correction = correct_by_quadrature(likelihood, mode) if is_quadrature else None
        return likelihood.gradient(moved, mode, correction) + penalty.gradient(moved), mode.u, mode.v

    centre = evaluate(np.zeros_like(parameters))
    for j in free[free >= n]:
        change = np.zeros_like(parameters)
        change[j] = step[j]
        above, below = evaluate(change), evaluate(-change) if is_central else centre
        distance = change[j] * (2 if is_central else 1)
        hessian[j] = (below[0] - above[0]) / distance
        by_u[j], by_v[j] = (above[1] - below[1]) / distance, (above[2] - below[2]) / distance
    hessian[:n, n:] = hessian[n:, :n].T
    return 0.5 * (hessian + hessian.T), by_u, by_v


def _find_boundary(likelihood: LaplaceLikelihood, parameters: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which parameters are held, as they belong to effects that have vanished or determine each other."""
    boundary = np.zeros(len(parameters), bool)
    for term, part in zip(likelihood.design.random, likelihood.covariance_slices, strict=True):
        boundary[part] = mark_boundary(term, parameters[part])
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
        rows, columns = lower_triangle(term.size)
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
