"""Options that the subcommands of `dissensus plan` share: pilot and cost."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from dissensus.cli.platform.definition import load_definition
from dissensus.cli.ratings_options import load_ratings, set_options
from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.cost import CostRates
from dissensus.pipeline.plan.pilot import Pilot, measure_pilot
from dissensus.pipeline.plan.shipped_presets import load_pilot
from dissensus.schema.campaign.definition import Pay
from dissensus.schema.money import to_major_units

ASSUMED_MINUTES = 2.0
"""Minutes per rating if the pilot has no times: the median of DICES-350."""
PILOT, DESIGN, COST, TEST = "Population", "Design", "Cost", "Test"

ItemCountOption = Annotated[
    int, typer.Option("--items", metavar="N", min=1, help="Items of the campaign.", rich_help_panel=DESIGN)
]
PerItemOption = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        min=1,
        help="Ratings per item, by all groups together. Default: every rater rates every item.",
        rich_help_panel=DESIGN,
    ),
]
LevelOption = Annotated[float, typer.Option(metavar="P", help="Level of the test.", rich_help_panel=TEST)]
PowerOption = Annotated[float, typer.Option(metavar="P", help="Power to reach.", rich_help_panel=TEST)]


def with_pilot_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `read_pilot` to a command, which gets the pilot as `pilot`."""
    return _with_options(command, "pilot", read_pilot)


def with_cost_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `read_rates` to a command, which gets the rates, or None, as `rates`."""
    return _with_options(command, "rates", read_rates)


_MEASURED_PILOT = "measured_pilot"
"""Parameter of a reader of options that gets the pilot of the command; None if the command has no pilot."""


def _with_options(command: Callable[..., None], name: str, read: Callable[..., Any]) -> Callable[..., None]:
    parameters = inspect.signature(read).parameters
    options = {option: value for option, value in parameters.items() if option != _MEASURED_PILOT}
    own = [parameter for parameter in inspect.signature(command).parameters.values() if parameter.name != name]

    @wraps(command)
    def with_options(**values: Any) -> None:
        context = {_MEASURED_PILOT: values.get("pilot")} if _MEASURED_PILOT in parameters else {}
        command(**{name: read(**context, **{option: values.pop(option) for option in options})}, **values)

    set_options(with_options, [*options.values(), *own] if name == "pilot" else [*own, *options.values()])
    return with_options


def read_pilot(
    pilot: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RATINGS]…", help="Ratings of a pilot or of an earlier campaign."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Published campaign in place of ratings: dices-350.", rich_help_panel=PILOT),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="Axis of raters, for effects of its groups on items.", rich_help_panel=PILOT),
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Question of the pilot.", rich_help_panel=PILOT)
    ] = None,
    share_of: Annotated[
        str | None,
        typer.Option(
            metavar="ANSWER", help="Answer whose share is planned for. Default: the last.", rich_help_panel=PILOT
        ),
    ] = None,
    exclude_flagged: Annotated[
        bool, typer.Option("--exclude-flagged", help="Leave out flagged raters.", rich_help_panel=PILOT)
    ] = False,
) -> Pilot:
    """Measure a pilot file, or load a preset; DICES-350 without either."""
    if not pilot:
        if question or share_of or exclude_flagged:
            raise InvalidInput("--question, --share-of and --exclude-flagged describe a pilot. Name its ratings file.")
        return load_pilot(preset or "dices-350", by=by)
    if preset:
        raise InvalidInput(f"A pilot and --preset {preset} are both given. Leave out one of them.")
    ratings = load_ratings(pilot, question=question, exclude_flagged=exclude_flagged)
    return measure_pilot(ratings, source=pilot[0].name, by=by, share_of=share_of)


def read_rates(
    measured_pilot: Pilot | None,
    campaign: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Definition of a campaign, or the name of a shipped one: rate, currency and minimum of its table pay.",
            rich_help_panel=COST,
        ),
    ] = None,
    hourly_rate: Annotated[
        float | None,
        typer.Option(metavar="AMOUNT", min=0, help="Pay per hour of work.", rich_help_panel=COST),
    ] = None,
    currency: Annotated[
        str | None, typer.Option(metavar="CODE", help="Currency. Default: GBP.", rich_help_panel=COST)
    ] = None,
    minutes_per_item: Annotated[
        float | None,
        typer.Option(
            metavar="M", help="Minutes per rating. Default: the median of the pilot, else 2.", rich_help_panel=COST
        ),
    ] = None,
    minutes_per_rater: Annotated[
        float | None,
        typer.Option(
            metavar="M",
            help="Additional minutes per rater, for consent and questions. Default: 5.",
            rich_help_panel=COST,
        ),
    ] = None,
    fee: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="Fee of the recruiter on the pay. Default: 0.", rich_help_panel=COST),
    ] = None,
) -> CostRates | None:
    """Return the rates of pay and time; None if no rate of pay is given."""
    pay = None
    if campaign is not None:
        if hourly_rate is not None or currency is not None:
            raise InvalidInput(
                "The campaign has a rate and a currency. Leave out --hourly-rate and --currency, or --campaign."
            )
        pay = _read_pay(campaign)
        hourly_rate, currency = float(to_major_units(pay.currency, pay.hourly_rate)), pay.currency
    if hourly_rate is None:
        if not all(value is None for value in (currency, minutes_per_item, minutes_per_rater, fee)):
            raise InvalidInput(
                "--currency, --minutes-per-item, --minutes-per-rater and --fee describe a cost. Give the pay of an "
                "hour, --hourly-rate 12 or --campaign FILE, or leave them out."
            )
        return None
    pilot_minutes = None if measured_pilot is None else measured_pilot.minutes_per_item
    return CostRates(
        currency=currency or "GBP",
        hourly_rate=hourly_rate,
        minutes_per_item=(pilot_minutes or ASSUMED_MINUTES) if minutes_per_item is None else minutes_per_item,
        minutes_per_rater=5.0 if minutes_per_rater is None else minutes_per_rater,
        fee_percent=fee or 0.0,
        finished=float(to_major_units(pay.currency, pay.finished)) if pay else 0.0,
    )


def _read_pay(file: str) -> Pay:
    pay = load_definition(file).pay
    if pay is None:
        raise InvalidInput(
            f"The campaign of {file} has no [pay]. Add it there, or give the pay of an hour, --hourly-rate 12."
        )
    return pay


def split_numbers(option: str, text: str | None) -> tuple[int, ...]:
    """Parse a list of whole numbers, such as 10,20,40."""
    try:
        return tuple(int(word) for word in text.split(",")) if text is not None else ()
    except ValueError:
        raise InvalidInput(f"{option} {text!r} is not a list of whole numbers; write it as 10,20,40.") from None
