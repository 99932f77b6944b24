"""Ranking of chatbots from pairwise comparisons: Bradley–Terry and Elo."""

from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.sparse import Floats, Integers
from dissensus.preference.ranking.connectivity import check_connected, undefeated_component
from dissensus.preference.ranking.strengths import ELO, MEAN, bradley_terry, elo
from dissensus.schema.hints import format_list
from dissensus.stats.bootstrap import interval, resampled
from dissensus.stats.result import check_level

MOST_BOTS: Final = 500


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Comparisons:
    """Answers of two chatbots to the same conversation, and which was preferred.

    Parameters
    ----------
    bots
        Names of the chatbots.
    a, b
        Places of the two in `bots`, shape (n,), in the order in which they were compared.
    outcome
        1 where a was preferred, 0 where b was, one half for a tie.
    weight
        As how many comparisons each counts, above 0.
    rater
        A number for the rater of each; None where nobody knows who they were.
    scores
        Scores of both answers by a preference model, shape (n, 2), NaN where there is none; None without any.

    Raises
    ------
    InvalidInput
        There are fewer than two chatbots or too many, no comparison, or a chatbot is compared with itself.
    """

    bots: tuple[str, ...]
    a: Integers
    b: Integers
    outcome: Floats
    weight: Floats
    rater: Integers | None = None
    scores: Floats | None = None

    def __post_init__(self) -> None:
        if not 2 <= len(self.bots) <= MOST_BOTS:
            raise InvalidInput(f"There are {len(self.bots):,} chatbots; give from 2 to {MOST_BOTS:,}.")
        if not len(self.a):
            raise InvalidInput("There is no comparison. Give one or more.")
        same = np.flatnonzero(self.a == self.b)
        if len(same):
            raise InvalidInput(
                f"Comparison {same[0] + 1:,} is of {self.bots[self.a[same[0]]]} with itself. Leave it out."
            )

    def wins(self, weight: Floats) -> Floats:
        """Return how often each chatbot, by row, was preferred to each other; a tie is half of one for both."""
        n = len(self.bots)
        found = np.zeros((n, n))
        np.add.at(found, (self.a, self.b), weight * self.outcome)
        np.add.at(found, (self.b, self.a), weight * (1 - self.outcome))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedChatbot:
    """One chatbot."""

    bot: str
    n: float  # Its comparisons, by weight, and how many it won and tied
    won: float
    tied: float
    # Its strength on the scale of Elo with its interval for other raters, and `reason` where there is none
    bradley_terry: float | None
    ci_low: float | None
    ci_high: float | None
    elo: float  # After all comparisons in their order
    by_scores: float | None  # Elo as the scores of a preference model foretell it; None without scores
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """All chatbots, the best first.

    Parameters
    ----------
    rows
        The chatbots.
    n_comparisons, n_raters
        How many there were; raters None where nobody knows who they were.
    replicates, undefined
        Bootstrap replicates, and how many of them say nothing since the chatbots drawn cannot all be compared.
    slope
        Points of Elo that the comparisons give for a point that the scores foretell: 1 where these are calibrated; None
        without scores.
    notes
        What a reader should know.
    """

    rows: tuple[RankedChatbot, ...]
    n_comparisons: int
    n_raters: int | None
    replicates: int
    undefined: int
    slope: float | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)


class _Strengths(NamedTuple):
    """Bradley–Terry of the full data, its interval, and how many replicates were undefined."""

    observed: Floats
    low: Floats
    high: Floats
    undefined: int
    reason: str


def rank(comparisons: Comparisons, *, bootstrap: int = 1000, seed: int = 0, level: float = 0.95) -> Ranking:
    r"""Rank chatbots by comparisons of two at a time.

    .. math:: P(a \succ b) = \frac{1}{1 + 10^{(R_b - R_a) / 400}}

    Parameters
    ----------
    comparisons
        Who was preferred to whom.
    bootstrap
        Replicates in which raters, with all their comparisons, are drawn with replacement; 0 for no intervals.
    seed
        Of these.
    level
        Confidence level.

    Returns
    -------
    Ranking
        The best first, by Bradley–Terry, or by Elo where that is undefined.

    Raises
    ------
    UndefinedEstimate
        The chatbots fall into parts that were never compared with each other.
    Unavailable
        evalica is not installed.

    Notes
    -----
    A tie is half a win for both. Where some chatbots were never beaten by the others, their Bradley–Terry strength is
    infinite, and none is given; Elo, which moves little by little, is. Elo depends on the order of the comparisons.

    Examples
    --------
    >>> a, b = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 1, 2, 2, 0, 0])
    >>> found = rank(
    ...     Comparisons(bots=("x", "y", "z"), a=a, b=b, outcome=np.ones(6), weight=np.ones(6)), bootstrap=0
    ... )
    >>> [(row.bot, round(row.bradley_terry)) for row in found.rows]
    [('x', 1055), ('y', 1022), ('z', 923)]
    """
    check_level(level)
    every = comparisons.wins(comparisons.weight)
    check_connected(every > 0, comparisons.bots)
    strengths = _strengths(comparisons, every, bootstrap if comparisons.rater is not None else 0, seed, level)
    scored = _by_scores(comparisons)
    moved = elo(comparisons.a, comparisons.b, comparisons.outcome, comparisons.weight)
    rows = [_row(comparisons, place, every, strengths, moved, scored) for place in range(len(comparisons.bots))]
    by = [row.elo if row.bradley_terry is None else row.bradley_terry for row in rows]
    return Ranking(
        rows=tuple(rows[place] for place in np.argsort(-np.array(by), kind="stable")),
        n_comparisons=len(comparisons.a),
        n_raters=None if comparisons.rater is None else len(np.unique(comparisons.rater)),
        replicates=bootstrap if comparisons.rater is not None else 0,
        undefined=strengths.undefined,
        slope=None if scored is None else _slope(strengths.observed, scored),
        notes=tuple(_notes(comparisons, bootstrap, strengths.undefined)),
    )


def _row(
    comparisons: Comparisons, place: int, every: Floats, found: _Strengths, moved: Floats, scored: Floats | None
) -> RankedChatbot:
    part = (comparisons.a == place) | (comparisons.b == place)
    weight = comparisons.weight[part]
    tied = float(weight[comparisons.outcome[part] == 0.5].sum())
    return RankedChatbot(
        bot=comparisons.bots[place],
        n=float(weight.sum()),
        won=float(every[place].sum()) - tied / 2,
        tied=tied,
        bradley_terry=_known(found.observed[place]),
        ci_low=_known(found.low[place]),
        ci_high=_known(found.high[place]),
        elo=float(moved[place]),
        by_scores=None if scored is None else _known(scored[place]),
        reason=found.reason,
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _notes(comparisons: Comparisons, bootstrap: int, undefined: int) -> list[str]:
    notes = []
    if bootstrap and comparisons.rater is None:
        notes.append("There are no intervals, since nobody knows which rater compared what (column rater_id).")
    if undefined:
        notes.append(
            f"{undefined:,} of {bootstrap:,} replicates are left out: among the raters drawn, some chatbot was never "
            "compared, or never beaten. Intervals are too short where these are many."
        )
    return notes


def _strengths(comparisons: Comparisons, every: Floats, bootstrap: int, seed: int, level: float) -> _Strengths:
    n = len(comparisons.bots)
    nothing = np.full(n, np.nan)
    best = undefeated_component(every > 0)
    if best is not None:
        names = [comparisons.bots[place] for place in np.flatnonzero(best)]
        reason = f"{format_list(names, 5)} lost to none of the others, so strengths have no end"
        return _Strengths(nothing, nothing, nothing, 0, reason)
    observed = bradley_terry(every)
    if not bootstrap or comparisons.rater is None:
        return _Strengths(observed, nothing, nothing, 0, "")
    replicates = _replicates(comparisons, bootstrap, seed)
    undefined = int(np.isnan(replicates[:, 0]).sum())
    if undefined == bootstrap:
        return _Strengths(observed, nothing, nothing, undefined, "")
    low, high = interval(observed, replicates, level=level)
    return _Strengths(observed, low, high, undefined, "")


def _replicates(comparisons: Comparisons, bootstrap: int, seed: int) -> Floats:
    """Return Bradley–Terry with raters drawn again and again, shape (B, bots); NaN where it is undefined."""
    assert comparisons.rater is not None  # noqa: S101 - intervals are asked for where raters are known
    rater = np.unique(comparisons.rater, return_inverse=True)[1]
    seeds = np.random.SeedSequence(seed).spawn(bootstrap)
    drawn, _ = resampled(seeds, np.zeros(int(rater.max()) + 1, dtype=np.int64), 0, "raters")
    assert drawn is not None  # noqa: S101 - raters are what was drawn
    found = np.full((bootstrap, len(comparisons.bots)), np.nan)
    for number, times in enumerate(drawn):
        every = comparisons.wins(comparisons.weight * times[rater])
        if undefeated_component(every > 0) is None:
            found[number] = bradley_terry(every)
    return found


def _by_scores(comparisons: Comparisons) -> Floats | None:
    r"""Return Elo as scores foretell it, :math:`400 / \ln 10` for each point, from differences within comparisons."""
    if comparisons.scores is None:
        return None
    known = np.isfinite(comparisons.scores).all(axis=1)
    if not known.any():
        return None
    n, (one, other) = len(comparisons.bots), comparisons.scores[known].T
    rows, root = np.zeros((int(known.sum()), n)), np.sqrt(comparisons.weight[known])
    places = np.arange(len(rows))
    rows[places, comparisons.a[known]], rows[places, comparisons.b[known]] = root, -root
    level = np.linalg.lstsq(rows, root * (one - other), rcond=None)[0]
    seen = np.abs(rows).sum(axis=0) > 0
    return np.where(seen, MEAN + ELO * (level - level[seen].mean()), np.nan)


def _slope(observed: Floats, scored: Floats) -> float | None:
    known = np.isfinite(observed) & np.isfinite(scored)
    x, y = (values[known] - values[known].mean() for values in (scored, observed)) if known.any() else ([], [])
    square = float(np.dot(x, x))
    return float(np.dot(x, y)) / square if square > 0 else None
