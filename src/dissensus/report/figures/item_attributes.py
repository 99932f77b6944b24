"""Answers, agreement and differences between groups on the items of each value of an attribute."""

from collections.abc import Iterator, Sequence

import polars as pl

from dissensus.errors import NotFound
from dissensus.pipeline.analyse.result import FEW, Analysis, ItemRow, location_headings
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.panels import build_significance_scales, draw_estimates, draw_panels
from dissensus.report.graphics.layout import RowLabels, truncate_text
from dissensus.report.graphics.vega_lite import Spec
from dissensus.report.groups import DisplayedGroups, make_slug, read_compared_groups
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun
from dissensus.stats.groups.coverage import FEWEST_ITEMS_OF_VALUE

COLUMNS = ("value", "metric", "estimate", "ci_low", "ci_high", "n_items_of_value", "n_items", "n_raters", "warning")
GROUP_COLUMNS = ("value", "group", *COLUMNS[1:5], "p", "p_adjusted", *COLUMNS[5:], "reason")
# Most rows of the figure.
MOST_ROWS = 30
# Width of the title of a panel in pixels.
TITLE_WIDTH = 118


def item_attribute(analysis: Analysis, attribute: str) -> Figure:
    """Draw share or mean of the answers, and agreement, of the pool on the items of each value of an attribute.

    Parameters
    ----------
    analysis
        The analysis, with the attribute in `by_item`, and `bootstrap` for intervals.
    attribute
        The attribute of items, such as "degree_of_harm".
    """
    rows = [row for row in analysis.item_rows if row.attribute == attribute and row.axis is None]
    location, heading = next(iter(location_headings(analysis).items()))
    titles = {
        location: heading,
        "pairwise_agreement": "pairwise agreement",
        "irr": "IRR (alpha)",
    }
    values = list(dict.fromkeys(row.value for row in rows))
    drawn = {metric: [row for row in rows if row.metric == metric][:MOST_ROWS] for metric in titles}
    pool = {row.metric: row.estimate for row in analysis.overall}
    scales = build_significance_scales(rows)

    def draw(metric: str, names: RowLabels) -> Sequence[Spec]:
        return draw_estimates(drawn[metric], pool.get(metric), names, scales)

    labels = [_label(row) for row in drawn[location]]
    return Figure(
        name=f"by-item-{make_slug(attribute)}",
        title=f"Answers and agreement by {format_axis(attribute)}",
        reading=_read(drawn[location], heading),
        table=pl.DataFrame([{name: getattr(row, name) for name in COLUMNS} for row in rows], infer_schema_length=None),
        draw=lambda width: draw_panels(labels, draw, width, titles=[titles]),
        notes=(
            "Dashed: all items.",
            *_describe_overlap(drawn[location], analysis),
            *_notes(rows, analysis, len(values)),
        ),
    )


def item_gaps(analysis: Analysis, attribute: str, groups: str | DisplayedGroups) -> Figure:
    """Draw the differences of share or mean between groups, on the items of each value of an attribute.

    Hidden groups are left out, and so is each value whose items fewer raters of a displayed group rated than its
    `suppress_below`.

    Parameters
    ----------
    analysis
        The analysis, with the attribute in `by_item`, `permutations` for stars and `bootstrap` for intervals.
    attribute
        The attribute of items, such as "harm_type".
    groups
        One of its axes, or displayed groups of one.

    Raises
    ------
    NotFound
        No value has two groups that may be shown.
    """
    groups = read_compared_groups(analysis, groups) if isinstance(groups, str) else groups
    rows = list(_select_gaps(analysis, attribute, groups))
    gaps = {(row.value, row.group): row for row in rows if row.metric == "mean_difference"}
    values = list(dict.fromkeys(value for value, _ in gaps))
    if not values:
        raise NotFound(f"No groups of {groups.title} are compared by {format_axis(attribute)}.")
    labels = [_label(next(row for row in rows if row.value == value)) for value in values[:MOST_ROWS]]
    scales = build_significance_scales(list(gaps.values()))

    def draw(group: str, names: RowLabels) -> Sequence[Spec]:
        of_group = [gaps.get((value, group)) for value in values[:MOST_ROWS]]
        return draw_estimates(of_group, 0.0, names, scales, beside=list(gaps.values()))

    heading = next(iter(location_headings(analysis).values()))
    titles = {group: truncate_text(groups.label(group, size=False), TITLE_WIDTH) for group in groups.compared}
    return Figure(
        name=f"gaps-{make_slug(attribute)}-{groups.slug}",
        axis=groups.axis,
        title=f"Differences of {groups.title} by {format_axis(attribute)}",
        reading=_read_gaps(rows, groups),
        table=pl.DataFrame(
            [{name: getattr(row, name) for name in GROUP_COLUMNS} for row in rows], infer_schema_length=None
        ),
        draw=lambda width: draw_panels(labels, draw, width, titles=[titles]),
        notes=(
            f"{heading[0].upper()}{heading[1:]} in a group less that of "
            f"{escape_unprintable(analysis.settings.against)}, on the same items. Dashed: no difference.",
            *_notes(rows, analysis, len(values)),
            *groups.single_notes,
            *groups.notes,
        ),
    )


def _select_gaps(analysis: Analysis, attribute: str, groups: DisplayedGroups) -> Iterator[ItemRow]:
    """Yield the rows of displayed groups, for values on whose items each of them has enough raters."""
    of_axis = [row for row in analysis.item_rows if (row.attribute, row.axis) == (attribute, groups.axis)]
    small = {row.value for row in of_axis if row.group in groups.listed and (row.n_raters or 0) < groups.suppress_below}
    for row in of_axis:
        is_shown = not groups.hidden if row.group is None else row.group in groups.listed
        if is_shown and row.value not in small:
            yield row


def _read_gaps(rows: Sequence[ItemRow], groups: DisplayedGroups) -> str:
    tested = [row for row in rows if row.p is not None]
    if not tested:
        return f"Differences between groups of {groups.title} were not tested."
    beyond = [row for row in tested if row.stars]
    n_adjusted = sum(row.stars == "**" for row in beyond)
    return (
        f"Of {count_noun(len(tested), 'test')} of differences and distances, {len(beyond):,} lie beyond chance at "
        f"p < .05, {n_adjusted:,} after adjustment."
    )


def _label(row: ItemRow) -> str:
    mark = FEW if row.has_few_items else ""
    return f"{escape_unprintable(row.value)}{mark}\n{count_noun(row.n_items_of_value, 'item')}"


def _read(rows: Sequence[ItemRow], heading: str) -> str:
    known = [row for row in rows if row.estimate is not None]
    enough = [row for row in known if not row.has_few_items] or known
    if not enough:
        return f"The {heading} is undefined."
    low, high = (pick(enough, key=lambda row: row.estimate or 0.0) for pick in (min, max))
    ends = [
        f"{format_short(row.estimate)} ({escape_unprintable(row.value)}, {count_noun(row.n_items_of_value, 'item')})"
        for row in (low, high)
    ]
    few = "" if len(enough) == len(known) else ", values with few items apart"
    return f"The {heading} ranges from {ends[0]} to {ends[1]}{few}."


def _describe_overlap(rows: Sequence[ItemRow], analysis: Analysis) -> Iterator[str]:
    if sum(row.n_items_of_value for row in rows) > analysis.n_items:
        yield "An item with several values counts under each of them."


def _notes(rows: Sequence[ItemRow], analysis: Analysis, n_values: int) -> Iterator[str]:
    if analysis.settings.bootstrap:
        level, n = analysis.settings.confidence, analysis.settings.bootstrap
        yield f"Lines: {100 * level:g} % intervals, {n:,} bootstrap replicates."
    if any(row.has_few_items for row in rows):
        yield f"{FEW} fewer than {FEWEST_ITEMS_OF_VALUE} items: read with care."
    if n_values > MOST_ROWS:
        yield f"The figure shows the first {MOST_ROWS} of {n_values:,} values; the table has all."
