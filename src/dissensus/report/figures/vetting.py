"""Figure of the evidence on all raters."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import log
from typing import Any

import polars as pl

from dissensus.pipeline.tables import escape_unprintable
from dissensus.pipeline.vet.result import AGREEMENT, Vetting
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import HeadedRows, RowBlock, count_legend_columns, stack_over_rows
from dissensus.report.graphics.theme import BLUE, INK, PALE, PAPER, VERMILION
from dissensus.report.graphics.vega_lite import (
    Y2,
    Axis,
    Chart,
    Color,
    Legend,
    Opacity,
    Scale,
    Shape,
    SizeChannel,
    Spec,
    Stroke,
    Text,
    X,
)
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.columns import FLAG
from dissensus.stats.criteria import SHARES

CRITERIA = {
    "below_half": "items in less than 1/2 median time",
    "below_third": "items in less than 1/3 median time",
    "below_quarter": "items in less than 1/4 median time",
    "same_label": "answers with one label",
}
BESIDE = {
    "label_entropy": "label entropy / maximum",
    "non_comprehension": "items not understood",
    "flat": "items answered all alike",
}
# Prefix of the reasons of a flag, and its wording in the reading.
REASONS = {"fast": "fast answers", "one label": "one label"}
MET, IN_FILE, NEITHER = "meets a criterion", "flagged in the file alone", "not flagged"
# Colour, edge, shape, size and opacity are redundant, so that the figure is readable in grey.
LOOKS = {
    MET: (VERMILION, PAPER, "diamond", 85, 1.0),
    IN_FILE: (BLUE, PAPER, "triangle-up", 55, 1.0),
    NEITHER: (PALE, "transparent", "circle", 26, 0.55),
}
ORDER = pl.Enum(list(LOOKS))
ROW_HEIGHT = 46
# Width of a bin of stacked marks, their distance in pixels, and the largest share of the row height on each side.
BIN, STEP, REACH = 4, 4.2, 0.42
# With more raters than this, those in one of the bins of a row share a mark.
MOST_MARKS, BINS = 600, 200


def evidence(vetting: Vetting) -> Figure:
    """Draw a mark for each rater in a row for each measure; those who meet a criterion are highlighted.

    Criteria with their thresholds come first, other evidence below. Measures without values are left out. No rater is
    named.

    Parameters
    ----------
    vetting
        The evidence.

    Examples
    --------
    >>> import dissensus as ds
    >>> from dissensus.pipeline.vet import vet
    >>> evidence(vet(ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1))).reading
    'None of 36 raters meets a criterion.'
    """
    agreements = {f"{AGREEMENT}{name}": f"agreement with {_format_group(name)}" for name in ("pool", *vetting.axes)}
    blocks = {
        "Criteria: flagged from the line on": _select_known(vetting, CRITERIA),
        "Evidence beside: flags nobody": _select_known(vetting, BESIDE | agreements),
    }
    return Figure(
        name="vetting",
        title="Evidence on the care of raters",
        reading=_reading(vetting),
        table=_table(vetting, {name: label for labels in blocks.values() for name, label in labels.items()}),
        draw=lambda width: _draw(vetting, {heading: labels for heading, labels in blocks.items() if labels}, width),
        notes=tuple(_notes(vetting)),
    )


def _format_group(name: str) -> str:
    return "the pool" if name == "pool" else f"own {escape_unprintable(format_axis(name))}"


def _select_known(vetting: Vetting, labels: Mapping[str, str]) -> dict[str, str]:
    return {name: label for name, label in labels.items() if name not in vetting.absent}


def _reading(vetting: Vetting) -> str:
    n, of = len(vetting.flagged), f"of {count_noun(vetting.raters.height, 'rater')}"
    if not n:
        return f"None {of} meets a criterion."
    reasons = vetting.raters["flagged_for"].list.eval(pl.element().str.split(":").list.first()).list.unique().explode()
    counts = [(int((reasons == reason).sum()), f"for {words}") for reason, words in REASONS.items()]
    reason = ", ".join(f"{count:,} {words}" for count, words in counts if count)
    return f"{n:,} {of} {'meets' if n == 1 else 'meet'} a criterion: {reason}."


def _notes(vetting: Vetting) -> Iterator[str]:
    yield (
        f"{escape_unprintable(vetting.question)}: {count_noun(vetting.n_ratings, 'rating')} of "
        f"{count_noun(vetting.n_items, 'item')}. "
        f"{_explain_marks(vetting)} A line flags from {count_noun(vetting.criteria.min_ratings, 'rating')} on."
    )
    if vetting.pool_median_ms is None:
        yield f"No speed is shown: {vetting.absent['median_time_ms']}."
    else:
        yield f"Median time of the pool {vetting.pool_median_ms / 1000:,.1f} s."


def _explain_marks(vetting: Vetting) -> str:
    separate = vetting.raters.height <= MOST_MARKS
    return "Each mark is a rater." if separate else "Each mark stands for all raters at its position."


def _values(vetting: Vetting, name: str) -> pl.Expr:
    """Return a measure on a scale from 0 to 1."""
    maximum = (log(len(vetting.categories)) or 1.0) if name == "label_entropy" else 1.0
    return pl.col(name) / maximum


def _table(vetting: Vetting, labels: Mapping[str, str]) -> pl.DataFrame:
    """Return a row per measure."""
    lines = []
    for name, label in labels.items():
        values = vetting.raters.select(value=_values(vetting, name))["value"].drop_nulls()
        quartiles = {f"q{part}": values.quantile(part / 100, "linear") for part in (25, 50, 75)}
        ends = {"minimum": values.min(), **quartiles, "maximum": values.max()}
        limit = getattr(vetting.criteria, name) if name in SHARES else None
        met = None if limit is None else _count_meeting(vetting, name, limit)
        lines.append({"measure": label, "n_raters": len(values)} | ends | {"threshold": limit, "n_meeting": met})
    return pl.DataFrame(lines, infer_schema_length=None)


def _count_meeting(vetting: Vetting, name: str, limit: float) -> int:
    """Count the raters that meet a criterion."""
    enough = pl.col("n_ratings" if name == "same_label" else "n_timed") >= vetting.criteria.min_ratings
    return vetting.raters.filter(enough & (pl.col(name) >= limit)).height


def _draw(vetting: Vetting, blocks: Mapping[str, Mapping[str, str]], width: int) -> Spec:
    headed = [RowBlock(heading, tuple(labels.values())) for heading, labels in blocks.items()]
    rows = HeadedRows(headed, width, least=ROW_HEIGHT)
    middles = dict(zip(chain.from_iterable(blocks.values()), chain.from_iterable(rows.block_middles), strict=True))
    axis = Axis(format=".1~f", tickCount=5)
    x = X("value:Q", title=None, scale=Scale(domain=[0, 1], padding=8), axis=axis)
    layers = [*_thresholds(vetting, middles, rows, x), _marks(vetting, middles, rows, x), *rows.draw_names()]
    return stack_over_rows(layers, rows)


def _thresholds(vetting: Vetting, middles: Mapping[str, float], rows: HeadedRows, x: X) -> list[Spec]:
    """Return a line across the row of each criterion, with its share."""
    limits = {y: getattr(vetting.criteria, name) for name, y in middles.items() if name in SHARES}
    half = 0.45 * ROW_HEIGHT
    values = [
        {"value": v, "y": y - half, "end": y + half, "text": f"{v:.2f}".removeprefix("0")} for y, v in limits.items()
    ]
    base = Chart(values)
    line = base.mark("rule", color=INK, strokeDash=[4, 3], strokeWidth=1.2)
    share = base.mark("text", align="right", dx=-4, dy=6)
    return [line.encode(rows.y(), x, Y2("end:Q")), share.encode(rows.y(), x, Text("text:N"))]


def _marks(vetting: Vetting, middles: Mapping[str, float], rows: HeadedRows, x: X) -> Spec:
    marks = pl.concat(_stack_marks(vetting, name, y, rows.plot_width) for name, y in middles.items())
    last_on_top = marks.sort(pl.col("status").cast(ORDER), descending=True, maintain_order=True)
    chart = Chart(last_on_top.to_dicts()).mark("point", filled=True, strokeWidth=0.6)
    return chart.encode(rows.y(), x, *encode_status(marks["status"], rows.plot_width))


def encode_status(status: pl.Series, width: int) -> list[Any]:
    """Return the channels that tell the status of marks, with their legend."""
    names = [name for name in LOOKS if name in status]
    color, edge, shape, size, opacity = zip(*(LOOKS[name] for name in names), strict=True)
    legend = Legend(columns=count_legend_columns(names, width))

    def encode(look: Sequence[Any]) -> dict[str, Any]:
        return {"scale": Scale(type="ordinal", domain=names, range=list(look)), "legend": legend}

    return [
        Color("status:N", **encode(color)),
        Stroke("status:N", **encode(edge)),
        Shape("status:N", **encode(shape)),
        SizeChannel("status:N", **encode(size)),
        Opacity("status:N", **encode(opacity)),
    ]


def rater_status() -> pl.Expr:
    """Return the expression for the status of a rater, which determines the look of the mark."""
    in_file = pl.when(pl.col("flagged_in_file")).then(pl.lit(IN_FILE)).otherwise(pl.lit(NEITHER))
    return pl.when(FLAG).then(pl.lit(MET)).otherwise(in_file).alias("status")


def _stack_marks(vetting: Vetting, name: str, y: float, width: int) -> pl.DataFrame:
    """Return the marks of a row; those in one bin are stacked about its middle, flagged ones innermost."""
    marks = vetting.raters.select(
        rater_status(),
        _values(vetting, name).alias("value"),
    ).drop_nulls("value")
    if vetting.raters.height > MOST_MARKS:
        binned = (pl.col("value") * BINS).round() / BINS
        marks = marks.with_columns(value=binned).unique(["value", "status"], maintain_order=True)
    # Ordered by value and not by rater, so that marks of one rater cannot be linked.
    inner_first = marks.sort(pl.col("status").cast(ORDER), "value")
    rank = pl.int_range(pl.len()).over((pl.col("value") * (width // BIN)).round()).alias("place")
    side = pl.when(pl.col("place") % 2 == 1).then(1).otherwise(-1) * ((pl.col("place") + 1) // 2)
    offsets = inner_first.with_columns(rank).with_columns(side.alias("side"))
    furthest = offsets["side"].abs().max()
    step = min(STEP, REACH * ROW_HEIGHT / furthest) if isinstance(furthest, int) and furthest else STEP
    return offsets.select("status", "value", y=y + step * pl.col("side"))
