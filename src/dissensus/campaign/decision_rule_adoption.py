"""Adoption of a decision rule: one decision of a comparison, as `benchmark --decisions` writes it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.numbers import MAX_COST

MAX_FILE_LENGTH: Final = 2**26
MAX_COUNT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedRule:
    """A decision rule with its costs and settings, its numbers in the comparison, and the SHA-256 of the comparison."""

    decision: str
    rule: str
    block_cost: float
    miss_cost: float
    at_least: float | None  # share of unsafe answers in a group that blocks; only of the rule any-group
    questions: tuple[str, ...]
    unsafe: tuple[str, ...]
    axes: tuple[str, ...]
    seats: Mapping[str, int] | None  # of the rule jury
    n_blocked: int
    n_items: int
    min_raters: int  # minimum raters of a group
    n_raters: int
    sha256: str

    def as_event(self) -> dict[str, Any]:
        """Return the content of the event in the audit log."""
        content = asdict(self)
        return {**content, **{name: list(content[name]) for name in ("questions", "unsafe", "axes")}}


def read_adopted_rule(content: bytes, decision: str) -> AdoptedRule:
    """Return one decision of a comparison in JSON.

    Examples
    --------
    >>> content = json.dumps({
    ...     "settings": {"questions": ["Q_overall"], "unsafe": ["Yes"], "axes": [], "at_least": 0.5, "min_raters": 8},
    ...     "n_items": 2, "n_raters": 3,
    ...     "decisions": [{"name": "share", "rule": "share", "block_cost": 1.0, "miss_cost": 4.0, "n_blocked": 1}],
    ... }).encode()
    >>> read_adopted_rule(content, "share").miss_cost
    4.0
    """
    document = _parse(content)
    names = [str(part["name"]) for part in document["decisions"]]
    if decision not in names:
        raise NotFound(
            f"The comparison has no decision {decision!r}.{suggest(decision, names)} There are {format_list(names)}."
        )
    part = document["decisions"][names.index(decision)]
    try:
        settings = document["settings"]
        rule = AdoptedRule(
            decision=decision,
            rule=str(part["rule"]),
            block_cost=_check_number(part["block_cost"], MAX_COST),
            miss_cost=_check_number(part["miss_cost"], MAX_COST),
            at_least=_check_number(settings["at_least"], 1) if part["rule"] == "any-group" else None,
            questions=_list_texts(settings["questions"]),
            unsafe=_list_texts(settings["unsafe"]),
            axes=_list_texts(settings["axes"]),
            seats=_read_seats(settings["seats"]) if part["rule"] == "jury" else None,
            n_blocked=_check_count(part["n_blocked"], int(document["n_items"])),
            n_items=_check_count(document["n_items"]),
            min_raters=_check_count(settings["min_raters"]),
            n_raters=_check_count(document["n_raters"]),
            sha256=hashlib.sha256(content).hexdigest(),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _not_a_comparison() from None
    return rule


def _check_number(value: object, most: float) -> float:
    """Return a number above 0 and at most `most`; raise ValueError for anything else."""
    if type(value) not in (int, float) or not 0 < value <= most:  # type: ignore[operator]
        raise ValueError
    return float(value)  # type: ignore[arg-type]


def _check_count(value: object, most: int = MAX_COUNT) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError
    return value


def _read_seats(value: Mapping[str, Any]) -> dict[str, int]:
    if not isinstance(value, dict) or not value:
        raise TypeError
    return {str(group): _check_count(n) for group, n in value.items()}


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _parse(content: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(content, parse_constant=_refuse_constant) if len(content) <= MAX_FILE_LENGTH else None
    except (ValueError, RecursionError):
        document = None
    decisions = document.get("decisions") if isinstance(document, dict) else None
    valid = isinstance(decisions, list) and decisions and all(isinstance(part, dict) for part in decisions)
    if not isinstance(document, dict) or not valid or not all("name" in part for part in decisions or ()):
        raise _not_a_comparison()
    return document


def _list_texts(value: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(map(str, value))


def _not_a_comparison() -> InvalidInput:
    return InvalidInput(
        "This is not a comparison of decisions. Write one: dissensus benchmark RATINGS --decisions -o comparison.json"
    )
