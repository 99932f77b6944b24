"""Chat completions from bytes: streamed and whole say the same, however they are cut."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.chat.completion import CompletionReader, JsonCompletionReader, StreamedCompletionReader, to_storable_text

ANY_TEXT = st.text(st.characters(codec=None) | st.sampled_from("\ud83d\ude00\0"), max_size=12)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(ends)]


def heard(completion: CompletionReader, portions: list[bytes]) -> str:
    pieces = [text for portion in portions for text in completion.feed(portion)]
    if not completion.done:
        pieces.extend(completion.end())
    assert all(pieces)
    return "".join(pieces)


def streamed(words: list[str], *, ascii_only: bool = True) -> bytes:
    chunks: list[object] = [{"choices": [{"delta": {"content": word}}]} for word in words]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    lines = [json.dumps(chunk, ensure_ascii=ascii_only) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


@quick
@given(st.lists(ANY_TEXT, max_size=6), st.lists(st.integers(0, 2000), max_size=8))
def test_pieces_joined_are_the_whole(words: list[str], places: list[int]) -> None:
    message = {"choices": [{"message": {"content": "".join(words)}, "finish_reason": "stop"}]}
    whole = heard(JsonCompletionReader(), cut(json.dumps(message).encode(), places))
    pieces = heard(StreamedCompletionReader(), cut(streamed(words), places))
    assert pieces == whole == to_storable_text("".join(words))


@quick
@given(st.lists(st.text(max_size=9), max_size=5), st.lists(st.integers(0, 2000), max_size=8))
def test_bytes_cut_within_a_sign_make_no_difference(words: list[str], places: list[int]) -> None:
    said = heard(StreamedCompletionReader(), cut(streamed(words, ascii_only=False), places))
    assert said == "".join(words).replace("\0", "\ufffd")


@quick
@given(ANY_TEXT)
def test_what_is_said_can_be_stored_and_text_is_kept(text: str) -> None:
    kept = to_storable_text(text)
    assert "\0" not in kept
    assert kept.encode().decode() == kept
    assert to_storable_text(kept) == kept


@pytest.mark.parametrize("text", ["", "\ufeffmark", "a\u202eb", "👨‍👩‍👧", "e\u0301", "\r\n\t"])
def test_text_is_never_changed(text: str) -> None:
    assert to_storable_text(text) == text
