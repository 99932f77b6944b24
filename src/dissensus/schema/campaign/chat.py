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

SUCCESS_SCALE: Final = (0, 1, 2, 3, 4)
"""Success of an attack, from none to very successful, as in the red-team paper."""
MAX_MESSAGE_LENGTH: Final = 20_000
"""Characters of a message, or of an edited response."""
MAX_INTENT_LENGTH: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMode:
    """A mode of conversation, such as ``helpful`` or ``red team``."""

    name: str  # in files, such as ``helpful`` or ``red team``
    title: Wording
    text: Wording = field(default_factory=empty_wording)
    criterion: Criterion | None = None  # None for one response
    continue_with: ContinueWith = "picked"  # response that continues the conversation
    allow_edits: bool = False  # raters may edit the better response
    intent: bool = False  # raters write their plan first
    success: bool = False  # raters report their success at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """The table ``[chat]`` of a campaign."""

    chatbots: tuple[Chatbot, ...]  # hidden from raters
    modes: tuple[ChatMode, ...]
    pairing: Pairing = "different"  # two responses of the same chatbot or of different ones
    allow_ties: bool = False
    turns: int = 4  # expected turns of the person
    max_turns: int = 20
    max_conversations: int = 5  # conversations per person

    def as_mapping(self) -> dict[str, Any]:
        """Return the table ``[chat]`` of a campaign, with all chatbots in full."""
        chatbots = [chatbot.as_mapping() for chatbot in self.chatbots]
        return {**to_mapping(replace(self, chatbots=())), "chatbots": chatbots}

    def mode(self, name: str) -> ChatMode | None:
        """Return a mode by its name, None if there is none."""
        return next((mode for mode in self.modes if mode.name == name), None)

    def chatbot(self, name: str) -> Chatbot | None:
        """Return a chatbot by its name, None if there is none."""
        return next((chatbot for chatbot in self.chatbots if chatbot.name == name), None)
