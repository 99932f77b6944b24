"""Figure of a comparison of chatbots: power by ratings of a response."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from dissensus.pipeline.plan.comparison import ComparisonPlan
from dissensus.pipeline.tables import format_short
from dissensus.report.figure import Figure
from dissensus.report.planning.curves import Curve, CurvePanel, CurvePoint, draw_panels
from dissensus.schema.hints import count_noun

SERIES: Final = {"stayed": "raters who stay", "independent": "other raters for each answer"}


def comparison_figures(plan: ComparisonPlan) -> Iterator[Figure]:
    """Yield the power of the designs by their ratings of a response."""
    yield comparison_power(plan)


def comparison_power(plan: ComparisonPlan) -> Figure:
    """Draw power by ratings of a response, with raters who stay and with other raters for each answer.

    Examples
    --------
    >>> from dissensus.pipeline.plan.comparison import ComparisonSettings, plan_comparison
    >>> from dissensus.pipeline.plan.shipped_presets import load_pilot
    >>> settings = ComparisonSettings(n_ratings=400, per_item=(1, 5), perturbation=0.5, simulations=100)
    >>> print(comparison_power(plan_comparison(load_pilot("dices-350"), settings)).reading)
    1 rating of a response has most power with raters who stay, 1.00; a plan for independent answers has 1.00.
    """
    curves = tuple(
        Curve(words, tuple(CurvePoint(row.per_item, getattr(row, name).power) for row in plan.rows))
        for name, words in SERIES.items()
    )
    panel = CurvePanel(title="power", x_title="ratings of a response", curves=curves, percent=True)
    best = next(row for row in plan.rows if row.per_item == plan.best)
    verb = "has" if plan.best == 1 else "have"
    return Figure(
        name="plan-comparison",
        title="Power under the budget",
        reading=f"{count_noun(plan.best, 'rating')} of a response {verb} most power with raters who stay, "
        f"{format_short(best.stayed.power)}; a plan for independent answers has "
        f"{format_short(best.independent.power)}.",
        table=pl.DataFrame(
            [
                {"per_item": row.per_item, "n_items": row.n_items, "n_raters": row.n_raters}
                | {name: getattr(row, name).power for name in SERIES}
                for row in plan.rows
            ]
        ),
        draw=lambda width: draw_panels([panel], width),
        notes=("All designs cost the same: more ratings of a response leave fewer items.",),
    )
