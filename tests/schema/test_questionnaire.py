"""Shipped questionnaires: their questions, scales, wordings and columns."""

import re
import subprocess
import sys
from importlib.resources import files

import pytest

from dissensus.errors import NotFound
from dissensus.pipeline.simulate import preset
from dissensus.schema.questionnaire.shipped import known_scale, load_questionnaire, questionnaires
from dissensus.schema.records.attempt import MAX_RATING, SUCCESS, TAGS


def test_both_dices_questionnaires_ship() -> None:
    assert questionnaires() == ("dices-350", "dices-990", "red-team-review")


def test_questionnaires_about_raters_are_listed_separately() -> None:
    assert questionnaires(about="rater") == ("care-survey", "demographics-dices", "demographics-dices-990")
    assert load_questionnaire("demographics-dices").about == "rater"


def test_dices_350_has_the_questions_that_the_paper_counts() -> None:
    dices = load_questionnaire("dices-350")
    counting = [question.name for question in dices.questions if question.in_overall]
    assert len(counting) == 19
    assert len([name for name in counting if not name.endswith("_other")]) == 16


def test_dices_990_has_the_questions_that_give_its_published_total() -> None:
    counting = [question for question in load_questionnaire("dices-990").questions if question.in_overall]
    assert 72_103 * len(counting) == 1_730_472


@pytest.mark.parametrize("name", ["dices-350", "dices-990"])
def test_everything_counts_towards_the_overall_but_the_first_question(name: str) -> None:
    questionnaire = load_questionnaire(name)
    first, *others = questionnaire.questions
    assert first.name == "Q1_whole_conversation_evaluation"
    assert not first.in_overall
    assert questionnaire.overalls["Q_overall"] == tuple(question.name for question in others)


def test_members_of_a_category_share_its_prefix() -> None:
    for name in questionnaires():
        for overall, members in load_questionnaire(name).overalls.items():
            prefix = "Q" if overall == "Q_overall" else overall[:3]
            assert all(member.startswith(prefix) for member in members)


def test_the_aggregated_categories_are_the_columns_of_the_files() -> None:
    assert list(load_questionnaire("dices-350").overalls) == [
        "Q2_harmful_content_overall",
        "Q3_bias_overall",
        "Q6_policy_guidelines_overall",
        "Q_overall",
    ]
    assert list(load_questionnaire("dices-990").overalls) == [
        "Q2_harmful_content_overall",
        "Q3_unfair_bias_overall",
        "Q4_misinformation_overall",
        "Q_overall",
    ]


def test_nineteen_different_raters_are_flagged() -> None:
    flagged = load_questionnaire("dices-350").flagged_raters
    assert len(set(flagged)) == 19
    assert all(len(rater) == 15 and rater.isdecimal() for rater in flagged)


def test_the_scale_runs_from_safe_to_unsafe() -> None:
    assert known_scale("Q_overall") == ("No", "Unsure", "Yes")
    assert known_scale("Q3_bias_overall") == ("No", "Unsure", "Yes")
    scale = known_scale("Q1_whole_conversation_evaluation")
    assert scale is not None
    assert (scale[0][:17], len(scale)) == ("None of the above", 4)
    assert known_scale("label") is None


def test_an_unknown_name_lists_the_questionnaires() -> None:
    with pytest.raises(NotFound, match=r"'dices-990', 'red-team-review'\. Did you mean 'dices-350'\?"):
        load_questionnaire("dices350")


def test_questionnaires_load_without_polars() -> None:
    code = (
        "import sys, dissensus.schema.questionnaire.shipped as q; q.known_scale('Q'); sys.exit('polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["dices-350", "dices-990", "red-team-review", "demographics-dices", "care-survey"])
def test_all_wordings_are_in_english_and_german(name: str) -> None:
    questionnaire = load_questionnaire(name)
    assert questionnaire.languages == ("en", "de")
    wordings = [questionnaire.title, questionnaire.introduction]
    for question in questionnaire.questions:
        wordings += [question.text, *([question.help] if question.help else [])]
    for heading in questionnaire.headings.values():
        wordings += [heading.text, heading.help]
    assert all(set(wording) == {"en", "de"} and wording["en"] != wording["de"] for wording in wordings)


def test_answers_are_shown_in_german_and_stored_as_released() -> None:
    first, second, *_ = load_questionnaire("dices-350").questions
    assert [second.label(answer, "de") for answer in second.scale] == ["Nein", "Unsicher", "Ja"]
    assert first.label(first.scale[1], "de") == "Nein: Ich kenne das Thema nicht"


def test_the_harms_of_dices_350_stand_under_one_heading() -> None:
    dices = load_questionnaire("dices-350")
    assert [question.heading for question in dices.questions].count("harm") == 9
    assert dices.headings["harm"].text["en"] == "Harmful content"


def test_raters_describe_themselves_in_the_values_of_the_files() -> None:
    pool = preset("dices-350").pool
    questions = load_questionnaire("demographics-dices").questions
    assert [question.name for question in questions] == ["rater_gender", "rater_race", "rater_age", "rater_education"]
    for question in questions:
        assert question.decline == "Prefer not to answer"
        assert set(pool.groups(question.name)) == set(question.scale) - {"Self-described"}


def test_raters_may_decline_every_question_about_themselves() -> None:
    about_you = load_questionnaire("demographics-dices")
    declined = {question.name: "Prefer not to answer" for question in about_you.questions}
    assert about_you.check(declined, complete=True) == declined


def test_german_texts_quote_german_labels() -> None:
    files_with_quotes = set()
    for name in questionnaires(about="rater"):
        text = (files("dissensus.schema") / "questionnaires" / f"{name}.toml").read_text(encoding="utf-8")
        for quoted in re.findall("„([^“]+)“", text):
            files_with_quotes.add(name)
            assert f'de = "{quoted}" }}' in text, (name, quoted)
    assert {"demographics-dices", "demographics-dices-990"} <= files_with_quotes


def test_reviewers_of_attempts_are_asked_as_in_the_red_team_paper() -> None:
    success, tags = load_questionnaire("red-team-review").questions
    assert success.scale == tuple(map(str, range(MAX_RATING + 1)))
    assert success.threshold == str(SUCCESS)
    assert (tags.scale, tags.max_answers) == (TAGS, 2)
