"""Watching a campaign while its ratings come in: what was collected so far, in figures."""

from dissensus.pipeline.watch.collected import Collected, Finished, Scales, scales_of
from dissensus.pipeline.watch.figures import CELL, Agreement, Figures, Flagged, Group, Quartiles, Stretch
from dissensus.pipeline.watch.making import Person, figures_of
from dissensus.pipeline.watch.pace import Forecast, forecast, wanted

__all__ = [
    "CELL",
    "Agreement",
    "Collected",
    "Figures",
    "Finished",
    "Flagged",
    "Forecast",
    "Group",
    "Person",
    "Quartiles",
    "Scales",
    "Stretch",
    "figures_of",
    "forecast",
    "scales_of",
    "wanted",
]
