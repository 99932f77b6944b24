"""Conversations and items: the rated turn, validation and digests."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.schema.records import conversation as limits
from dissensus.schema.records.conversation import Conversation, Speaker, Turn
from dissensus.schema.records.item import Item

HI = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])

speakers: st.SearchStrategy[Speaker] = st.sampled_from(("human", "bot"))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@quick
@given(st.lists(st.tuples(speakers, texts), min_size=1, max_size=5))
def test_a_conversation_survives_json(turns: list[tuple[Speaker, str]]) -> None:
    conversation = Conversation.from_turns(turns)
    parsed = Conversation.from_dicts(json.loads(json.dumps(conversation.to_dicts())))
    assert parsed == conversation
    assert parsed.digest == conversation.digest


def test_the_last_turn_of_the_bot_is_rated() -> None:
    conversation = Conversation.from_turns([("human", "a"), ("bot", "b"), ("human", "c"), ("bot", "b")])
    assert conversation.rated_turn == Turn("bot", "b")
    assert [turn.text for turn in conversation.context] == ["a", "b", "c"]
    assert Conversation((Turn("bot", "alone"),)).context == ()


def test_a_conversation_that_ends_with_a_person_cannot_be_rated() -> None:
    conversation = Conversation.from_turns([("bot", "Hello!"), ("human", "Bye")])
    assert len(conversation.turns) == 2
    with pytest.raises(InvalidInput, match=r"last turn, 'Bye', is by the human.*Leave it out, or add the answer"):
        _ = conversation.rated_turn
    with pytest.raises(InvalidInput, match="is by the human"):
        _ = conversation.context
    with pytest.raises(InvalidInput, match=r"^Item '7': The last turn"):
        Item("7", conversation)


def test_empty_turns_are_kept_and_counted() -> None:
    conversation = Conversation.from_turns([("human", "a"), ("bot", " \n"), ("human", "b"), ("bot", "")])
    assert conversation.empty_turns == (2, 4)
    assert conversation.rated_turn.text == ""
    assert HI.empty_turns == ()


def test_the_digest_depends_on_speakers_and_texts() -> None:
    conversation = Conversation.from_turns([("human", "ab"), ("bot", "c")])
    variants = [
        [("human", "a"), ("bot", "bc")],
        [("bot", "ab"), ("bot", "c")],
        [("human", "ab"), ("bot", "c"), ("bot", "")],
    ]
    digests = {Conversation.from_turns(turns).digest for turns in variants}  # type: ignore[arg-type]
    assert len({conversation.digest, *digests}) == 4


def test_texts_are_stored_verbatim() -> None:
    hostile = ["<script>alert(1)</script>", '=HYPERLINK("http://x")', "\u202eevil\u2066", "a\r\nb", "\x1b[31m", "👩‍🚀"]
    conversation = Conversation.from_turns([("bot", text) for text in hostile])
    assert [turn["text"] for turn in conversation.to_dicts()] == hostile


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\0b", r"Turn 2: The text has a NUL, as character 2, which databases cannot store\. Remove it\."),
        ("\ud800", r"Turn 2: The text has half of a surrogate pair \(like \\ud800\), as character 1"),
        (None, "Turn 2: The text is 'None', which is not text"),
        (7, "Turn 2: The text is '7', which is not text"),
        (
            "x" * (limits.MAX_TURN_LENGTH + 1),
            "Turn 2: The text has 1,048,577 characters, and at most 1,048,576 are allowed",
        ),
    ],
)
def test_a_turn_that_cannot_be_stored(text: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as error:
        Conversation.from_turns([("human", "a"), ("bot", text)])
    assert len(str(error.value)) < 300


def test_the_longest_turn_is_kept() -> None:
    conversation = Conversation.from_turns([("bot", "é" * limits.MAX_TURN_LENGTH)])
    assert len(conversation.rated_turn.text) == limits.MAX_TURN_LENGTH


def test_limits_of_a_conversation() -> None:
    with pytest.raises(InvalidInput, match="has no turn"):
        Conversation(())
    with pytest.raises(InvalidInput, match="has 1,001 turns, and at most 1,000 are allowed"):
        Conversation((Turn("bot", "a"),) * 1001)
    with pytest.raises(InvalidInput, match="has 4,194,305 characters, and at most 4,194,304 are allowed"):
        Conversation((*(Turn("bot", "x" * limits.MAX_TURN_LENGTH),) * 4, Turn("bot", "y")))


def test_an_unknown_speaker() -> None:
    with pytest.raises(InvalidInput, match="Turn 1: There is no speaker 'LAMDA'; a turn is by 'human', 'bot'"):
        Conversation.from_turns([("LAMDA", "Hi")])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ("hello", "not a list"),
        ({"speaker": "bot", "text": "a"}, "not a list"),
        (["hello"], "Turn 1 is 'hello'. Each turn is an object with 'speaker' and 'text' alone"),
        ([{"speaker": "bot", "text": "a"}, {"speaker": "bot"}], "Turn 2 is"),
        ([{"speaker": "bot", "text": "a", "score": 1}], "Turn 1 is"),
        ([{"speaker": ["bot"], "text": "a"}], "There is no speaker"),
        ([], "has no turn"),
    ],
)
def test_invalid_json_is_rejected(turns: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Conversation.from_dicts(turns)


def test_items_are_immutable_and_hashable() -> None:
    attributes = {"harm_type": "Health"}
    item = Item("7", HI, attributes)
    attributes["harm_type"] = "Other"
    assert item.attributes == {"harm_type": "Health"}
    with pytest.raises(TypeError):
        item.attributes["harm_type"] = "Other"  # type: ignore[index]
    assert item == Item("7", HI, {"harm_type": "Health"})
    assert item != Item("7", HI)
    assert len({item, Item("7", HI, {"harm_type": "Health"})}) == 1


@pytest.mark.parametrize(
    ("item_id", "attributes", "message"),
    [
        ("", {}, "The id of an item is empty"),
        (" ", {}, "The id of an item is empty"),
        ("a\0", {}, "The id of an item has a NUL"),
        ("x" * 1001, {}, "The id of an item has 1,001 characters, and at most 1,000"),
        (7, {}, "The id of an item is '7', which is not text"),
        ("7", {"a": "\0"}, "Item '7': The attribute 'a' has a NUL"),
        ("7", {"a": 1}, "Item '7': The attribute 'a' is '1', which is not text"),
        ("7", {"": "1"}, "Item '7': The name of an attribute is empty"),
        ("7", {"item_image_alt": "A knife."}, "There is an item_image_alt and no item_image"),
        ("7", {"item_image": "a.gif", "item_image_alt": "A knife."}, "'a.gif' cannot be the name of an image"),
        ("7", {"item_image": "a.png", "item_image_alt": " "}, "The image 'a.png' has no alternative text"),
        (
            "7",
            {"item_image": "a.png", "item_image_alt": "x" * 1001},
            "item_image_alt has 1,001 characters",
        ),
    ],
)
def test_an_item_that_cannot_be_stored(item_id: Any, attributes: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Item(item_id, HI, attributes)


def test_the_longest_names_and_alternative_texts_are_kept() -> None:
    attributes = {"item_image": "a.png", "item_image_alt": "x" * 1000, "y" * 1000: ""}
    assert Item("7" * 1000, HI, attributes).attributes == attributes
