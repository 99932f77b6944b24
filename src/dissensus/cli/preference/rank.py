"""`dissensus preference rank`: ranking of chatbots from pairwise comparisons."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import INTERVALS, ConfidenceOption, PageOutputOption, SeedOption
from dissensus.cli.result_writer import Format, FormatOption
from dissensus.errors import UndefinedEstimate
from dissensus.files.pairs.comparisons import ReadComparisons, read_comparisons
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable
from dissensus.preference.ranking.ranking import Comparisons, RankedChatbot, Ranking
from dissensus.preference.ranking.ranking import rank as rank_chatbots

if TYPE_CHECKING:
    from dissensus.report.result import Document

Groups: TypeAlias = dict[str, Ranking | str]  # Rankings of groups, or the reasons why they are undefined
COLUMNS = ("group", "bot", "n", "won", "tied", "bradley_terry", "ci_low", "ci_high", "elo", "by_scores", "reason")


def rank(
    comparisons: Annotated[
        Path, typer.Argument(metavar="COMPARISONS", help="Columns bot_a, bot_b, winner (a, b, tie) and rater_id.")
    ],
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Also rank by each group of this column, such as rater_gender."),
    ] = None,
    bootstrap: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Bootstrap replicates of raters; 0: no intervals.", rich_help_panel=INTERVALS
        ),
    ] = 1000,
    seed: SeedOption = 0,
    confidence: ConfidenceOption = 0.95,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Rank chatbots from pairwise comparisons, by Bradley–Terry on the scale of Elo, and by Elo.

    With columns score_a and score_b, scores of a preference model, predicted ratings are shown: 174 points per unit.

    Example: dissensus preference rank comparisons.csv --by rater_gender
    """
    target = result_writer.resolve_target(format, output)
    read = read_comparisons(comparisons, by=by)
    rank_group = partial(rank_chatbots, bootstrap=bootstrap, seed=seed, confidence=confidence)
    overall = rank_group(read.comparisons)
    groups = {name: _rank_or_reason(rank_group, group) for name, group in read.groups.items()}
    for note in (*read.notes, *overall.notes):
        typer.echo(f"Note: {note}", err=True)
    result_writer.write_result(
        target,
        build_report=lambda command: _build_report(overall, read, by, groups, seed=seed, command=command),
        build_page=lambda: _page(overall, by, groups),
        to_json=lambda: _to_json(overall, read, by, groups),
        to_csv=lambda: _to_csv(overall, groups),
    )


def _build_report(
    overall: Ranking, read: ReadComparisons, by: str | None, groups: Groups, *, seed: int, command: str
) -> "Document":
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.report.ranking import ranking_report

    return ranking_report(
        overall, read.comparisons, by=by, groups=groups, excluded=read.excluded, command=command, seed=seed
    )


def _to_json(overall: Ranking, read: ReadComparisons, by: str | None, groups: Groups) -> str:
    values = {name: result if isinstance(result, str) else result.to_dict() for name, result in groups.items()}
    document = {
        "schema_version": 1,
        **overall.to_dict(),
        "by": by,
        "groups": _reasons(values),
        "excluded": read.excluded,
    }
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)


def _to_csv(overall: Ranking, groups: Groups) -> str:
    rows = [row for name, result in {"": overall, **groups}.items() for row in _rows(name, result)]
    return result_writer.format_rows(Format.CSV, rows, COLUMNS, name="rows", if_empty="")


def _rank_or_reason(rank_group: Callable[[Comparisons], Ranking], comparisons: Comparisons) -> Ranking | str:
    """Return the ranking of a group, or the reason why it is undefined."""
    try:
        return rank_group(comparisons)
    except UndefinedEstimate as reason:
        return str(reason)


def _reasons(groups: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"rows": [], "reason": result} if isinstance(result, str) else result for name, result in groups.items()
    }


def _rows(group: str, ranking: Ranking | str) -> list[dict[str, Any]]:
    if isinstance(ranking, str):
        return [{**dict.fromkeys(COLUMNS), "group": group, "reason": ranking}]
    return [
        {"group": group, **{name: getattr(row, name) for name in COLUMNS if name != "group"}} for row in ranking.rows
    ]


def _page(overall: Ranking, by: str | None, groups: Groups) -> Page:
    raters = "" if overall.n_raters is None else f" by {overall.n_raters:,} raters"
    grids = [_grid("chatbot", overall)]
    grids += [
        _grid(f"{escape_unprintable(by or '')}: {escape_unprintable(name)}", result) for name, result in groups.items()
    ]
    slope = (
        ()
        if overall.slope is None
        else (f"Scores: for each point of Elo that they predict, the comparisons give {overall.slope:.2f}.",)
    )
    notes = (
        "Bradley–Terry on the scale of Elo, mean 1,000; intervals are for other raters. Elo depends on the order.",
        *slope,
    )
    return Page(f"{overall.n_comparisons:,} comparisons{raters}.", tuple(grids), notes)


def _grid(head: str, ranking: Ranking | str) -> Grid:
    columns = (head, "compared", "won", "tied", "Bradley–Terry", "interval", "Elo", "by scores")
    if isinstance(ranking, str):
        return Grid(columns, (), ranking)
    reason = next((row.reason for row in ranking.rows if row.reason), "")
    caption = f"No Bradley–Terry: {reason}." if reason else ""
    return Grid(columns, tuple(map(_line, ranking.rows)), caption)


def _line(row: RankedChatbot) -> tuple[str, ...]:
    numbers = (row.bradley_terry, row.elo, row.by_scores)
    strength, elo, scores = (UNKNOWN if number is None else f"{number:,.0f}" for number in numbers)
    has_interval = row.ci_low is not None and row.ci_high is not None
    interval = f"{row.ci_low:,.0f}–{row.ci_high:,.0f}" if has_interval else UNKNOWN
    return (
        escape_unprintable(row.bot),
        f"{row.n:,.0f}",
        f"{row.won:,.0f}",
        f"{row.tied:,.0f}",
        strength,
        interval,
        elo,
        scores,
    )
