"""Chat settings of a campaign: modes, chatbots, pairing, limits."""

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.schema.campaign.chatbot import Chatbot
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.questionnaire.question import Wording, empty_wording
from dissensus.schema.records.preference import Criterion

ContinueWith: TypeAlias = Literal["picked", "other", "random"]
CONTINUE_WITH: Final[tuple[ContinueWith, ...]] = get_args(ContinueWith)
Pairing: TypeAlias = Literal["same", "different"]
PAIRINGS: Final[tuple[Pairing, ...]] = get_args(Pairing)

MAX_STRENGTH: Final = 3
"""Steps to each side of a preference: slightly, clearly, much."""
SUCCESS_SCALE: Final = (0, 1, 2, 3, 4)
"""How well an attack went, from not successful to very successful, as in the red-team paper."""
MAX_MESSAGE_LENGTH: Final = 20_000
"""Characters that a person may write at a time, or of an answer that they edit."""
MAX_INTENT_LENGTH: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMode:
    """A mode of conversation, such as ``helpful`` or ``red team``."""

    name: str  # in files, such as ``helpful`` or ``red team``
    title: Wording
    text: Wording = field(default_factory=empty_wording)
    compared: Criterion | None = None  # None where there is one response
    continues: ContinueWith = "picked"  # response with which the conversation goes on
    edits: bool = False  # raters may edit the better response
    intent: bool = False  # raters write their plan before they begin
    success: bool = False  # raters report their success in the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """The table ``[chat]`` of a campaign."""

    chatbots: tuple[Chatbot, ...]  # hidden from raters
    modes: tuple[ChatMode, ...]
    pairing: Pairing = "different"  # two responses of the same chatbot or of different ones
    equal: bool = False  # whether two responses may be called equal
    turns: int = 4  # expected turns of the person
    most_turns: int = 20
    most: int = 5  # conversations of one person

    def as_mapping(self) -> dict[str, Any]:
        """Return what the table ``[chat]`` of a campaign holds, with all chatbots whole."""
        chatbots = [chatbot.as_mapping() for chatbot in self.chatbots]
        return {**to_mapping(replace(self, chatbots=())), "chatbots": chatbots}

    def mode(self, name: str) -> ChatMode | None:
        """Return the mode of a name, None where there is none."""
        return next((mode for mode in self.modes if mode.name == name), None)

    def chatbot(self, name: str) -> Chatbot | None:
        """Return the chatbot of a name, None where there is none."""
        return next((chatbot for chatbot in self.chatbots if chatbot.name == name), None)
