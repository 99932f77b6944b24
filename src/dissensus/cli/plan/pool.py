"""`dissensus plan pool`: people to invite for each cell of a quota."""

from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import PageOutputOption
from dissensus.cli.plan.options import DESIGN, ItemCountOption, PerItemOption, with_cost_options
from dissensus.cli.plan.output import write_plan
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.display import pool_plan_page
from dissensus.pipeline.plan.pool import PoolSettings, plan_pool
from dissensus.pipeline.plan.pool_parser import parse_axes, parse_removal

POOL = "Pool"


@with_cost_options
def pool(
    rates: CostRates | None,
    axis: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=GROUP:SHARE,…",
            help="Axis with the share of each group among people who can be recruited; repeatable, crossed.",
            rich_help_panel=POOL,
        ),
    ],
    seats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Usable raters of each cell.", rich_help_panel=DESIGN)
    ] = 10,
    dropout: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of people who begin and do not finish.", rich_help_panel=POOL)
    ] = 0.0,
    removal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE|GROUP=SHARE",
            help="Share of raters removed for quality, overall or in a group (GROUP or AXIS.GROUP); repeatable.",
            rich_help_panel=POOL,
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(metavar="P", help="Probability that all cells have enough.", rich_help_panel=POOL)
    ] = 0.9,
    items: ItemCountOption = 350,
    per_item: PerItemOption = None,
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Compute how many people to invite so that every cell of a quota ends with enough raters.

    With -o plan.json the plan can be given to dissensus campaign new --plan.

    Example: dissensus plan pool --axis "rater_gender=Man:0.49,Woman:0.51" --seats 50 --dropout 0.1 --removal Man=0.23
    --removal Woman=0.08 -o plan.json
    """
    target = result_writer.resolve_target(format, output, figures)
    overall, by_group = parse_removal(removal or [])
    plan = plan_pool(
        PoolSettings(
            axes=parse_axes(axis),
            seats=seats,
            dropout=dropout,
            removal=overall,
            group_removal=by_group,
            confidence=confidence,
            n_items=items,
            per_item=per_item,
            rates=rates,
        )
    )
    write_plan(plan, plan.cells, pool_plan_page(plan), target)
