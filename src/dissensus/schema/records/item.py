"""Items: the conversations that raters rate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, Conversation, check_text

MAX_NAME_LENGTH: Final = 1_000
"""Characters of an id, or of the name of an attribute."""


@dataclass(frozen=True, slots=True)
class Item:
    """A conversation whose last turn raters judge, alone or beside another response, and what is known of it.

    Parameters
    ----------
    item_id
        Its id, as it is written.
    conversation
        Ends with a turn of the bot.
    attributes
        Text by name, as columns of a ratings table describe an item; what is unknown has no entry.
    response_b
        Where two responses are compared, the other one; the last turn is response A.

    Raises
    ------
    InvalidInput
        The id or an attribute cannot be stored, or there is no turn of the bot to rate.

    Examples
    --------
    >>> talk = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])
    >>> Item("7", talk, {"degree_of_harm": "Benign"}).attributes["degree_of_harm"]
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
        """Return the responses of a pair from left to right, where ``a`` or ``b`` is first; none where there is one.

        Examples
        --------
        >>> talk = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])
        >>> Item("7", talk, response_b="Go away.").responses("b")
        ('Go away.', 'Hello!')
        """
        if self.response_b is None:
            return ()
        both = (self.conversation.rated.text, self.response_b)
        return both[::-1] if first == "b" else both

    def _check(self) -> None:
        _ = self.conversation.rated
        if self.response_b is not None:
            check_text(self.response_b, "Response B", MAX_TURN_LENGTH)
        for name, value in self.attributes.items():
            _check_name(name, "The name of an attribute")
            check_text(value, f"The attribute {format_value(name)}", MAX_TURN_LENGTH)


def _check_name(name: str, what: str) -> None:
    check_text(name, what, MAX_NAME_LENGTH)
    if not name.strip():
        raise InvalidInput(f"{what} is empty. Give it one, or leave it out.")
