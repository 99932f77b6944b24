"""Report of a scorecard of chatbots: shares of unsafe answers by group, and gaps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from dissensus.pipeline.score import GapRow, Scorecard, ScoreRow
from dissensus.pipeline.score.display import explain_rows, gap_grids
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.groups import EVERYBODY, make_file_name
from dissensus.report.methods import Method
from dissensus.report.result import Document, Size
from dissensus.report.score.group_points import Blocks, PointRow, Value, draw_group_points
from dissensus.report.sections import Section, number_figures
from dissensus.report.tables import ReportTable
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun

MOST_SERIES: Final = 4
WORDS: Final = (
    "Of the m ratings of an item by raters of a group, c are unsafe; y is 1 for an unsafe rating, else 0; s is a score "
    "from 0 to 1. Items have the same weight."
)
METHODS: Final = (
    Method(
        "Share of unsafe answers",
        r"\frac{1}{I} \sum_i \frac{c_i}{m_i}",
        "The mean over items of the share of unsafe answers of a group. Intervals are Wilson's with the effective "
        "number of ratings, for other raters and other items.",
        "Cameron, Gelbach and Miller (2011), Robust Inference with Multiway Clustering",
        ("shares",),
    ),
    Method(
        "Gap by chance",
        r"\int 1 - \prod_g \Phi(x / s_g) - \prod_g \left( 1 - \Phi(x / s_g) \right) dx",
        "The expected range of independent normal values with the variances of the groups: the gap between groups that "
        "do not differ. The test takes all pairs of groups, adjusted by Holm's method.",
        "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure",
        ("gaps",),
    ),
)


def scorecard_report(card: Scorecard, *, command: str = "") -> Document:
    """Make a report of a scorecard of chatbots."""
    sections = [Section("shares", "Shares of unsafe answers", _lead(card), tuple(_share_figures(card)))]
    sections += list(gap_sections(card))
    return build_document("Scorecard of chatbots", card, sections, METHODS, command)


def build_document(
    title: str, card: Scorecard, sections: Sequence[Section], methods: Sequence[Method], command: str
) -> Document:
    """Return the page of a scorecard with its sizes and notes; figures of a section get unique names."""
    return Document(
        title=title,
        summary=(
            f"{count_noun(card.n_ratings, 'rating')} of {count_noun(card.n_items, 'item')} by "
            f"{count_noun(card.n_raters, 'rater')}; unsafe: {' or '.join(card.settings.unsafe)}."
        ),
        sizes=(
            Size("raters", f"{card.n_raters:,}"),
            Size("items", f"{card.n_items:,}"),
            Size("ratings", f"{card.n_ratings:,}"),
            Size("gaps tested", f"{sum(gap.p is not None for gap in card.gaps):,}"),
        ),
        sections=tuple(replace(section, parts=number_figures(section.parts)) for section in sections),
        command=command or "dissensus.report.score",
        notes=(*card.warnings, *card.notes),
        version=card.version,
        methods=tuple(methods),
        words=WORDS,
    )


def _lead(card: Scorecard) -> str:
    return f"How often raters of each group call a response unsafe, by {' and '.join(card.settings.questions)}."


def _share_figures(card: Scorecard) -> Iterator[Figure]:
    """Yield a figure for each question on all items, and one for every four values of each attribute of items."""
    models = list(dict.fromkeys(row.model for row in card.rows))
    for question in card.settings.questions:
        rows = [row for row in card.rows if row.question == question and row.attribute is None]
        series = [str(model or question) for model in models[:MOST_SERIES]]
        cut = f"The figure shows the first {MOST_SERIES} of {len(models)} chatbots; the table has all."
        notes = (cut,) if len(models) > MOST_SERIES else ()
        yield _draw_shares(f"shares-{make_file_name(question)}", question, rows, series, card.settings.axes, notes)
    first = card.settings.questions[0]
    of_model = "" if models[0] is None else f", {models[0]}"
    for attribute in card.settings.by_item:
        rows = [row for row in card.rows if (row.question, row.attribute, row.model) == (first, attribute, models[0])]
        values = list(dict.fromkeys(str(row.value) for row in rows))
        for start in range(0, len(values), MOST_SERIES):
            part = values[start : start + MOST_SERIES]
            name = f"shares-{make_file_name(attribute)}" + (
                f"-{start // MOST_SERIES + 1}" if len(values) > MOST_SERIES else ""
            )
            yield _draw_shares(name, f"{first} by {attribute}{of_model}", rows, part, card.settings.axes)


def _draw_shares(
    name: str,
    title: str,
    rows: Sequence[ScoreRow],
    series: Sequence[str],
    axes: Sequence[str],
    notes: tuple[str, ...] = (),
) -> Figure:
    blocks = build_blocks(rows, axes, lambda row: str(row.value or row.model or row.question))
    return Figure(
        name=name,
        title=title,
        reading=_read_shares([row for row in rows if row.estimate is not None]),
        table=tabulate(rows),
        draw=lambda width: draw_group_points(blocks, width, series=series, per_cent=True),
        notes=("Lines: intervals for other raters and other items.", *notes),
    )


def build_blocks(rows: Sequence[ScoreRow], axes: Sequence[str], name: Callable[[ScoreRow], str]) -> Blocks:
    """Return a block for everybody and one for each axis, whose rows are groups; `name` gives the series of a row."""
    blocks = []
    for axis in (None, *axes):
        own = [row for row in rows if row.axis == axis and row.estimate is not None]
        groups = dict.fromkeys(row.group for row in own)
        points = [
            PointRow(
                EVERYBODY if group is None else f"{escape_unprintable(group)}\n{_count_raters(own, group)}",
                {
                    name(row): Value(row.estimate, row.ci_low, row.ci_high)
                    for row in own
                    if row.group == group and row.estimate is not None
                },
            )
            for group in groups
        ]
        if points:
            blocks.append(("" if axis is None else f"Raters by {format_axis(axis)}", points))
    return blocks


def _count_raters(rows: Sequence[ScoreRow], group: str) -> str:
    return count_noun(max(row.n_raters for row in rows if row.group == group), "rater")


def _read_shares(rows: Sequence[ScoreRow]) -> str:
    pool = [row for row in rows if row.axis is None]
    grouped = [row for row in rows if row.axis is not None]
    if not pool:
        return "No group is large enough to be shown."
    shares = [100 * (row.estimate or 0) for row in pool]
    text = f"Raters call {shares[0]:.1f} % of responses unsafe"
    if len(pool) > 1:
        parts = "value" if pool[0].value is not None else "chatbot"
        text = f"Raters call {min(shares):.1f} to {max(shares):.1f} % of responses unsafe, by {parts}"
    if not grouped:
        return f"{text}."
    worst = max(grouped, key=lambda row: row.estimate or 0)
    part = worst.value or worst.model if len(pool) > 1 else None
    group = ", ".join(escape_unprintable(str(name)) for name in (worst.group, part) if name is not None)
    return f"{text}; the highest share of a group is {100 * (worst.estimate or 0):.1f} % ({group})."


def gap_sections(card: Scorecard) -> Iterator[Section]:
    """Yield the section of gaps, if there are groups."""
    if not card.gaps:
        return
    yield Section(
        "gaps",
        "Gaps between groups",
        "The difference between the group for which a value is worst and the one for which it is best.",
        (
            ReportTable(
                name="gaps",
                title="Worst and best served",
                reading=read_gaps(card.gaps),
                grids=tuple(gap_grids(card.gaps)),
                notes=tuple(explain_rows(card.rows, card.gaps, card.settings)),
                table=pl.DataFrame([_gap_numbers(gap) for gap in card.gaps], infer_schema_length=None),
            ),
        ),
    )


def read_gaps(gaps: Sequence[GapRow]) -> str:
    """Return a sentence on the gap that is most surely not due to chance."""
    tested = [gap for gap in gaps if gap.p_adjusted is not None]
    if not tested:
        reason = next((gap.reason for gap in gaps if gap.reason), "fewer than two groups have enough raters")
        return f"No gap can be tested: {reason}."
    least = min(tested, key=lambda gap: gap.p_adjusted or 0)
    if (least.p_adjusted or 0) >= 0.05:
        return "No gap is shown to be more than chance after adjustment for all gaps tested."
    first, second = least.pair or ("", "")
    sure = sum((gap.p_adjusted or 0) < 0.05 for gap in tested)
    return (
        f"{sure:,} of {len(tested):,} gaps are more than chance; most surely {escape_unprintable(first)} and "
        f"{escape_unprintable(second)} differ (adjusted p {format_short(least.p_adjusted, 3)})."
    )


def _gap_numbers(gap: GapRow) -> dict[str, str | float | int | None]:
    names = ("model", "question", "attribute", "value", "axis", "metric", "worst", "best", "estimate", "by_chance", "p")
    return {name: getattr(gap, name) for name in (*names, "p_adjusted", "n_groups", "reason")}


def tabulate(rows: Sequence[ScoreRow]) -> pl.DataFrame:
    """Return the numbers of rows."""
    names = ("model", "question", "attribute", "value", "axis", "group", "metric", "estimate", "ci_low", "ci_high")
    return pl.DataFrame(
        [{name: getattr(row, name) for name in (*names, "n_raters", "n_items", "warning")} for row in rows],
        infer_schema_length=None,
    )
