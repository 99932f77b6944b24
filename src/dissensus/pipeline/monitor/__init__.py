"""Watching a campaign while its ratings come in: what was collected so far, in figures."""

from dissensus.pipeline.monitor.computation import Person, figures_of
from dissensus.pipeline.monitor.pace import Forecast, forecast, wanted
from dissensus.pipeline.monitor.results import CELL, Agreement, Figures, Flagged, Group, Quartiles, Stretch
from dissensus.pipeline.monitor.state import Collected, Finished, Scales, scales_of

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
