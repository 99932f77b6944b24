"""Items and ratings of an item that tell two chatbots apart under a budget."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.partial import NOTHING_STORED, PartialResults
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.schema.hints import count_noun
from dissensus.schema.numbers import check_number, check_whole
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.planning.comparison import (
    ComparisonDesign,
    ComparisonMetric,
    ComparisonPower,
    simulate_comparison,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSettings:
    """Question, budget and designs of a comparison of two chatbots or models."""

    metric: ComparisonMetric = "share"
    perturbation: float = 0.1  # share of the answers to the second that differ
    per_item: tuple[int, ...] = (1, 2, 5, 10, 20)  # ratings of a response, a design each
    budget: float | None = None  # money, for which rates are needed
    n_ratings: int | None = None  # answers in all, in place of money
    load: int = 20  # answers of a rater
    same_raters: bool = True  # raters of an item answer about both responses
    simulations: int = 1000
    seed: int = 0
    rates: CostRates | None = None

    def __post_init__(self) -> None:
        check_number("perturbation", self.perturbation, 0.001, 1)
        check_whole("load", self.load, 1, 100_000)
        check_whole("simulations", self.simulations, 100, 100_000)
        check_whole("seed", self.seed)
        if not self.per_item:
            raise InvalidInput("There is no number of ratings of a response. Give some, such as 1, 5 and 20.")
        for k in self.per_item:
            check_whole("per_item", k, 1, 100_000)
        if (self.budget is None) == (self.n_ratings is None):
            raise InvalidInput("Give either a budget or a number of ratings.")
        if self.n_ratings is not None:
            check_whole("n_ratings", self.n_ratings, 1)
        if self.budget is not None:
            check_number("budget", self.budget, 0)
            if self.rates is None:
                raise InvalidInput("A budget buys ratings at a rate of pay. Give the pay of an hour, such as 12.")
            if self.rates.money(self.load, 1) <= 0:
                raise InvalidInput(f"At {self.rates.hourly_rate:g} an hour a rater costs nothing. Give pay above 0.")

    @property
    def n_responses(self) -> int:
        """Number of responses to an item that people answer about."""
        return 2 if self.metric == "share" else 1

    @property
    def n_raters(self) -> int:
        """Raters that the budget pays."""
        if self.budget is None or self.rates is None:
            return max(0, (self.n_ratings or 0) // self.load)
        n_raters = self.rates.count_affordable(self.load, self.budget)
        if n_raters < 1:
            seat = self.rates.money(self.load, 1)
            raise InvalidInput(
                f"A budget of {self.budget:,.2f} is below one seat: a rater with {self.load} answers costs {seat:,.2f} "
                f"{self.rates.currency}. Raise the budget, or give raters fewer answers."
            )
        return n_raters


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """A design with its power, for other raters of each answer and for raters who stay."""

    n_items: int
    per_item: int
    n_raters: int
    n_ratings: int
    independent: ComparisonPower
    stayed: ComparisonPower
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPlan(JsonResult):
    """Designs of a comparison under a budget; `best` is the number of ratings of a response with most power."""

    settings: ComparisonSettings
    pilot: Pilot
    dirichlet: tuple[float, ...]
    rater_share: float
    rows: tuple[ComparisonRow, ...]
    best: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "schema_version": 1,
            "question": "comparison",
            **asdict(self),
            "campaign": {"replication": self.best, "max_items": self.settings.load},
        }


def plan_comparison(
    pilot: Pilot,
    settings: ComparisonSettings,
    *,
    most_answers: int | None = None,
    partial: PartialResults = NOTHING_STORED,
    progress: Callable[[float], None] | None = None,
) -> ComparisonPlan:
    """Simulate the comparison for each number of ratings of a response; `progress` gets the share of work done.

    With `most_answers` a plan of more simulated answers is refused; designs in `partial` are not simulated again.
    """
    if pilot.dirichlet is None:
        raise InvalidInput(f"{pilot.source} has no distribution of answers over items. Name a ratings file.")
    n_answers = settings.n_raters * settings.load * settings.simulations * len(settings.per_item)
    if most_answers is not None and n_answers > most_answers:
        raise InvalidInput(
            f"{n_answers:,} answers are too many to be simulated here. Plan a smaller budget or fewer designs, or use "
            "the command dissensus plan comparison."
        )
    model = pilot.model
    rater_share = model.rater_sd**2 / (model.rater_sd**2 + model.group_item_sd**2 + 1)
    rows = []
    for index, k in enumerate(settings.per_item):
        rows.append(_simulate_design(pilot.dirichlet, settings, rater_share, k, partial))
        if progress is not None:
            progress((index + 1) / len(settings.per_item))
    best = max(rows, key=lambda row: row.stayed.power)
    return ComparisonPlan(
        settings=settings,
        pilot=pilot,
        dirichlet=pilot.dirichlet,
        rater_share=rater_share,
        rows=tuple(rows),
        best=best.per_item,
    )


def _simulate_design(
    dirichlet: tuple[float, ...],
    settings: ComparisonSettings,
    rater_share: float,
    per_item: int,
    partial: PartialResults,
) -> ComparisonRow:
    n_raters = settings.n_raters
    available = n_raters if settings.same_raters or settings.n_responses == 1 else n_raters // 2
    if per_item > available:
        raise InvalidInput(
            f"{count_noun(per_item, 'rating')} of a response cannot come from {count_noun(available, 'rater')} "
            f"with {count_noun(settings.load, 'answer')} each. {_describe_remedy(settings)}, give raters fewer "
            "answers, or ask for fewer ratings of a response."
        )
    n_items = n_raters * settings.load // (per_item * settings.n_responses)
    if n_items < 1:
        raise InvalidInput(
            f"{n_raters * settings.load:,} answers are fewer than the {per_item * settings.n_responses:,} for "
            f"{count_noun(per_item, 'rating')} of each response. {_describe_remedy(settings)}, or ask for fewer of "
            "each."
        )
    design = ComparisonDesign(n_items=n_items, per_item=per_item, n_raters=n_raters, same_raters=settings.same_raters)

    def simulate(place: int, share: float) -> ComparisonPower:
        return simulate_comparison(
            dirichlet,
            design,
            metric=settings.metric,
            perturbation=settings.perturbation,
            rater_share=share,
            n_simulations=settings.simulations,
            seed=np.random.SeedSequence([settings.seed, per_item, place]),
        )

    independent, stayed = (
        partial.find_or_compute(f"{per_item}-{place}", ComparisonPower, lambda p=place, s=share: simulate(p, s))  # type: ignore[misc]
        for place, share in enumerate((0.0, rater_share))
    )
    return ComparisonRow(
        n_items=n_items,
        per_item=per_item,
        n_raters=n_raters,
        n_ratings=n_items * per_item * settings.n_responses,
        independent=independent,
        stayed=stayed,
        cost=settings.rates.money(settings.load, n_raters) if settings.rates else None,
    )


def _describe_remedy(settings: ComparisonSettings) -> str:
    return "Give more ratings" if settings.budget is None else "Raise the budget"
