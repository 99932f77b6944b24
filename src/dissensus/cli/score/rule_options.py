"""Options of decision rules in `dissensus aggregate`."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.options import RULES_PANEL

UnsafeOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,…",
        help="Answers that call an item unsafe. Default: the last of the scale.",
        rich_help_panel=RULES_PANEL,
    ),
]

CostsOption = Annotated[
    str | None,
    typer.Option(
        metavar="B:M",
        help="Cost of blocking what is safe and of letting through what is not. Default: 1:1.",
        rich_help_panel=RULES_PANEL,
    ),
]

AtLeastOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Threshold of the rule any-group: share of a group at which it calls an item unsafe. Default: 0.5.",
        rich_help_panel=RULES_PANEL,
    ),
]

MinRatersOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=2, help="Count groups of N raters or more. Default: 8.", rich_help_panel=RULES_PANEL),
]

GoldOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Attribute of items with the experts' labels, for the rule expert.",
        rich_help_panel=RULES_PANEL,
    ),
]

ScoresOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Scores of a model, for the rule score; read as by benchmark. Repeatable.",
        rich_help_panel=RULES_PANEL,
    ),
]

ScoreColumnOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column with the scores, if several columns hold scores.", rich_help_panel=RULES_PANEL
    ),
]

ReverseOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column whose scores are 1 for safe.", rich_help_panel=RULES_PANEL),
]
