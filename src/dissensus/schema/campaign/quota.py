"""Quotas: target numbers of raters for each cell of crossed axes."""

from collections.abc import Mapping
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
"""The groups of one axis, each with the answers that belong to it."""

REST: Final = "rest"
"""The cell of whoever is in no group of some axis: who declined, described themselves, or gave several answers."""


DEFAULT_HOLD: Final = 120
"""Minutes."""


def no_groups() -> Mapping[str, Groups]:
    """Return the axes of a quota that has none."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaCell:
    """A cell with its own number of seats."""

    groups: Mapping[str, str]  # one on each axis
    seats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Target numbers of raters for each cell of crossed axes, by self-description.

    Examples
    --------
    >>> quota = Quota(axes={"rater_age": {"young": ("18-24",), "old": ("25+",)}}, seats=10, rest=4, margin_percent=15)
    >>> quota.cell_of({"rater_age": "18-24"}), quota.cell_of({"rater_age": "Prefer not to answer"})
    ('young', 'rest')
    >>> quota.targets, quota.places
    ({'young': 10, 'old': 10, 'rest': 4}, {'young': 12, 'old': 12, 'rest': 5})
    """

    axes: Mapping[str, Groups] = field(default_factory=no_groups)
    seats: int  # of each cell that `cells` does not name
    rest: int = 0  # of raters outside all groups
    cells: tuple[QuotaCell, ...] = ()  # cells with their own number
    margin_percent: int = 0  # over-recruitment: of DICES-350's 123 raters 104 were left
    hold_minutes: int = DEFAULT_HOLD  # of idle raters
    source: QuotaSource = "screener"  # ``recruiter``: a link for each cell, and axes are asked later
    balanced: bool = False  # each item is rated by a share of each cell

    @property
    def targets(self) -> dict[str, int]:
        """Target number of raters of each cell, 0 included; the rest comes last."""
        own = {self._name(cell.groups): cell.seats for cell in self.cells}
        names = [CROSSED.join(groups) for groups in product(*self.axes.values())]
        return {**{name: own.get(name, self.seats) for name in names}, **({REST: self.rest} if self.rest else {})}

    @property
    def places(self) -> dict[str, int]:
        """Capacity of each cell: its target plus the margin."""
        # Whole numbers: with 10 seats and 10 % it is 11, where 10 * 1.1 is a little more than 11.
        return {name: ceil(seats * (100 + self.margin_percent) / 100) for name, seats in self.targets.items()}

    def cell_of(self, answers: Mapping[str, Answer]) -> str:
        """Return the cell of a rater by what they say of themselves.

        Who gives several answers to one question is in a group if all of them belong to it, and else in the rest.
        """
        found = [_group_of(groups, answers.get(axis)) for axis, groups in self.axes.items()]
        known = [group for group in found if group is not None]
        return CROSSED.join(known) if len(known) == len(found) else REST

    def shares(self, replication: int) -> dict[str, int]:
        """Return how many of each cell are to rate each item, in proportion to the seats by largest remainders.

        Examples
        --------
        >>> Quota(axes={"rater_x": {"a": ("A",), "b": ("B",)}}, seats=10, rest=5).shares(6)
        {'a': 3, 'b': 2, 'rest': 1}
        """
        targets = self.targets
        total = sum(targets.values())
        whole = {name: replication * seats // total for name, seats in targets.items()}
        left = replication - sum(whole.values())
        by_remainder = sorted(targets, key=lambda name: -(replication * targets[name] % total))
        return {name: n + (name in by_remainder[:left]) for name, n in whole.items()}

    def _name(self, groups: Mapping[str, str]) -> str:
        return CROSSED.join(groups[axis] for axis in self.axes)


def _group_of(groups: Groups, answer: Answer | None) -> str | None:
    given = {answer} if isinstance(answer, str) else set(answer or ())
    return next((name for name, answers in groups.items() if given and given <= set(answers)), None)
