"""Ratings tables: codes, groups, subsets, flags, joins, counts and times."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.rating_tables import are_equal

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.table import Ratings


def test_counts_questions_axes_and_scale(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table)
    assert (ratings.n_ratings, ratings.n_items, ratings.n_raters) == (8, 3, 3)
    assert ratings.questions == ("Q_overall",)
    assert ratings.axes == ("rater_gender", "rater_race")
    assert ratings.scale("Q_overall") == ("No", "Unsure", "Yes")
    assert ratings.notes == ()


def test_own_words_are_neither_answers_nor_an_axis(table: pl.DataFrame) -> None:
    frame = table.with_columns(Q_overall_text=pl.lit("as I said"), rater_gender_text=pl.lit("a private matter"))
    ratings = Ratings.from_frame(frame)
    assert ratings.questions == ("Q_overall",)
    assert ratings.axes == ("rater_gender", "rater_race")


def test_tables_are_sorted_by_id_as_text(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table)
    assert ratings.raters["rater_id"].to_list() == ["ann", "bob", "cy"]
    assert ratings.items.rows() == [("1", "Extreme"), ("10", "Benign"), ("2", "Benign")]
    assert ratings.answers.select("item", "rater").rows() == [
        (0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2),
    ]  # fmt: skip
    assert ratings.answers.dtypes[:2] == [pl.UInt32, pl.UInt32]


def test_codes_point_into_the_tables(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table)
    item, rater, answer = ratings.codes("Q_overall")
    assert [codes.dtype.name for codes in (item, rater, answer)] == ["int32", "int32", "int16"]
    rows = {
        (ratings.items["item_id"][i], ratings.raters["rater_id"][r], ratings.scale("Q_overall")[a])
        for i, r, a in zip(item.tolist(), rater.tolist(), answer.tolist(), strict=True)
    }
    assert rows == set(table.select("item_id", "rater_id", "Q_overall").rows())


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(random) -> None:  # type: ignore[no-untyped-def]
    pairs = [(item, rater) for item in range(4) for rater in range(3)]
    rows = [(f"i{i}", f"r{r}", "ABC"[r], ["No", "Yes", None][(i + r) % 3]) for i, r in pairs]
    shuffled = random.sample(rows, len(rows))
    columns = ["item_id", "rater_id", "rater_x", "Q_overall"]
    ratings, reordered = (Ratings.from_frame(pl.DataFrame(r, schema=columns, orient="row")) for r in (rows, shuffled))
    assert are_equal(ratings, reordered)


def test_other_columns_are_ignored(table: pl.DataFrame) -> None:
    extra = table.with_columns(id=pl.int_range(8), answer_timestamp=pl.int_range(8), comment=pl.lit("x"))
    assert are_equal(Ratings.from_frame(extra), Ratings.from_frame(table))


def test_the_repr_is_one_line(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table)
    assert repr(ratings).startswith("Ratings(8 ratings of 3 items by 3 raters; ")
    assert "\n" not in repr(ratings)


def test_the_html_escapes_names(table: pl.DataFrame) -> None:
    html = Ratings.from_frame(table.rename({"rater_race": "rater_<b>"}))._repr_html_()
    assert "<th>raters</th><td>3</td>" in html
    assert "rater_&lt;b&gt;" in html


# groups


def test_groups_of_an_axis_are_sorted(table: pl.DataFrame) -> None:
    codes, groups = Ratings.from_frame(table).group_codes("gender")
    assert groups == ("Man", "Woman")
    assert codes.tolist() == [1, 0, 0]
    assert codes.dtype == np.int32


def test_crossed_axes_have_the_cells_that_occur(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table)
    assert ratings.axis_name("race * gender") == "rater_race*rater_gender"
    codes, groups = ratings.group_codes("race*gender")
    assert groups == ("Asian × Man", "White × Man", "White × Woman")
    assert codes.tolist() == [2, 0, 1]


def test_a_rater_with_an_unknown_attribute_is_in_no_group(table: pl.DataFrame) -> None:
    bob = pl.col("rater_id") == "bob"
    ratings = Ratings.from_frame(table.with_columns(rater_race=pl.when(~bob).then("rater_race")))
    assert ratings.group_codes("race")[0].tolist() == [0, -1, 0]
    assert ratings.group_codes("race*gender")[0].tolist() == [1, -1, 0]


def test_an_axis_unknown_for_all_has_no_groups(table: pl.DataFrame) -> None:
    codes, groups = Ratings.from_frame(table.with_columns(rater_age=pl.lit(None))).group_codes("age")
    assert (codes.tolist(), groups) == ([-1, -1, -1], ())


def test_an_axis_may_have_any_name_when_named(table: pl.DataFrame) -> None:
    frame = table.rename({"rater_race": "ethnicity"})
    assert Ratings.from_frame(frame).axes == ("rater_gender",)
    ratings = Ratings.from_frame(frame, rater_attributes=["ethnicity"])
    assert ratings.axes == ("rater_gender", "ethnicity")
    assert ratings.axis_name("ethnicity*gender") == "ethnicity*rater_gender"


def test_an_unknown_axis_lists_the_axes(table: pl.DataFrame) -> None:
    with pytest.raises(NotFound, match=r"no axis 'genre'.*'rater_gender', 'rater_race'.*Did you mean 'gender'"):
        Ratings.from_frame(table).group_codes("genre")


def test_an_axis_cannot_be_crossed_with_itself(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="crosses an axis with itself"):
        Ratings.from_frame(table).axis_name("race*rater_race")


# subsets


def test_where_keeps_items_and_encodes_again(table: pl.DataFrame) -> None:
    selected = Ratings.from_frame(table).where("degree_of_harm", "Extreme")
    expected = Ratings.from_frame(table.filter(pl.col("degree_of_harm") == "Extreme"))
    assert are_equal(replace(selected, notes=()), replace(expected, notes=()))
    assert selected.notes == ("Only ratings whose degree_of_harm is Extreme.",)
    assert selected.raters["rater_id"].to_list() == ["ann", "bob"]


def test_where_keeps_raters_under_the_short_name(table: pl.DataFrame) -> None:
    selected = Ratings.from_frame(table).where("gender", "Man")
    expected = Ratings.from_frame(table.filter(pl.col("rater_gender") == "Man"))
    assert are_equal(replace(selected, notes=()), replace(expected, notes=()))
    assert selected.notes == ("Only ratings whose rater_gender is Man.",)


def test_where_lists_the_values_when_the_value_is_unknown(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match=r"'extreme'.*'Benign', 'Extreme'\. Did you mean 'Extreme'\?"):
        Ratings.from_frame(table).where("degree_of_harm", "extreme")


def test_where_lists_the_attributes_when_the_attribute_is_unknown(table: pl.DataFrame) -> None:
    with pytest.raises(NotFound, match=r"'degree_of_arm'\. Did you mean 'degree_of_harm'\?.*'rater_race'"):
        Ratings.from_frame(table).where("degree_of_arm", "Extreme")


@pytest.mark.parametrize("column", ["rater_flagged", "removed_by_authors"])
@pytest.mark.parametrize(
    ("true", "false"), [(True, False), ("True", "False"), ("1", "0"), (1, 0), (1.0, 0.0), ("Yes", "No")]
)
def test_flagged_raters_are_excluded_on_request(table: pl.DataFrame, column: str, true: object, false: object) -> None:
    bob = pl.col("rater_id") == "bob"
    ratings = Ratings.from_frame(
        table.with_columns(pl.when(bob).then(pl.lit(true)).otherwise(pl.lit(false)).alias(column))
    )
    assert ratings.raters["rater_flagged"].to_list() == [False, True, False]
    assert ratings.axes == ("rater_gender", "rater_race")
    selected = ratings.exclude_flagged()
    assert selected.raters["rater_id"].to_list() == ["ann", "cy"]
    assert selected.answers.equals(Ratings.from_frame(table.filter(~bob)).answers)


def test_spellings_of_a_flag_are_one_value(table: pl.DataFrame) -> None:
    flags = pl.Series(["0", "yes", "no", "TRUE", "False", "No", "0", "1"])
    ratings = Ratings.from_frame(table.with_columns(rater_flagged=flags))
    assert ratings.raters.select("rater_id", "rater_flagged").rows() == [("ann", True), ("bob", False), ("cy", False)]


def test_without_a_flag_nobody_can_be_excluded(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match=r"rater_flagged \(or removed_by_authors\)"):
        Ratings.from_frame(table).exclude_flagged()


def test_when_all_are_flagged_nothing_is_left(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="Every rater is flagged"):
        Ratings.from_frame(table.with_columns(rater_flagged=True)).exclude_flagged()


def test_the_flag_must_be_a_flag(table: pl.DataFrame) -> None:
    frame = table.with_columns(rater_flagged=pl.Series(["no"] * 4 + ["maybe", None, "no", "no"]))
    with pytest.raises(InvalidInput, match=r"Row 5: rater_flagged is 'maybe'.*true, false, 1.*1 more such row\."):
        Ratings.from_frame(frame)
    with pytest.raises(InvalidInput, match=r"Row 1: rater_flagged is 'maybe'.*7 more such rows\."):
        Ratings.from_frame(table.with_columns(rater_flagged=pl.lit("maybe")))
    with pytest.raises(InvalidInput, match="Row 1: rater_flagged is empty"):
        Ratings.from_frame(table.with_columns(rater_flagged=pl.lit("")))


def test_the_flag_is_one_per_rater(table: pl.DataFrame) -> None:
    frame = table.with_columns(rater_flagged=pl.Series([False] * 7 + [True]))
    with pytest.raises(InvalidInput, match=r"'ann' has two values of rater_flagged: .* row 2 .* row 8"):
        Ratings.from_frame(frame)


def official(raters: list[str]) -> pl.DataFrame:
    dices = load_questionnaire("dices-350")
    columns = [question.name for question in dices.questions] + list(dices.overalls)
    frame = pl.DataFrame({"item_id": ["1"] * len(raters), "rater_id": raters})
    return frame.with_columns(pl.lit("No").alias(name) for name in columns)


def test_the_official_file_has_its_removed_raters_flagged() -> None:
    removed = load_questionnaire("dices-350").flagged_raters[0]
    ratings = Ratings.from_frame(official([removed, "296000000000000"]))
    assert ratings.raters.filter("rater_flagged")["rater_id"].to_list() == [removed]
    assert any("README lists as removed" in note for note in ratings.notes)
    assert ratings.exclude_flagged().n_raters == 1


def test_the_same_questionnaire_with_other_raters_flags_nobody() -> None:
    assert Ratings.from_frame(official(["ann", "bob"])).raters.columns == ["rater_id"]


def test_the_same_raters_in_another_table_are_not_flagged(table: pl.DataFrame) -> None:
    removed = load_questionnaire("dices-350").flagged_raters[0]
    ratings = Ratings.from_frame(table.with_columns(rater_id=pl.col("rater_id").replace("ann", removed)))
    assert removed in ratings.raters["rater_id"]
    assert "rater_flagged" not in ratings.raters.columns


# tables of items


def items_of(table: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({"item_id": ["10", "2", "1"], "topic": ["a", "b", "c"]})


def test_items_are_joined_by_id(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table).with_items(items_of(table))
    assert ratings.items.select("item_id", "topic").rows() == [("1", "c"), ("10", "a"), ("2", "b")]
    assert ratings.where("topic", "c").n_items == 1


def test_a_rated_item_must_be_in_the_table_of_items(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match=r"no row for 2 of the 3 rated items: '10', '2'"):
        Ratings.from_frame(table).with_items(items_of(table).tail(1))


def test_an_item_has_one_row_in_the_table_of_items(table: pl.DataFrame) -> None:
    items = items_of(table)
    with pytest.raises(InvalidInput, match=r"Item '10' is twice .* row 1 and row 4"):
        Ratings.from_frame(table).with_items(pl.concat([items, items.head(1)]))


def test_unrated_items_are_counted_in_a_note(table: pl.DataFrame) -> None:
    unrated = pl.DataFrame({"item_id": ["7"], "topic": ["d"]})
    ratings = Ratings.from_frame(table).with_items(pl.concat([items_of(table), unrated]))
    assert ratings.notes == ("1 of the 4 items in the table of items has no ratings.",)
    assert ratings.n_items == 3


def test_the_table_of_items_fills_in_and_never_contradicts(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table.with_columns(phase=pl.when(pl.col("item_id") == "1").then(pl.lit("P1"))))
    items = items_of(table)
    filled = ratings.with_items(items.with_columns(phase=pl.Series(["P2", "P3", None])))
    assert filled.items["phase"].to_list() == ["P1", "P2", "P3"]
    with pytest.raises(InvalidInput, match=r"Item '1' has phase 'P1' in the ratings and 'P4' in the table of items"):
        ratings.with_items(items.with_columns(phase=pl.Series(["P2", "P3", "P4"])))


# anonymous counts


def test_without_raters_answers_are_counts(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table.drop("rater_id"), rater=None)
    assert (ratings.n_ratings, ratings.n_items, ratings.n_raters, ratings.has_raters) == (8, 3, 0, False)
    assert ratings.axes == ()
    assert "unknown raters" in repr(ratings)
    assert any("counts" in note for note in ratings.notes)
    _, rater, _ = ratings.codes("Q_overall")
    assert len(set(rater.tolist())) == 8


def test_without_raters_their_columns_are_not_read_as_axes_of_items(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table, rater=None)
    assert not {"rater_gender", "rater_race"} & set(ratings.items.columns)


def test_operations_that_need_raters_fail_without_them(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table, rater=None)
    operations = (
        ratings.exclude_flagged,
        lambda: ratings.group_codes("gender"),
        lambda: ratings.with_raters(pl.DataFrame({"rater_id": ["ann"]})),
    )
    for operation in operations:
        with pytest.raises(InvalidInput, match=r"needs to know who gave which answer.*--no-raters"):
            operation()


def test_some_items_of_ratings_without_raters(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table, rater=None).where("degree_of_harm", "Benign")
    assert (ratings.n_ratings, ratings.n_items) == (6, 2)
    assert not ratings.has_raters


# a table of raters


def test_attributes_and_flags_of_raters_are_joined(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table.drop("rater_race"))
    ids = ratings.raters["rater_id"].to_list()
    rater_table = pl.DataFrame(
        {"rater_id": ids[::-1], "rater_age": ["x", "y", None], "rater_flagged": ["no", "yes", "no"]}
    )
    with_attributes = ratings.with_raters(rater_table)
    assert with_attributes.axes == ("rater_gender", "rater_age")
    assert with_attributes.raters["rater_age"].to_list() == [None, "y", "x"]
    assert with_attributes.raters["rater_flagged"].to_list() == [False, True, False]
    assert with_attributes.exclude_flagged().n_raters == 2


def test_flags_of_a_table_of_raters_replace_existing_flags(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table.with_columns(rater_flagged=pl.lit("no")))
    flags = pl.DataFrame({"rater_id": ratings.raters["rater_id"], "removed_by_authors": ["True", "False", "False"]})
    assert ratings.with_raters(flags).raters["rater_flagged"].to_list() == [True, False, False]


def test_an_invalid_table_of_raters_is_rejected(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table)
    ids = ratings.raters["rater_id"]
    with pytest.raises(InvalidInput, match="table of raters has no row for 2 of the 3 raters"):
        ratings.with_raters(pl.DataFrame({"rater_id": ids[:1]}))
    with pytest.raises(InvalidInput, match="twice in the table of raters, in row 1 and row 4"):
        ratings.with_raters(pl.DataFrame({"rater_id": [*ids, ids[0]]}))
    with pytest.raises(InvalidInput, match=r"has rater_gender .* in the table of raters"):
        ratings.with_raters(pl.DataFrame({"rater_id": ids, "rater_gender": ["x", "x", "x"]}))
    with pytest.raises(InvalidInput, match="Row 2: rater_flagged is 'perhaps'"):
        ratings.with_raters(pl.DataFrame({"rater_id": ids, "rater_flagged": ["no", "perhaps", "no"]}))


# times


def test_times_are_read_beside_the_answers(table: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(table.with_columns(answer_time_ms=pl.Series(["1500", "", *["2.5"] * 6])))
    assert ratings.questions == ("Q_overall",)
    times = ratings.answers["answer_time_ms"]
    assert times.dtype == pl.Float64
    assert sorted(times.drop_nulls().to_list()) == [2.5] * 6 + [1500.0]
    assert "answer_time_ms" in ratings.select_question("Q_overall").answers.columns


@pytest.mark.parametrize("time", ["-1", "soon", "inf", "nan"])
def test_an_invalid_time_is_rejected(table: pl.DataFrame, time: str) -> None:
    times = pl.Series(["1500", time, *[None] * 6], dtype=pl.String)
    with pytest.raises(InvalidInput, match=rf"Row 2: answer_time_ms is '{time}'.*milliseconds, 0 or more"):
        Ratings.from_frame(table.with_columns(answer_time_ms=times))
