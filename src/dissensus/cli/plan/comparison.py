"""`dissensus plan comparison`: items and ratings of a response under a budget."""

from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import PageOutputOption, SeedOption
from dissensus.cli.plan.options import COST, DESIGN, TEST, split_numbers, with_cost_options, with_pilot_options
from dissensus.cli.plan.output import write_plan
from dissensus.cli.plan.partial_file import ResumeOption, keep_partial
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.pipeline.plan.comparison import ComparisonSettings, plan_comparison
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.display import comparison_plan_page
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.stats.planning.comparison import ComparisonMetric


@with_pilot_options
@with_cost_options
def comparison(
    pilot: Pilot,
    rates: CostRates | None,
    budget: Annotated[
        float | None, typer.Option(metavar="AMOUNT", min=0, help="Money for the raters.", rich_help_panel=COST)
    ] = None,
    ratings: Annotated[
        int | None,
        typer.Option("--ratings", metavar="N", min=1, help="Ratings in all, in place of money.", rich_help_panel=COST),
    ] = None,
    metric: Annotated[
        ComparisonMetric,
        typer.Option(
            help="share: of the last answer to the responses of two chatbots; accuracy, tv, wins: of two models beside "
            "people.",
            rich_help_panel=TEST,
        ),
    ] = "share",
    perturbation: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of answers that differ for the second chatbot or model.", rich_help_panel=TEST
        ),
    ] = 0.1,
    per_item: Annotated[
        str,
        typer.Option(metavar="K,K,…", help="Ratings of a response, one design per number.", rich_help_panel=DESIGN),
    ] = "1,2,5,10,20",
    load: Annotated[int, typer.Option(metavar="N", min=1, help="Answers of a rater.", rich_help_panel=DESIGN)] = 20,
    same_raters: Annotated[
        bool,
        typer.Option(
            "--same-raters/--different-raters",
            help="The same raters answer about both chatbots, or different raters about each.",
            rich_help_panel=DESIGN,
        ),
    ] = True,
    simulations: Annotated[
        int, typer.Option(metavar="N", min=100, help="Simulations of each design.", rich_help_panel=TEST)
    ] = 1000,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Compute how many items and ratings of a response tell two chatbots apart under a budget.

    Raters who stay for many items are simulated beside answers that are independent, as in published plans.

    Example: dissensus plan comparison --preset dices-350 --budget 2000 --hourly-rate 12 --perturbation 0.1
    """
    target = result_writer.resolve_target(format, output, figures)
    settings = ComparisonSettings(
        metric=metric,
        perturbation=perturbation,
        per_item=split_numbers("--per-item", per_item),
        budget=budget,
        n_ratings=ratings,
        load=load,
        same_raters=same_raters,
        simulations=simulations,
        seed=seed,
        rates=rates,
    )
    with keep_partial(output, pilot, settings, resume=resume) as partial:
        with result_writer.progress_bar("Simulating comparisons") as progress:
            plan = plan_comparison(pilot, settings, partial=partial, progress=progress)
        write_plan(plan, plan.rows, comparison_plan_page(plan), target)
