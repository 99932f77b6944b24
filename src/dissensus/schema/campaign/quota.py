"""Quotas: target numbers of raters for each cell of crossed axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import ceil
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from dissensus.schema.questionnaire.question import Answer
from dissensus.schema.ratings.columns import CROSSED

QuotaSource: TypeAlias = Literal["screener", "recruiter"]
SOURCES: Final[tuple[QuotaSource, ...]] = get_args(QuotaSource)
Groups: TypeAlias = Mapping[str, tuple[str, ...]]
"""Groups of one axis, with the answers of each."""

REST: Final = "rest"
"""Cell of raters outside the groups of an axis: they declined, described themselves, or gave several answers."""

DEFAULT_HOLD: Final = 120
"""Minutes for which the seat of an idle rater is held."""


def no_groups() -> Mapping[str, Groups]:
    """Return an empty mapping of axes."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaCell:
    """A cell with its own number of seats."""

    groups: Mapping[str, str]  # one per axis
    seats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Target numbers of raters for each cell of crossed axes, by self-description.

    Examples
    --------
    >>> quota = Quota(axes={"rater_age": {"young": ("18-24",), "old": ("25+",)}}, seats=10, rest=4, margin_percent=15)
    >>> quota.cell_of({"rater_age": "18-24"}), quota.cell_of({"rater_age": "Prefer not to answer"})
    ('young', 'rest')
    >>> quota.targets, quota.capacities
    ({'young': 10, 'old': 10, 'rest': 4}, {'young': 12, 'old': 12, 'rest': 5})
    """

    axes: Mapping[str, Groups] = field(default_factory=no_groups)
    seats: int  # of each cell that `cells` does not name
    rest: int = 0  # of raters outside all groups
    cells: tuple[QuotaCell, ...] = ()  # cells with their own number
    margin_percent: int = 0  # over-recruitment; DICES-350 kept 104 of 123 raters
    hold_minutes: int = DEFAULT_HOLD  # idle minutes after which another rater may claim a seat
    source: QuotaSource = "screener"  # ``recruiter``: a link per cell, and the axes are asked later
    balanced: bool = False  # each item is rated by a share of each cell

    @property
    def targets(self) -> dict[str, int]:
        """Target number of raters per cell, including 0; the rest is last."""
        overrides = {self._name(cell.groups): cell.seats for cell in self.cells}
        names = [CROSSED.join(groups) for groups in product(*self.axes.values())]
        return {**{name: overrides.get(name, self.seats) for name in names}, **({REST: self.rest} if self.rest else {})}

    @property
    def capacities(self) -> dict[str, int]:
        """Capacity of each cell: its target plus the margin."""
        # In integers, since 10 * 1.1 is slightly more than 11.
        return {name: ceil(seats * (100 + self.margin_percent) / 100) for name, seats in self.targets.items()}

    def cell_of(self, answers: Mapping[str, Answer]) -> str:
        """Return the cell of a rater from self-descriptions; several answers to a question must be in one group."""
        groups = [_find_group(groups, answers.get(axis)) for axis, groups in self.axes.items()]
        names = [group for group in groups if group is not None]
        return CROSSED.join(names) if len(names) == len(groups) else REST

    def shares(self, replication: int) -> dict[str, int]:
        """Return the number of raters of each cell per item, in proportion to the seats, by largest remainders.

        Examples
        --------
        >>> Quota(axes={"rater_x": {"a": ("A",), "b": ("B",)}}, seats=10, rest=5).shares(6)
        {'a': 3, 'b': 2, 'rest': 1}
        """
        targets = self.targets
        return dict(zip(targets, share_by_remainders(replication, list(targets.values())), strict=True))

    def _name(self, groups: Mapping[str, str]) -> str:
        return CROSSED.join(groups[axis] for axis in self.axes)


def share_by_remainders(n: int, sizes: Sequence[int]) -> list[int]:
    """Divide n in proportion to sizes by largest remainders; ties to the earlier.

    Examples
    --------
    >>> share_by_remainders(5, [10, 10]), share_by_remainders(12, [25, 79])
    ([3, 2], [3, 9])
    """
    total = sum(sizes)
    shares = [n * size // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda cell: -(n * sizes[cell] % total))
    for cell in by_remainder[: n - sum(shares)]:
        shares[cell] += 1
    return shares


def _find_group(groups: Groups, answer: Answer | None) -> str | None:
    answers = {answer} if isinstance(answer, str) else set(answer or ())
    return next((name for name, members in groups.items() if answers and answers <= set(members)), None)
