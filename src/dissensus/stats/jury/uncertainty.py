"""Joint uncertainty of the effects of all terms on a unit, such as those of an item on all people and on each group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dissensus.stats.jury.effects import EffectTerm, EffectVariances, invert_information, quadratic_forms
from dissensus.stats.result import FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UnitUncertainty:
    """Uncertainty of the effects of T terms on the units of a kind.

    Parameters
    ----------
    covariances
        Covariances of the weights of each term, shape (T, P, P).
    residuals
        Variances of residuals, shape (T, U).
    locations
        Variance of what all terms of the kind add to the location of each rating, shape (N,).
    """

    covariances: FloatArray
    residuals: FloatArray
    locations: FloatArray


class UnitKind:
    """Terms of one kind of units."""

    __slots__ = ("terms", "units")

    def __init__(self, terms: Sequence[EffectTerm]) -> None:
        """Take the terms, which have the same units."""
        self.terms, self.units = tuple(terms), terms[0].units

    def measure(self, ratings: FloatArray, variances: Sequence[EffectVariances]) -> UnitUncertainty:
        r"""Measure the uncertainty of effects, given weights of ratings and variances of each term.

        With the weights :math:`M_u` of a unit's ratings by pairs of terms and the variances :math:`D` of its residuals,

        .. math:: C_u = (D^{-1} + M_u)^{-1}, \qquad S_u = M_u - M_u C_u M_u

        are the covariance of the residuals given the weights of features, and the information about these weights
        with the residuals of all terms integrated out. Weights of different terms are taken as independent.
        """
        mass = self._sum(ratings)
        root = np.sqrt([part.residual for part in variances])
        inner = np.linalg.inv(np.eye(len(root)) + root[:, None] * mass * root)
        own = root[:, None] * inner * root
        shrink = np.eye(len(root)) - own @ mass
        information = np.einsum("ust,uts->su", mass, shrink)
        covariances = np.stack(
            [invert_information(term, np.maximum(information[t], 0), variances[t]) for t, term in enumerate(self.terms)]
        )
        lines = [quadratic_forms(term.features, part) for term, part in zip(self.terms, covariances, strict=True)]
        of_line = np.stack(lines, axis=1)[:, None]
        effects = own + (shrink * of_line) @ shrink.transpose(0, 2, 1)
        pull = own @ mass
        return UnitUncertainty(
            covariances=covariances,
            residuals=np.diagonal(own, axis1=1, axis2=2).T + (pull**2 * of_line).sum(axis=2).T,
            locations=self._spread(effects),
        )

    def _sum(self, ratings: FloatArray) -> FloatArray:
        """Return the sum of weights of ratings times the loadings of each pair of terms by unit, shape (U, T, T)."""
        n_units, n_terms = len(self.terms[0].features), len(self.terms)
        mass = np.empty((n_units, n_terms, n_terms))
        for s, t, loading in self._pairs():
            mass[:, s, t] = mass[:, t, s] = np.bincount(self.units, ratings * loading, minlength=n_units)
        return mass

    def _spread(self, effects: FloatArray) -> FloatArray:
        """Return the variance of each rating's location, from the covariance of the effects on each unit."""
        total = np.zeros(len(self.units))
        for s, t, loading in self._pairs():
            total += effects[self.units, s, t] * loading * (1 if s == t else 2)
        return total

    def _pairs(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Yield each pair of terms with the product of their loadings."""
        for t, term in enumerate(self.terms):
            yield from ((s, t, other.loadings * term.loadings) for s, other in enumerate(self.terms[: t + 1]))
