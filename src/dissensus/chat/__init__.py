"""Chatbots behind one small protocol: a conversation and a seed in, a response out, streamed or whole."""

from dissensus.chat.best_of_n import SCORERS, BestOfN, Scorer
from dissensus.chat.best_of_registry import BestOnLine, Ranker
from dissensus.chat.factory import opened
from dissensus.chat.prompt import prompt
from dissensus.chat.response import Bot, Cost, Finish, Response, Stream, whole
from dissensus.chat.scripted import Scripted
from dissensus.chat.seeds import seeds_from

__all__ = [
    "SCORERS",
    "BestOfN",
    "BestOnLine",
    "Bot",
    "Cost",
    "Finish",
    "Ranker",
    "Response",
    "Scorer",
    "Scripted",
    "Stream",
    "opened",
    "prompt",
    "seeds_from",
    "whole",
]
