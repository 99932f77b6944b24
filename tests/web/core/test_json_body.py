"""Limits of JSON bodies, and arrays that are decoded entry by entry."""

import json
from collections.abc import Callable

import pytest

from dissensus.errors import InvalidInput
from dissensus.web.core.json_body import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    MAX_KEYS,
    MAX_NUMBER_LENGTH,
    decode_json,
    iterate_json_array,
)


@pytest.mark.parametrize(
    ("write", "limit", "message"),
    [
        (lambda n: "[" * n + "]" * n, MAX_DEPTH, "nests deeper than 50 levels"),
        (lambda n: f"[{','.join(['{}'] * (n - 1))}]", MAX_CONTAINERS, "has more than 25,000 objects and arrays"),
        (lambda n: json.dumps({str(i): i for i in range(n)}), MAX_KEYS, "an object with more than 2,000 keys"),
        (lambda n: "1" * n, MAX_NUMBER_LENGTH, "a number of more than 1,000 characters"),
    ],
    ids=["depth", "containers", "keys", "digits"],
)
def test_a_body_is_decoded_up_to_each_limit(write: Callable[[int], str], limit: int, message: str) -> None:
    assert decode_json(write(limit).encode()) == json.loads(write(limit))
    with pytest.raises(InvalidInput, match=message):
        decode_json(write(limit + 1).encode())


@pytest.mark.parametrize("text", ["[]", " [ ]\n", "[1]", '[1, {"a": [2]} ,"]",\tnull ]'])
def test_the_entries_of_an_array_are_decoded_in_order(text: str) -> None:
    assert list(iterate_json_array(text)) == json.loads(text)


@pytest.mark.parametrize("text", ["", "1", "{}", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "[1] 2"])
def test_a_text_that_is_not_one_array_is_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        list(iterate_json_array(text))
