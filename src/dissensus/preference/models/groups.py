"""Groups model: population weights with group and rater departures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dissensus.errors import NotFound
from dissensus.preference.data.examples import RATER, pair_labels
from dissensus.preference.data.features import log_length
from dissensus.preference.data.pairs import Pair, Purpose, answers
from dissensus.preference.data.sparse import FeatureRows, Floats
from dissensus.preference.models.group_effects import GroupEffectTable
from dissensus.preference.models.linear import Linear, split_turns, stack_features
from dissensus.preference.models.model import check_purpose
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.records.conversation import Conversation


class GroupSpread(NamedTuple):
    """Scores of answers by the groups of an axis.

    Parameters
    ----------
    groups
        Their names.
    scores
        Of each answer by each group, shape (answers, groups).
    """

    groups: tuple[str, ...]
    scores: Floats

    @property
    def sd(self) -> Floats:
        """Standard deviation over groups of the score of each answer, each group counting the same."""
        return np.asarray(self.scores.std(axis=1))

    @property
    def least(self) -> Floats:
        """Score of each answer by the group that likes it least."""
        return np.asarray(self.scores.min(axis=1))

    @property
    def greatest(self) -> Floats:
        """Score of each answer by the group that likes it most."""
        return np.asarray(self.scores.max(axis=1))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Groups:
    """A trained model.

    Parameters
    ----------
    population
        What all who chose would say on average: a linear model.
    effects
        By axis, such as ``rater_gender``; and by ``rater_id``, of which each rater is a group of their own. Axes on
        which no difference was found are not there.
    axes
        All that were known in training, and their groups; raters only where they have effects.

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
        """Weight of log length in a model that knows nothing else."""
        return self.population.length_alone

    def score_answers(self, texts: Sequence[str], *, as_group: str | None = None) -> Floats:
        """Return the score of each answer, by all or by a group such as ``rater_gender=Woman``.

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
        return scores + effects.of_group(self._rows(texts), name) / self.population.temperature

    def score(self, transcripts: Iterable[Conversation], *, as_group: str | None = None) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot; see `score_answers`."""
        return split_turns(transcripts, lambda texts: self.score_answers(texts, as_group=as_group))

    def spread(self, texts: Sequence[str], axis: str) -> GroupSpread:
        """Return what each group of an axis thinks of each answer.

        Raises
        ------
        NotFound
            There was no such axis in training.
        """
        groups = groups_of_axis(self.axes, axis)
        scores = np.repeat(self.population.score_answers(texts)[:, None], len(groups), axis=1)
        effects = self.effects.get(axis)
        if effects is not None:
            scores += effects.of_each(self._rows(texts)) / self.population.temperature
        return GroupSpread(groups, scores)

    def margins(self, pairs: Sequence[Pair], *, by_rater: bool = True) -> Floats:
        """Return the score of the chosen less that of the rejected answer, by the groups and the rater of each pair.

        Who was not there in training is one of all: their groups count as far as these are known. Without `by_rater`
        groups count alone.
        """
        rows = self._rows(answers(pairs)).differences()
        total = self.population.margins(pairs)
        for axis, labels in pair_labels(pairs).items():
            if axis in self.effects and (by_rater or axis != RATER):
                total += self.effects[axis].departures(rows, labels) / self.population.temperature
        return total

    def disagreement(self, pairs: Sequence[Pair], axis: str) -> Floats:
        """Return how surely the groups of an axis choose different answers of each pair.

        Of the group most for the one answer and that most for the other this is the log odds of the less sure one. It
        is above 0 where two groups choose differently, and below by how sure the least sure one is where none does.
        """
        scores = self.spread(answers(pairs), axis).scores
        margins = scores[0::2] - scores[1::2]
        return np.asarray(np.minimum(margins.max(axis=1), -margins.min(axis=1)))

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Refuse another purpose than the model's, unless forced; see `model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _rows(self, texts: Sequence[str]) -> FeatureRows:
        return stack_features(list(self.population.features_of(texts).values()), log_length(texts))


def find_group(axes: Mapping[str, tuple[str, ...]], told: str) -> tuple[str, str]:
    """Return axis and name of a group that is told like ``rater_gender=Woman``.

    Examples
    --------
    >>> find_group({"rater_gender": ("Man", "Woman")}, "rater_gender=Woman")
    ('rater_gender', 'Woman')
    """
    axis, sign, name = told.partition("=")
    if not sign:
        example = next((f"{axis}={names[0]}" for axis, names in axes.items() if names), "rater_gender=Woman")
        raise NotFound(f"{format_value(told)} is no group. Write axis=group, such as {example}.")
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
        known = f"The axes are {format_list(list(axes))}." if axes else "There was none at all."
        near = suggest(axis, list(axes))
        raise NotFound(f"There was no axis {format_value(axis)} in training.{near} {known}")
    return axes[axis]
