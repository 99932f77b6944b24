"""Every format gives the same ratings."""

import codecs
import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.files.conftest import write
from tests.support.rating_tables import are_equal, tables

from dissensus.errors import DissensusError
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.content import EXTENSIONS
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.table import Ratings


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_format_is_read_as_it_was_written(table: pl.DataFrame, tmp_path: Path, extension: str) -> None:
    path = write(table, tmp_path / f"ratings{extension}")
    assert read_frame(path).equals(table)
    assert are_equal(read_ratings(path), Ratings.from_frame(table))
    assert are_equal(read_ratings(str(path)), read_ratings(path))


@pytest.mark.slow
@pytest.mark.parametrize("extension", [extension for extension in EXTENSIONS if extension != ".parquet"])
@given(tables())
@settings(max_examples=25, deadline=None)
def test_any_text_survives(extension: str, table: pl.DataFrame) -> None:
    check_round_trip(extension, table)


@pytest.mark.slow
@given(tables())
@settings(max_examples=8, deadline=None)
def test_any_text_survives_in_parquet(table: pl.DataFrame) -> None:
    """Fewer examples, because a subprocess probes each file."""
    check_round_trip(".parquet", table)


def check_round_trip(extension: str, table: pl.DataFrame) -> None:
    with TemporaryDirectory() as folder:
        path = write(table, Path(folder, f"ratings{extension}"))
        assert are_equal(read_ratings(path), Ratings.from_frame(table))


@pytest.mark.slow
@pytest.mark.parametrize("extension", EXTENSIONS)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=60).map(lambda data: b"PAR1" + data + b"PAR1"),
        st.binary(max_size=60).map(lambda data: gzip.compress(data)[:-2]),
        st.text('a,b"\n\r\t1 é;\x00', max_size=40).map(str.encode),
        st.text('a,b"\n\r\t1 é', max_size=40).map(lambda rest: b"item_id,rater_id,Q_overall\n1,2,No\n" + rest.encode()),
        st.text('{}[]":,1e\\ud800\n ', max_size=40).map(str.encode),
    )
)
@settings(max_examples=40, deadline=None)
def test_arbitrary_bytes_are_ratings_or_a_clear_error(extension: str, data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, f"ratings{extension}")
        path.write_bytes(data)
        with suppress(DissensusError):
            assert isinstance(read_ratings(path), Ratings)


def test_gzip_is_recognised_under_any_name(table: pl.DataFrame, tmp_path: Path) -> None:
    zipped = write(table, tmp_path / "ratings.csv.gz")
    assert read_frame(zipped.rename(tmp_path / "ratings.csv")).equals(table)
    plain = write(table, tmp_path / "plain.csv")
    assert read_frame(plain.rename(tmp_path / "plain.csv.gz")).equals(table)


def test_names_in_capitals_are_read(table: pl.DataFrame, tmp_path: Path) -> None:
    assert read_frame(write(table, tmp_path / "x.csv").rename(tmp_path / "RATINGS.CSV")).equals(table)


@pytest.mark.parametrize("extension", [".csv", ".jsonl", ".json"])
def test_a_byte_order_mark_is_left_out(table: pl.DataFrame, tmp_path: Path, extension: str) -> None:
    path = write(table, tmp_path / f"ratings{extension}")
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert read_frame(path).equals(table)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_and_blank_lines(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "ratings.csv"
    lines = ["item_id,rater_id,Q_overall", "1,a,Yes", "", "1,b,", ",,", "", ""]
    path.write_bytes(ending.join(lines).encode())
    assert read_frame(path).rows() == [("1", "a", "Yes"), ("1", "b", None)]


def test_quotes_inside_a_field_are_text(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text('item_id,context,Q_overall\n1,5" nails,Yes\n2,6" nails,No\n')
    assert read_frame(path)["context"].to_list() == ['5" nails', '6" nails']


def test_long_texts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(f"item_id,context,Q_overall\n1,{'long ' * 50_000},Yes\n2,short,\n")
    assert read_frame(path)["context"].str.len_chars().to_list() == [250_000, 5]


def test_ids_in_csv_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item_id,rater_id,Q_overall\n007,296708581782793.0,Yes\n1e5,12345678901234567890123,No\n")
    ratings = read_ratings(path)
    assert ratings.items["item_id"].to_list() == ["007", "1e5"]
    assert ratings.raters["rater_id"].to_list() == ["12345678901234567890123", "296708581782793.0"]


def test_numbers_in_json_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    path.write_text(
        '{"item_id": 1e5, "rater_id": 296708581782793.0, "rater_flagged": true, "Q": 1}\n\n'
        '{"item_id": 12345678901234567890123, "rater_id": 7, "Q": 2, "rater_flagged": false, "item_tags": ["a"]}\n'
    )
    ratings = read_ratings(path)
    assert ratings.items.rows() == [("12345678901234567890123", '["a"]'), ("1e5", None)]
    assert ratings.raters.rows() == [("296708581782793.0", True), ("7", False)]
    assert ratings.scale("Q") == ("1", "2")


def test_json_lines_and_arrays_are_distinguished_by_content(table: pl.DataFrame, tmp_path: Path) -> None:
    lines = write(table, tmp_path / "a.jsonl")
    array = write(table, tmp_path / "b.json")
    assert read_frame(lines.rename(tmp_path / "a.json")).equals(table)
    assert read_frame(array.rename(tmp_path / "b.jsonl")).equals(table)


def test_the_official_350_file(dices_350: Path) -> None:
    ratings = read_ratings(dices_350)
    assert (ratings.n_items, ratings.n_raters, ratings.n_ratings) == (2, 3, 6)
    assert ratings.axes == ("rater_gender", "rater_race", "rater_raw_race", "rater_age", "rater_education")
    assert set(ratings.items.columns) == {
        *("item_id", "phase", "context", "response", "degree_of_harm", "harm_type"),
        *("safety_gold", "safety_gold_reason"),
    }
    assert ratings.items["context"][0] == 'USER: say "173", please\nLAMDA: no\r\nUSER: why…'
    assert ratings.exclude_flagged().raters["rater_id"].to_list() == ["296708581782793"]
    assert "dices-350" in ratings.notes[0]


def test_all_questions_of_the_official_350_file(dices_350: Path) -> None:
    ratings = read_ratings(dices_350, questions="all")
    first, *questions = ratings.questions
    assert (first, len(questions)) == ("Q1_whole_conversation_evaluation", 19 + 4)
    assert len(ratings.scale(first)) == 4
    assert all(ratings.scale(question) == ("No", "Unsure", "Yes") for question in questions)


def test_the_official_990_file(dices_990: Path) -> None:
    ratings = read_ratings(dices_990)
    assert "rater_locale" in ratings.axes
    assert ratings.items["degree_of_harm"].to_list() == [None, None]
    assert "rater_flagged" not in ratings.raters.columns
    assert len(read_ratings(dices_990, questions="all").questions) == 1 + 24 + 4


def test_the_real_ratings(real_data: Callable[[str], Path]) -> None:
    path = real_data("dices-350/ratings.csv")
    ratings = read_ratings(path, items=real_data("dices-350/items.csv"))
    assert (ratings.n_items, ratings.n_raters, ratings.n_ratings) == (350, 123, 43_050)
    assert ratings.answers["Q_overall"].value_counts().sort("Q_overall")["count"].to_list() == [26_292, 2_694, 14_064]
    assert ratings.exclude_flagged().n_raters == 104
    assert ratings.where("degree_of_harm", "Benign").n_items == 31


def test_the_shipped_list_of_removed_raters_is_that_of_the_real_data(real_data: Callable[[str], Path]) -> None:
    ratings = read_ratings(real_data("dices-350/ratings.csv"))
    removed = ratings.raters.filter("rater_flagged")["rater_id"].to_list()
    assert tuple(removed) == load_questionnaire("dices-350").flagged_raters


def test_scores_by_pyrit_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "multi_score.csv"
    rows = "assistant_response,human_score_1,human_score_2\nYes.,0.1234567,0.1234568\nNo.,1.0,1\n"
    path.write_text(rows)
    ratings = read_ratings(path)
    assert ratings.scale(ratings.questions[0]) == ("0.1234567", "0.1234568", "1")


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_scores_of_several_raters_by_pyrit(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "violence_multi_score.csv"
    path.write_bytes(
        start
        + b"# dataset_version=1.0, harm_definition=violence.yaml,,,,\n"
        + b"harm_category,objective,assistant_response,human_score_1,human_score_2,human_score_3,data_type\n"
        + b'violence,start a fire,"Take wood,\nand a match.",0.5,0.25,,text\nviolence,start a riot,No.,0,0.0,1.0,text\n'
    )
    ratings = read_ratings(path)
    assert ratings.items["item_id"].to_list() == ["1", "2"]
    assert ratings.items["response"].to_list() == ["Take wood,\nand a match.", "No."]
    assert {"item_objective", "item_harm_category"} <= set(ratings.items.columns)
    assert ratings.raters["rater_id"].to_list() == ["1", "2", "3"]
    assert ratings.scale(ratings.questions[0]) == ("0", "0.25", "0.5", "1")
    assert ratings.n_ratings == 5
    path.write_bytes(path.read_bytes().replace(b"0,0.0,1.0,text", b"0,0,text"))
    with pytest.raises(DissensusError, match="line 5"):
        read_ratings(path)
