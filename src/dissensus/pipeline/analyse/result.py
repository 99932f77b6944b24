"""Result of an analysis, and its display as blocks of cells."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.errors import NotFound
from dissensus.pipeline.analyse.columns import COMPARED, DIFFERENCES, UPPER
from dissensus.pipeline.analyse.settings import AnalysisSettings
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, PagedResult, escape_unprintable, format_number, format_short
from dissensus.schema.advice import format_message
from dissensus.schema.axes import resolve_axis
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.ratings.columns import REST
from dissensus.schema.tabular_result import TabularResult, read_row_schema
from dissensus.stats.bootstrap import NO_SPREAD
from dissensus.stats.groups.coverage import FEWEST_ITEMS_OF_VALUE, WIDE

HEADINGS = {
    "irr": "IRR",
    "xrr": "XRR",
    "negentropy": "neg.",
    "cross_negentropy": "cross-neg.",
    "plurality_size": "plurality",
    "voting_agreement": "voting",
    "gai": "GAI",
}
ONE_SIDED_NAMES = {"group_distance": "distance", "between_share": "disagreement between groups"}
UNBIASED_HEADINGS = {"pairwise_agreement": "agreement", "group_distance": "distance", "corrected_gai": "corrected GAI"}
LOCATION_HEADINGS = {
    "answer_share": "share",
    "answer_mean": "mean",
    "mean_difference": "difference",
    "superiority": "superiority",
}
DIFFERENCE_HEADINGS = {
    name: {"pairwise_agreement": "agreement", **HEADINGS}[metric]
    for name, metric in zip(DIFFERENCES, COMPARED, strict=True)
}
WITHIN = ("irr", "negentropy", "plurality_size")
SIGNED = ("mean_difference", *DIFFERENCES)
WITHHELD = "‡"
WARNED = "§"
FEW = "†"
MAX_NAMED_GROUPS = 12
"""Most small groups that a note names."""
MAX_NAME_LENGTH = 80
"""Most characters of a group that a note shows."""
FAMILIES = {
    "table": "the whole table",
    "metric": "each metric",
    "axis": "each axis",
    "axis-metric": "each metric of an axis",
}
ADJUSTMENTS = {"bh": "Benjamini–Hochberg", "max-t": "step-down max-T"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One statistic of one group.

    Parameters
    ----------
    axis, group
        The group; both None for the whole pool, and `group` None for a statistic of an axis (`dsi`).
    against
        Reference group: "rest" or another group; None for statistics within a group.
    metric
        answer_share (of ordered answers answer_mean, and superiority), mean_difference, pairwise_agreement,
        group_distance; irr, xrr, negentropy, cross_negentropy,
        plurality_size, voting_agreement, gai, corrected_gai; of an axis between_share and dsi. With `differences` also
        pairwise_agreement_difference, irr_difference, negentropy_difference, plurality_size_difference and
        gai_difference: the value of the group less that of the group compared with.
    estimate, ci_low, ci_high
        The value and its confidence interval; None if undefined or not requested.
    p, p_adjusted
        Raw and adjusted permutation p-values; None without a test.
    direction
        above or below the median of the permutations; None without a test or if equal to the median.
    n_raters, n_items
        Raters in the group, None if raters are unknown, and items that entered the statistic.
    ties
        Items with a tie for the most frequent answer; None if ties do not matter.
    reason
        Reason why a value is None; for `p`, why its test was withheld.
    warning
        Caveat about the row.
    null_mean
        Mean over the permutations: the value by chance of groups of these sizes; None without a test.
    """

    axis: str | None
    group: str | None
    against: str | None
    metric: str
    estimate: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    direction: str | None = None
    n_raters: int | None
    n_items: int
    ties: int | None = None
    reason: str | None = None
    warning: str | None = None
    null_mean: float | None = None

    @property
    def stars(self) -> str:
        """``*`` for p < .05, ``**`` for adjusted p < .05, as printed by GRASP."""
        if self.p_adjusted is not None and self.p_adjusted < 0.05:
            return "**"
        return "*" if self.p is not None and self.p < 0.05 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow(Row):
    """One statistic on the items of one value of an attribute.

    Parameters
    ----------
    attribute, value
        The attribute of items, and its value.
    n_items_of_value
        Items that have the value; `n_items` are those that entered the statistic.
    """

    attribute: str
    value: str
    n_items_of_value: int

    @property
    def has_few_items(self) -> bool:
        """True if intervals and tests depend on single items."""
        return self.n_items_of_value < FEWEST_ITEMS_OF_VALUE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Analysis(TabularResult, PagedResult):
    """Agreement within and between groups; printed as a table, in a notebook too.

    Parameters
    ----------
    overall
        Statistics of the whole pool.
    rows
        Statistics of each group of each axis.
    item_rows
        Statistics on the items of each value of the attributes of items: of the whole pool, whose `axis` is None, and
        of each group.
    settings
        Settings that reproduce the result with the same ratings and version.
    n_raters, n_items, n_ratings
        Size of the pool; `n_raters` is None if raters are unknown.
    categories
        The answers in order.
    notes, warnings
        Notes on the ratings, and caveats.
    null
        Permutation replicates of each row under the null hypothesis, shape (B, rows).
    version
        Version of Dissensus.
    """

    overall: tuple[Row, ...]
    rows: tuple[Row, ...]
    settings: AnalysisSettings
    n_raters: int | None
    n_items: int
    n_ratings: int
    categories: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    version: str
    null: npt.NDArray[np.float64] = field(repr=False)
    item_rows: tuple[ItemRow, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the replicates as plain values."""
        return {
            "schema_version": 1,
            "dissensus_version": self.version,
            "settings": asdict(self.settings),
            "n_raters": self.n_raters,
            "n_items": self.n_items,
            "n_ratings": self.n_ratings,
            "categories": list(self.categories),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "overall": {row.metric: asdict(row) for row in self.overall},
            "rows": [asdict(row) for row in self.rows],
            "by_item": {
                attribute: [asdict(row) for row in self.item_rows if row.attribute == attribute]
                for attribute in self.settings.by_item
            },
        }

    def to_polars(self, *, wide: bool = False, settings: bool = False) -> pl.DataFrame:
        """Return one line per row, the whole pool first, and those by attributes of items last.

        Rows by attributes of items add the columns ``attribute``, ``value`` and ``n_items_of_value``, which are null
        in the others.

        Parameters
        ----------
        wide
            True for one line per group and one column per metric, with the estimates.
        settings
            True for columns with the settings, sizes, notes and version, the same in each line.
        """
        rows = [asdict(row) for row in (*self.overall, *self.rows, *self.item_rows)]
        frame = pl.DataFrame(rows, schema=read_row_schema(ItemRow if self.item_rows else Row))
        if wide:
            frame = self._widen(frame)
        return frame.with_columns(pl.lit(value).alias(name) for name, value in self._constants()) if settings else frame

    def _widen(self, frame: pl.DataFrame) -> pl.DataFrame:
        keys = ["axis", "group", *(["attribute", "value"] if self.item_rows else [])]
        sizes = frame.group_by(keys, maintain_order=True).agg(pl.col("n_raters").first())
        metrics = frame["metric"].unique(maintain_order=True).to_list()
        for metric in metrics:
            column = frame.filter(pl.col("metric") == metric).select(*keys, pl.col("estimate").alias(metric))
            sizes = sizes.join(column, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return sizes

    def _constants(self) -> Iterator[tuple[str, Any]]:
        settings = asdict(self.settings)
        settings |= {name: " ".join(getattr(self.settings, name)) for name in ("axes", "by_item")}
        yield from ((f"setting_{name}", value) for name, value in settings.items())
        yield from (
            ("pool_raters", self.n_raters),
            ("pool_items", self.n_items),
            ("pool_ratings", self.n_ratings),
            ("categories", " | ".join(self.categories)),
            ("notes", " ".join(self.notes)),
            ("warnings", " ".join(self.warnings)),
            ("dissensus_version", self.version),
        )

    def __getitem__(self, key: str | tuple[str, str]) -> dict[str, Row]:
        """Return the rows of a group by metric: ``analysis["gender", "Man"]``; of an axis or "overall" alone."""
        axis, group = key if isinstance(key, tuple) else (key, None)
        if axis == "overall" and group is None:
            return {row.metric: row for row in self.overall}
        name = resolve_axis(axis, self.settings.axes)
        rows = {row.metric: row for row in self.rows if row.axis == name and row.group == group}
        if not rows:
            groups = dict.fromkeys(str(row.group) for row in self.rows if row.axis == name and row.group is not None)
            raise NotFound(f"{name} has no group {group!r}. Its groups are {format_list(list(groups))}.")
        return rows

    def __repr__(self) -> str:
        axes = ", ".join(self.settings.axes) or "none"
        return (
            f"Analysis({self.settings.question}: {self.n_ratings:,} ratings of {self.n_items:,} items by "
            f"{_count_raters(self.n_raters)} raters; axes: {axes}; {len(self.rows):,} rows)"
        )

    def page(self) -> Page:
        """Return the table as a page, with intervals below the estimates."""
        grids = (*map(_grid, analysis_blocks(self)), *item_grids(self))
        return Page(analysis_summary(self), grids, tuple(analysis_footnotes(self)))


@dataclass(frozen=True, slots=True)
class DisplayCell:
    """An estimate with its stars, and its interval below."""

    value: str
    stars: str = ""  # Stars, or the mark of a withheld test
    interval: str = ""


@dataclass(frozen=True, slots=True)
class DisplayBlock:
    """The groups of one axis."""

    title: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, str, tuple[DisplayCell, ...]], ...]
    caption: str = ""


def analysis_blocks(analysis: Analysis) -> Iterator[DisplayBlock]:
    """Yield a block for the whole pool, then for each axis one of unbiased and one of published statistics."""
    pool = {row.metric: row for row in analysis.overall}
    locations = location_headings(analysis)
    location = next(iter(locations))
    metrics = (location, "pairwise_agreement", *WITHIN)
    cells = tuple(_cell(pool[metric]) for metric in metrics)
    headings = (locations[location], "agreement", *(HEADINGS[metric] for metric in WITHIN))
    yield DisplayBlock("whole pool", headings, (("everybody", format_number(analysis.n_raters), cells),))
    for axis in analysis.settings.axes:
        rows = [row for row in analysis.rows if row.axis == axis]
        groups = dict.fromkeys(row.group for row in rows if row.group is not None)
        lines = [[row for row in rows if row.group == group] for group in groups]
        of_axis = {row.metric: row for row in rows if row.group is None}
        title, reference = map(escape_unprintable, (axis, analysis.settings.against))
        against = "" if reference == REST else f" against {reference}"
        unbiased = {**locations, **UNBIASED_HEADINGS}
        chance = any(row.metric == "gai" and row.null_mean is not None for row in rows)
        yield DisplayBlock(
            title + against,
            (*unbiased.values(), *(["GAI by chance"] if chance else [])),
            tuple(_unbiased_line(line, tuple(unbiased), analysis, chance=chance) for line in lines),
            _between_caption(of_axis.get("between_share")),
        )
        yield DisplayBlock(
            f"{title}{against}, published statistics",
            tuple(HEADINGS.values()),
            tuple(_line(line, tuple(HEADINGS), analysis) for line in lines),
            _dsi_caption(of_axis.get("dsi")),
        )
        if analysis.settings.differences:
            yield DisplayBlock(
                f"{title}, difference from {reference}",
                tuple(DIFFERENCE_HEADINGS.values()),
                tuple(_line(line, DIFFERENCES, analysis) for line in lines),
            )


def location_headings(analysis: Analysis) -> dict[str, str]:
    """Return the statistics of how high a group answers, with their headings."""
    if analysis.settings.share_of is None:
        return {"answer_mean": "mean", "mean_difference": "difference", "superiority": "superiority"}
    share = f"share of {escape_unprintable(analysis.settings.share_of)}"
    return {"answer_share": share, "mean_difference": "difference"}


def _between_caption(row: Row | None) -> str:
    if row is None:
        return ""
    if row.estimate is None:
        return f"disagreement between groups {UNKNOWN}"
    tested = "" if row.p is None else f" (p {format_short(row.p, 3)})"
    return f"disagreement between groups {100 * row.estimate:.2f} %{row.stars}{tested}"


def _unbiased_line(
    rows: list[Row], metrics: tuple[str, ...], analysis: Analysis, *, chance: bool
) -> tuple[str, str, tuple[DisplayCell, ...]]:
    """Return the cells of a group, the last one with the mean GAI of groups of its size by chance."""
    name, raters, cells = _line(rows, metrics, analysis)
    gai = next(row for row in rows if row.metric == "gai")
    by_chance = UNKNOWN if gai.null_mean is None else f"{gai.null_mean:.3f}"
    return name, raters, (*cells, *([DisplayCell(by_chance)] if chance else []))


def analysis_footnotes(analysis: Analysis) -> Iterator[str]:
    """Yield the notes and warnings below the table."""
    yield from map(escape_unprintable, _list_footnotes(analysis))


def _describe_sides(analysis: Analysis) -> str:
    """Return which tests are two-sided, and which are not."""
    by_rule = "" if analysis.settings.method == "two-sided" else ", published statistics by GRASP's rule"
    tested = {row.metric for row in analysis.rows if row.p is not None}
    upper = [ONE_SIDED_NAMES[metric] for metric in UPPER if metric in tested]
    return f"two-sided{by_rule}" + (f" (one-sided: {', '.join(upper)})" if upper else "")


def _list_footnotes(analysis: Analysis) -> Iterator[str]:
    settings = analysis.settings
    tested = sum(row.p is not None for row in analysis.rows)
    if tested:
        stratum = f" within {settings.permute_within}" if settings.permute_within else ""
        yield (
            f"* p < .05, ** also after {ADJUSTMENTS[settings.adjust]} over {FAMILIES[settings.family]}, published "
            f"statistics {'and differences ' if settings.differences else ''}apart ({tested} tests in all); "
            f"{settings.permutations:,} permutations{stratum}, {_describe_sides(analysis)}, seed {settings.seed}."
        )
    if settings.bootstrap:
        units = {"both": "raters and items", "raters": "raters", "items": "items"}[settings.resample]
        yield f"[ ] {100 * settings.confidence:g} % intervals, {settings.bootstrap:,} bootstrap replicates of {units}."
    if analysis.settings.axes:
        yield (
            "neg., cross-neg. and plurality depend on the number of raters of an item: compare groups of different "
            "size with each other and with the pool by agreement, or with null_mean (JSON, CSV)."
        )
    yield from _explain_withheld(analysis)
    small = [row for row in analysis.rows if row.group is not None and _small(row, analysis)]
    if small:
        names = [str(row.group)[:MAX_NAME_LENGTH] for row in small]
        groups = list(dict.fromkeys(f"{name} ({row.n_raters})" for name, row in zip(names, small, strict=True)))
        n_more = len(groups) - MAX_NAMED_GROUPS
        listed = ", ".join(groups[:MAX_NAMED_GROUPS]) + (f" and {n_more:,} more" if n_more > 0 else "")
        yield f"{FEW} fewer than {settings.min_raters} raters, read with care: {listed}."
    if any(row.has_few_items for row in analysis.item_rows):
        yield (
            f"{FEW} beside items, fewer than {FEWEST_ITEMS_OF_VALUE} items: intervals and tests depend on single items."
        )
    tested_by_item = sum(row.p is not None for row in analysis.item_rows)
    if tested_by_item:
        rule = ADJUSTMENTS["bh"] if settings.adjust == "bh" else "Holm"
        yield f"By {' and '.join(settings.by_item)}: {tested_by_item} tests, a family of their own, adjusted by {rule}."
    rows = [*(row for row in analysis.overall if row.metric in WITHIN), *analysis.rows]
    reasons = dict.fromkeys(row.reason for row in rows if row.estimate is None and row.reason)
    yield from (f"{UNKNOWN} {reason}" for reason in reasons)
    constant = dict.fromkeys(_name_metric(row.metric) for row in rows if NO_SPREAD in (row.reason or ""))
    if constant:
        yield f"{NO_SPREAD.capitalize()}: {', '.join(constant)}."
    yield from _explain_warnings(analysis)
    yield from (format_message("Note: {}", note) for note in analysis.notes)
    yield from (format_message("Warning: {}", warning) for warning in analysis.warnings)


def _explain_warnings(analysis: Analysis) -> Iterator[str]:
    """Yield the warnings of rows, each with the statistics that have it."""
    metrics: dict[str, dict[str, None]] = {}
    for row in (*analysis.overall, *analysis.rows):
        if row.warning is not None:
            metrics.setdefault(row.warning, {})[_name_metric(row.metric)] = None
    for warning, names in metrics.items():
        yield f"{'Note:' if warning == WIDE else WARNED} {warning}: {', '.join(names)}."


def _name_metric(metric: str) -> str:
    if metric in DIFFERENCE_HEADINGS:
        return f"difference of {DIFFERENCE_HEADINGS[metric]}"
    return {**HEADINGS, **UNBIASED_HEADINGS, **LOCATION_HEADINGS}[metric]


def _explain_withheld(analysis: Analysis) -> Iterator[str]:
    """Yield why tests were withheld, one line for each axis."""
    for axis in analysis.settings.axes:
        rows = [row for row in analysis.rows if row.axis == axis and _withheld(row)]
        reasons = list(dict.fromkeys(str(row.reason).removeprefix("test withheld: ").split(";")[0] for row in rows))
        if reasons:
            more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
            tests = count_noun(len(rows), "test")
            yield (
                f"{WITHHELD} {axis}: {tests} withheld, since the assignment of items to raters depends on "
                f"the group ({reasons[0]}{more}). Agreement and the difference are tested in any assignment."
            )


def analysis_summary(analysis: Analysis) -> str:
    """Return one line on the question and the size of the pool."""
    return escape_unprintable(
        f"{analysis.settings.question}: {analysis.n_ratings:,} ratings of {analysis.n_items:,} items by "
        f"{_count_raters(analysis.n_raters)} raters; answers {', '.join(analysis.categories)}"
    )


def item_grids(analysis: Analysis) -> Iterator[Grid]:
    """Yield a table for each attribute of items: the pool on the items of each value, then its groups."""
    location, heading = next(iter(location_headings(analysis).items()))
    for attribute in analysis.settings.by_item:
        of_attribute = [row for row in analysis.item_rows if row.attribute == attribute]
        lines = [_pool_line(rows, location) for rows in _group_rows(of_attribute, None) if rows]
        name = escape_unprintable(attribute)
        yield Grid((name, "items", "raters", heading, "agreement", HEADINGS["irr"]), tuple(lines))
        for axis in analysis.settings.axes:
            by_value = _group_rows(of_attribute, axis)
            groups = tuple(line for rows in by_value if rows for line in _group_lines(rows, location))
            head = (
                f"{name}, {escape_unprintable(axis)}",
                "raters",
                heading,
                "difference",
                "distance",
                "between groups",
            )
            yield Grid(head, groups)


def _group_rows(rows: list[ItemRow], axis: str | None) -> list[list[ItemRow]]:
    """Return the rows of an axis, or of the pool, by value."""
    values = dict.fromkeys(row.value for row in rows)
    return [[row for row in rows if row.value == value and row.axis == axis] for value in values]


def _pool_line(rows: list[ItemRow], location: str) -> tuple[str, ...]:
    by_metric = {row.metric: row for row in rows}
    cells = (_text(_cell(by_metric[metric])) for metric in (location, "pairwise_agreement", "irr"))
    first = rows[0]
    small = FEW if first.has_few_items else ""
    return (
        escape_unprintable(first.value),
        f"{first.n_items_of_value:,}{small}",
        format_number(first.n_raters),
        *cells,
    )


def _group_lines(rows: list[ItemRow], location: str) -> Iterator[tuple[str, ...]]:
    """Yield a line of a value with the share between groups, then one of each group."""
    between = next((row for row in rows if row.metric == "between_share"), None)
    share = f"{100 * between.estimate:.2f} %{between.stars}" if between and between.estimate is not None else UNKNOWN
    small = FEW if rows[0].has_few_items else ""
    yield f"{escape_unprintable(rows[0].value)}{small}", "", "", "", "", share
    for group in dict.fromkeys(row.group for row in rows if row.group is not None):
        by_metric = {row.metric: row for row in rows if row.group == group}
        cells = [_text(_cell(by_metric[name])) for name in (location, "mean_difference", "group_distance")]
        yield f"  {escape_unprintable(group)}", format_number(by_metric[location].n_raters), *cells, ""


def _line(rows: list[Row], metrics: tuple[str, ...], analysis: Analysis) -> tuple[str, str, tuple[DisplayCell, ...]]:
    by_metric = {row.metric: row for row in rows}
    first = rows[0]
    small = FEW if _small(first, analysis) else ""
    return (
        escape_unprintable(str(first.group)),
        f"{format_number(first.n_raters)}{small}",
        tuple(_cell(by_metric[metric]) for metric in metrics),
    )


def _small(row: Row, analysis: Analysis) -> bool:
    return row.n_raters is not None and row.n_raters < analysis.settings.min_raters


def _count_raters(n: int | None) -> str:
    return "unknown" if n is None else f"{n:,}"


def _cell(row: Row) -> DisplayCell:
    if row.estimate is None:
        return DisplayCell(UNKNOWN)
    mark = "" if row.warning in {None, WIDE} else WARNED
    interval = (
        ""
        if row.ci_low is None or row.ci_high is None
        else f"[{format_short(row.ci_low)}, {format_short(row.ci_high)}]{mark}"
    )
    sign = "+" if row.metric in SIGNED else ""
    stars = (WITHHELD if _withheld(row) else row.stars) + ("" if interval else mark)
    return DisplayCell(f"{row.estimate:{sign}z.3f}", stars, interval)


def _withheld(row: Row) -> bool:
    return row.p is None and row.reason is not None and row.reason.startswith("test withheld")


def _dsi_caption(dsi: Row | None) -> str:
    if dsi is None:
        return ""
    if dsi.estimate is None:
        return f"DSI {UNKNOWN}"
    return f"DSI {dsi.estimate:.3f}{dsi.stars}" + ("" if dsi.p is None else f" (p {format_short(dsi.p, 3)})")


def _grid(block: DisplayBlock) -> Grid:
    lines = tuple((group, raters, *map(_text, cells)) for group, raters, cells in block.lines)
    return Grid((block.title, "raters", *block.headings), lines, block.caption)


def _text(cell: DisplayCell) -> str:
    return f"{cell.value}{cell.stars}" + (f"\n{cell.interval}" if cell.interval else "")
