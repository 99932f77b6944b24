"""Options of multilevel models, for `model`, `report` and `aggregate`."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dissensus.cli.ratings_options import collect_folder, reads_folder, set_options
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    import polars as pl

    from dissensus.pipeline.model import MultilevelModel
    from dissensus.schema.ratings.table import Ratings

MODEL = "Multilevel model"

ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="FORMULA|PRESET",
        help='Multilevel model, such as "Q_overall ~ race * gender + (1|rater_id) + (1|item_id)" or AD-intersectional; '
        "see dissensus model.",
        rich_help_panel=MODEL,
    ),
]
BaseOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=LEVEL",
        help="First level, with which others are compared; repeatable.",
        rich_help_panel=MODEL,
    ),
]
LinkOption = Annotated[
    Literal["probit", "logit"],
    typer.Option(help="Distribution of the latent error: normal or logistic.", rich_help_panel=MODEL),
]
WidthsOption = Annotated[
    bool,
    typer.Option("--widths", help="Let the spacing of thresholds vary between raters.", rich_help_panel=MODEL),
]
PopulationOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Population to predict answers of: counts of crossed groups, or margins (column, level, count); "
        "repeatable.",
        rich_help_panel=MODEL,
    ),
]
DrawsOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Draws for the certificate and for predicted shares; 0 for neither.",
        rich_help_panel=MODEL,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options of a multilevel model with the values that the command line has."""

    formula: str | None = None
    preset: str | None = None
    base: Sequence[str] | None = None
    link: Literal["probit", "logit"] = "probit"
    widths: bool = False
    population: Sequence[Path] | None = None
    draws: int = 400
    details: bool = False
    prior: Sequence[str] | None = None
    sampler: Literal["gibbs"] | None = None
    chains: int = 4
    iterations: int = 1000
    confidence: float = 0.95
    seed: int = 0

    def list_changed(self) -> list[str]:
        """Return the options that differ from their defaults, such as --widths; the seed is not counted."""
        names = {"formula": "--model", "preset": "--model"}
        return [
            names.get(field.name, f"--{field.name}")
            for field in fields(self)
            if field.name != "seed" and (getattr(self, field.name) or None) != (field.default or None)
        ]

    def refuse_all(self) -> None:
        """Refuse options of a model if no model is given."""
        if names := self.list_changed():
            raise InvalidInput(f"{names[0]} is an option of --model FORMULA|PRESET. Name a model, or leave it out.")

    def require_populations(self) -> None:
        """Raise unless a model and at least one population are given."""
        if self.formula is None and self.preset is None:
            raise InvalidInput(
                "Poststratified labels need a multilevel model: --model FORMULA, such as "
                '"Q_overall ~ race * gender + (1|rater_id) + (1|item_id)", or a preset, such as AD-intersectional.'
            )
        if not self.population:
            raise InvalidInput(
                "Poststratified labels need a population: --population FILE, a table of counts of crossed groups "
                "(a column for each attribute of raters in the model, and count), or of margins (column, level, count)."
            )

    def read(self, load: "partial[Ratings]") -> "Ratings":
        """Read the ratings with the response of the formula as their question."""
        from dissensus.schema.formula import parse_formula

        options = load.keywords
        if reads_folder(load):
            load = partial(collect_folder, load)
        if self.formula is None:
            return load()
        response = parse_formula(self.formula).response
        for name in ("question", "answer"):
            if options[name] not in (None, response):
                raise InvalidInput(
                    f"--{name} is {options[name]} and the formula's response is {response}; the formula names the "
                    f"answers, so leave --{name} out."
                )
        return load() if options["answer"] else load(question=response)

    def fit(self, ratings: "Ratings") -> "MultilevelModel":
        """Fit the model to ratings."""
        from dissensus.pipeline.model import fit_model
        from dissensus.pipeline.model.priors import split_priors

        return fit_model(
            ratings,
            self.formula,
            preset=self.preset,
            base=split_base(self.base),
            link=self.link,
            widths=self.widths,
            confidence=self.confidence,
            populations=read_populations(self.population or ()),
            details=self.details,
            priors=split_priors(self.prior or ()),
            sampler=self.sampler,
            chains=self.chains,
            iterations=self.iterations,
            draws=self.draws,
            seed=self.seed,
        )


def with_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `model_arguments` to a command, which gets its result as `model_options`, in their place."""
    options = inspect.signature(model_arguments).parameters

    @wraps(command)
    def with_model(*arguments: Any, **values: Any) -> None:
        command(*arguments, model_options=model_arguments(**{name: values.pop(name) for name in options}), **values)

    own = inspect.signature(command).parameters.items()
    set_options(
        with_model,
        [
            option
            for name, parameter in own
            for option in (options.values() if name == "model_options" else [parameter])
        ],
    )
    return with_model


def model_arguments(
    base: BaseOption = None,
    link: LinkOption = "probit",
    widths: WidthsOption = False,
    population: PopulationOption = None,
    draws: DrawsOption = 400,
) -> partial[ModelOptions]:
    """Return `ModelOptions` with the options that all commands share; each command adds its own."""
    return partial(ModelOptions, base=base, link=link, widths=widths, population=population, draws=draws)


def split_model(text: str | None) -> tuple[str | None, str | None]:
    """Return the value of --model as (formula, None) if it has a ~, else as (None, preset)."""
    return (text, None) if text is None or "~" in text else (None, text)


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
