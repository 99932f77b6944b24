"""Analysis of red-team attempts: success, harmlessness, tags, red-teamers, reviewers and a map."""

from dissensus.pipeline.analyse.attempts.analysis import analyse_attempts
from dissensus.pipeline.analyse.attempts.map import AttemptMap, Region, attempt_map
from dissensus.pipeline.analyse.attempts.result import AttemptAnalysis

__all__ = ["AttemptAnalysis", "AttemptMap", "Region", "analyse_attempts", "attempt_map"]
