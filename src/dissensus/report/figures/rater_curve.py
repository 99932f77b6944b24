"""Figure of agreement and decomposition by the number of raters of each group."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.rater_curve import RaterCurve
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import concat_horizontally, concat_vertically, stack_layers
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, MUTED, PAPER
from dissensus.report.graphics.vega_lite import Y2, Axis, Chart, Scale, Spec, X, Y
from dissensus.report.groups import make_slug
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun

PANELS = {"irr": "IRR of all drawn raters", "between_share": "share of disagreement between groups"}
SIDE, GAP, HEIGHT = 44, 20, 170


def rater_curve(curve: RaterCurve) -> Figure:
    """Draw agreement and the share between groups by the number of raters drawn from each group.

    Parameters
    ----------
    curve
        The statistics; see `dissensus.pipeline.analyse.rater_curve`.

    Raises
    ------
    UndefinedEstimate
        Neither statistic is defined for any number of raters.

    Examples
    --------
    >>> import dissensus as ds
    >>> from dissensus.pipeline.analyse import rater_curve as compute
    >>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    >>> print(rater_curve(compute(ratings, [3, 9], by="gender", draws=50)).reading)
    With 3 raters of each group IRR lies between -.02 and .14, with 9 between .05 and .11; with all 36 it is .09.
    """
    shown = curve.curve.filter(pl.col("metric").is_in(list(PANELS)), pl.col("estimate").is_not_null())
    if shown.is_empty():
        raise UndefinedEstimate("No statistic is defined for any of these numbers of raters.")
    return Figure(
        name=f"rater-curve-{make_slug(curve.axis)}",
        title=f"Number of raters of each {escape_unprintable(format_axis(curve.axis))} group",
        reading=_reading(curve, shown),
        table=shown.select("raters_per_group", "metric", "estimate", "low", "high", "all_raters", "n_draws"),
        draw=lambda width: _draw(shown, width),
        notes=tuple(_notes(curve)),
        axis=curve.axis,
    )


def _reading(curve: RaterCurve, shown: pl.DataFrame) -> str:
    name = "irr" if "irr" in shown["metric"] else "between_share"
    rows = shown.filter(metric=name).sort("raters_per_group").to_dicts()
    words = "IRR" if name == "irr" else "the share between groups"
    first, last = rows[0], rows[-1]
    text = f"With {count_noun(first['raters_per_group'], 'rater')} of each group {words} lies {_range(first)}"
    if last is not first:
        text += f", with {last['raters_per_group']:,} {_range(last)}"
    n_raters = sum(curve.n_raters.values())
    return f"{text}; with all {n_raters:,} it is {format_short(first['all_raters'])}."


def _range(row: dict[str, Any]) -> str:
    return f"between {format_short(row['low'])} and {format_short(row['high'])}"


def _notes(curve: RaterCurve) -> Iterator[str]:
    yield (
        f"Bands: the central {100 * curve.confidence:g} % of {count_noun(curve.draws, 'draw')} of as many raters of "
        "each group, with all of their ratings. Line: their mean; dashed: all raters."
    )
    yield "A band shows which of these raters were asked; a new sample of as many people varies more."


def _draw(shown: pl.DataFrame, width: int) -> Spec:
    names = [name for name in PANELS if name in shown["metric"]]
    is_narrow = width <= COLUMN_WIDTH
    across = 1 if is_narrow else len(names)
    each = (width - across * SIDE - (across - 1) * GAP) // across
    panels = [_panel(shown.filter(metric=name), PANELS[name], each) for name in names]
    return concat_vertically(panels, spacing=GAP) if is_narrow else concat_horizontally(panels, spacing=GAP)


def _panel(rows: pl.DataFrame, title: str, width: int) -> Spec:
    values = rows.select("raters_per_group", "estimate", "low", "high", "all_raters").to_dicts()
    ends = [row[name] for row in values for name in ("low", "high", "all_raters") if row[name] is not None]
    base = Chart(values)
    counts = rows["raters_per_group"].to_list()
    # Half a rater at each side, so that no mark is cut.
    x_scale = Scale(domain=[min(counts) - 0.5, max(counts) + 0.5], nice=False)
    x = X(
        "raters_per_group:Q",
        title="raters of each group",
        scale=x_scale,
        axis=Axis(values=counts, format=",d", grid=False, labelOverlap=True),
    )
    y_scale = Scale(domain=[min(ends), max(ends)], nice=True, zero=False)
    axis = Axis(tickCount=5, format=".2~f")
    band = base.mark("area", color=BLUE, opacity=0.25).encode(
        x, Y("low:Q", title=None, scale=y_scale, axis=axis), Y2("high:Q")
    )
    y = Y("estimate:Q", title=None, scale=y_scale, axis=axis)
    line = base.mark("line", color=BLUE, strokeWidth=1.6).encode(x, y)
    points = base.mark("point", filled=True, size=44, opacity=1, color=BLUE, stroke=PAPER).encode(x, y)
    level = [{"y": values[0]["all_raters"]}] if values[0]["all_raters"] is not None else []
    rule = Chart(level).mark("rule", color=MUTED, strokeDash=[4, 3], strokeWidth=1.2)
    everybody = rule.encode(Y("y:Q", title=None, scale=y_scale, axis=axis))
    return stack_layers([band, everybody, line, points], width=width, height=HEIGHT) | {"title": title}
