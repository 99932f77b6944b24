"""Items: the conversations that raters rate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, Conversation, check_text
from dissensus.schema.records.image import check_image_attributes

MAX_NAME_LENGTH: Final = 1_000
"""Characters of an id, or of the name of an attribute."""


@dataclass(frozen=True, slots=True)
class Item:
    """A conversation whose last turn is rated, alone or compared with another response.

    Parameters
    ----------
    item_id
        Verbatim id.
    conversation
        Ends with a turn of the bot.
    attributes
        Text by name, as in the columns of a ratings table; unknown attributes are left out.
    response_b
        Response compared with the last turn, which is response A; None without a comparison.

    Raises
    ------
    InvalidInput
        The id or an attribute cannot be stored, or the last turn is not by the bot.

    Examples
    --------
    >>> conversation = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])
    >>> Item("7", conversation, {"degree_of_harm": "Benign"}).attributes["degree_of_harm"]
    'Benign'
    """

    item_id: str
    conversation: Conversation
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    response_b: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.item_id, "The id of an item")
        try:
            self._check()
        except InvalidInput as error:
            raise InvalidInput(f"Item {format_value(self.item_id)}: {error}") from None
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))

    def responses(self, first: str | None = "a") -> tuple[str, ...]:
        """Return the responses of a pair from left to right, ``a`` or ``b`` first; empty without a comparison.

        Examples
        --------
        >>> conversation = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])
        >>> Item("7", conversation, response_b="Go away.").responses("b")
        ('Go away.', 'Hello!')
        """
        if self.response_b is None:
            return ()
        pair = (self.conversation.rated_turn.text, self.response_b)
        return pair[::-1] if first == "b" else pair

    def _check(self) -> None:
        _ = self.conversation.rated_turn
        if self.response_b is not None:
            check_text(self.response_b, "Response B", MAX_TURN_LENGTH)
        for name, value in self.attributes.items():
            _check_name(name, "The name of an attribute")
            check_text(value, f"The attribute {format_value(name)}", MAX_TURN_LENGTH)
        check_image_attributes(self.attributes)


def _check_name(name: str, subject: str) -> None:
    check_text(name, subject, MAX_NAME_LENGTH)
    if not name.strip():
        raise InvalidInput(f"{subject} is empty. Give it one, or leave it out.")
