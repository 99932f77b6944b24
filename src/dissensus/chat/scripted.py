"""Scripted chatbot: fixed responses, deterministic by conversation and seed, without a model."""

import asyncio
import hashlib
import re
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from time import monotonic

from dissensus.chat.prompt import check_awaits_response
from dissensus.chat.response import Clock, ResponseBuilder, Stream, check_seed
from dissensus.schema.campaign.chatbot import MANNERS, ScriptedResponses
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, Conversation

_WORDS = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedBot:
    """A chatbot that says what a script has."""

    script: ScriptedResponses = field(default_factory=ScriptedResponses)
    clock: Clock = monotonic  # Tells the seconds that are measured
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep  # Waits for some seconds before each word

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`; word by word."""
        check_seed(seed)
        check_awaits_response(conversation)
        growing = ResponseBuilder(MAX_TURN_LENGTH, self.clock, seed)
        for word in _WORDS.findall(self._chosen(conversation, seed)):
            await self.sleep(self.script.pause_s)
            yield growing.add(word)
        yield growing.done("stop", finish_said="stop")

    def _chosen(self, conversation: Conversation, seed: int) -> str:
        responses = self.script.responses or shipped_responses(self.script.manner)
        drawn = hashlib.sha256(f"{conversation.digest} {seed}".encode("ascii")).digest()
        return responses[int.from_bytes(drawn[:8]) % len(responses)]


@cache
def shipped_responses(manner: str) -> tuple[str, ...]:
    """Return the responses that ship for a manner; all of them for ``mixed``."""
    read = tomllib.loads((files("dissensus.chat") / "pool.toml").read_text("utf-8"))
    return tuple(one for name in MANNERS if manner in ("mixed", name) for one in read.get(name, ()))
