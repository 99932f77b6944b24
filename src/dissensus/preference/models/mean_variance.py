"""Mean-variance model: a mean and a spread of the utility of each answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference.data.features import Kind, log_length
from dissensus.preference.data.pairs import Pair, Purpose, answers
from dissensus.preference.models.linear import LENGTH_SCALE, Linear, split_turns
from dissensus.preference.models.model import check_purpose
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.result import FloatArray

NORMAL: Final = 1.702
"""Scale at which the logistic and the normal distribution function differ by at most 0.0095."""

TYPICAL: Final = NORMAL / np.sqrt(2)
"""Spread at which the difference of two means is the log odds of the choice."""


class Opinion(NamedTuple):
    """Mean and standard deviation over people of the utility of each answer."""

    mean: FloatArray
    spread: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeanVariance:
    """Trained model with two heads on the same features.

    Parameters
    ----------
    mean
        Linear model of the mean.
    spread_weights
        Weights of the features of each kind in the log spread.
    spread_length_weight
        Weight of scaled log length, centred on the typical one, in the log spread.
    typical_length
        Mean log length in training.

    Examples
    --------
    >>> from dissensus.preference.fit.training import TrainingPlan, train
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [
    ...     Pair((Turn("human", f"How do I do {thing}?"),), f"Please do not do {thing}.", f"Sure, {thing} is fun.")
    ...     for thing in "abcdefghijklmnopqrstuvwxyz"
    ... ]
    >>> model = train(pairs, purpose="harmless", plan=TrainingPlan(kind="mean-variance"))
    >>> talk = Conversation.from_turns([("human", "And now?"), ("bot", "Sure!"), ("human", "No."), ("bot", "Please.")])
    >>> (sure, please), = model.score([talk])
    >>> (sure_at_worst, please_at_worst), = model.score([talk], quantile=0.05)
    >>> bool(sure < please), bool(sure_at_worst < sure)
    (True, True)
    """

    mean: Linear
    spread_weights: dict[Kind, npt.NDArray[np.float32]]
    spread_length_weight: float
    typical_length: float

    @property
    def purpose(self) -> Purpose:
        """Purpose of the choices: helpful or harmless."""
        return self.mean.purpose

    @property
    def card(self) -> dict[str, Any]:
        """Model card: data, settings, accuracy and limits."""
        return self.mean.card

    @property
    def length_alone(self) -> float:
        """Weight of log length in the model by length alone."""
        return self.mean.length_alone

    def opinion(self, texts: Sequence[str]) -> Opinion:
        """Return mean and spread of the utility of each answer, on the scale of scores."""
        return Opinion(self.mean.score_answers(texts), TYPICAL * np.exp(self._log_spread(texts)))

    def score_answers(self, texts: Sequence[str], *, quantile: float | None = None) -> FloatArray:
        """Return the mean utility of each answer, or with `quantile` this quantile over people.

        Raises
        ------
        InvalidInput
            The quantile is not between 0 and 1.
        """
        if quantile is not None:
            check_quantile(quantile)
        mean, spread = self.opinion(texts)
        return mean if quantile is None else mean + NormalDist().inv_cdf(quantile) * spread

    def score(self, transcripts: Iterable[Conversation], *, quantile: float | None = None) -> list[list[float]]:
        """Return the score of each bot turn of each conversation; see `score_answers`."""
        return split_turns(transcripts, lambda texts: self.score_answers(texts, quantile=quantile))

    def margins(self, pairs: Sequence[Pair]) -> FloatArray:
        """Return the predicted log odds of each choice."""
        mean, spread = self.opinion(answers(pairs))
        return np.asarray(NORMAL * (mean[0::2] - mean[1::2]) / np.hypot(spread[0::2], spread[1::2]))

    def disagreement(self, pairs: Sequence[Pair]) -> FloatArray:
        """Return the predicted disagreement on each pair: the spread of the difference of its answers."""
        spread = self.opinion(answers(pairs)).spread
        return np.hypot(spread[0::2], spread[1::2])

    def r_squared(self, texts: Sequence[str]) -> float:
        """Return the share of variance that lies between answers; low if people differ over the same answer.

        This is the variance of the means, divided by the sum of that and the mean squared spread.
        """
        mean, spread = self.opinion(texts)
        between = float(np.var(mean))
        return between / (between + float(np.mean(spread**2)))

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Raise an error if the purpose is not the model's, unless forced; see `model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _log_spread(self, texts: Sequence[str]) -> FloatArray:
        total = LENGTH_SCALE * self.spread_length_weight * (log_length(texts) - self.typical_length)
        for kind, rows in self.mean.features_of(texts).items():
            total += rows @ self.spread_weights[kind].astype(np.float64)
        return total


def check_quantile(quantile: float) -> None:
    """Raise an error unless 0 < quantile < 1."""
    if not 0 < quantile < 1:
        raise InvalidInput(f"The quantile is {quantile:g}; give a share between 0 and 1, such as 0.05.")
