"""Agreement and difference between groups of raters, with significance and intervals."""

from dissensus.pipeline.analyse.divergence import group_divergence
from dissensus.pipeline.analyse.divergence_result import GroupDivergence, PairDivergence
from dissensus.pipeline.analyse.rater_curve import RaterCurve, rater_curve
from dissensus.pipeline.analyse.result import Analysis, ItemRow, Row
from dissensus.pipeline.analyse.settings import AnalysisSettings
from dissensus.pipeline.analyse.table import analyse

__all__ = [
    "Analysis",
    "AnalysisSettings",
    "GroupDivergence",
    "ItemRow",
    "PairDivergence",
    "RaterCurve",
    "Row",
    "analyse",
    "group_divergence",
    "rater_curve",
]
