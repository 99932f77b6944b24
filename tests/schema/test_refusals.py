"""Errors of invalid ratings tables."""

import polars as pl
import pytest

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.ratings.table import Ratings


def with_row(table: pl.DataFrame, row: int, **values: str | None) -> pl.DataFrame:
    """Change one row, counted from 1."""
    is_row = pl.int_range(pl.len()) == row - 1
    return table.with_columns(
        pl.when(is_row).then(pl.lit(value, pl.String)).otherwise(name).alias(name) for name, value in values.items()
    )


@pytest.mark.parametrize(
    ("column", "name", "remedy"),
    [
        ("item_id", "itemid", "Use --item (in Python: item=...) to name the column with the ids of the items."),
        ("rater_id", "raterId", "By their names they may be --rater raterId (in Python: rater='raterId')."),
    ],
)
def test_a_missing_id_column(table: pl.DataFrame, column: str, name: str, remedy: str) -> None:
    with pytest.raises(NotFound) as error:
        Ratings.from_frame(table.rename({column: name}))
    message = str(error.value)
    assert f"no column '{column}'. Did you mean '{name}'?" in message
    assert remedy in message
    assert "'Q_overall'" in message


def test_without_raters_groups_cannot_be_compared(table: pl.DataFrame) -> None:
    with pytest.raises(NotFound, match="they are needed to compare groups of people"):
        Ratings.from_frame(table.drop("rater_id"))


def test_a_missing_answer_column(table: pl.DataFrame) -> None:
    with pytest.raises(NotFound, match=r"no column 'Q_overal'\. Did you mean 'Q_overall'\?.*--answer"):
        Ratings.from_frame(table, answer="Q_overal")
    with pytest.raises(NotFound, match=r"No column has a name like Q_overall.*'item_id'.*--answer"):
        Ratings.from_frame(table.drop("Q_overall"))


def test_a_missing_rater_attribute(table: pl.DataFrame) -> None:
    with pytest.raises(NotFound, match=r"no column 'ethnicity' .*attribute of raters.*'rater_race'"):
        Ratings.from_frame(table, rater_attributes=["ethnicity"])


def test_several_answer_columns_and_no_overall(table: pl.DataFrame) -> None:
    frame = table.rename({"Q_overall": "Q2"}).with_columns(Q3=pl.lit("No"))
    with pytest.raises(InvalidInput, match=r"no Q_overall, .*'Q2', 'Q3'\. Name one with --question"):
        Ratings.from_frame(frame)


def test_one_column_for_two_things(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="Column 'item_id' is named for two things"):
        Ratings.from_frame(table, rater="item_id")
    with pytest.raises(InvalidInput, match="Column 'rater_id' is named for two things"):
        Ratings.from_frame(table, answer="rater_id")


def test_no_question_at_all(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="questions is empty"):
        Ratings.from_frame(table, questions=[])


def test_two_ways_to_name_the_answers(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="Give one of them"):
        Ratings.from_frame(table, answer="Q_overall", questions=["Q2"])


def test_an_answer_column_cannot_be_called_item(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="Column 'item' cannot be a question"):
        Ratings.from_frame(table.rename({"Q_overall": "item"}), answer="item")


def test_a_pair_rated_twice(table: pl.DataFrame) -> None:
    duplicated = pl.concat([table, table[1:2], table[0:2]])
    with pytest.raises(InvalidInput) as error:
        Ratings.from_frame(duplicated)
    message = str(error.value)
    assert "Rater 'ann' rated item '1' twice, in row 2 and row 9." in message
    assert "2 more such rows." in message


@pytest.mark.parametrize("empty", [None, ""])
@pytest.mark.parametrize("column", ["item_id", "rater_id"])
def test_an_empty_id(table: pl.DataFrame, column: str, empty: str | None) -> None:
    frame = with_row(with_row(table, 3, **{column: empty}), 5, **{column: empty})
    with pytest.raises(InvalidInput, match=rf"Row 3: {column} is empty\..*1 more such row\."):
        Ratings.from_frame(frame)


def test_an_unknown_answer(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput) as error:
        Ratings.from_frame(with_row(with_row(table, 4, Q_overall="yes "), 7, Q_overall="Maybe"))
    message = str(error.value)
    assert "Row 4: 'yes' is not an answer to Q_overall." in message
    assert "Did you mean 'Yes'? Allowed are 'No', 'Unsure', 'Yes'." in message
    assert "1 more such row." in message
    assert "--categories" in message


def test_a_long_answer_is_cut_short(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput) as error:
        Ratings.from_frame(with_row(table, 1, Q_overall="x" * 10_000))
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("owner", "column", "value", "message"),
    [
        ("rater", "rater_race", "Asian", "'ann' has two values of rater_race: 'White' in row 2 and 'Asian' in row 8"),
        ("item", "degree_of_harm", "Extreme", "'10' has two values of degree_of_harm: 'Benign' in row 5 and"),
    ],
)
def test_two_values_of_an_attribute(table: pl.DataFrame, owner: str, column: str, value: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message + rf".*Each {owner} has one"):
        Ratings.from_frame(with_row(table, 8, **{column: value}))


@pytest.mark.parametrize("column", ["context", "response", "phase", "harm_type", "safety_gold", "item_source"])
def test_item_attributes_are_one_per_item(table: pl.DataFrame, column: str) -> None:
    with pytest.raises(InvalidInput, match=f"has two values of {column}"):
        Ratings.from_frame(table.with_columns(pl.int_range(8).alias(column)))


def test_an_attribute_may_be_empty_in_some_rows(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(with_row(table, 2, rater_race=None, degree_of_harm=""))
    complete = Ratings.from_frame(table)
    assert ratings.raters.equals(complete.raters)
    assert ratings.items.equals(complete.items)


def test_no_rows(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="no rows"):
        Ratings.from_frame(table.clear())


@pytest.mark.parametrize("empty", [None, ""])
def test_no_answers(table: pl.DataFrame, empty: str | None) -> None:
    with pytest.raises(InvalidInput, match="no answers in 'Q_overall'"):
        Ratings.from_frame(table.with_columns(Q_overall=pl.lit(empty, pl.String)))


@pytest.mark.parametrize("empty", [None, ""])
def test_a_missing_answer_is_not_a_rating(table: pl.DataFrame, empty: str | None) -> None:
    ratings = Ratings.from_frame(with_row(table, 2, Q_overall=empty))
    assert ratings.notes == ("1 row has no answer to Q_overall and counts as not rated.",)
    assert ratings.answers.equals(Ratings.from_frame(table.filter(pl.int_range(8) != 1)).answers)
    ratings = Ratings.from_frame(with_row(with_row(table, 2, Q_overall=empty), 3, Q_overall=empty))
    assert ratings.notes == ("2 rows have no answer to Q_overall and count as not rated.",)
    assert ratings.n_items == 2


def test_integer_ids_become_text(table: pl.DataFrame) -> None:
    frame = table.with_columns(pl.col("item_id").cast(pl.Int64))
    assert Ratings.from_frame(frame).items.equals(Ratings.from_frame(table).items)


def test_text_ids_are_kept_as_written(table: pl.DataFrame) -> None:
    new_ids = {"1": "007", "2": "296708581782793.0", "10": "1e5"}
    ids = Ratings.from_frame(table.with_columns(pl.col("item_id").replace(new_ids))).items["item_id"]
    assert ids.to_list() == ["007", "1e5", "296708581782793.0"]


def test_decimal_ids_are_refused(table: pl.DataFrame) -> None:
    frame = table.with_columns(pl.col("item_id").cast(pl.Float64))
    with pytest.raises(InvalidInput, match=r"item_id holds decimal numbers \(row 1: 2\.0\).*as text.*dtype="):
        Ratings.from_frame(frame)


def test_other_ids_are_refused(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="item_id holds Boolean; ids are text or whole numbers"):
        Ratings.from_frame(table.with_columns(item_id=pl.lit(value=True)))


@pytest.mark.parametrize("column", ["rater_race", "Q_overall"])
def test_lists_are_refused(table: pl.DataFrame, column: str) -> None:
    with pytest.raises(InvalidInput, match=rf"Column {column} holds List\(String\), not one value a row"):
        Ratings.from_frame(table.with_columns(pl.concat_list(column).alias(column)))
