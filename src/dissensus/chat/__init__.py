"""Chatbots with one protocol: they take a conversation and a seed, and stream a response."""

from dissensus.chat.best_of_n import SCORERS, BestOfN, BestOfRegistry, Ranker, Scorer
from dissensus.chat.factory import open_chatbot
from dissensus.chat.prompt import build_messages
from dissensus.chat.response import (
    Bot,
    ContentRefusal,
    Cost,
    Finish,
    ProviderRefusal,
    Response,
    Stream,
    collect_response,
    derive_seeds,
)
from dissensus.chat.scripted import ScriptedBot

__all__ = [
    "SCORERS",
    "BestOfN",
    "BestOfRegistry",
    "Bot",
    "ContentRefusal",
    "Cost",
    "Finish",
    "ProviderRefusal",
    "Ranker",
    "Response",
    "Scorer",
    "ScriptedBot",
    "Stream",
    "build_messages",
    "collect_response",
    "derive_seeds",
    "open_chatbot",
]
