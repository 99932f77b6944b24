"""Plan of a sample, stored with it so that it can be repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.numbers import check_number, check_whole
from dissensus.text.near_duplicates import MIN_THRESHOLD
from dissensus.text.personal_data import KINDS, Kind

Rule = Literal["equal", "proportional"]
Allocation: TypeAlias = Rule | Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """Settings of a sample; see `curate`.

    Parameters
    ----------
    n
        Sample size; omit it if the allocation has a number for each stratum.
    by
        Attributes of items that define the strata; none for a simple random sample.
    sets
        Attributes of `by` with several values a cell, besides ``harm_type`` and ``topic``. An item belongs to the
        stratum of each of its values.
    allocation
        ``proportional`` to the sizes of strata after screening, ``equal``, or a number for each stratum by its name.
        Values of several attributes are joined in the order of `by`, as ``Yes × No``. Strata without a number are not
        sampled.
    fill
        Fill shortfalls of a stratum from the others.
    duplicates
        Jaccard similarity from which an item counts as a duplicate of an earlier one; None to keep all.
    personal_data
        Kinds of personal data for which items are excluded; see `find_personal_data`.
    seed
        Seed of the draw.

    Raises
    ------
    InvalidInput
        A setting is out of range or contradicts another.

    Examples
    --------
    >>> plan = SamplePlan(n=990, by="item_adversariality", seed=7)
    >>> SamplePlan.from_dict(plan.to_dict()) == plan
    True
    >>> SamplePlan(by=["safety_gold"], allocation={"Yes": 175, "No": 175}).n
    350
    """

    n: int = 0
    by: Sequence[str] = ()
    sets: Sequence[str] = ()
    allocation: Allocation = "proportional"
    fill: bool = False
    duplicates: float | None = None
    personal_data: Sequence[Kind] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("by", "sets", "personal_data"):
            object.__setattr__(self, name, _check_names(name, getattr(self, name)))
        unused = [name for name in self.sets if name not in self.by]
        if unused:
            raise InvalidInput(f"sets names {format_list(unused)}, which by does not. Name sets of by alone.")
        if isinstance(self.allocation, Mapping):
            object.__setattr__(self, "allocation", dict(self.allocation))
            object.__setattr__(self, "n", _sum_allocation(dict(self.allocation), self.by, self.n))
        elif self.allocation not in get_args(Rule):
            raise InvalidInput(
                f"allocation is {format_value(self.allocation)}; choose one of {', '.join(get_args(Rule))}, or give a "
                "number for each stratum."
            )
        if not isinstance(self.fill, bool):
            raise InvalidInput(f"fill is {format_value(self.fill)}; give True or False.")
        check_whole("n", self.n, 1)
        check_whole("seed", self.seed)
        if self.duplicates is not None:
            check_number("duplicates", self.duplicates, MIN_THRESHOLD, 1)
        unknown = next((kind for kind in self.personal_data if kind not in KINDS), None)
        if unknown is not None:
            hint = suggest(unknown, KINDS)
            raise InvalidInput(
                f"There is no kind {format_value(unknown)} of personal data.{hint} Known are {format_list(KINDS)}."
            )

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Return the plan that `to_dict` wrote.

        Raises
        ------
        InvalidInput
            It is not a mapping, has unknown keys, or a value is invalid.
        """
        if not isinstance(values, Mapping):
            raise InvalidInput(f"A plan is an object with names and values, not {format_value(values)}.")
        names = [field.name for field in fields(cls)]
        unknown = [name for name in values if name not in names]
        if unknown:
            raise InvalidInput(f"A plan has no {format_list(unknown)}; it has {format_list(names)}.")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {name: list(values[name]) for name in ("by", "sets", "personal_data")}


def _check_names(field: str, value: object) -> tuple[str, ...]:
    """Return one or several names as a tuple, or raise."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{field} is {format_value(value)}; give names as texts in a list.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{field} names {format_value(twice)} twice. Name it once.")
    return tuple(names)


def _sum_allocation(allocation: dict[str, int], by: Sequence[str], n: int) -> int:
    """Return the sample size of an allocation by name."""
    if not by:
        raise InvalidInput("The allocation names strata, but no attribute defines them. Give by as well.")
    if not allocation:
        raise InvalidInput("allocation is empty. Give a number for each stratum.")
    for stratum, number in allocation.items():
        check_whole(f"The number of {format_value(stratum)}", number, 1)
    total = sum(allocation.values())
    if n not in (0, total):
        raise InvalidInput(f"n is {n}, and the numbers of the strata sum to {total:,}. Leave n out, or correct one.")
    return total
