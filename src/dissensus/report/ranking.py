"""Report of a chatbot ranking."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Final

import numpy as np
import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable
from dissensus.preference.ranking.ranking import Comparisons, RankedChatbot, Ranking
from dissensus.report.figures.standings import standings
from dissensus.report.methods import Method
from dissensus.report.result import Document, Size
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun

WORDS: Final = "Chatbots are i and j, R their ratings; a tie is half a win for both. Logarithms are natural."
METHODS: Final = (
    Method(
        "Bradley–Terry",
        r"P(i \succ j) = \frac{1}{1 + 10^{(R_j - R_i) / 400}}",
        "The ratings that maximise the likelihood of the preferences, with a mean of 1,000. Intervals: percentiles "
        "over samples of raters, each with all their comparisons.",
        "Bradley and Terry (1952), Rank Analysis of Incomplete Block Designs",
        ("standings",),
    ),
    Method(
        "Elo",
        r"R_i \leftarrow R_i + K \left( o - P(i \succ j) \right)",
        "One comparison after the other, in their order, on which it depends; K is 4.",
        "Elo (1978), The Rating of Chessplayers, Past and Present",
        ("standings",),
    ),
)
MOST_MEETINGS: Final = 40
"""Most pairs of chatbots in the list."""


def ranking_report(
    overall: Ranking,
    comparisons: Comparisons,
    *,
    by: str | None = None,
    groups: Mapping[str, Ranking | str] | None = None,
    excluded: Mapping[str, int] | None = None,
    command: str = "",
    seed: int = 0,
) -> Document:
    """Make a report of a ranking."""
    ranked = {name: ranking for name, ranking in (groups or {}).items() if isinstance(ranking, Ranking)}
    missing = {name: ranking for name, ranking in (groups or {}).items() if isinstance(ranking, str)}
    exclusions = (f"{count_noun(n, 'comparison')} left out: {reason}." for reason, n in (excluded or {}).items())
    axis = format_axis(by or "group")
    unranked = (
        f"{axis[:1].upper()}{axis[1:]} {escape_unprintable(name)}: {reason}" for name, reason in missing.items()
    )
    return Document(
        title="Ranking of chatbots",
        summary=f"{count_noun(len(overall.rows), 'chatbot')} in {count_noun(overall.n_comparisons, 'comparison')}.",
        sizes=tuple(_sizes(overall)),
        sections=tuple(_sections(overall, comparisons, by, ranked)),
        command=command or "dissensus.report.ranking.ranking_report(…)",
        notes=(*exclusions, *overall.notes, *unranked),
        version=version("dissensus"),
        seed=seed,
        methods=METHODS,
        words=WORDS,
    )


def _sizes(overall: Ranking) -> Iterator[Size]:
    yield Size("chatbots", f"{len(overall.rows):,}")
    yield Size("comparisons", f"{overall.n_comparisons:,}")
    if overall.n_raters is not None:
        yield Size("raters", f"{overall.n_raters:,}")
    if overall.slope is not None:
        yield Size("slope of scores", f"{overall.slope:.2f}")


def _sections(
    overall: Ranking, comparisons: Comparisons, by: str | None, ranked: Mapping[str, Ranking]
) -> Iterator[Section]:
    yield Section(
        "standings",
        "Standings",
        "Wins of each chatbot in comparisons of two answers to the same conversation.",
        (standings(overall, by=by, groups=ranked), _table(overall)),
    )
    yield Section(
        "meetings",
        "Compared pairs",
        "Strengths can be compared if chatbots are connected by comparisons.",
        (_meetings(comparisons),),
    )


def _table(overall: Ranking) -> ReportTable:
    reason = next((row.reason for row in overall.rows if row.reason), "")
    return ReportTable(
        name="ranking",
        title="All raters",
        reading=f"No Bradley–Terry: {reason}." if reason else "The same in numbers.",
        grids=(
            Grid(
                ("chatbot", "compared", "won", "tied", "Bradley–Terry", "interval", "Elo"),
                tuple(map(_line, overall.rows)),
            ),
        ),
    )


def _line(row: RankedChatbot) -> tuple[str, ...]:
    has_interval = row.ci_low is not None and row.ci_high is not None
    return (
        escape_unprintable(row.bot),
        f"{row.n:,.0f}",
        f"{row.won:,.0f}",
        f"{row.tied:,.0f}",
        UNKNOWN if row.bradley_terry is None else f"{row.bradley_terry:,.0f}",
        f"{row.ci_low:,.0f} to {row.ci_high:,.0f}" if has_interval else UNKNOWN,
        f"{row.elo:,.0f}",
    )


def _meetings(comparisons: Comparisons) -> ReportTable:
    """List the pairs of chatbots that were compared, the rarest first."""
    rows = sorted(_count_meetings(comparisons), key=lambda row: (row["n"], row["one"], row["other"]))
    n_bots = len(comparisons.bots)
    n_pairs = n_bots * (n_bots - 1) // 2
    note = "" if len(rows) <= MOST_MEETINGS else f"The {MOST_MEETINGS} that met least often are shown."
    return ReportTable(
        name="meetings",
        title="Comparisons of two chatbots",
        reading=f"{len(rows):,} of {n_pairs:,} pairs of chatbots met; the rest are compared through others."
        if len(rows) < n_pairs
        else "Each chatbot met every other.",
        grids=(
            Grid(
                ("chatbots", "comparisons", "first won", "tied", "second won"),
                tuple(map(_meeting_line, rows[:MOST_MEETINGS])),
            ),
        ),
        notes=(note,) if note else (),
        table=pl.DataFrame(rows),
    )


def _count_meetings(comparisons: Comparisons) -> Iterator[dict[str, str | int]]:
    swapped = comparisons.a > comparisons.b
    first, second = np.minimum(comparisons.a, comparisons.b), np.maximum(comparisons.a, comparisons.b)
    outcome = np.where(swapped, 1 - comparisons.outcome, comparisons.outcome)
    for a, b in np.unique(np.stack([first, second], axis=1), axis=0).tolist():
        outcomes = outcome[(first == a) & (second == b)]
        won, tied, lost = (int((outcomes == value).sum()) for value in (1.0, 0.5, 0.0))
        names = {"one": comparisons.bots[a], "other": comparisons.bots[b]}
        yield {**names, "n": len(outcomes), "won": won, "tied": tied, "lost": lost}


def _meeting_line(row: Mapping[str, str | int]) -> tuple[str, ...]:
    names = " and ".join(escape_unprintable(str(row[name])) for name in ("one", "other"))
    return (names, *(f"{row[name]:,}" for name in ("n", "won", "tied", "lost")))
