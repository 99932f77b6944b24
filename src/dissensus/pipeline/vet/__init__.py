"""Vetting: evidence on each rater, flags by stated criteria, and the audit of a filter."""

from dissensus.pipeline.vet.audit import audit_filter, audit_flagged
from dissensus.pipeline.vet.audit_result import AxisRemoval, FilterAudit, GroupRemoval, LabelMove
from dissensus.pipeline.vet.evidence import vet
from dissensus.pipeline.vet.result import Vetting
from dissensus.pipeline.vet.times import AnswerTimes
from dissensus.stats.criteria import Criteria

__all__ = [
    "AnswerTimes",
    "AxisRemoval",
    "Criteria",
    "FilterAudit",
    "GroupRemoval",
    "LabelMove",
    "Vetting",
    "audit_filter",
    "audit_flagged",
    "vet",
]
