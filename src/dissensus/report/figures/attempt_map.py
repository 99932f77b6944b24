"""Map of red-team attempts by similarity of their words, with successes."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from dissensus.pipeline.analyse.attempts import AttemptMap
from dissensus.report.figure import Figure
from dissensus.report.figures.means import format_as_percent
from dissensus.report.graphics.layout import stack_layers
from dissensus.report.graphics.theme import BLUE, COLUMN_WIDTH, INK, PADDING, PALE, PAPER, VERMILION
from dissensus.report.graphics.vega_lite import Chart, Color, Scale, Shape, Spec, Text, X, Y
from dissensus.report.groups import format_percent
from dissensus.schema.hints import count_noun

MOST: Final = 1_500
"""Most attempts drawn: more overlap, and make a page large."""

SUCCEEDED, FAILED, UNRATED = "succeeded", "did not", "not rated"
LOOKS: Final = {FAILED: (BLUE, "circle"), SUCCEEDED: (VERMILION, "diamond"), UNRATED: (PALE, "square")}
WIDEST: Final = 620


def attempt_map(layout: AttemptMap, *, seed: int = 0) -> Figure:
    """Draw attempts by success, with the numbers of the regions.

    Parameters
    ----------
    layout
        The map.
    seed
        Seed of the sample of attempts, if there are too many to draw.
    """
    order = np.random.default_rng(np.random.SeedSequence(seed)).permutation(len(layout.indices))[:MOST]
    indices = np.sort(order)
    points = pl.DataFrame(
        {
            "attempt": layout.indices[indices] + 1,
            "x": layout.points[indices, 0],
            "y": layout.points[indices, 1],
            "region": layout.region[indices],
            "went": [_describe_outcome(value) for value in layout.succeeded[indices].tolist()],
        }
    )
    sampled = len(indices) < len(layout.indices)
    return Figure(
        name="map",
        title="Attempts by their words",
        reading=_reading(layout),
        table=points,
        draw=lambda width: _draw(layout, points.to_dicts(), width),
        notes=(
            "Attempts in one region use similar words; its number is at its centre. Regions with similar words are "
            "closer together, up to the error of the projection: distances are missed by "
            f"{format_percent(layout.stress)} of "
            "their length. Each region is seen from where it varies most; the axes mean nothing.",
            *([f"The map shows {len(indices):,} of {len(layout.indices):,} attempts, at random."] if sampled else []),
            f"{count_noun(layout.n_terms, 'word')} used by two red-teamers or more."
            + (f" {count_noun(layout.n_without, 'attempt')} without any are left out." if layout.n_without else ""),
        ),
    )


def _describe_outcome(value: float) -> str:
    return UNRATED if np.isnan(value) else SUCCEEDED if value else FAILED


def _reading(layout: AttemptMap) -> str:
    text = f"{count_noun(len(layout.indices), 'attempt')} in {count_noun(len(layout.regions), 'region')}"
    estimated = [region for region in layout.regions if region.success.ci_low is not None]
    if len(estimated) < 2:
        return f"{text}."
    ranked = sorted(estimated, key=lambda region: region.success.estimate or 0.0)
    least, most = (
        f"{format_as_percent(region.success)} in region {region.number}" for region in (ranked[0], ranked[-1])
    )
    return f"{text}; success goes from {least} to {most}."


def _draw(layout: AttemptMap, points: Sequence[dict[str, Any]], width: int) -> Spec:
    room = min(WIDEST, width - 2 * PADDING)
    outcomes = {point["went"] for point in points}
    names = [name for name in LOOKS if name in outcomes]
    colors, shapes = zip(*(LOOKS[name] for name in names), strict=True)
    x, y = (X("x:Q", axis=None, scale=_scale(layout, 0)), Y("y:Q", axis=None, scale=_scale(layout, 1)))
    color = Color("went:N", scale=Scale(domain=names, range=colors))
    shape = Shape("went:N", scale=Scale(domain=names, range=shapes))
    marks = Chart([{name: point[name] for name in ("x", "y", "went")} for point in points])
    middles = Chart(_find_centres(layout))
    text = middles.mark("text", fontSize=13, fontWeight="bold")
    plate = middles.mark("point", shape="circle", filled=True, size=340, color=PAPER, opacity=0.9)
    return stack_layers(
        [
            marks.mark("point", filled=True, size=18, opacity=0.55).encode(x, y, color, shape),
            plate.encode(x, y),
            text.encode(x, y, Text("text:N"), Color(value=INK)),
        ],
        width=room,
        height=round(room * (0.9 if width <= COLUMN_WIDTH else 0.7)),
    )


def _scale(layout: AttemptMap, axis: int) -> Scale:
    coordinates = np.concatenate([layout.points[:, axis], layout.centers[:, axis]])
    low, high = float(coordinates.min()), float(coordinates.max())
    return Scale(domain=[low, high if high > low else low + 1], nice=False, zero=False, padding=12)


def _find_centres(layout: AttemptMap) -> list[dict[str, Any]]:
    numbers = [region.number for region in layout.regions]
    centres = [layout.centers[number - 1].tolist() for number in numbers]
    return [{"x": x, "y": y, "text": str(number)} for number, (x, y) in zip(numbers, centres, strict=True)]
