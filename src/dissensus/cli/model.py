"""`dissensus model`: multilevel models of ordered answers."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import ConfidenceOption, SeedOption
from dissensus.cli.ratings_options import with_ratings_options
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    import polars as pl

    from dissensus.schema.ratings.table import Ratings


@partial(with_ratings_options, later=True)
def model(
    reading: "partial[Ratings]",
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
    base: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LEVEL", help="First level, with which others are compared; repeatable."),
    ] = None,
    link: Annotated[
        Literal["probit", "logit"], typer.Option(help="Distribution of the latent error: normal or logistic.")
    ] = "probit",
    widths: Annotated[
        bool, typer.Option("--widths", help="Give each rater distances between thresholds of their own.")
    ] = False,
    confidence: ConfidenceOption = 0.95,
    population: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Population to predict answers of: counts of crossed groups, or margins (column, level, count); "
            "repeatable.",
        ),
    ] = None,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Add tests of terms, shares of variance, reliability, divided items and predictive checks.",
        ),
    ] = False,
    draws: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Draws for the certificate and for predicted shares; 0 for neither."),
    ] = 400,
    seed: SeedOption = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Fit a multilevel model of ordered answers: effects of groups, with random effects of raters and items.

    a:b is an interaction, a*b is a + b + a:b, (1|g) is a random intercept of each g, and (x|g) adds slopes. Names with
    other signs than letters, digits, _ and . stand in backquotes.

    Example: dissensus model ratings.csv --formula "Q_overall ~ race * gender + (1|rater_id) + (1|item_id)"
    --base "race=White"
    """
    # Imported here, so that --help does not import polars.
    from dissensus.pipeline.model import fit_model
    from dissensus.pipeline.model.result import model_page
    from dissensus.schema.formula import parse_formula

    parsed = None if formula is None else parse_formula(formula)
    kind = result_writer.choose_format(format, output)
    result_writer.check_output(output)
    ratings = _read(reading, None if parsed is None else parsed.response)
    result = fit_model(
        ratings,
        parsed,
        preset=preset,
        base=split_base(base),
        link=link,
        widths=widths,
        confidence=confidence,
        populations=read_populations(population or ()),
        details=details,
        draws=draws,
        seed=seed,
    )
    if kind is Format.TABLE:
        result_writer.write_pages([model_page(result)], output)
        return
    for warning in result.warnings:
        typer.echo(f"Warning: {warning}", err=True)
    for note in result.notes:
        typer.echo(f"Note: {note}", err=True)
    result_writer.write_text(
        result.to_json() if kind is Format.JSON else result_writer.to_csv(result.to_polars()), output
    )


def _read(reading: Callable[..., "Ratings"], response: str | None) -> "Ratings":
    """Read the ratings with the response of the formula as their question."""
    if response is None:
        return reading()
    options = reading.keywords  # type: ignore[attr-defined]
    for name in ("question", "answer"):
        if options[name] not in (None, response):
            raise InvalidInput(
                f"--{name} is {options[name]} and the formula's response is {response}; the formula names the answers, "
                f"so leave --{name} out."
            )
    return reading() if options["answer"] else reading(question=response)


def read_populations(paths: Sequence[Path]) -> "dict[str, pl.DataFrame]":
    """Read tables of populations, named by their files."""
    from dissensus.files.raw.table_reader import read_frame

    populations: dict[str, pl.DataFrame] = {}
    for path in paths:
        if path.stem in populations:
            raise InvalidInput(
                f"Two population files are named {path.stem!r}, and a population has the name of its file. Rename one."
            )
        populations[path.stem] = read_frame(path)
    return populations


def split_base(texts: Sequence[str] | None) -> dict[str, str]:
    """Parse the values of --base: COLUMN=LEVEL."""
    base: dict[str, str] = {}
    for text in texts or ():
        column, equals, level = text.partition("=")
        if not equals or not column.strip() or not level.strip():
            raise InvalidInput(f'--base {text!r} is not COLUMN=LEVEL, such as "rater_race=White".')
        if column.strip() in base:
            raise InvalidInput(f"--base names {column.strip()!r} twice. Name one level of it.")
        base[column.strip()] = level.strip()
    return base
