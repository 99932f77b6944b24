"""A map of red-team attempts: which are like each other, and which succeeded."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import numpy as np
import polars as pl

from dissensus.pipeline.analyse.attempts import AttemptMap
from dissensus.report.figure import Figure
from dissensus.report.figures.means import format_as_percent
from dissensus.report.groups import format_count, format_percent
from dissensus.report.layout import Spec, stack_layers, to_inline_data
from dissensus.report.theme import BLUE, COLUMN_WIDTH, INK, PADDING, PALE, PAPER, VERMILION

MOST: Final = 1_500
"""Attempts that are drawn: more hide each other, and make a page heavy."""

SUCCEEDED, FAILED, UNRATED = "succeeded", "did not", "not rated"
LOOKS: Final = {FAILED: (BLUE, "circle"), SUCCEEDED: (VERMILION, "diamond"), UNRATED: (PALE, "square")}
WIDEST: Final = 620


def attempt_map(found: AttemptMap, *, seed: int = 0) -> Figure:
    """Draw attempts where they lie, by whether they succeeded, with the numbers of the regions.

    Parameters
    ----------
    found
        The map.
    seed
        Draws the attempts that are shown where there are many.
    """
    order = np.random.default_rng(np.random.SeedSequence(seed)).permutation(len(found.places))[:MOST]
    shown = np.sort(order)
    points = pl.DataFrame(
        {
            "attempt": found.places[shown] + 1,
            "x": found.points[shown, 0],
            "y": found.points[shown, 1],
            "region": found.region[shown],
            "went": [_describe_harmlessness(value) for value in found.succeeded[shown].tolist()],
        }
    )
    some = len(shown) < len(found.places)
    return Figure(
        name="map",
        title="Attempts by their words",
        reading=_reading(found),
        table=points,
        draw=lambda width: _draw(found, points.to_dicts(), width),
        notes=(
            "Attempts in one region use like words; its number stands in its middle. Regions whose words are like each "
            "other's lie nearer, but no plane shows that in full: distances are missed by "
            f"{format_percent(found.stress)} of "
            "their length. Each region is seen from where it varies most; the axes mean nothing.",
            *([f"Drawn are {len(shown):,} of {len(found.places):,} attempts, by chance."] if some else []),
            f"{format_count(found.n_terms, 'word')} used by two red-teamers or more."
            + (f" {format_count(found.n_without, 'attempt')} without any are left out." if found.n_without else ""),
        ),
    )


def _describe_harmlessness(value: float) -> str:
    return UNRATED if np.isnan(value) else SUCCEEDED if value else FAILED


def _reading(found: AttemptMap) -> str:
    text = f"{format_count(len(found.places), 'attempt')} in {format_count(len(found.regions), 'region')}"
    known = [region for region in found.regions if region.success.ci_low is not None]
    if len(known) < 2:
        return f"{text}."
    ranked = sorted(known, key=lambda region: region.success.estimate or 0.0)
    least, most = (
        f"{format_as_percent(region.success)} in region {region.number}" for region in (ranked[0], ranked[-1])
    )
    return f"{text}; success goes from {least} to {most}."


def _draw(found: AttemptMap, points: Sequence[dict[str, Any]], width: int) -> Spec:
    room = min(WIDEST, width - 2 * PADDING)
    there = {point["went"] for point in points}
    names = [name for name in LOOKS if name in there]
    colors, shapes = zip(*(LOOKS[name] for name in names), strict=True)
    x, y = (alt.X("x:Q", axis=None, scale=_scale(found, 0)), alt.Y("y:Q", axis=None, scale=_scale(found, 1)))
    color = alt.Color("went:N", scale=alt.Scale(domain=names, range=colors))
    shape = alt.Shape("went:N", scale=alt.Scale(domain=names, range=shapes))
    marks = alt.Chart(to_inline_data([{name: point[name] for name in ("x", "y", "went")} for point in points]))
    middles = alt.Chart(to_inline_data(list(map(_find_centres(found), found.regions))))
    text = middles.mark_text(fontSize=13, fontWeight="bold")
    plate = middles.mark_point(shape="circle", filled=True, size=340, color=PAPER, opacity=0.9)
    return stack_layers(
        [
            marks.mark_point(filled=True, size=18, opacity=0.55).encode(x, y, color, shape),
            plate.encode(x, y),
            text.encode(x, y, alt.Text("text:N"), color=alt.value(INK)),
        ],
        width=room,
        height=round(room * (0.9 if width <= COLUMN_WIDTH else 0.7)),
    )


def _scale(found: AttemptMap, axis: int) -> alt.Scale:
    places = np.concatenate([found.points[:, axis], found.middles[:, axis]])
    low, high = float(places.min()), float(places.max())
    return alt.Scale(domain=[low, high if high > low else low + 1], nice=False, zero=False, padding=12)


def _find_centres(found: AttemptMap) -> Any:
    def of(region: Any) -> dict[str, Any]:
        x, y = found.middles[region.number - 1].tolist()
        return {"x": x, "y": y, "text": str(region.number)}

    return of
