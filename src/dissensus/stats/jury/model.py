"""Model of the answers of people: text features × groups, levels of groups, and differences between raters."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from dissensus.stats.jury.effects import EffectPosterior, EffectTerm, EffectVariances, quadratic_forms
from dissensus.stats.jury.fit import EffectFit, fit_effects
from dissensus.stats.jury.prediction import PredictedLocations
from dissensus.stats.result import FloatArray, Int64Array

_NO_CONTRAST: Final = 1e-9


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

    answers: Int64Array
    n_answers: int
    items: Int64Array
    raters: Int64Array
    features: FloatArray
    blocks: Int64Array
    groups: Int64Array
    n_groups: tuple[int, ...]
    has_raters: bool = True

    @property
    def memberships(self) -> FloatArray:
        """1 for each group of each rater, on all axes in turn, shape (R, G)."""
        parts = [
            (codes[:, None] == np.arange(n)).astype(np.float64)
            for codes, n in zip(self.groups, self.n_groups, strict=True)
        ]
        return np.concatenate([np.zeros((self.groups.shape[1], 0)), *parts], axis=1)

    def rater_term(self, contrasts: "GroupContrasts") -> EffectTerm:
        """Return the effects of raters and their groups on all answers."""
        return EffectTerm(
            name="rater",
            kind="rater",
            units=self.raters,
            loadings=np.ones(len(self.answers)),
            features=contrasts.express(self.memberships),
            blocks=self._axes_of(contrasts),
            has_residuals=self.has_raters,
        )

    def text_terms(self, contrasts: "GroupContrasts", *, has_residuals: bool = True) -> Iterator[EffectTerm]:
        """Yield the effects of texts on all people, and on each contrast of groups."""
        of_raters = contrasts.express(self.memberships)
        shared = np.ones((len(of_raters), 1))
        names = ["text", *(f"axis {axis}" for axis in self._axes_of(contrasts))]
        for name, column in zip(names, np.concatenate([shared, of_raters], axis=1).T, strict=True):
            yield EffectTerm(
                name=name,
                kind="item",
                units=self.items,
                loadings=column[self.raters],
                features=self.features,
                blocks=self.blocks,
                has_residuals=has_residuals,
            )

    def _axes_of(self, contrasts: "GroupContrasts") -> Int64Array:
        """Return the axis of each contrast."""
        of_groups = np.repeat(np.arange(len(self.n_groups)), self.n_groups)
        return np.array([of_groups[np.flatnonzero(column)[0]] for column in contrasts.directions.T], np.int64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupContrasts:
    """Contrasts of the groups of each axis, which are uncorrelated over ratings and sum to zero.

    Departures of groups that are independent with one variance are so in these coordinates too. The direction in which
    all groups of an axis depart together is left out where it is that of all people.

    Parameters
    ----------
    centre
        Share of the ratings by each group, shape (G,).
    directions
        Orthonormal directions, shape (G, C).
    """

    centre: FloatArray
    directions: FloatArray

    @classmethod
    def learn(cls, memberships: FloatArray, n_groups: Sequence[int]) -> Self:
        """Learn the contrasts from the groups of the rater of each rating, shape (N, G).

        Examples
        --------
        >>> contrasts = GroupContrasts.learn(np.eye(2)[[0, 0, 1, 1]], [2])
        >>> contrasts.express(np.eye(2)).round(2).ravel().tolist() in ([0.71, -0.71], [-0.71, 0.71])
        True
        """
        centre = memberships.mean(axis=0)
        parts = [np.zeros((len(centre), 0))]
        for axis, end in enumerate(np.cumsum(n_groups)):
            own = slice(end - n_groups[axis], end)
            centred = memberships[:, own] - centre[own]
            values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
            varies = values > _NO_CONTRAST
            columns = np.zeros((len(centre), varies.sum()))
            columns[own] = vectors[:, varies]
            parts.append(columns)
        return cls(centre=centre, directions=np.concatenate(parts, axis=1))

    def express(self, memberships: FloatArray) -> FloatArray:
        """Return the coordinates of people of groups, shape (M, C)."""
        return np.asarray((memberships - self.centre) @ self.directions)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TextModel:
    """Fitted model of the answers of people.

    Parameters
    ----------
    thresholds
        Thresholds between answers, shape (K - 1,).
    contrasts
        C contrasts of groups.
    weights
        Weights of features, on all people and on each contrast, shape (1 + C, P).
    covariances
        Their covariances, shape (1 + C, P, P).
    residuals
        Variances of the residuals of items, for all people and for each contrast, shape (1 + C,).
    levels, level_covariance
        Departures on all texts in each contrast, shape (C,), and their covariance, shape (C, C).
    rater_variance
        Variance between raters of the same groups.
    converged
        False if the variances were still changing when the fit ended.
    choice_scale
        Multiple of the effects of texts in choices between two, of a model of answers and choices; None for one kind.
    """

    thresholds: FloatArray
    contrasts: GroupContrasts
    weights: FloatArray
    covariances: FloatArray
    residuals: FloatArray
    levels: FloatArray
    level_covariance: FloatArray
    rater_variance: float
    converged: bool
    choice_scale: float | None = None

    def locate(self, features: FloatArray) -> PredictedLocations:
        """Predict the locations of answers to new texts, by their features, shape (I, P)."""
        means = features @ self.weights.T
        variances = np.stack([quadratic_forms(features, part) for part in self.covariances], axis=1) + self.residuals
        return PredictedLocations(
            thresholds=self.thresholds,
            express=self.contrasts.express,
            text=means[:, 0],
            text_variance=variances[:, 0],
            contrasts=means[:, 1:],
            contrast_variances=variances[:, 1:],
            levels=self.levels,
            level_covariance=self.level_covariance,
            rater_variance=self.rater_variance,
        )

    def locate_choices(self, differences: FloatArray) -> PredictedLocations:
        """Predict the locations of choices between two new texts, by the features of the second less the first.

        A model of answers and choices has a residual of each text, a model of choices alone one of their comparison.
        """
        if self.choice_scale is None:
            return self.locate(differences)
        halves, factor = self.locate(differences / math.sqrt(2)), math.sqrt(2) * self.choice_scale
        return replace(
            halves,
            thresholds=np.zeros(1),
            text=factor * halves.text,
            text_variance=factor**2 * halves.text_variance,
            contrasts=factor * halves.contrasts,
            contrast_variances=factor**2 * halves.contrast_variances,
            levels=np.zeros_like(self.levels),
            level_covariance=np.zeros_like(self.level_covariance),
            rater_variance=0.0,
        )


def fit_text_model(ratings: TextAnswers) -> TextModel:
    """Fit the model of the answers of people; see `fit_effects` for the likelihood and the method.

    Each axis has a variance of the weights of its groups, and one of their residuals: groups that do not differ share
    their weights.

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
    contrasts = GroupContrasts.learn(ratings.memberships[ratings.raters], ratings.n_groups)
    texts = list(ratings.text_terms(contrasts))
    fit = fit_effects(ratings.answers, ratings.n_answers, [ratings.rater_term(contrasts), *texts])
    return _with_raters(fit, contrasts, texts)


def _with_raters(
    fit: EffectFit, contrasts: GroupContrasts, texts: Sequence[EffectTerm], *, choice_scale: float | None = None
) -> TextModel:
    """Return the model of a fit whose first term is that of raters."""
    raters, *of_texts = fit.posteriors
    return TextModel(
        thresholds=fit.thresholds,
        contrasts=contrasts,
        levels=raters.weights,
        level_covariance=raters.covariance,
        rater_variance=fit.variances["rater"].residual,
        converged=fit.converged,
        choice_scale=choice_scale,
        **_stack_texts(fit.variances, texts, of_texts),
    )


def fit_joint_model(ratings: TextAnswers, choices: TextAnswers) -> TextModel:
    r"""Fit the model of the answers of people to their answers and their choices between two texts.

    The features of the items of choices are those of the second text less those of the first, and answer 1 is a choice
    of the first, where later answers on the scale are worse. Raters have the same numbers and groups in both.

    .. math:: P(y = 1) = \Phi(\lambda (\eta_2 - \eta_1)), \quad
              \eta_2 - \eta_1 = \sqrt{2} \, \Bigl( \tfrac{1}{\sqrt{2}} (x_2 - x_1)' w + \varepsilon \Bigr)

    The difference of two independent residuals of a variance has twice that variance, so that a comparison is an item
    whose features are divided by :math:`\sqrt{2}` and whose effects are multiplied by it. Levels of raters and groups
    cancel. Residuals of a text that is rated and compared, or compared twice with others, are taken as independent.

    Examples
    --------
    Few ratings, and choices of people who react to the same word half as much:

    >>> rng = np.random.default_rng(0)
    >>> word, difference = rng.normal(size=(150, 1)), rng.normal(size=(2000, 1))
    >>> shared = {"blocks": np.zeros(1, np.int64), "groups": np.zeros((0, 2000), np.int64), "n_groups": ()}
    >>> ratings = TextAnswers(
    ...     answers=(word[:, 0] + rng.normal(size=150) > 0).astype(np.int64), n_answers=2, items=np.arange(150),
    ...     raters=np.arange(150), features=word, has_raters=False, **shared,
    ... )
    >>> choices = TextAnswers(
    ...     answers=(0.5 * difference[:, 0] + rng.normal(size=2000) > 0).astype(np.int64), n_answers=2,
    ...     items=np.arange(2000), raters=np.arange(2000), features=difference, has_raters=False, **shared,
    ... )
    >>> model = fit_joint_model(ratings, choices)
    >>> bool(0.3 < model.choice_scale < 0.8)
    True
    """
    is_choice = np.arange(len(ratings.answers) + len(choices.answers)) >= len(ratings.answers)
    both = replace(
        ratings,
        answers=np.concatenate([ratings.answers, choices.answers]),
        items=np.concatenate([ratings.items, len(ratings.features) + choices.items]),
        raters=np.concatenate([ratings.raters, choices.raters]),
        features=np.concatenate([ratings.features, choices.features / math.sqrt(2)]),
    )
    contrasts = GroupContrasts.learn(both.memberships[both.raters], both.n_groups)
    of_texts, of_raters = np.where(is_choice, math.sqrt(2), 1.0), np.where(is_choice, 0.0, 1.0)
    texts = [replace(term, loadings=term.loadings * of_texts) for term in both.text_terms(contrasts)]
    raters = replace(both.rater_term(contrasts), loadings=of_raters)
    fit = fit_effects(both.answers, both.n_answers, [raters, *texts], choices=is_choice)
    return _with_raters(fit, contrasts, texts, choice_scale=fit.choice_scale)


def fit_choice_model(choices: TextAnswers) -> TextModel:
    """Fit a model of choices between two texts, whose features are those of the second less those of the first.

    Answer 1 is a choice of the first. Who chooses has no level: exchanged texts give the exchanged probability, so that
    the threshold is 0. Two texts have a residual if several people compared them.

    Examples
    --------
    Of two texts, people mostly choose the one without a word:

    >>> rng = np.random.default_rng(0)
    >>> word = rng.normal(size=(300, 1))
    >>> model = fit_choice_model(
    ...     TextAnswers(
    ...         answers=(word[:, 0] + rng.normal(size=300) > 0).astype(np.int64), n_answers=2, items=np.arange(300),
    ...         raters=np.arange(300), features=word, blocks=np.zeros(1, np.int64),
    ...         groups=np.zeros((0, 300), np.int64), n_groups=(), has_raters=False,
    ...     )
    ... )
    >>> shares = model.locate(np.array([[1.0], [-1.0]])).distributions(np.zeros((1, 0), bool))[:, 0, 1]
    >>> bool(shares[0] > 0.75), round(float(shares.sum()), 9)
    (True, 1.0)
    """
    contrasts = GroupContrasts.learn(choices.memberships[choices.raters], choices.n_groups)
    has_several = len(choices.answers) > len(np.unique(choices.items))
    texts = list(choices.text_terms(contrasts, has_residuals=has_several))
    fit = fit_effects(choices.answers, choices.n_answers, texts, choices=np.ones(len(choices.answers), np.bool_))
    n_contrasts = contrasts.directions.shape[1]
    return TextModel(
        thresholds=fit.thresholds,
        contrasts=contrasts,
        levels=np.zeros(n_contrasts),
        level_covariance=np.zeros((n_contrasts, n_contrasts)),
        rater_variance=0.0,
        converged=fit.converged,
        choice_scale=None,
        **_stack_texts(fit.variances, texts, fit.posteriors),
    )


def _stack_texts(
    variances: Mapping[str, EffectVariances], terms: Sequence[EffectTerm], posteriors: Sequence[EffectPosterior]
) -> dict[str, FloatArray]:
    """Return the effects of texts on all people and on each contrast."""
    return {
        "weights": np.stack([part.weights for part in posteriors]),
        "covariances": np.stack([part.covariance for part in posteriors]),
        "residuals": np.array([variances[term.name].residual for term in terms]),
    }


def fit_answer_model(labels: Int64Array, n_answers: int, features: FloatArray, blocks: Int64Array) -> TextModel:
    """Fit a model of one label for each item, such as its plurality, without groups or raters."""
    items = np.arange(len(labels))
    term = EffectTerm(
        name="text",
        kind="item",
        units=items,
        loadings=np.ones(len(labels)),
        features=features,
        blocks=blocks,
        has_residuals=False,
    )
    fit = fit_effects(labels, n_answers, [term])
    return _without_groups(fit, fit.posteriors[0])


def _without_groups(fit: EffectFit, texts: EffectPosterior) -> TextModel:
    return TextModel(
        thresholds=fit.thresholds,
        contrasts=GroupContrasts.learn(np.zeros((1, 0)), ()),
        weights=texts.weights[None],
        covariances=texts.covariance[None],
        residuals=np.zeros(1),
        levels=np.zeros(0),
        level_covariance=np.zeros((0, 0)),
        rater_variance=0.0,
        converged=fit.converged,
    )
