"""Accuracy and calibration of a model on held-out pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import exp, floor, lgamma, log, log1p
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import Labels
from dissensus.preference.data.pairs import Pair, pair_clusters, unanimity
from dissensus.preference.evaluation.soft_labels import SoftLabelEvaluation, evaluate_soft_labels
from dissensus.preference.fit.logistic import probability
from dissensus.stats.cluster_robust import ClusteredEstimate, clustered_share
from dissensus.stats.result import BoolArray, FloatArray, Int64Array

BINS: Final = 10
"""Bins of the confidence from one half to 1."""

MOST_TURNS: Final = 5
"""Human turns from which dialogues form one slice."""

LENGTHS: Final = ("less than half as long", "shorter", "as long", "longer", "more than twice as long")
"""Length classes of the chosen answer relative to the rejected one."""

HUMAN_AGREEMENT: Final = 0.63
"""Mean agreement of researchers and crowd workers (Bai et al. 2022, arXiv 2204.05862).

A reference value for other people and pairs, not a bound on accuracy."""


class Bin(NamedTuple):
    """Bin of the reliability diagram: pairs of similar confidence, their mean confidence and accuracy."""

    low: float
    high: float
    confidence: float
    accuracy: ClusteredEstimate


class Slice(NamedTuple):
    """Slice of the pairs by an attribute, with the accuracy of the model and of length alone."""

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
        as half. Intervals refer to other dialogues, and to other raters if raters are known.
    log_loss
        Mean of -ln P(chosen); ln 2 = 0.693 for an uninformative model.
    length_log_loss
        Log-loss of length alone.
    ece
        Expected calibration error: mean absolute difference of confidence and accuracy over the bins, weighted by size.
    calibrated_ece
        Its expectation for a calibrated model with the same confidences on independent pairs: chance alone makes it
        positive.
    bins
        Reliability diagram.
    slices
        Slices by number of human turns, quartile of confidence, length, strength, tranche, groups of the rater, and
        unanimity of the raters, as far as known.
    soft_labels
        Distance from the shares of raters; None if no comparison has several raters.
    """

    accuracy: ClusteredEstimate
    length_alone: ClusteredEstimate
    log_loss: float
    length_log_loss: float
    ece: float
    calibrated_ece: float
    bins: tuple[Bin, ...]
    slices: tuple[Slice, ...]
    soft_labels: SoftLabelEvaluation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain values for JSON; `soft_labels` is omitted if None."""
        values = {**asdict(self), "human_agreement": HUMAN_AGREEMENT}
        if self.soft_labels is None:
            del values["soft_labels"]
        values["bins"] = [{**part._asdict(), "accuracy": asdict(part.accuracy)} for part in self.bins]
        values["slices"] = [
            {**part._asdict(), "accuracy": asdict(part.accuracy), "length_alone": asdict(part.length_alone)}
            for part in self.slices
        ]
        return values


class _Cases(NamedTuple):
    """Attributes of each evaluated pair."""

    right: FloatArray
    length_right: FloatArray
    clusters: Int64Array
    weight: FloatArray
    confidence: float

    def share(self, mask: BoolArray, *, length: bool = False) -> ClusteredEstimate:
        hits = self.length_right if length else self.right
        return clustered_share(
            hits[mask], self.clusters[:, mask], weights=self.weight[mask], confidence=self.confidence
        )


def evaluate(
    pairs: Sequence[Pair], margins: npt.ArrayLike, length: npt.ArrayLike, *, confidence: float = 0.95
) -> Evaluation:
    """Evaluate scores against choices.

    Parameters
    ----------
    pairs
        One or more pairs.
    margins
        Score of the chosen minus score of the rejected answer, in log odds.
    length
        Margins of a model by the length of the answers alone, in log odds.
    confidence
        Confidence level of the intervals.

    Returns
    -------
    Evaluation
        Accuracy, calibration and slices, with pairs weighted by their weight.

    Raises
    ------
    InvalidInput
        There is no pair, or a margin is missing or not finite.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", str(number)),), "yes", "no") for number in range(4)]
    >>> evaluation = evaluate(pairs, [2.0, 1.0, -1.0, 0.0], [0.1, 0.1, 0.1, 0.1])
    >>> evaluation.accuracy.estimate, evaluation.length_alone.estimate, round(evaluation.log_loss, 3)
    (0.625, 1.0, 0.612)
    """
    margin, length_margin = check_margins(pairs, margins), check_margins(pairs, length)
    weight = np.array([pair.weight for pair in pairs])
    cases = _Cases(score_hits(margin), score_hits(length_margin), pair_clusters(pairs), weight, confidence)
    all_pairs, certainty = np.ones(len(pairs), dtype=bool), probability(np.abs(margin))
    gaps = np.bincount(_find_bins(certainty), weights=weight * (certainty - cases.right))
    return Evaluation(
        accuracy=cases.share(all_pairs),
        length_alone=cases.share(all_pairs, length=True),
        log_loss=float(np.average(np.logaddexp(0, -margin), weights=weight)),
        length_log_loss=float(np.average(np.logaddexp(0, -length_margin), weights=weight)),
        ece=float(np.abs(gaps).sum() / weight.sum()),
        calibrated_ece=_expected_ece(certainty, weight),
        bins=tuple(_bins(cases, certainty)),
        slices=tuple(
            Slice(by, value, cases.share(labels == value), cases.share(labels == value, length=True))
            for by, labels in _labels(pairs, certainty)
            for value in _sorted_values(labels)
        ),
        soft_labels=evaluate_soft_labels(pairs, margin, length_margin, confidence=confidence),
    )


def describe_population(share: ClusteredEstimate) -> str:
    """Return the words for the cases to which the interval of a share refers."""
    return "other dialogues and raters" if (share.crossed_clusters or 0) > 1 else "other dialogues"


def check_margins(pairs: Sequence[Pair], margins: npt.ArrayLike) -> FloatArray:
    """Return margins as an array with one finite number per pair."""
    margin = np.asarray(margins, dtype=np.float64)
    if not len(pairs):
        raise InvalidInput("There is no pair, so nothing can be compared. Give one or more.")
    if margin.shape != (len(pairs),):
        raise InvalidInput(f"There are {margin.size:,} scores for {len(pairs):,} pairs. Give one for each.")
    invalid = np.flatnonzero(~np.isfinite(margin))
    if len(invalid):
        index = invalid[0]
        raise InvalidInput(f"The scores of pair {index + 1:,} differ by {margin[index]}, which is not a finite number.")
    return margin


def score_hits(margin: FloatArray) -> FloatArray:
    """Return 1 where the chosen answer scores higher, 0 where it scores lower, and one half for a tie."""
    return np.asarray((np.sign(margin) + 1) / 2)


def _find_bins(confidence: FloatArray) -> Int64Array:
    return np.minimum((2 * confidence - 1) * BINS, BINS - 1).astype(np.int64)


def _masks(bin_index: Int64Array) -> Iterator[BoolArray]:
    for k in np.unique(bin_index):
        yield bin_index == k


def _expected_ece(confidence: FloatArray, weight: FloatArray) -> float:
    """Return the mean ECE of a calibrated model; ties are half a hit, so they have no gap."""
    decided = confidence > 0.5
    gaps = (
        _expected_gap(confidence[mask & decided], weight[mask & decided]) for mask in _masks(_find_bins(confidence))
    )
    return sum(gaps) / float(weight.sum())


def _expected_gap(confidence: FloatArray, weight: FloatArray) -> float:
    """Return the mean absolute deviation of the hits of a bin from their expectation, for a calibrated model.

    That of a binomial count has a closed form (de Moivre). Weighted cases count as Kish's effective number of cases.
    """
    if not len(confidence):
        return 0.0
    share, n = float(np.average(confidence, weights=weight)), float(weight.sum() ** 2 / (weight**2).sum())
    if share == 1:
        return 0.0
    above = floor(n * share) + 1
    log_coefficient = lgamma(n + 1) - lgamma(above + 1) - lgamma(max(n - above, 0) + 1)
    deviation = 2 * above * exp(log_coefficient + above * log(share) + (n - above + 1) * log1p(-share))
    return deviation * float(weight.sum()) / n


def _bins(cases: _Cases, confidence: FloatArray) -> Iterator[Bin]:
    """Yield the non-empty bins."""
    bin_index = _find_bins(confidence)
    for k, mask in zip(np.unique(bin_index).tolist(), _masks(bin_index), strict=True):
        mean = float(np.average(confidence[mask], weights=cases.weight[mask]))
        yield Bin(0.5 + k / BINS / 2, 0.5 + (k + 1) / BINS / 2, mean, cases.share(mask))


def _labels(pairs: Sequence[Pair], confidence: FloatArray) -> Iterator[tuple[str, Labels]]:
    """Yield the attributes of slices with their value for each pair; None if unknown."""
    turns = [pair.n_turns for pair in pairs]
    yield "turns", _objects([str(n) if n < MOST_TURNS else f"{MOST_TURNS} or more" for n in turns])
    yield "confidence", _objects([f"quartile {quarter + 1}" for quarter in _quarters(confidence)])
    yield "chosen is", _objects([_length_class(len(pair.chosen), len(pair.rejected)) for pair in pairs])
    yield "strength", _objects([None if pair.strength is None else f"{pair.strength:g}" for pair in pairs])
    yield "tranche", _objects([pair.tranche for pair in pairs])
    cells = [pair.cells for pair in pairs]
    for axis in sorted({axis for groups in cells for axis in groups}):
        yield axis, _objects([groups.get(axis) for groups in cells])
    names = {True: "unanimous", False: "split", None: None}
    yield "raters were", _objects([names[unanimous] for unanimous in unanimity(pairs)])


def _sorted_values(labels: Labels) -> list[str]:
    """Return the values of an attribute in order; none if all pairs have the same."""
    values = {value for value in labels if value is not None}
    return [] if len(set(labels)) < 2 else sorted(values, key=_value_key)


def _value_key(value: str) -> tuple[float, str]:
    """Return a sort key: numbers by value, length classes from short to long, other values alphabetically."""
    if value in LENGTHS:
        return LENGTHS.index(value), value
    try:
        return float(value), value
    except ValueError:
        return np.inf, value


def _objects(values: Sequence[str | None]) -> Labels:
    return np.array(values, dtype=np.object_)


def _quarters(values: FloatArray) -> Int64Array:
    return np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values).astype(np.int64)


def _length_class(chosen: int, rejected: int) -> str:
    sign = (chosen > rejected) - (chosen < rejected)
    return LENGTHS[2 + sign * (1 + (max(chosen, rejected) > 2 * min(chosen, rejected)))]
