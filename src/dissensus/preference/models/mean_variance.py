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
from dissensus.preference.data.sparse import Floats
from dissensus.preference.models.linear import LENGTH_SCALE, Linear, split_turns
from dissensus.preference.models.model import check_purpose
from dissensus.schema.records.conversation import Conversation

NORMAL: Final = 1.702
"""The logistic curve of 1.702 z is nowhere farther than .0095 from the normal distribution at z."""

TYPICAL: Final = NORMAL / np.sqrt(2)
"""Spread of two answers whose difference of means is the log odds that one is chosen."""


class Opinion(NamedTuple):
    """Mean and standard deviation of what people think of each answer."""

    mean: Floats
    spread: Floats


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeanVariance:
    """A trained model of two heads on the same features.

    Parameters
    ----------
    mean
        The head of means: a linear model.
    spread_weights
        Of the features of each kind, in the logarithm of the spread.
    spread_length_weight
        Of scaled log length, less what is typical, likewise.
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
        """Weight of log length in a model that knows nothing else."""
        return self.mean.length_alone

    def opinion(self, texts: Sequence[str]) -> Opinion:
        """Return mean and spread of each answer, on the scale of scores."""
        return Opinion(self.mean.score_answers(texts), TYPICAL * np.exp(self._log_spread(texts)))

    def score_answers(self, texts: Sequence[str], *, quantile: float | None = None) -> Floats:
        """Return the mean of each answer; with a quantile, what this share of people thinks it is worth at most.

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
        """Return for each conversation the score of each turn of the bot; see `score_answers`."""
        return split_turns(transcripts, lambda texts: self.score_answers(texts, quantile=quantile))

    def margins(self, pairs: Sequence[Pair]) -> Floats:
        """Return the log odds that the chosen answer of each pair is chosen."""
        mean, spread = self.opinion(answers(pairs))
        return np.asarray(NORMAL * (mean[0::2] - mean[1::2]) / np.hypot(spread[0::2], spread[1::2]))

    def disagreement(self, pairs: Sequence[Pair]) -> Floats:
        """Return how far people differ in what they think of each pair: the spread of the difference of its answers."""
        spread = self.opinion(answers(pairs)).spread
        return np.hypot(spread[0::2], spread[1::2])

    def r_squared(self, texts: Sequence[str]) -> float:
        """Return the share of all variance that lies between answers; low where people differ over the same answer.

        This is the variance of the means over that and the mean of the squared spreads.
        """
        mean, spread = self.opinion(texts)
        between = float(np.var(mean))
        return between / (between + float(np.mean(spread**2)))

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Refuse another purpose than the model's, unless forced; see `model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _log_spread(self, texts: Sequence[str]) -> Floats:
        total = LENGTH_SCALE * self.spread_length_weight * (log_length(texts) - self.typical_length)
        for kind, rows in self.mean.features_of(texts).items():
            total += rows @ self.spread_weights[kind].astype(np.float64)
        return total


def check_quantile(quantile: float) -> None:
    """Refuse what is no share of people."""
    if not 0 < quantile < 1:
        raise InvalidInput(f"The quantile is {quantile:g}; give a share between 0 and 1, such as 0.05.")
