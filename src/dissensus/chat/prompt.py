"""Chat messages of a conversation, as sent to a chatbot."""

from itertools import pairwise

from dissensus.errors import InvalidInput
from dissensus.schema.records.conversation import Conversation
from dissensus.text.messages import write_messages


def build_messages(conversation: Conversation, system_prompt: str = "") -> list[dict[str, str]]:
    """Return the messages of a request: the system prompt, where there is one, then each turn as it is.

    Examples
    --------
    >>> build_messages(Conversation.from_turns([("human", "May I swim here?")]), "Be brief.")
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'May I swim here?'}]
    """
    check_awaits_response(conversation)
    before = [{"role": "system", "content": system_prompt}] if system_prompt else []
    return [*before, *write_messages([(turn.speaker, turn.text) for turn in conversation.turns])]


def check_awaits_response(conversation: Conversation) -> None:
    """Refuse a conversation to which no chatbot can respond."""
    for number, (turn, following) in enumerate(pairwise(conversation.turns), start=2):
        if turn.speaker == following.speaker:
            raise InvalidInput(
                f"Turn {number:,} is by the {turn.speaker}, as the one before. Chatbots know turns that alternate: "
                "join the two."
            )
    if conversation.turns[-1].speaker != "human":
        raise InvalidInput("The chatbot spoke last. Add what the person says to that, or leave its last turn out.")
