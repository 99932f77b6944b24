"""Fit of the groups model: population weights, group and rater departures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import RATER, Examples, Labels
from dissensus.preference.data.features import Kind, Vocabulary
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.data.sparse import FeatureRows, Floats, Integers
from dissensus.preference.fit import logistic
from dissensus.preference.fit.linear import (
    FEATURES,
    INNER,
    ChosenSettings,
    Progress,
    build_linear,
    choose_settings,
    fit_temperature,
    inner_folds,
)
from dissensus.preference.fit.subspace import principal_directions
from dissensus.preference.models.group_effects import GroupEffectTable, group_indices
from dissensus.preference.models.groups import Groups
from dissensus.stats.cluster_robust import paired_difference

DEPARTURES: Final = (16.0, 4.0, 1.0, 0.25)
"""Penalties on the effects of groups or raters, as multiples of that on the weights of all."""

MOST_GROUPS: Final = 100
"""Groups of one axis."""

LEVEL: Final = 0.90
"""Of the interval that has to lie on the side of an effect before there is one: 5 % beyond each end."""


class ChosenGroups(NamedTuple):
    """Settings of what all choose; the penalty of each axis that has effects; the temperature that fits all."""

    population: ChosenSettings
    penalties: dict[str, float]
    temperature: float

    def told(self) -> dict[str, Any]:
        """Return it as plain values for a card."""
        return self.population.told() | {"temperature": self.temperature, "effect_penalties": self.penalties}


class GroupFeatures(NamedTuple):
    """Pairs in all features, and the few directions in which they vary most."""

    examples: Examples
    rows: FeatureRows
    directions: npt.NDArray[np.float32]

    @classmethod
    def of(cls, examples: Examples, vocabularies: dict[Kind, Vocabulary], *, of_raters: bool) -> "GroupFeatures":
        """Return pairs with their features, and directions if there may be effects of raters."""
        rows = examples.differences(vocabularies)
        found = principal_directions(rows) if of_raters else np.empty((rows.width, 0), np.float32)
        return cls(examples, rows, found)


class GroupsFit(NamedTuple):
    """Weights of all features, and the effects of the groups of each axis."""

    weights: Floats
    effects: dict[str, GroupEffectTable]

    def odds(self, examples: Examples, rows: FeatureRows) -> Floats:
        """Return the log odds of each pair."""
        total = rows @ self.weights
        for axis, effects in self.effects.items():
            total += effects.departures(rows, examples.who[axis])
        return total


def choose_groups(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int = 0,
    progress: Progress | None = None,
) -> ChosenGroups:
    """Choose settings by cross-validation, and on which axes there are effects.

    One axis after the other, raters last: it has effects if with them choices are foretold better than without. Those
    of groups must foretell raters held out, by more than raters differ; those of raters dialogues held out, by more
    than dialogues differ. Where fewer than `INNER` raters are known, groups cannot be told from them and have none.
    """
    for axis, labels in examples.who.items():
        if axis != RATER and len(_names(labels)) > MOST_GROUPS:
            raise InvalidInput(
                f"{axis} has {len(_names(labels)):,} groups; there are at most {MOST_GROUPS}, each of several raters. "
                "Put its values into fewer groups, or leave the column out."
            )
    if not examples.who:
        raise InvalidInput(
            "Nothing is known of who chose, so groups cannot differ. Give pairs with rater_id, group or rater_… "
            "columns, or preferences with --raters FILE."
        )
    population = choose_settings(examples, features=features, seed=seed, progress=progress)
    penalties: dict[str, float] = {}
    for units, axes in _searches(examples):
        folds = _folds(examples, population, seed, units, of_raters=RATER in axes)
        search = _Search(examples, population, units, list(folds))
        for axis in axes:
            penalties = search.tried(axis, penalties)
    # what is foretold last is of dialogues, as what is measured
    odds = search.foretold(penalties)
    return ChosenGroups(population, penalties, fit_temperature(odds, examples.choices))


def _searches(examples: Examples) -> Iterator[tuple[Integers, list[str]]]:
    """Yield units that are held out, and the axes that are looked at by foretelling them."""
    axes = [axis for axis, labels in examples.who.items() if len(_names(labels)) > 1]
    groups = [axis for axis in axes if axis != RATER]
    raters = _raters(examples)
    if raters is None:
        yield examples.dialogue, groups
        return
    if len(np.unique(raters)) >= INNER:
        yield raters, groups
    yield examples.dialogue, [axis for axis in axes if axis == RATER]


def _raters(examples: Examples) -> Integers | None:
    """Return a number for the rater of each pair, each who is not known being another one; None if nobody is."""
    if RATER not in examples.who:
        return None
    places = group_indices(_names(examples.who[RATER]), examples.who[RATER])
    return np.where(places >= 0, places, len(places) + np.arange(len(places)))


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Units held out, and what models of all others foretell of them."""

    examples: Examples
    population: ChosenSettings
    units: Integers
    folds: list[tuple[GroupFeatures, tuple[Examples, FeatureRows], Integers]]

    def foretold(self, penalties: Mapping[str, float]) -> Floats:
        """Return the log odds of each pair by a model that does not know its unit."""
        odds = np.empty(len(self.units))
        for known, (unknown, rows), here in self.folds:
            odds[here] = fit_groups(known, self.population.settings.penalty, penalties).odds(unknown, rows)
        return odds

    def tried(self, axis: str, penalties: dict[str, float]) -> dict[str, float]:
        """Return penalties with that of an axis if its effects are of use; otherwise without."""
        before = self._loss(penalties)
        after = {one: self._loss({**penalties, axis: one}) for one in DEPARTURES}
        least = min(DEPARTURES, key=lambda one: float(after[one].sum()))
        gain = paired_difference(after[least], before, self.units, level=LEVEL)
        return {**penalties, axis: least} if gain.ci_high < 0 else penalties

    def _loss(self, penalties: Mapping[str, float]) -> Floats:
        """Return what each pair costs, after the temperature that fits all."""
        odds, choices = self.foretold(penalties), self.examples.choices
        return choices.plain.loss(odds / fit_temperature(odds, choices))


def fit_groups_model(
    examples: Examples, chosen: ChosenGroups, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> Groups:
    """Return the model that all examples give with these settings."""
    vocabularies = examples.known(chosen.population.settings.features)
    pairs = GroupFeatures.of(examples, vocabularies, of_raters=RATER in chosen.penalties)
    found = fit_groups(pairs, chosen.population.settings.penalty, chosen.penalties)
    return Groups(
        population=build_linear(
            examples, found.weights, vocabularies, purpose=purpose, temperature=chosen.temperature, card=card
        ),
        effects=found.effects,
        # ids of raters are kept only where something is known of them
        axes={axis: _names(labels) for axis, labels in examples.who.items() if axis != RATER or axis in found.effects},
    )


def fit_groups(pairs: GroupFeatures, penalty: float, penalties: Mapping[str, float]) -> GroupsFit:
    r"""Return the weights of all and the effects of groups.

    .. math:: \min \sum_p \ell_p\Bigl(\beta \cdot x_p + \sum_a u_{a g_a(p)} \cdot x_p + b_{r(p)} \cdot V^\top x_p\Bigr)
              + \frac{\lambda}{2} \Bigl( \lVert\beta\rVert^2 + \sum_a \kappa_a \sum_g \lVert u_{ag} \rVert^2
              + \kappa \sum_r \lVert b_r \rVert^2 \Bigr)

    This is a logistic regression in which each feature has a column more for each group, scaled so that one penalty
    does for all. Afterwards effects of an axis are counted from their mean over what was chosen, which goes to the
    weights of all.
    """
    known = {
        axis: GroupEffectTable(
            _names(labels), np.empty((0, 0), np.float32), pairs.directions if axis == RATER else None
        )
        for axis, labels in pairs.examples.who.items()
        if axis in penalties and _names(labels)
    }
    design, ends = pairs.rows, []
    for axis, effects in known.items():
        ends.append(design.width)
        design = design.beside(_columns(effects, pairs, axis, 1 / np.sqrt(penalties[axis])))
    weights, *blocks = np.split(logistic.fit_logistic(design, pairs.examples.choices, penalty), ends)
    found = {}
    for (axis, effects), block in zip(known.items(), blocks, strict=True):
        values = block.reshape(len(effects.names), -1) / np.sqrt(penalties[axis])
        mean = _shares(effects.names, pairs.examples, axis) @ values
        weights = weights + (mean if effects.directions is None else effects.directions @ mean)
        found[axis] = replace(effects, values=(values - mean).astype(np.float32))
    return GroupsFit(weights, found)


def _names(labels: Labels) -> tuple[str, ...]:
    return tuple(sorted({label for label in labels if label is not None}))


def _shares(groups: tuple[str, ...], examples: Examples, axis: str) -> Floats:
    """Return which share of what was chosen each group chose."""
    places = group_indices(groups, examples.who[axis])
    size = np.bincount(places[places >= 0], examples.choices.weight[places >= 0], minlength=len(groups))
    return np.asarray(size / size.sum())


def _columns(effects: GroupEffectTable, pairs: GroupFeatures, axis: str, scale: float) -> FeatureRows:
    """Return scaled features, or what lies along the directions, in the columns of the group of each pair."""
    rows = pairs.rows if effects.directions is None else FeatureRows.dense(effects.along(pairs.rows))
    return rows.moved(group_indices(effects.names, pairs.examples.who[axis]), len(effects.names), scale)


def _folds(
    examples: Examples, population: ChosenSettings, seed: int, units: Integers, *, of_raters: bool
) -> Iterator[tuple[GroupFeatures, tuple[Examples, FeatureRows], Integers]]:
    for some, other, here in inner_folds(examples, seed, units=units):
        vocabularies = some.known(population.settings.features)
        yield GroupFeatures.of(some, vocabularies, of_raters=of_raters), (other, other.differences(vocabularies)), here
