"""Options shared by commands that read a ratings file."""

import csv
import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dissensus.cli.lazy_group import LazyCommand
from dissensus.cli.options import (
    READING,
    AnswerColumnOption,
    CategoriesOption,
    ItemColumnOption,
    NoRatersOption,
    RaterAttributeOption,
    RaterColumnOption,
)
from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.raw.atomic_write import check_distinct

if TYPE_CHECKING:
    from dissensus.schema.ratings.table import Ratings


def with_ratings_options(
    command: Callable[..., None], *, later: bool = False, attempts: LazyCommand | None = None
) -> Callable[..., None]:
    """Add the options of `load_ratings` to a command, which gets the ratings or, with `later`, a function to read them.

    Files of red-team attempts are passed to the command `attempts`, if given, with the options that it accepts.
    """
    options = {
        name: option for name, option in inspect.signature(load_ratings).parameters.items() if name != "all_questions"
    }
    own = list(inspect.signature(command).parameters.values())[1:]
    ratings, *remaining = options.values()

    @wraps(command)
    def with_ratings(**values: Any) -> None:
        check_distinct(
            [values[name] for name in ("ratings", "items", "raters") if values[name] is not None],
            [values[name] for name in ("figure", "output") if values.get(name) is not None],
        )
        if attempts is not None and holds_attempts(values["ratings"]):
            run = attempts.load()
            run(values["ratings"], **_attempt_options(run, values, defaults))
            return
        reading = partial(load_ratings, **{name: values.pop(name) for name in options})
        command(reading if later else reading(), **values)

    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (ratings, *own, *remaining)]
    defaults = {parameter.name: parameter.default for parameter in keyword}
    with_ratings.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    with_ratings.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    return with_ratings


def load_ratings(
    ratings: Annotated[
        Path,
        typer.Argument(
            metavar="RATINGS", help="Long table, one rating a row: csv, jsonl, json (each also .gz) or parquet."
        ),
    ],
    items: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table with one row an item, to join to the items.", rich_help_panel=READING),
    ] = None,
    raters: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table with one row a rater, whose rater_… columns are joined to the raters.",
            rich_help_panel=READING,
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Question to use. Default: Q_overall, else the only one.", rich_help_panel=READING
        ),
    ] = None,
    item: ItemColumnOption = "item_id",
    rater: RaterColumnOption = "rater_id",
    no_raters: NoRatersOption = False,
    answer: AnswerColumnOption = None,
    rater_attribute: RaterAttributeOption = None,
    categories: CategoriesOption = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Keep ratings of items, or of raters, with this value; repeatable.",
            rich_help_panel=READING,
        ),
    ] = None,
    exclude_flagged: Annotated[
        bool, typer.Option("--exclude-flagged", help="Leave out flagged raters.", rich_help_panel=READING)
    ] = False,
    all_questions: bool = False,
) -> "Ratings":
    """Read ratings with the given options, with one question or all."""
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
    """Return whether a file holds red-team attempts; False for one that cannot be read."""
    from dissensus.files.conversion import detect_record_kind, read_column_names

    try:
        return detect_record_kind(read_column_names(path)) == "red-team"
    except DissensusError:
        return False


def _attempt_options(
    command: Callable[..., None], values: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options that a command on attempts accepts; refuse others that were set."""
    accepted = set(inspect.signature(command).parameters)
    for name, value in values.items():
        if name not in accepted and name != "ratings" and value != defaults[name]:
            raise InvalidInput(
                f"--{name.replace('_', '-')} does not apply to red-team attempts, which {values['ratings']} holds. "
                "Leave it out."
            )
    return {name: value for name, value in values.items() if name in accepted}


def split_categories(text: str | None) -> list[str] | None:
    """Parse the value of --categories, one line of CSV."""
    return None if text is None else [name.strip() for name in next(csv.reader([text]), [])]


def refuse_attempt_options(path: Path, reviews: Path | None, success_from: int | None) -> None:
    """Refuse options on attempts for a file of ratings."""
    for name, value in (("reviews", reviews), ("success-from", success_from)):
        if value is not None:
            raise InvalidInput(f"--{name} is about red-team attempts, and {path} holds none. Leave it out.")
