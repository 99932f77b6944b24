"""Pasted transcripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.text.pasted import LABELS, parse_pasted, split_transcripts, write_pasted
from dissensus.text.turns import Speaker, Turns

TALK: Turns = (("human", "Is it safe?"), ("bot", "That depends.\n\n  1. On you"), ("human", "Ok"), ("bot", "Bye"))
BODY = "{h} Is it safe?\n\n{b} That depends.\n\n  1. On you\n\n{h} Ok\n{b} Bye\n"

speakers: st.SearchStrategy[Speaker] = st.sampled_from(("human", "bot"))
lines = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20).map(lambda text: f"x{text}x")
texts = st.lists(lines | st.just(""), max_size=4).map(lambda held: "\n".join(["x", *held, "x"]))


@pytest.mark.parametrize(
    ("human", "bot"),
    [
        ("Human:", "Assistant:"),
        ("user:", "ai:"),
        ("PERSON :", "CHATBOT :"),
        ("H:", "A:"),
        ("  User:", "\tModel:"),
        ("**Human:**", "**Assistant:**"),
        ("**Human**:", "__Bot__:"),
        ("*User:*", "_AI:_"),
        ("User：", "LaMDA："),
        ("\u200eUser:", "\u202aAssistant:"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_names_of_speakers(human: str, bot: str, line_end: str) -> None:
    assert parse_pasted(BODY.format(h=human, b=bot).replace("\n", line_end)) == TALK


@pytest.mark.parametrize("before", ["", "\n\n  \n", "\ufeff"])
def test_blank_text_before_the_first_turn_is_ignored(before: str) -> None:
    assert parse_pasted(before + BODY.format(h="Human:", b="AI:")) == TALK


def test_common_indentation_is_removed() -> None:
    assert parse_pasted("    User: a\n      b\n    AI:\n        code\n") == (("human", "a\n  b"), ("bot", "    code"))


def test_names_of_speakers_inside_a_text() -> None:
    text = (
        "User: Which one?\nA: the first\nB: the second\nH: none\nAI: I, Human: say A: b\nnote: Userland: no\nHumans: c"
    )
    assert parse_pasted(text) == (
        ("human", "Which one?\nA: the first\nB: the second\nH: none"),
        ("bot", "I, Human: say A: b\nnote: Userland: no\nHumans: c"),
    )
    assert parse_pasted("H: a\nUser: b\nA: c") == (("human", "a\nUser: b"), ("bot", "c"))


def test_bold_text_stays_bold() -> None:
    assert parse_pasted("User: **a** b\nAI:**c** d") == (("human", "**a** b"), ("bot", "**c** d"))


def test_empty_turns_and_turns_in_a_row() -> None:
    assert parse_pasted("User:\nUser: a\nAI:") == (("human", ""), ("human", "a"), ("bot", ""))


@quick
@given(st.lists(st.tuples(speakers, texts), max_size=4))
def test_turns_survive_a_round_trip_or_are_refused(turns: list[tuple[Speaker, str]]) -> None:
    preserved: Turns = (("human", "Hi"), *turns)
    assert parse_pasted(write_pasted(preserved)) == preserved


@pytest.mark.parametrize("text", [" a", "a ", "\na", "a\n", "a\nAI: b", "a\n**User**: b", "a\r\nb"])
def test_turns_that_cannot_be_preserved_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"Turn 2, .* cannot be preserved in a pasted transcript"):
        write_pasted([("human", "Hi"), ("bot", text)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Hello there\nUser: a", r"Line 1, 'Hello there', does not begin a turn\. A turn begins with a line like"),
        ("\n\n Q: a\nA: b", "Line 3, 'Q: a', does not begin a turn"),
        ("<p>User: a</p>", "Line 1, '<p>User: a</p>', does not begin a turn"),
        ("\u202eUser a", r"Line 1, '\\u202eUser a', does not begin a turn"),
        ("", "There is no text"),
        ("A: a\nB: b", "has no turn of a person.*if the speakers are A and B"),
        ("Assistant: a", "has no turn of a person"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_pasted(text)


def test_the_message_lists_all_names_of_speakers() -> None:
    with pytest.raises(InvalidInput) as error:
        parse_pasted("hello")
    assert all(name in str(error.value).casefold() for name in LABELS)


def test_a_long_line_is_truncated() -> None:
    with pytest.raises(InvalidInput) as error:
        parse_pasted("x" * 10**6)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("rule", ["---", "-----", "  --- \t"])
def test_lines_of_hyphens_separate_transcripts(rule: str) -> None:
    text = f"User: a\nAI: b\n{rule}\n\n**User:** c\nAI: d\n{rule}\n"
    assert [parse_pasted(piece, first_line=line) for line, piece in split_transcripts(text)] == [
        (("human", "a"), ("bot", "b")),
        (("human", "c"), ("bot", "d")),
    ]


def test_transcripts_have_line_numbers() -> None:
    assert [line for line, _ in split_transcripts("User: a\r\nAI: b\r\n---\r\n---\r\nUser: c\r\nAI: d")] == [1, 5]


def test_a_rule_within_a_turn_does_not_separate() -> None:
    text = "User: a\nAI: first\n\n---\n\nsecond\n--\n-- -\nUser: b\nAI: c"
    ((line, piece),) = split_transcripts(text)
    assert (line, piece) == (1, text)
    assert parse_pasted(piece)[1] == ("bot", "first\n\n---\n\nsecond\n--\n-- -")


@pytest.mark.parametrize("text", ["", "\n", "---", "\n---\n---\n"])
def test_texts_without_transcripts(text: str) -> None:
    assert list(split_transcripts(text)) == []
