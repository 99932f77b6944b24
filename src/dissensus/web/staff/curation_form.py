"""A sample as staff ask for it in a form: what was typed, and what is drawn by it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from starlette.datastructures import FormData

from dissensus.errors import DissensusError, InvalidInput
from dissensus.pipeline.curate import Allocation, SamplePlan, Selection, curate
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import MAX_COUNT
from dissensus.schema.records.item import Item
from dissensus.text.near_duplicates import LEAST
from dissensus.text.personal_data import KINDS, Kind
from dissensus.web.core.forms import LARGEST_SEED, whole_number

EVERY_KIND: Final = "every"
BY_NUMBERS: Final = "numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What was typed, as it was: fields of a plan, which may be none yet."""

    n: str = ""
    by: tuple[str, ...] = ()
    rule: str = "proportional"  # How items are allotted: a rule, or by numbers
    numbers: str = ""
    fill: bool = False  # Whether that was ticked
    no_duplicates: bool = False
    similarity: str = "0.8"
    personal_data: tuple[str, ...] = ()
    seed: str = "0"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample, or everything that is wrong with what was typed."""

    selection: Selection | None
    faults: tuple[str, ...] = ()


def read_typed(sent: FormData) -> Typed:
    """Return what a form says of a plan; what it does not have is as in an empty one."""
    found: dict[str, Any] = {}
    for field in fields(Typed):
        texts = tuple(text for text in sent.getlist(field.name) if isinstance(text, str))
        if isinstance(field.default, str):
            found[field.name] = texts[0] if texts else field.default
        else:
            found[field.name] = texts if isinstance(field.default, tuple) else bool(texts)
    return Typed(**found)


def draw(typed: Typed, items: Sequence[Item]) -> Drawn:
    """Draw a sample; what is wrong with the fields, and with what they say of the items, is told together."""
    values, faults = _values(typed)
    try:
        if not faults:
            return Drawn(curate(items, SamplePlan(**values)))
        curate(items, _checking(values))
    except DissensusError as error:
        faults.append(str(error))
    return Drawn(None, tuple(faults))


def _values(typed: Typed) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a plan that can be read, and what is wrong with the others."""
    values: dict[str, Any] = {"by": typed.by, "fill": typed.fill}
    faults = []
    for name, read in _READERS.items():
        try:
            values[name] = read(typed)
        except InvalidInput as error:
            faults.append(str(error))
    return values, faults


def _checking(values: Mapping[str, Any]) -> SamplePlan:
    """Return a plan that meets the items with the fields that could be read, and is quick."""
    allocation = values.get("allocation", "proportional")
    if isinstance(allocation, Mapping):
        return SamplePlan(n=values.get("n", 0), by=values["by"], allocation=allocation)
    known = "n" in values and "allocation" in values
    wanted = {"n": values["n"], "allocation": allocation} if known else {"n": 1}
    return SamplePlan(by=values["by"], **wanted)


def _number(typed: Typed) -> int:
    if not typed.n.strip():
        if typed.rule == BY_NUMBERS:
            return 0
        raise InvalidInput("It is not said how many items are wanted. Write a whole number, or a number a stratum.")
    return whole_number(typed.n, "of items", 1, MAX_COUNT)


def _allocation(typed: Typed) -> Allocation:
    """Return a rule, or the number of each stratum that is named."""
    lines = [line for line in typed.numbers.splitlines() if line.strip()]
    if typed.rule != BY_NUMBERS:
        if lines:
            raise InvalidInput(
                "There are numbers of strata, and another allocation is chosen. Choose them, or no line."
            )
        return cast("Allocation", typed.rule)
    if not lines:
        raise InvalidInput("No stratum has a number. Write STRATUM = N, a line for each.")
    found: dict[str, int] = {}
    for line in lines:
        name, number = _line(line)
        if name in found:
            raise InvalidInput(f"The numbers name {format_value(name)} twice. Name it once.")
        found[name] = number
    return found


def _line(line: str) -> tuple[str, int]:
    name, equals, number = line.rpartition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"{format_value(line)} is no STRATUM = N. Write one such line for each stratum.")
    return name.strip(), whole_number(number, f"for the stratum {format_value(name.strip())}", 1, MAX_COUNT)


def _similarity(typed: Typed) -> float | None:
    if not typed.no_duplicates:
        return None
    try:
        value = float(typed.similarity)
    except ValueError:
        value = 0
    if not LEAST <= value <= 1:
        raise InvalidInput(
            f"{format_value(typed.similarity)} is no similarity of duplicates. Write a number from {LEAST} to 1, such as 0.8."
        )
    return value


def _kinds(typed: Typed) -> Sequence[Kind]:
    return KINDS if EVERY_KIND in typed.personal_data else cast("Sequence[Kind]", typed.personal_data)


def _seed(typed: Typed) -> int:
    return whole_number(typed.seed, "for a seed", 0, LARGEST_SEED)


_READERS: Final[Mapping[str, Callable[[Typed], Any]]] = {
    "n": _number,
    "allocation": _allocation,
    "duplicates": _similarity,
    "personal_data": _kinds,
    "seed": _seed,
}
