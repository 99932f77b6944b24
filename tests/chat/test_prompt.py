"""Messages sent to chatbots."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.chat import build_messages
from dissensus.errors import InvalidInput
from dissensus.schema.records.conversation import Conversation
from dissensus.text.turns import Speaker

STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@quick
@given(st.lists(STORABLE, min_size=1, max_size=9), STORABLE)
def test_messages_are_the_system_prompt_and_the_turns(texts: list[str], system: str) -> None:
    speakers: list[Speaker] = ["human" if (len(texts) - position) % 2 else "bot" for position in range(len(texts))]
    messages = build_messages(Conversation.from_turns(zip(speakers, texts, strict=True)), system)
    first = [{"role": "system", "content": system}] if system else []
    assert messages[: len(first)] == first
    turn_messages = messages[len(first) :]
    assert [message["content"] for message in turn_messages] == texts
    assert [message["role"] for message in turn_messages] == [
        {"human": "user", "bot": "assistant"}[speaker] for speaker in speakers
    ]
    assert all(one["role"] != other["role"] for one, other in pairwise(turn_messages))
    assert turn_messages[-1]["role"] == "user"


@quick
@given(st.lists(st.sampled_from(["human", "bot"]), min_size=1, max_size=6))
def test_turns_must_alternate_and_end_with_the_human(speakers: list[Speaker]) -> None:
    talk = Conversation.from_turns((speaker, "…") for speaker in speakers)
    alternate = all(one != other for one, other in pairwise(speakers))
    if alternate and speakers[-1] == "human":
        assert len(build_messages(talk)) == len(speakers)
    else:
        with pytest.raises(InvalidInput, match=r"The chatbot spoke last|Turn \d is by the (human|bot), as the one"):
            build_messages(talk)
