"""Small numbers are suppressed, and cannot be derived from others."""

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.pipeline.monitor import CampaignFigures, GroupFigures, PoolAgreement, TimeBucket
from dissensus.stats.suppression import MIN_CELL
from dissensus.web.core.suppression import suppress_figures

counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12), max_size=6)


def group(axis: str, name: str, n_raters: int) -> GroupFigures:
    constants = {"n_ratings": n_raters, "min_ratings": 0, "max_ratings": 0, "answers": {}, "times": None}
    return GroupFigures(axis=axis, group=name, n_raters=n_raters, agreement=PoolAgreement(estimate=None), **constants)  # type: ignore[arg-type]


@quick
@given(st.lists(counts, max_size=3), st.lists(st.integers(1, 12), max_size=6))
def test_figures_suppress_small_groups_and_complements(axes: list[dict[str, int]], days: list[int]) -> None:
    groups = [group(str(axis), name, n) for axis, sizes in enumerate(axes) for name, n in sizes.items()]
    n_raters = max((sum(sizes.values()) for sizes in axes), default=0)
    figures = CampaignFigures(
        scales={},
        primary_question=None,
        n_items=0,
        loads=(),
        hours=(TimeBucket(start=0, n_ratings=1, n_raters=1),),
        days=tuple(TimeBucket(start=day, n_ratings=n, n_raters=n) for day, n in enumerate(days)),
        times=(),
        pool=group("", "", n_raters),
        groups=tuple(groups),
        measures=(),
        gold=None,
        flagged=(),
    )
    suppressed = suppress_figures(figures)
    assert suppressed.hours == ()
    assert all(one.n_raters >= MIN_CELL for one in suppressed.days)
    assert all(one.n_raters == 0 or one.n_raters >= MIN_CELL for one in suppressed.groups)
    for axis, sizes in enumerate(axes):
        visible = {one.group: one.n_raters for one in suppressed.groups if one.axis == str(axis)}
        n_undeclared = n_raters - sum(sizes.values())
        all_sizes: dict[str, int] = {**sizes, "nobody knows": n_undeclared}
        hidden = [n for name, n in all_sizes.items() if name not in visible and name != "nobody knows"]
        # A single hidden group could be derived from the total; below the minimum in all, nothing is shown.
        assert len(hidden) != 1 or hidden[0] >= MIN_CELL or n_undeclared > 0 or n_raters < MIN_CELL
