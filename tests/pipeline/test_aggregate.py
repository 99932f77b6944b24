"""Overalls of questions and labels of raters."""

from collections.abc import Callable
from itertools import product

import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import overall_answers, plurality, resampled_labels, soft_labels, worst_answer
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.table import Ratings

ANSWERS = ("No", "Unsure", "Yes", None)


def apply_rule(answers: tuple[str | None, ...]) -> str | None:
    """DICES section 4: any Yes is Yes, else any Unsure is Unsure, else No; unknown where a Yes may be missing."""
    if "Yes" in answers:
        return "Yes"
    if None in answers:
        return None
    return "Unsure" if "Unsure" in answers else "No"


def test_truth_table_of_the_dices_rule() -> None:
    """All 64 answers to three questions; a fourth is always answered, so that no row is blank."""
    cases = list(product(ANSWERS, repeat=3))
    frame = pl.DataFrame(
        {
            "item_id": [f"{i:02}" for i in range(len(cases))],
            "rater_id": ["a"] * len(cases),
            "Q2": [case[0] for case in cases],
            "Q3": [case[1] for case in cases],
            "Q4": [case[2] for case in cases],
            "Q5": ["No"] * len(cases),
        }
    )
    ratings = Ratings.from_frame(frame, questions=["Q2", "Q3", "Q4", "Q5"])
    assert worst_answer(ratings, ["Q2", "Q3", "Q4"]).to_list() == [apply_rule(case) for case in cases]
    assert worst_answer(ratings, ["Q2"]).to_list() == [case[0] for case in cases]
    worst = worst_answer(ratings, ["Q2", "Q3"])
    assert worst.dtype == pl.Enum(["No", "Unsure", "Yes"])


def test_questions_of_two_scales_have_no_worst_answer() -> None:
    frame = pl.DataFrame({"item_id": ["1"], "rater_id": ["a"], "Q_overall": ["No"], "Q_severity": ["3"]})
    ratings = Ratings.from_frame(frame, questions=["Q_overall", "Q_severity"])
    with pytest.raises(InvalidInput, match="Q_severity has the scale 3 and Q_overall has No, Unsure, Yes"):
        worst_answer(ratings, ["Q_overall", "Q_severity"])


def test_no_question_and_an_unknown_one_are_refused() -> None:
    ratings = ratings_of({"a": "NY"}, {})
    with pytest.raises(InvalidInput, match="questions is empty"):
        worst_answer(ratings, [])
    with pytest.raises(NotFound, match="'Q9'"):
        worst_answer(ratings, ["Q9"])


def granular(name: str, answer: Callable[[int, int], str]) -> Ratings:
    """Return a table with every column of a questionnaire, whose overalls contradict the rule."""
    questionnaire = load_questionnaire(name)
    rows = []
    for row in range(6):
        answers = {
            question.name: answer(row, place) if question.in_overall else question.scale[0]
            for place, question in enumerate(questionnaire.questions)
        }
        rows.append(
            {
                "item_id": str(row // 2),
                "rater_id": str(row % 2),
                **answers,
                **dict.fromkeys(questionnaire.overalls, "No"),
            }
        )
    return read_ratings(pl.DataFrame(rows), questions="all")


@pytest.mark.parametrize("name", ["dices-350", "dices-990"])
def test_overalls_of_a_table_like_the_official_one(name: str) -> None:
    questionnaire = load_questionnaire(name)
    positions = {question.name: position for position, question in enumerate(questionnaire.questions)}

    def answer(row: int, position: int) -> str:
        return "Yes" if position == 3 * row + 2 else "Unsure" if (row + position) % 7 == 0 and row % 2 else "No"

    result = overall_answers(granular(name, answer), questionnaire)
    assert result.columns == ["item_id", "rater_id", *questionnaire.overalls]
    assert result.select("item_id", "rater_id").rows() == [(str(r // 2), str(r % 2)) for r in range(6)]
    for overall, parts in questionnaire.overalls.items():
        assert result[overall].to_list() == [
            apply_rule(tuple(answer(row, positions[part]) for part in parts)) for row in range(6)
        ], overall
    assert len({answer for overall in questionnaire.overalls for answer in result[overall]}) == 3


@pytest.mark.parametrize("name", ["dices-350", "dices-990"])
def test_one_yes_is_counted_in_its_category_and_in_the_overall(name: str) -> None:
    questionnaire = load_questionnaire(name)
    for position, question in enumerate(questionnaire.questions):
        if not question.in_overall:
            continue
        result = overall_answers(granular(name, lambda row, at: "Yes" if at == position else "No"), questionnaire)  # noqa: B023
        unsafe = {overall for overall in questionnaire.overalls if result[overall][0] == "Yes"}
        expected = {question.category} if question.category else set()
        if question.in_overall:
            expected.add("Q_overall")
        assert unsafe == expected, question.name


@pytest.mark.parametrize("name", ["dices-350", "dices-990"])
def test_the_questions_tell_the_questionnaire(name: str) -> None:
    ratings = granular(name, lambda row, place: "Yes" if place == row + 2 else "No")
    assert overall_answers(ratings).equals(overall_answers(ratings, load_questionnaire(name)))


def test_questions_of_no_questionnaire_have_no_overalls() -> None:
    missing = r"no questionnaire has all .* those read \('Q_overall'\).* dices-350 would also need 'Q2_"
    with pytest.raises(NotFound, match=missing):
        overall_answers(ratings_of({"a": "NY"}, {}))


def test_overalls_need_rater_ids() -> None:
    ratings = read_ratings(pl.DataFrame({"item_id": ["1"], "Q_overall": ["No"]}), rater=None)
    with pytest.raises(InvalidInput, match="needs to know who gave which answer"):
        overall_answers(ratings)


def test_counts_are_enough_for_the_labels_of_the_pool() -> None:
    frame = simulate_frame(3)
    with_raters, without_raters = Ratings.from_frame(frame), read_ratings(frame.drop("rater_id"), rater=None)
    for labels in (soft_labels, plurality):
        assert labels(without_raters, "Q_overall").equals(labels(with_raters, "Q_overall"))
        with pytest.raises(InvalidInput, match="needs to know who gave which answer"):
            labels(without_raters, "Q_overall", by="race")


def test_overalls_need_the_granular_questions() -> None:
    with pytest.raises(NotFound, match=r'questions that were not read: .* more\. .*questions="all"'):
        overall_answers(ratings_of({"a": "NY"}, {}), load_questionnaire("dices-350"))


def test_soft_labels_are_shares() -> None:
    ratings = ratings_of({"a": "NY.", "b": "NNU", "c": "NYU", "d": "U.."}, {})
    assert soft_labels(ratings, "Q_overall").rows() == [
        ("item-0", 4, 0.75, 0.25, 0.0),
        ("item-1", 3, 1 / 3, 0.0, 2 / 3),
        ("item-2", 2, 0.0, 1.0, 0.0),
    ]


@pytest.mark.parametrize("by", [None, "race", "race*gender"])
def test_shares_sum_to_one_and_counts_to_all(by: str | None) -> None:
    ratings = Ratings.from_frame(simulate_frame(8, share_rated=0.3))
    labels = soft_labels(ratings, "Q_overall", by=by)
    assert labels.select(pl.sum_horizontal("No", "Unsure", "Yes")).to_series().to_list() == pytest.approx(
        [1] * labels.height
    )
    assert labels["n_ratings"].sum() == ratings.n_ratings
    assert labels["n_ratings"].min() != 0


def test_labels_by_group_are_those_of_its_raters_alone() -> None:
    ratings = Ratings.from_frame(simulate_frame(8, share_rated=0.3))
    for group in ("Asian", "Black", "White"):
        group_labels = soft_labels(ratings, "Q_overall", by="race").filter(pl.col("group") == group).drop("group")
        assert group_labels.equals(soft_labels(ratings.where("race", group), "Q_overall"))


def test_raters_without_a_group_are_left_out() -> None:
    ratings = ratings_of({"a": "NY", "b": "NN", "c": "YY"}, {"rater_race": ["x", "y", None]})
    assert soft_labels(ratings, "Q_overall", by="race")["n_ratings"].sum() == 4


def test_plurality_reports_ties_and_breaks_none() -> None:
    ratings = ratings_of({"a": "NYU", "b": "NNN", "c": "UYY"}, {})
    assert plurality(ratings, "Q_overall").rows() == [
        ("item-0", 3, ["No"], 2 / 3, False),
        ("item-1", 3, ["Yes"], 2 / 3, False),
        ("item-2", 3, ["No", "Unsure", "Yes"], 1 / 3, True),
    ]


def test_plurality_by_group() -> None:
    ratings = ratings_of({"a": "N", "b": "Y", "c": "Y"}, {"rater_race": ["x", "y", "y"]})
    assert plurality(ratings, "Q_overall", by="race").rows() == [
        ("item-0", "x", 1, ["No"], 1.0, False),
        ("item-0", "y", 2, ["Yes"], 1.0, False),
    ]


def test_answers_that_would_collide_with_columns_are_refused() -> None:
    frame = pl.DataFrame({"item_id": ["1"], "rater_id": ["a"], "rater_x": ["u"], "label": ["group"]})
    ratings = Ratings.from_frame(frame, answer="label", categories=["group", "other"])
    with pytest.raises(InvalidInput, match="'group' is also the name of a column of the result; rename the answer"):
        soft_labels(ratings, "label", by="x")
    assert soft_labels(ratings, "label").columns == ["item_id", "n_ratings", "group", "other"]


@pytest.mark.parametrize("answers", [("share", "tied"), ("answers", "x"), ("1", "2"), ("item", "answer")])
def test_answers_may_have_any_other_name(answers: tuple[str, str]) -> None:
    frame = pl.DataFrame({"item_id": ["1", "1"], "rater_id": ["a", "b"], "label": list(answers)})
    ratings = Ratings.from_frame(frame, answer="label", categories=list(answers))
    assert plurality(ratings, "label").rows() == [("1", 2, list(answers), 0.5, True)]
    assert soft_labels(ratings, "label").rows() == [("1", 2, 0.5, 0.5)]


def test_answers_that_look_like_patterns_are_answers() -> None:
    """Polars treats `*` and `^…$` as patterns of column names; answers may have such names."""
    frame = pl.DataFrame({"item_id": ["1"] * 3, "rater_id": ["a", "b", "c"], "label": ["*", "*", "^.*$"]})
    ratings = Ratings.from_frame(frame, answer="label", categories=["*", "^.*$"])
    assert soft_labels(ratings).row(0) == ("1", 3, 2 / 3, 1 / 3)
    assert plurality(ratings)["answers"].to_list() == [["*"]]
    assert resampled_labels(ratings, "label", 1).labels["*"].to_list() == [2 / 3]


def test_an_axis_on_which_nobody_is_known_has_no_labels() -> None:
    frame = pl.DataFrame({"item_id": ["1"], "rater_id": ["a"], "rater_age": [""], "Q_overall": ["No"]})
    ratings = Ratings.from_frame(frame)
    for labels in (soft_labels, plurality):
        with pytest.raises(InvalidInput, match="No rater has a known rater_age"):
            labels(ratings, by="age")
    with pytest.raises(InvalidInput, match="Name one axis as text"):
        soft_labels(ratings, by=[3])  # type: ignore[list-item]
