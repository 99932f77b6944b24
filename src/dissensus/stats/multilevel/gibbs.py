"""Gibbs sampler of a cumulative probit model with random effects.

Each rating has a latent value, normal with variance one around its location, and the answer says between which two
thresholds it lies (Albert & Chib 1993, https://doi.org/10.1080/01621459.1993.10476321). One sweep has four steps:

1. Thresholds, and a factor on each standard deviation together with its effects, by Metropolis–Hastings with the latent
   values integrated out (Cowles 1996, https://doi.org/10.1007/BF00162520; generalized Gibbs moves of Liu & Sabatti
   2000, https://doi.org/10.1093/biomet/87.2.353). Proposals are normal around a Newton step, and need no tuning.
2. Latent values given all else; then coefficients, all random effects, and a shift of latent values and thresholds,
   jointly from their normal distribution. Its precision does not depend on the latent values: effects of the factor
   with the most groups are eliminated, as in `laplace`.
3. In turn for each term: its effects group by group, by a Newton step with the latent values integrated out. Without it
   the effects of groups whose answers are nearly all the same move slowly.
4. The covariance of each term from an inverse Wishart distribution, accepted by its priors.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel import gibbs_kernels
from dissensus.stats.multilevel.convergence import FEWEST_ITERATIONS
from dissensus.stats.multilevel.covariance import invert_covariance, lower_triangle
from dissensus.stats.multilevel.design import ModelDesign, ModelLayout, RandomTerm
from dissensus.stats.multilevel.fit import Link, PosteriorFit, RandomEffects
from dissensus.stats.multilevel.importance import ImportanceWeights
from dissensus.stats.multilevel.kernels import PROBIT
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.posterior import ChainSample, PosteriorDraws
from dissensus.stats.multilevel.priors import ModelPriors, Prior, PriorPenalty
from dissensus.stats.result import FloatArray

FEWEST_CHAINS: Final = 2
# Most elements of the block between inner and outer effects, and most draws of random effects, 400 MB each.
MOST_PRODUCTS: Final = 50_000_000
MOST_EFFECT_DRAWS: Final = 50_000_000
# Warm-up sweeps, as a share of the iterations whose draws are returned.
WARM_UP: Final = 0.5
# Range of the standard deviations from which chains start.
START_SDS: Final = (0.2, 1.5)
# Share of proposals around the current point instead of a Newton step, and their variance, for far starts.
LOCAL_SHARE: Final = 0.2
LOCAL_VARIANCE: Final = 0.3
# Scale of a standard deviation where the ratings say nothing about it, and the least information about a threshold.
LOOSE_SCALE: Final = 2.5
LEAST_INFORMATION: Final = 1e-6


def sample_posterior(
    design: ModelDesign,
    *,
    priors: ModelPriors | None = None,
    chains: int = 4,
    iterations: int = 1000,
    seed: int,
) -> ChainSample:
    """Draw from the posterior distribution of a cumulative probit model by Gibbs sampling.

    Parameters
    ----------
    design
        Answers, covariates and random effects, without widths.
    priors
        Priors of the parameters; None for flat ones of thresholds, coefficients, standard deviations and correlations.
    chains
        Number of chains, at least two, from dispersed starts.
    iterations
        Draws of each chain, at least eight, after half as many for warm-up.
    seed
        Seed of the starts and draws.

    Raises
    ------
    InvalidInput
        The design has widths, a term has too few groups, or memory would not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> from dissensus.stats.multilevel.design import Covariates, RandomTerm
    >>> rng = np.random.default_rng(0)
    >>> item, rater = np.repeat(np.arange(60), 20), np.tile(np.arange(20), 60)
    >>> latent = rng.normal(0, 0.5, 20)[rater] + rng.normal(0, 1, 60)[item] + rng.normal(0, 1, 1200)
    >>> design = ModelDesign(
    ...     answers=np.digitize(latent, [-0.5, 0.5]),
    ...     n_categories=3,
    ...     fixed=Covariates(values=np.zeros((1, 0)), row=np.zeros(1200, np.int32)),
    ...     random=(
    ...         RandomTerm(name="rater", groups=rater, n_groups=20),
    ...         RandomTerm(name="item", groups=item, n_groups=60),
    ...     ),
    ... )
    >>> sample = sample_posterior(design, chains=2, iterations=200, seed=0)
    >>> sample.draws.thresholds.shape, bool((sample.diagnose(sample.draws.thresholds).r_hat < 1.1).all())
    ((400, 2), True)
    """
    priors = ModelPriors.flat(design) if priors is None else priors
    if chains < FEWEST_CHAINS:
        raise InvalidInput(f"chains is {chains}; give at least {FEWEST_CHAINS}, whose agreement can be compared.")
    if iterations < FEWEST_ITERATIONS:
        raise InvalidInput(f"iterations is {iterations}; give at least {FEWEST_ITERATIONS} for each chain.")
    _check_terms(design, priors)
    n_effects = sum(term.n_groups * term.size for term in design.random)
    if chains * iterations * n_effects > MOST_EFFECT_DRAWS:
        raise InvalidInput(
            f"{chains * iterations:,} draws of {n_effects:,} random effects do not fit into memory; at most "
            f"{MOST_EFFECT_DRAWS // n_effects:,} draws of this model do. Lower the chains or iterations."
        )
    sampler = _Sampler(design, priors)
    generators = np.random.default_rng(seed).spawn(chains)
    with ThreadPoolExecutor(chains) as pool:
        results = list(pool.map(lambda rng: sampler.run(iterations, rng), generators))
    n_terms = range(len(design.random))
    draws = PosteriorDraws(
        thresholds=np.concatenate([chain.thresholds for chain in results]),
        coefficients=np.concatenate([chain.coefficients for chain in results]),
        factors=tuple(np.concatenate([chain.factors[j] for chain in results]) for j in n_terms),
        effects=tuple(np.concatenate([chain.effects[j] for chain in results]) for j in n_terms),
        importance=ImportanceWeights.equal(chains * iterations),
    )
    return ChainSample(likelihood=LaplaceLikelihood(design, PROBIT), draws=draws, n_chains=chains)


def sample_ordinal(
    design: ModelDesign,
    *,
    link: Link = "probit",
    priors: ModelPriors | None = None,
    chains: int = 4,
    iterations: int = 1000,
    seed: int,
) -> PosteriorFit:
    """Describe the posterior distribution of a cumulative probit model, sampled by `sample_posterior`, as a fit.

    Estimates are posterior means, and standard errors posterior standard deviations. `approximation` has the draws. The
    log-likelihood is Laplace's approximation at the posterior means.

    Raises
    ------
    InvalidInput
        The link is not "probit", or `sample_posterior` refuses.
    """
    if link != "probit":
        raise InvalidInput(
            f"The Gibbs sampler has no {link} link: its steps need normal errors. With the probit link it tells "
            "whether the approximation holds for these ratings; for effects on another scale leave the sampler out."
        )
    sample = sample_posterior(design, priors=priors, chains=chains, iterations=iterations, seed=seed)
    draws = sample.draws
    parameters = np.column_stack(
        [
            draws.thresholds,
            draws.coefficients,
            *(
                _covariance_parameters(term, factors)
                for term, factors in zip(design.random, draws.factors, strict=True)
            ),
        ]
    )
    mean = parameters.mean(0)
    random = []
    for term, factors, effects in zip(design.random, draws.factors, draws.effects, strict=True):
        sds = np.sqrt((factors**2).sum(2))
        scaled = factors / sds[:, :, None]
        random.append(
            RandomEffects(
                name=term.name,
                sds=sds.mean(0),
                correlations=(scaled @ scaled.transpose(0, 2, 1)).mean(0),
                modes=effects.mean(0),
                sd_errors=np.log(sds).std(0, ddof=1),
                is_singular=False,
            )
        )
    return PosteriorFit(
        thresholds=draws.thresholds.mean(0),
        coefficients=draws.coefficients.mean(0),
        random=tuple(random),
        covariance=np.atleast_2d(np.cov(parameters, rowvar=False)),
        log_likelihood=sample.likelihood.mode(mean).log_likelihood,
        n_parameters=len(mean),
        n_ratings=len(design.answers),
        link=link,
        integration="laplace",
        estimator="posterior",
        approximation=sample,
    )


def _covariance_parameters(term: RandomTerm, factors: FloatArray) -> FloatArray:
    """Return the parameters of covariances (`covariance`), given draws of their factors, shape (S, D, D)."""
    diagonal: FloatArray = np.log(np.einsum("sii->si", factors))
    if term.structure == "identity":
        return diagonal[:, :1]
    rows, columns = lower_triangle(term.size)
    return np.column_stack([diagonal, factors[:, rows, columns]])


def _check_terms(design: ModelDesign, priors: ModelPriors) -> None:
    """Refuse widths, and terms with too few groups."""
    for term, sds in zip(design.random, priors.sds, strict=True):
        if term.width:
            raise InvalidInput(
                "The Gibbs sampler has no widths of raters, which multiply thresholds, so that effects have no normal "
                "distribution in any of its steps. Leave widths out, or the sampler."
            )
        n = term.n_groups * term.size if term.structure == "identity" else term.n_groups
        fewest = term.size + 2 if _count_sds(term) > 1 else 3 if sds[0] is None else 2
        if n < fewest:
            has_remedy = _count_sds(term) == 1 and sds[0] is None and n > 1
            raise InvalidInput(
                f"{term.name} has {n} group{'s' * (n != 1)}, and the Gibbs sampler needs at least {fewest} for the "
                f"covariance of {term.size} effect{'s' * (term.size != 1)} with these priors. Leave effects out"
                f"{', or give the standard deviation a prior' if has_remedy else ''}."
            )


def _count_sds(term: RandomTerm) -> int:
    return 1 if term.structure == "identity" else term.size


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    thresholds: FloatArray
    coefficients: FloatArray
    factors: tuple[FloatArray, ...]
    effects: tuple[FloatArray, ...]


@dataclass(slots=True, eq=False)
class _State:
    """Current draw: thresholds at the mean of the covariates, effects in the order of the layout, covariances."""

    thresholds: FloatArray
    coefficients: FloatArray
    u: FloatArray
    v: FloatArray
    factors: list[FloatArray]
    sums: tuple[FloatArray, FloatArray, FloatArray] = field(init=False)


class _Sampler:
    """Arrays of a design that do not change from sweep to sweep."""

    def __init__(self, design: ModelDesign, priors: ModelPriors) -> None:
        self.design = design
        self.priors = priors
        self.centre = PriorPenalty(priors, design).centre
        self.layout = ModelLayout.from_design(design)
        self.covariates = self.layout.covariates - self.centre
        self.n_inner = self.layout.ratings.inner.shape[1]
        size = self.layout.n_outer + self.covariates.shape[1] + 1
        if self.layout.n_groups * self.n_inner * size > MOST_PRODUCTS or size**2 > MOST_PRODUCTS:
            raise InvalidInput(
                f"The Gibbs sampler would hold a matrix of {self.layout.n_groups * self.n_inner:,} by {size:,} "
                "effects, which does not fit into memory. Take Laplace's approximation."
            )
        with_ones = np.column_stack([self.covariates, np.ones(len(self.covariates))])
        lower = np.zeros((size, size))
        self.cross = np.zeros((self.layout.n_groups, self.n_inner, size))
        self.inner_blocks = np.zeros((self.layout.n_groups, self.n_inner, self.n_inner))
        gibbs_kernels.fill_products(self.layout.ratings, with_ones, lower, self.cross, self.inner_blocks)
        self.outer = lower + np.tril(lower, -1).T
        # The column of each standard deviation, by outer slot and by inner effect.
        columns = np.cumsum([0, *(_count_sds(term) for term in design.random)])
        by_term = [
            columns[j] + (np.zeros(term.size, int) if term.structure == "identity" else np.arange(term.size))
            for j, term in enumerate(design.random)
        ]
        self.n_columns = int(columns[-1])
        self.inner_columns = np.concatenate([by_term[j] for j in self.layout.inner]).astype(np.int64)
        slots = [by_term[j] for j in self.layout.outer]
        self.slot_columns = (np.concatenate(slots) if slots else np.empty(0)).astype(np.int64)

    def run(self, iterations: int, rng: np.random.Generator) -> _Chain:
        """Return the draws of one chain."""
        state = self._start(rng)
        terms = self.design.random
        chain = _Chain(
            np.empty((iterations, len(state.thresholds))),
            np.empty((iterations, len(state.coefficients))),
            tuple(np.empty((iterations, term.size, term.size)) for term in terms),
            tuple(np.empty((iterations, term.n_groups, term.size)) for term in terms),
        )
        for number in range(-int(WARM_UP * iterations), iterations):
            self._draw_scales(state, rng)
            self._draw_effects(state, rng)
            self._draw_groups(state, number % (len(self.layout.outer) + 1), rng)
            for j, effects in enumerate(self._split(state)):
                state.factors[j] = self._draw_factor(j, effects, state.factors[j], rng)
            if number >= 0:
                chain.thresholds[number] = state.thresholds + self.centre @ state.coefficients
                chain.coefficients[number] = state.coefficients
                for j, effects in enumerate(self._split(state)):
                    chain.factors[j][number] = state.factors[j]
                    chain.effects[j][number] = effects
        return chain

    def _start(self, rng: np.random.Generator) -> _State:
        """Draw standard deviations, effects and, around the shares of the answers, thresholds."""
        design = self.design
        low, high = np.log(START_SDS)
        factors = [np.eye(term.size) * np.exp(rng.uniform(low, high)) for term in design.random]
        shares = np.bincount(design.answers, minlength=design.n_categories).cumsum()[:-1] / len(design.answers)
        spread = np.sqrt(1 + sum(factor[0, 0] ** 2 for factor in factors))
        state = _State(
            thresholds=(np.log(shares / (1 - shares)) * np.sqrt(3) / np.pi + rng.normal(0, 0.3)) * spread,
            coefficients=np.zeros(self.covariates.shape[1]),
            u=np.zeros(self.layout.n_outer),
            v=np.zeros((self.layout.n_groups, self.n_inner)),
            factors=factors,
        )
        for effects, factor in zip(self._split(state), factors, strict=True):
            effects[:] = rng.standard_normal(effects.shape) @ factor.T
        return state

    def _split(self, state: _State) -> Iterator[FloatArray]:
        """Yield views of the effects of each term, shape (groups, effects of a group), in the design's order."""
        terms, layout = self.design.random, self.layout
        parts = dict(zip(layout.outer, layout.outer_parts, strict=True))
        place = 0
        for j, term in enumerate(terms):
            if j in parts:
                part, size = parts[j]
                yield state.u[part].reshape(-1, size)
            else:
                yield state.v[:, place : place + term.size]
                place += term.size

    @cached_property
    def sd_priors(self) -> tuple[Prior | None, ...]:
        """Prior of each standard deviation."""
        return tuple(prior for term in self.priors.sds for prior in term)

    def _sds(self, state: _State) -> FloatArray:
        """Return the standard deviation of each column."""
        return np.concatenate(
            [
                np.sqrt((factor**2).sum(1))[: _count_sds(term)]
                for term, factor in zip(self.design.random, state.factors, strict=True)
            ]
        )

    def _draw_scales(self, state: _State, rng: np.random.Generator) -> None:
        """Step 1: thresholds and a factor on each standard deviation and its effects, without latent values."""
        sds = self._sds(state)
        fixed = self.covariates @ state.coefficients
        n = len(state.thresholds)
        precisions = np.concatenate(
            [
                [LEAST_INFORMATION if prior is None else prior.precision for prior in self.priors.thresholds],
                [1 / LOOSE_SCALE**2 if prior is None else prior.precision for prior in self.sd_priors] * sds**2,
            ]
        )

        def evaluate(point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            """Return the log posterior density, the gradient of the proposals' target, and its information."""
            gradient, information = np.empty(len(point)), np.empty((len(point), len(point)))
            value = gibbs_kernels.fill_scale_derivatives(
                self.layout.ratings,
                fixed,
                state.u,
                state.v,
                self.slot_columns,
                self.inner_columns,
                point[:n],
                point[n:],
                np.empty(self.n_columns),
                gradient,
                information,
            )
            value += _log_density(self.priors.thresholds, point[:n]) + _log_density(self.sd_priors, point[n:] * sds)
            gradient[:n] += _slopes(self.priors.thresholds, point[:n], 0.0)
            gradient[n:] += _slopes(self.sd_priors, point[n:] * sds, 1 / LOOSE_SCALE**2) * sds
            information += np.diag(precisions)
            return value, gradient, _cholesky(information)

        is_local = rng.random() < LOCAL_SHARE
        variance = LOCAL_VARIANCE if is_local else 1.0
        point = np.concatenate([state.thresholds, np.ones(self.n_columns)])
        value, gradient, root = evaluate(point)
        noise = rng.standard_normal(len(point)) * np.sqrt(variance)
        step = np.linalg.solve(root.T, (0 if is_local else np.linalg.solve(root, gradient)) + noise)
        new = point + step
        if (np.diff(new[:n]) <= 0).any() or (new[n:] <= 0).any():
            return
        new_value, new_gradient, new_root = evaluate(new)
        back = -new_root.T @ step - (0 if is_local else np.linalg.solve(new_root, new_gradient))
        log_ratio = new_value - value
        log_ratio += float(np.log(np.diag(new_root)).sum() - np.log(np.diag(root)).sum())
        log_ratio += 0.5 * float(noise @ noise - back @ back) / variance
        if np.log(rng.random()) < log_ratio:
            state.thresholds = new[:n]
            place = 0
            for j, (term, effects) in enumerate(zip(self.design.random, self._split(state), strict=True)):
                scales = new[n + place : n + place + _count_sds(term)]
                effects *= scales
                state.factors[j] = state.factors[j] * scales[:, None]
                place += _count_sds(term)

    def _draw_effects(self, state: _State, rng: np.random.Generator) -> None:
        """Step 2: latent values; then a shift, coefficients and all random effects."""
        layout = self.layout
        n_outer, n_coefficients = layout.n_outer, self.covariates.shape[1]
        by_profile = np.empty(len(self.covariates))
        right, right_inner = np.empty(n_outer + n_coefficients + 1), np.empty_like(state.v)
        gibbs_kernels.fill_latent_sums(
            layout.ratings,
            self.covariates @ state.coefficients,
            state.u,
            state.v,
            state.thresholds,
            rng.random(len(self.design.answers)),
            by_profile,
            right[:n_outer],
            right_inner,
        )
        right[n_outer:-1] = self.covariates.T @ by_profile
        right[-1] = by_profile.sum()
        complement = self.outer.copy()
        diagonal = np.einsum("ii->i", complement)
        for j, (prior, x) in enumerate(zip(self.priors.coefficients, state.coefficients, strict=True)):
            if prior is not None:
                precision = prior.draw_precision(float(x), rng)
                diagonal[n_outer + j] += precision
                right[n_outer + j] += precision * prior.location
        for prior, x in zip(self.priors.thresholds, state.thresholds, strict=True):
            if prior is not None:
                # Thresholds move down by the shift.
                precision = prior.draw_precision(float(x), rng)
                diagonal[-1] += precision
                right[-1] += precision * (float(x) - prior.location)
        precisions = [invert_covariance(factor) for factor in state.factors]
        for j, (part, size) in zip(layout.outer, layout.outer_parts, strict=True):
            index = np.arange(part.start, part.stop).reshape(-1, size)
            complement[index[:, :, None], index[:, None, :]] += precisions[j]
        covariance = np.asarray(np.linalg.inv(self.inner_blocks + _join([precisions[j] for j in layout.inner])), float)
        products: FloatArray = (covariance @ self.cross).reshape(-1, len(right))
        complement -= self.cross.reshape(-1, len(right)).T @ products
        right -= right_inner.ravel() @ products
        root = _cholesky(complement)
        noisy = np.linalg.solve(root, right) + rng.standard_normal(len(right))
        outer = np.asarray(np.linalg.solve(root.T, noisy), float)
        noise = _cholesky(covariance) @ rng.standard_normal((*state.v.shape, 1))
        mean: FloatArray = (covariance @ right_inner[:, :, None]).reshape(-1) - products @ outer
        state.u, state.v = outer[:n_outer], mean.reshape(state.v.shape) + noise[:, :, 0]
        state.coefficients = outer[n_outer:-1]
        state.thresholds = state.thresholds - outer[-1]

    def _draw_groups(self, state: _State, turn: int, rng: np.random.Generator) -> None:
        """Step 3: effects of the groups of one outer term, or of all inner groups, without latent values."""
        if turn < len(self.layout.outer):
            j, offset = self.layout.outer[turn], self.layout.outer_parts[turn][0].start
            first = sum(self.design.random[i].size for i in self.layout.outer[:turn])
            view = next(effects for i, effects in enumerate(self._split(state)) if i == j)
            factors = [state.factors[j]]
        else:
            first, offset, view = -1, 0, state.v
            factors = [state.factors[j] for j in self.layout.inner]
        n, size = view.shape
        precision = _join([invert_covariance(factor) for factor in factors])
        fixed = self.covariates @ state.coefficients

        def evaluate() -> tuple[FloatArray, FloatArray, FloatArray]:
            """Return each group's log density, its gradient, and the factor of its information."""
            value, gradient, information = np.empty(n), np.empty((n, size)), np.empty((n, size, size))
            gibbs_kernels.fill_group_derivatives(
                self.layout.ratings,
                fixed,
                state.u,
                state.v,
                state.thresholds,
                first,
                offset,
                value,
                gradient,
                information,
            )
            by_prior = view @ precision
            value -= 0.5 * (view * by_prior).sum(1)
            return value, gradient - by_prior, _cholesky(information + precision)

        value, gradient, root = evaluate()
        noise = rng.standard_normal(view.shape)
        before = view.copy()
        step = _solve(root.transpose(0, 2, 1), _solve(root, gradient) + noise)
        view += step
        new_value, new_gradient, new_root = evaluate()
        back = _solve(new_root, new_gradient) + (new_root.transpose(0, 2, 1) @ step[:, :, None])[:, :, 0]
        log_ratio = new_value - value + _half_log_determinant(new_root) - _half_log_determinant(root)
        log_ratio += 0.5 * (noise**2 - back**2).sum(1)
        refused = ~(np.log(rng.random(n)) < log_ratio)
        view[refused] = before[refused]

    def _draw_factor(self, j: int, effects: FloatArray, factor: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Step 4: the covariance of a term, given its effects."""
        term, priors = self.design.random[j], self.priors.sds[j]
        if _count_sds(term) == 1:
            sd = float(np.sqrt((effects**2).sum() / rng.chisquare(effects.size - 1)))
            log_ratio = _log_density(priors, np.array([sd])) - _log_density(priors, factor[:1, 0])
            return np.eye(term.size) * sd if np.log(rng.random()) < log_ratio else factor
        # The inverse of the covariance has a Wishart distribution under the prior |Σ|^(-D/2).
        root = _cholesky(effects.T @ effects)
        bartlett = np.tril(rng.standard_normal(factor.shape), -1)
        np.fill_diagonal(bartlett, np.sqrt(rng.chisquare(term.n_groups - 1 - np.arange(term.size))))
        new = root @ np.linalg.inv(bartlett).T
        new = _cholesky(new @ new.T)
        log_ratio = self._log_reference(priors, new) - self._log_reference(priors, factor)
        return new if np.log(rng.random()) < log_ratio else factor

    def _log_reference(self, priors: tuple[Prior | None, ...], factor: FloatArray) -> float:
        """Log prior density of a covariance over |Σ|^(-D/2), the density under which it is proposed."""
        sds = np.sqrt((factor**2).sum(1))
        log_determinant = 2 * float(np.log(np.diag(factor) / sds).sum())
        return _log_density(priors, sds) + (self.priors.shape - 1 + 0.5 * len(sds)) * log_determinant


def _join(blocks: list[FloatArray]) -> FloatArray:
    """Return the block diagonal matrix of some blocks."""
    ends = np.cumsum([0, *(len(block) for block in blocks)])
    matrix = np.zeros((ends[-1], ends[-1]))
    for start, block in zip(ends[:-1], blocks, strict=True):
        matrix[start : start + len(block), start : start + len(block)] = block
    return matrix


def _cholesky(matrices: FloatArray) -> FloatArray:
    """Return the lower triangular factor of a matrix, or of each."""
    return np.asarray(np.linalg.cholesky(matrices), float)


def _solve(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a system of equations for each group."""
    return np.asarray(np.linalg.solve(matrices, right[:, :, None])[:, :, 0])


def _half_log_determinant(roots: FloatArray) -> FloatArray:
    """Return half the log determinant of each matrix, given its Cholesky factor."""
    return np.asarray(np.log(np.einsum("gii->gi", roots)).sum(1))


def _slopes(priors: tuple[Prior | None, ...], values: FloatArray, precision: float) -> FloatArray:
    """Return the derivatives of the log densities, where there is no prior those with a precision around zero."""
    pairs = zip(priors, values.tolist(), strict=True)
    return np.array([-precision * x if prior is None else prior.slope(x) for prior, x in pairs])


def _log_density(priors: tuple[Prior | None, ...], values: FloatArray) -> float:
    """Return the log density of values, flat where there is no prior."""
    return sum(prior.log_density(float(x)) for prior, x in zip(priors, values, strict=True) if prior is not None)
