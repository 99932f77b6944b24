"""Options of `dissensus benchmark`, and the parsers of --costs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.cli.options import GROUPS, RULES_PANEL, SIGNIFICANCE
from dissensus.errors import InvalidInput

MODELS = "Models"

ChatbotOption = Annotated[str | None, typer.Option(metavar="COLUMN", help="Attribute of items that names the chatbot.")]

ScoresOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Scores of models: item_id, and a score from 0 to 1 or a label in the column of each; or a log of "
        "Inspect or HELM. Repeatable.",
        rich_help_panel=MODELS,
    ),
]

ScoreColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Column with scores; repeatable. Default: all that are.", rich_help_panel=MODELS
    ),
]

ReverseOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column whose scores are 1 for safe; repeatable.", rich_help_panel=MODELS),
]

GoldOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Attribute of items with the experts' labels.", rich_help_panel=MODELS),
]

ThresholdOption = Annotated[
    float, typer.Option(metavar="SCORE", help="Lowest score that is labelled unsafe.", rich_help_panel=MODELS)
]

RankByOption = Annotated[
    Literal["brier", "squared_distance", "auc", "error"],
    typer.Option(help="Statistic of the leaderboard.", rich_help_panel=MODELS),
]

UnsafeOption = Annotated[
    str | None,
    typer.Option(metavar="A,B,…", help="Answers that call an item unsafe. Default: the last of the scale."),
]

DecisionsOption = Annotated[
    bool,
    typer.Option(
        "--decisions",
        help="Compare decision rules: items that each blocks, and people whom it overrules.",
        rich_help_panel=RULES_PANEL,
    ),
]

RulesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE",
        help="Rule, such as plurality, share, dices, any-question, group-balanced, any-group, worst-group, "
        "poststratified, expert, score or jury; repeatable. Default: all that the data support.",
        rich_help_panel=RULES_PANEL,
    ),
]

CostsOption = Annotated[
    str | None,
    typer.Option(
        metavar="B:M,…",
        help="Cost of blocking what is safe and of letting through what is not, as 1:1,1:5. Default: 1:1.",
        rich_help_panel=RULES_PANEL,
    ),
]

AtLeastOption = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        help="Threshold of the rule any-group: share of a group at which it blocks an item.",
        rich_help_panel=RULES_PANEL,
    ),
]

PopulationLabelsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Labels of populations, as aggregate --rule poststratified --format csv writes them.",
        rich_help_panel=RULES_PANEL,
    ),
]

AxesOption = Annotated[
    list[str] | None,
    typer.Option(metavar="AXIS", help="Axis, such as race; repeatable.", rich_help_panel=GROUPS),
]

MinRatersOption = Annotated[
    int,
    typer.Option(metavar="N", min=2, help="Compare groups of N raters or more.", rich_help_panel=GROUPS),
]

SuppressBelowOption = Annotated[
    int,
    typer.Option(metavar="K", min=0, help="Withhold numbers of groups with fewer raters.", rich_help_panel=GROUPS),
]

AdjustOption = Annotated[
    Literal["bh", "holm"],
    typer.Option(help="False discovery or family-wise error rate.", rich_help_panel=SIGNIFICANCE),
]


def split_costs(text: str) -> tuple[float, float]:
    """Parse the costs of blocking what is safe and of letting through what is not, such as 1:5."""
    block, _, miss = text.partition(":")
    try:
        return float(block), float(miss)
    except ValueError:
        raise InvalidInput(f"--costs {text!r} is not like 1:5.") from None


def split_cost_list(text: str) -> list[tuple[float, float]]:
    """Parse a list of costs, such as 1:1,1:5."""
    return [split_costs(part) for part in text.split(",")]
