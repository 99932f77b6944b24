"""`dissensus plan groups`: raters per group that detect a difference."""

from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import PageOutputOption, SeedOption
from dissensus.cli.plan.options import (
    DESIGN,
    PILOT,
    TEST,
    LevelOption,
    PowerOption,
    split_numbers,
    with_cost_options,
    with_pilot_options,
)
from dissensus.cli.plan.output import write_plan
from dissensus.cli.plan.partial_file import ResumeOption, keep_partial
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.display import group_plan_page
from dissensus.pipeline.plan.frontier import cross_sizes, plan_frontier
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.stats.planning.simulated_power import PlannedStatistic


@with_pilot_options
@with_cost_options
def groups(
    pilot: Pilot,
    rates: CostRates | None,
    difference: Annotated[
        float,
        typer.Option(metavar="D", help="Difference to detect, such as 0.1 for ten points.", rich_help_panel=TEST),
    ] = 0.1,
    statistic: Annotated[
        PlannedStatistic,
        typer.Option(
            help="Statistic to compare: share of the answer, its interaction on two axes, agreement, alpha, GAI, or "
            "the share of the disagreement that lies between groups.",
            rich_help_panel=TEST,
        ),
    ] = "share",
    items: Annotated[
        str, typer.Option(metavar="N,N,…", help="Items of the campaign, each number a size.", rich_help_panel=DESIGN)
    ] = "350",
    per_item: Annotated[
        str | None,
        typer.Option(
            metavar="K,K,…",
            help="Ratings per item, by all groups together, each number a size. Default: every rater rates every item.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    raters: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Raters per group, one design per number. Default: around the smallest that reaches the power.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    others: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help="Number of raters in the comparison group. Default: as many as in the group.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Share of the answer in the comparison group. Default: that of the pilot.",
            rich_help_panel=PILOT,
        ),
    ] = None,
    power: PowerOption = 0.8,
    level: LevelOption = 0.05,
    simulations: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Simulated campaigns per design; 0 for none.", rich_help_panel=TEST),
    ] = 500,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Compute how many raters per group detect a difference between groups, with power and cost.

    Power comes in closed form, with a design effect, and from simulated campaigns of the multilevel model. Several
    numbers of items or of ratings of an item are compared by power and cost.

    Example: dissensus plan groups --preset dices-350 --by race --difference 0.1 --items 350
    --per-item 10,20 --hourly-rate 12
    """
    target = result_writer.resolve_target(format, output, figures)
    settings = GroupPlanSettings(
        difference=difference,
        statistic=statistic,
        raters=split_numbers("--raters", raters),
        others=others,
        share=share,
        power=power,
        level=level,
        simulations=simulations,
        seed=seed,
        rates=rates,
    )
    sizes = cross_sizes(settings, split_numbers("--items", items), split_numbers("--per-item", per_item))
    with keep_partial(output, pilot, *sizes, resume=resume) as partial:
        with result_writer.progress_bar("Simulating campaigns") as progress:
            plan = plan_frontier(pilot, sizes, partial=partial, progress=progress)
        write_plan(plan, plan.designs, group_plan_page(plan), target)
