"""Monitoring: figures of a campaign while ratings come in."""

from dissensus.pipeline.monitor.computation import MonitoredRater, compute_figures, list_rater_figures
from dissensus.pipeline.monitor.consistency import measure_consistency
from dissensus.pipeline.monitor.items import (
    WITHIN,
    GroupAnswers,
    ItemAnswers,
    ItemSummary,
    summarise_items,
    tabulate_item,
)
from dissensus.pipeline.monitor.pace import Forecast, count_planned, forecast
from dissensus.pipeline.monitor.results import (
    CELL,
    CampaignFigures,
    ConsistencyFigures,
    GroupFigures,
    PoolAgreement,
    Quartiles,
    RaterFigures,
    TimeBucket,
)
from dissensus.pipeline.monitor.state import FinishedRating, MonitorState, QuestionScales, encode_answers, read_scales
from dissensus.pipeline.monitor.suppression import suppress_figures

__all__ = [
    "CELL",
    "WITHIN",
    "CampaignFigures",
    "ConsistencyFigures",
    "FinishedRating",
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
    "RaterFigures",
    "TimeBucket",
    "compute_figures",
    "count_planned",
    "encode_answers",
    "forecast",
    "list_rater_figures",
    "measure_consistency",
    "read_scales",
    "summarise_items",
    "suppress_figures",
    "tabulate_item",
]
