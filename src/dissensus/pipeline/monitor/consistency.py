"""Consistency of raters and groups while ratings come in: equal answers to items that they saw twice."""

from collections.abc import Mapping, Sequence

import numpy as np

from dissensus.pipeline.monitor.computation import Codes, MonitoredRater, code_groups
from dissensus.pipeline.monitor.results import ConsistencyFigures, GroupConsistency, RaterRepeats
from dissensus.pipeline.monitor.state import MonitorState
from dissensus.stats.raters.consistency import RaterConsistency, rater_consistency
from dissensus.stats.suppression import MIN_CELL


def measure_consistency(
    state: MonitorState,
    repeats: MonitorState,
    people: Sequence[MonitoredRater],
    items: Sequence[str],
    axes: Mapping[str, Sequence[str]],
) -> ConsistencyFigures | None:
    """Return the consistency on the primary question, given first and second ratings; None without repeats.

    Shares of groups with fewer than `MIN_CELL` raters who rated an item twice are left out.
    """
    question = state.scales.primary_question
    if question is None or not people or not len(repeats):
        return None
    people = sorted(people, key=lambda one: one.number)
    keys, answers = zip(
        *((_key_ratings(part, people, items), part.answers(question)) for part in (state, repeats)), strict=True
    )
    shared, first, second = np.intersect1d(*keys, return_indices=True)
    known = shared >= 0
    raters, first, second = shared[known] // max(len(items), 1), first[known], second[known]
    each = rater_consistency(raters, answers[0][first], answers[1][second], n_raters=len(people))
    if not each.n_repeats.any():
        return None
    groups = [
        _sum_group(each, axis, name, codes == code)
        for axis, values in axes.items()
        for names, codes in [code_groups(people, axis, values)]
        for code, name in enumerate(names)
    ]
    return ConsistencyFigures(
        pool=_sum_group(each, "", "", np.ones(len(people), np.bool_)),
        groups=tuple(group for group in groups if group.n_raters),
        raters=tuple(
            RaterRepeats(
                rater_id=people[r].rater_id,
                number=people[r].number,
                n_repeats=int(each.n_repeats[r]),
                n_equal=int(each.n_equal[r]),
            )
            for r in np.flatnonzero(each.n_repeats).tolist()
        ),
    )


def _key_ratings(state: MonitorState, people: Sequence[MonitoredRater], items: Sequence[str]) -> Codes:
    """Return a number for the rater and item of each rating, below 0 for other raters or items."""
    raters, of_item = state.raters([one.rater_id for one in people]), state.items(items)
    # Unknown ones get distinct negative numbers, since keys are to be unique.
    return np.where((raters >= 0) & (of_item >= 0), raters * len(items) + of_item, -1 - np.arange(raters.size))


def _sum_group(each: RaterConsistency, axis: str, group: str, member: np.ndarray) -> GroupConsistency:
    n_repeats, n_equal = int(each.n_repeats[member].sum()), int(each.n_equal[member].sum())
    n_raters = int((each.n_repeats[member] > 0).sum())
    return GroupConsistency(
        axis=axis,
        group=group,
        n_raters=n_raters,
        n_repeats=n_repeats if n_raters >= MIN_CELL else None,
        share=n_equal / n_repeats if n_raters >= MIN_CELL else None,
    )
