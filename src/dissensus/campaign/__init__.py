"""Rules of campaigns: pure functions without clock, unseeded randomness, database or HTTP."""

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer, answer_time_ms, merge_saves
from dissensus.campaign.assignment import choose_items
from dissensus.campaign.lifecycle import TRANSITIONS, check_transition

__all__ = [
    "TRANSITIONS",
    "AnswerSave",
    "DraftAnswer",
    "answer_time_ms",
    "check_transition",
    "choose_items",
    "merge_saves",
]
