"""Monitoring: figures of a campaign while ratings come in."""

from dissensus.pipeline.monitor.computation import MonitoredRater, compute_figures
from dissensus.pipeline.monitor.items import (
    WITHIN,
    GroupAnswers,
    ItemAnswers,
    ItemSummary,
    summarise_items,
    tabulate_item,
)
from dissensus.pipeline.monitor.pace import Forecast, count_missing, forecast
from dissensus.pipeline.monitor.results import (
    CELL,
    CampaignFigures,
    FlaggedRater,
    GroupFigures,
    PoolAgreement,
    Quartiles,
    TimeBucket,
)
from dissensus.pipeline.monitor.state import FinishedRating, MonitorState, QuestionScales, read_scales
from dissensus.pipeline.monitor.suppression import suppress_figures

__all__ = [
    "CELL",
    "WITHIN",
    "CampaignFigures",
    "FinishedRating",
    "FlaggedRater",
    "Forecast",
    "GroupAnswers",
    "GroupFigures",
    "ItemAnswers",
    "ItemSummary",
    "MonitorState",
    "MonitoredRater",
    "PoolAgreement",
    "Quartiles",
    "QuestionScales",
    "TimeBucket",
    "compute_figures",
    "count_missing",
    "forecast",
    "read_scales",
    "summarise_items",
    "suppress_figures",
    "tabulate_item",
]
