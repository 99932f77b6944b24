"""Aggregation of answers: to several questions into overall answers, of several raters into labels of items."""

from dissensus.pipeline.aggregate.gold import GoldAgainstCrowd, gold_against_crowd
from dissensus.pipeline.aggregate.labels import plurality, soft_labels
from dissensus.pipeline.aggregate.models import LabelModel, label_model
from dissensus.pipeline.aggregate.questions import overall_answers, worst_answer
from dissensus.pipeline.aggregate.resampling import ResampledLabels, resampled_labels

__all__ = [
    "GoldAgainstCrowd",
    "LabelModel",
    "ResampledLabels",
    "gold_against_crowd",
    "label_model",
    "overall_answers",
    "plurality",
    "resampled_labels",
    "soft_labels",
    "worst_answer",
]
