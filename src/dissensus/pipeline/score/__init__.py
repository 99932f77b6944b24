"""Scorecards of chatbots, guards and classifiers against groups of raters, and decisions compared."""

from dissensus.pipeline.score.chatbots import score_chatbots
from dissensus.pipeline.score.decision_comparison import Decision, DecisionComparison
from dissensus.pipeline.score.decisions import compare_decisions
from dissensus.pipeline.score.model_rows import BinRow, DifferenceRow, RankRow, ThresholdRow
from dissensus.pipeline.score.model_scorecard import ModelScorecard
from dissensus.pipeline.score.models import score_models
from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.rule_labels import label_by_rule
from dissensus.pipeline.score.scorecard import Scorecard

__all__ = [
    "BinRow",
    "Decision",
    "DecisionComparison",
    "DifferenceRow",
    "GapRow",
    "ModelScorecard",
    "RankRow",
    "ScoreRow",
    "Scorecard",
    "ThresholdRow",
    "compare_decisions",
    "label_by_rule",
    "score_chatbots",
    "score_models",
]
