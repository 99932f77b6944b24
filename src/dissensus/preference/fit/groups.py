"""Fit of the groups model: weights of the population, and effects of groups and raters on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import RATER, Examples, Labels
from dissensus.preference.data.features import Kind, Vocabulary
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.fit import logistic
from dissensus.preference.fit.linear import (
    FEATURES,
    INNER_FOLDS,
    ChosenSettings,
    build_linear,
    choose_settings,
    fit_temperature,
    inner_folds,
)
from dissensus.preference.models.encoder import Progress
from dissensus.preference.models.groups import GroupEffectTable, Groups, group_indices
from dissensus.stats.cluster_robust import clustered_mean
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.sparse import SparseRows

EFFECT_PENALTIES: Final = (16.0, 4.0, 1.0, 0.25)
"""Penalties on the effects of groups or raters, as multiples of the penalty on the population weights."""

MAX_GROUPS: Final = 100
"""Limit on the groups of one axis."""

SIGNIFICANCE_LEVEL: Final = 0.05
"""Probability that an axis has effects if its groups do not differ."""

RATER_FOLDS: Final = 6
"""Largest number of folds of raters: of a group of four, all but one are in training."""

N_DIRECTIONS: Final = 16
"""Number of principal directions in which effects of raters may lie."""

_OVERSAMPLING, _POWER_ITERATIONS, _SEED = 8, 4, 0  # Of the random projection


class ChosenGroups(NamedTuple):
    """Settings of the population model, the penalty of each axis with effects, and the temperature."""

    population: ChosenSettings
    penalties: dict[str, float]  # As multiples of the penalty on the population weights
    temperature: float

    def to_card(self) -> dict[str, Any]:
        """Return the settings as plain values for the model card."""
        return self.population.to_card() | {"temperature": self.temperature, "effect_penalties": self.penalties}


class GroupFeatures(NamedTuple):
    """Pairs with all features, and the principal directions of these."""

    examples: Examples
    rows: SparseRows
    directions: npt.NDArray[np.float32]

    @classmethod
    def from_examples(
        cls, examples: Examples, vocabularies: dict[Kind, Vocabulary], *, of_raters: bool
    ) -> "GroupFeatures":
        """Return pairs with their features, and with directions if raters may have effects."""
        rows = examples.differences(vocabularies)
        directions = principal_directions(rows) if of_raters else np.empty((rows.width, 0), np.float32)
        return cls(examples, rows, directions)


class GroupsFit(NamedTuple):
    """Population weights of all features, and the group effects of each axis."""

    weights: FloatArray
    effects: dict[str, GroupEffectTable]

    def log_odds(self, examples: Examples, rows: SparseRows) -> FloatArray:
        """Return the log odds of each pair."""
        total = rows @ self.weights
        for axis, effects in self.effects.items():
            total += effects.departures(rows, examples.labels[axis])
        return total


def choose_groups(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int,
    progress: Progress | None = None,
) -> ChosenGroups:
    """Choose settings and the axes with effects by cross-validation.

    Axes are tried in turn, raters last; an axis has effects if they lower the held-out loss significantly. Effects of
    groups are tested on held-out raters of each group, clustered by rater, and the largest gain decides; those of
    raters on held-out dialogues, clustered by dialogue. With fewer than `INNER_FOLDS` known raters, groups and raters
    cannot be separated: groups have no effects.
    """
    for axis, labels in examples.labels.items():
        if axis != RATER and len(_names(labels)) > MAX_GROUPS:
            raise InvalidInput(
                f"{axis} has {len(_names(labels)):,} groups; there are at most {MAX_GROUPS}, each of several raters. "
                "Put its values into fewer groups, or leave the column out."
            )
    if not examples.labels:
        raise InvalidInput(
            "Raters and groups of the pairs are unknown, so groups cannot differ. Give pairs with rater_id, group or "
            "rater_… columns, or preferences with --raters FILE."
        )
    population = choose_settings(examples, features=features, seed=seed, progress=progress)
    penalties: dict[str, float] = {}
    for units, tested in _searches(examples):
        search = _Search(examples, population, units, list(_folds(examples, population, seed, units, tested)))
        if tested is not None:
            penalties = search.try_axis(tested, penalties)
    # The last search holds out dialogues, as the evaluation does
    log_odds = search.predict(penalties)
    return ChosenGroups(population, penalties, fit_temperature(log_odds, examples.choices))


def _searches(examples: Examples) -> Iterator[tuple[Int64Array, str | None]]:
    """Yield held-out units, and the axis that is tested on them."""
    axes = [axis for axis, labels in examples.labels.items() if len(_names(labels)) > 1]
    groups = [axis for axis in axes if axis != RATER]
    raters = _number_raters(examples)
    if raters is None:
        yield from ((examples.dialogue, axis) for axis in groups)
    elif len(np.unique(raters)) >= INNER_FOLDS:
        yield from ((raters, axis) for axis in groups)
    yield examples.dialogue, RATER if RATER in axes else None


def _number_raters(examples: Examples) -> Int64Array | None:
    """Return a number for each pair's rater, distinct for each unknown rater; None if all are unknown."""
    if RATER not in examples.labels:
        return None
    indices = group_indices(_names(examples.labels[RATER]), examples.labels[RATER])
    return np.where(indices >= 0, indices, len(indices) + np.arange(len(indices)))


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Search for axes with effects, by predicting held-out units."""

    examples: Examples
    population: ChosenSettings
    units: Int64Array
    folds: list[tuple[GroupFeatures, tuple[Examples, SparseRows], Int64Array]]

    def predict(self, penalties: Mapping[str, float]) -> FloatArray:
        """Return the log odds of each pair by a model that was not trained on its unit."""
        log_odds = np.empty(len(self.units))
        for training, (held_out, rows), index in self.folds:
            log_odds[index] = fit_groups(training, self.population.penalty, penalties).log_odds(held_out, rows)
        return log_odds

    def try_axis(self, axis: str, penalties: dict[str, float]) -> dict[str, float]:
        """Add the best penalty of an axis if its effects lower the loss of a group significantly.

        Gains are judged by group, and not over all: effects of a tenth of the raters hardly move the mean of all.
        """
        before = self._loss(penalties)
        gains = {penalty: before - self._loss({**penalties, axis: penalty}) for penalty in EFFECT_PENALTIES}
        members = self._members(axis)
        best = max(EFFECT_PENALTIES, key=lambda penalty: float(sum(gains[penalty][rows].mean() for rows in members)))
        # Groups are of different raters, so that Šidák's level is exact for the largest of their gains
        confidence = 2 * (1 - SIGNIFICANCE_LEVEL) ** (1 / max(1, len(members))) - 1
        useful = any(self._is_significant(gains[best][rows], self.units[rows], confidence) for rows in members)
        return {**penalties, axis: best} if useful else penalties

    def _members(self, axis: str) -> list[Int64Array]:
        """Return the pairs of each group that is tested; raters are tested together."""
        labels = self.examples.labels[axis]
        if axis == RATER:
            return [np.arange(len(labels))]
        indices = group_indices(_names(labels), labels)
        return [np.flatnonzero(indices == group) for group in range(indices.max() + 1)]

    @staticmethod
    def _is_significant(gain: FloatArray, units: Int64Array, confidence: float) -> bool:
        low = clustered_mean(gain, units, confidence=confidence).ci_low
        return low is not None and low > 0

    def _loss(self, penalties: Mapping[str, float]) -> FloatArray:
        """Return the loss of each pair, at the best temperature."""
        log_odds, choices = self.predict(penalties), self.examples.choices
        return choices.plain.loss(log_odds / fit_temperature(log_odds, choices))


def fit_groups_model(
    examples: Examples, settings: ChosenGroups, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> Groups:
    """Fit the groups model to all examples with the chosen settings."""
    vocabularies = examples.learn_vocabularies(settings.population.features)
    pairs = GroupFeatures.from_examples(examples, vocabularies, of_raters=RATER in settings.penalties)
    fit = fit_groups(pairs, settings.population.penalty, settings.penalties)
    return Groups(
        population=build_linear(
            examples, fit.weights, vocabularies, purpose=purpose, temperature=settings.temperature, card=card
        ),
        effects=fit.effects,
        # Rater ids are stored only if raters have effects
        axes={axis: _names(labels) for axis, labels in examples.labels.items() if axis != RATER or axis in fit.effects},
    )


def fit_groups(pairs: GroupFeatures, penalty: float, penalties: Mapping[str, float]) -> GroupsFit:
    r"""Fit population weights and group effects.

    .. math:: \min \sum_p \ell_p\Bigl(\beta \cdot x_p + \sum_a u_{a g_a(p)} \cdot x_p + b_{r(p)} \cdot V^\top x_p\Bigr)
              + \frac{\lambda}{2} \Bigl( \lVert\beta\rVert^2 + \sum_a \kappa_a \sum_g \lVert u_{ag} \rVert^2
              + \kappa \sum_r \lVert b_r \rVert^2 \Bigr)

    This is a logistic regression with one further column for each feature and group, scaled so that a single penalty
    applies to all. Afterwards the effects of an axis are centred on their weighted mean, which moves to the population
    weights.
    """
    tables = {
        axis: GroupEffectTable(
            _names(labels), np.empty((0, 0), np.float32), pairs.directions if axis == RATER else None
        )
        for axis, labels in pairs.examples.labels.items()
        if axis in penalties and _names(labels)
    }
    design, ends = pairs.rows, []
    for axis, effects in tables.items():
        ends.append(design.width)
        design = design.hstack(_columns(effects, pairs, axis, 1 / np.sqrt(penalties[axis])))
    weights, *blocks = np.split(logistic.fit_logistic(design, pairs.examples.choices, penalty), ends)
    centred = {}
    for (axis, effects), block in zip(tables.items(), blocks, strict=True):
        values = block.reshape(len(effects.names), -1) / np.sqrt(penalties[axis])
        mean = _shares(effects.names, pairs.examples, axis) @ values
        weights = weights + (mean if effects.directions is None else effects.directions @ mean)
        centred[axis] = replace(effects, values=(values - mean).astype(np.float32))
    return GroupsFit(weights, centred)


def _names(labels: Labels) -> tuple[str, ...]:
    return tuple(sorted({label for label in labels if label is not None}))


def _shares(groups: tuple[str, ...], examples: Examples, axis: str) -> FloatArray:
    """Return each group's share of the weight of all choices."""
    indices = group_indices(groups, examples.labels[axis])
    size = np.bincount(indices[indices >= 0], examples.choices.weight[indices >= 0], minlength=len(groups))
    return np.asarray(size / size.sum())


def _columns(effects: GroupEffectTable, pairs: GroupFeatures, axis: str, scale: float) -> SparseRows:
    """Return scaled features, or their projections, in the column block of each pair's group."""
    rows = pairs.rows if effects.directions is None else SparseRows.dense(effects.project(pairs.rows))
    return rows.shift_blocks(group_indices(effects.names, pairs.examples.labels[axis]), len(effects.names), scale)


def _folds(
    examples: Examples, population: ChosenSettings, seed: int, units: Int64Array, axis: str | None
) -> Iterator[tuple[GroupFeatures, tuple[Examples, SparseRows], Int64Array]]:
    """Yield training and held-out pairs of each fold; raters of each group of the axis are spread over the folds."""
    strata, count = None, INNER_FOLDS
    if axis is not None and units is not examples.dialogue:
        strata = group_indices(_names(examples.labels[axis]), examples.labels[axis])
        count = min(RATER_FOLDS, len(np.unique(units)))
    for training, held_out, index in inner_folds(examples, seed, units=units, strata=strata, count=count):
        vocabularies = training.learn_vocabularies(population.features)
        features = GroupFeatures.from_examples(training, vocabularies, of_raters=axis == RATER)
        yield features, (held_out, held_out.differences(vocabularies)), index


def principal_directions(rows: SparseRows, rank: int = N_DIRECTIONS) -> npt.NDArray[np.float32]:
    """Return the leading right singular vectors of sparse rows, shape (columns, rank), by random projection.

    Independent of the order and the signs of the rows. There are at most as many directions as rows or columns.

    Examples
    --------
    >>> column = SparseRows.one_column(np.array([1.0, -2.0, 2.0]))
    >>> np.abs(principal_directions(column, 4)).tolist()
    [[1.0]]
    """
    rank = min(rank, len(rows), rows.width)
    width = min(rank + _OVERSAMPLING, len(rows), rows.width)
    basis = np.random.default_rng(_SEED).normal(size=(rows.width, width))
    for _ in range(_POWER_ITERATIONS):
        basis = np.linalg.qr(rows.transposed_times(rows @ basis))[0]
    projected = rows @ basis
    values, vectors = np.linalg.eigh(projected.T @ projected)
    return np.asarray(basis @ vectors[:, np.argsort(-values)[:rank]], dtype=np.float32)
