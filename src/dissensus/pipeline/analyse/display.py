"""Display of an analysis: blocks of cells, and a page of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from dissensus.pipeline.analyse.result import CALIBRATED_FROM, Analysis, Row
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, printable, short

HEADINGS = {
    "irr": "IRR",
    "xrr": "XRR",
    "negentropy": "neg.",
    "cross_negentropy": "cross-neg.",
    "plurality_size": "plurality",
    "voting_agreement": "voting",
    "gai": "GAI",
}
WITHIN = ("irr", "negentropy", "plurality_size")
FEW = "†"
FAMILIES = {
    "table": "the whole table",
    "metric": "each metric",
    "axis": "each axis",
    "axis-metric": "each metric of an axis",
}
ADJUSTMENTS = {"bh": "Benjamini–Hochberg", "max-t": "step-down max-T"}


@dataclass(frozen=True, slots=True)
class DisplayCell:
    """An estimate with its stars, and its interval below."""

    value: str
    stars: str = ""
    interval: str = ""


@dataclass(frozen=True, slots=True)
class DisplayBlock:
    """The groups of one axis."""

    title: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, str, tuple[DisplayCell, ...]], ...]
    caption: str = ""


def analysis_blocks(analysis: Analysis) -> Iterator[DisplayBlock]:
    """Yield the whole pool, then one block an axis: name and raters of each group, and its cells."""
    pool = {row.metric: row for row in analysis.overall}
    cells = tuple(_cell(pool[metric]) for metric in WITHIN)
    headings = tuple(HEADINGS[metric] for metric in WITHIN)
    yield DisplayBlock("whole pool", headings, (("everybody", _number(analysis.n_raters), cells),))
    for axis in analysis.settings.axes:
        rows = [row for row in analysis.rows if row.axis == axis]
        groups = dict.fromkeys(row.group for row in rows if row.group is not None)
        lines = tuple(_line([row for row in rows if row.group == group], analysis) for group in groups)
        dsi = next((row for row in rows if row.metric == "dsi"), None)
        against = "" if analysis.settings.against == "rest" else f" against {analysis.settings.against}"
        yield DisplayBlock(axis + against, tuple(HEADINGS.values()), lines, _caption(dsi))


def analysis_footnotes(analysis: Analysis) -> Iterator[str]:
    """Yield what a reader needs to read the table, and what to keep in mind."""
    settings = analysis.settings
    tested = sum(row.p is not None for row in analysis.rows)
    if tested:
        rule = "two-sided" if settings.method == "two-sided" else "GRASP's rule"
        stratum = f" within {settings.permute_within}" if settings.permute_within else ""
        yield (
            f"* p < .05, ** also after {ADJUSTMENTS[settings.adjust]} over {FAMILIES[settings.family]} "
            f"({tested} tests in all); {settings.permutations:,} permutations{stratum}, {rule}, seed {settings.seed}."
        )
    if settings.bootstrap:
        what = {"both": "raters and items", "raters": "raters", "items": "items"}[settings.resample]
        yield f"[ ] {100 * settings.level:g} % intervals, {settings.bootstrap:,} bootstrap replicates of {what}."
    if any(_small(row, analysis) for row in analysis.rows):
        yield f"{FEW} fewer than {settings.min_raters} raters: read with care."
    shown = [*(row for row in analysis.overall if row.metric in WITHIN), *analysis.rows]
    reasons = dict.fromkeys(row.reason for row in shown if row.estimate is None and row.reason)
    yield from (f"{UNKNOWN} {reason}" for reason in reasons)
    narrow = dict.fromkeys(row.metric for row in (*analysis.overall, *analysis.rows) if row.warning)
    if narrow:
        least = ", ".join(
            f"{CALIBRATED_FROM[metric]} for {HEADINGS[metric]}" for metric in HEADINGS if metric in narrow
        )
        yield f"Note: intervals are too narrow with fewer raters than {least}."
    yield from (f"Note: {note}" for note in analysis.notes)
    yield from (f"Warning: {warning}" for warning in analysis.warnings)


def analysis_summary(analysis: Analysis) -> str:
    """Return one line on what was analysed."""
    return (
        f"{analysis.settings.question}: {analysis.n_ratings:,} ratings of {analysis.n_items:,} items by "
        f"{_number(analysis.n_raters, 'unknown')} raters; answers {', '.join(analysis.categories)}"
    )


def analysis_page(analysis: Analysis) -> Page:
    """Return the table as a page, with intervals below the estimates."""
    return Page(
        analysis_summary(analysis), tuple(map(_grid, analysis_blocks(analysis))), tuple(analysis_footnotes(analysis))
    )


def _line(rows: list[Row], analysis: Analysis) -> tuple[str, str, tuple[DisplayCell, ...]]:
    by_metric = {row.metric: row for row in rows}
    first = rows[0]
    small = FEW if _small(first, analysis) else ""
    return (
        printable(str(first.group)),
        f"{_number(first.n_raters)}{small}",
        tuple(_cell(by_metric[metric]) for metric in HEADINGS),
    )


def _small(row: Row, analysis: Analysis) -> bool:
    return row.n_raters is not None and row.n_raters < analysis.settings.min_raters


def _number(n: int | None, unknown: str = UNKNOWN) -> str:
    return unknown if n is None else f"{n:,}"


def _cell(row: Row) -> DisplayCell:
    if row.estimate is None:
        return DisplayCell(UNKNOWN)
    interval = "" if row.ci_low is None or row.ci_high is None else f"[{short(row.ci_low)}, {short(row.ci_high)}]"
    return DisplayCell(f"{row.estimate:.3f}", row.stars, interval)


def _caption(dsi: Row | None) -> str:
    if dsi is None:
        return ""
    if dsi.estimate is None:
        return f"DSI {UNKNOWN}"
    return f"DSI {dsi.estimate:.3f}{dsi.stars}" + ("" if dsi.p is None else f" (p {short(dsi.p, 3)})")


def _grid(block: DisplayBlock) -> Grid:
    lines = tuple((group, raters, *map(_text, cells)) for group, raters, cells in block.lines)
    return Grid((block.title, "raters", *block.headings), lines, block.caption)


def _text(cell: DisplayCell) -> str:
    return f"{cell.value}{cell.stars}" + (f"\n{cell.interval}" if cell.interval else "")
