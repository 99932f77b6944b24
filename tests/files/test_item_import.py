"""Import of items: roles of columns, refused rows, and the same items as without a search."""

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.files.item_import import (
    MAX_REFUSED,
    assign_roles,
    describe_columns,
    guess_roles,
    import_items,
    read_renamed_items,
    to_text_table,
)
from dissensus.files.items import read_items
from dissensus.files.pairs.items import read_pair_items

UNKNOWN = '[{"role": "aside", "content": "x"}]'
"""Context that is refused."""


def table(n: int, **columns: Any) -> pl.DataFrame:
    ids, responses = [f"i{k}" for k in range(n)], [f"{k}." for k in range(n)]
    rows = {"item_id": ids, "context": ["USER: Hi\n"] * n, "response": responses}
    return pl.DataFrame({**rows, **columns})


@pytest.mark.parametrize(
    ("columns", "roles"),
    [
        (["item_id", "context", "response"], ["id", "context", "response"]),
        (["id", "messages", "topic"], ["id", "messages", "attribute"]),
        (["item_id", "id", "turns"], ["id", "attribute", "messages"]),
        (["turns", "messages"], ["messages", "ignore"]),
        (["UUID", "Prompt", "Completion", "harm_type"], ["id", "context", "response", "harm_type"]),
        (["prompt", "chosen", "rejected"], ["prompt", "chosen", "rejected"]),
        (["Context", "Output A", "Output B"], ["context", "response_a", "response_b"]),
        (["messages", "question"], ["messages", "attribute"]),
        (["a", "b", " "], ["attribute", "attribute", "ignore"]),
        (["rater_id", "item_id", "context", "response", "Q1", "item_x"], None),
    ],
)
def test_roles_are_guessed_by_name(columns: list[str], roles: list[str] | None) -> None:
    expected = roles or ["ignore", "id", "context", "response", "ignore", "attribute"]
    assert list(guess_roles(columns)) == expected


def test_a_table_with_other_names_gives_the_items_of_one_with_known_names() -> None:
    known = table(3, harm_type=["a", "b", "c"], source=["x", "y", "z"])
    foreign = known.rename({"item_id": "no", "context": "asked", "response": "said", "harm_type": "kind"})
    read = import_items(assign_roles(foreign, ["id", "context", "response", "harm_type", "attribute"]), read_items)
    assert read.items == read_items(known)
    assert read.refused == ()
    without = import_items(assign_roles(foreign, ["ignore", "context", "response", "ignore", "ignore"]), read_items)
    assert [dict(item.attributes) for item in without.items.items] == [{}] * 3


def test_lists_of_messages_are_text_between_pages() -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]
    frame = pl.DataFrame({"id": [7], "messages": [chat], "score": [0.5], "note": [None]})
    text = to_text_table(frame)
    assert set(text.dtypes) == {pl.String}
    assert import_items(assign_roles(text, guess_roles(text.columns)), read_items).items == read_items(frame)
    (_, messages, score, note) = describe_columns(text, guess_roles(text.columns))
    assert messages.samples[0].startswith('[{"role": "user"')
    assert (score.samples, note.samples) == (("0.5",), ())


def test_two_columns_of_one_meaning_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'a' and 'b' would both be the column response"):
        assign_roles(pl.DataFrame({"a": ["x"], "b": ["y"]}), ["response", "response"])
    with pytest.raises(InvalidInput, match=r"'context' cannot be an attribute"):
        assign_roles(pl.DataFrame({"context": ["x"], "b": ["y"]}), ["attribute", "response"])
    with pytest.raises(InvalidInput, match=r"'context' and 'b' would both be the column context"):
        assign_roles(pl.DataFrame({"context": ["x"], "b": ["y"]}), ["attribute", "context"])


def test_refused_rows_are_named_with_their_reason() -> None:
    rows = table(300)
    contexts = rows["context"].to_list()
    contexts[4] = contexts[299] = UNKNOWN
    responses: list[str | None] = rows["response"].to_list()
    responses[70] = None
    names = [*rows["item_id"][:200], "i0", "i1", *rows["item_id"][202:]]
    responses[201] = "1."
    read = import_items(table(300, context=contexts, response=responses, item_id=names), read_items)
    assert [(row.number, row.item_id) for row in read.refused] == [(5, "i4"), (71, "i70"), (201, "i0"), (300, "i299")]
    reasons = [row.reason for row in read.refused]
    assert reasons[0].startswith("Message 1 has the role 'aside'; allowed are user")
    assert reasons[1].startswith("response is empty.")
    assert reasons[2] == "An earlier row has another conversation or attributes and this id."
    assert len(read.items.items) == 295  # row 202 repeats row 2
    assert read.is_complete


@pytest.mark.slow
@quick
@given(st.lists(st.sampled_from(["good", "aside", "missing"]), min_size=1, max_size=90))
def test_the_refused_rows_are_those_that_cannot_be_read_alone(kinds: list[str]) -> None:
    contexts = [UNKNOWN if kind == "aside" else "USER: Hi\n" for kind in kinds]
    responses = [None if kind == "missing" else f"{k}." for k, kind in enumerate(kinds)]
    rows = table(len(kinds), context=contexts, response=pl.Series(responses, dtype=pl.String))
    alone = []
    for row in range(rows.height):
        try:
            read_items(rows.slice(row, 1))
        except DissensusError:
            alone.append(row + 1)
    read = import_items(rows, read_items)
    assert [row.number for row in read.refused] == alone
    assert [item.item_id for item in read.items.items] == [f"i{k}" for k, kind in enumerate(kinds) if kind == "good"]


def test_reading_stops_after_many_refused_rows() -> None:
    read = import_items(table(2_000, context=[UNKNOWN] * 2_000), read_items)
    assert (len(read.refused), read.is_complete, read.items.items) == (MAX_REFUSED, False, ())


def test_pairs_are_imported_likewise() -> None:
    rows = pl.DataFrame(
        {"q": ["Hi", "Hi", "Hi"], "one": ["a", "b", "c"], "two": ["b", "b", None]}, schema_overrides={"two": pl.String}
    )
    read = import_items(assign_roles(rows, ["context", "response_a", "response_b"]), partial(read_pair_items, seed=1))
    assert [item.responses() for item in read.items.items] == [("a", "b")]
    assert [row.number for row in read.refused] == [2, 3] or [row.number for row in read.refused] == [3]


def test_a_table_without_conversations_is_refused_as_a_whole() -> None:
    with pytest.raises(DissensusError, match="No column holds conversations"):
        import_items(pl.DataFrame({"a": ["x"]}), read_items)


def test_files_with_other_names_are_read_with_renames(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item_id,asked,said\n1,Hi,Yo\n")
    renames = {"asked": "context", "said": "response"}
    (item,) = read_renamed_items(path, read_items, renames).items
    assert (item.item_id, item.conversation.rated_turn.text) == ("1", "Yo")
    with pytest.raises(NotFound, match=r"items\.csv: There is no column 'ask' to rename. Did you mean 'asked'"):
        read_renamed_items(path, read_items, {"ask": "context"})


@pytest.mark.parametrize(
    "columns", [["messages", "prompt", "prompt_id"], ["context", "response", "prompt"], ["turns", "messages"]]
)
def test_guessed_roles_can_be_assigned(columns: list[str]) -> None:
    """A part of a conversation beside a whole one is left out, since it cannot be an attribute."""
    frame = pl.DataFrame({name: ["x"] for name in columns})
    assert assign_roles(frame, guess_roles(columns)).width == len(columns) - 1
