"""Variance of a linear predictor over crossed raters and items, split into raters, items and their interaction."""

from dataclasses import dataclass

import numpy as np

from dissensus.stats.result import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CrossedVariance:
    """Three parts of a variance: of item means, of rater means, and of what is left.

    For effects with covariance Σ the parts are matrices M, and tr(Σ M) is the expected variance; for drawn effects they
    are arrays of variances, one for each draw.
    """

    item: FloatArray
    rater: FloatArray
    interaction: FloatArray

    def expect(self, covariance: FloatArray) -> "CrossedVariance":
        """Return the expected variances for covariances of effects, shape (S, D, D), with one for each draw."""
        return CrossedVariance(
            item=np.einsum("sij,ij->s", covariance, self.item),
            rater=np.einsum("sij,ij->s", covariance, self.rater),
            interaction=np.einsum("sij,ij->s", covariance, self.interaction),
        )

    def __add__(self, other: "CrossedVariance") -> "CrossedVariance":
        return CrossedVariance(
            item=self.item + other.item,
            rater=self.rater + other.rater,
            interaction=self.interaction + other.interaction,
        )


def split_fixed(values: FloatArray, raters: FloatArray, items: FloatArray) -> CrossedVariance:
    """Split the variance of a fixed effect's covariates over crossed raters and items.

    Two-way analysis of variance, weighted: item means less the grand mean, rater means less the grand mean, and the
    rest. The variance of the linear predictor is that of Nakagawa & Schielzeth 2013,
    https://doi.org/10.1111/j.2041-210x.2012.00261.x, with all raters crossed with all items.

    Parameters
    ----------
    values
        Covariates by rater and item, shape (R, Q, P).
    raters, items
        Weights with sum one, shapes (R,) and (Q,).

    Returns
    -------
    CrossedVariance
        Matrices, shape (P, P). They do not depend on the base of a factor: β'Mβ is the same for all codings.

    Examples
    --------
    >>> import numpy as np
    >>> group, severity = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    >>> values = np.stack(np.broadcast_arrays(group[:, None], severity[None]), axis=-1)
    >>> parts = split_fixed(values, np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    >>> parts.rater.diagonal(), parts.item.diagonal()
    (array([0.25, 0.  ]), array([0.  , 0.25]))
    """
    by_item, by_rater = mean_over_raters(values, raters), np.einsum("rqp,q->rp", values, items)
    mean = items @ by_item
    rest = values - by_item - by_rater[:, None] + mean
    return CrossedVariance(
        item=second_moment(by_item - mean, items),
        rater=second_moment(by_rater - mean, raters),
        interaction=_crossed_moment(rest, raters, items),
    )


def split_random(
    values: FloatArray, raters: FloatArray, items: FloatArray, *, rater_share: float, item_share: float
) -> CrossedVariance:
    """Split the expected variance of random effects over crossed raters and items (Johnson 2014).

    https://doi.org/10.1111/2041-210X.12225. An effect of items that depends on the rater, as of a group on an item, has
    an average over raters, which is a part of the items, and a rest, which is interaction; effects of raters likewise.
    The effect that all raters share of all items is in no part.

    Parameters
    ----------
    values
        Coefficients of the effects by rater and item, shape (R, Q, D).
    raters, items
        Weights with sum one, shapes (R,) and (Q,).
    rater_share, item_share
        Probability that two raters, or two items, have effects of different groups: 1 for effects of each rater, 0 for
        effects that all raters share.

    Returns
    -------
    CrossedVariance
        Matrices, shape (D, D).
    """
    of_items, total = mean_over_raters(values, raters), _crossed_moment(values, raters, items)
    by_item = second_moment(of_items, items)
    by_rater = second_moment(np.einsum("rqd,q->rd", values, items), raters)
    mean = items @ of_items
    of_mean = np.outer(mean, mean)
    same_rater, same_item = 1 - rater_share, 1 - item_share
    return CrossedVariance(
        item=same_rater * (by_item - same_item * of_mean),
        rater=same_item * (by_rater - same_rater * of_mean),
        interaction=total - same_rater * by_item - same_item * by_rater + same_rater * same_item * of_mean,
    )


def mean_over_raters(values: FloatArray, raters: FloatArray) -> FloatArray:
    """Return the weighted mean over raters, shape (Q, D), of values by rater and item."""
    return np.asarray(np.einsum("rqd,r->qd", values, raters))


def second_moment(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the products of columns, shape (D, D)."""
    return np.asarray((values * weights[:, None]).T @ values)


def _crossed_moment(values: FloatArray, raters: FloatArray, items: FloatArray) -> FloatArray:
    flat = values.reshape(len(raters) * len(items), values.shape[2])
    return second_moment(flat, np.outer(raters, items).ravel())
