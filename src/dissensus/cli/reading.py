"""Options by which every command reads ratings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.schema.ratings import Ratings

PANEL = "Reading"
RatingsFile = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS", help="Long table, one rating a row: csv, jsonl, json (each also .gz) or parquet."
    ),
]
ItemsFile = Annotated[
    Path | None, typer.Option("--items", help="Table with one row an item; its columns join the items.")
]
Question = Annotated[str | None, typer.Option(help="Question to use. Default: Q_overall, else the only one.")]
Item = Annotated[str, typer.Option("--item", help="Column with the item ids.", rich_help_panel=PANEL)]
Rater = Annotated[str, typer.Option("--rater", help="Column with the rater ids.", rich_help_panel=PANEL)]
Answer = Annotated[
    str | None,
    typer.Option("--answer", help="Column with the answers, if not named Q….", rich_help_panel=PANEL),
]
RaterAttributes = Annotated[
    list[str] | None,
    typer.Option(
        "--rater-attribute", help="Column that describes raters, if not named rater_….", rich_help_panel=PANEL
    ),
]
Categories = Annotated[
    str | None,
    typer.Option(help='Answers in order, as "No,Unsure,Yes".', rich_help_panel=PANEL),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE", help="Keep ratings of items, or of raters, with this value.", rich_help_panel=PANEL
    ),
]
ExcludeFlagged = Annotated[
    bool, typer.Option("--exclude-flagged", help="Leave out flagged raters.", rich_help_panel=PANEL)
]


def read(
    ratings: Path,
    *,
    items: Path | None,
    question: str | None,
    item: str,
    rater: str,
    answer: str | None,
    rater_attributes: list[str] | None,
    categories: str | None,
    where: list[str] | None,
    exclude_flagged: bool,
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
        rater_attributes=rater_attributes or (),
        categories=None if categories is None else [name.strip() for name in categories.split(",")],
    )
    for condition in where or ():
        column, equals, value = condition.partition("=")
        if not equals:
            raise InvalidInput(f"--where {condition!r} has no '='; write --where COLUMN=VALUE.")
        table = table.where(column, value)
    return table.exclude_flagged() if exclude_flagged else table
