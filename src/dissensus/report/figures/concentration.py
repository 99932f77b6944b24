"""Figure of the concentration of attempts among red-teamers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dissensus.pipeline.analyse.attempts.result import Concentration
from dissensus.pipeline.tables import format_short
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import stack_layers
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, MUTED, PADDING, VERMILION
from dissensus.report.graphics.vega_lite import Axis, Chart, Color, Legend, Scale, Spec, StrokeDash, X, Y
from dissensus.report.groups import format_percent
from dissensus.schema.hints import count_noun

AXIS, WIDEST = 60, 520
ATTEMPTS, SUCCESSES = "attempts", "successes"
LOOKS = {ATTEMPTS: (BLUE, [1, 0]), SUCCESSES: (VERMILION, [6, 3])}
# Share of attempts for which the reading states how many red-teamers made them, as the red-team paper does.
SHARE_OF_ATTEMPTS = 0.8
# Most points of a curve: more are not visible.
POINTS = 200


def concentration(result: Concentration) -> Figure:
    """Draw the share of attempts, and of successes, that the busiest red-teamers made.

    Examples
    --------
    >>> from dissensus.pipeline.analyse.attempts.result import TopRedTeamers
    >>> few = Concentration(
    ...     attempts=(8, 1, 1), successes=(2, 1, 0), top=(TopRedTeamers(1, 0.8, 2 / 3),),
    ...     gini_attempts=0.47, gini_successes=0.44,
    ... )
    >>> concentration(few).reading
    '1 of 3 red-teamers made 80 % of the attempts; the Gini coefficient is .47, of successes .44.'
    """
    curves = {ATTEMPTS: result.attempts} | ({SUCCESSES: result.successes} if any(result.successes) else {})
    n_red_teamers, n_attempts = len(result.attempts), sum(result.attempts)
    k = int(np.searchsorted(np.cumsum(result.attempts), SHARE_OF_ATTEMPTS * n_attempts - 1e-9)) + 1
    successes = "" if result.gini_successes is None else f", of successes {format_short(result.gini_successes)}"
    return Figure(
        name="concentration",
        title="Share of the busiest red-teamers",
        reading=(
            f"{k:,} of {count_noun(n_red_teamers, 'red-teamer')} made "
            f"{format_percent(sum(result.attempts[:k]) / n_attempts)} of the attempts; "
            f"the Gini coefficient is {format_short(result.gini_attempts)}{successes}."
        ),
        table=pl.DataFrame(
            [
                {
                    "busiest": top.k,
                    "share of attempts": top.share_of_attempts,
                    "share of successes": top.share_of_successes,
                }
                for top in result.top
            ],
            infer_schema_length=None,
        ),
        draw=lambda width: _draw(curves, width),
        notes=(
            "Red-teamers are ordered separately for attempts and successes, from the most to the least. Dotted: equal "
            "numbers of attempts.",
        ),
    )


def _draw(curves: Mapping[str, Sequence[int]], width: int) -> Spec:
    room = min(WIDEST, width - AXIS - 2 * PADDING)
    n = len(curves[ATTEMPTS])
    names = list(curves)
    points = [point for name, counts in curves.items() for point in _points(name, counts)]
    across = Axis(tickCount=5, tickMinStep=1, format=",d", labelBound=True)
    up = Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1], minExtent=AXIS - 20, maxExtent=AXIS - 20)
    x = X("k:Q", title="red-teamers, the busiest first", axis=across, scale=Scale(domain=[0, n], nice=False))
    y = Y("share:Q", title="share of all", axis=up, scale=Scale(domain=[0, 1], nice=False))
    colors, dashes = zip(*(LOOKS[name] for name in names), strict=True)
    legend = Legend(symbolType="stroke") if len(names) > 1 else None
    color = Color("of:N", scale=Scale(domain=names, range=colors), legend=legend)
    dash = StrokeDash("of:N", scale=Scale(domain=names, range=dashes), legend=legend)
    even = Chart([{"k": 0, "share": 0}, {"k": n, "share": 1}])
    lines = Chart(points).mark("line", strokeWidth=2)
    return stack_layers(
        [
            even.mark("line", color=MUTED, strokeDash=[1, 3], strokeWidth=1.2).encode(x, y),
            lines.encode(x, y, color, dash),
        ],
        width=room,
        height=round(room * (0.8 if width <= COLUMN_WIDTH else 0.55)),
    )


def _points(name: str, counts: Sequence[int]) -> list[dict[str, Any]]:
    shares = np.concatenate([[0.0], np.cumsum(counts) / sum(counts)])
    indices = np.unique(np.linspace(0, len(counts), min(POINTS, len(counts) + 1)).round().astype(int))
    return [{"k": k, "share": float(shares[k]), "of": name} for k in indices.tolist()]
