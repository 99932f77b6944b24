"""Numbers of few are hidden, and cannot be worked out."""

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.pipeline.monitor import CampaignFigures, GroupFigures, PoolAgreement, TimeBucket
from dissensus.stats.suppression import MIN_CELL
from dissensus.web.core.suppression import suppress_figures

counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12), max_size=6)


def group(axis: str, name: str, n_raters: int) -> GroupFigures:
    known = {"n_ratings": n_raters, "fewest": 0, "most": 0, "answers": {}, "times": None}
    return GroupFigures(axis=axis, group=name, n_raters=n_raters, agreement=PoolAgreement(estimate=None), **known)  # type: ignore[arg-type]


@quick
@given(st.lists(counts, max_size=3), st.lists(st.integers(1, 12), max_size=6))
def test_figures_show_no_group_of_few_nor_what_would_tell_of_one(axes: list[dict[str, int]], days: list[int]) -> None:
    groups = [group(str(axis), name, n) for axis, sizes in enumerate(axes) for name, n in sizes.items()]
    n_raters = max((sum(sizes.values()) for sizes in axes), default=0)
    figures = CampaignFigures(
        scales={},
        counted=None,
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
    shown = suppress_figures(figures)
    assert shown.hours == ()
    assert all(one.n_raters >= MIN_CELL for one in shown.days)
    assert all(one.n_raters == 0 or one.n_raters >= MIN_CELL for one in shown.groups)
    for axis, sizes in enumerate(axes):
        known = {one.group: one.n_raters for one in shown.groups if one.axis == str(axis)}
        rest = n_raters - sum(sizes.values())
        whole: dict[str, int] = {**sizes, "nobody knows": rest}
        hidden = [n for name, n in whole.items() if name not in known and name != "nobody knows"]
        # What is hidden is never one group of few that the total would tell; of fewer in all nothing is shown.
        assert len(hidden) != 1 or hidden[0] >= MIN_CELL or rest > 0 or n_raters < MIN_CELL
