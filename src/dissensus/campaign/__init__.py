"""Rating itself, without clock, chance or database: who rates what in which order, and what the answers are."""

from dissensus.campaign.answer_drafts import Given, Save, answer_time_ms, current
from dissensus.campaign.assignment import plan
from dissensus.campaign.lifecycle import MOVES, moved

__all__ = ["MOVES", "Given", "Save", "answer_time_ms", "current", "moved", "plan"]
