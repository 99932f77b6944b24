"""Lists of chat messages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.text.messages import Chat, parse_messages, write_messages
from dissensus.text.pasted import write_pasted
from dissensus.text.transcripts import join_hh, write_dices, write_hh
from dissensus.text.turns import Speaker

speakers: st.SearchStrategy[Speaker] = st.sampled_from(("human", "bot"))


@quick
@given(st.lists(st.tuples(speakers, st.text())))
def test_turns_survive_a_round_trip_through_messages(turns: list[tuple[Speaker, str]]) -> None:
    assert parse_messages(write_messages(turns)) == Chat(tuple(turns))


@pytest.mark.parametrize("human", ["user", "Human", "PERSON"])
@pytest.mark.parametrize("bot", ["assistant", "bot", "model", "gpt"])
@pytest.mark.parametrize("keys", [("role", "content"), ("speaker", "text"), ("from", "value")])
def test_roles(human: str, bot: str, keys: tuple[str, str]) -> None:
    messages = [dict(zip(keys, pair, strict=True)) for pair in [(human, " a\n"), (bot, "")]]
    assert parse_messages(messages).turns == (("human", " a\n"), ("bot", ""))


def test_system_messages_are_instructions_instead_of_turns() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": "Hi", "name": "ann"},
    ]
    assert parse_messages(messages) == Chat((("human", "Hi"),), "Be kind.\n\nBe short.")


def test_tools_and_later_system_messages_are_turns() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "tides"}'}}
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "May I swim?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "ebb"},
        {"role": "system", "content": "Be short."},
        {"role": "assistant", "content": "No.", "tool_calls": None},
    ]
    chat = parse_messages(messages)
    assert chat.instructions == "Be kind."
    assert chat.turns == (
        ("human", "May I swim?"),
        ("tool", 'search({"q": "tides"})'),
        ("tool", "ebb"),
        ("system", "Be short."),
        ("bot", "No."),
    )
    assert parse_messages(write_messages(chat.turns)).turns == chat.turns
    # The forms of transcripts cannot hold them, and say so.
    for write in (write_hh, write_pasted, write_dices):
        with pytest.raises(InvalidInput, match="Write the turns as JSON"):
            write(chat.turns)
    assert join_hh(chat.turns).count("\n\nTool: ") == 2
    said = parse_messages([{"role": "assistant", "content": "I look.", "tool_calls": [call]}]).turns
    assert said == (("bot", "I look."), chat.turns[1])


def test_content_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert parse_messages([{"role": "user", "content": parts}]).turns == (("human", "ab"),)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("hello", "'hello' is not a list of messages. Give one like"),
        ({"role": "user", "content": "a"}, "is not a list of messages"),
        (["a"], "Message 1, 'a', has no role and content"),
        ([{"role": "user"}], "Message 1, .* has no role and content"),
        ([{"role": "user", "content": None}], "Message 1 has the content 'None'; only text can be read"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "not null or images"),
        ([{"role": "user", "content": []}], "Message 1 has the content"),
        ([{"role": "aside", "content": "a"}], "Message 1 has the role 'aside'; allowed are user, human"),
        ([{"role": "assistant", "tool_calls": ["f"]}], "Message 1 has the tool call 'f'. Give calls like"),
        ([{"role": "user", "content": "a", "tool_calls": 5}], "Message 1 has the tool calls '5'; give a list of calls"),
        (
            [{"role": "user", "content": "a", "tool_calls": "f"}],
            "Message 1 has the tool calls 'f'; give a list of calls",
        ),
        ([{"role": None, "content": "a"}], "Message 1 has the role 'None'"),
    ],
)
def test_invalid_messages_are_refused(messages: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_messages(messages)
