"""Protocol of the client: batches of items, and lists that a server pages."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from tests.support.loopback_server import serve_requests

from dissensus import Client, Conversation, Item, Unavailable
from dissensus.client import protocol
from dissensus.client.protocol import item_batches


def make_item(number: int, n_turns: int = 1) -> Item:
    return Item(f"item-{number:05}", Conversation.from_turns([("bot", "x")] * n_turns))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([1] * 6, [4, 2]),
        ([3, 3, 1], [2, 1]),
        ([3, 4], [1, 1]),
        ([7, 1], [1, 1]),
        ([3] * 5, [2, 2, 1]),
    ],
    ids=["none", "most items", "most turns", "one turn more", "a longer item", "several batches"],
)
def test_batches_have_at_most_as_many_items_and_turns_as_a_request(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], expected: list[int]
) -> None:
    monkeypatch.setattr(protocol, "MAX_ITEMS", 4)
    monkeypatch.setattr(protocol, "MAX_BATCH_TURNS", 6)
    items = [make_item(number, n_turns) for number, n_turns in enumerate(sizes)]
    batches = list(item_batches(items))
    assert [len(batch) for batch in batches] == expected
    assert [row["id"] for batch in batches for row in batch] == [item.item_id for item in items]


@pytest.mark.parametrize(("room", "expected"), [(0, [2, 2, 1]), (-1, [1, 1, 1, 1, 1])])
def test_batches_have_at_most_as_many_bytes_as_a_request(
    monkeypatch: pytest.MonkeyPatch, room: int, expected: list[int]
) -> None:
    items = [make_item(number) for number in range(5)]
    ((row,),) = item_batches(items[:1])
    monkeypatch.setattr(protocol, "MAX_BATCH_BYTES", 2 * len(json.dumps(row)) + room)
    assert [len(batch) for batch in item_batches(items)] == expected


@pytest.fixture
def answers() -> list[Any]:
    """Bodies that the server answers with, the last one again and again."""
    return []


@pytest.fixture
def scripted(answers: list[Any]) -> Iterator[Client]:
    """A client of a server with these answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answers.pop(0) if len(answers) > 1 else answers[0]).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with serve_requests(Handler) as url, Client(url, "t", max_attempts=1) as client:
        yield client


def page_of(*numbers: int, following: str | None) -> dict[str, Any]:
    rows = [{"id": f"item-{number}", "conversation": [{"speaker": "bot", "text": "x"}]} for number in numbers]
    return {"data": [{**row, "attributes": {}} for row in rows], "next": following}


def test_a_list_ends_with_its_last_page_or_a_repeated_cursor(scripted: Client, answers: list[Any]) -> None:
    answers += [page_of(1, 2, following="a"), page_of(3, following=None)]
    assert [item.item_id for item in scripted.items("pilot")] == ["item-1", "item-2", "item-3"]
    answers[:] = [page_of(1, following="a"), page_of(2, following="a"), page_of(3, following=None)]
    assert [item.item_id for item in scripted.items("pilot")] == ["item-1", "item-2"]


@pytest.mark.parametrize("answer", [[], {}, {"data": None}, {"data": 1}, {"data": [{"kind": "created"}], "next": None}])
def test_a_list_of_another_form_is_reported(scripted: Client, answers: list[Any], answer: object) -> None:
    answers.append(answer)
    with pytest.raises(Unavailable, match="answers in another form"):
        list(scripted.events("pilot"))


@pytest.mark.parametrize(
    "page",
    [
        {"data": [{"a": 1}]},
        {"data": [{"a": 1}], "columns": [{"name": "a", "type": "number"}]},
        {"data": [{"b": 1}], "columns": [{"name": "a", "type": "integer"}]},
        {"data": [{"a": "x"}], "columns": [{"name": "a", "type": "integer"}]},
        {"data": [{"a": "Maybe"}], "columns": [{"name": "a", "type": "category", "scale": ["No", "Yes"]}]},
    ],
)
def test_ratings_of_another_form_are_reported(scripted: Client, answers: list[Any], page: dict[str, Any]) -> None:
    answers.append({**page, "next": None})
    with pytest.raises(Unavailable, match="The ratings have another form"):
        scripted.ratings_frame("pilot")
