"""Progress of the cells of a quota."""

import pytest

from dissensus.campaign.quota_progress import CellProgress


def cell(**counts: int) -> CellProgress:
    zero = dict.fromkeys(("target", "capacity", "finished", "in_progress", "screened_out", "n_lately"), 0)
    return CellProgress(cell="old", hours=6.0, **{**zero, **counts})


def test_raters_in_progress_are_neither_needed_nor_admitted_again() -> None:
    progress = cell(target=10, capacity=12, finished=4, in_progress=3)
    assert (progress.needed, progress.free) == (3, 5)
    over = cell(target=10, capacity=12, finished=10, in_progress=3)
    assert (over.needed, over.free) == (0, 0)


@pytest.mark.parametrize(
    ("target", "finished", "share"), [(10, 0, 0.0), (10, 4, 0.4), (10, 10, 1.0), (10, 12, 1.0), (0, 0, 1.0)]
)
def test_the_share_is_that_of_the_target(target: int, finished: int, share: float) -> None:
    assert cell(target=target, finished=finished).share == share


def test_the_time_left_follows_the_recent_pace() -> None:
    assert cell(capacity=10, finished=4, n_lately=2).hours_left == 18.0
    assert cell(capacity=10, finished=4).hours_left is None
    assert cell(capacity=10, finished=10).hours_left == 0.0
