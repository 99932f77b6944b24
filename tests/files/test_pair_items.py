"""Pairs as items: published files, TRL, contexts with two responses, and excluded pairs."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.items import read_items
from dissensus.files.pairs.items import PUBLISHED, read_pair_items
from dissensus.files.pairs.reader import read_pairs
from dissensus.schema.records.item import Item

ASKED = "\n\nHuman: Is it safe?\n\nAssistant: "
USER, SAYS = {"role": "user", "content": "Is it safe?"}, "assistant"


def message(text: str) -> list[dict[str, str]]:
    return [{"role": SAYS, "content": text}]


TRL: dict[str, dict[str, Any]] = {
    "texts": {"prompt": ["Is it safe?"], "chosen": ["No."], "rejected": ["Sure!"]},
    "a transcript that ends with the bot": {
        "prompt": ["\n\nHuman: Is it safe?\n\nAssistant:"],
        "chosen": [" No."],
        "rejected": [" Sure!"],
    },
    "a transcript that ends with the human": {
        "prompt": ["\n\nHuman: Is it safe?"],
        "chosen": ["No."],
        "rejected": ["Sure!"],
    },
    "messages": {"prompt": [[USER]], "chosen": [message("No.")], "rejected": [message("Sure!")]},
    "messages without a prompt": {"chosen": [[USER, *message("No.")]], "rejected": [[USER, *message("Sure!")]]},
    "as hh-rlhf": {"chosen": [f"{ASKED}No."], "rejected": [f"{ASKED}Sure!"]},
}


def published(item: Item) -> str:
    """Return the better response according to the file."""
    return item.responses()["ab".index(item.attributes[PUBLISHED])]


@pytest.mark.parametrize("form", TRL)
@pytest.mark.parametrize("as_file", [False, True])
def test_every_form_of_a_published_pair_gives_the_same_item(form: str, tmp_path: Path, *, as_file: bool) -> None:
    table = pl.DataFrame({**TRL[form], "margin": [2]})
    source: Any = table
    if as_file:
        source = tmp_path / "pairs.jsonl"
        table.write_ndjson(source)
    (item,), notes = read_pair_items(source)
    assert [(turn.speaker, turn.text) for turn in item.conversation.turns[:-1]] == [("human", "Is it safe?")]
    assert sorted(item.responses()) == ["No.", "Sure!"]
    assert published(item) == "No."
    assert (item.attributes["margin"], len(notes)) == ("2", 1)
    # Other readers of pairs read them too.
    (pair,) = read_pairs(source).pairs
    assert (pair.context, pair.chosen, pair.rejected) == (item.conversation.turns[:-1], "No.", "Sure!")
    items, _ = read_items(source)
    assert {one.attributes["item_side"]: one.conversation.rated_turn.text for one in items} == {
        "chosen": "No.",
        "rejected": "Sure!",
    }
    assert not any("prompt" in one.attributes for one in (*items, item))


def test_dropped_real_pairs_are_noted(real_data: Callable[[str], Path]) -> None:
    path = real_data("hh-rlhf/harmless-base-test.jsonl.gz")
    items, notes = read_pair_items(path, seed=3)
    assert len(items) == 2312 - 5
    assert notes[:2] == (
        "4 pairs (rows 87, 517, 926, 1,104): an answer is empty; kept all the same.",
        "5 pairs (rows 1,255, 1,689, 1,951, 1,953, 2,037): the contexts of the two differ; left out.",
    )
    assert sum("" in item.responses() for item in items) == 4
    counts = Counter(item.attributes[PUBLISHED] for item in items)
    assert min(counts["a"], counts["b"]) > 1050
    assert {item.attributes["phase"] for item in items} == {"base"}
    # Another seed swaps sides but keeps the ids.
    other_seed, _ = read_pair_items(path, seed=4)
    assert [item.item_id for item in other_seed] == [item.item_id for item in items]
    assert [published(item) for item in other_seed] == [published(item) for item in items]
    assert (
        0.4 < sum(one.response_b == other.response_b for one, other in zip(items, other_seed, strict=True)) / 2307 < 0.6
    )


@pytest.mark.parametrize(
    ("context", "turns"),
    [
        ("Is it safe?", ["Is it safe?"]),
        ("", []),
        (None, []),
        ("USER: Hi\nLAMDA: Hello!\nUSER: Is it safe?", ["Hi", "Hello!", "Is it safe?"]),
        ("\n\nHuman: Is it safe?", ["Is it safe?"]),
        (json.dumps([USER]), ["Is it safe?"]),
        ("[No one knows] is it safe?", ["[No one knows] is it safe?"]),
    ],
)
def test_contexts_with_two_responses(context: str | None, turns: list[str]) -> None:
    table = pl.DataFrame(
        {
            "item_id": ["7"],
            "context": [context],
            "response_a": ["No."],
            "response_b": ["Sure!"],
            "harm_type": ["Health"],
        },
        schema_overrides={"context": pl.String},
    )
    (item,), notes = read_pair_items(table)
    assert [turn.text for turn in item.conversation.turns[:-1]] == turns
    assert (item.item_id, item.responses(), notes) == ("7", ("No.", "Sure!"), ())
    assert dict(item.attributes) == {"harm_type": "Health"}


def test_a_list_of_messages_may_be_the_context(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"context": [USER], "response_a": "No.", "response_b": ""}))
    (item,), notes = read_pair_items(path)
    assert (item.conversation.turns[0].text, item.responses()) == ("Is it safe?", ("No.", ""))
    assert notes[0] == "1 pair (row 1): an answer is empty; kept all the same."


def test_repeated_pairs_are_named() -> None:
    declined, accepted = f"{ASKED}No.", f"{ASKED}Sure!"
    table = pl.DataFrame(
        {"chosen": [declined, declined, accepted, declined], "rejected": [accepted, accepted, declined, declined]}
    )
    items, notes = read_pair_items(table)
    assert len(items) == 1
    assert notes[:3] == (
        "1 pair (row 2): it repeats an earlier pair; left out.",
        "1 pair (row 3): it repeats an earlier pair and contradicts it; left out.",
        "1 pair (row 4): both answers are the same; left out.",
    )


def test_empty_pairs_with_another_fault_are_left_out() -> None:
    other_context = "\n\nHuman: And now?\n\nAssistant: "
    rows = {
        "chosen": [ASKED, ASKED, f"{ASKED}No.", ASKED, f"{ASKED}No.\n\nHuman: Why?"],
        "rejected": [other_context, other_context, f"{ASKED}Sure!", ASKED, f"{ASKED}Sure!"],
    }
    items, notes = read_pair_items(pl.DataFrame(rows))
    assert [published(item) for item in items] == ["No."]
    assert set(notes[:-1]) == {
        "2 pairs (rows 1, 2): the contexts of the two differ; left out.",
        "1 pair (row 4): both answers are the same; left out.",
        "1 pair (row 5): a transcript ends with the human; left out.",
    }


def test_exported_preferences_are_read_as_pairs() -> None:
    talk = json.dumps([{"speaker": "human", "text": "Is it safe?"}])
    table = pl.DataFrame({**TWO, "context": [talk] * 2, "item_id": ["7", "7"], "item_published": ["b", "b"]})
    responses_swapped = table.with_columns(
        response_a=pl.lit("c"), response_b=pl.lit("e"), rater_id=pl.Series(["r", "s"])
    )
    (item,), notes = read_pair_items(responses_swapped.with_columns(strength=pl.lit(3)))
    assert (item.item_id, item.responses(), dict(item.attributes)) == ("7", ("c", "e"), {PUBLISHED: "b"})
    assert notes == ("1 pair (row 2): it repeats an earlier pair; left out.",)


TWO: dict[str, Any] = {"context": ["a", "b"], "response_a": ["c", "d"], "response_b": ["e", "f"]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({**TWO, "response_b": ["e", None]}, "Row 2: response_b is missing, and two responses are compared"),
        ({**TWO, "item_id": ["7", "7"]}, "Item '7' is two pairs: one in row 1 and another in row 2"),
        ({**TWO, "response_b": ["c", "d"]}, r"There is no pair to compare. 2 pairs \(rows 1, 2\): both answers"),
        ({**TWO, "context": ["a", '[{"role": "cook", "content": ""}]']}, "Row 2: Message 1 has the role 'cook'"),
        ({"chosen": ["a"], "rejected": ["b"], "item_published": ["a"]}, "Reading adds an attribute 'item_published'"),
        ({"chosen": [f"{ASKED}a", None], "rejected": [f"{ASKED}b"] * 2}, "Row 2: chosen is missing"),
        ({"chosen": [f"{ASKED}a", f"{ASKED}\x00"], "rejected": [f"{ASKED}b"] * 2}, "Row 2: "),
    ],
)
def test_errors_name_the_row(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_pair_items(pl.DataFrame(table))


def test_tables_without_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"No column holds pairs\. The columns are 'context', 'response'\."):
        read_pair_items(pl.DataFrame({"context": ["a"], "response": ["b"]}))
    with pytest.raises(NotFound, match="There is no column 'id'"):
        read_pair_items(pl.DataFrame(TWO), item="id")
    with pytest.raises(InvalidInput, match="The table has no rows"):
        read_pair_items(pl.DataFrame(TWO).clear())
    (tmp_path / "a.txt").write_text("User: a\nBot: b")
    with pytest.raises(InvalidInput, match="is pasted text, which holds one response per item"):
        read_pair_items(tmp_path / "a.txt")


def test_three_responses_are_refused() -> None:
    frame = pl.DataFrame({"context": ["Hi"], "response_a": ["a"], "response_b": ["b"], "response_c": ["c"]})
    with pytest.raises(InvalidInput, match=r"'response_c' hold more responses than two.*a row for each pair"):
        read_pair_items(frame)
