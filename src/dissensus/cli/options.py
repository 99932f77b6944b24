"""Options that several commands share, and the panels of the help in which they are listed."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

READING, GROUPS, SIGNIFICANCE, INTERVALS = "Reading", "Groups", "Significance", "Intervals"
RULES_PANEL = "Decision rules"
ATTEMPTS = "Red-team attempts"

ItemColumnOption = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column with the item ids.", rich_help_panel=READING)
]
RaterColumnOption = Annotated[
    str, typer.Option(metavar="COLUMN", help="Column with the rater ids.", rich_help_panel=READING)
]
NoRatersOption = Annotated[
    bool,
    typer.Option("--no-raters", help="The file has no rater ids: its answers are counts.", rich_help_panel=READING),
]
AnswerColumnOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the answers, if not named Q….", rich_help_panel=READING),
]
RaterAttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that describes raters, if not named rater_…; repeatable; auto: all that do.",
        rich_help_panel=READING,
    ),
]
EngineOption = Annotated[
    Literal["local", "spark"],
    typer.Option(
        help="Where folders of Parquet files are read: here, or on the executors of Spark.", rich_help_panel=READING
    ),
]
RaterKindOption = Annotated[
    Literal["person", "model", "all"],
    typer.Option(help="Raters to read: people; models, which rater_kind names; or both.", rich_help_panel=READING),
]
CategoriesOption = Annotated[
    str | None,
    typer.Option(metavar="A,B,…", help='Answers in order, as "No,Unsure,Yes".', rich_help_panel=READING),
]

ItemsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Table with one row per item, joined by item id.", rich_help_panel=READING),
]
ItemTablesOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Table with one row per item, joined by item id; with several files of ratings, repeat it once per file, "
        "in the same order.",
        rich_help_panel=READING,
    ),
]
RatersOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table with one row per rater, whose rater_… columns are joined to the raters.",
        rich_help_panel=READING,
    ),
]
MissingOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,…",
        help="Values to read as missing, in addition to NaN, NA, null and empty cells.",
        rich_help_panel=READING,
    ),
]
NormaliseOption = Annotated[
    bool,
    typer.Option(
        "--normalise", help="Read values that differ only in case or Unicode form as one.", rich_help_panel=READING
    ),
]
DuplicatesOption = Annotated[
    Literal["refuse", "first", "last", "drop"],
    typer.Option(help="Rating to keep where a rater rated an item twice; drop: none.", rich_help_panel=READING),
]
TextColumnOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the texts of items. Default: text.", rich_help_panel=READING),
]
HasLabelOption = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="Read whether LABEL is among the labels that a rater gave to an item: Yes or No.",
        rich_help_panel=READING,
    ),
]
BinsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AXIS=A,B,…",
        help="Intervals of a numeric attribute of raters or items, as age=18,30,45; repeatable.",
        rich_help_panel=READING,
    ),
]
RenameOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD=NEW",
        help="New name of a column; or of a value, as rater_locale:IN=India; repeatable.",
        rich_help_panel=READING,
    ),
]
SetsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Attribute of items with several values per cell, besides harm_type and topic; repeatable.",
        rich_help_panel=READING,
    ),
]
KindOption = Annotated[
    Literal["long", "wide", "lewidi", "dices-350", "dices-990"] | None,
    typer.Option("--from", help="Kind of the file, if detection is wrong.", rich_help_panel=READING),
]
RaterColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="TEMPLATE",
        help="Names of wide columns that are raters, as 'label_{rater_id}_{rater_gender}'.",
        rich_help_panel=READING,
    ),
]
ItemColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="TEMPLATE",
        help="Names of wide columns that are items, as 'item_{item_id}', where the rows are raters.",
        rich_help_panel=READING,
    ),
]
AnnotatorsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="LeWiDi file with the attributes of raters.", rich_help_panel=READING),
]

CrossOption = Annotated[
    list[str] | None,
    typer.Option(metavar="AXIS*AXIS", help="Crossed axes, such as race*gender; repeatable.", rich_help_panel=GROUPS),
]
ByItemOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ATTRIBUTE",
        help="Attribute of items, such as harm_type: statistics on the items of each value; repeatable.",
        rich_help_panel=GROUPS,
    ),
]
LevelOption = Annotated[
    Literal["nominal", "ordinal", "interval"],
    typer.Option(
        help="Level of measurement of the answers; nominal: their order does not count.", rich_help_panel=GROUPS
    ),
]
AgainstOption = Annotated[
    str,
    typer.Option(metavar="rest|GROUP", help="Compare with everybody else, or with one group.", rich_help_panel=GROUPS),
]
MinRatersOption = Annotated[
    int, typer.Option(metavar="N", min=0, help="Mark groups with fewer raters.", rich_help_panel=GROUPS)
]
PermutationsOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Permutations of raters' demographic rows; 0: no test.",
        rich_help_panel=SIGNIFICANCE,
    ),
]
PermuteWithinOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Permute raters only among those with the same value of this column.",
        rich_help_panel=SIGNIFICANCE,
    ),
]
BootstrapOption = Annotated[
    int,
    typer.Option(metavar="N", min=0, help="Bootstrap replicates; 0: no intervals.", rich_help_panel=INTERVALS),
]
ConfidenceOption = Annotated[float, typer.Option(metavar="SHARE", help="Confidence level.", rich_help_panel=INTERVALS)]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of all random draws.")]

SeatsOption = Annotated[
    str | None,
    typer.Option(
        metavar="GROUP:N,…",
        help="Seats of the rule jury, in groups of one axis, such as gender=Woman:6,gender=Man:6.",
        rich_help_panel=RULES_PANEL,
    ),
]

ReviewsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Reviews: attempt_id, reviewer_id, success, tags.", rich_help_panel=ATTEMPTS),
]
SuccessOption = Annotated[
    int | None,
    typer.Option(
        metavar="RATING",
        min=1,
        max=4,
        help="Minimum rating that counts as a success. Default: 3.",
        rich_help_panel=ATTEMPTS,
    ),
]

PageOutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to FILE instead; .html is a report with figures."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")]


def drop_unset(**options: Any) -> dict[str, Any]:
    """Return the options that were set."""
    return {name: value for name, value in options.items() if value is not None}
