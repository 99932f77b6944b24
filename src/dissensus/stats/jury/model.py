"""Model of the answers of people: text features × groups, levels of groups, and differences between raters."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.stats.cluster_robust import Floats
from dissensus.stats.jury.effects import EffectPosterior, EffectTerm, quadratic_forms
from dissensus.stats.jury.fit import EffectFit, fit_effects
from dissensus.stats.jury.prediction import PredictedLocations

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TextAnswers:
    """Answers to texts with features, by raters of groups.

    Parameters
    ----------
    answers
        Answer of each rating, from 0, shape (N,).
    n_answers
        Number of answers, K.
    items, raters
        Item and rater of each rating, shape (N,).
    features
        Features of the texts of the items, shape (I, P).
    blocks
        Block of each feature, shape (P,).
    groups
        Group of each rater on each axis, -1 if unknown, shape (A, R).
    n_groups
        Number of groups of each axis.
    has_raters
        False if raters are unknown, so that each rating counts as one of another rater.
    """

    answers: Codes
    n_answers: int
    items: Codes
    raters: Codes
    features: Floats
    blocks: Codes
    groups: Codes
    n_groups: tuple[int, ...]
    has_raters: bool = True

    @property
    def memberships(self) -> Floats:
        """1 for each group of each rater, on all axes in turn, shape (R, G)."""
        parts = [
            (codes[:, None] == np.arange(n)).astype(np.float64)
            for codes, n in zip(self.groups, self.n_groups, strict=True)
        ]
        return np.concatenate([np.zeros((self.groups.shape[1], 0)), *parts], axis=1)

    def terms(self) -> Iterator[EffectTerm]:
        """Yield the effects of raters, of texts on all people, and of texts on each group."""
        every = np.arange(len(self.answers))
        axes = np.repeat(np.arange(len(self.n_groups)), self.n_groups)
        members = self.memberships
        yield EffectTerm(
            name="rater", ratings=every, units=self.raters, features=members, blocks=axes, has_residuals=self.has_raters
        )
        yield EffectTerm(name="text", ratings=every, units=self.items, features=self.features, blocks=self.blocks)
        for number, axis in enumerate(axes):
            rows = np.flatnonzero(members[self.raters, number] > 0)
            yield EffectTerm(
                name=f"axis {axis}", ratings=rows, units=self.items[rows], features=self.features, blocks=self.blocks
            )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TextModel:
    """Fitted model of the answers of people.

    Parameters
    ----------
    thresholds
        Thresholds between answers, shape (K - 1,).
    weights
        Weights of features, on all people and on each group, shape (1 + G, P).
    covariances
        Their covariances, shape (1 + G, P, P).
    residuals
        Variances of what texts do not tell of an item, of all people and of each group, shape (1 + G,).
    levels, level_covariance
        Departures of groups on all texts, shape (G,), and their covariance, shape (G, G).
    rater_variance
        Variance between raters of the same groups.
    """

    thresholds: Floats
    weights: Floats
    covariances: Floats
    residuals: Floats
    levels: Floats
    level_covariance: Floats
    rater_variance: float

    def locate(self, features: Floats) -> PredictedLocations:
        """Predict the locations of answers to new texts, by their features, shape (I, P)."""
        means = features @ self.weights.T
        variances = np.stack([quadratic_forms(features, part) for part in self.covariances], axis=1) + self.residuals
        return PredictedLocations(
            thresholds=self.thresholds,
            text=means[:, 0],
            text_variance=variances[:, 0],
            groups=means[:, 1:],
            group_variances=variances[:, 1:],
            levels=self.levels,
            level_covariance=self.level_covariance,
            rater_variance=self.rater_variance,
        )


def fit_text_model(ratings: TextAnswers) -> TextModel:
    """Fit the model of the answers of people; see `fit_effects` for the likelihood and the method.

    Each axis has a variance of its groups' weights, and one of what texts do not tell about its groups: groups that do
    not differ share their weights.

    Examples
    --------
    Two groups that react to a word in opposite ways:

    >>> rng = np.random.default_rng(0)
    >>> word = rng.normal(size=(150, 1))
    >>> items, raters = np.divmod(np.arange(3000), 20)
    >>> opposite = np.where(raters < 10, 1.0, -1.0)
    >>> answers = (opposite * word[items, 0] + rng.normal(size=3000) > 0).astype(np.int64)
    >>> model = fit_text_model(
    ...     TextAnswers(
    ...         answers=answers, n_answers=2, items=items, raters=raters, features=word, blocks=np.zeros(1, np.int64),
    ...         groups=np.repeat([0, 1], 10)[None], n_groups=(2,),
    ...     )
    ... )
    >>> shares = model.locate(np.array([[1.0]])).distributions(np.eye(2, dtype=bool))
    >>> bool(shares[0, 0, 1] > 0.75), bool(shares[0, 1, 1] < 0.25)
    (True, True)
    """
    terms = list(ratings.terms())
    fit = fit_effects(ratings.answers, ratings.n_answers, terms)
    raters, *texts = fit.posteriors
    return TextModel(
        thresholds=fit.thresholds,
        weights=np.stack([part.weights for part in texts]),
        covariances=np.stack([part.covariance for part in texts]),
        residuals=np.array([fit.variances[term.name].residual for term in terms[1:]]),
        levels=raters.weights,
        level_covariance=raters.covariance,
        rater_variance=fit.variances["rater"].residual,
    )


def fit_label_model(labels: Codes, n_answers: int, features: Floats, blocks: Codes) -> TextModel:
    """Fit a model of one label an item, such as the plurality of its raters, on the texts: of nobody in particular."""
    items = np.arange(len(labels))
    term = EffectTerm(name="text", ratings=items, units=items, features=features, blocks=blocks, has_residuals=False)
    fit = fit_effects(labels, n_answers, [term])
    return _without_groups(fit, fit.posteriors[0])


def _without_groups(fit: EffectFit, texts: EffectPosterior) -> TextModel:
    return TextModel(
        thresholds=fit.thresholds,
        weights=texts.weights[None],
        covariances=texts.covariance[None],
        residuals=np.zeros(1),
        levels=np.zeros(0),
        level_covariance=np.zeros((0, 0)),
        rater_variance=0.0,
    )
