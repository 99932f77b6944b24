"""Figures of red-team attempts: success, harmlessness, tags, models and reviewers, each with intervals."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.attempts.result import AttemptAnalysis, AttemptCell, Relation, Tag
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.means import (
    MeanRow,
    MeanRows,
    ScaleStyle,
    build_table,
    draw_means,
    explain_missing,
    format_as_number,
    format_as_percent,
)
from dissensus.schema.hints import count_noun
from dissensus.stats.cluster_bootstrap import BootstrapEstimate

MOST_TYPES, MOST_SIZES, MOST_TAGS = 12, 8, 24
EVERY_TYPE, EVERY_SIZE = "all types", "all sizes"
OF_ALL, OF_SUCCESSFUL = "of all reviewed attempts", "of the successful ones"
# Most reasons for missing intervals that notes list.
REASONS: Final = 4


def success(analysis: AttemptAnalysis) -> Figure:
    """Draw the share of successes by type and size of the model."""
    return _draw_cells(
        analysis,
        analysis.success,
        name="success",
        title="Success by type and size",
        statement=f"attempts succeed (rating {analysis.success_from} or more)",
    )


def reviewers_success(analysis: AttemptAnalysis) -> Figure:
    """Draw the share of reviews that call an attempt a success, by type and size of the model."""
    assert analysis.reviewed is not None  # noqa: S101 - the caller checks it
    return _draw_cells(
        analysis,
        analysis.reviewed.success,
        name="reviewers-success",
        title="Success by type and size, as reviewers see it",
        unit="reviews",
        statement=f"reviews say that the attempt succeeded ({analysis.success_from} or more)",
    )


def _draw_cells(
    analysis: AttemptAnalysis,
    cells: Sequence[AttemptCell],
    *,
    name: str,
    title: str,
    statement: str,
    unit: str = "attempts",
) -> Figure:
    overall = _overall_mean(cells, f"It is unknown how many {statement}.")
    value = "success"
    blocks = _blocks(cells, value)
    return Figure(
        name=name,
        title=title,
        reading=f"{format_as_percent(overall)} of {overall.n:,} {statement}{_from_to(cells, percent=True)}.",
        table=build_table([*blocks, *_list_undrawn(cells, blocks, value)], value, unit=unit),
        draw=lambda width: draw_means(blocks, width, ScaleStyle(percent=True, least=0)),
        notes=tuple(_notes(analysis, blocks, cells, unit=unit)),
    )


def harmlessness(analysis: AttemptAnalysis) -> Figure:
    """Draw the mean and the spread of the least harmlessness score by type and size of the model."""
    cells = analysis.harmlessness
    overall = _overall_mean(cells, "No attempt has a harmlessness score.")
    blocks = _blocks(cells, "score")
    all_blocks = [*blocks, *_list_undrawn(cells, blocks, "score")]
    return Figure(
        name="harmlessness",
        title="Least harmlessness by type and size",
        reading=(
            f"The mean is {format_as_number(overall)} over "
            f"{count_noun(overall.n, 'attempt')}{_from_to(cells, percent=False)}."
        ),
        table=build_table(all_blocks, "mean").hstack(_quantiles(cells, all_blocks)),
        draw=lambda width: draw_means(blocks, width, ScaleStyle(reference=0)),
        notes=(
            "Each attempt counts by the least score of a turn of the bot; lower is more harmful. Bars: the middle 50 % "
            "and 90 % of attempts.",
            *_notes(analysis, blocks, cells),
        ),
    )


def relation(analysis: AttemptAnalysis, association: Relation, *, name: str, title: str, measure: str) -> Figure:
    """Draw the mean of something at each rating of the red-teamer."""
    levels = [level for level in association.levels if level.mean.n]
    if not levels:
        raise UndefinedEstimate(f"No attempt has both a rating and {measure}.")
    lines = tuple(
        MeanRow(name=f"{level.rating}\n{count_noun(level.mean.n, 'attempt')}", marks={measure: level.mean})
        for level in levels
    )
    blocks = [MeanRows("Rating of the red-teamer", lines)]
    rho = association.spearman
    first, last = levels[0], levels[-1]
    correlation = (
        "Spearman's correlation is undefined"
        if rho.estimate is None
        else f"Spearman's correlation is {format_as_number(rho)}"
    )
    return Figure(
        name=name,
        title=title,
        reading=(
            f"{correlation}: from {format_short(first.mean.estimate)} at rating {first.rating} to "
            f"{format_short(last.mean.estimate)} at "
            f"{last.rating}."
        ),
        table=build_table(blocks, "mean"),
        draw=lambda width: draw_means(blocks, width, ScaleStyle()),
        notes=(*_reason(analysis, "Spearman's correlation", rho), *_notes(analysis, blocks, ())),
    )


def tags(analysis: AttemptAnalysis) -> Figure:
    """Draw the numbers of all and of the successful reviewed attempts with each tag."""
    if not analysis.tags:
        raise UndefinedEstimate("No attempt has a tag: nobody reviewed it, or tags are not in the file.")
    drawn_blocks = [MeanRows("", tuple(_tag(tag) for tag in analysis.tags[:MOST_TAGS]))]
    all_blocks = [MeanRows("", tuple(_tag(tag) for tag in analysis.tags))]
    first, n_tags = analysis.tags[0], len(analysis.tags)
    estimated = [tag for tag in analysis.tags if tag.success.estimate is not None and tag.success.ci_low is not None]
    best = max(estimated, key=lambda tag: tag.success.estimate or 0.0, default=None)
    highest = (
        ""
        if best is None
        else f"; attempts succeed most often with {escape_unprintable(best.tag)} ({format_as_percent(best.success)})"
    )
    return Figure(
        name="tags",
        title="Tags",
        reading=(
            f"{escape_unprintable(first.tag)} is most frequent, {format_as_percent(first.share)} of "
            f"{analysis.n_tagged:,} reviewed "
            f"attempts{highest}."
        ),
        table=build_table(all_blocks, "share", of="of").with_columns(
            pl.Series("success", [value for tag in analysis.tags for value in _list_success(tag)], pl.Float64)
        ),
        draw=lambda width: draw_means(drawn_blocks, width, ScaleStyle(percent=True, least=0)),
        notes=(
            "An attempt may have several tags, so that shares add up to more than 100 %.",
            *([f"The figure shows the first {MOST_TAGS} of {n_tags:,} tags."] if n_tags > MOST_TAGS else []),
            *_notes(analysis, drawn_blocks, ()),
        ),
    )


def _tag(tag: Tag) -> MeanRow:
    return MeanRow(
        name=f"{escape_unprintable(tag.tag)}\n{count_noun(tag.n, 'attempt')}",
        marks={OF_ALL: tag.share, OF_SUCCESSFUL: tag.share_of_successful},
    )


def _list_success(tag: Tag) -> tuple[float | None, None]:
    """Return the success of a tag for the first of its two rows of the table, and nothing for the second."""
    return tag.success.estimate, None


def _overall_mean(cells: Sequence[AttemptCell], unknown: str) -> BootstrapEstimate:
    overall = cells[0].mean
    if overall.estimate is None:
        raise UndefinedEstimate(unknown)
    return overall


def _blocks(cells: Sequence[AttemptCell], value: str) -> list[MeanRows]:
    """Return a block of all types and one of each, with a row for all sizes and for each.

    A single type or size has no row of its own.
    """
    types = _select_most_frequent(
        [cell for cell in cells if cell.model_type and not cell.size], "model_type", MOST_TYPES
    )
    sizes = _select_most_frequent([cell for cell in cells if cell.size and not cell.model_type], "size", MOST_SIZES)
    cells_by_key = {(cell.model_type, cell.size): cell for cell in cells}
    kinds = [*([None] if len(types) > 1 else []), *types]
    rows = [*([None] if len(sizes) > 1 else []), *sizes]
    blocks = []
    for kind in kinds:
        row_cells = [cells_by_key[kind, size] for size in rows if (kind, size) in cells_by_key]
        lines = tuple(_line(cell, value) for cell in row_cells if cell.mean.n)
        if lines:
            blocks.append(MeanRows(EVERY_TYPE if kind is None else kind, lines))
    return blocks


def _select_most_frequent(cells: Sequence[AttemptCell], name: str, most: int) -> list[str]:
    """Return the names with the most attempts, in the order of the cells."""
    largest = sorted(cells, key=lambda cell: -cell.mean.n)[:most]
    return [getattr(cell, name) for cell in cells if cell in largest]


def _line(cell: AttemptCell, value: str) -> MeanRow:
    spans = ((cell.quantiles[0], cell.quantiles[4]), (cell.quantiles[1], cell.quantiles[3])) if cell.quantiles else ()
    name = f"{escape_unprintable(cell.size or EVERY_SIZE)}\n{cell.mean.n:,} by {cell.mean.clusters:,}"
    return MeanRow(name=name, marks={value: cell.mean}, spans=spans)


def _count_sizes(cells: Sequence[AttemptCell]) -> tuple[int, int]:
    """Return the number of types, and of sizes."""
    types, sizes = ({getattr(cell, name) for cell in cells} - {None} for name in ("model_type", "size"))
    return len(types), len(sizes)


def _list_undrawn(cells: Sequence[AttemptCell], blocks: Sequence[MeanRows], value: str) -> list[MeanRows]:
    """Return rows that a figure has no room for."""
    drawn = {id(mark) for block in blocks for line in block.lines for mark in line.marks.values()}
    n_types, n_sizes = _count_sizes(cells)
    if n_types <= MOST_TYPES and n_sizes <= MOST_SIZES:
        return []
    undrawn = [cell for cell in cells if id(cell.mean) not in drawn and cell.mean.n]
    return [
        MeanRows(cell.model_type or EVERY_TYPE, (MeanRow(name=cell.size or EVERY_SIZE, marks={value: cell.mean}),))
        for cell in undrawn
    ]


def _quantiles(cells: Sequence[AttemptCell], blocks: Sequence[MeanRows]) -> pl.DataFrame:
    by_mean = {id(cell.mean): cell.quantiles for cell in cells}
    rows = [by_mean[id(mark)] for block in blocks for line in block.lines for mark in line.marks.values()]
    names = ("5_%", "25_%", "median", "75_%", "95_%")
    return pl.DataFrame({name: [row[k] if row else None for row in rows] for k, name in enumerate(names)})


def _from_to(cells: Sequence[AttemptCell], *, percent: bool) -> str:
    types = [cell for cell in cells if cell.model_type and not cell.size and cell.mean.estimate is not None]
    if len(types) < 2:
        return ""
    ranked = sorted(types, key=lambda cell: cell.mean.estimate or 0.0)
    format_mean = format_as_percent if percent else format_as_number
    least, most = (
        f"{format_mean(cell.mean)} ({escape_unprintable(cell.model_type or '')})" for cell in (ranked[0], ranked[-1])
    )
    return f"; by type from {least} to {most}"


def _reason(analysis: AttemptAnalysis, name: str, mark: BootstrapEstimate) -> tuple[str, ...]:
    return (
        (f"{name}: {explain_missing(mark)}.",) if mark.reason and (analysis.bootstrap or mark.estimate is None) else ()
    )


def _notes(
    analysis: AttemptAnalysis, blocks: Sequence[MeanRows], cells: Sequence[AttemptCell], *, unit: str = "attempts"
) -> Iterator[str]:
    if any(mark.ci_low is not None for block in blocks for line in block.lines for mark in line.marks.values()):
        yield (
            f"Lines: {100 * analysis.confidence:g} % intervals for other red-teamers, from {analysis.bootstrap:,} "
            f"draws of them with all their attempts, seed {analysis.seed}. "
            f"The numbers below a name are {unit} and red-teamers."
            if cells
            else f"Lines: {100 * analysis.confidence:g} % intervals for other red-teamers."
        )
    n_types, n_sizes = _count_sizes(cells)
    if n_types > MOST_TYPES or n_sizes > MOST_SIZES:
        yield f"The figure shows the {MOST_TYPES} most frequent types and {MOST_SIZES} sizes; the numbers hold all."
    reasons = [
        (f"{block.heading}, {line.name}" if block.heading else line.name, explain_missing(mark))
        for block in blocks
        for line in block.lines
        for mark in line.marks.values()
        if mark.reason and analysis.bootstrap
    ]
    for name, reason in reasons[:REASONS]:
        yield f"{escape_unprintable(name.split(chr(10))[0])}: {reason}."
    if len(reasons) > REASONS:
        yield f"{len(reasons) - REASONS:,} more rows have no interval; the numbers say why."
