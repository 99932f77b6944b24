"""Partial results of a plan: designs that were simulated before an interruption."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Result = TypeVar("Result", bound="DataclassInstance")


def forget(key: str, values: Mapping[str, Any]) -> None:
    """Store nothing."""


@dataclass(frozen=True, slots=True)
class PartialResults:
    """Results by design, as plain values; `store` is called with each new one.

    Each design has a seed of its own, so that results do not depend on which of them are new.

    Examples
    --------
    >>> from dissensus.pipeline.plan.cost import CostRates
    >>> known = {"a": {"currency": "GBP", "hourly_rate": 12, "minutes_per_item": 2}}
    >>> PartialResults(known).find_or_compute("a", CostRates, lambda: 1 / 0).hourly_rate
    12
    """

    known: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    store: Callable[[str, Mapping[str, Any]], None] = forget

    def find_or_compute(self, key: str, kind: type[Result], compute: Callable[[], Result]) -> Result:
        """Return the result of a design, computed and stored unless it is known."""
        if key in self.known:
            return kind(**self.known[key])
        result = compute()
        self.store(key, asdict(result))
        return result


NOTHING_STORED: Final = PartialResults()
