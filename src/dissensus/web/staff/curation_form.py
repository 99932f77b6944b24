"""Sampling form: parse a plan and draw the sample."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, cast

from starlette.datastructures import FormData

from dissensus.errors import DissensusError, InvalidInput
from dissensus.pipeline.curate import Allocation, SamplePlan, Selection, curate
from dissensus.schema.advice import site_message
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import MAX_COUNT
from dissensus.schema.records.item import Item
from dissensus.text.near_duplicates import MIN_THRESHOLD
from dissensus.text.personal_data import KINDS, Kind
from dissensus.web.core.forms import MAX_SEED, parse_whole_number

ALL_KINDS: Final = "all"
BY_NUMBERS: Final = "numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlanForm:
    """Raw fields of a sampling plan."""

    n: str = ""
    by: tuple[str, ...] = ()
    rule: str = "proportional"  # Allocation rule, or `BY_NUMBERS`
    numbers: str = ""
    fill: bool = False
    no_duplicates: bool = False
    similarity: str = "0.8"
    personal_data: tuple[str, ...] = ()
    seed: str = "0"


@dataclass(frozen=True, slots=True)
class DrawResult:
    """A drawn sample, or all faults of the form."""

    selection: Selection | None
    faults: tuple[str, ...] = ()


def read_plan_form(form: FormData) -> SamplePlanForm:
    """Read the fields of a plan, with defaults for missing ones."""
    values: dict[str, Any] = {}
    for field in fields(SamplePlanForm):
        texts = tuple(text for text in form.getlist(field.name) if isinstance(text, str))
        if isinstance(field.default, str):
            values[field.name] = texts[0] if texts else field.default
        else:
            values[field.name] = texts if isinstance(field.default, tuple) else bool(texts)
    return SamplePlanForm(**values)


def draw_sample(typed: SamplePlanForm, items: Sequence[Item]) -> DrawResult:
    """Draw a sample, or collect all faults of the fields and of the plan."""
    values, faults = _values(typed)
    try:
        if not faults:
            return DrawResult(curate(items, SamplePlan(**values)))
        curate(items, _plan_for_checks(values))
    except DissensusError as error:
        faults.append(site_message(error))
    return DrawResult(None, tuple(faults))


def _values(typed: SamplePlanForm) -> tuple[dict[str, Any], list[str]]:
    """Parse the fields of a plan, collecting faults."""
    values: dict[str, Any] = {"by": typed.by, "fill": typed.fill}
    faults = []
    for name, read in _READERS.items():
        try:
            values[name] = read(typed)
        except InvalidInput as error:
            faults.append(site_message(error))
    return values, faults


def _plan_for_checks(values: Mapping[str, Any]) -> SamplePlan:
    """Return a plan that is cheap to draw and checks the parsed fields against the items."""
    allocation = values.get("allocation", "proportional")
    if isinstance(allocation, Mapping):
        return SamplePlan(n=values.get("n", 0), by=values["by"], allocation=allocation)
    complete = "n" in values and "allocation" in values
    options = {"n": values["n"], "allocation": allocation} if complete else {"n": 1}
    return SamplePlan(by=values["by"], **options)


def _number(typed: SamplePlanForm) -> int:
    if not typed.n.strip():
        if typed.rule == BY_NUMBERS:
            return 0
        raise InvalidInput("The number of items is missing. Write a whole number, or a number for each stratum.")
    return parse_whole_number(typed.n, "of items", 1, MAX_COUNT)


def _allocation(typed: SamplePlanForm) -> Allocation:
    """Return the allocation rule, or the number for each named stratum."""
    lines = [line for line in typed.numbers.splitlines() if line.strip()]
    if typed.rule != BY_NUMBERS:
        if lines:
            raise InvalidInput(
                "There are numbers for strata, but another allocation is chosen. Choose numbers, or remove the lines."
            )
        return cast("Allocation", typed.rule)
    if not lines:
        raise InvalidInput("No stratum has a number. Write a line STRATUM = N for each stratum.")
    counts: dict[str, int] = {}
    for line in lines:
        name, number = _parse_line(line)
        if name in counts:
            raise InvalidInput(f"The numbers name {format_value(name)} twice. Name it once.")
        counts[name] = number
    return counts


def _parse_line(line: str) -> tuple[str, int]:
    name, equals, number = line.rpartition("=")
    if not equals or not name.strip():
        raise InvalidInput(
            f"{format_value(line)} is not of the form STRATUM = N. Write one such line for each stratum."
        )
    return name.strip(), parse_whole_number(number, f"for the stratum {format_value(name.strip())}", 1, MAX_COUNT)


def _similarity(typed: SamplePlanForm) -> float | None:
    if not typed.no_duplicates:
        return None
    try:
        value = float(typed.similarity)
    except ValueError:
        value = 0
    if not MIN_THRESHOLD <= value <= 1:
        raise InvalidInput(
            f"{format_value(typed.similarity)} is not a valid similarity of duplicates. "
            f"Write a number from {MIN_THRESHOLD} to 1, such as 0.8."
        )
    return value


def _kinds(typed: SamplePlanForm) -> Sequence[Kind]:
    return KINDS if ALL_KINDS in typed.personal_data else cast("Sequence[Kind]", typed.personal_data)


def _seed(typed: SamplePlanForm) -> int:
    return parse_whole_number(typed.seed, "for a seed", 0, MAX_SEED)


_READERS: Final[Mapping[str, Callable[[SamplePlanForm], Any]]] = {
    "n": _number,
    "allocation": _allocation,
    "duplicates": _similarity,
    "personal_data": _kinds,
    "seed": _seed,
}
