"""Rating itself, without clock, chance or database: who rates what in which order, and what the answers are."""

from dissensus.pipeline.annotate.assignment import plan
from dissensus.pipeline.annotate.lifecycle import MOVES, moved
from dissensus.pipeline.annotate.saves import Given, Save, answer_time_ms, current

__all__ = ["MOVES", "Given", "Save", "answer_time_ms", "current", "moved", "plan"]
