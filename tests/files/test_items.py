"""Items from files, tables and pasted text: real, hostile and invalid ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.files.conftest import write

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.files.items import parse_pasted_items, read_items
from dissensus.schema.records.item import Item
from dissensus.text.transcripts import DICES_990, write_dices, write_hh

CHAT = [{"role": "user", "content": "Is it safe?"}, {"role": "assistant", "content": "No."}]
SAID = [("human", "Is it safe?"), ("bot", "No.")]
MADE = "There are no ids, so each item has the first 16 digits of SHA-256 of its turns."


def turns(item: Item) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in item.conversation.turns]


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def contexts(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"item_id": ["1", "2"], "context": ["USER: a", "USER: b"], "response": ["c", "d"]} | columns)


# real files


def test_items_of_dices_350(real_data: Callable[[str], Path]) -> None:
    path = real_data("dices-350/items.csv")
    items, notes = read_items(path)
    table = pl.read_csv(path, infer_schema=False)
    assert [item.item_id for item in items] == table["item_id"].to_list()
    assert [dict(item.attributes) for item in items] == table.drop("item_id", "context", "response").to_dicts()
    assert [write_dices(turns(item)) for item in items] == table.select("context", "response").rows()  # type: ignore[arg-type]
    assert notes == ("A turn is empty in 2 items: '320', '276'.",)


def test_items_of_dices_990(real_data: Callable[[str], Path]) -> None:
    path = real_data("dices-990/items.csv")
    items, _ = read_items(path)
    conversations = [write_dices(turns(item), DICES_990) for item in items]  # type: ignore[arg-type]
    assert conversations == pl.read_csv(path, infer_schema=False).select("context", "response").rows()
    assert set(items[0].attributes) == {"n_ratings", "n_No", "n_Yes", "n_Unsure"}


def test_items_of_hh_rlhf(real_data: Callable[[str], Path]) -> None:
    path = real_data("hh-rlhf/harmless-base-test.jsonl.gz")
    items, notes = read_items(path)
    pairs = pl.read_ndjson(path)
    half = pairs.height
    assert len(items) == 2 * half == 4624
    assert [write_hh(turns(item)) for item in items[:half]] == pairs["chosen"].to_list()  # type: ignore[arg-type]
    assert [write_hh(turns(item)) for item in items[half:]] == pairs["rejected"].to_list()  # type: ignore[arg-type]
    assert dict(items[half].attributes) == {
        "item_source": "hh-rlhf",
        "item_side": "rejected",
        "item_pair": "1",
    }
    assert len({item.item_id for item in items}) == len(items)
    assert notes[0] == MADE
    assert notes[1].startswith("A turn is empty in 4 items: ")
    assert read_items(path, pairs="rejected").items == tuple(
        Item(item.item_id, item.conversation, {"item_source": "hh-rlhf", "item_side": "rejected"})
        for item in items[half:]
    )


def test_items_of_red_team_attempts(real_data: Callable[[str], Path]) -> None:
    path = real_data("red-team/red_team_attempts.sample.jsonl")
    items, notes = read_items(path)
    attempts = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [write_hh(turns(item)) for item in items] == [attempt["transcript"] for attempt in attempts]  # type: ignore[arg-type]
    assert items[0].attributes["task_descripton_harmlessness_score"] == "2.299738407135009"
    assert items[0].attributes["is_upworker"] == "false"
    assert "tags" not in items[0].attributes
    # Reviewers see the plan, and reviews lead back to the record.
    assert [item.item_id for item in items] == [str(number) for number in range(1, 11)]
    assert [item.attributes["item_intent"] for item in items] == [one["task_description"] for one in attempts]
    assert notes == ()


# one conversation in every form


@pytest.mark.parametrize(
    "columns",
    [
        {"turns": CHAT},
        {"messages": CHAT},
        {"turns": [{"speaker": "human", "text": "Is it safe?"}, {"speaker": "bot", "text": "No."}]},
        {"turns": json.dumps(CHAT)},
        {"transcript": "\n\nHuman: Is it safe?\n\nAssistant: No."},
        {"transcript": "**User**: Is it safe?\r\n**AI**: No.\r\n"},
        {"context": "USER: Is it safe?", "response": "No."},
        {"context": "A: Is it safe?\\n", "response": "No."},
        {"context": "Is it safe?", "response": "No."},
    ],
)
@pytest.mark.parametrize("name", ["items.jsonl", "items.json", "items.jsonl.gz", "items.csv", "items.parquet"])
def test_every_form_in_every_format(columns: dict[str, Any], name: str, tmp_path: Path) -> None:
    row = {"item_id": "007", "degree_of_harm": "Benign"} | columns
    if name.endswith("csv"):
        row = {key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()}
    (item,), notes = read_items(write(pl.DataFrame([row]), tmp_path / name))
    assert (item.item_id, turns(item), dict(item.attributes)) == ("007", SAID, {"degree_of_harm": "Benign"})
    plain = columns.get("context") == "Is it safe?"
    assert notes == ("1 context without speakers: each is read as one human turn.",) * plain


@pytest.mark.parametrize("name", ["talk.txt", "talk.md", "TALK.TXT"])
def test_a_file_of_pasted_text(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes("\ufeffUser: Is it safe?\r\nBot: No.\r\n---\r\nUser: a\r\nBot: b".encode())
    items, notes = read_items(path)
    assert [turns(item) for item in items] == [SAID, [("human", "a"), ("bot", "b")]]
    assert notes == (MADE,)


def test_made_ids_are_the_same_for_every_form() -> None:
    forms = [
        parse_pasted_items("User: Is it safe?\nBot: No."),
        read_items(pl.DataFrame({"turns": [CHAT]})),
        read_items(pl.DataFrame({"transcript": ["\n\nHuman: Is it safe?\n\nAssistant: No."], "a": ["1"]})),
    ]
    assert {items[0].item_id for items, _ in forms} == {"29b3c7877b40c6c8"}


def test_an_official_file_of_ratings_has_its_items(dices_350: Path) -> None:
    items, notes = read_items(dices_350)
    assert [item.item_id for item in items] == ["173", "20"]
    assert turns(items[1])[0] == ("human", 'say "20", please')
    names = {"phase", "harm_type", "degree_of_harm", "safety_gold", "safety_gold_reason"}
    assert set(items[0].attributes) == names
    (note,) = notes
    assert note.startswith("Left out, because they do not describe items: 'id', 'rater_id', 'rater_gender'")


def test_instructions_are_an_attribute(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be kind."}
    path = lines(tmp_path / "items.jsonl", {"item_id": "1", "turns": [system, *CHAT]}, {"item_id": "2", "turns": CHAT})
    items, notes = read_items(path)
    assert [dict(item.attributes) for item in items] == [{"item_instructions": "Be kind."}, {}]
    assert [turns(item) for item in items] == [SAID, SAID]
    assert any("kept as item_instructions" in note for note in notes)
    assert "1 item with the same conversation as an earlier one, under another id." in notes


# ids


def test_identical_rows_are_one_item() -> None:
    table = contexts(harm_type=["x", "y"])
    items, notes = read_items(pl.concat([table, table]))
    assert items == read_items(table).items
    assert notes == ("2 conversations left out: each repeats an earlier one.",)


def test_an_id_with_two_conversations() -> None:
    with pytest.raises(InvalidInput, match=r"Item '1' has two conversations: one in row 1 and another in row 2\. Each"):
        read_items(contexts(item_id=["1", "1"]))


def test_an_id_with_two_values_of_an_attribute() -> None:
    table = pl.concat([contexts(harm_type=["x", "y"]), contexts(harm_type=["x", "z"])])
    with pytest.raises(InvalidInput, match="Item '2' has two values of harm_type: 'y' in row 2 and 'z' in row 4"):
        read_items(table)


def test_repeats_without_ids_keep_the_first_attributes_with_a_note() -> None:
    table = contexts(context=["USER: a"] * 2, response=["b"] * 2, harm_type=["x", "y"]).drop("item_id")
    items, notes = read_items(table)
    assert [dict(item.attributes) for item in items] == [{"harm_type": "x"}]
    assert notes[:2] == (
        "1 conversation left out: each repeats an earlier one.",
        "harm_type differs among rows of one conversation; 1 value left out.",
    )


def test_ids_are_kept_as_written() -> None:
    assert [item.item_id for item in read_items(contexts(item_id=["007", "1e5"])).items] == ["007", "1e5"]
    assert [item.item_id for item in read_items(contexts(item_id=[7, 8])).items] == ["7", "8"]
    with pytest.raises(InvalidInput, match="decimal numbers"):
        read_items(contexts(item_id=[7.0, 8.0]))
    with pytest.raises(InvalidInput, match="Row 2: item_id is empty"):
        read_items(contexts(item_id=["1", None]))


def test_another_column_of_ids() -> None:
    table = contexts(post=["x", "y"]).drop("item_id")
    assert [item.item_id for item in read_items(table, item="post").items] == ["x", "y"]
    with pytest.raises(NotFound, match=r"no column 'pots'.*Did you mean 'post'"):
        read_items(table, item="pots")


def pairs_with_ids() -> pl.DataFrame:
    chosen, rejected = "\n\nHuman: a\n\nAssistant: b", "\n\nHuman: a\n\nAssistant: c"
    return pl.DataFrame({"item_id": ["7"], "chosen": [chosen], "rejected": [rejected], "tranche": ["base"]})


def test_pairs_with_ids() -> None:
    items, _ = read_items(pairs_with_ids())
    assert {item.item_id: dict(item.attributes) for item in items} == {
        "7-chosen": {"tranche": "base", "item_side": "chosen", "item_pair": "7"},
        "7-rejected": {"tranche": "base", "item_side": "rejected", "item_pair": "7"},
    }
    (item,), notes = read_items(pairs_with_ids(), pairs="chosen")
    assert (item.item_id, dict(item.attributes)) == ("7", {"tranche": "base", "item_side": "chosen"})
    assert notes == ("The other conversation of 1 pair left out.",)


def test_pairs_that_are_not_read() -> None:
    with pytest.raises(InvalidInput, match="pairs is 'best'; choose one of both, chosen, rejected"):
        read_items(pairs_with_ids(), pairs="best")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Reading adds an attribute 'item_side', and a column has that name already"):
        read_items(pairs_with_ids().with_columns(item_side=pl.lit("a")))


# hostile and invalid files


def test_texts_are_unchanged() -> None:
    hostile = ['=HYPERLINK("http://x")', "<script>alert(1)</script>", "\u202eevil\u2066", "\x1b[31m", "x" * 2**20]
    table = pl.DataFrame({"context": ["USER: a"] * 5, "response": hostile, "note": hostile})
    items, _ = read_items(table)
    assert [item.conversation.rated_turn.text for item in items] == hostile
    assert [item.attributes["note"] for item in items] == hostile


def test_empty_texts_are_empty_turns_if_the_format_has_null(tmp_path: Path) -> None:
    rows = [{"item_id": "1", "context": "USER: a", "response": ""}, {"item_id": "2", "context": "", "response": "b"}]
    items, notes = read_items(lines(tmp_path / "items.jsonl", *rows))
    assert [turns(item) for item in items] == [[("human", "a"), ("bot", "")], [("bot", "b")]]
    assert notes == ("A turn is empty in 1 item: '1'.",)
    path = tmp_path / "items.csv"
    path.write_text("item_id,context,response\n1,USER: a,b\n2,USER: a,\n3,USER: a,\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"items\.csv: Row 2: response is empty.*1 more such row"):
        read_items(path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (contexts(response=["a", "b\0"]), "Row 2: Turn 2: The text has a NUL"),
        (contexts(response=["a", "x" * (2**20 + 1)]), "Row 2: Turn 2: The text has 1,048,577 characters"),
        (contexts(note=["a", "\0"]), "Item '2': The attribute 'note' has a NUL"),
        (pl.DataFrame({"turns": ['[{"role": "user", "content": "\\ud800"}]']}), "Row 1: Turn 1: .* surrogate pair"),
        (pl.DataFrame({"turns": ["[" * 10**5]}), "Row 1: the list of messages is not valid JSON"),
        (pl.DataFrame({"turns": ["[]"]}), "Row 1: The conversation has no turn"),
        (pl.DataFrame({"turns": [[{"role": "user", "content": "a"}]]}), "Row 1: The last turn, 'a', is by the human"),
        (pl.DataFrame({"turns": [[{"role": "aside", "content": "a"}]]}), "Row 1: Message 1 has the role 'aside'"),
        (pl.DataFrame({"transcript": ["Hi there"]}), "Row 1: Line 1, 'Hi there', does not begin a turn"),
        (pl.DataFrame({"transcript": [7]}), "Row 1: Line 1, '7', does not begin a turn"),
        (pl.DataFrame({"transcript": [b"a"]}), "Column transcript holds Binary"),
        (pl.DataFrame({"chosen": ["a"], "rejected": ["b"]}), "Row 1: Line 1, 'a', does not begin a turn"),
        (pl.DataFrame({"transcript": []}, schema={"transcript": pl.String}), "The table has no rows"),
        (pl.DataFrame({"text": ["a"]}), r"No column holds conversations\. The columns are 'text'; understood are"),
        ("Human: a", "There is no file|not the path|files end in"),
    ],
)
def test_invalid_tables_are_refused(table: Any, message: str) -> None:
    with pytest.raises(DissensusError, match=message) as error:
        read_items(table)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "There is no text"),
        (
            "User: a\nBot: b\n---\nUser: c\n",
            "Line 4 and those after it: The last turn, 'c', is by the human.*allowed",
        ),
        ("User: a\nClaude: b", r"The last turn, 'a\\nClaude: b', is by the human.*allowed are Human"),
        ("User: a\nBot: b\n---\nBot: c", "The transcript from line 4 has no turn of a person"),
        ("User: a\0\nBot: b", "Line 1 and those after it: Turn 1: The text has a NUL, as character 2"),
        ("hello", "Line 1, 'hello', does not begin a turn"),
    ],
)
def test_pasted_text_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_pasted_items(text)


def test_missing_or_unreadable_text_files_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "no.txt", tmp_path, tmp_path / ("x" * 300 + ".txt")):
        with pytest.raises(DissensusError, match=r"There is no text file|is a folder"):
            read_items(path)
    path = tmp_path / "bad.txt"
    path.write_bytes(b"User: \xff")
    with pytest.raises(InvalidInput, match="not UTF-8 text"):
        read_items(path)


def test_columns_without_a_name_are_left_out() -> None:
    items, notes = read_items(contexts(**{"": ["0", "1"]}))
    assert not items[0].attributes
    assert notes == ("Left out, because they do not describe items: ''.",)


def test_many_items_keep_their_order() -> None:
    number = pl.int_range(10_000, eager=True).cast(pl.String)
    table = pl.DataFrame({"item_id": number, "context": "USER: " + number, "response": "ok", "n": number})
    items, notes = read_items(table)
    assert notes == ()
    assert [(item.item_id, turns(item)[0][1], item.attributes["n"]) for item in items] == [(n, n, n) for n in number]


def test_a_context_of_messages_is_read_as_turns(tmp_path: Path) -> None:
    system = {"role": "system", "content": "Be kind."}
    rows: list[dict[str, Any]] = [
        {"item_id": "a", "context": [{"role": "user", "content": "Hi"}], "response": "Yo"},
        {"item_id": "b", "context": [system, *CHAT, {"role": "user", "content": "Why?"}], "response": "So."},
        {"item_id": "c", "context": [], "response": "Welcome."},
    ]
    items, notes = read_items(lines(tmp_path / "items.jsonl", *rows))
    assert [turns(item) for item in items] == [
        [("human", "Hi"), ("bot", "Yo")],
        [*SAID, ("human", "Why?"), ("bot", "So.")],
        [("bot", "Welcome.")],
    ]
    assert items[1].attributes["item_instructions"] == "Be kind."
    assert not [note for note in notes if "without speakers" in note]
    in_text = pl.DataFrame([{**row, "context": json.dumps(row["context"])} for row in rows])
    assert [turns(item) for item in read_items(in_text).items] == [turns(item) for item in items]


def test_a_context_that_only_begins_like_a_list_is_a_turn() -> None:
    texts = ["[laughs] Is it safe?", "[1, 2]"]
    table = pl.DataFrame({"item_id": ["a", "b"], "context": texts, "response": ["No.", "No."]})
    assert [turns(item)[0] for item in read_items(table).items] == [("human", text) for text in texts]
    with pytest.raises(InvalidInput, match="Row 1: Message 1 has the role 'aside'"):
        read_items(pl.DataFrame({"context": ['[{"role": "aside", "content": "x"}]'], "response": ["No."]}))


@pytest.mark.parametrize(
    "text",
    [
        "\n\nHuman: Is it safe?\n\nLLM: No.\n\nHuman: Why?\n\nAssistant: It is hot.",
        "USER: Is it safe?\nLLM: No.\nUSER: Why?\nLAMDA: It is hot.",
    ],
)
def test_the_label_of_an_unknown_speaker_is_named(text: str) -> None:
    (_,), notes = read_items(pl.DataFrame({"item_id": ["1"], "transcript": [text]}))
    assert any("In 1 conversation 'LLM:' names no known speaker" in note for note in notes)
    assert read_items(pl.DataFrame({"item_id": ["1"], "transcript": [text.replace("LLM", "Assistant")]})).notes == ()


def test_the_column_id_holds_the_ids_of_items(tmp_path: Path) -> None:
    path = lines(tmp_path / "items.jsonl", {"id": 7, "messages": CHAT}, {"id": 9, "messages": [*CHAT, *CHAT]})
    items, notes = read_items(path)
    assert [(item.item_id, dict(item.attributes)) for item in items] == [("7", {}), ("9", {})]
    assert MADE not in notes
    # Beside item_id it is an attribute, and in a table of ratings the number of the row.
    both = read_items(pl.DataFrame({"item_id": ["a"], "id": ["7"], "context": ["USER: a"], "response": ["c"]})).items
    assert (both[0].item_id, dict(both[0].attributes)) == ("a", {"id": "7"})
    ratings = pl.DataFrame({"id": [1, 2], "rater_id": ["x", "y"], "context": ["USER: a"] * 2, "response": ["c"] * 2})
    assert len(read_items(ratings).items) == 1
