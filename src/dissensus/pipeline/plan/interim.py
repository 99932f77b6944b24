"""Interim look at a running campaign: intervals that hold at every look, and advice on the next ratings."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.schema.axes import require_one_axis
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.ratings.columns import RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.planning.confidence_sequence import latest_interval
from dissensus.stats.result import FloatArray, IntArray

ADVISED_ITEMS: Final = 5
MOST_COMPARED: Final = 10
"""Groups whose differences are computed: those with the most raters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterimRow:
    """A share, or a difference of two shares, with its interval now; null before the first pair of raters."""

    group: str | None  # None for all raters
    against: str | None  # group that is subtracted
    n_raters: int
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    is_reached: bool  # the half-width is that of the plan, or less


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedAnswer:
    """The answer whose share is watched, and the axis of the groups."""

    question: str
    answer: str
    axis: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FewestRatings:
    """Fewest and most ratings of an item, with the first items that have the fewest."""

    least: int
    most: int
    n_least: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterimLook(JsonResult):
    """Rows, and advice on the next ratings with its reason."""

    rating_question: str  # question of the ratings; "question" in the JSON is that of the plan
    answer: str
    axis: str | None
    confidence: float
    half_width: float
    rows: tuple[InterimRow, ...]
    n_uncompared: int  # groups beyond `MOST_COMPARED`, which have a share and no differences
    n_unknown: int  # raters of unknown group, who are in no row
    advice: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"schema_version": 1, "question": "interim", **asdict(self)}


def look_at_ratings(
    ratings: Ratings,
    order: Sequence[str],
    *,
    by: str | None = None,
    answer: str | None = None,
    half_width: float = 0.05,
    confidence: float = 0.95,
) -> InterimLook:
    """Compute the interval of the share of an answer among raters, by group.

    `order` has the ids of all raters in the order in which they finished; if it is empty, raters count in the order of
    their ids. Each rater is one observation: the share of the answer among their ratings. Shares of raters are
    independent where items are assigned without regard to the answers.
    """
    ratings.require_raters("An interim look")
    check_half_width(half_width)
    question = ratings.resolve_question(None)
    scale = ratings.scale(question)
    answer = scale[-1] if answer is None else answer
    if answer not in scale:
        raise InvalidInput(f"{answer!r} is not an answer to {question}. Answers are {', '.join(scale)}.")
    axis = None if by is None else ratings.axis_name(require_one_axis(by))
    item, rater, code = ratings.codes(question)
    n_answers = np.bincount(rater, minlength=ratings.n_raters)
    hits = np.bincount(rater, code == scale.index(answer), minlength=ratings.n_raters)
    in_order = _sort_raters(ratings.raters[RATER_ID].to_list(), np.flatnonzero(n_answers), order)
    codes, groups = ratings.group_codes(axis) if axis is not None else (np.zeros(ratings.n_raters, np.int32), ())
    counts = np.bincount(item, minlength=ratings.n_items)
    few = np.flatnonzero(counts == counts.min())
    return look_at_shares(
        (hits / np.maximum(n_answers, 1))[in_order],
        codes[in_order],
        groups,
        watched_answer=WatchedAnswer(question=question, answer=answer, axis=axis),
        half_width=half_width,
        confidence=confidence,
        loads=FewestRatings(
            least=int(counts.min()),
            most=int(counts.max()),
            n_least=few.size,
            names=tuple(ratings.items["item_id"].gather(few[:ADVISED_ITEMS]).to_list()),
        ),
    )


def _sort_raters(names: Sequence[str], raters: IntArray, order: Sequence[str]) -> IntArray:
    """Return raters in the order in which they finished, which has every one or is empty."""
    if not order:
        return raters
    position = {name: n for n, name in enumerate(order)}
    absent = [names[r] for r in raters if names[r] not in position]
    if absent:
        raise InvalidInput(
            f"The order in which raters finished lacks {format_list(absent, 3)}. Give every rater a place in it: in a "
            "file, fill in the time of a rating of each rater, or drop the column of times so that rows count."
        )
    return np.array(sorted(raters, key=lambda r: position[names[r]]), np.int64)


def look_at_shares(
    shares: FloatArray,
    codes: IntArray,
    groups: Sequence[str],
    *,
    watched_answer: WatchedAnswer,
    half_width: float,
    confidence: float = 0.95,
    loads: FewestRatings | None = None,
) -> InterimLook:
    """Compute the intervals of raters in the order in which they finished: their shares, and codes of their groups.

    All raters have a row only where no axis is compared: their share moves with the group from which raters come next.
    Raters of unknown group, whose code is below 0, are in no row.
    """
    check_half_width(half_width)
    axis = watched_answer.axis
    if axis is not None and not groups:
        raise InvalidInput(
            f"No rater has a known group on {format_value(axis)}, so that there are no groups to compare. Choose "
            "another axis, or none for all raters together."
        )
    by_group = {group: shares[codes == code] for code, group in enumerate(groups)}
    largest = sorted(by_group, key=lambda group: by_group[group].size, reverse=True)[:MOST_COMPARED]
    pairs = combinations([group for group in by_group if group in largest], 2)
    shown = [
        *([(None, None, shares, None)] if axis is None else []),
        *((group, None, own, None) for group, own in by_group.items()),
        *((a, b, by_group[a], by_group[b]) for a, b in pairs),
    ]
    rows = [_describe(*row, half_width, confidence) for row in shown] if shares.size else []
    return InterimLook(
        rating_question=watched_answer.question,
        answer=watched_answer.answer,
        axis=axis,
        confidence=confidence,
        half_width=half_width,
        rows=tuple(rows),
        n_uncompared=len(groups) - len(largest),
        n_unknown=0 if axis is None else int(np.count_nonzero(codes < 0)),
        advice=(
            *(_advise_groups(rows, half_width) if rows else []),
            *(_advise_items(loads) if loads is not None else []),
        ),
    )


def check_half_width(value: float) -> None:
    """Raise `InvalidInput` for a half-width that no interval of a share has."""
    if not 0 < value < 1:
        raise InvalidInput(f"The half-width is {value:g}; give one between 0 and 1, such as 0.05.")


def _describe(
    group: str | None,
    against: str | None,
    own: FloatArray,
    other: FloatArray | None,
    half_width: float,
    confidence: float,
) -> InterimRow:
    n = own.size if other is None else min(own.size, other.size)
    estimate = low = high = None
    if n:
        # A difference of two shares is brought to the range of a share.
        values = own if other is None else (own[:n] - other[:n] + 1) / 2
        scale, shift = (1.0, 0.0) if other is None else (2.0, -1.0)
        low, high = (scale * end + shift for end in latest_interval(values, confidence=confidence))
        estimate = scale * float(values.mean()) + shift
        if np.isnan(low):
            low = high = None
    return InterimRow(
        group=group,
        against=against,
        n_raters=n,
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        is_reached=low is not None and high is not None and (high - low) / 2 <= half_width,
    )


def _advise_groups(rows: Sequence[InterimRow], half_width: float) -> list[str]:
    """Return advice on groups by the widest interval, or that all are as narrow as planned."""
    wide = [row for row in rows if not row.is_reached]
    if not wide:
        return [f"All intervals are within ±{half_width:g}: the campaign may stop."]
    widest = max(wide, key=_measure_width)
    width = "unknown" if widest.ci_low is None else f"±{_measure_width(widest) / 2:.3f}"
    counted = "pair" if widest.against is not None else "rater"
    subject = "whose interval" if widest.against is None else f"as the interval of {widest.group} − {widest.against}"
    return [
        f"Next raters: of {_find_group(widest, rows)}, {subject} is the widest ({width}, "
        f"{count_noun(widest.n_raters, counted)}; planned are ±{half_width:g}). {len(wide):,} of "
        f"{count_noun(len(rows), 'interval')} are too wide."
    ]


def _measure_width(row: InterimRow) -> float:
    return float("inf") if row.ci_low is None or row.ci_high is None else row.ci_high - row.ci_low


def _find_group(row: InterimRow, rows: Sequence[InterimRow]) -> str:
    """Return the group whose raters narrow an interval: of a difference, the smaller one, or both of one size."""
    if row.against is None:
        return row.group or "the pool"
    sizes = {other.group: other.n_raters for other in rows if other.against is None}
    smaller = [group for group in (row.group, row.against) if group and sizes[group] == row.n_raters]
    return " and ".join(smaller)


def _advise_items(loads: FewestRatings) -> list[str]:
    """Return advice on items, those with the fewest ratings: numbers alone, so that no answer decides who is asked."""
    if loads.least == loads.most:
        return []
    more = f" and {loads.n_least - len(loads.names):,} more" if loads.n_least > len(loads.names) else ""
    return [
        f"Next items: {', '.join(loads.names)}{more}, with the fewest ratings ({loads.least:,}; others have up to "
        f"{loads.most:,})."
    ]
