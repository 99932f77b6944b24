"""Chat messages of a conversation, as sent to a chatbot."""

from itertools import pairwise

from dissensus.errors import InvalidInput
from dissensus.schema.records.conversation import Conversation
from dissensus.text.messages import write_messages


def build_messages(conversation: Conversation, system_prompt: str = "") -> list[dict[str, str]]:
    """Return the messages of a request: the system prompt, if any, then the turns.

    Examples
    --------
    >>> build_messages(Conversation.from_turns([("human", "May I swim here?")]), "Be brief.")
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'May I swim here?'}]
    """
    check_awaits_response(conversation)
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []
    return [*system, *write_messages([(turn.speaker, turn.text) for turn in conversation.turns])]


def check_awaits_response(conversation: Conversation) -> None:
    """Raise `InvalidInput` unless turns alternate and the last one is of the person."""
    for number, (turn, following) in enumerate(pairwise(conversation.turns), start=2):
        if turn.speaker == following.speaker:
            raise InvalidInput(
                f"Turn {number:,} is by the {turn.speaker}, as the one before. Chatbots need alternating turns: "
                "join the two."
            )
    if conversation.turns[-1].speaker != "human":
        raise InvalidInput("The chatbot spoke last. Add a message of the person, or leave the last turn out.")
