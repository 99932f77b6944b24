"""Chat filter: sort order, filters and cursor of a list of conversations."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

ChatOutcome: TypeAlias = Literal["refused by provider", "failed", "improved", "tied"]
"""What became of a response: refused by the provider, failed, improved by the rater, or tied with the other one."""
CHAT_OUTCOMES: tuple[ChatOutcome, ...] = get_args(ChatOutcome)

ChatOrder: TypeAlias = Literal["latest", "success", "turns"]
"""Orders: latest, most successful, and longest first."""
CHAT_ORDERS: tuple[ChatOrder, ...] = get_args(ChatOrder)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFilter:
    """Order and filters of a list of conversations."""

    order: ChatOrder = "latest"
    search: str = ""  # Part of the intent, a message or a response
    mode: str = ""
    state: Literal["", "open", "done"] = ""
    rater: int | None = None  # Zero-based entry number
    success: int | None = None  # Rating of the success by the rater
    chatbot: str = ""
    outcome: ChatOutcome | None = None
    tag: str = ""  # Given by a reviewer


ChatCursor = tuple[str, str]
"""Sort key of a conversation as text, and its id."""
