"""What a campaign asks of people who talk with chatbots: in which modes, with whom, and what they say of it."""

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.schema.campaign.chatbot import Chatbot
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.questionnaire.question import Wording, empty_wording
from dissensus.schema.records.preference import Asked

Continuing: TypeAlias = Literal["picked", "other", "random"]
CONTINUING: Final[tuple[Continuing, ...]] = get_args(Continuing)
Pairing: TypeAlias = Literal["same", "different"]
PAIRINGS: Final[tuple[Pairing, ...]] = get_args(Pairing)

STRONGEST: Final = 3
"""Steps to each side of a preference: slightly, clearly, much."""
SUCCESS: Final = (0, 1, 2, 3, 4)
"""How well an attack went, from not successful to very successful, as in the red-team paper."""
LONGEST_SAID: Final = 20_000
"""Characters that a person may write at a time, or of an answer that they edit."""
LONGEST_INTENT: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A way of talking."""

    name: str  # Name in files, such as ``helpful`` or ``red team``
    title: Wording  # What it is called
    text: Wording = field(default_factory=empty_wording)  # What people are asked to do
    compared: Asked | None = None  # What they pick of two responses; None where there is one
    continues: Continuing = "picked"  # With which of two responses the conversation goes on
    edits: bool = False  # Whether they may edit the better one
    intent: bool = False  # Whether they write what they will try, before they begin
    success: bool = False  # Whether they say in the end how well it went


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """How people talk with chatbots in a campaign."""

    chatbots: tuple[Chatbot, ...]  # With whom; nobody is told with which
    modes: tuple[Mode, ...]  # The ways of talking, one of which somebody chooses for each conversation
    # Whether two responses come from the same chatbot or from different ones, as far as there are several
    pairing: Pairing = "different"
    equal: bool = False  # Whether two responses may be called equally good
    turns: int = 4  # How many times a person is to speak in a conversation; it may be fewer or more
    most_turns: int = 20  # How many times at most
    most: int = 5  # Conversations of one person

    def as_mapping(self) -> dict[str, Any]:
        """Return what the table ``[chat]`` of a campaign holds, with all chatbots whole."""
        chatbots = [chatbot.as_mapping() for chatbot in self.chatbots]
        return {**to_mapping(replace(self, chatbots=())), "chatbots": chatbots}

    def mode(self, name: str) -> Mode | None:
        """Return the mode of a name, None where there is none."""
        return next((mode for mode in self.modes if mode.name == name), None)

    def chatbot(self, name: str) -> Chatbot | None:
        """Return the chatbot of a name, None where there is none."""
        return next((chatbot for chatbot in self.chatbots if chatbot.name == name), None)
