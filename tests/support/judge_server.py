"""Judges with planted behaviour: chat completions that answer by the prompt, over real HTTP."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.chat_completion_server import Play, Wire

_QUESTION = re.compile(r"^(\w+): .*?^Answer with one of: (.*?)\.$", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r'"([^"]*)"')


@dataclass(frozen=True)
class AskedQuestions:
    """What a request shows: the text of the conversation, the instructions, questions with their answers in order."""

    conversation: str
    instructions: str
    questions: dict[str, tuple[str, ...]]
    seed: int

    @property
    def luck(self) -> float:
        """Number from 0 to 1 by the text of the conversation and the seed."""
        digest = hashlib.sha256(f"{self.conversation} {self.seed}".encode()).digest()
        return int.from_bytes(digest[:4]) / 2**32


Behaviour = Callable[[AskedQuestions], dict[str, str] | str]


def judge(behaviour: Behaviour) -> Callable[[dict[str, Any]], Play]:
    """Return a reaction that answers as the behaviour does: an object, or a text as it is."""

    def respond(body: dict[str, Any]) -> Play:
        answer = behaviour(read_request(body))
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return completes(text, usage={"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": 9})

    return respond


def completes(text: str, *, usage: dict[str, int]) -> Play:
    """Send a completion as one object, and keep the connection for another request."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    content = json.dumps({"model": "planted", "choices": [choice], "usage": usage})

    def play(wire: Wire) -> None:
        wire.keep_alive = True
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        wire.send((head + content).encode())

    return play


def read_request(body: dict[str, Any]) -> AskedQuestions:
    system, user = (message["content"] for message in body["messages"])
    conversation, _, questions = user.partition("</conversation>")
    return AskedQuestions(
        conversation=conversation.removeprefix("<conversation>").strip(),
        instructions=system,
        questions={name: tuple(_OPTION.findall(options)) for name, options in _QUESTION.findall(questions)},
        seed=body["seed"],
    )
