"""Ranking of chatbots from pairwise comparisons: Bradley–Terry and Elo."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.ranking.strengths import ELO, MEAN, bradley_terry, elo
from dissensus.schema.hints import format_list
from dissensus.schema.numbers import check_whole
from dissensus.stats.bootstrap import draw_resamples, interval
from dissensus.stats.result import BoolArray, FloatArray, Int64Array, check_confidence, none_if_not_finite

OUTCOMES: Final = (1.0, 0.0, 0.5)
MAX_BOTS: Final = 500
"""Limit on the number of chatbots; ranking takes time and memory of their square or more."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Comparisons:
    """Pairwise comparisons of chatbots.

    Parameters
    ----------
    bots
        Names of the chatbots.
    a, b
        Indices of the two chatbots in `bots`, shape (n,), in chronological order.
    outcome
        1 if a was preferred, 0 if b was, one half for a tie.
    weight
        Weight of each comparison, above 0.
    rater
        Rater number of each comparison; None if unknown.
    scores
        Scores of both answers by a preference model, shape (n, 2), NaN if missing; None without scores.

    Raises
    ------
    InvalidInput
        There are fewer than two chatbots or too many, no comparison, arrays of other lengths, a chatbot compared with
        itself, another outcome, or a weight that is not above 0.
    """

    bots: tuple[str, ...]
    a: Int64Array
    b: Int64Array
    outcome: FloatArray
    weight: FloatArray
    rater: Int64Array | None = None
    scores: FloatArray | None = None

    def __post_init__(self) -> None:
        if not 2 <= len(self.bots) <= MAX_BOTS:
            raise InvalidInput(f"There are {len(self.bots):,} chatbots; give from 2 to {MAX_BOTS:,}.")
        if not len(self.a):
            raise InvalidInput("There is no comparison. Give one or more.")
        same = np.flatnonzero(self.a == self.b)
        if len(same):
            raise InvalidInput(
                f"Comparison {same[0] + 1:,} is of {self.bots[self.a[same[0]]]} with itself. Leave it out."
            )
        self._check_values("outcome", self.outcome, np.isin(self.outcome, OUTCOMES), "1, 0 or 0.5")
        is_positive = (self.weight > 0) & np.isfinite(self.weight)
        self._check_values("weight", self.weight, is_positive, "a number above 0, such as 1")

    def _check_values(self, name: str, values: FloatArray, is_valid: BoolArray, allowed: str) -> None:
        if len(values) != len(self.a):
            raise InvalidInput(f"{name} has {len(values):,} values for {len(self.a):,} comparisons. Give one for each.")
        invalid = np.flatnonzero(~is_valid)
        if len(invalid):
            raise InvalidInput(
                f"The {name} of comparison {invalid[0] + 1:,} is {values[invalid[0]]:g}; give {allowed}."
            )

    def wins(self, weight: FloatArray) -> FloatArray:
        """Return the weighted wins of each chatbot (row) against each other; a tie is half a win for both."""
        n = len(self.bots)
        wins = np.zeros((n, n))
        np.add.at(wins, (self.a, self.b), weight * self.outcome)
        np.add.at(wins, (self.b, self.a), weight * (1 - self.outcome))
        return wins


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedChatbot:
    """Strength and Elo of one chatbot, with its comparisons."""

    bot: str
    n: float  # Total weight of its comparisons
    won: float  # Of those that it won
    tied: float  # Of ties
    bradley_terry: float | None  # Strength on the Elo scale; None if undefined
    ci_low: float | None  # Interval over raters; None without raters or replicates
    ci_high: float | None
    elo: float  # After all comparisons in order
    by_scores: float | None  # Elo predicted by the scores of a preference model; None if undefined
    reason: str = ""  # Reason of an undefined strength


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Ranking of chatbots.

    Parameters
    ----------
    rows
        Chatbots, the best first.
    n_comparisons, n_raters
        Numbers of comparisons and raters; raters are None if unknown.
    replicates, undefined
        Bootstrap replicates, and those in which strengths are undefined.
    slope
        Slope of strengths on those predicted by scores: 1 if the scores are calibrated; None without scores or
        strengths.
    notes
        Notes on the intervals.
    """

    rows: tuple[RankedChatbot, ...]
    n_comparisons: int
    n_raters: int | None
    replicates: int
    undefined: int
    slope: float | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking as plain values for JSON."""
        return asdict(self)


class _Strengths(NamedTuple):
    """Bradley–Terry strengths, their intervals, and the number of undefined replicates."""

    observed: FloatArray
    low: FloatArray
    high: FloatArray
    undefined: int
    reason: str


def rank(comparisons: Comparisons, *, bootstrap: int = 1000, seed: int = 0, confidence: float = 0.95) -> Ranking:
    r"""Rank chatbots by pairwise comparisons.

    .. math:: P(a \succ b) = \frac{1}{1 + 10^{(R_b - R_a) / 400}}

    Parameters
    ----------
    comparisons
        Pairwise comparisons.
    bootstrap
        Replicates in which raters, with all their comparisons, are drawn with replacement; 0 for no intervals.
    seed
        Seed of the bootstrap.
    confidence
        Confidence level of the intervals.

    Returns
    -------
    Ranking
        Chatbots, the best first, by Bradley–Terry strength, or by Elo if that is undefined.

    Raises
    ------
    UndefinedEstimate
        The chatbots fall into parts that were never compared with each other.
    InvalidInput
        Number of replicates or confidence level out of range.

    Notes
    -----
    A tie is half a win for both. If some chatbots were never beaten by the others, their Bradley–Terry strength is
    infinite, and only Elo is given. Elo depends on the order of the comparisons.

    Examples
    --------
    >>> a, b = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 1, 2, 2, 0, 0])
    >>> comparisons = Comparisons(bots=("x", "y", "z"), a=a, b=b, outcome=np.ones(6), weight=np.ones(6))
    >>> [(row.bot, round(row.bradley_terry)) for row in rank(comparisons, bootstrap=0).rows]
    [('x', 1055), ('y', 1022), ('z', 923)]
    """
    check_whole("bootstrap", bootstrap)
    check_confidence(confidence)
    wins = comparisons.wins(comparisons.weight)
    check_connected(wins > 0, comparisons.bots)
    strengths = _estimate_strengths(
        comparisons, wins, bootstrap if comparisons.rater is not None else 0, seed, confidence
    )
    predicted = _predict_elo(comparisons)
    ratings = elo(comparisons.a, comparisons.b, comparisons.outcome, comparisons.weight)
    rows = [
        _build_row(comparisons, index, wins, strengths, ratings, predicted) for index in range(len(comparisons.bots))
    ]
    keys = [row.elo if row.bradley_terry is None else row.bradley_terry for row in rows]
    return Ranking(
        rows=tuple(rows[index] for index in np.argsort(-np.array(keys), kind="stable")),
        n_comparisons=len(comparisons.a),
        n_raters=None if comparisons.rater is None else len(np.unique(comparisons.rater)),
        replicates=0 if comparisons.rater is None or strengths.reason else bootstrap,
        undefined=strengths.undefined,
        slope=None if predicted is None else _slope(strengths.observed, predicted),
        notes=tuple(_notes(comparisons, bootstrap, strengths.undefined, predicted)),
    )


def _build_row(
    comparisons: Comparisons,
    index: int,
    wins: FloatArray,
    strengths: _Strengths,
    ratings: FloatArray,
    predicted: FloatArray | None,
) -> RankedChatbot:
    mask = (comparisons.a == index) | (comparisons.b == index)
    weight = comparisons.weight[mask]
    tied = float(weight[comparisons.outcome[mask] == 0.5].sum())
    return RankedChatbot(
        bot=comparisons.bots[index],
        n=float(weight.sum()),
        won=float(wins[index].sum()) - tied / 2,
        tied=tied,
        bradley_terry=none_if_not_finite(strengths.observed[index]),
        ci_low=none_if_not_finite(strengths.low[index]),
        ci_high=none_if_not_finite(strengths.high[index]),
        elo=float(ratings[index]),
        by_scores=None if predicted is None else none_if_not_finite(predicted[index]),
        reason=strengths.reason,
    )


def _notes(comparisons: Comparisons, bootstrap: int, undefined: int, predicted: FloatArray | None) -> list[str]:
    notes = []
    if bootstrap and comparisons.rater is None:
        notes.append("There are no intervals, since the rater of each comparison is unknown (column rater_id).")
    if undefined:
        notes.append(
            f"{undefined:,} of {bootstrap:,} replicates are left out: among the raters drawn, some chatbot was never "
            "compared, or never beaten. If these are many, intervals are too short."
        )
    if comparisons.scores is not None and predicted is None:
        notes.append(
            "There is no Elo by scores, since the comparisons with scores of both answers do not connect the chatbots."
        )
    return notes


def _estimate_strengths(
    comparisons: Comparisons, wins: FloatArray, bootstrap: int, seed: int, confidence: float
) -> _Strengths:
    nan = np.full(len(comparisons.bots), np.nan)
    best = undefeated_component(wins > 0)
    if best is not None:
        names = [comparisons.bots[index] for index in np.flatnonzero(best)]
        reason = f"{format_list(names, 5)} lost to none of the others, so strengths are infinite"
        return _Strengths(nan, nan, nan, 0, reason)
    observed = bradley_terry(wins)
    if not bootstrap or comparisons.rater is None:
        return _Strengths(observed, nan, nan, 0, "")
    replicates = _bootstrap_strengths(comparisons, bootstrap, seed)
    undefined = int(np.isnan(replicates[:, 0]).sum())
    if undefined == bootstrap:
        return _Strengths(observed, nan, nan, undefined, "")
    n_raters = np.unique(comparisons.rater).size
    low, high = interval(observed, replicates, confidence=confidence, n=n_raters)
    return _Strengths(observed, low, high, undefined, "")


def _bootstrap_strengths(comparisons: Comparisons, bootstrap: int, seed: int) -> FloatArray:
    """Return Bradley–Terry strengths for resampled raters, shape (B, bots); NaN if undefined."""
    assert comparisons.rater is not None  # noqa: S101 - intervals are computed only if raters are known
    rater = np.unique(comparisons.rater, return_inverse=True)[1]
    seeds = np.random.SeedSequence(seed).spawn(bootstrap)
    multiplicities, _ = draw_resamples(seeds, np.zeros(int(rater.max()) + 1, dtype=np.int64), 0, "raters")
    assert multiplicities is not None  # noqa: S101 - raters were resampled
    strengths = np.full((bootstrap, len(comparisons.bots)), np.nan)
    for replicate, multiplicity in enumerate(multiplicities):
        wins = comparisons.wins(comparisons.weight * multiplicity[rater])
        if undefeated_component(wins > 0) is None:
            strengths[replicate] = bradley_terry(wins)
    return strengths


def _predict_elo(comparisons: Comparisons) -> FloatArray | None:
    r"""Return Elo predicted by score differences within comparisons, :math:`400 / \ln 10` points per unit.

    NaN for chatbots without scores; None if the comparisons with both scores do not connect the others.
    """
    if comparisons.scores is None:
        return None
    mask = np.isfinite(comparisons.scores).all(axis=1)
    if not mask.any():
        return None
    n, (score_a, score_b) = len(comparisons.bots), comparisons.scores[mask].T
    a, b, weight = comparisons.a[mask], comparisons.b[mask], comparisons.weight[mask]
    # Normal equations of least squares: their size is that of the chatbots, not that of the comparisons
    compared = np.bincount(a * n + b, weights=weight, minlength=n * n).reshape(n, n)
    compared += compared.T
    laplacian = np.diag(compared.sum(axis=1)) - compared
    difference = weight * (score_a - score_b)
    total = np.bincount(a, weights=difference, minlength=n) - np.bincount(b, weights=difference, minlength=n)
    scored = compared.sum(axis=1) > 0
    if not _reachability(compared > 0)[np.ix_(scored, scored)].all():
        return None
    level = np.linalg.lstsq(laplacian, total, rcond=1e-12)[0]
    return np.where(scored, MEAN + ELO * (level - level[scored].mean()), np.nan)


def _slope(observed: FloatArray, predicted: FloatArray) -> float | None:
    mask = np.isfinite(observed) & np.isfinite(predicted)
    x, y = (values[mask] - values[mask].mean() for values in (predicted, observed)) if mask.any() else ([], [])
    square = float(np.dot(x, x))
    return float(np.dot(x, y)) / square if square > 0 else None


def check_connected(beats: BoolArray, bots: Sequence[str]) -> None:
    """Raise an error if the comparison graph is disconnected."""
    reached = _reachability(beats | beats.T)
    if reached.all():
        return
    parts = sorted({tuple(np.flatnonzero(row).tolist()) for row in reached}, key=len, reverse=True)
    listed = "; ".join(format_list([bots[index] for index in part], 5) for part in parts[:5])
    raise UndefinedEstimate(
        f"The chatbots fall into {len(parts):,} parts that were never compared with each other: {listed}. "
        "Compare some across, or rank each part by itself."
    )


def undefeated_component(beats: BoolArray) -> BoolArray | None:
    """Return a strongly connected component that no other chatbot ever beat; None if all are strongly connected."""
    reached = _reachability(beats)
    mutual = reached & reached.T
    for index in range(len(beats)):
        group: BoolArray = mutual[index]
        if not group.all() and not reached[np.ix_(~group, group)].any():
            return group
    return None


def _reachability(steps: BoolArray) -> BoolArray:
    """Return the reflexive transitive closure of a relation."""
    closure = steps | np.eye(len(steps), dtype=bool)
    while True:
        further = (closure.astype(np.float32) @ closure.astype(np.float32)) > 0
        if (further == closure).all():
            return closure
        closure = further
