"""Numbers of few are hidden, and cannot be worked out."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.pipeline.monitor import Agreement, Figures, Group, Stretch
from dissensus.web.core.suppression import LEAST, suppressed, without_few

counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12), max_size=6)


def could_be(shown: Mapping[str, int | None], total: int) -> dict[str, set[int]]:
    """Return what each hidden number could be, for somebody who knows the total and how numbers are hidden."""
    hidden = [group for group, n in shown.items() if n is None]
    rest = total - sum(n for n in shown.values() if n is not None)
    found: dict[str, set[int]] = {group: set() for group in hidden}
    for values in _sums(len(hidden), rest):
        whole = {**shown, **dict(zip(hidden, values, strict=True))}
        if suppressed({group: n or 0 for group, n in whole.items()}) == shown:
            for group, n in zip(hidden, values, strict=True):
                found[group].add(n)
    return found


def _sums(n: int, total: int) -> list[tuple[int, ...]]:
    if n == 0:
        return [()] if total == 0 else []
    return [(first, *others) for first in range(total + 1) for others in _sums(n - 1, total - first)]


@quick
@given(counts)
def test_no_number_of_few_is_shown(numbers: dict[str, int]) -> None:
    shown = suppressed(numbers)
    assert all(n is None or n == 0 or n >= LEAST for n in shown.values())
    assert all(n is None or n == numbers[group] for group, n in shown.items())
    assert list(shown) == list(numbers)


@quick
@given(st.lists(st.integers(0, 8), min_size=2, max_size=3))
def test_a_total_gives_no_number_of_few_away(numbers: list[int]) -> None:
    whole = dict(zip("abc", numbers, strict=False))
    if sum(numbers) >= LEAST:
        found = could_be(suppressed(whole), sum(numbers))
        assert all(len(values) > 1 for values in found.values())


@quick
@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(LEAST, 99)))
def test_nothing_is_hidden_where_all_are_many(numbers: dict[str, int]) -> None:
    assert suppressed(numbers) == numbers


def group(axis: str, name: str, n_raters: int) -> Group:
    known = {"n_ratings": n_raters, "fewest": 0, "most": 0, "answers": {}, "times": None}
    return Group(axis=axis, group=name, n_raters=n_raters, agreement=Agreement(estimate=None), **known)  # type: ignore[arg-type]


@quick
@given(st.lists(counts, max_size=3), st.lists(st.integers(1, 12), max_size=6))
def test_figures_show_no_group_of_few_nor_what_would_tell_of_one(axes: list[dict[str, int]], days: list[int]) -> None:
    groups = [group(str(axis), name, n) for axis, sizes in enumerate(axes) for name, n in sizes.items()]
    n_raters = max((sum(sizes.values()) for sizes in axes), default=0)
    figures = Figures(
        scales={},
        counted=None,
        n_items=0,
        loads=(),
        hours=(Stretch(start=0, n_ratings=1, n_raters=1),),
        days=tuple(Stretch(start=day, n_ratings=n, n_raters=n) for day, n in enumerate(days)),
        times=(),
        pool=group("", "", n_raters),
        groups=tuple(groups),
        measures=(),
        gold=None,
        flagged=(),
    )
    shown = without_few(figures)
    assert shown.hours == ()
    assert all(one.n_raters >= LEAST for one in shown.days)
    assert all(one.n_raters == 0 or one.n_raters >= LEAST for one in shown.groups)
    for axis, sizes in enumerate(axes):
        known = {one.group: one.n_raters for one in shown.groups if one.axis == str(axis)}
        rest = n_raters - sum(sizes.values())
        whole: dict[str, int] = {**sizes, "nobody knows": rest}
        hidden = [n for name, n in whole.items() if name not in known and name != "nobody knows"]
        # What is hidden is never one group of few that the total would tell; of fewer in all nothing is shown.
        assert len(hidden) != 1 or hidden[0] >= LEAST or rest > 0 or n_raters < LEAST
