"""State of a conversation: next step, chatbot of each turn, chosen response."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chat import MAX_MESSAGE_LENGTH, MAX_STRENGTH, ChatMode, ChatSettings
from dissensus.schema.records.conversation import Conversation, Speaker

Place: TypeAlias = Literal[0, 1]
"""Of a response: 0 on the left, which is A, and 1 on the right, which is B."""
PLACES: Final[tuple[Place, ...]] = get_args(Place)
Moment: TypeAlias = Literal["say", "answering", "pick", "end"]
LARGEST: Final = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCandidate:
    """One response that somebody may pick."""

    place: Place  # On which side it stands
    chatbot: str  # Whose it is, which nobody is told before the end
    text: str | None = None  # What it says; None until it has come
    ranked_by: str | None = None  # The version of a model line that chose it; None where none did


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePick:
    """Preference between the two responses of a turn."""

    strength: int  # From ``-STRONGEST``, much more for A, over 0, equal, to ``MAX_STRENGTH``, much more for B
    edit: str | None = None  # What they made of the better one; None where they left it as it is

    @property
    def place(self) -> Place | None:
        """Index of the picked response; None for a tie."""
        return None if self.strength == 0 else 1 if self.strength > 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Message of a person and the responses to it."""

    mode: str  # Under which it was said
    said: str
    candidates: tuple[ResponseCandidate, ...]  # The responses, A first
    pick: ResponsePick | None = None  # What was preferred; None where nothing was yet, or nothing is asked
    continues: Place | None = None  # With which response the conversation goes on; None where that is not settled

    @property
    def complete(self) -> bool:
        """True once all responses have arrived."""
        return all(one.text is not None for one in self.candidates)

    @property
    def response(self) -> str | None:
        """Response with which the conversation continues, as edited."""
        if self.continues is None:
            return None
        edited = self.pick is not None and self.pick.edit is not None and self.pick.place == self.continues
        return self.pick.edit if edited and self.pick is not None else self.candidates[self.continues].text


def choose_next_step(chat: ChatSettings, exchanges: Sequence[Exchange]) -> Moment:
    """Return what comes next in a conversation.

    Examples
    --------
    >>> from dissensus.schema.campaign.chat import ChatMode
    >>> chat = ChatSettings(chatbots=(), modes=(ChatMode(name="red team", title={}, compared="more harmful"),))
    >>> one = Exchange(mode="red team", said="Hi.", candidates=(ResponseCandidate(place=0, chatbot="tern"),))
    >>> choose_next_step(chat, []), choose_next_step(chat, [one])
    ('say', 'answering')
    """
    if not exchanges or exchanges[-1].continues is not None:
        return "say" if len(exchanges) < chat.most_turns else "end"
    return "pick" if exchanges[-1].complete else "answering"


def build_conversation(exchanges: Sequence[Exchange], said: str | None = None) -> Conversation:
    """Return what was said so far, and what is said now if anything is."""
    turns: list[tuple[Speaker, str]] = []
    for one in exchanges:
        turns.append(("human", one.said))
        if one.response is not None:
            turns.append(("bot", one.response))
    return Conversation.from_turns(turns if said is None else [*turns, ("human", said)])


def draw_chatbots(chat: ChatSettings, talk: str, drawn: str, *, compared: bool) -> tuple[str, ...]:
    """Return the names of who responds, on the side of each, so that no side tells who it is."""
    names = [one.name for one in sorted(chat.chatbots, key=lambda one: _digest(talk, one.name))]
    if not compared:
        return (names[0],)
    two = names[:2] if chat.pairing == "different" and len(names) > 1 else [names[0]] * 2
    return (two[1], two[0]) if _digest(drawn, "sides") % 2 else (two[0], two[1])


def derive_seed(drawn: str, place: int) -> int:
    """Return the seed of a response."""
    return _digest(drawn, f"seed {place}") % LARGEST


def continue_conversation(mode: ChatMode, pick: ResponsePick, drawn: str) -> Place:
    """Return with which response a conversation goes on after a pick; where both are equal it is drawn."""
    place = pick.place
    by_chance: Place = 1 if _digest(drawn, "continues") % 2 else 0
    if place is None or mode.continues == "random":
        return by_chance
    other: Place = 0 if place else 1
    return place if mode.continues == "picked" else other


def check_message(text: str) -> None:
    """Refuse what cannot be said."""
    if not text.strip():
        raise InvalidInput("There is nothing to send. Write something first.")
    if len(text) > MAX_MESSAGE_LENGTH:
        raise InvalidInput(
            f"It has {len(text):,} characters, and {MAX_MESSAGE_LENGTH:,} can be sent at once. Shorten it."
        )


def check_pick(chat: ChatSettings, mode: ChatMode, pick: ResponsePick) -> None:
    """Refuse a pick that the mode does not have."""
    if mode.compared is None:
        raise InvalidInput("There is one response, and nothing to pick.")
    if abs(pick.strength) > MAX_STRENGTH or (pick.strength == 0 and not chat.equal):
        around = "" if chat.equal else " but 0"
        raise InvalidInput(f"The strength is {pick.strength}. Give one from {-MAX_STRENGTH} to {MAX_STRENGTH}{around}.")
    if pick.edit is not None:
        if not mode.edits or pick.strength == 0:
            raise InvalidInput("Nothing can be edited here.")
        check_message(pick.edit)


def choose_better_response(mode: ChatMode, pick: ResponsePick) -> Place | None:
    """Return which response is the better one, by what was asked: less harmful is better, None where both are equal."""
    if pick.place is None or mode.compared != "more harmful":
        return pick.place
    return 0 if pick.place else 1


def digest_message(exchange: Exchange) -> str:
    """Return the SHA-256 of what a person said, in hexadecimal; what is kept of it later must have the same."""
    return _sha256([exchange.mode, exchange.said])


def digest_pick(exchange: Exchange) -> str:
    """Return the SHA-256 of what a person preferred, and of how the conversation went on."""
    pick = exchange.pick
    return _sha256([None if pick is None else [pick.strength, pick.edit], exchange.continues])


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode("ascii")).hexdigest()


def _digest(drawn: str, of: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{drawn} {of}".encode()).digest()[:8])
