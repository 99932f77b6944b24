"""Interim look at a running campaign: intervals that hold at every look, and advice on the next ratings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.schema.axes import require_one_axis
from dissensus.schema.ratings.columns import RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.planning.confidence_sequence import latest_interval
from dissensus.stats.result import FloatArray, IntArray
from dissensus.stats.suppression import select_publishable_groups

SCHEMA_VERSION: Final = 1
ADVISED_ITEMS: Final = 5


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

    asked: str  # question
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
class InterimLook:
    """Rows, and advice on the next ratings with its reason."""

    asked: str  # question of the ratings
    answer: str
    axis: str | None
    confidence: float
    half_width: float
    rows: tuple[InterimRow, ...]
    advice: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"schema_version": SCHEMA_VERSION, "question": "interim", **asdict(self)}

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)


def look_at_ratings(
    ratings: Ratings,
    order: Sequence[str],
    *,
    by: str | None = None,
    answer: str | None = None,
    half_width: float = 0.05,
    confidence: float = 0.95,
) -> InterimLook:
    """Compute the interval of the share of an answer among raters, by group, in the order in which they finished.

    Each rater is one observation: the share of the answer among their ratings. Shares of raters are independent where
    items are assigned without regard to the answers.
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
    place = {name: n for n, name in enumerate(order)}
    names = ratings.raters[RATER_ID].to_list()
    in_order = np.array(sorted(range(len(names)), key=lambda r: place.get(names[r], len(place))), np.int64)
    in_order = in_order[n_answers[in_order] > 0]
    codes, groups = ratings.group_codes(axis) if axis is not None else (np.zeros(len(names), np.int32), ())
    counts = np.bincount(item, minlength=ratings.n_items)
    few = np.flatnonzero(counts == counts.min())
    return look_at_shares(
        (hits / np.maximum(n_answers, 1))[in_order],
        codes[in_order],
        groups,
        question=WatchedAnswer(asked=question, answer=answer, axis=axis),
        half_width=half_width,
        confidence=confidence,
        loads=FewestRatings(
            least=int(counts.min()),
            most=int(counts.max()),
            n_least=few.size,
            names=tuple(ratings.items["item_id"].gather(few[:ADVISED_ITEMS]).to_list()),
        ),
    )


def look_at_shares(
    shares: FloatArray,
    codes: IntArray,
    groups: Sequence[str],
    *,
    question: WatchedAnswer,
    half_width: float,
    confidence: float = 0.95,
    loads: FewestRatings | None = None,
    min_cell: int = 0,
) -> InterimLook:
    """Compute the intervals of raters in the order in which they finished: their shares, and codes of their groups.

    With `min_cell` groups of fewer raters are left out, and others from which their shares would follow.
    """
    check_half_width(half_width)
    visible = list(range(len(groups)))
    if min_cell and groups:
        publishable = select_publishable_groups(codes[None, :], min_cell=min_cell)[0]
        visible = [g for g in visible if g < publishable.size and publishable[g]]
    hidden = [groups[g] for g in range(len(groups)) if g not in visible]
    rows = []
    if len(shares) >= max(1, min_cell):
        by_group = {groups[g]: shares[codes == g] for g in visible}
        rows = _list_rows(shares, by_group, half_width=half_width, confidence=confidence)
    return InterimLook(
        asked=question.asked,
        answer=question.answer,
        axis=question.axis,
        confidence=confidence,
        half_width=half_width,
        rows=tuple(rows),
        advice=(
            *([f"Next raters: of {' and '.join(hidden)}, of whom few have finished."] if hidden else []),
            *(_advise_groups(rows, half_width, all_visible=not hidden) if rows else []),
            *(_advise_items(loads) if loads is not None else []),
        ),
    )


def check_half_width(value: float) -> None:
    """Raise `InvalidInput` for a half-width that no interval of a share has."""
    if not 0 < value < 1:
        raise InvalidInput(f"The half-width is {value:g}; give one between 0 and 1, such as 0.05.")


def _list_rows(
    pool: FloatArray, by_group: Mapping[str, FloatArray], *, half_width: float, confidence: float
) -> list[InterimRow]:
    rows = [_describe(None, None, pool, None, half_width, confidence)]
    rows += [_describe(name, None, own, None, half_width, confidence) for name, own in by_group.items()]
    rows += [_describe(a, b, by_group[a], by_group[b], half_width, confidence) for a, b in combinations(by_group, 2)]
    return rows


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


def _advise_groups(rows: Sequence[InterimRow], half_width: float, *, all_visible: bool) -> list[str]:
    """Return advice on groups, the widest interval first, or that all are as narrow as planned."""
    groups = [row for row in rows if row.against is None and row.group is not None] or [rows[0]]
    wide = [row for row in groups if not row.is_reached]
    if not wide and not all_visible:
        return []
    if not wide:
        return [f"All intervals are within ±{half_width:g}: the campaign may stop."]
    widest = max(wide, key=lambda row: 1.0 if row.ci_low is None else float(row.ci_high or 0) - row.ci_low)
    name = widest.group or "the pool"
    width = "unknown" if widest.ci_low is None else f"±{(float(widest.ci_high or 0) - widest.ci_low) / 2:.3f}"
    return [
        f"Next raters: of {name}, whose interval is the widest ({width}, {widest.n_raters:,} raters; planned are "
        f"±{half_width:g}). {len(wide):,} of {len(groups):,} intervals are too wide."
    ]


def _advise_items(loads: FewestRatings) -> list[str]:
    """Return advice on items, those with the fewest ratings: numbers alone, so that no answer decides who is asked."""
    if loads.least == loads.most:
        return []
    more = f" and {loads.n_least - len(loads.names):,} more" if loads.n_least > len(loads.names) else ""
    return [
        f"Next items: {', '.join(loads.names)}{more}, with the fewest ratings ({loads.least:,}; others have up to "
        f"{loads.most:,})."
    ]
