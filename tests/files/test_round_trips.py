"""Round trips of ratings through every kind and format, and through every pair of them."""

from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.files.ratings.conversion import convert_ratings, read_long, write_long
from dissensus.files.raw.content import EXTENSIONS
from dissensus.schema.questionnaire.shipped import load_questionnaire

QUESTION = "Q_overall"

ANY = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6)
WORDS = 'null NA nan 007 1e5 -0.0 true a,b \' =1 [] [1,2] ["a"] { item_id é é 🙂'
SPACES = (" ", " x ", "\t", "\r", "\r\n", "\n", "\ufeff", "\x85", "\u2028", '"', '""', '{"a": "1"}', '["a", "b"]')
AWKWARD = st.sampled_from([*WORDS.split(), *SPACES])
TEXTS = ANY | AWKWARD
CELLS = st.none() | TEXTS
ANSWERS = st.sampled_from(["No", "Unsure", "Yes"]) | TEXTS
ATTRIBUTES = (
    "context",
    "response",
    "harm_type",
    "item_text",
    "item_text_post",
    "item_split",
    "item_x y",
    "safety_gold",
)


class Form(NamedTuple):
    kind: str
    extension: str


RATINGS = [
    *(Form("long", extension) for extension in EXTENSIONS),
    *(Form("wide", extension) for extension in EXTENSIONS),
    *(Form("lewidi", extension) for extension in (".json", ".json.gz")),
]


@st.composite
def ratings(draw: st.DrawFn) -> pl.DataFrame:
    """One question, items with attributes, any ids and texts: the content that every kind can hold."""
    names = draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=3, unique=True))
    items = {item: [draw(CELLS) for _ in names] for item in draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))}
    raters = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    pairs = [(item, rater) for item in items for rater in raters]
    rated = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    rows = [(item, *items[item], rater, draw(ANSWERS)) for item, rater in sorted(rated, key=pairs.index)]
    return pl.DataFrame(rows, schema=dict.fromkeys(["item_id", *names, "rater_id", QUESTION], pl.String), orient="row")


@st.composite
def long_tables(draw: st.DrawFn) -> pl.DataFrame:
    """Columns of every sort, with any text or null."""
    names = draw(st.lists(TEXTS.filter(lambda name: name != "item_id"), max_size=3, unique=True))
    columns = ["item_id", "rater_id", "rater_x", QUESTION, "answer_time_ms", *(f"my {name}" for name in names)]
    times = st.none() | st.integers(0, 10**9).map(str) | TEXTS
    rows = st.tuples(TEXTS, TEXTS, CELLS, st.none() | ANSWERS, times, *(CELLS for _ in names))
    return pl.DataFrame(
        draw(st.lists(rows, min_size=1, max_size=4)), schema=dict.fromkeys(columns, pl.String), orient="row"
    )


@st.composite
def official_tables(draw: st.DrawFn) -> tuple[str, pl.DataFrame]:
    """Two rows with the columns of an official file and any text in them."""
    name = draw(st.sampled_from(["dices-350", "dices-990"]))
    columns = load_questionnaire(name).columns
    cells = draw(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=3, max_size=3))
    table = {column: cells[draw(st.integers(0, 2))] for column in columns} | {"rater_id": ["296709543131761", "7"]}
    return name, pl.DataFrame(table, schema=dict.fromkeys(columns, pl.String))


def as_text(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.all().cast(pl.String))


def in_order(table: pl.DataFrame) -> pl.DataFrame:
    """Sort columns and rows, because a wide table changes their order."""
    return as_text(table).select(sorted(table.columns)).sort("item_id", "rater_id", maintain_order=True)


def round_trip(table: pl.DataFrame, form: Form, folder: Path) -> pl.DataFrame:
    path = folder / f"ratings{form.extension}"
    write_long(table, path, form.kind, **options_for(form), overwrite=True)
    return read_bytes(path.read_bytes(), form)


@lru_cache(maxsize=len(RATINGS) * 2)
def read_bytes(data: bytes, form: Form) -> pl.DataFrame:
    """Read bytes, cached, because the probe of Parquet files is slow."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"again{form.extension}")
        path.write_bytes(data)
        return read_long(path, form.kind, **options_for(form)).table


def options_for(form: Form) -> dict[str, str]:
    question = {"question": QUESTION} if form.kind != "long" else {}
    return question | ({"rater_columns": "rater {rater_id}"} if form.kind == "wide" else {})


@pytest.mark.parametrize("form", [form for form in RATINGS if form.extension != ".parquet"], ids="".join)
@given(ratings())
@settings(max_examples=10, deadline=None)
def test_ratings_are_read_as_they_were_written(form: Form, table: pl.DataFrame) -> None:
    with TemporaryDirectory() as folder:
        assert in_order(round_trip(table, form, Path(folder))).equals(in_order(table))


@pytest.mark.slow
@given(ratings())
@settings(max_examples=3, deadline=None)
def test_ratings_survive_every_pair_of_formats(table: pl.DataFrame) -> None:
    forms = [form for form in RATINGS if not form.extension.endswith(".gz")]
    with TemporaryDirectory() as folder:
        for first, second in product(forms, repeat=2):
            twice = round_trip(round_trip(table, first, Path(folder)), second, Path(folder))
            assert in_order(twice).equals(in_order(table)), (first, second)


@pytest.mark.slow
@given(long_tables())
@settings(max_examples=4, deadline=None)
def test_long_tables_survive_every_pair_of_encodings_in_their_order(table: pl.DataFrame) -> None:
    forms = [form for form in RATINGS if form.kind == "long"]
    with TemporaryDirectory() as folder:
        for first, second in product(forms, repeat=2):
            twice = round_trip(round_trip(table, first, Path(folder)), second, Path(folder))
            assert as_text(twice).equals(table), (first, second)


@pytest.mark.slow
@pytest.mark.parametrize("extension", EXTENSIONS)
@given(official_tables())
@settings(max_examples=4, deadline=None)
def test_official_tables_survive_every_encoding_byte_for_byte(
    extension: str, official: tuple[str, pl.DataFrame]
) -> None:
    name, table = official
    with TemporaryDirectory() as folder:
        first, encoded, rewritten = (
            Path(folder, file) for file in (f"a.{name}.csv", f"ours{extension}", f"b.{name}.csv")
        )
        write_long(table, first)
        source, _ = convert_ratings(first, encoded)
        assert source.kind == name
        assert as_text(source.table).select(table.columns).equals(table)
        convert_ratings(encoded, rewritten)
        assert rewritten.read_bytes() == first.read_bytes()
