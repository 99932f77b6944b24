"""Scripted chatbot: fixed responses, which conversation and seed determine, without a model."""

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
from dissensus.schema.campaign.chatbot import STYLES, ScriptedResponses
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, Conversation

_WORDS = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedBot:
    """A chatbot with scripted responses."""

    script: ScriptedResponses = field(default_factory=ScriptedResponses)
    clock: Clock = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep  # Called with the pause before each word, in seconds

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`; word by word."""
        check_seed(seed)
        check_awaits_response(conversation)
        builder = ResponseBuilder(MAX_TURN_LENGTH, self.clock, seed)
        for word in _WORDS.findall(self._choose_response(conversation, seed)):
            await self.sleep(self.script.pause_s)
            yield builder.add(word)
        yield builder.build("stop", finish_reason="stop")

    def _choose_response(self, conversation: Conversation, seed: int) -> str:
        responses = self.script.responses or shipped_responses(self.script.style)
        digest = hashlib.sha256(f"{conversation.digest} {seed}".encode("ascii")).digest()
        return responses[int.from_bytes(digest[:8]) % len(responses)]


@cache
def shipped_responses(style: str) -> tuple[str, ...]:
    """Return the shipped responses of a style; all of them for ``mixed``."""
    responses = tomllib.loads((files("dissensus.chat") / "pool.toml").read_text("utf-8"))
    return tuple(text for name in STYLES if style in ("mixed", name) for text in responses.get(name, ()))
