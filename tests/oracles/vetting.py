"""Evidence on raters, by rater and by rating."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import median

Rated = Sequence[tuple[int, int, int]]
"""Item, rater and answer of each rating."""


def below(times: Mapping[int, Sequence[float]], part: Fraction) -> dict[int, Fraction | None]:
    """Share of each rater's times below a part of the median of all; None without times."""
    pool = [Fraction(t) for own in times.values() for t in own]
    if not pool:
        return dict.fromkeys(times)
    border = median(pool) * part
    return {r: Fraction(sum(Fraction(t) < border for t in own), len(own)) if own else None for r, own in times.items()}


def agreement(rated: Rated, rater: int, groups: Mapping[int, int]) -> Fraction | None:
    """Share of a rater's answers that are the most frequent among others of the group; ties count by their share."""
    values = []
    for item, rater_id, answer in rated:
        if rater_id != rater or groups[rater] < 0:
            continue
        other_answers = Counter(k for i, r, k in rated if i == item and r != rater and groups[r] == groups[rater])
        if other_answers:
            modes = [k for k, n in other_answers.items() if n == max(other_answers.values())]
            values.append(Fraction(answer in modes, len(modes)))
    return sum(values, Fraction(0)) / len(values) if values else None
