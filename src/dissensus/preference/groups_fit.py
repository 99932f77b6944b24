"""Fitting of what all choose, and of how groups and raters depart from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference import logistic
from dissensus.preference.directions import directions
from dissensus.preference.effects import Effects, places_of
from dissensus.preference.examples import RATER, Examples, Labels
from dissensus.preference.features import Kind, Vocabulary
from dissensus.preference.fitting import FEATURES, Chosen, Progress, choose, inner, linear_of, temperature_of
from dissensus.preference.groups import Groups
from dissensus.preference.pairs import Purpose
from dissensus.preference.sparse import Floats, Integers, Rows
from dissensus.stats.paired import paired_difference

DEPARTURES: Final = (16.0, 4.0, 1.0, 0.25)
"""Penalties on the effects of groups or raters, as multiples of that on the weights of all."""

LEVEL: Final = 0.90
"""Of the interval that has to lie on the side of an effect before there is one: 5 % beyond each end."""


class ChosenGroups(NamedTuple):
    """Settings of what all choose; the penalty of each axis that has effects; the temperature that fits all."""

    population: Chosen
    penalties: dict[str, float]
    temperature: float

    def told(self) -> dict[str, Any]:
        """Return it as plain values for a card."""
        return self.population.told() | {"temperature": self.temperature, "effect_penalties": self.penalties}


class Featured(NamedTuple):
    """Pairs in all features, and the few directions in which they vary most."""

    examples: Examples
    rows: Rows
    directions: npt.NDArray[np.float32]

    @classmethod
    def of(cls, examples: Examples, vocabularies: dict[Kind, Vocabulary]) -> "Featured":
        """Return pairs with their features."""
        rows = examples.differences(vocabularies)
        found = directions(rows) if RATER in examples.who else np.empty((rows.width, 0), np.float32)
        return cls(examples, rows, found)


class Fit(NamedTuple):
    """Weights of all features, and the effects of the groups of each axis."""

    weights: Floats
    effects: dict[str, Effects]

    def odds(self, examples: Examples, rows: Rows) -> Floats:
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

    One axis after the other, raters last: it has effects if with them people are foretold better than without on
    dialogues held out, by more than dialogues differ.

    Raises
    ------
    InvalidInput
        Nothing is known of who chose.
    """
    if not examples.who:
        raise InvalidInput(
            "Nothing is known of who chose, so groups cannot differ. Give pairs with rater_id, group or rater_… "
            "columns, or preferences with --raters FILE."
        )
    population = choose(examples, features=features, seed=seed, progress=progress)
    folds = list(_folds(examples, population, seed))

    def foretold(penalties: Mapping[str, float]) -> Floats:
        odds = np.empty(len(examples.dialogue))
        for known, (unknown, rows), here in folds:
            odds[here] = fit_groups(known, population.settings.penalty, penalties).odds(unknown, rows)
        return odds

    penalties: dict[str, float] = {}
    best = foretold({})
    for axis in (axis for axis, labels in examples.who.items() if len(_names(labels)) > 1):
        tried = {one: foretold({**penalties, axis: one}) for one in DEPARTURES}
        penalty = min(DEPARTURES, key=lambda one: float(_loss(examples, tried[one]).sum()))
        if _better(examples, tried[penalty], best):
            penalties[axis], best = penalty, tried[penalty]
    return ChosenGroups(population, penalties, temperature_of(best, examples.choices))


def fitted_groups(
    examples: Examples, chosen: ChosenGroups, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> Groups:
    """Return the model that all examples give with these settings."""
    vocabularies = examples.known(chosen.population.settings.features)
    pairs = Featured.of(examples, vocabularies)
    found = fit_groups(pairs, chosen.population.settings.penalty, chosen.penalties)
    return Groups(
        population=linear_of(
            examples, found.weights, vocabularies, purpose=purpose, temperature=chosen.temperature, card=card
        ),
        effects=found.effects,
        axes={axis: _names(labels) for axis, labels in examples.who.items()},
    )


def fit_groups(pairs: Featured, penalty: float, penalties: Mapping[str, float]) -> Fit:
    r"""Return the weights of all and the effects of groups.

    .. math:: \min \sum_p \ell_p\Bigl(\beta \cdot x_p + \sum_a u_{a g_a(p)} \cdot x_p + b_{r(p)} \cdot V^\top x_p\Bigr)
              + \frac{\lambda}{2} \Bigl( \lVert\beta\rVert^2 + \sum_a \kappa_a \sum_g \lVert u_{ag} \rVert^2
              + \kappa \sum_r \lVert b_r \rVert^2 \Bigr)

    This is a logistic regression in which each feature has a column more for each group, scaled so that one penalty
    does for all. Afterwards effects of an axis are counted from their mean over what was chosen, which goes to the
    weights of all.
    """
    known = {
        axis: Effects(_names(labels), np.empty((0, 0), np.float32), pairs.directions if axis == RATER else None)
        for axis, labels in pairs.examples.who.items()
        if axis in penalties
    }
    design, ends = pairs.rows, []
    for axis, effects in known.items():
        ends.append(design.width)
        design = design.beside(_columns(effects, pairs, axis, 1 / np.sqrt(penalties[axis])))
    weights, *blocks = np.split(logistic.fit(design, pairs.examples.choices, penalty), ends)
    found = {}
    for (axis, effects), block in zip(known.items(), blocks, strict=True):
        values = block.reshape(len(effects.names), -1) / np.sqrt(penalties[axis])
        mean = _shares(effects.names, pairs.examples, axis) @ values
        weights = weights + (mean if effects.directions is None else effects.directions @ mean)
        found[axis] = replace(effects, values=(values - mean).astype(np.float32))
    return Fit(weights, found)


def _names(labels: Labels) -> tuple[str, ...]:
    return tuple(sorted({label for label in labels if label is not None}))


def _shares(groups: tuple[str, ...], examples: Examples, axis: str) -> Floats:
    """Return which share of what was chosen each group chose."""
    places = places_of(groups, examples.who[axis])
    size = np.bincount(places[places >= 0], examples.choices.weight[places >= 0], minlength=len(groups))
    return np.asarray(size / size.sum())


def _columns(effects: Effects, pairs: Featured, axis: str, scale: float) -> Rows:
    """Return scaled features, or what lies along the directions, in the columns of the group of each pair."""
    rows = pairs.rows if effects.directions is None else Rows.dense(effects.along(pairs.rows))
    return rows.moved(places_of(effects.names, pairs.examples.who[axis]), len(effects.names), scale)


def _folds(
    examples: Examples, population: Chosen, seed: int
) -> Iterator[tuple[Featured, tuple[Examples, Rows], Integers]]:
    for some, other, here in inner(examples, seed):
        vocabularies = some.known(population.settings.features)
        yield Featured.of(some, vocabularies), (other, other.differences(vocabularies)), here


def _loss(examples: Examples, odds: Floats) -> Floats:
    """Return what log odds cost on each pair, after the temperature that fits them."""
    return examples.choices.plain.loss(odds / temperature_of(odds, examples.choices))


def _better(examples: Examples, one: Floats, other: Floats) -> bool:
    gain = paired_difference(_loss(examples, one), _loss(examples, other), examples.dialogue, level=LEVEL)
    return gain.ci_high < 0
