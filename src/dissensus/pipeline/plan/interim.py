"""Interim look at a running campaign: intervals that hold at every look, and advice on the next ratings."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.schema.axes import require_one_axis
from dissensus.schema.ratings.columns import RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.planning.confidence_sequence import ConfidenceSequence, confidence_sequence, difference_sequence
from dissensus.stats.result import FloatArray, IntArray

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
    if not 0 < half_width < 1:
        raise InvalidInput(f"The half-width is {half_width:g}; give one between 0 and 1, such as 0.05.")
    question = ratings.resolve_question(None)
    scale = ratings.scale(question)
    answer = scale[-1] if answer is None else answer
    if answer not in scale:
        raise InvalidInput(f"{answer!r} is not an answer to {question}. Answers are {', '.join(scale)}.")
    axis = None if by is None else ratings.axis_name(require_one_axis(by))
    item, rater, code = ratings.codes(question)
    n_answers = np.bincount(rater, minlength=ratings.n_raters)
    hits = np.bincount(rater, code == scale.index(answer), minlength=ratings.n_raters)
    shares = hits / np.maximum(n_answers, 1)
    place = {name: n for n, name in enumerate(order)}
    names = ratings.raters[RATER_ID].to_list()
    in_order = np.array(sorted(range(len(names)), key=lambda r: place.get(names[r], len(place))), np.int64)
    in_order = in_order[n_answers[in_order] > 0]
    codes, groups = ratings.group_codes(axis) if axis is not None else (np.zeros(len(names), np.int32), ())
    rows = list(_list_rows(shares, in_order, codes, groups, half_width=half_width, confidence=confidence))
    return InterimLook(
        asked=question,
        answer=answer,
        axis=axis,
        confidence=confidence,
        half_width=half_width,
        rows=tuple(rows),
        advice=(*_advise_groups(rows, half_width), *_advise_items(ratings, item)),
    )


def _list_rows(
    shares: FloatArray,
    in_order: IntArray,
    codes: IntArray,
    groups: Sequence[str],
    *,
    half_width: float,
    confidence: float,
) -> list[InterimRow]:
    rows = [_describe(None, None, shares[in_order], None, half_width, confidence)]
    by_group = [shares[in_order[codes[in_order] == g]] for g in range(len(groups))]
    rows += [
        _describe(name, None, own, None, half_width, confidence) for name, own in zip(groups, by_group, strict=True)
    ]
    for a, b in combinations(range(len(groups)), 2):
        rows.append(_describe(groups[a], groups[b], by_group[a], by_group[b], half_width, confidence))
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
    sequence: ConfidenceSequence | None = None
    if n:
        sequence = (
            confidence_sequence(own, confidence=confidence)
            if other is None
            else difference_sequence(own, other, confidence=confidence)
        )
    low, high = (None, None) if sequence is None else (float(sequence.low[-1]), float(sequence.high[-1]))
    return InterimRow(
        group=group,
        against=against,
        n_raters=n,
        estimate=None if sequence is None else float(sequence.estimate[-1]),
        ci_low=low,
        ci_high=high,
        is_reached=low is not None and high is not None and (high - low) / 2 <= half_width,
    )


def _advise_groups(rows: Sequence[InterimRow], half_width: float) -> list[str]:
    """Return advice on groups, the widest interval first, or that all are as narrow as planned."""
    groups = [row for row in rows if row.against is None and row.group is not None] or [rows[0]]
    wide = [row for row in groups if not row.is_reached]
    if not wide:
        return [f"All intervals are within ±{half_width:g}: the campaign may stop."]
    widest = max(wide, key=lambda row: 1.0 if row.ci_low is None else float(row.ci_high or 0) - row.ci_low)
    name = widest.group or "the pool"
    width = "unknown" if widest.ci_low is None else f"±{(float(widest.ci_high or 0) - widest.ci_low) / 2:.3f}"
    return [
        f"Next raters: of {name}, whose interval is the widest ({width}, {widest.n_raters:,} raters; planned are "
        f"±{half_width:g}). {len(wide):,} of {len(groups):,} intervals are too wide."
    ]


def _advise_items(ratings: Ratings, item: IntArray) -> list[str]:
    """Return advice on items, those with the fewest ratings: numbers alone, so that no answer decides who is asked."""
    counts = np.bincount(item, minlength=ratings.n_items)
    least, most = int(counts.min()), int(counts.max())
    if least == most:
        return []
    few = np.flatnonzero(counts == least)
    names = ratings.items["item_id"].gather(few[:ADVISED_ITEMS]).to_list()
    more = f" and {few.size - ADVISED_ITEMS:,} more" if few.size > ADVISED_ITEMS else ""
    return [f"Next items: {', '.join(names)}{more}, with the fewest ratings ({least:,}; others have up to {most:,})."]
