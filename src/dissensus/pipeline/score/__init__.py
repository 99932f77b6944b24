"""Scorecards of chatbots, guards and classifiers against groups of raters, and decisions compared."""

from dissensus.pipeline.score.chatbots import score_chatbots
from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.scorecard import Scorecard

__all__ = ["GapRow", "ScoreRow", "Scorecard", "score_chatbots"]
