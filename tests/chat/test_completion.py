"""Chat completions from bytes: streamed and complete responses agree, however the bytes are split."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.chat.completion import CompletionReader, JsonCompletionReader, StreamedCompletionReader, to_storable_text

ANY_TEXT = st.text(st.characters(codec=None) | st.sampled_from("\ud83d\ude00\0"), max_size=12)


def split_bytes(data: bytes, positions: list[int]) -> list[bytes]:
    ends = [0, *sorted(position % (len(data) + 1) for position in positions), len(data)]
    return [data[start:end] for start, end in pairwise(ends)]


def read_all(completion: CompletionReader, portions: list[bytes]) -> str:
    pieces = [text for portion in portions for text in completion.feed(portion)]
    if not completion.done:
        pieces.extend(completion.end())
    assert all(pieces)
    return "".join(pieces)


def encode_stream(words: list[str], *, ascii_only: bool = True) -> bytes:
    chunks: list[object] = [{"choices": [{"delta": {"content": word}}]} for word in words]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    lines = [json.dumps(chunk, ensure_ascii=ascii_only) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


@quick
@given(st.lists(ANY_TEXT, max_size=6), st.lists(st.integers(0, 2000), max_size=8))
def test_streamed_and_complete_responses_have_the_same_text(words: list[str], positions: list[int]) -> None:
    message = {"choices": [{"message": {"content": "".join(words)}, "finish_reason": "stop"}]}
    complete = read_all(JsonCompletionReader(), split_bytes(json.dumps(message).encode(), positions))
    pieces = read_all(StreamedCompletionReader(), split_bytes(encode_stream(words), positions))
    assert pieces == complete == to_storable_text("".join(words))


@quick
@given(st.lists(st.text(max_size=9), max_size=5), st.lists(st.integers(0, 2000), max_size=8))
def test_bytes_split_within_a_character_make_no_difference(words: list[str], positions: list[int]) -> None:
    text = read_all(StreamedCompletionReader(), split_bytes(encode_stream(words, ascii_only=False), positions))
    assert text == "".join(words).replace("\0", "\ufffd")


@quick
@given(ANY_TEXT)
def test_storable_text_has_no_nul_and_is_idempotent(text: str) -> None:
    stored = to_storable_text(text)
    assert "\0" not in stored
    assert stored.encode().decode() == stored
    assert to_storable_text(stored) == stored


@pytest.mark.parametrize("text", ["", "\ufeffmark", "a\u202eb", "👨‍👩‍👧", "e\u0301", "\r\n\t"])
def test_valid_text_is_unchanged(text: str) -> None:
    assert to_storable_text(text) == text


def test_half_a_character_before_the_end_mark_is_replaced() -> None:
    data = encode_stream(["x\ud83d"]) + b"data: [DONE]\n\n"
    assert read_all(StreamedCompletionReader(), [data]) == "x\ufffd"
