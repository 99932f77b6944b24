"""Report of a plan: its figures and tables as a page."""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.comparison import ComparisonPlan
from dissensus.pipeline.plan.groups import GroupPlan
from dissensus.pipeline.plan.interim import InterimLook
from dissensus.pipeline.plan.pool import PoolPlan
from dissensus.pipeline.plan.precision import PrecisionPlan
from dissensus.pipeline.tables import Page
from dissensus.report.figure import Figure
from dissensus.report.methods import Method
from dissensus.report.planning.comparison import comparison_figures
from dissensus.report.planning.groups import power_figures
from dissensus.report.planning.interim import interim_figures
from dissensus.report.planning.pool import pool_figures
from dissensus.report.planning.precision import precision_figures
from dissensus.report.result import Document
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable

Plan = GroupPlan | PrecisionPlan | PoolPlan | ComparisonPlan | InterimLook
_FIGURES: Final[dict[type, tuple[str, Callable[[Any], Iterator[Figure]]]]] = {
    GroupPlan: ("Plan of a comparison of groups", power_figures),
    PrecisionPlan: ("Plan of precision", precision_figures),
    PoolPlan: ("Plan of a pool", pool_figures),
    ComparisonPlan: ("Plan of a comparison of chatbots", comparison_figures),
    InterimLook: ("Interim look", interim_figures),
}
WORDS: Final = "n are raters of a group, p the share of the answer among them, L the items of a rater."
METHODS: Final = (
    Method(
        "Variance of a difference",
        r"V = \sum_g \frac{p_g (1 - p_g)}{n_g L_g} \left( 1 - \rho_i + (L_g - 1) \rho_r \right)",
        "That of independent answers times a design effect, by the shares of variance of raters and of items.",
        "Kish (1965), Survey Sampling",
        ("plan",),
    ),
)


def plan_figures(plan: Plan) -> tuple[Figure, ...]:
    """Return the figures of a plan."""
    return tuple(_FIGURES[type(plan)][1](plan))


def plan_report(plan: Plan, page: Page, *, command: str = "") -> Document:
    """Make a report of a plan, whose tables are those of its page."""
    if type(plan) not in _FIGURES:
        raise InvalidInput(f"{type(plan).__name__} is not a plan. Give the result of plan_groups, or of another plan.")
    title, _ = _FIGURES[type(plan)]
    table = ReportTable(name="designs", title="Numbers", reading="", grids=page.grids, table=pl.DataFrame())
    figures = plan_figures(plan)
    settings = getattr(plan, "settings", None)
    return Document(
        title=title,
        summary=page.summary,
        sizes=(),
        sections=(Section("plan", "Figures and numbers", "", (*figures, table)),),
        command=command or "dissensus.report.planning",
        notes=page.notes,
        version=version("dissensus"),
        seed=getattr(settings, "seed", None),
        methods=METHODS if isinstance(plan, GroupPlan | PrecisionPlan) else (),
        words=WORDS,
    )
