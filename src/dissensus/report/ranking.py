"""Report of a chatbot ranking."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Final

import numpy as np
import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable
from dissensus.preference.ranking.ranking import Comparisons, RankedChatbot, Ranking
from dissensus.report.figures.standings import standings
from dissensus.report.groups import format_axis, format_count
from dissensus.report.methods import Method
from dissensus.report.result import Document, Size
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable

WORDS: Final = "Chatbots are i and j, R their ratings; a tie is half a win for both. Logarithms are natural."
METHODS: Final = (
    Method(
        "Bradley–Terry",
        r"P(i \succ j) = \frac{1}{1 + 10^{(R_j - R_i) / 400}}",
        "The ratings under which what was preferred is most likely, with a mean of 1,000. Intervals: percentiles over "
        "samples of raters, each with all that they said.",
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
"""Pairs of chatbots that are listed."""


def ranking_report(
    every: Ranking,
    comparisons: Comparisons,
    *,
    by: str | None = None,
    groups: Mapping[str, Ranking | str] | None = None,
    excluded: Mapping[str, int] | None = None,
    command: str = "",
    seed: int = 0,
) -> Document:
    """Make a report of a ranking."""
    ranked = {name: one for name, one in (groups or {}).items() if isinstance(one, Ranking)}
    missing = {name: one for name, one in (groups or {}).items() if isinstance(one, str)}
    left = (f"{format_count(n, 'comparison')} left out: {why}." for why, n in (excluded or {}).items())
    unranked = (
        f"{format_axis(by or 'group').capitalize()} {escape_unprintable(name)}: {why}" for name, why in missing.items()
    )
    return Document(
        title="Which chatbots people prefer",
        summary=f"{format_count(len(every.rows), 'chatbot')} in {format_count(every.n_comparisons, 'comparison')}.",
        sizes=tuple(_sizes(every)),
        sections=tuple(_sections(every, comparisons, by, ranked)),
        command=command or "dissensus.report.ranking.ranking_report(…)",
        notes=(*left, *every.notes, *unranked),
        version=version("dissensus"),
        seed=seed,
        methods=METHODS,
        words=WORDS,
    )


def _sizes(every: Ranking) -> Iterator[Size]:
    yield Size("chatbots", f"{len(every.rows):,}")
    yield Size("comparisons", f"{every.n_comparisons:,}")
    if every.n_raters is not None:
        yield Size("raters", f"{every.n_raters:,}")
    if every.slope is not None:
        yield Size("slope of scores", f"{every.slope:.2f}")


def _sections(
    every: Ranking, comparisons: Comparisons, by: str | None, ranked: Mapping[str, Ranking]
) -> Iterator[Section]:
    yield Section(
        "standings",
        "Which are preferred",
        "Two answers to the same conversation at a time: how often does each chatbot win, and over whom?",
        (standings(every, by=by, groups=ranked), _table(every)),
    )
    yield Section(
        "meetings",
        "Who met whom",
        "Strengths are known as far as chatbots met, or met others that did.",
        (_meetings(comparisons),),
    )


def _table(every: Ranking) -> ReportTable:
    reason = next((row.reason for row in every.rows if row.reason), "")
    return ReportTable(
        name="ranking",
        title="All raters",
        reading=f"No Bradley–Terry: {reason}." if reason else "The same in numbers.",
        grids=(
            Grid(
                ("chatbot", "compared", "won", "tied", "Bradley–Terry", "interval", "Elo"),
                tuple(map(_line, every.rows)),
            ),
        ),
    )


def _line(row: RankedChatbot) -> tuple[str, ...]:
    known = row.ci_low is not None and row.ci_high is not None
    return (
        escape_unprintable(row.bot),
        f"{row.n:,.0f}",
        f"{row.won:,.0f}",
        f"{row.tied:,.0f}",
        UNKNOWN if row.bradley_terry is None else f"{row.bradley_terry:,.0f}",
        f"{row.ci_low:,.0f} to {row.ci_high:,.0f}" if known else UNKNOWN,
        f"{row.elo:,.0f}",
    )


def _meetings(comparisons: Comparisons) -> ReportTable:
    """List which chatbots were compared with each other, those seldom compared first."""
    rows = sorted(_count_meetings(comparisons), key=lambda row: (row["n"], row["one"], row["other"]))
    bots = len(comparisons.bots)
    every = bots * (bots - 1) // 2
    more = "" if len(rows) <= MOST_MEETINGS else f"The {MOST_MEETINGS} that met least often are shown."
    return ReportTable(
        name="meetings",
        title="Comparisons of two chatbots",
        reading=f"{len(rows):,} of {every:,} pairs of chatbots met; the rest are compared by way of others."
        if len(rows) < every
        else "Each chatbot met every other.",
        grids=(
            Grid(
                ("chatbots", "comparisons", "first won", "tied", "second won"),
                tuple(map(_meeting_line, rows[:MOST_MEETINGS])),
            ),
        ),
        notes=(more,) if more else (),
        table=pl.DataFrame(rows),
    )


def _count_meetings(comparisons: Comparisons) -> Iterator[dict[str, str | int]]:
    turned = comparisons.a > comparisons.b
    one, other = np.minimum(comparisons.a, comparisons.b), np.maximum(comparisons.a, comparisons.b)
    outcome = np.where(turned, 1 - comparisons.outcome, comparisons.outcome)
    for a, b in np.unique(np.stack([one, other], axis=1), axis=0).tolist():
        found = outcome[(one == a) & (other == b)]
        won, tied, lost = (int((found == value).sum()) for value in (1.0, 0.5, 0.0))
        names = {"one": comparisons.bots[a], "other": comparisons.bots[b]}
        yield {**names, "n": len(found), "won": won, "tied": tied, "lost": lost}


def _meeting_line(row: Mapping[str, str | int]) -> tuple[str, ...]:
    names = " and ".join(escape_unprintable(str(row[name])) for name in ("one", "other"))
    return (names, *(f"{row[name]:,}" for name in ("n", "won", "tied", "lost")))
