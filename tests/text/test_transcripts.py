"""Transcripts of released datasets: parsing, and lossless writing."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.text.pasted import parse_context, parse_pasted, write_pasted
from dissensus.text.transcripts import (
    DICES_350,
    DICES_990,
    DicesForm,
    is_hh,
    is_plain_hh,
    join_hh,
    parse_dices,
    parse_hh,
    write_dices,
    write_hh,
)
from dissensus.text.turns import Speaker, Turns

FORMS = [DICES_350, DICES_990]

speakers: st.SearchStrategy[Speaker] = st.sampled_from(("human", "bot"))
#: lines that end nowhere else, with the names of speakers inside them
inside = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\\")).map(lambda text: f"x{text}")
texts_with_speakers = st.tuples(inside, st.sampled_from(["Human: ", "USER: ", "B: ", ""]), inside).map("".join)
turns = st.lists(st.tuples(speakers, texts_with_speakers), min_size=1, max_size=5)
#: pieces that look like what parts turns
pieces = ["\n", "\n\n", "Human: ", "\n\nAssistant:", "USER: ", "\nLAMDA: ", "\\n", "B: ", "\nA: ", " ", "a"]
awkward = st.lists(st.tuples(speakers, st.lists(st.sampled_from(pieces), max_size=4).map("".join)), max_size=4)


def rows(path: Path) -> list[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["context"], row["response"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(("name", "form", "n_items"), [("350", DICES_350, 350), ("990", DICES_990, 990)])
def test_dices_comes_back_byte_for_byte(
    real_data: Callable[[str], Path], name: str, form: DicesForm, n_items: int
) -> None:
    items = rows(real_data(f"dices-{name}/items.csv"))
    assert len(items) == n_items
    for context, response in items:
        parsed = parse_dices(context, response)
        assert write_dices(parsed, form) == (context, response)
        assert parse_context(context, response) == parsed
        # in both files the speakers alternate, the person first and the chatbot last
        assert [speaker for speaker, _ in parsed] == ["human", "bot"] * (len(parsed) // 2)


def test_hh_rlhf_comes_back_byte_for_byte(real_data: Callable[[str], Path]) -> None:
    with gzip.open(real_data("hh-rlhf/harmless-base-test.jsonl.gz"), "rt", encoding="utf-8") as file:
        texts = [text for line in file for text in json.loads(line).values()]
    assert len(texts) == 2 * 2312
    parsed = [parse_hh(text) for text in texts]
    assert [write_hh(turns) for turns in parsed] == texts
    assert all(turns[0][0] == "human" and turns[-1][0] == "bot" for turns in parsed)
    assert sum(turns[-1][1] == "" for turns in parsed) == 4


def test_red_team_attempts_come_back_byte_for_byte(real_data: Callable[[str], Path]) -> None:
    lines = real_data("red-team/red_team_attempts.sample.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["transcript"] for line in lines]
    assert [write_hh(parse_hh(text)) for text in texts] == texts


@quick
@given(turns)
def test_turns_survive_a_round_trip_through_hh(turns: list[tuple[Speaker, str]]) -> None:
    assert parse_hh(write_hh(turns)) == tuple(turns)


@quick
@given(st.lists(st.sampled_from([*pieces, "\n\nHuman: ", "\n\nAssistant: "]), max_size=12).map("".join))
def test_any_transcript_of_hh_survives_a_round_trip(text: str) -> None:
    transcript = "\n\nHuman: " + text
    parsed = parse_hh(transcript)
    rejoined = join_hh(parsed)
    # an empty turn may lack the space
    assert rejoined.replace(": ", ":") == transcript.replace(": ", ":")
    assert rejoined == transcript or len(rejoined) > len(transcript)
    assert parse_hh(rejoined) == parsed
    assert is_plain_hh(rejoined, len(parsed))


@quick
@given(awkward)
def test_is_plain_hh_agrees_with_parsing(turns: list[tuple[Speaker, str]]) -> None:
    transcript = join_hh(turns)
    if turns and is_plain_hh(transcript, len(turns)):
        assert [who for who, _ in parse_hh(transcript)] == [who for who, _ in turns]


@quick
@given(turns, texts_with_speakers, st.sampled_from(FORMS))
def test_turns_survive_a_round_trip_through_dices(
    turns: list[tuple[Speaker, str]], response: str, form: DicesForm
) -> None:
    preserved = (*turns, ("bot", response))
    assert parse_dices(*write_dices(preserved, form)) == preserved


@quick
@given(awkward)
def test_turns_that_hh_cannot_preserve_are_refused(turns: list[tuple[Speaker, str]]) -> None:
    try:
        transcript = write_hh(turns)
    except InvalidInput:
        assert not turns or any("\n\n" in text or ":" in text for _, text in turns)
    else:
        assert transcript == "".join(
            {"human": "\n\nHuman: ", "bot": "\n\nAssistant: "}[who] + text for who, text in turns
        )
        assert parse_hh(transcript) == tuple(turns)


@quick
@given(awkward, st.sampled_from(FORMS))
def test_turns_that_dices_cannot_preserve_are_refused(turns: list[tuple[Speaker, str]], form: DicesForm) -> None:
    preserved: Turns = (("human", "first"), *turns, ("bot", "last"))
    try:
        context, response = write_dices(preserved, form)
    except InvalidInput:
        assert any("\n" in text or "\\n" in text for _, text in turns)
    else:
        assert parse_dices(context, response) == preserved


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("\n\nHuman: a\n\nHuman: b\n\nAssistant: c", (("human", "a"), ("human", "b"), ("bot", "c"))),
        ("\n\nAssistant: Hello!", (("bot", "Hello!"),)),
        ("\n\nHuman: a\n\nAssistant:", (("human", "a"), ("bot", ""))),
        ("\n\nHuman:\n\nAssistant: a", (("human", ""), ("bot", "a"))),
        ("\n\nHuman: a\nHuman: b\n\n\nAssistant: c ", (("human", "a\nHuman: b\n"), ("bot", "c "))),
        ("\n\nHuman: \n\nHumanity: a\n\nHuman:b", (("human", "\n\nHumanity: a\n\nHuman:b"),)),
    ],
)
def test_turns_of_hh(text: str, parsed: Turns) -> None:
    assert parse_hh(text) == parsed
    assert is_hh(text)


@pytest.mark.parametrize("text", ["", "Hello", "Human: a", "\n\nSystem: a\n\nHuman: b", "\n\nHuman", "\nHuman: a"])
def test_other_texts_are_refused_as_hh(text: str) -> None:
    assert not is_hh(text)
    with pytest.raises(InvalidInput, match="begins with a blank line, then 'Human: ' or 'Assistant: '"):
        parse_hh(text)


def test_speakers_of_dices_count_only_at_the_beginning_of_a_line() -> None:
    parsed = parse_dices("USER: the USER: and LAMDA: said\nuser: no\nLAMDA:x\n\nLAMDA: \nLAMDA: b", "USER: c\nLAMDA: d")
    assert parsed == (
        ("human", "the USER: and LAMDA: said\nuser: no\nLAMDA:x\n"),
        ("bot", ""),
        ("bot", "b"),
        ("bot", "USER: c\nLAMDA: d"),
    )


def test_a_context_of_another_form() -> None:
    with pytest.raises(InvalidInput, match=r"begins with 'USER: ' or 'LAMDA: ', or with 'A: ' or 'B: '.*'Human: a'"):
        parse_dices("Human: a", "b")


def test_the_message_names_the_turn_that_cannot_be_preserved() -> None:
    with pytest.raises(InvalidInput, match=r"Turn 1, 'a\\nLAMDA: b', cannot be preserved in a context of DICES"):
        write_dices([("human", "a\nLAMDA: b"), ("bot", "c")])
    with pytest.raises(InvalidInput, match=r"Turn 2, .* cannot be preserved in a transcript of hh-rlhf"):
        write_hh([("human", "a"), ("bot", "b\n\nHuman: c")])
    with pytest.raises(InvalidInput, match="a context, then a response"):
        write_dices([("human", "a"), ("human", "b")])
    with pytest.raises(InvalidInput, match=r"Turn 2, .*A and B"):
        write_dices([("human", "a"), ("bot", "a \\n that is written")], DICES_990)


@pytest.mark.parametrize(
    ("context", "parsed"),
    [
        ("USER: a\nASSISTANT: b\nUSER: c", [("human", "a"), ("bot", "b"), ("human", "c")]),
        ("H: a\nA: b\nH: c", [("human", "a"), ("bot", "b"), ("human", "c")]),
        ("A: a\nH: b", [("bot", "a"), ("human", "b")]),
        ("A: a\\nB: b\\nA: c\\n", [("human", "a"), ("bot", "b"), ("human", "c")]),
        ("\n\nHuman: a\n\nAssistant: b\n\nHuman: c", [("human", "a"), ("bot", "b"), ("human", "c")]),
        ("**Human:** a", [("human", "a")]),
    ],
)
def test_a_context_is_parsed_in_its_own_form(context: str, parsed: list[tuple[Speaker, str]]) -> None:
    assert parse_context(context, "last") == (*parsed, ("bot", "last"))


@pytest.mark.parametrize("context", ["", "Which is it?\nA: one\nB: two", "Summarise:\n\nHuman: a\n\nAssistant: b"])
def test_a_context_without_a_first_speaker(context: str) -> None:
    assert parse_context(context, "last") is None


def test_forms_agree_on_real_texts(real_data: Callable[[str], Path]) -> None:
    for context, response in rows(real_data("dices-350/items.csv")):
        pasted = parse_pasted(context)
        assert pasted == tuple((speaker, text.strip()) for speaker, text in parse_dices(context, response)[:-1])


@pytest.mark.parametrize("write", [write_hh, write_dices, write_pasted])
def test_turns_of_speakers_without_a_label_are_named(write: Callable[[Turns], object]) -> None:
    with pytest.raises(InvalidInput, match=r"Turn 2 by 'system' cannot be preserved in .*Write the turns as JSON"):
        write((("human", "a"), ("system", "b"), ("bot", "c")))


@pytest.mark.parametrize("write", [write_hh, write_pasted])
def test_no_turns_are_refused(write: Callable[[Turns], object]) -> None:
    with pytest.raises(InvalidInput, match="There are no turns"):
        write(())
