"""Agreement within and between groups, with intervals and stars, and of all raters on each question."""

from collections.abc import Iterator, Sequence

import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.analyse.level import Level
from dissensus.pipeline.analyse.result import Analysis, Row
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.answers import format_question
from dissensus.report.figures.panels import (
    NAMES,
    build_significance_scales,
    draw_estimates,
    draw_panels,
    select_rows,
)
from dissensus.report.graphics.layout import RowLabels
from dissensus.report.graphics.vega_lite import Spec
from dissensus.report.groups import DisplayedGroups, join_with_and
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.table import Ratings

TABLE = ("group", "metric", "estimate", "ci_low", "ci_high", "p", "p_adjusted", "direction", "n_raters", "n_items")
# Most findings that a sentence names.
MOST_NAMED = 4
QUESTION_METRICS = {"irr": NAMES["irr"], "pairwise_agreement": "pairwise agreement"}
QUESTION_COLUMNS = ("estimate", "ci_low", "ci_high", "n_raters", "n_items", "reason", "warning")
# Most questions that the figure of questions shows.
MOST_QUESTIONS = 40


def agreement(analysis: Analysis, groups: str | DisplayedGroups) -> Figure:
    """Draw every statistic of every group of an axis, with its interval and the value of the whole pool.

    Parameters
    ----------
    analysis
        The analysis, with `permutations` for stars and `bootstrap` for intervals.
    groups
        One of its axes, or displayed groups of one.
    """
    groups, rows = select_rows(analysis, groups)
    pool = {row.metric: row.estimate for row in analysis.overall}
    drawn = {metric: [row_by_group[name] for name in groups.compared] for metric, row_by_group in rows.items()}
    all_rows = [row for row_by_group in rows.values() for row in row_by_group.values()]

    scales = build_significance_scales([row for row_by_group in drawn.values() for row in row_by_group])

    def draw(metric: str, names: RowLabels) -> Sequence[Spec]:
        return draw_estimates(drawn[metric], pool.get(metric), names, scales)

    return Figure(
        name=f"agreement-{groups.slug}",
        axis=groups.axis,
        title=f"Agreement by {groups.title}",
        reading=describe_groups(all_rows, analysis, groups),
        table=pl.DataFrame(
            [{name: getattr(row, name) for name in TABLE} for row in all_rows], infer_schema_length=None
        ),
        draw=lambda width: draw_panels([groups.label(name) for name in groups.compared], draw, width),
        notes=(*_notes(analysis), *groups.single_notes, *groups.notes),
    )


def describe_groups(rows: Sequence[Row], analysis: Analysis, groups: DisplayedGroups) -> str:
    """Return a sentence on the groups beyond chance."""
    starred = sorted((row for row in rows if row.stars), key=lambda row: (-len(row.stars), row.p or 0.0))
    if not analysis.settings.permutations:
        return _range(rows, groups)
    n = sum(row.p is not None for row in rows)
    if not n:
        return f"No group of {groups.title} could be tested."
    if not starred:
        return f"No group of {groups.title} differs from what chance gives at p < .05, in {count_noun(n, 'test')}."
    findings = [
        f"{NAMES[row.metric]} of {escape_unprintable(str(row.group))} ({row.direction} chance, p "
        f"{format_short(row.p, 3)})"
        for row in starred
    ]
    remainder = f" and {len(findings) - MOST_NAMED} more" if len(findings) > MOST_NAMED else ""
    n_adjusted = sum(row.stars == "**" for row in starred)
    remaining = "none remains" if not n_adjusted else "1 remains" if n_adjusted == 1 else f"{n_adjusted} remain"
    listed = ", ".join(findings[:MOST_NAMED]) + remainder if remainder else join_with_and(findings)
    return f"Beyond chance at p < .05: {listed}. After adjustment for all tests {remaining}."


def _range(rows: Sequence[Row], groups: DisplayedGroups) -> str:
    irr_rows = [row for row in rows if row.metric == "irr" and row.estimate is not None]
    if not irr_rows:
        return f"IRR is undefined for every group of {groups.title}."
    low, high = (pick(irr_rows, key=lambda row: row.estimate or 0.0) for pick in (min, max))
    if len(irr_rows) == 1:
        return f"IRR of {escape_unprintable(str(low.group))} is {format_short(low.estimate, 3)}; nothing was tested."
    ends = [f"{format_short(row.estimate, 3)} ({escape_unprintable(str(row.group))})" for row in (low, high)]
    return f"IRR ranges from {ends[0]} to {ends[1]}; nothing was tested."


def _notes(analysis: Analysis) -> Iterator[str]:
    settings = analysis.settings
    if settings.permutations:
        yield f"Tests: {settings.permutations:,} permutations of the raters' demographic rows, seed {settings.seed}."
    if settings.bootstrap:
        yield f"Lines: {100 * settings.confidence:g} % intervals, {settings.bootstrap:,} bootstrap replicates."
    yield "Dashed: the whole pool."


def question_agreement(ratings: Ratings, *, level: Level = "nominal", bootstrap: int = 0, seed: int = 0) -> Figure:
    """Draw Krippendorff's alpha and the pairwise agreement of all raters on each question that was read.

    Questions on which alpha is undefined are only in the table.

    Parameters
    ----------
    ratings
        The ratings, with ``questions="all"`` for the questions that were asked.
    level
        Level of measurement, as for `analyse`.
    bootstrap
        Number of bootstrap replicates; 0 for no intervals.
    seed
        Seed of the bootstrap.

    Raises
    ------
    UndefinedEstimate
        Alpha is undefined for every question.
    """
    rows = {question: _estimate_question(ratings, question, level, bootstrap, seed) for question in ratings.questions}
    alphas = {question: of_question["irr"] for question, of_question in rows.items()}
    known = [question for question, row in alphas.items() if row.estimate is not None]
    if not known:
        raise UndefinedEstimate("Alpha is undefined for every question.")
    drawn = known[:MOST_QUESTIONS]
    of_drawn = [row for question in drawn for row in rows[question].values()]
    scales = build_significance_scales(of_drawn)

    def draw(metric: str, names: RowLabels) -> Sequence[Spec]:
        return draw_estimates([rows[question][metric] for question in drawn], None, names, scales)

    labels = [escape_unprintable(format_question(question)) for question in drawn]
    return Figure(
        name="question-agreement",
        title="Agreement on each question",
        reading=_read_questions({question: alphas[question] for question in known}),
        table=pl.DataFrame(
            [
                {"question": question, "metric": metric} | {name: getattr(row, name) for name in QUESTION_COLUMNS}
                for question, of_question in rows.items()
                for metric, row in of_question.items()
            ],
            infer_schema_length=None,
        ),
        draw=lambda width: draw_panels(labels, draw, width, titles=[QUESTION_METRICS]),
        notes=tuple(_note_questions(alphas, known, bootstrap)),
    )


def _estimate_question(ratings: Ratings, question: str, level: Level, bootstrap: int, seed: int) -> dict[str, Row]:
    analysis = analyse(ratings, question=question, level=level, bootstrap=bootstrap, seed=seed)
    rows = {row.metric: row for row in analysis.overall}
    return {metric: rows[metric] for metric in QUESTION_METRICS}


def _read_questions(alphas: dict[str, Row]) -> str:
    low, high = (pick(alphas, key=lambda question: alphas[question].estimate or 0.0) for pick in (min, max))
    ends = [
        f"{format_short(alphas[question].estimate)} ({escape_unprintable(format_question(question))})"
        for question in (low, high)
    ]
    return f"IRR is {ends[0]}." if low == high else f"IRR ranges from {ends[0]} to {ends[1]}."


def _note_questions(alphas: dict[str, Row], known: Sequence[str], bootstrap: int) -> Iterator[str]:
    if bootstrap:
        yield f"Lines: 95 % intervals, {bootstrap:,} bootstrap replicates."
    yield (
        "Pairwise agreement is not corrected for chance: where most answers are the same it is high, and IRR depends "
        "on the few others."
    )
    if undefined := [escape_unprintable(format_question(question)) for question in alphas if question not in known]:
        yield f"Not drawn, since IRR is undefined: {join_with_and(undefined)}."
    if len(known) > MOST_QUESTIONS:
        yield f"The figure shows the first {MOST_QUESTIONS} of {len(known):,} questions; the table has all."
