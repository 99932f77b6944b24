"""Groups model: weights of the population, and effects of groups and raters on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import NotFound
from dissensus.preference.data.examples import RATER, Labels, pair_labels
from dissensus.preference.data.features import log_length
from dissensus.preference.data.pairs import Pair, Purpose, answers
from dissensus.preference.models.linear import Linear, split_turns, stack_features
from dissensus.preference.models.model import check_purpose
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.sparse import SparseRows


@dataclass(frozen=True, slots=True, eq=False)
class GroupEffectTable:
    """Effects of the groups of one axis on the weights of features, before the temperature."""

    names: tuple[str, ...]  # Group names, in order
    values: npt.NDArray[np.float32]  # Shape (groups, features), length last, or (groups, directions)
    directions: npt.NDArray[np.float32] | None = None  # Subspace of the effects, shape (features, directions)

    def project(self, rows: SparseRows) -> FloatArray:
        """Return the features projected on the directions, shape (rows, directions)."""
        if self.directions is None:
            raise ValueError("there are no directions")
        return rows @ self.directions.astype(np.float64)

    def all_effects(self, rows: SparseRows) -> FloatArray:
        """Return the effect of each group on the score of each row, shape (rows, groups)."""
        values = self.values.T.astype(np.float64)
        return (rows if self.directions is None else self.project(rows)) @ values

    def group_effects(self, rows: SparseRows, name: str) -> FloatArray:
        """Return the effect of a group on the score of each row."""
        values = self.values[self.names.index(name)].astype(np.float64)
        return np.asarray((rows if self.directions is None else self.project(rows)) @ values)

    def departures(self, rows: SparseRows, labels: Labels) -> FloatArray:
        """Return the effect of each row's group on its score; 0 if the group is unknown."""
        indices = group_indices(self.names, labels)
        if self.directions is None:
            effects = self.all_effects(rows)[np.arange(len(rows)), indices]
        else:
            effects = np.einsum("pk,pk->p", self.project(rows), self.values[indices].astype(np.float64))
        return np.where(indices >= 0, effects, 0.0)


class GroupSpread(NamedTuple):
    """Scores of answers by the groups of an axis.

    Parameters
    ----------
    groups
        Group names.
    scores
        Score of each answer by each group, shape (answers, groups).
    """

    groups: tuple[str, ...]
    scores: FloatArray

    @property
    def sd(self) -> FloatArray:
        """Standard deviation of each answer's score over groups, unweighted."""
        return np.asarray(self.scores.std(axis=1))

    @property
    def least(self) -> FloatArray:
        """Lowest score of each answer over groups."""
        return np.asarray(self.scores.min(axis=1))

    @property
    def greatest(self) -> FloatArray:
        """Highest score of each answer over groups."""
        return np.asarray(self.scores.max(axis=1))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Groups:
    """Trained groups model.

    Parameters
    ----------
    population
        Linear model of the average over all raters.
    effects
        Group effects by axis, such as ``rater_gender``, and rater effects as axis ``rater_id``. Axes without
        significant effects are absent.
    axes
        Axes known in training, with their groups; ``rater_id`` only if raters have effects.

    Examples
    --------
    >>> from dissensus.preference.fit.training import TrainingPlan, train
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = []
    >>> for number in range(200):
    ...     tea, coffee = f"Drink tea, all {number} of you.", f"Drink coffee, all {number} of you."
    ...     taste, (one, other) = ("tea", (tea, coffee)) if number % 2 else ("coffee", (coffee, tea))
    ...     pairs.append(Pair((Turn("human", f"And {number}?"),), one, other, groups=(("rater_taste", taste),)))
    >>> model = train(pairs, purpose="helpful", plan=TrainingPlan(kind="groups"))
    >>> talk = Conversation.from_turns([("human", "Well?"), ("bot", "Drink tea."), ("bot", "Drink coffee.")])
    >>> (tea, coffee), = model.score([talk], as_group="rater_taste=tea")
    >>> bool(tea > coffee)
    True
    >>> model.spread(["Drink tea."], "rater_taste").groups
    ('coffee', 'tea')
    """

    population: Linear
    effects: dict[str, GroupEffectTable]
    axes: dict[str, tuple[str, ...]]

    @property
    def purpose(self) -> Purpose:
        """Purpose of the choices: helpful or harmless."""
        return self.population.purpose

    @property
    def card(self) -> dict[str, Any]:
        """Model card: data, settings, accuracy and limits."""
        return self.population.card

    @property
    def length_alone(self) -> float:
        """Weight of log length in the model by length alone."""
        return self.population.length_alone

    def score_answers(self, texts: Sequence[str], *, as_group: str | None = None) -> FloatArray:
        """Return the score of each answer, for the population or for a group such as ``rater_gender=Woman``.

        Raises
        ------
        NotFound
            There was no such group in training.
        """
        scores = self.population.score_answers(texts)
        if as_group is None:
            return scores
        axis, name = find_group(self.axes, as_group)
        effects = self.effects.get(axis)
        if effects is None:
            return scores
        return scores + effects.group_effects(self._rows(texts), name) / self.population.temperature

    def score(self, transcripts: Iterable[Conversation], *, as_group: str | None = None) -> list[list[float]]:
        """Return the score of each bot turn of each conversation; see `score_answers`."""
        return split_turns(transcripts, lambda texts: self.score_answers(texts, as_group=as_group))

    def spread(self, texts: Sequence[str], axis: str) -> GroupSpread:
        """Return the score of each answer by each group of an axis.

        Raises
        ------
        NotFound
            There was no such axis in training.
        """
        groups = groups_of_axis(self.axes, axis)
        scores = np.repeat(self.population.score_answers(texts)[:, None], len(groups), axis=1)
        effects = self.effects.get(axis)
        if effects is not None:
            scores += effects.all_effects(self._rows(texts)) / self.population.temperature
        return GroupSpread(groups, scores)

    def margins(self, pairs: Sequence[Pair], *, by_rater: bool = True) -> FloatArray:
        """Return the margin of each pair, with the effects of its rater and of the rater's groups.

        Unknown raters and groups have no effects. With ``by_rater=False``, only groups have.
        """
        rows = self._rows(answers(pairs)).differences()
        total = self.population.margins(pairs)
        for axis, labels in pair_labels(pairs).items():
            if axis in self.effects and (by_rater or axis != RATER):
                total += self.effects[axis].departures(rows, labels) / self.population.temperature
        return total

    def disagreement(self, pairs: Sequence[Pair], axis: str) -> FloatArray:
        """Return the predicted disagreement between the groups of an axis on each pair.

        The smaller of two log odds: of the group most in favour of the one answer, and of the group most in favour of
        the other. Above 0 if two groups prefer different answers, below 0 if all groups prefer the same.
        """
        scores = self.spread(answers(pairs), axis).scores
        margins = scores[0::2] - scores[1::2]
        return np.asarray(np.minimum(margins.max(axis=1), -margins.min(axis=1)))

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Raise an error if the purpose is not the model's, unless forced; see `model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _rows(self, texts: Sequence[str]) -> SparseRows:
        return stack_features(list(self.population.features_of(texts).values()), log_length(texts))


def find_group(axes: Mapping[str, tuple[str, ...]], text: str) -> tuple[str, str]:
    """Return axis and name of a group that is written as ``rater_gender=Woman``.

    Examples
    --------
    >>> find_group({"rater_gender": ("Man", "Woman")}, "rater_gender=Woman")
    ('rater_gender', 'Woman')
    """
    axis, sign, name = text.partition("=")
    if not sign:
        example = next((f"{axis}={names[0]}" for axis, names in axes.items() if names), "rater_gender=Woman")
        raise NotFound(f"{format_value(text)} is not a group. Write axis=group, such as {example}.")
    groups = groups_of_axis(axes, axis)
    if name not in groups:
        raise NotFound(
            f"There was no group {format_value(name)} of {axis} in training.{suggest(name, groups)} "
            f"The groups are {format_list(groups)}."
        )
    return axis, name


def groups_of_axis(axes: Mapping[str, tuple[str, ...]], axis: str) -> tuple[str, ...]:
    """Return the groups of an axis."""
    if axis not in axes:
        known_axes = f"The axes are {format_list(list(axes))}." if axes else "The model has no axes."
        near = suggest(axis, list(axes))
        raise NotFound(f"There was no axis {format_value(axis)} in training.{near} {known_axes}")
    return axes[axis]


def group_indices(names: Sequence[str], labels: Labels) -> Int64Array:
    """Return the index of each label among the names; -1 if it is not among them."""
    index_by_name = {name: index for index, name in enumerate(names)}
    return np.array([*map(index_by_name.get, labels, repeat(-1))], dtype=np.int64)
