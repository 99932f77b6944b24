"""State of a conversation: next step, chatbot of each turn, chosen response."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chat import MAX_MESSAGE_LENGTH, ChatMode, ChatSettings
from dissensus.schema.canonical_json import digest_json
from dissensus.schema.records.conversation import Conversation, Speaker
from dissensus.schema.records.preference import MAX_STRENGTH

Position: TypeAlias = Literal[0, 1]
"""Position of a response: 0 on the left (A), 1 on the right (B)."""
POSITIONS: Final[tuple[Position, ...]] = get_args(Position)
ResponseFailure: TypeAlias = Literal["refused by provider", "failed"]
"""Reason of a response that did not arrive: the provider refused the conversation, or anything else failed."""
FAILURES: Final[tuple[ResponseFailure, ...]] = get_args(ResponseFailure)
ChatStep: TypeAlias = Literal["say", "answering", "pick", "failed", "end"]
SEED_LIMIT: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCandidate:
    """One of the responses between which a person picks."""

    position: Position
    chatbot: str  # Name of the chatbot, not disclosed before the end
    text: str | None = None  # None until it has arrived
    failure: ResponseFailure | None = None  # Reason of the last failure; None while pending and once arrived
    ranked_by: str | None = None  # Version of the registered model that chose it, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePick:
    """Preference between the two responses of a turn."""

    strength: int  # From ``-MAX_STRENGTH`` (A, by far) over 0 (equal) to ``MAX_STRENGTH`` (B, by far)
    edit: str | None = None  # Edited text of the better response; None if unchanged

    @property
    def position(self) -> Position | None:
        """Position of the picked response; None for a tie."""
        return None if self.strength == 0 else 1 if self.strength > 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Message of a person and the responses to it."""

    mode: str  # Name of the chat mode
    message: str
    candidates: tuple[ResponseCandidate, ...]  # The responses, A first
    pick: ResponsePick | None = None  # None before a pick, and in modes without picks
    continues: Position | None = None  # Position of the response that continues the conversation; None until settled

    @property
    def complete(self) -> bool:
        """True once all responses have arrived."""
        return all(candidate.text is not None for candidate in self.candidates)

    @property
    def pending(self) -> bool:
        """True while a response has neither arrived nor failed."""
        return any(candidate.text is None and candidate.failure is None for candidate in self.candidates)

    @property
    def only_response(self) -> ResponseCandidate | None:
        """Response that arrived while all others failed; None if there is none, or several."""
        arrived = [candidate for candidate in self.candidates if candidate.text is not None]
        return arrived[0] if len(arrived) == 1 and not self.pending else None

    @property
    def response(self) -> str | None:
        """Response with which the conversation continues, as edited."""
        if self.continues is None:
            return None
        if self.pick is not None and self.pick.edit is not None and self.pick.position == self.continues:
            return self.pick.edit
        return self.candidates[self.continues].text


def choose_next_step(chat: ChatSettings, exchanges: Sequence[Exchange]) -> ChatStep:
    """Return the next step of a conversation.

    Examples
    --------
    >>> from dissensus.schema.campaign.chat import ChatMode
    >>> chat = ChatSettings(chatbots=(), modes=(ChatMode(name="red team", title={}, criterion="more harmful"),))
    >>> exchange = Exchange(mode="red team", message="Hi.", candidates=(ResponseCandidate(position=0, chatbot="tern"),))
    >>> choose_next_step(chat, []), choose_next_step(chat, [exchange])
    ('say', 'answering')
    """
    if not exchanges or exchanges[-1].continues is not None:
        return "say" if len(exchanges) < chat.max_turns else "end"
    if exchanges[-1].pending:
        return "answering"
    return "pick" if exchanges[-1].complete else "failed"


def build_conversation(exchanges: Sequence[Exchange], message: str | None = None) -> Conversation:
    """Return the conversation so far, with a new message if there is one.

    Messages that got no response and were followed by another message are left out: no chatbot has seen them.
    """
    turns: list[tuple[Speaker, str]] = []
    for exchange in exchanges:
        if exchange.response is not None:
            turns += [("human", exchange.message), ("bot", exchange.response)]
    if message is None and exchanges and exchanges[-1].response is None:
        message = exchanges[-1].message
    return Conversation.from_turns(turns if message is None else [*turns, ("human", message)])


def draw_chatbots(chat: ChatSettings, chat_id: str, turn_id: str, *, compared: bool) -> tuple[str, ...]:
    """Return the names of the chatbots that respond, by position, which is random in each turn."""
    names = [chatbot.name for chatbot in sorted(chat.chatbots, key=lambda chatbot: _digest(chat_id, chatbot.name))]
    if not compared:
        return (names[0],)
    a, b = names[:2] if chat.pairing == "different" and len(names) > 1 else [names[0]] * 2
    return (b, a) if _digest(turn_id, "sides") % 2 else (a, b)


def derive_seed(turn_id: str, position: int) -> int:
    """Return the seed of a response."""
    return _digest(turn_id, f"seed {position}") % SEED_LIMIT


def choose_continuation(mode: ChatMode, pick: ResponsePick, turn_id: str) -> Position:
    """Return the position of the response that continues a conversation after a pick; random after a tie."""
    position = pick.position
    if position is None or mode.continue_with == "random":
        return 1 if _digest(turn_id, "continues") % 2 else 0
    other: Position = 0 if position else 1
    return position if mode.continue_with == "picked" else other


def check_message(text: str) -> None:
    """Raise unless a message can be sent."""
    if not text.strip():
        raise InvalidInput("There is nothing to send. Write something first.")
    if len(text) > MAX_MESSAGE_LENGTH:
        raise InvalidInput(
            f"It has {len(text):,} characters, and {MAX_MESSAGE_LENGTH:,} can be sent at once. Shorten it."
        )


def check_pick(chat: ChatSettings, mode: ChatMode, pick: ResponsePick) -> None:
    """Raise unless the mode allows a pick."""
    if mode.criterion is None:
        raise InvalidInput("There is one response, and nothing to pick.")
    if abs(pick.strength) > MAX_STRENGTH or (pick.strength == 0 and not chat.allow_ties):
        without = "" if chat.allow_ties else " except 0"
        raise InvalidInput(
            f"The strength is {pick.strength}. Give one from {-MAX_STRENGTH} to {MAX_STRENGTH}{without}."
        )
    if pick.edit is not None:
        if not mode.allow_edits or pick.strength == 0:
            raise InvalidInput("The response cannot be edited here.")
        check_message(pick.edit)


def choose_better_response(mode: ChatMode, pick: ResponsePick) -> Position | None:
    """Return the position of the better response (the less harmful if raters pick the more harmful), None if tied."""
    if pick.position is None or mode.criterion != "more harmful":
        return pick.position
    return 0 if pick.position else 1


def digest_message(exchange: Exchange) -> str:
    """Return the SHA-256 of a person's message, in hexadecimal, by which the stored text is verified."""
    return digest_json([exchange.mode, exchange.message])


def digest_pick(exchange: Exchange) -> str:
    """Return the SHA-256 of a pick and of the continuation."""
    pick = exchange.pick
    return digest_json([None if pick is None else [pick.strength, pick.edit], exchange.continues])


def digest_ended_chat(exchanges: Sequence[Exchange], *, success: int | None, comment: str | None) -> str:
    """Return the SHA-256 of a conversation that has ended, with all responses and its outcome."""
    turns = [
        [exchange.mode, exchange.message, [_list_values(candidate) for candidate in exchange.candidates]]
        for exchange in exchanges
    ]
    return digest_json([turns, [digest_pick(exchange) for exchange in exchanges], success, comment])


def _list_values(candidate: ResponseCandidate) -> list[object]:
    return [candidate.position, candidate.chatbot, candidate.text, candidate.failure, candidate.ranked_by]


def _digest(source: str, purpose: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{source} {purpose}".encode()).digest()[:8])
