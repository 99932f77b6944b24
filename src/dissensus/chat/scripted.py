"""Responses that were written beforehand: the same ones for the same conversation and seed, without any model."""

import asyncio
import hashlib
import re
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from time import monotonic

from dissensus.chat.build_messages import check_open
from dissensus.chat.response import Clock, ResponseBuilder, Stream, check_seed
from dissensus.schema.campaign.chatbot import MANNERS, Script
from dissensus.schema.records.conversation import LONGEST_TURN, Conversation

_WORDS = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedBot:
    """A chatbot that says what a script has.

    Parameters
    ----------
    script
        What it has.
    clock
        Tells the seconds that are measured.
    sleep
        Waits for some seconds before each word.
    """

    script: Script = field(default_factory=Script)
    clock: Clock = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        """Respond to a conversation, see `Bot`; word by word."""
        check_seed(seed)
        check_open(conversation)
        growing = ResponseBuilder(LONGEST_TURN, self.clock, seed)
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
