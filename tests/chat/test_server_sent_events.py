"""Server-sent events, compared with the HTML standard and a reference parser."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.chat.server_sent_events import MAX_EVENT_BYTES, ServerSentEvent, ServerSentEventReader
from dissensus.errors import InvalidInput


def read_events(*portions: bytes) -> list[tuple[str, str]]:
    reader = ServerSentEventReader()
    return [(event.type, event.data) for portion in portions for event in reader.feed(portion)]


def parse_reference(stream: bytes) -> list[tuple[str, str]]:
    """Parse a complete stream by the steps of the standard."""
    events, data, kind = [], "", ""
    *lines, _ = re.split("\r\n|\n|\r", stream.decode("utf-8-sig"))
    for line in lines:
        if line == "":
            if data:
                events.append((kind or "message", data[:-1]))
            data = kind = ""
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            data += value + "\n" if name == "data" else ""
            kind = value if name == "event" else kind
    return events


# The examples of the HTML standard, 9.2.6.
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10")]),
        (
            b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            [("message", "first event"), ("message", "second event"), ("message", " third event")],
        ),
        (b"data\n\ndata\ndata\n\ndata:", [("message", ""), ("message", "\n")]),
        (b"data:test\n\ndata: test\n\n", [("message", "test"), ("message", "test")]),
        (b"event: add\ndata: 73857293\n\n", [("add", "73857293")]),
        (b"event: add\n\ndata: x\n\n", [("message", "x")]),
        (b"\xef\xbb\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\n", [("message", "x")]),
        (b"retry: 10\ndata: x\r\n\r\n", [("message", "x")]),
        (b"data: x", []),
        (b"", []),
    ],
)
def test_examples_of_the_standard(stream: bytes, events: list[tuple[str, str]]) -> None:
    assert read_events(stream) == parse_reference(stream) == events


PARTS = st.sampled_from(
    [*(b"data", b"event", b"id", b":", b" ", b"\n", b"\r", b"\r\n", b"x"), b"\xef\xbb\xbf", "ä😀".encode(), b"\n\n"]
)


@quick
@given(st.lists(PARTS, max_size=30).map(b"".join), st.lists(st.integers(0, 80)))
def test_the_split_into_portions_makes_no_difference(stream: bytes, positions: list[int]) -> None:
    ends = [0, *sorted(positions), len(stream)]
    portions = [stream[start:end] for start, end in pairwise(ends)]
    assert read_events(*portions) == parse_reference(stream)


def test_complete_events_come_before_an_error() -> None:
    events = ServerSentEventReader().feed(b"data: x\n\ndata: \xff\n\n")
    assert next(events) == ServerSentEvent("message", "x")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        next(events)


@pytest.mark.parametrize("portion", [b"x" * 1000, b"data: x\n" * 100, b"event: y\n" * 100])
def test_an_event_without_an_end_is_refused(portion: bytes) -> None:
    reader = ServerSentEventReader()
    endless = (reader.feed(portion) for _ in range(MAX_EVENT_BYTES))
    with pytest.raises(InvalidInput, match="more than 1,048,576 bytes"):
        any(map(list, endless))


def test_comments_do_not_accumulate() -> None:
    reader = ServerSentEventReader()
    for _ in range(200):
        assert list(reader.feed(b": " + b"x" * 10_000 + b"\n")) == []
    assert list(reader.feed(b"data: x\n\n")) == [ServerSentEvent("message", "x")]
