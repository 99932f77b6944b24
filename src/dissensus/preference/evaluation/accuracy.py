"""Accuracy and calibration of a model on held-out pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference.data.features import log_length
from dissensus.preference.data.pairs import Pair, answers, dialogues, unanimity
from dissensus.preference.data.sparse import Floats, Integers
from dissensus.preference.evaluation.soft_labels import SoftLabelEvaluation, evaluate_soft_labels
from dissensus.preference.fit.logistic import probability
from dissensus.stats.cluster_robust import ClusteredEstimate, clustered_share

BINS: Final = 10
"""Bins of the confidence from one half to 1."""

MOST_TURNS: Final = 5
"""Longer dialogues are shown together."""

LENGTHS: Final = ("less than half as long", "shorter", "as long", "longer", "more than twice as long")
"""What the chosen answer is beside the rejected one."""

HUMAN_AGREEMENT: Final = 0.63
"""How often researchers and crowd workers preferred the same answer, on average (Bai et al. 2022, arXiv 2204.05862):
something to read accuracy by, of other people and pairs, and no bound on it."""

Labels = npt.NDArray[np.object_]


class Bin(NamedTuple):
    """Pairs of which a model is about as sure: how sure on average, and how often it is right."""

    low: float
    high: float
    confidence: float
    accuracy: ClusteredEstimate


class Slice(NamedTuple):
    """Some of the pairs: by what they were told apart, and how often the model and length alone are right on them."""

    by: str
    value: str
    accuracy: ClusteredEstimate
    length_alone: ClusteredEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Accuracy, calibration and slices of a model on pairs.

    Parameters
    ----------
    accuracy, length_alone
        Share of pairs whose chosen answer scores higher, by the model and by the length of answers alone; a tie counts
        as half. Intervals are for other dialogues.
    log_loss
        Mean of -ln P(chosen); ln 2 = 0.693 is what knowing nothing costs.
    length_log_loss
        The same of length alone.
    ece
        Expected calibration error: mean distance of confidence and accuracy over the bins, by their size.
    bins
        The reliability diagram.
    slices
        By number of human turns, quartile of confidence, length, strength, tranche, groups of the rater, and whether
        all raters of a pair chose the same answer, where these are known.
    soft_labels
        How near the model comes to the shares of raters; None where no comparison has two.
    """

    accuracy: ClusteredEstimate
    length_alone: ClusteredEstimate
    log_loss: float
    length_log_loss: float
    ece: float
    bins: tuple[Bin, ...]
    slices: tuple[Slice, ...]
    soft_labels: SoftLabelEvaluation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON, without shares of raters where there are none."""
        found = {**asdict(self), "human_agreement": HUMAN_AGREEMENT}
        if self.soft_labels is None:
            del found["soft_labels"]
        found["bins"] = [{**one._asdict(), "accuracy": asdict(one.accuracy)} for one in self.bins]
        found["slices"] = [
            {**one._asdict(), "accuracy": asdict(one.accuracy), "length_alone": asdict(one.length_alone)}
            for one in self.slices
        ]
        return found


class _Cases(NamedTuple):
    """Attributes of each evaluated pair."""

    right: Floats
    length_right: Floats
    dialogue: Integers
    weight: Floats
    level: float

    def share(self, some: npt.NDArray[np.bool_], *, length: bool = False) -> ClusteredEstimate:
        hits = self.length_right if length else self.right
        return clustered_share(hits[some], self.dialogue[some], weights=self.weight[some], level=self.level)


def evaluate(
    pairs: Sequence[Pair], margins: npt.ArrayLike, length: npt.ArrayLike, *, level: float = 0.95
) -> Evaluation:
    """Compare scores with choices.

    Parameters
    ----------
    pairs
        One or more.
    margins
        Score of the chosen less that of the rejected answer, log odds.
    length
        The same by a model that knows the length of the answers alone.
    level
        Confidence level of the intervals.

    Returns
    -------
    Evaluation
        Pairs count by their weight.

    Raises
    ------
    InvalidInput
        There is no pair, or a score is not a number.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", str(number)),), "yes", "no") for number in range(4)]
    >>> found = evaluate(pairs, [2.0, 1.0, -1.0, 0.0], [0.1, 0.1, 0.1, 0.1])
    >>> found.accuracy.estimate, found.length_alone.estimate, round(found.log_loss, 3)
    (0.625, 1.0, 0.612)
    """
    margin, of_length = check_probabilities(pairs, margins), np.asarray(length, dtype=np.float64)
    weight = np.array([pair.weight for pair in pairs])
    cases = _Cases(score_hits(margin), score_hits(of_length), dialogues(pairs), weight, level)
    every, confidence = np.ones(len(pairs), dtype=bool), probability(np.abs(margin))
    gaps = np.bincount(_in_bin(confidence), weights=weight * (confidence - cases.right))
    return Evaluation(
        accuracy=cases.share(every),
        length_alone=cases.share(every, length=True),
        log_loss=float(np.average(np.logaddexp(0, -margin), weights=weight)),
        length_log_loss=float(np.average(np.logaddexp(0, -of_length), weights=weight)),
        ece=float(np.abs(gaps).sum() / weight.sum()),
        bins=tuple(_bins(cases, confidence)),
        slices=tuple(
            Slice(by, value, cases.share(labels == value), cases.share(labels == value, length=True))
            for by, labels in _labels(pairs, confidence)
            for value in _values(labels)
        ),
        soft_labels=evaluate_soft_labels(pairs, margin, of_length, level=level),
    )


def check_probabilities(pairs: Sequence[Pair], margins: npt.ArrayLike) -> Floats:
    """Return margins as numbers."""
    margin = np.asarray(margins, dtype=np.float64)
    if not len(pairs):
        raise InvalidInput("There is no pair, so nothing can be compared. Give one or more.")
    if margin.shape != (len(pairs),):
        raise InvalidInput(f"There are {margin.size:,} scores for {len(pairs):,} pairs. Give one for each.")
    strange = np.flatnonzero(~np.isfinite(margin))
    if len(strange):
        raise InvalidInput(f"The scores of pair {strange[0] + 1:,} differ by {margin[strange[0]]}, which is no number.")
    return margin


def score_hits(margin: Floats) -> Floats:
    """Return 1 where the chosen answer scores higher, 0 where it scores lower, and one half for a tie."""
    return np.asarray((np.sign(margin) + 1) / 2)


def _in_bin(confidence: Floats) -> Integers:
    return np.minimum((2 * confidence - 1) * BINS, BINS - 1).astype(np.int64)


def _bins(cases: _Cases, confidence: Floats) -> Iterator[Bin]:
    """Yield the bins that hold a pair."""
    which = _in_bin(confidence)
    for k in np.unique(which).tolist():
        some = which == k
        mean = float(np.average(confidence[some], weights=cases.weight[some]))
        yield Bin(0.5 + k / BINS / 2, 0.5 + (k + 1) / BINS / 2, mean, cases.share(some))


def _labels(pairs: Sequence[Pair], confidence: Floats) -> Iterator[tuple[str, Labels]]:
    """Yield what pairs are told apart by, with the value of each; None where it is not known."""
    turns = [pair.n_turns for pair in pairs]
    yield "turns", _objects([str(n) if n < MOST_TURNS else f"{MOST_TURNS} or more" for n in turns])
    yield "confidence", _objects([f"quartile {quarter + 1}" for quarter in _quarters(confidence)])
    lengths = log_length(answers(pairs))
    yield "chosen is", _objects([_compared(ratio) for ratio in lengths[0::2] - lengths[1::2]])
    yield "strength", _objects([None if pair.strength is None else f"{pair.strength:g}" for pair in pairs])
    yield "tranche", _objects([pair.tranche for pair in pairs])
    cells = [pair.cells for pair in pairs]
    for axis in sorted({axis for one in cells for axis in one}):
        yield axis, _objects([one.get(axis) for one in cells])
    same = {True: "unanimous", False: "split", None: None}
    yield "raters were", _objects([same[unanimous] for unanimous in unanimity(pairs)])


def _values(labels: Labels) -> list[str]:
    """Return what pairs are told apart by, in order; nothing where all pairs have the same."""
    known = {value for value in labels if value is not None}
    return [] if len(set(labels)) < 2 else sorted(known, key=_by_number)


def _by_number(value: str) -> tuple[float, str]:
    """Put strengths in the order of their numbers, lengths from short to long, and all else in that of the alphabet."""
    if value in LENGTHS:
        return LENGTHS.index(value), value
    try:
        return float(value), value
    except ValueError:
        return np.inf, value


def _objects(values: Sequence[str | None]) -> Labels:
    return np.array(values, dtype=np.object_)


def _quarters(values: Floats) -> Integers:
    return np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values).astype(np.int64)


def _compared(ratio: float) -> str:
    return LENGTHS[2 + int(np.sign(ratio)) * (1 + int(abs(ratio) > np.log(2)))]
