"""Disagreement about each item: within all raters, and between the groups of an axis."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dissensus.pipeline.monitor.computation import MonitoredRater, code_groups
from dissensus.pipeline.monitor.state import FinishedRating, MonitorState, QuestionScales
from dissensus.stats.groups.estimates import item_group_distances
from dissensus.stats.result import Int64Array, IntArray
from dissensus.stats.suppression import select_disjoint_groups, select_publishable_groups

WITHIN = ""
"""Axis of the disagreement within all raters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSummary:
    """Answers to one question about one item, and their disagreement."""

    question: str
    axis: str  # `WITHIN`, or the axis whose groups are compared
    position: int
    counts: tuple[int, ...]  # Answers of all raters, in the order of the scale
    disagreement: float | None  # None where fewer than two raters answered


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAnswers:
    """Answers of a group to a question about one item; None where they are suppressed."""

    axis: str
    group: str
    counts: tuple[int, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAnswers:
    """Answers of all raters to a question about one item, and those of groups."""

    question: str
    scale: tuple[str, ...]
    counts: tuple[int, ...]
    disagreement: float | None
    groups: tuple[GroupAnswers, ...]

    @property
    def named_counts(self) -> tuple[tuple[str, int], ...]:
        """Answers that somebody gave, in the order of the scale, with their numbers of raters."""
        return tuple((answer, n) for answer, n in zip(self.scale, self.counts, strict=True) if n)


def summarise_items(
    state: MonitorState,
    raters: Sequence[MonitoredRater],
    positions: Mapping[str, int],
    axes: Mapping[str, Sequence[str]],
) -> Iterator[ItemSummary]:
    """Yield the summaries of the rated ones among some items, whose positions are given, by question and axis.

    Within all raters, disagreement is one minus pairwise agreement. Between groups it is the largest group distance
    of two groups whose answers can be published; items with fewer such groups have none.
    """
    item_positions = list(positions.values())
    item_codes, rater_codes = state.items(list(positions)), state.raters([rater.rater_id for rater in raters])
    for question, scale in state.scales.all.items():
        answers = state.answers(question)
        counted = (item_codes >= 0) & (rater_codes >= 0) & (answers >= 0)
        cells = (item_codes[counted], rater_codes[counted], answers[counted])
        counts = _count_pairs(cells[0], cells[2], len(item_positions), len(scale))
        rated = np.flatnonzero(counts.sum(axis=1))
        counts_of_item = {int(item): tuple(counts[item].tolist()) for item in rated}
        for item, item_counts in counts_of_item.items():
            yield ItemSummary(
                question=question,
                axis=WITHIN,
                position=item_positions[item],
                counts=item_counts,
                disagreement=measure_disagreement(item_counts),
            )
        for axis, values in axes.items():
            names, groups = code_groups(raters, axis, values)
            for item, distance in _measure_distances(cells, groups, (len(item_positions), len(names), len(scale))):
                yield ItemSummary(
                    question=question,
                    axis=axis,
                    position=item_positions[item],
                    counts=counts_of_item[item],
                    disagreement=distance,
                )


def measure_disagreement(counts: Sequence[int]) -> float | None:
    """Return the share of pairs of raters who answered differently, None with fewer than two raters.

    Examples
    --------
    >>> measure_disagreement([2, 2]), measure_disagreement([3, 0]), measure_disagreement([1, 0])
    (0.6666666666666666, 0.0, None)
    """
    n = sum(counts)
    return None if n < 2 else (n * n - sum(k * k for k in counts)) / (n * (n - 1))


def _count_pairs(rows: IntArray, columns: IntArray, n_rows: int, n_columns: int) -> Int64Array:
    flat = np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns)
    return flat.reshape(n_rows, n_columns)


def _measure_distances(
    cells: tuple[IntArray, IntArray, IntArray], groups: IntArray, shape: tuple[int, int, int]
) -> Iterator[tuple[int, float]]:
    """Yield the index of each item with at least two publishable groups, and the largest distance of two of them."""
    n_items, n_groups, n_answers = shape
    items, raters, answers = cells
    if n_groups < 2 or not items.size:
        return
    group_of = groups[raters]
    known = group_of >= 0
    flat = _count_pairs(items[known], group_of[known] * n_answers + answers[known], n_items, n_groups * n_answers)
    counts = flat.reshape(shape)
    selected = select_disjoint_groups(counts.sum(axis=2), np.bincount(items, minlength=n_items))
    largest = np.full(n_items, -np.inf)
    for first, second in combinations(range(n_groups), 2):
        both = selected[:, first] & selected[:, second]
        distances = item_group_distances(counts[both, first], counts[both, second])
        largest[both] = np.maximum(largest[both], distances)
    for item in np.flatnonzero(selected.sum(axis=1) >= 2):
        yield int(item), float(largest[item])


def tabulate_item(
    scales: QuestionScales,
    ratings: Sequence[FinishedRating],
    raters: Sequence[MonitoredRater],
    axes: Mapping[str, Sequence[str]],
) -> tuple[ItemAnswers, ...]:
    """Return the answers to each question about one item, with groups of few raters suppressed."""
    state = MonitorState(scales)
    state.add(ratings)
    rater_codes = state.raters([rater.rater_id for rater in raters])
    axis_groups = [(axis, *code_groups(raters, axis, values)) for axis, values in axes.items()]
    return tuple(
        _tabulate_question(question, scale, rater_codes, state.answers(question), axis_groups)
        for question, scale in scales.all.items()
    )


def _tabulate_question(
    question: str,
    scale: tuple[str, ...],
    raters: IntArray,
    answers: IntArray,
    axis_groups: Sequence[tuple[str, Sequence[str], IntArray]],
) -> ItemAnswers:
    answered = (raters >= 0) & (answers >= 0)
    raters, answers = raters[answered], answers[answered]
    counts = tuple(np.bincount(answers, minlength=len(scale)).tolist())
    groups: list[GroupAnswers] = []
    if axis_groups and raters.size:
        codes = np.stack([group_of[raters] for _, _, group_of in axis_groups])
        publishable = select_publishable_groups(codes)
        for (axis, names, _), of_axis, visible in zip(axis_groups, codes, publishable, strict=True):
            for code, group in enumerate(names):
                if (of_axis == code).any():
                    part = np.bincount(answers[of_axis == code], minlength=len(scale))
                    shown = tuple(part.tolist()) if visible[code] else None
                    groups.append(GroupAnswers(axis=axis, group=group, counts=shown))
    return ItemAnswers(
        question=question,
        scale=scale,
        counts=counts,
        disagreement=measure_disagreement(counts),
        groups=tuple(groups),
    )
