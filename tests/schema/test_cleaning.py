"""Cells as people write them: spaces, words for missing values, spellings, codes, whole numbers, intervals."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.ratings.reader import read_ratings, validate
from dissensus.files.raw.table_reader import to_polars
from dissensus.schema.item_sets import split_set
from dissensus.schema.ratings import cells
from dissensus.schema.ratings.bins import bin_attribute, label_intervals, suggest_bins
from dissensus.schema.ratings.cleaning import AS_WRITTEN, CellCleaner, CleaningRules
from dissensus.schema.ratings.findings import FailedCheck
from dissensus.schema.ratings.renames import rename_table
from dissensus.schema.ratings.table import Ratings


def frame(answers: list[object], **columns: Sequence[object]) -> pl.DataFrame:
    """Ratings of item 1 and then of item 2, by as many raters as answers need."""
    half = (len(answers) + 1) // 2
    ids = {
        "item_id": ["1" if n < half else "2" for n in range(len(answers))],
        "rater_id": [f"r{n % half}" for n in range(len(answers))],
    }
    return pl.DataFrame({**ids, "label": pl.Series(answers, strict=False), **columns})


@pytest.mark.parametrize("word", ["NaN", "nan", "None", "null", "NA", "N/A", "<NA>", " ", ""])
def test_words_for_missing_answers_are_no_category(word: str) -> None:
    ratings = Ratings.from_frame(frame(["Yes", "No", "Yes", word]), answer="label")
    assert ratings.scale("label") == ("No", "Yes")
    assert ratings.n_ratings == 3
    if word:
        assert any(note.startswith(f"Counted as missing in label: 1 × {word!r}") for note in ratings.notes)


def test_a_numeric_column_with_nan_keeps_its_order() -> None:
    assert Ratings.from_frame(frame(["10", "NaN", "9", "2"]), answer="label").scale("label") == ("2", "9", "10")


def test_a_word_for_missing_is_an_answer_where_it_is_named() -> None:
    ratings = Ratings.from_frame(frame(["None", "Some", "None"]), answer="label", categories=["None", "Some"])
    assert ratings.n_ratings == 3
    declared = frame(["None", "Some"]).with_columns(pl.col("label").cast(pl.Enum(["None", "Some"])))
    assert Ratings.from_frame(declared, answer="label").scale("label") == ("None", "Some")


def test_the_suggested_categories_leave_out_words_for_missing() -> None:
    with pytest.raises(InvalidInput, match="It has 'Fine', 'Rude'") as error:
        Ratings.from_frame(frame(["Fine", "NaN", "Rude", "null"]), answer="label")
    assert error.value.options == ("--categories", "Fine,Rude")


def test_named_words_are_missing_too() -> None:
    table = frame(["1", "2", "99.0", "2"], rater_g=["x", "REVOKED", "x", "REVOKED"])
    ratings = Ratings.from_frame(table, answer="label", missing=["99", "REVOKED"])
    assert ratings.scale("label") == ("1", "2")
    assert ratings.raters["rater_g"].to_list() == ["x", None]


@pytest.mark.parametrize("group", ["nan", "NaN", "<NA>", "null"])
def test_words_for_missing_attributes_are_no_group(group: str) -> None:
    ratings = Ratings.from_frame(frame(["Yes", "No"] * 2, rater_g=["x", group] * 2), answer="label")
    assert ratings.group_codes("g")[1] == ("x",)


@pytest.mark.parametrize("code", ["None", "CONSENT_REVOKED", "DATA_EXPIRED", "-1", "999"])
def test_codes_that_often_mean_missing_are_asked_about(code: str) -> None:
    table = frame(["Yes", "No"] * 2, rater_age=["30", code] * 2)
    ratings = Ratings.from_frame(table, answer="label")
    assert code in ratings.group_codes("age")[1]
    note = f"rater_age is {code!r} in 2 rows, which counts as a group. If it means a missing value: --missing {code} "
    assert note in ratings.notes[0]
    warnings = [(p.check, p.row) for p in validate(table, answer="label").problems() if p.severity == "warning"]
    assert warnings == [("possible code for a missing value", 2), ("possible code for a missing value", 4)]


def test_a_distant_number_among_answers_is_asked_about() -> None:
    assert "label is '99' in 1 row" in Ratings.from_frame(frame(["1", "5", "99", "2"]), answer="label").notes[0]
    near = Ratings.from_frame(frame(["97", "98", "99", "96"]), answer="label")
    assert not any("--missing" in note for note in near.notes)


def test_spaces_around_values_are_left_out_and_said() -> None:
    table = frame(["No", "No ", "Yes", "Yes  "], rater_g=["f", "f ", "f", "f "])
    table = table.with_columns(rater_id=pl.Series(["r1", "r2", "r1 ", "r2"])).rename({"item_id": "item_id "})
    ratings = Ratings.from_frame(table, answer="label")
    assert (ratings.n_raters, ratings.scale("label"), ratings.group_codes("g")[1]) == (2, ("No", "Yes"), ("f",))
    assert "Spaces around values are left out: 2 of label, 1 of rater_id, 2 of rater_g." in ratings.notes
    assert "Spaces around the names of columns are left out: 'item_id'." in ratings.notes


def test_a_rater_with_a_space_is_not_a_second_rater() -> None:
    table = frame(["No", "Yes"]).with_columns(item_id=pl.lit("1"), rater_id=pl.Series(["r1", "r1 "]))
    with pytest.raises(InvalidInput, match="rated item '1' twice"):
        Ratings.from_frame(table, answer="label")


def test_spellings_are_one_answer_on_request() -> None:
    table = frame(["Schön", "Scho\u0308n", "SCHÖN", "mies", "Mies", "mies"])
    with pytest.raises(InvalidInput, match="Some differ only in case or spaces") as error:
        Ratings.from_frame(table, answer="label")
    assert error.value.options[0] == "--normalise"
    ratings = Ratings.from_frame(table, answer="label", normalise=True, categories=["mies", "Schön"])
    assert ratings.codes("label")[2].tolist() == [1, 1, 1, 0, 0, 0]
    assert any(note.startswith("Read as one value in label: ") for note in ratings.notes)


def test_spellings_of_a_known_scale_become_its_own() -> None:
    table = frame(["yes", "No", "YES", "unsure"]).rename({"label": "Q_overall"})
    with pytest.raises(InvalidInput, match="--normalise") as error:
        Ratings.from_frame(table)
    assert error.value.options == ("--normalise",)
    assert Ratings.from_frame(table, normalise=True).codes("Q_overall")[2].tolist() == [2, 0, 2, 1]


def test_two_spellings_of_a_group_are_said() -> None:
    table = frame(["Yes", "No"] * 2, rater_g=["f", "F"] * 2)
    assert "rater_g has 'F', 'f', which count as 2 groups" in Ratings.from_frame(table, answer="label").notes[0]
    assert Ratings.from_frame(table, answer="label", normalise=True).group_codes("g")[1] == ("F",)


def test_whole_floats_are_whole_numbers_everywhere(tmp_path: Path) -> None:
    numbers = frame([1.0, 2.0, 5.0, 2.0], rater_age=[20.0, 30.0] * 2)
    numbers.write_csv(tmp_path / "x.csv")
    numbers.write_ndjson(tmp_path / "x.jsonl")
    numbers.write_parquet(tmp_path / "x.parquet")
    sources = [numbers, numbers.to_pandas(), *(tmp_path / f"x{end}" for end in (".csv", ".jsonl", ".parquet"))]
    for source in sources:
        ratings = read_ratings(source, answer="label")
        assert ratings.scale("label") == ("1", "2", "5")
        assert ratings.group_codes("age")[1] == ("20", "30")
        assert read_ratings(source, answer="label", categories=list("12345")).scale("label") == tuple("12345")
        assert read_ratings(source, answer="label", categories=["1.0", "2.0", "5.0"]).n_ratings == 4


def test_ids_of_one_number_in_two_formats_are_refused() -> None:
    table = frame(["Yes", "No"] * 2).with_columns(item_id=pl.Series(["1", "2", "1.0", "2"]))
    with pytest.raises(InvalidInput, match=r"Row 3: item_id is '1\.0', and other rows have '1'"):
        Ratings.from_frame(table, answer="label")
    names = table.with_columns(item_id=pl.Series(["v1.0", "v1"] * 2)).head(2)
    assert Ratings.from_frame(names, answer="label").n_items == 2


def test_large_numbers_that_differ_are_two_answers() -> None:
    big = 10**30
    assert Ratings.from_frame(frame([str(big), str(big + 1)]), answer="label").scale("label") == (
        str(big),
        str(big + 1),
    )


def test_an_ordered_categorical_declares_its_order() -> None:
    kind = pd.CategoricalDtype(["mild", "bad", "awful"], ordered=True)
    ages = pd.CategoricalDtype(["young", "middle", "elder"], ordered=True)
    table = frame(["bad", "mild", "awful", "mild"]).to_pandas().astype({"label": kind})
    table["rater_age"] = pd.Series(["elder", "young"] * 2, dtype=ages)
    ratings = read_ratings(table, answer="label")
    assert ratings.scale("label") == ("mild", "bad", "awful")
    assert ratings.group_codes("age")[1] == ("young", "elder")


def test_an_unordered_categorical_declares_none() -> None:
    table = frame(["bad", "mild"]).to_pandas().astype({"label": "category"})
    assert to_polars(table)["label"].dtype == pl.Categorical
    with pytest.raises(InvalidInput, match="order of the answers"):
        read_ratings(table, answer="label")


def test_ages_are_put_into_intervals_in_order() -> None:
    ages = [17, 18, 29, 30, 44, 45, 5, 99]
    table = frame(["Yes", "No"] * 8, rater_age=[str(age) for age in ages] * 2)
    ratings = read_ratings(table, answer="label", bins={"age": [18, 30, 45]})
    codes, groups = ratings.group_codes("age")
    assert groups == ("under 18", "18–29", "30–44", "45+")
    assert [groups[code] for code in codes] == [
        "under 18", "18–29", "18–29", "30–44", "30–44", "45+", "under 18", "45+",
    ]  # fmt: skip
    assert ratings.where("age", "45+").n_raters == 2


def test_values_that_are_no_numbers_stay_groups_after_the_intervals() -> None:
    table = frame(["Yes", "No", "No"] * 2, rater_age=["20", "Prefer not to say", "9"] * 2)
    ratings = read_ratings(table, answer="label", bins={"age": [18]})
    assert ratings.group_codes("age")[1] == ("under 18", "18+", "Prefer not to say")
    assert any("kept as separate groups: 'Prefer not to say'" in note for note in ratings.notes)


@pytest.mark.parametrize(
    ("bins", "error", "message"),
    [
        ({"age": []}, InvalidInput, "at least one number, in increasing order"),
        ({"age": [30, 18]}, InvalidInput, "in increasing order"),
        ({"g": [18]}, InvalidInput, "rater_g has no number to put into bins"),
        ({"height": [18]}, NotFound, "no axis 'height'"),
        ({"age*g": [18]}, InvalidInput, "is a crossed axis"),
    ],
)
def test_bins_are_checked(bins: dict[str, list[float]], error: type[Exception], message: str) -> None:
    table = frame(["Yes", "No"] * 2, rater_age=["20", "30"] * 2, rater_g=["x", "y"] * 2)
    with pytest.raises(error, match=message):
        read_ratings(table, answer="label", bins=bins)


def test_an_attribute_of_many_numbers_suggests_bins_that_work() -> None:
    ages = [str(20 + n) for n in range(40)]
    table = frame(["Yes", "No"] * 40, rater_age=ages * 2)
    note = read_ratings(table, answer="label").notes[-1]
    assert note.startswith(
        "rater_age has 40 different numbers, which are as many groups. For intervals: --bins age=30,40,"
    )
    binned = read_ratings(table, answer="label", bins={"age": [30, 40, 50]})
    assert len(binned.group_codes("age")[1]) == 4
    assert not any("--bins" in note for note in binned.notes)


def test_attributes_of_raters_are_found() -> None:
    table = frame(["Yes", "No"] * 2, country=["US", "IN"] * 2, topic=["a", "a", "b", "b"], note=["p", "q", "r", "s"])
    ratings = Ratings.from_frame(table, answer="label", rater_attributes="auto")
    assert ratings.axes == ("country",)


def test_the_text_of_items_is_read_by_any_name() -> None:
    table = frame(["Yes", "No"] * 2, comment=["one", "one", "two", "two"])
    assert Ratings.from_frame(table, answer="label", text="comment").items["item_text"].to_list() == ["one", "two"]
    default = Ratings.from_frame(table.rename({"comment": "text"}), answer="label")
    assert default.items["item_text"].to_list() == ["one", "two"]
    with pytest.raises(NotFound, match="no unused column 'words' with the texts"):
        Ratings.from_frame(table, answer="label", text="words")


def test_free_text_is_said_to_be_free_text() -> None:
    with pytest.raises(InvalidInput, match="look like free text"):
        Ratings.from_frame(frame([f"I think that {n}" for n in range(80)]), answer="label")


MULTIPLE = [
    pl.DataFrame(
        {
            "item_id": ["1", "1", "1", "2", "2"],
            "rater_id": ["a", "a", "b", "a", "b"],
            "label": ["rude", "false", "false", "none of these", "rude"],
        }
    ),
    pl.DataFrame(
        {
            "item_id": ["1", "1", "2", "2"],
            "rater_id": ["a", "b", "a", "b"],
            "label": ["rude | false", '["false"]', "none of these", "Rude"],
        }
    ),
]


@pytest.mark.parametrize("table", MULTIPLE)
def test_one_of_several_labels_is_a_question(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table, answer="label", has_label="rude")
    assert ratings.scale("label") == ("No", "Yes")
    assert ratings.codes("label")[2].tolist() == [1, 0, 0, 1]
    assert validate(table, answer="label", has_label="rude").ok


def test_rows_with_several_labels_are_checked_and_keep_their_numbers() -> None:
    table = pl.DataFrame(
        {
            "item_id": ["1", "1", "1", "2", "2"],
            "rater_id": ["a", "a", "a", "a", "b"],
            "rater_age": ["30", "30", "30", "31", "40"],
            "label": ["rude", "false", "spam", "rude", "spam"],
        }
    )
    with pytest.raises(InvalidInput, match="two values of rater_age: '30' in row 1 and '31' in row 4"):
        Ratings.from_frame(table, answer="label", has_label="rude")
    (problem,) = validate(table, answer="label", has_label="rude").problems()
    assert (problem.row, problem.value) == (4, "31")
    within = table.with_columns(rater_age=pl.Series(["30", "31", "30", "30", "40"]))
    (problem,) = validate(within, answer="label", has_label="rude").problems()
    assert (problem.row, problem.value) == (2, "31")
    valid = table.with_columns(rater_age=pl.Series([None, "30", "30", "30", "40"]))
    ratings = Ratings.from_frame(valid, answer="label", has_label="rude")
    assert ratings.codes("label")[2].tolist() == [1, 1, 0]
    assert ratings.raters["rater_age"].to_list() == ["30", "40"]
    result = validate(valid, answer="label", has_label="rude")
    assert (result.ok, result.n_rows) == (True, 5)


def test_a_label_that_nobody_gave_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"No rater gave the label 'rud'\. .* Did you mean 'rude'"):
        Ratings.from_frame(MULTIPLE[0], answer="label", has_label="rud")
    with pytest.raises(InvalidInput, match="--has-label LABEL reads whether one is among them"):
        Ratings.from_frame(MULTIPLE[0], answer="label", categories=["rude", "false", "none of these"])


def test_spellings_of_one_missing_word_are_counted_together() -> None:
    ratings = Ratings.from_frame(frame(["Yes", "NA", " NA", "No"]), answer="label")
    assert "Counted as missing in label: 2 × 'NA'." in ratings.notes


def test_answers_that_nobody_gave_are_whole_numbers_too() -> None:
    table = frame(["1.0", "2.0", "1.0", "2.0"]).with_columns(pl.col("label").cast(pl.Enum(["1.0", "2.0", "3.0"])))
    assert Ratings.from_frame(table, answer="label").scale("label") == ("1", "2", "3")


def test_bins_leave_infinite_numbers_apart() -> None:
    ages = pl.Series("rater_age", ["10", "20", "inf", "nan", "-inf"])
    binned, notes = bin_attribute(ages, [18, 30])
    assert binned.to_list() == ["under 18", "18–29", "inf", "nan", "-inf"]
    assert notes == ("rater_age has values that are not numbers, kept as separate groups: '-inf', 'inf', 'nan'.",)
    assert suggest_bins(pl.Series("rater_age", [*map(str, range(20)), *["inf"] * 15])) == [5, 10, 14]


def test_a_value_may_be_written_like_an_interval() -> None:
    binned, _ = bin_attribute(pl.Series("rater_age", ["10", "45+", "50"]), [18, 45])
    assert binned.to_list() == ["under 18", "45+", "45+"]


def test_intervals_of_large_numbers_have_names_of_their_own() -> None:
    assert label_intervals([1e6, 1e6 + 1, 1e6 + 2], whole=True) == ["under 1000000", "1000000", "1000001", "1000002+"]


def test_one_word_for_missing_values_of_a_table_of_raters_is_a_word() -> None:
    ratings = Ratings.from_frame(frame(["Yes", "No", "No", "No"]), answer="label")
    joined = ratings.with_raters(
        pl.DataFrame({"rater_id": ["r0", "r1"], "rater_group": ["r", "refused"]}), missing="refused"
    )
    assert joined.raters["rater_group"].to_list() == ["r", None]


def test_a_label_in_a_list_is_not_blank() -> None:
    table = frame(['["", "rude"]', '[""]', "fine|", '["fine"]'])
    ratings = Ratings.from_frame(table, answer="label", has_label="rude")
    assert ratings.n_ratings == 3
    with pytest.raises(InvalidInput, match="The labels of label are 'fine', 'rude'"):
        Ratings.from_frame(table, answer="label", has_label="x")
    assert split_set('["", "a"]', None) == ("a",)
    assert split_set(" ", None) == ()


def test_two_columns_cannot_get_one_name() -> None:
    with pytest.raises(InvalidInput, match="Two columns are renamed to 'label'"):
        rename_table(pl.DataFrame({"a": [1], "b": [2]}), {"a": "label", "b": "label"})


def test_automatic_attributes_are_added_to_named_ones() -> None:
    table = frame(["Yes", "No", "No", "No"], town=["x", "y", "x", "y"], job=["p", "q", "p", "q"])
    assert Ratings.from_frame(table, answer="label", rater_attributes=["auto", "job"]).axes == ("town", "job")


def test_an_answer_of_unknown_raters_cannot_be_called_item() -> None:
    table = frame(["Yes", "No"]).rename({"item_id": "id", "label": "item"})
    with pytest.raises(InvalidInput, match="'item' cannot be a question"):
        Ratings.from_frame(table, item="id", rater=None, answer="item")


@pytest.mark.parametrize("plain_id", ["b", "a b", "1", "007", "-1", "1.5", "v1.0", "1e", "1.0.0"])
def test_ids_without_spaces_and_decimals_are_plain(plain_id: str) -> None:
    assert cells.are_plain_ids(pl.Series(["a", plain_id]))


@pytest.mark.parametrize("other", [None, "", " ", " b", "b\n", "b\u00a0", "1.0", "-1.00", "1e5", "1.5E+3", "٣.0"])
def test_other_ids_are_not_plain(other: str | None) -> None:
    assert not cells.are_plain_ids(pl.Series(["a", other]))


def encode_ids(ids: list[str | None], dtype: type[pl.DataType], rules: CleaningRules) -> object:
    """Return the distinct ids, the code of each row and the failed checks, or the error."""
    findings = list[FailedCheck]()
    try:
        distinct, codes = CellCleaner(rules).encode_ids(pl.Series("item_id", ids, dtype=dtype), findings.append)
    except InvalidInput as error:
        return str(error)
    return distinct.to_list(), codes.tolist(), [(finding.check, finding.rows.tolist()) for finding in findings]


CELLS_OF_IDS = st.sampled_from([None, "", " ", "a", " a", "a\u00a0", "é", "v1.0", "1", "-1", "1.0", "-1.0", "1.5e3"])


@quick
@given(ids=st.lists(CELLS_OF_IDS, min_size=1, max_size=5), rules=st.sampled_from([CleaningRules(), AS_WRITTEN]))
@example(ids=["é", "a", "1", "a"], rules=CleaningRules())
@example(ids=["-1", "-1.0"], rules=CleaningRules())
@example(ids=["1.5e3"], rules=CleaningRules())
@example(ids=["a", ""], rules=AS_WRITTEN)
def test_plain_ids_are_encoded_like_all_others(ids: list[str | None], rules: CleaningRules) -> None:
    """Text is checked by its distinct values first, categories are checked row by row."""
    assert encode_ids(ids, pl.String, rules) == encode_ids(ids, pl.Categorical, rules)


def test_ids_have_the_codes_of_their_sorted_values() -> None:
    assert encode_ids(["b", "10", "2", "b", "é"], pl.String, CleaningRules()) == (
        ["10", "2", "b", "é"],
        [2, 0, 1, 2, 3],
        [],
    )
    assert encode_ids(["b ", None, "2", "b", ""], pl.String, CleaningRules()) == (
        ["2", "b"],
        [1, -1, 0, 1, -1],
        [("missing id", [1, 4])],
    )


def test_ids_as_written_keep_spaces_and_decimals() -> None:
    assert encode_ids([" 1", "1.0", "1", " 1"], pl.String, AS_WRITTEN) == ([" 1", "1", "1.0"], [0, 2, 1, 0], [])
