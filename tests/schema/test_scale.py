"""Answer scales: inference, order and validation."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.ratings.table import Ratings


def label_table(*labels: object) -> pl.DataFrame:
    raters = [f"r{number}" for number in range(len(labels))]
    return pl.DataFrame({"item_id": "1", "rater_id": raters, "label": pl.Series(labels, strict=False)})


def scale(*labels: object) -> tuple[str, ...]:
    return Ratings.from_frame(label_table(*labels), answer="label").scale("label")


def test_no_unsure_yes_have_their_order_under_any_name() -> None:
    assert scale("Yes", "No", "Unsure") == ("No", "Unsure", "Yes")
    assert scale("yes", "unsure") == ("no", "unsure", "yes")


def test_yes_and_no_alone_have_no_third_answer() -> None:
    assert scale("Yes", "No") == ("No", "Yes")
    assert scale("YES") == ("NO", "YES")
    assert scale(True, False) == ("false", "true")


def test_questions_that_are_read_together_share_the_third_answer() -> None:
    frame = label_table("Yes", "No").with_columns(pl.Series("other", ["Unsure", "No"]))
    ratings = Ratings.from_frame(frame, questions=["label", "other"])
    assert ratings.scale("label") == ratings.scale("other") == ("No", "Unsure", "Yes")


def test_the_published_question_keeps_its_scale() -> None:
    frame = label_table("Yes", "No").rename({"label": "Q_overall"})
    assert Ratings.from_frame(frame).scale("Q_overall") == ("No", "Unsure", "Yes")


def test_numbers_have_their_own_order() -> None:
    assert scale("10", "9", "-1", "2.5") == ("-1", "2.5", "9", "10")
    assert scale(3, 1, 2) == ("1", "2", "3")


def test_integral_floats_are_read_as_integers() -> None:
    assert scale(3.0, None, 1.0) == ("1", "3")
    assert scale(3.5, float("nan"), 1.0) == ("1.0", "3.5")


def test_an_enum_has_its_order() -> None:
    frame = label_table("low", "high").with_columns(pl.col("label").cast(pl.Enum(["low", "mid", "high"])))
    assert Ratings.from_frame(frame, answer="label").scale("label") == ("low", "mid", "high")


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=12))
def test_numeric_scales_are_sorted_and_complete(numbers: list[int]) -> None:
    assert [int(name) for name in scale(*map(str, numbers))] == sorted(set(numbers))


@pytest.mark.parametrize("labels", [("low", "high"), ("ja", "nein"), ("Yes", "1")])
def test_any_other_order_must_be_explicit(labels: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput) as error:
        scale(*labels)
    message = str(error.value)
    answers = sorted(labels)
    assert f"order of the answers to label is not known. It has {answers[0]!r}, {answers[1]!r}" in message
    assert f"--categories {','.join(answers)} (in Python: categories={answers!r})" in message
    assert error.value.options == ("--categories", ",".join(answers))


def test_an_answer_with_a_comma_can_be_pasted() -> None:
    with pytest.raises(InvalidInput, match=r"""--categories 'No,"Yes, a bit"'"""):
        scale("No", "Yes, a bit")


def test_one_number_in_several_formats_is_rejected() -> None:
    with pytest.raises(InvalidInput, match=r"'01', '1' are one number written differently"):
        scale("1", "2", "1.0", "01")


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        (["Yes", "Unsure"], "Nobody answered 'No' to label. It is assumed that raters could have"),
        (["Yes", "No"], "The answers to label are 'No', 'Yes'; if others, such as 'Unsure', were possible"),
        (["1", "2", "4"], "The answers to label are '1', '2', '4'; if others were possible"),
    ],
)
def test_an_inferred_scale_is_noted(labels: list[str], note: str) -> None:
    ids = [str(i) for i in range(len(labels))]
    frame = pl.DataFrame({"item_id": ids, "rater_id": ids, "label": labels})
    assert note in Ratings.from_frame(frame, answer="label").notes[0]
    assert not Ratings.from_frame(frame, answer="label", categories=labels).notes


def test_an_answer_of_the_published_scale_that_nobody_gave_is_noted() -> None:
    frame = pl.DataFrame({"item_id": ["1", "2"], "rater_id": ["1", "1"], "Q_overall": ["No", "Yes"]})
    (note,) = Ratings.from_frame(frame).notes
    assert note.startswith("Nobody answered 'Unsure' to Q_overall. It is assumed that raters could have")
    assert not Ratings.from_frame(frame, categories=["No", "Yes"]).notes
    declared = frame.cast({"Q_overall": pl.Enum(["No", "Unsure", "Yes"])})
    assert not Ratings.from_frame(declared).notes
    (shared,) = Ratings.from_frame(
        frame.with_columns(Q_gold=pl.col("Q_overall")), questions=["Q_overall", "Q_gold"]
    ).notes
    assert "'Unsure' to 'Q_overall', 'Q_gold'" in shared


def test_a_column_of_texts_is_probably_the_wrong_one() -> None:
    with pytest.raises(InvalidInput, match=r"and 88 more\. These look like free text .* Is it the right column"):
        scale(*(f"a sentence that was said, number {number}" for number in range(100)))


def test_a_measurement_is_not_a_scale() -> None:
    with pytest.raises(InvalidInput, match="order of the answers"):
        scale(*range(1001))
    assert len(scale(*range(1000))) == 1000


def test_categories_give_the_order() -> None:
    ratings = Ratings.from_frame(label_table("low", "high"), answer="label", categories=["low", "mid", "high"])
    assert ratings.scale("label") == ("low", "mid", "high")
    assert ratings.codes("label")[2].tolist() == [0, 2]


def test_an_answer_outside_the_categories_is_unknown() -> None:
    with pytest.raises(InvalidInput, match=r"Row 2: 'high' is not an answer to label\. Allowed are 'low', 'mid'"):
        Ratings.from_frame(label_table("low", "high"), answer="label", categories=["low", "mid"])


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (["a", "b", "a"], "names 'a' twice"),
        ([], "at least one answer"),
        (["a", ""], "none may be empty"),
        ("a,b", "must be a list"),
    ],
)
def test_categories_are_checked(categories: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Ratings.from_frame(label_table("a", "b"), answer="label", categories=categories)


def test_the_only_question_is_read_without_being_named(table: pl.DataFrame) -> None:
    assert Ratings.from_frame(table.rename({"Q_overall": "Q3_bias_other"})).questions == ("Q3_bias_other",)


def test_the_overall_is_read_unless_others_are_named(table: pl.DataFrame) -> None:
    frame = table.with_columns(Q4_misinformation=pl.lit("No"))
    assert Ratings.from_frame(frame).questions == ("Q_overall",)
    ratings = Ratings.from_frame(frame, questions=["Q4_misinformation", "Q_overall"])
    assert ratings.questions == ("Q4_misinformation", "Q_overall")


def test_all_questions_are_those_with_a_known_scale(table: pl.DataFrame) -> None:
    frame = table.with_columns(Q_tone=pl.Series(["kind", "rude"] * 4), Q2=pl.lit("4"))
    ratings = Ratings.from_frame(frame, questions="all")
    assert ratings.questions == ("Q_overall", "Q2")
    assert ratings.notes == ("Left out, because the order of their answers is not known: 'Q_tone'.",)


def test_when_no_question_has_a_known_scale_there_is_nothing_to_read() -> None:
    with pytest.raises(InvalidInput, match="order of the answers to Q1 is not known"):
        Ratings.from_frame(label_table("low", "high").rename({"label": "Q1"}), questions="all")


def test_each_question_has_its_own_missing_answers(table: pl.DataFrame) -> None:
    frame = table.with_columns(Q2=pl.Series(["Yes", None, None, "No"] + ["Yes"] * 4))
    ratings = Ratings.from_frame(frame, questions="all")
    assert ratings.n_ratings == 8
    assert len(ratings.codes("Q_overall")[2]) == 8
    assert len(ratings.codes("Q2")[2]) == 6


def test_a_question_that_was_not_read(table: pl.DataFrame) -> None:
    with pytest.raises(NotFound, match=r"'Q_overal' was not read\. Did you mean 'Q_overall'\?.*--question"):
        Ratings.from_frame(table).codes("Q_overal")
