"""Allocation of a sample to strata."""

from collections.abc import Sequence


def allocate_proportionally(n: int, left: Sequence[int]) -> list[int]:
    """Divide n in proportion to what is left of each stratum, by largest remainders; ties to the larger, the earlier.

    Examples
    --------
    >>> allocate_proportionally(10, [500, 300, 200]), allocate_proportionally(3, [10, 10])
    ([5, 3, 2], [2, 1])
    """
    total = sum(left)
    given = [n * size // total for size in left]
    by_remainder = sorted(range(len(left)), key=lambda place: (-(n * left[place] % total), -left[place]))
    for place in by_remainder[: n - sum(given)]:
        given[place] += 1
    return given


def allocate_equally(n: int, left: Sequence[int]) -> list[int]:
    """Divide n evenly, with what remains for those of which most is left; ties to the earlier.

    Examples
    --------
    >>> allocate_equally(11, [5, 90, 40])
    [3, 4, 4]
    """
    share, rest = divmod(n, len(left))
    given = [share] * len(left)
    for place in sorted(range(len(left)), key=lambda place: -left[place])[:rest]:
        given[place] += 1
    return given


def fill_strata(wanted: Sequence[int], left: Sequence[int]) -> list[int]:
    """Return what each stratum gives, where the others share evenly in what some have too few of.

    Examples
    --------
    >>> fill_strata([4, 4, 4], [1, 5, 9])
    [1, 5, 6]
    """
    given = [min(pair) for pair in zip(wanted, left, strict=True)]
    while short := min(sum(wanted), sum(left)) - sum(given):
        room = [place for place, size in enumerate(left) if size > given[place]][:short]
        for place in room:
            given[place] += min(max(1, short // len(room)), left[place] - given[place])
    return given
