"""Agreement and difference between groups of raters, with significance and intervals."""

from dissensus.pipeline.analyse.divergence import GroupDivergence, group_divergence
from dissensus.pipeline.analyse.result import Analysis, Row
from dissensus.pipeline.analyse.settings import Settings
from dissensus.pipeline.analyse.table import analyse

__all__ = ["Analysis", "GroupDivergence", "Row", "Settings", "analyse", "group_divergence"]
