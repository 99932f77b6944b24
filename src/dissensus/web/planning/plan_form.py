"""Plan form: parse the fields of a question, and compute its plan."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from starlette.datastructures import FormData, UploadFile

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.plan.comparison import ComparisonSettings, plan_comparison
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.display import (
    comparison_plan_page,
    group_plan_page,
    pool_plan_page,
    precision_plan_page,
)
from dissensus.pipeline.plan.frontier import cross_sizes, plan_frontier
from dissensus.pipeline.plan.pilot import Pilot, measure_pilot
from dissensus.pipeline.plan.pool import PoolSettings, plan_pool
from dissensus.pipeline.plan.pool_parser import parse_axes, parse_removal
from dissensus.pipeline.plan.precision import plan_precision
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.pipeline.plan.shipped_presets import load_pilot
from dissensus.schema.campaign.definition import Campaign, Pay
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.money import to_major_units
from dissensus.web.core.forms import parse_whole_number, read_uploaded
from dissensus.web.planning.plan_fields import PlanField, PlanQuestion

if TYPE_CHECKING:
    from dissensus.pipeline.tables import Page
    from dissensus.report.planning.report import Plan
    from dissensus.stats.planning.comparison import ComparisonMetric
    from dissensus.stats.planning.simulated_power import PlannedStatistic

MAX_LENGTH: Final = 2000
"""Maximum characters of a field."""
MAX_ITEMS, MAX_RATERS, MAX_DESIGNS = 5_000, 2_000, 8
"""Limits of a plan on a page, whose computation delays other requests."""
SIMULATIONS: Final = 100
"""Simulated campaigns of a design on a page; the command line simulates more."""
MAX_ANSWERS: Final = 50_000_000
"""Maximum simulated answers of a plan, which take two seconds of processor time."""
MAX_COMPARED: Final = 10_000_000
"""Maximum simulated answers of a comparison, which take longer: six seconds of processor time."""
ASSUMED_MINUTES: Final = 2.0
"""Minutes of a rating if neither the form nor the pilot gives them."""
THOUSANDS: Final = re.compile(r"[1-9]\d{0,2},\d{3}")
"""A whole number with a separator of thousands, which would read as a small decimal number."""


@dataclass(frozen=True, slots=True)
class PlanTexts:
    """Fields of a form as they were typed."""

    question: PlanQuestion
    values: Mapping[str, str]
    pay: Pay | None
    pilot: UploadFile | None = None

    def check_lengths(self) -> None:
        """Raise `InvalidInput` for a longer text than allowed."""
        for name, text in self.values.items():
            if len(text) > MAX_LENGTH:
                raise InvalidInput(
                    f"“{self._label(name)}” has more than {MAX_LENGTH:,} characters. Shorten it, or use the command "
                    "dissensus plan."
                )

    def whole(self, name: str, minimum: int, maximum: int) -> int:
        """Return a whole number."""
        return parse_whole_number(self.values[name], f"in “{self._label(name)}”", minimum, maximum)

    def optional_whole(self, name: str, minimum: int, maximum: int) -> int | None:
        """Return a whole number, None for an empty field."""
        return self.whole(name, minimum, maximum) if self.values[name] else None

    def decimal(self, name: str) -> float:
        """Return a decimal number."""
        text = self.values[name]
        number = parse_decimal(text)
        if number is None:
            raise InvalidInput(
                f"{format_value(text)} is not a number in “{self._label(name)}”. Write one such as 0.1, or 2000 "
                "without a separator."
            )
        return number

    def numbers(self, name: str, maximum: int) -> tuple[int, ...]:
        """Return whole numbers separated by commas; empty for an empty field."""
        parts = [part for part in self.values[name].split(",") if part.strip()]
        if len(parts) > MAX_DESIGNS:
            raise InvalidInput(
                f"“{self._label(name)}” has {len(parts)} numbers, and a page computes {MAX_DESIGNS}. Give fewer, or "
                "use the command dissensus plan."
            )
        return tuple(parse_whole_number(part, f"in “{self._label(name)}”", 1, maximum) for part in parts)

    def lines(self, name: str) -> list[str]:
        """Return the lines that are not empty."""
        return [line.strip() for line in self.values[name].splitlines() if line.strip()]

    def choice(self, name: str) -> str:
        """Return one of the options of a field."""
        allowed = [value for value, _ in self._field(name).options]
        if self.values[name] not in allowed:
            raise InvalidInput(f"{format_value(self.values[name])} cannot be chosen. Choose {format_list(allowed)}.")
        return self.values[name]

    def _label(self, name: str) -> str:
        return self._field(name).label

    def _field(self, name: str) -> PlanField:
        return next(field for field in self.question.fields if field.name == name)


def parse_decimal(text: str) -> float | None:
    """Return a number with a decimal point or comma; None for any other text, and for a separator of thousands."""
    if THOUSANDS.fullmatch(text.strip()):
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def read_texts(form: FormData, question: PlanQuestion, campaign: Campaign) -> PlanTexts:
    """Return the fields of a form, with empty texts for missing ones."""
    values = {
        field.name: str(form.get(field.name, "")).strip()[: MAX_LENGTH + 1]
        for field in question.fields
        if field.kind != "file"
    }
    file = form.get("pilot")
    pilot = file if isinstance(file, UploadFile) and file.filename else None
    return PlanTexts(question, values, campaign.pay, pilot)


def compute_plan(texts: PlanTexts) -> "tuple[Plan, Page]":
    """Compute the plan that a form asks for, with its tables."""
    texts.check_lengths()
    return _COMPUTE[texts.question.name](texts)


def _compute_groups(texts: PlanTexts) -> "tuple[Plan, Page]":
    pilot = _read_pilot(texts)
    settings = GroupPlanSettings(
        difference=texts.decimal("difference"),
        statistic=cast("PlannedStatistic", texts.choice("statistic")),
        power=texts.decimal("power"),
        level=texts.decimal("level"),
        raters=texts.numbers("raters", MAX_RATERS),
        simulations=SIMULATIONS,
        rates=_read_rates(texts, pilot),
    )
    sizes = cross_sizes(settings, texts.numbers("n_items", MAX_ITEMS), texts.numbers("per_items", MAX_RATERS))
    if len(sizes) > MAX_DESIGNS:
        raise InvalidInput(
            f"These are {len(sizes)} sizes of the campaign, and a page computes {MAX_DESIGNS}. Give fewer numbers of "
            "items or ratings, or use the command dissensus plan."
        )
    plan = plan_frontier(pilot, sizes, most_answers=MAX_ANSWERS)
    return plan, group_plan_page(plan)


def _compute_precision(texts: PlanTexts) -> "tuple[Plan, Page]":
    pilot = _read_pilot(texts)
    plan = plan_precision(
        pilot,
        raters=texts.numbers("raters", MAX_RATERS),
        per_item=texts.numbers("per_items", MAX_RATERS),
        n_items=texts.whole("items", 1, MAX_ITEMS),
        groups=texts.whole("groups", 2, 50),
        rates=_read_rates(texts, pilot),
    )
    return plan, precision_plan_page(plan)


def _compute_pool(texts: PlanTexts) -> "tuple[Plan, Page]":
    removal, by_group = parse_removal(texts.lines("removal"))
    plan = plan_pool(
        PoolSettings(
            axes=parse_axes(texts.lines("axes")),
            seats=texts.whole("seats", 1, MAX_RATERS),
            dropout=texts.decimal("dropout"),
            removal=removal,
            group_removal=by_group,
            confidence=texts.decimal("confidence"),
            n_items=texts.whole("items", 1, MAX_ITEMS),
            per_item=texts.optional_whole("per_item", 1, MAX_RATERS),
            rates=_read_rates(texts, None),
        )
    )
    return plan, pool_plan_page(plan)


def _compute_comparison(texts: PlanTexts) -> "tuple[Plan, Page]":
    pilot = _read_pilot(texts)
    plan = plan_comparison(
        pilot,
        ComparisonSettings(
            metric=cast("ComparisonMetric", texts.choice("metric")),
            perturbation=texts.decimal("perturbation"),
            per_item=texts.numbers("per_items", MAX_RATERS),
            budget=texts.decimal("budget"),
            load=texts.whole("load", 1, MAX_ITEMS),
            same_raters=not texts.values["different_raters"],
            simulations=SIMULATIONS,
            rates=_read_rates(texts, pilot),
        ),
        most_answers=MAX_COMPARED,
    )
    return plan, comparison_plan_page(plan)


_COMPUTE: Final[Mapping[str, Callable[[PlanTexts], "tuple[Plan, Page]"]]] = {
    "groups": _compute_groups,
    "precision": _compute_precision,
    "pool": _compute_pool,
    "comparison": _compute_comparison,
}


def _read_pilot(texts: PlanTexts) -> Pilot:
    by = texts.values.get("by") or None
    if texts.pilot is None:
        return load_pilot(texts.choice("preset"), by=by)
    name = str(texts.pilot.filename)
    ratings = read_uploaded(name, texts.pilot.file.read(), read_ratings)
    return measure_pilot(ratings, source=name, by=by)


def _read_rates(texts: PlanTexts, pilot: Pilot | None) -> CostRates | None:
    if not texts.values["hourly_rate"]:
        return None
    default = (pilot.minutes_per_item if pilot is not None else None) or ASSUMED_MINUTES
    minutes = texts.decimal("minutes_per_item") if texts.values["minutes_per_item"] else default
    return CostRates(
        currency=texts.pay.currency if texts.pay else "GBP",
        hourly_rate=texts.decimal("hourly_rate"),
        minutes_per_item=minutes,
        finished=float(to_major_units(texts.pay.currency, texts.pay.finished)) if texts.pay else 0.0,
    )
