"""Options by which every command reads ratings."""

import csv
import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.schema.ratings import Ratings

PANEL = "Reading"


def reads_ratings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `read`, and hand it the ratings in place of their file."""
    options = inspect.signature(read).parameters
    own = list(inspect.signature(command).parameters.values())[1:]
    ratings, *others = options.values()

    @wraps(command)
    def with_ratings(**given: Any) -> None:
        table = read(**{name: given.pop(name) for name in options})
        command(table, **given)

    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (ratings, *own, *others)]
    with_ratings.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    with_ratings.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    return with_ratings


def read(
    ratings: Annotated[
        Path,
        typer.Argument(
            metavar="RATINGS", help="Long table, one rating a row: csv, jsonl, json (each also .gz) or parquet."
        ),
    ],
    items: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table with one row an item, to join to the items.", rich_help_panel=PANEL),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Question to use. Default: Q_overall, else the only one.", rich_help_panel=PANEL
        ),
    ] = None,
    item: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with the item ids.", rich_help_panel=PANEL)
    ] = "item_id",
    rater: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with the rater ids.", rich_help_panel=PANEL)
    ] = "rater_id",
    answer: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the answers, if not named Q….", rich_help_panel=PANEL),
    ] = None,
    rater_attribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that describes raters, if not named rater_…; repeatable.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help='Answers in order, as "No,Unsure,Yes".', rich_help_panel=PANEL),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Keep ratings of items, or of raters, with this value; repeatable.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    exclude_flagged: Annotated[
        bool, typer.Option("--exclude-flagged", help="Leave out flagged raters.", rich_help_panel=PANEL)
    ] = False,
) -> "Ratings":
    """Read the ratings that the options describe."""
    from dissensus.files.tables import read_ratings

    if question is not None and answer is not None and question != answer:
        raise InvalidInput(f"--question {question} and --answer {answer} name two columns; give one of them.")
    table = read_ratings(
        ratings,
        items=items,
        item=item,
        rater=rater,
        answer=answer,
        questions=None if question is None or answer is not None else [question],
        rater_attributes=rater_attribute or (),
        categories=None if categories is None else [name.strip() for name in next(csv.reader([categories]), [])],
    )
    for condition in where or ():
        column, equals, value = condition.partition("=")
        if not equals:
            raise InvalidInput(f"--where {condition!r} has no '='; write --where COLUMN=VALUE.")
        table = table.where(column, value)
    return table.exclude_flagged() if exclude_flagged else table
