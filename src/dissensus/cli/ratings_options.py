"""Options by which every command reads ratings."""

import csv
import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.schema.ratings.table import Ratings

PANEL = "Reading"


def reads_ratings(
    command: Callable[..., None], *, later: bool = False, attempts: Callable[..., None] | None = None
) -> Callable[..., None]:
    """Give a command the options of `read` and, in place of the file, its ratings, or `later` what reads them.

    A file of red-team attempts goes to `attempts`, if that is given, with the options that it takes.
    """
    options = {name: option for name, option in inspect.signature(read).parameters.items() if name != "all_questions"}
    own = list(inspect.signature(command).parameters.values())[1:]
    ratings, *others = options.values()

    @wraps(command)
    def with_ratings(**given: Any) -> None:
        from dissensus.files.raw.atomic_write import check_apart

        check_apart(
            [given[name] for name in ("ratings", "items", "raters") if given[name] is not None],
            [given[name] for name in ("figure", "output") if given.get(name) is not None],
        )
        if attempts is not None and holds_attempts(given["ratings"]):
            attempts(given["ratings"], **_of_attempts(attempts, given, defaults))
            return
        reading = partial(read, **{name: given.pop(name) for name in options})
        command(reading if later else reading(), **given)

    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (ratings, *own, *others)]
    defaults = {parameter.name: parameter.default for parameter in keyword}
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
    raters: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table with one row a rater, whose rater_… columns are joined to the raters.",
            rich_help_panel=PANEL,
        ),
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
    no_raters: Annotated[
        bool,
        typer.Option("--no-raters", help="There are no rater ids: read the answers as counts.", rich_help_panel=PANEL),
    ] = False,
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
    all_questions: bool = False,
) -> "Ratings":
    """Read the ratings that the options describe, with one question or with all."""
    from dissensus.files.ratings.reader import read_ratings

    if all_questions and (question or answer):
        raise InvalidInput("All questions are read here; leave out --question and --answer.")
    if question is not None and answer is not None and question != answer:
        raise InvalidInput(f"--question {question} and --answer {answer} name two columns; give one of them.")
    table = read_ratings(
        ratings,
        items=items,
        raters=raters,
        item=item,
        rater=None if no_raters else rater,
        answer=answer,
        questions="all" if all_questions else None if question is None or answer is not None else [question],
        rater_attributes=rater_attribute or (),
        categories=split_categories(categories),
    )
    for condition in where or ():
        column, equals, value = condition.partition("=")
        if not equals:
            raise InvalidInput(f"--where {condition!r} has no '='; write --where COLUMN=VALUE.")
        table = table.where(column, value)
    return table.exclude_flagged() if exclude_flagged else table


def holds_attempts(path: Path) -> bool:
    """Tell whether a file holds red-team attempts; one that cannot be read holds none."""
    from dissensus.errors import DissensusError
    from dissensus.files.conversion import columns_of, told

    try:
        return told(columns_of(path)) == "red-team"
    except DissensusError:
        return False


def _of_attempts(command: Callable[..., None], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a command for attempts takes, and refuse others that were given."""
    taken = set(inspect.signature(command).parameters)
    for name, value in given.items():
        if name not in taken and name != "ratings" and value != defaults[name]:
            raise InvalidInput(
                f"--{name.replace('_', '-')} says nothing of red-team attempts, which {given['ratings']} holds. "
                "Leave it out."
            )
    return {name: value for name, value in given.items() if name in taken}


def split_categories(text: str | None) -> list[str] | None:
    """Return the answers that --categories names, split as a line of CSV is."""
    return None if text is None else [name.strip() for name in next(csv.reader([text]), [])]
