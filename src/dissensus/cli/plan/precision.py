"""`dissensus plan precision`: widths of intervals by raters and ratings of an item."""

from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import ConfidenceOption, PageOutputOption
from dissensus.cli.plan.options import DESIGN, ItemCountOption, split_numbers, with_cost_options, with_pilot_options
from dissensus.cli.plan.output import write_plan
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.display import precision_plan_page
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.plan.precision import plan_precision


@with_pilot_options
@with_cost_options
def precision(
    pilot: Pilot,
    rates: CostRates | None,
    raters: Annotated[
        str, typer.Option(metavar="N,N,…", help="Raters in all, one design per number.", rich_help_panel=DESIGN)
    ] = "20,50,100,200",
    per_item: Annotated[
        str | None,
        typer.Option(
            metavar="K,K,…",
            help="Ratings per item. Default: every rater rates every item.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    items: ItemCountOption = 350,
    groups: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Groups of equal size among the raters.", rich_help_panel=DESIGN),
    ] = 2,
    confidence: ConfidenceOption = 0.95,
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Compute how precise shares, differences and labels of items are, by raters and ratings of an item.

    Example: dissensus plan precision --preset dices-350 --raters 50,100,200 --per-item 5,10,20 --groups 5
    """
    target = result_writer.resolve_target(format, output, figures)
    plan = plan_precision(
        pilot,
        raters=split_numbers("--raters", raters),
        per_item=split_numbers("--per-item", per_item),
        n_items=items,
        groups=groups,
        confidence=confidence,
        rates=rates,
    )
    write_plan(plan, plan.rows, precision_plan_page(plan), target)
