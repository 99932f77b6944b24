"""Summaries of items beside the groups and distances of each item alone."""

from datetime import UTC, datetime
from itertools import combinations

import numpy as np
import pytest

from dissensus.pipeline.monitor import FinishedRating, MonitoredRater, MonitorState, QuestionScales
from dissensus.pipeline.monitor.items import WITHIN, measure_disagreement, summarise_items
from dissensus.stats.groups.estimates import group_distance
from dissensus.stats.suppression import select_publishable_groups

SCALE = ("No", "Unsure", "Yes")
GROUPS = ("a", "b", "c")
ITEMS = tuple(f"i{n}" for n in range(30))
POSITIONS = {name: position for position, name in enumerate(ITEMS)}


def simulate_answers(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Groups of 40 raters, -1 if unknown, and their answers to each item, -1 if missing."""
    rng = np.random.default_rng(seed)
    return rng.integers(-1, len(GROUPS), 40), rng.integers(0, 3, (40, len(ITEMS))) - (rng.random((40, 30)) < 0.5) * 9


@pytest.mark.parametrize("seed", range(5))
def test_disagreement_is_the_largest_distance_of_groups_that_can_be_published(seed: int) -> None:
    groups, answers = simulate_answers(seed)
    raters = [
        MonitoredRater(rater_id=f"r{n}", number=n, groups={"rater_x": GROUPS[code]} if code >= 0 else {})
        for n, code in enumerate(groups)
    ]
    state = MonitorState(QuestionScales(questions={"Q": SCALE}, overalls={}, primary_question="Q"))
    state.add(
        [
            FinishedRating(
                assignment_id=f"{rater}-{item}",
                rater_id=f"r{rater}",
                item=ITEMS[item],
                answers={"Q": SCALE[answers[rater, item]]},
                time_ms=1,
                at=datetime(2026, 1, 1, tzinfo=UTC),
            )
            for rater, item in np.argwhere(answers >= 0).tolist()
        ]
    )
    within: dict[int, float | None] = {}
    between: dict[int, float | None] = {}
    for summary in summarise_items(state, raters, POSITIONS, {"rater_x": GROUPS}):
        (within if summary.axis == WITHIN else between)[summary.position] = summary.disagreement
    for position in range(len(ITEMS)):
        rated = answers[:, position] >= 0
        counts = np.stack([np.bincount(answers[rated & (groups == g), position], minlength=3) for g in range(3)])
        assert within[position] == measure_disagreement(np.bincount(answers[rated, position], minlength=3).tolist())
        (publishable,) = select_publishable_groups(groups[rated][None])
        pairs = [group_distance(x[None], y[None]).estimate for x, y in combinations(counts[publishable], 2)]
        assert between.get(position) == (max(pairs) if pairs else None)
    assert 3 < len(between) < len(ITEMS)
