"""Consistency of raters and groups while ratings come in: equal answers to items that they saw twice."""

from collections.abc import Mapping, Sequence

import numpy as np

from dissensus.pipeline.monitor.computation import MonitoredRater, code_groups
from dissensus.pipeline.monitor.results import ConsistencyFigures, GroupConsistency, RaterRepeats
from dissensus.pipeline.monitor.state import MonitorState
from dissensus.stats.raters.consistency import RaterConsistency, rater_consistency
from dissensus.stats.result import IntArray
from dissensus.stats.suppression import select_disjoint_groups


def measure_consistency(
    state: MonitorState,
    repeats: MonitorState,
    people: Sequence[MonitoredRater],
    items: Sequence[str],
    axes: Mapping[str, Sequence[str]],
) -> ConsistencyFigures | None:
    """Return the consistency on the primary question, from first and second ratings; None without repeats.

    Shares of groups with fewer than `MIN_CELL` raters who rated an item twice are left out, and those from which such
    a share would follow with the shares of all raters and of the other groups of the axis.
    """
    question = state.scales.primary_question
    if question is None or not people or not len(repeats):
        return None
    people = sorted(people, key=lambda rater: rater.number)
    keys, answers = zip(
        *((_key_ratings(part, people, items), part.answers(question)) for part in (state, repeats)), strict=True
    )
    shared, first, second = np.intersect1d(*keys, return_indices=True)
    known = shared >= 0
    raters, first, second = shared[known] // max(len(items), 1), first[known], second[known]
    by_rater = rater_consistency(raters, answers[0][first], answers[1][second], n_raters=len(people))
    if not by_rater.n_repeats.any():
        return None
    everybody = np.zeros(len(people), np.int32)
    groups = [
        group
        for axis, values in axes.items()
        for group in _sum_groups(by_rater, axis, *code_groups(people, axis, values))
        if group.n_raters
    ]
    return ConsistencyFigures(
        pool=_sum_groups(by_rater, "", [""], everybody)[0],
        groups=tuple(groups),
        raters=tuple(
            RaterRepeats(
                rater_id=people[r].rater_id,
                number=people[r].number,
                n_repeats=int(by_rater.n_repeats[r]),
                n_equal=int(by_rater.n_equal[r]),
            )
            for r in np.flatnonzero(by_rater.n_repeats).tolist()
        ),
    )


def _key_ratings(state: MonitorState, people: Sequence[MonitoredRater], items: Sequence[str]) -> IntArray:
    """Return a number for the rater and item of each rating, below 0 for other raters or items."""
    raters, of_item = state.raters([rater.rater_id for rater in people]), state.items(items)
    # Unknown ones get distinct negative numbers, since keys are to be unique.
    return np.where((raters >= 0) & (of_item >= 0), raters * len(items) + of_item, -1 - np.arange(raters.size))


def _sum_groups(by_rater: RaterConsistency, axis: str, names: Sequence[str], codes: IntArray) -> list[GroupConsistency]:
    """Return the consistency of the groups of an axis, given the code of each rater's group."""
    repeated = by_rater.n_repeats > 0
    members = codes == np.arange(len(names))[:, None]
    sizes = (members & repeated).sum(axis=1)
    visible = select_disjoint_groups(sizes[None], np.array([repeated.sum()]))[0]
    n_repeats, n_equal = members @ by_rater.n_repeats, members @ by_rater.n_equal
    return [
        GroupConsistency(
            axis=axis,
            group=name,
            n_raters=int(sizes[code]),
            n_repeats=int(n_repeats[code]) if visible[code] else None,
            share=float(n_equal[code] / n_repeats[code]) if visible[code] else None,
        )
        for code, name in enumerate(names)
    ]
