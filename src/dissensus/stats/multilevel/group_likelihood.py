"""Likelihood of the answers of each group of a random term, as a function of the group's own effects."""

from dataclasses import dataclass

import numpy as np

from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.kernels import Predictors
from dissensus.stats.multilevel.laplace import LaplaceLikelihood
from dissensus.stats.multilevel.replication import rating_order
from dissensus.stats.result import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupLikelihood:
    """Ratings sorted by the groups of a term, such as raters.

    Parameters
    ----------
    order
        Places of the ratings in the layout, sorted by group, shape (N,).
    start
        First rating of each group, and their number, shape (G + 1,).
    ratings, answers, groups
        Place in the design, category and group of each rating, shape (N,).
    coefficients
        Coefficients of the effects on the location, shape (N, D).
    link
        `kernels.PROBIT` or `kernels.LOGIT`.
    """

    order: IntArray
    start: IntArray
    ratings: IntArray
    answers: IntArray
    groups: IntArray
    coefficients: FloatArray
    link: int

    @classmethod
    def from_likelihood(cls, likelihood: LaplaceLikelihood, number: int) -> "GroupLikelihood":
        """Sort the ratings by the groups of a term of the design."""
        term = likelihood.design.random[number]
        by_inner = rating_order(likelihood)
        order = np.argsort(term.groups[by_inner], kind="stable")
        ratings = by_inner[order]
        start = np.concatenate([[0], np.cumsum(np.bincount(term.groups, minlength=term.n_groups))])
        values = np.ones((len(ratings), 1))
        if term.covariates is not None:
            values = np.ascontiguousarray(term.covariates.values[term.covariates.row[ratings]])
        return cls(
            order=order,
            start=start.astype(np.int64),
            ratings=ratings,
            answers=np.ascontiguousarray(likelihood.design.answers[ratings], np.int8),
            groups=term.groups[ratings],
            coefficients=values,
            link=likelihood.link,
        )

    def remove_effects(
        self, location: FloatArray, width: FloatArray, effects: FloatArray, thresholds: FloatArray
    ) -> Predictors:
        """Return predictors, given in the order of the layout, without the effects of this term, shape (G, D)."""
        n_location = self.coefficients.shape[1]
        own = effects[self.groups]
        rest = location[self.order] - (self.coefficients * own[:, :n_location]).sum(1)
        if len(width):
            width = width[self.order] - (own[:, n_location] if own.shape[1] > n_location else 0.0)
        centre = 0.5 * float(thresholds[0] + thresholds[-1])
        return Predictors(location=rest, width=width, centre=centre, distances=thresholds - centre, link=self.link)

    def evaluate(self, rest: Predictors, candidates: FloatArray) -> FloatArray:
        """Log-likelihood of each group's answers at candidates of its effects, shape (G, M) for (G, M, D)."""
        likelihoods = np.empty(candidates.shape[:2])
        kernels.fill_effect_likelihoods(
            self.start, self.answers, self.coefficients, np.ascontiguousarray(candidates), rest, likelihoods
        )
        return likelihoods
