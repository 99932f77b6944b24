"""Jury model: predicted answers of each group of raters about a text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.jury.features import TextFeatures
from dissensus.preference.jury.texts import RatedText, hash_texts, texts_of_bot
from dissensus.preference.models.groups import find_group
from dissensus.preference.models.model import check_purpose
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.jury.model import TextModel
from dissensus.stats.jury.prediction import PredictedLocations
from dissensus.stats.result import BoolArray, FloatArray, Int64Array

_LEAST = 1e-6
"""Least probability of a score, whose log odds are finite."""


class People(NamedTuple):
    """Crossed groups of people with weights that sum to one."""

    cells: BoolArray  # Shape (M, G)
    weights: FloatArray  # Shape (M,)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JuryModel:
    """Trained jury model.

    Parameters
    ----------
    question
        Question that the raters answered.
    answers
        Its answers in order.
    unsafe
        Answers that call a text unsafe.
    axes
        Axes with the groups that the model knows.
    cells
        Crossed groups of the raters, shape (M, G): True for each group of all axes in turn.
    n_raters
        Number of raters of each crossed group, shape (M,).
    features
        Features of texts.
    model
        Effects of the features on the answers.
    least_known
        Share of a response that must be known from training; below it, or without a known word, the model abstains.
    trained
        Hashes of the texts in training, in order, shape (texts,).
    purpose
        Criterion of the scores.
    card
        Model card with data, settings and limits, as plain values for JSON.
    """

    question: str
    answers: tuple[str, ...]
    unsafe: tuple[str, ...]
    axes: dict[str, tuple[str, ...]]
    cells: BoolArray
    n_raters: Int64Array
    features: TextFeatures
    model: TextModel
    least_known: float
    trained: npt.NDArray[np.uint64]
    purpose: Purpose = "harmless"
    card: dict[str, Any] = field(default_factory=dict)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of all groups, such as ``rater_gender=Woman``, in the order of the columns of cells."""
        return tuple(f"{axis}={name}" for axis, names in self.axes.items() for name in names)

    @property
    def is_unsafe(self) -> BoolArray:
        """True for answers that call a text unsafe, shape (K,)."""
        return np.isin(self.answers, self.unsafe)

    def people(self, group: str | None = None) -> People:
        """Return the raters in training, or those of a group such as ``rater_gender=Woman``.

        Raises
        ------
        NotFound
            There was no such group in training.
        InvalidInput
            None of its raters answered.
        """
        is_member = np.ones(len(self.cells), np.bool_)
        if group is not None:
            axis, name = find_group(self.axes, group)
            is_member = self.cells[:, self.group_names.index(f"{axis}={name}")]
        weights = np.where(is_member, self.n_raters, 0).astype(np.float64)
        if not weights.sum() > 0:
            raise InvalidInput(f"No rater of {group} answered in training, so that the model cannot speak for them.")
        return People(self.cells, weights / weights.sum())

    def distributions(self, texts: Sequence[RatedText], group: str | None = None) -> FloatArray:
        """Return the expected share of each answer to each text, shape (texts, K)."""
        return self.average(self.features.project(texts), group)

    def average(self, features: FloatArray, group: str | None = None) -> FloatArray:
        """Return the expected share of each answer over people of a group, from features, shape (texts, K)."""
        return _average(self.model.locate(features), self.people(group))

    def average_choices(self, differences: FloatArray, group: str | None = None) -> FloatArray:
        """Return the probabilities that a person of a group prefers the second of two responses, and the first."""
        return _average(self.model.locate_choices(differences), self.people(group))

    def was_trained_on(self, texts: Sequence[RatedText]) -> BoolArray:
        """Return True for each text that was in training."""
        return np.isin(hash_texts(texts), self.trained)

    def abstains(self, texts: Sequence[RatedText]) -> BoolArray:
        """Return True for each text of whose response too little, or nothing, is known from training."""
        known_share = self.features.known_share(texts)
        return np.asarray((known_share < self.least_known) | (known_share == 0))

    def score_texts(self, texts: Sequence[RatedText], *, as_group: str | None = None) -> FloatArray:
        """Return the log odds that a person, or one of a group, does not call each response unsafe."""
        if not texts:
            self.people(as_group)
            return np.empty(0)
        unsafe = self.distributions(texts, as_group)[:, self.is_unsafe].sum(axis=1)
        unsafe = np.clip(unsafe, _LEAST, 1 - _LEAST)
        return np.asarray(np.log((1 - unsafe) / unsafe))

    def score(self, transcripts: Iterable[Conversation], *, as_group: str | None = None) -> list[list[float]]:
        """Return the score of each bot turn of each conversation, given the turns before it."""
        texts_by_talk = [list(texts_of_bot(talk)) for talk in transcripts]
        scores = self.score_texts([text for texts in texts_by_talk for text in texts], as_group=as_group).tolist()
        return [scores[begin:end] for begin, end in pairwise(np.cumsum([0, *map(len, texts_by_talk)]).tolist())]

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Raise an error if the purpose is not the model's, unless forced; see `model.check_purpose`."""
        check_purpose(self, purpose, force=force)


def _average(locations: PredictedLocations, people: People) -> FloatArray:
    """Return the expected share of each answer over people, shape (I, K)."""
    return np.asarray(np.einsum("imk,m->ik", locations.distributions(people.cells), people.weights))


LIMITS: Final = (
    "The model speaks of averages of groups: people within a group differ, and individuals must not be judged by them.",
    "It knows words of the response and of the turns before it, and not what they mean together.",
    "A prediction does not replace an answer: ask people where a decision concerns them.",
    "Its file holds the number of raters in each combination of groups, also of a single one: with several axes, "
    "publish it only where such counts may be known.",
)
"""Limits of a jury model, for its card."""


def batches(n: int, size: int) -> Iterator[slice]:
    """Yield slices of n elements, in order, each of at most so many."""
    return (slice(begin, begin + size) for begin in range(0, n, size))
