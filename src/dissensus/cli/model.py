"""`dissensus model`: multilevel models of ordered answers."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.model_options import MODEL, ModelOptions, with_model_options
from dissensus.cli.options import ConfidenceOption, SeedOption
from dissensus.cli.ratings_options import with_ratings_options
from dissensus.cli.result_writer import Format, FormatOption, OutputOption

if TYPE_CHECKING:
    from dissensus.schema.ratings.table import Ratings


@partial(with_ratings_options, partitions=True)
@with_model_options
def model(
    load: "partial[Ratings]",
    formula: Annotated[
        str | None,
        typer.Option(
            metavar="FORMULA", help='Model, such as "Q_overall ~ race * gender + (1|rater_id) + (1|item_id)".'
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Published model of DICES in place of a formula, such as AD-intersectional."),
    ] = None,
    *,
    model_options: partial[ModelOptions],
    confidence: ConfidenceOption = 0.95,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Add tests of terms, shares of variance, reliability, divided items and predictive checks.",
            rich_help_panel=MODEL,
        ),
    ] = False,
    prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=DISTRIBUTION",
            help="Prior of effects (b), standard deviations (sd), thresholds (Intercept) or correlations (cor): "
            '"b=student_t(3, 0, 2.5)"; repeatable. "published" for those of a preset.',
            rich_help_panel=MODEL,
        ),
    ] = None,
    sampler: Annotated[
        Literal["gibbs"] | None,
        typer.Option(
            help="Draw from the exact posterior distribution, by Gibbs sampling; probit link alone.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    chains: Annotated[int, typer.Option(metavar="N", min=2, help="Chains of the sampler.", rich_help_panel=MODEL)] = 4,
    iterations: Annotated[
        int,
        typer.Option(
            metavar="N", min=8, help="Draws of each chain, after half as many for warm-up.", rich_help_panel=MODEL
        ),
    ] = 1000,
    seed: SeedOption = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Fit a multilevel model of ordered answers: effects of groups, with random effects of raters and items.

    a:b is an interaction, a*b is a + b + a:b, (1|g) is a random intercept of each g, and (x|g) adds slopes. Names with
    other signs than letters, digits, _ and . stand in backquotes.

    A folder or a quoted glob of Parquet files is checked in blocks of items; its answers are held in memory as codes.

    Example: dissensus model ratings.csv --formula "Q_overall ~ race * gender + (1|rater_id) + (1|item_id)"
    --base "race=White"
    """
    kind = result_writer.choose_format(format, output)
    options = model_options(
        formula=formula,
        preset=preset,
        confidence=confidence,
        details=details,
        prior=prior,
        sampler=sampler,
        chains=chains,
        iterations=iterations,
        seed=seed,
    )
    result = options.fit(options.read(load))
    if kind is Format.TABLE:
        result_writer.write_pages([result.page()], output)
        return
    for warning in result.warnings:
        typer.echo(f"Warning: {warning}", err=True)
    for note in result.notes:
        typer.echo(f"Note: {note}", err=True)
    result_writer.write_text(
        result.to_json() if kind is Format.JSON else result_writer.to_csv(result.to_polars()), output
    )
