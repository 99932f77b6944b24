"""Wide tables: detection by content, transposition by option, errors for ambiguous orientation."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.files.ratings.conversion import convert_ratings, read_long, write_long
from dissensus.files.ratings.kinds import RatingsFileOptions, wide
from dissensus.files.ratings.reader import read_ratings

TEMPLATES = {
    "annotations_g1": "label_{rater_id}_{rater_gender}",
    "annotations_g2": "label_{rater_gender}_{rater_id}",
    "annotations_g3": "label_{rater_gender}_{rater_id}",
}


def posts(**columns: list[str | None]) -> pl.DataFrame:
    """Return three posts with the given columns of answers."""
    texts = ["good morning to you", "come here right now", "one more of them"]
    return pl.DataFrame({"id": ["1", "2", "3"], "text": texts, **columns})


LABELS: dict[str, list[str | None]] = {"label_1": ["fine", "rude", "fine"], "label_2": [None, "rude", "fine"]}


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_real_matrices(real_data: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    path, form = real_data(f"annotation-paradigms/{name}.csv"), TEMPLATES[name]
    table, kind, notes = read_long(path, rater_columns=form)
    assert (kind, notes) == ("wide", ())
    assert table.columns == ["item_id", "item_text", "rater_id", "rater_gender", "Q_label"]
    assert (table.height, table["rater_id"].n_unique(), table["item_id"].n_unique()) == (4000, 20, 200)
    assert set(table["rater_gender"]) == {"M", "F"}
    write_long(table, tmp_path / "again.wide.csv", rater_columns=form)
    rewritten, official = (tmp_path / "again.wide.csv").read_bytes(), path.read_bytes().replace(b"\r\n", b"\n") + b"\n"
    head, body = rewritten.split(b"\n", 1)
    assert body == official.split(b"\n", 1)[1]
    assert head == official.split(b"\n", 1)[0].replace(b"id,text", b"item_id,item_text", 1)


def test_the_real_matrices_are_detected_without_options(real_data: Callable[[str], Path]) -> None:
    table, kind, notes = read_long(real_data("annotation-paradigms/annotations_g1.csv"))
    assert (kind, table.height, table["rater_id"][0]) == ("wide", 4000, "label_1_M")
    assert notes == (
        "20 columns are read as raters: 'label_1_M', 'label_2_F', 'label_3_M' and 17 more. "
        "Use --rater-columns to override that.",
    )


def test_a_transposed_real_matrix(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    upright = real_data("annotation-paradigms/annotations_g1.csv")
    matrix = pl.read_csv(upright, infer_schema=False).drop("text")
    for name in ("annotator", "id"):
        lying = matrix.transpose(include_header=True, header_name=name, column_names="id")
        lying.write_csv(tmp_path / "lying.csv")
        with pytest.raises(
            InvalidInput, match=r"rows could be items or raters: .*named like items, '172', .*--item-columns"
        ):
            read_long(tmp_path / "lying.csv")
    table = read_long(tmp_path / "lying.csv", item_columns="{item_id}").table
    normalised = read_long(upright).table.drop("item_text").sort("item_id", "rater_id")
    assert table.sort("item_id", "rater_id").equals(normalised)


def test_the_long_table_can_be_analysed(tmp_path: Path) -> None:
    table, _ = wide.read(posts(**LABELS), rater_columns="label_{rater_id}")
    write_long(table, tmp_path / "ratings.csv")
    ratings = read_ratings(tmp_path / "ratings.csv", categories=["fine", "rude"])
    assert (ratings.n_items, ratings.n_raters, ratings.n_ratings) == (3, 2, 5)
    assert ratings.items["item_text"].to_list() == posts()["text"].to_list()


def test_empty_cells_are_no_ratings_and_empty_raters_are_noted() -> None:
    blank: list[str | None] = [None, None, None]
    table, notes = wide.read(
        posts(label_1=["fine", None, None], label_2=["rude", None, "fine"], label_3=blank),
        rater_columns="label_{rater_id}",
    )
    assert table.select("item_id", "rater_id", "Q_label").rows() == [
        ("1", "1", "fine"),
        ("1", "2", "rude"),
        ("3", "2", "fine"),
    ]
    assert notes == ("1 item without a single answer left out.", "1 rater without a single answer left out.")
    _, notes = wide.read(posts(**LABELS, empty=blank))
    assert notes[-1] == "Columns without a value are left out: 'empty'."


def test_other_columns_describe_the_items() -> None:
    frame = posts(**LABELS, topic=["a", "b", "c"], harm_type=["x", "x", "y"], item_lang=["en", "en", "nl"])
    table, _ = wide.read(frame, question="Q_tone")
    assert table.columns == [
        *("item_id", "item_text", "item_topic", "harm_type", "item_lang"),
        *("rater_id", "Q_tone"),
    ]


def test_our_own_column_names_need_no_option(tmp_path: Path) -> None:
    table, _ = wide.read(posts(**LABELS), rater_columns="label_{rater_id}")
    assert write_long(table, tmp_path / "ours.wide.csv").notes == ()
    assert (tmp_path / "ours.wide.csv").read_text().splitlines()[0] == "item_id,item_text,rater_1,rater_2"
    assert read_long(tmp_path / "ours.wide.csv").table.equals(table)


def test_raters_in_rows_by_option() -> None:
    frame = pl.DataFrame(
        {"annotator": ["a", "b"], "gender": ["F", "M"], "age": ["30", "40"], "i1": ["0", "1"], "i2": ["1", None]}
    )
    table, notes = wide.read(frame, item_columns="i{item_id}")
    assert table.rows(named=True) == [
        {"item_id": "1", "rater_id": "a", "rater_gender": "F", "rater_age": "30", "Q_label": "0"},
        {"item_id": "2", "rater_id": "a", "rater_gender": "F", "rater_age": "30", "Q_label": "1"},
        {"item_id": "1", "rater_id": "b", "rater_gender": "M", "rater_age": "40", "Q_label": "1"},
    ]
    assert notes == ()


NUMBERS: list[str | None] = ["0", "1", "1"]


@pytest.mark.parametrize(
    ("frame", "evidence"),
    [
        (pl.DataFrame({"id": ["1", "2"], "a": ["0", "1"], "b": ["1", "0"]}), "no evidence in names and values"),
        (pl.DataFrame({"rater": ["1", "2"], "a": ["0", "1"], "b": ["1", "0"]}), "'rater' is named like ids of raters"),
        (posts(gender=["F", "M", "F"], **LABELS), "contradictory: .*attributes of people, 'gender'"),
        (posts(q1=NUMBERS, q2=NUMBERS), "contradictory: .*named like items, 'q1', 'q2'"),
        (posts(label_1=NUMBERS, votes=NUMBERS), "contradictory: .*only some columns .* named like raters, 'label_1'"),
    ],
)
def test_ambiguous_orientation_is_refused(frame: pl.DataFrame, evidence: str) -> None:
    with pytest.raises(InvalidInput, match=f"{evidence}.*"):
        wide.read(frame)
    assert wide.read(frame, rater_columns="{rater_id}", item=frame.columns[0])[0].height


def test_a_table_of_something_else() -> None:
    with pytest.raises(
        InvalidInput, match=r"No columns share a small set of answers.*--item, --rater and --answer.*--item-columns"
    ):
        wide.read(posts())
    lying = pl.DataFrame({"rater_id": ["a", "b"], "item_1": ["0", "1"], "item_2": ["1", "0"]})
    with pytest.raises(InvalidInput, match="No columns share"):
        wide.read(lying)
    assert wide.read(lying, item_columns="item_{item_id}")[0].height == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rater_columns": "label_{rater_id}", "item_columns": "label_{item_id}"}, "not both"),
        ({"rater_columns": "label_{rater_gender}"}, r"its gaps must be \{rater_id\}"),
        ({"rater_columns": "label_{rater_id}_{rater_id}"}, "each once"),
        ({"rater_columns": "label_{rater_id:>3}"}, "is not a template"),
        ({"rater_columns": "label_{rater_id"}, "is not a template"),
        ({"rater_columns": "label_{}"}, "is not a template"),
        ({"rater_columns": "label_{item_id}"}, r"its gaps must be \{rater_id\}"),
        ({"item_columns": "label_{rater_id}"}, r"its gaps must be \{item_id\}"),
        (
            {"rater_columns": "coder_{rater_id}"},
            r"No column is named like 'coder_\{rater_id\}'. The columns are 'id', 'text'",
        ),
        ({"item": "post"}, "There is no column 'post'"),
        ({"question": "label"}, "begin with Q, as Q_label"),
        ({"rater": "id", "rater_columns": "label_{rater_id}"}, "rows are items, named by --item"),
        ({"item": "id", "item_columns": "label_{item_id}"}, "then they are raters"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        wide.read(posts(**LABELS), **options)


def test_a_name_that_can_be_read_in_two_ways() -> None:
    form = wide.parse_template("l_{rater_id}_{rater_x}", "rater_id", lambda name: True)
    assert form.values("l_1_F") == {"rater_id": "1", "rater_x": "F"}
    assert form.values("l_1") is None
    with pytest.raises(InvalidInput, match=r"in two ways: .*'1', .*'F_M'.* and .*'1_F', .*'M'"):
        form.values("l_1_F_M")


def test_ids_that_are_not_ids() -> None:
    frame = posts(**LABELS)
    with pytest.raises(InvalidInput, match=r"Item '1' is in 2 rows. Each item has one"):
        wide.read(frame.with_columns(id=pl.Series(["1", "1", "2"])))
    with pytest.raises(InvalidInput, match="Row 2: id is empty"):
        wide.read(frame.with_columns(id=pl.Series(["1", None, "2"])))
    with pytest.raises(InvalidInput, match="Rater '1' is in 2 columns"):
        wide.read(frame.rename({"label_1": "l_F_1", "label_2": "l_M_1"}), rater_columns="l_{rater_x}_{rater_id}")
    with pytest.raises(InvalidInput, match=r"first column, 'text', is not named like ids of items.*--item"):
        wide.read(frame.drop("id"), rater_columns="label_{rater_id}")
    with pytest.raises(InvalidInput, match="'text', 'item_text' would all be called 'item_text'"):
        wide.read(frame.with_columns(item_text=pl.lit("x")))


def long(**columns: list[str | None]) -> pl.DataFrame:
    ids: dict[str, list[str | None]] = {"item_id": ["1", "1", "2"], "rater_id": ["a", "b", "a"]}
    return pl.DataFrame({**ids, "Q_tone": ["0", "1", "1"], **columns})


def test_rater_attributes_go_into_the_names_or_are_noted_as_left_out(tmp_path: Path) -> None:
    table = long(rater_x=["F", "M", "F"], answer_time_ms=["1", "2", "3"], Q_other=["0", "0", "0"])
    frame, notes = wide.write(table, question="Q_tone", rater_columns="{rater_x}-{rater_id}")
    assert frame.columns == ["item_id", "F-a", "M-b"]
    assert notes == (
        "Left out, because a wide table does not hold them: 'answer_time_ms', 'Q_other'.",
        "The name of the question is not in a wide table: read it again with --question Q_tone.",
    )
    assert "'rater_x'" in wide.write(table, question="Q_tone")[1][0]


def test_one_of_several_questions_must_be_named() -> None:
    with pytest.raises(InvalidInput, match=r"several columns .*'Q_tone', 'Q_other'.*--question"):
        wide.write(long(Q_other=["0", "0", "0"]))
    with pytest.raises(NotFound, match="There is no column 'Q_ton' to write"):
        wide.write(long(), question="Q_ton")


@pytest.mark.parametrize(
    ("table", "raters", "message"),
    [
        (long(rater_x=["F", None, "F"]), "{rater_x}-{rater_id}", "Rater 'b' has no 'rater_x'"),
        (long(), "{rater_y}-{rater_id}", "asks for 'rater_y'. The raters have 'rater_id'"),
        (long(rater_x=["F-1", "M", "F-1"]), "{rater_x}-{rater_id}", "'F-1-a' matches .* in two ways"),
        (long(rater_id=["item_1", "b", "item_1"]), "{rater_id}", "the column 'item_1', which cannot be read back"),
        (long(rater_id=["a", "a", "a"]), None, "Rater 'a' rated item '1' twice, in row 1 and row 2"),
        (long(harm_type=["x", "y", "x"]), None, "Item '1' has two values of harm_type"),
        (long(rater_id=["a", None, "a"]), None, "Row 2: rater_id is empty"),
        (long(Q_tone=[None, None, None]), None, "There are no answers in 'Q_tone'"),
    ],
)
def test_tables_that_cannot_be_wide_are_refused(table: pl.DataFrame, raters: str | None, message: str) -> None:
    with pytest.raises(DissensusError, match=message):
        wide.write(table, question="Q_tone", rater_columns=raters)


def test_rows_without_an_answer_are_noted_as_left_out() -> None:
    frame, notes = wide.write(long(Q_tone=["0", None, "1"]), question="Q_tone")
    assert frame.rows() == [("1", "0"), ("2", "1")]
    assert notes[0] == "1 row without an answer to Q_tone left out."


def test_an_option_may_apply_to_source_and_target(tmp_path: Path) -> None:
    posts(**LABELS).write_csv(tmp_path / "in.csv")
    source, target = convert_ratings(
        tmp_path / "in.csv",
        tmp_path / "out.wide.parquet",
        options=RatingsFileOptions(rater_columns="label_{rater_id}", question="Q_tone"),
    )
    assert (source.kind, target.kind) == ("wide", "wide")
    assert pl.read_parquet(tmp_path / "out.wide.parquet").columns == ["item_id", "item_text", "label_1", "label_2"]


def test_more_raters_than_columns_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISSENSUS_MAX_GIB", "0.000000001")
    with pytest.raises(InvalidInput, match="2 items by 2 raters are more columns or cells than can be read back"):
        wide.write(long(), question="Q_tone")


def test_an_attribute_that_would_be_named_like_the_ids_is_refused() -> None:
    labels = {"label_ann": ["Yes", "No"], "label_bob": ["No", "Yes"]}
    frame = pl.DataFrame({"item_id": ["7", "8"], "id": ["3", "4"], **labels})
    with pytest.raises(InvalidInput, match=r"Column 'id' would be named 'item_id', as the ids in 'item_id' are"):
        wide.read(frame, rater_columns="label_{rater_id}")
