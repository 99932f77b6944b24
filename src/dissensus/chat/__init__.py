"""Chatbots behind one small protocol: a conversation and a seed in, a response out, streamed or whole."""

from dissensus.chat.best_of_n import SCORERS, BestOfN, Scorer
from dissensus.chat.best_of_registry import BestOfRegistry, Ranker
from dissensus.chat.factory import open_chatbot
from dissensus.chat.build_messages import build_messages
from dissensus.chat.response import Bot, Cost, Finish, Response, Stream, collect_response
from dissensus.chat.scripted import ScriptedBot
from dissensus.chat.seeds import derive_seeds

__all__ = [
    "SCORERS",
    "BestOfN",
    "BestOfRegistry",
    "Bot",
    "Cost",
    "Finish",
    "Ranker",
    "Response",
    "Scorer",
    "ScriptedBot",
    "Stream",
    "open_chatbot",
    "build_messages",
    "derive_seeds",
    "collect_response",
]
