"""Comparison of two chatbots or models by simulation, with raters of each item alone or raters who stay."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.counts import check_counts
from dissensus.stats.result import FloatArray, Int64Array

ComparisonMetric: TypeAlias = Literal["share", "accuracy", "tv", "wins"]
COMPARISON_METRICS: Final[tuple[ComparisonMetric, ...]] = get_args(ComparisonMetric)
CHUNK: Final = 1 << 21
"""Answers that are drawn at once."""
_GRID: Final = np.linspace(-8, 8, 4001)
_CDF: Final = np.array([NormalDist().cdf(z) for z in _GRID.tolist()])
MAX_STEPS: Final = 5000
PRIOR_MEAN: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDesign:
    """Two responses to each of N items, each answered by K raters.

    Parameters
    ----------
    n_items, per_item
        N and K.
    n_raters
        Raters, who share the answers evenly.
    same_raters
        True if the raters of an item answer about both responses.
    """

    n_items: int
    per_item: int
    n_raters: int
    same_raters: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPower:
    """Power of a comparison.

    Parameters
    ----------
    difference
        Mean difference of the metric, in favour of the first.
    p
        Share of null differences that reach the mean difference (Wein et al. 2023).
    power
        Share of differences beyond the upper 5 % of null differences.
    false_positives
        Share of null differences, with raters who stay, beyond the upper 5 % of those with other raters for each
        answer: the level of a test that takes answers for independent.
    """

    difference: float
    p: float
    power: float
    false_positives: float


def fit_dirichlet(counts: npt.ArrayLike) -> FloatArray:
    r"""Fit a Dirichlet distribution to the answers to items, as posterior mode of a Dirichlet-multinomial.

    Minka's fixed point, with an exponential prior of mean 1,000 for each parameter, which matters only where the
    likelihood has no maximum:

    .. math:: \alpha_k \leftarrow \alpha_k \frac{\sum_i \psi(n_{ik} + \alpha_k) - \psi(\alpha_k)}
              {\sum_i \psi(m_i + \alpha_0) - \psi(\alpha_0) + 1/1000}

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K).

    Returns
    -------
    ndarray, shape (K,)

    Raises
    ------
    InvalidInput
        Fewer than two items with two answers, or an answer that nobody gave.

    References
    ----------
    Minka, T. (2000). Estimating a Dirichlet distribution. Technical report, MIT.
    Pandita, D. et al. (2025). Forest vs tree: the (N, K) trade-off in reproducible ML evaluation. arXiv 2508.03663.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit_dirichlet(rng.multinomial(50, rng.dirichlet([5.22, 0.86, 2.75], 2000))).round(1).tolist()
    [5.4, 0.9, 2.8]
    """
    table = check_counts(counts)
    totals = table.sum(axis=1)
    if (totals >= 2).sum() < 2:
        raise InvalidInput("Fewer than two items have two answers, so that items cannot differ. Give more answers.")
    if not table.sum(axis=0).all():
        raise InvalidInput("Nobody gave one of the answers, so its parameter is not determined. Leave it out.")
    above = [(table[:, k, None] > np.arange(table.max())).sum(axis=0) for k in range(table.shape[1])]
    above_total = (totals[:, None] > np.arange(totals.max())).sum(axis=0)
    alpha = table.sum(axis=0) / table.sum() * 5
    for _ in range(MAX_STEPS):
        steps = np.array([(a / (alpha[k] + np.arange(a.size))).sum() for k, a in enumerate(above)])
        whole = (above_total / (alpha.sum() + np.arange(above_total.size))).sum()
        change = steps / (whole + 1 / PRIOR_MEAN)
        alpha = alpha * change
        if np.abs(change - 1).max() < 1e-8:
            break
    return np.asarray(alpha, np.float64)


def simulate_comparison(
    alpha: npt.ArrayLike,
    design: ComparisonDesign,
    *,
    metric: ComparisonMetric,
    perturbation: float,
    rater_share: float = 0.0,
    n_simulations: int = 1000,
    seed: np.random.SeedSequence,
) -> ComparisonPower:
    r"""Simulate the comparison of two chatbots or models whose answers differ by a perturbation.

    The answers to item i have the distribution :math:`\beta_i \sim \operatorname{Dir}(\alpha)` for the first and
    :math:`\gamma_i = (1 - \varepsilon) \beta_i + \varepsilon \rho_i` for the second. In the null hypothesis each answer
    to either comes from :math:`\beta_i` or :math:`\gamma_i` with probability 1/2.

    For "accuracy", "tv" and "wins", :math:`\rho_i \sim \operatorname{Dir}(1/M)`, and the first and the second are
    compared with answers of people drawn from :math:`\beta_i`: by the share of items with the same plurality, by the
    mean over answers of :math:`|p - q|`, and by the share of items on which either is nearer (Pandita et al. 2025).
    For "share" people answer about the responses of both chatbots, :math:`\rho_i` is the last answer, and the metric
    is the difference of its shares.

    With raters who stay, the answer of rater r to item i is the quantile of :math:`\beta_i` at
    :math:`\Phi(\sqrt{s} \, u_r + \sqrt{1 - s} \, e_{ri})`: each answer has the same distribution as before, and
    those of one rater are dependent.

    Parameters
    ----------
    alpha
        Parameters of the Dirichlet distribution, answers in order, shape (M,).
    design
        Items, ratings of an item and raters.
    metric
        Metric of the comparison.
    perturbation
        Perturbation :math:`\varepsilon`.
    rater_share
        Share s of the latent variance within items that is the rater's: the squared standard deviation of raters over
        that of raters and error.
    n_simulations
        Simulations of the alternative and of the null hypothesis.
    seed
        Seed.

    Returns
    -------
    ComparisonPower

    Raises
    ------
    InvalidInput
        The perturbation or the share of raters is not between 0 and 1.

    References
    ----------
    Wein, S. et al. (2023). Follow the leader(board) with confidence: estimating p-values from a single test set with
    item and response variance. Findings of ACL.
    """
    if not 0 < perturbation <= 1 or not 0 <= rater_share < 1:
        raise InvalidInput(
            f"The perturbation is {perturbation:g} and the share of raters {rater_share:g}; give a perturbation above "
            "0, up to 1, and a share from 0 to below 1."
        )
    parameters = np.asarray(alpha, np.float64)
    streams = [np.random.default_rng(child) for child in seed.spawn(3)]
    draw = _Draw(parameters, design, metric, perturbation, n_simulations)
    alternative = draw.differences(streams[0], rater_share, is_null=False)
    null = draw.differences(streams[1], rater_share, is_null=True)
    independent = null if rater_share == 0 else draw.differences(streams[2], 0.0, is_null=True)
    return ComparisonPower(
        difference=float(alternative.mean()),
        p=float((null >= alternative.mean() - 1e-12).mean()),
        power=float((alternative > np.quantile(null, 0.95)).mean()),
        false_positives=float((null > np.quantile(independent, 0.95)).mean()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Draw:
    alpha: FloatArray
    design: ComparisonDesign
    metric: ComparisonMetric
    perturbation: float
    n_simulations: int

    def differences(self, rng: np.random.Generator, rater_share: float, *, is_null: bool) -> FloatArray:
        """Return the difference of the metric in each simulation."""
        step = max(1, CHUNK // (self.design.n_items * self.design.per_item * len(self.alpha)))
        parts = []
        for low in range(0, self.n_simulations, step):
            parts.append(self._draw_some(rng, min(step, self.n_simulations - low), rater_share, is_null=is_null))
        return np.concatenate(parts)

    def _draw_some(self, rng: np.random.Generator, n: int, rater_share: float, *, is_null: bool) -> FloatArray:
        shape, m = (n, self.design.n_items), len(self.alpha)
        beta = rng.dirichlet(self.alpha, shape)
        noise = np.eye(m)[-1] if self.metric == "share" else rng.dirichlet(np.full(m, 1 / m), shape)
        gamma = (1 - self.perturbation) * beta + self.perturbation * noise
        first, second = ((beta + gamma) / 2,) * 2 if is_null else (beta, gamma)
        if self.metric == "share":
            a, b = self._draw_people(rng, (first, second), rater_share)
            return np.asarray((b - a)[..., -1].mean(axis=1))
        (people,) = self._draw_people(rng, (beta,), rater_share)
        k = self.design.per_item
        return compare_metrics(people, rng.multinomial(k, first) / k, rng.multinomial(k, second) / k, self.metric)

    def _draw_people(
        self, rng: np.random.Generator, chances: tuple[FloatArray, ...], rater_share: float
    ) -> list[FloatArray]:
        """Return the shares of the answers of people to each response, shape (n, N, M)."""
        k, n_raters = self.design.per_item, self.design.n_raters
        if not rater_share:
            return [rng.multinomial(k, chance) / k for chance in chances]
        n, n_items, _ = chances[0].shape
        effects = rng.standard_normal((n, n_raters))
        shares = []
        for place, chance in enumerate(chances):
            raters = _assign(n_items, k, n_raters, None if self.design.same_raters else place)
            latent = np.sqrt(rater_share) * effects[:, raters]
            latent += np.sqrt(1 - rater_share) * rng.standard_normal(latent.shape)
            rank = np.interp(latent, _GRID, _CDF)
            cut = chance.cumsum(axis=-1)[..., None, :-1]
            answer = (rank[..., None] > cut).sum(axis=-1)
            shares.append(np.stack([(answer == c).mean(axis=-1) for c in range(chance.shape[-1])], axis=-1))
        return shares


def _assign(n_items: int, per_item: int, n_raters: int, half: int | None) -> Int64Array:
    """Return the raters of each item, shape (N, K), with even loads: of all raters, or of one half."""
    slots = np.arange(n_items * per_item).reshape(n_items, per_item)
    if half is None:
        return slots % n_raters
    first = n_raters // 2
    return slots % first if half == 0 else first + slots % (n_raters - first)


def compare_metrics(people: FloatArray, first: FloatArray, second: FloatArray, metric: ComparisonMetric) -> FloatArray:
    """Return the difference of a metric in favour of the first; shares have shape (…, N, M).

    Examples
    --------
    >>> people = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> worse = np.array([[[0.5, 0.5], [0.0, 1.0]]])
    >>> compare_metrics(people, people, worse, "tv").item(), compare_metrics(people, people, worse, "wins").item()
    (0.25, 0.5)
    """
    if metric == "accuracy":
        truth = people.argmax(axis=-1)
        right = [(model.argmax(axis=-1) == truth).mean(axis=-1) for model in (first, second)]
        return np.asarray(right[0] - right[1])
    near, far = (np.abs(model - people).mean(axis=-1) for model in (first, second))
    if metric == "tv":
        return np.asarray((far - near).mean(axis=-1))
    return np.asarray((near < far).mean(axis=-1) - (far < near).mean(axis=-1))
