"""Errors of invalid questionnaires."""

import re
from typing import Any

import pytest
from tests.support.questionnaires import asking, followed_by, parse_error, translated

from dissensus.schema.questionnaire.faults import MAX_LISTED
from dissensus.schema.questionnaire.parser import MAX_FILE_LENGTH, parse_questionnaire


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"name": None}, r"questions\[1\]\.name: It is missing"),
        ({"name": "<b>"}, r"questions\[1\]\.name \(<b>\): '<b>' cannot be a column\. A name is a letter"),
        ({"name": "Q" * 201}, r"at most 200 in all"),
        ({"name": "rater_id"}, r"'rater_id' is a column with another meaning"),
        ({"name": "Item_ID"}, r"'Item_ID' is a column with another meaning"),
        ({"name": "context"}, r"attribute of the item or the rater.*'Q_context'"),
        ({"name": "rater_mood"}, r'questions about raters need about = "rater"'),
        ({"name": "Q1\n"}, r"blank, or has blanks around it"),
        ({"txt": "?"}, r"questions\[1\] \(Q1\): There is no key 'txt'\. Did you mean 'text'\?"),
        ({"text": None}, r"questions\[1\]\.text \(Q1\): It is missing"),
        ({"text": "  "}, r"questions\[1\]\.text \(Q1\): en: It is blank"),
        ({"text": "a\0b"}, r"en: It holds U\+0000"),
        ({"text": "a\ud800"}, r"en: It holds U\+D800"),
        ({"text": {"en": "?", "fr": "?"}}, r"'fr' is not among languages, which are 'en'"),
        ({"text": 3}, r"It is a number\. Write one text per language"),
        ({"help": "x" * 1_000_000}, r"en: It has 1,000,000 characters, and 10,000 are allowed"),
        ({"scale": []}, r"questions\[1\]\.scale \(Q1\): It has 0 texts\. Write 1 to 300"),
        ({"scale": ["Yes"]}, r"It has 1 answers, and a question of the kind single needs 2 or more"),
        ({"scale": [str(step) for step in range(1_000)]}, r"It has 1,000 texts\. Write 1 to 300"),
        ({"scale": ["No", "Yes", "No"]}, r"'No' is listed twice"),
        ({"scale": [1, 2]}, r'Text 1: It is a number, not text\. Put it in quotes: "…"'),
        ({"scale": "No, Yes"}, r'It is text\. Write a list of texts: scale = \["…", "…"\]'),
        ({"scale": ["No", "x" * 501]}, r"It has 501 characters, and 500 are allowed.*a label may say more"),
        ({"scale": ["No\x1b", "Yes"]}, r"holds U\+001B"),
        ({"kind": "likrt"}, r"It is 'likrt'\. Did you mean 'likert'\? Allowed are 'single', 'multiple'"),
        ({"kind": "text"}, r"scale \(Q1\): It applies to the kinds .* and this question is text"),
        (
            {"kind": "multiple", "category": "Q_all"},
            r"category \(Q1\): It applies to the kinds .* and this question is multiple",
        ),
        ({"kind": "likert", "self_describe": "No"}, r"self_describe \(Q1\): .* kinds 'single', 'multiple'"),
        ({"exclusive": ["No"]}, r"exclusive \(Q1\): It applies to the kinds 'multiple', and this question is single"),
        ({"kind": "multiple", "exclusive": ["None"]}, r"'None' is not on its scale\. Did you mean 'No'\?"),
        ({"max_answers": 2}, r"max_answers \(Q1\): It applies to the kinds 'multiple', and this question is single"),
        ({"kind": "multiple", "max_answers": 0}, r"It is 0\. Write a whole number from 1 to 300"),
        ({"kind": "multiple", "max_answers": 3}, r"The scale has 3 answers, so this limits nothing"),
        ({"threshold": "Yes"}, r"threshold \(Q1\): It applies to the kinds 'likert', and this question is single"),
        ({"kind": "likert", "threshold": "yes"}, r"'yes' is not on its scale\. Did you mean 'Yes'\?"),
        ({"kind": "likert", "threshold": "No"}, r"'No' is the first of its scale, so that every answer counts as yes"),
        ({"self_describe": "Other"}, r"'Other' is not on its scale"),
        ({"decline": "No"}, r"'No' is on the scale too"),
        ({"max_length": 10}, r"It applies only to questions with a text"),
        ({"self_describe": "No", "max_length": 0}, r"It is 0\. Write a whole number from 1 to 20,000"),
        ({"self_describe": "No", "max_length": 10**30}, r"It is a number\. Write a whole number"),
        ({"self_describe": "No", "max_length": True}, r"It is true\. Write a whole number"),
        ({"required": "no"}, r"It is text\. Write true or false, without quotes"),
        ({"labels": {"Maybe": "?"}}, r"labels \(Q1\): 'Maybe' is not an answer\. Answers are 'No', 'Unsure', 'Yes'"),
        ({"labels": {"No": "Yes"}}, r"In en several answers are shown as 'Yes'"),
        ({"kind": "likert", "labels": {"No": "No", "Unsure": "?"}}, r"it labels 'No', 'Unsure'\. Label both ends"),
        ({"examples": "one"}, r"It is text\. Write a list of at most 20 wordings"),
        ({"examples": ["a", 7]}, r"questions\[1\]\.examples\[2\] \(Q1\): It is a number"),
        ({"heading": "harm"}, r"There is no heading 'harm'\. There are no headings"),
        ({"when": {"question": "Q1", "is": ["Yes"]}}, r"'Q1' is not an earlier question\. This is the first question"),
        ({"when": "Q1"}, r"questions\[1\]\.when \(Q1\): It is text\. Write a table"),
        ({"when": {"question": "Q0"}}, r"It needs an earlier question and some of its answers"),
    ],
)
def test_an_invalid_question_is_rejected(keys: dict[str, Any], message: str) -> None:
    data = asking(**keys)
    data["questions"] = [{key: value for key, value in data["questions"][0].items() if value is not None}]
    assert re.search(message, parse_error(data))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            {"question": "Q3", "is": ["No"]},
            r"questions\[2\]\.when \(Q2\): 'Q3' is not an earlier.*Earlier are 'Q1'.*move",
        ),
        ({"question": "Q2", "is": ["No"]}, r"'Q2' is not an earlier question\. Earlier are 'Q1'"),
        (
            {"question": "Q1", "is": ["no"]},
            r"'no' is not an answer to Q1\. Did you mean 'No'\? Answers are 'No', 'Unsure'",
        ),
        ({"question": "Q1", "is": []}, r"It needs an earlier question and some of its answers"),
        ({"question": "Q1", "are": ["No"]}, r"There is no key 'are'\."),
    ],
)
def test_an_invalid_condition_is_rejected(condition: dict[str, Any], message: str) -> None:
    assert re.search(message, parse_error(followed_by(when=condition)))


def test_a_condition_on_a_text_is_rejected() -> None:
    data = followed_by()
    data["questions"].append({**data["questions"][0], "name": "Q3", "when": {"question": "Q2", "is": ["No"]}})
    assert "Q2 is answered by a text. Name a question with a scale." in parse_error(data)


def test_a_cycle_of_conditions_names_the_forward_reference() -> None:
    data = followed_by(kind="single", scale=["a", "b"], when={"question": "Q1", "is": ["No"]})
    data["questions"][0]["when"] = {"question": "Q2", "is": ["a"]}
    assert parse_error(data).count("not an earlier question") == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, r"name: .*blank"),
        ({"name": "../x"}, r"name: It is '\.\./x'\. Write letters"),
        ({"about": "people"}, r"about: It is 'people'\. Allowed are 'item', 'rater'"),
        ({"about": "rater"}, r"'Q1' is asked about raters\. Begin its name with 'rater_'"),
        ({"questions": []}, r"questions: There are none"),
        ({"questions": "Q1"}, r"questions: It is text\. Write one table \[\[questions\]\]"),
        ({"questions": ["Q1"]}, r"questions\[1\]: It is text\. Write a table"),
        ({"questions": [{}] * 10_000}, r"There are 10,000, and at most 500 are possible"),
        ({"languages": ["english"]}, r"'english' is not a BCP 47 tag"),
        ({"languages": ["pt-br"]}, r"'pt-br' is written 'pt-BR'"),
        ({"languages": ["zh-hant"]}, r"'zh-hant' is written 'zh-Hant'"),
        ({"languages": []}, r"languages: It has 0 texts\. Write 1 to 30"),
        ({"title": None}, r"title: It is missing"),
        ({"headings": {"harm": {"text": "Harm"}}}, r"No question has the heading 'harm'"),
        ({"headings": {"harm": {"txt": "Harm"}}}, r"headings\.harm: There is no key 'txt'.*\n.*headings\.harm\.text"),
        ({"headings": {"<i>": {"text": "Harm"}}}, r"headings\.'<i>': Name a heading by a letter"),
        ({"labels": {"Oui": "Yes"}}, r"labels: No question has the answer 'Oui'"),
        ({"labels": {str(n): "x" for n in range(2_000)}}, r"labels: It has 2,000 keys, and at most 1,000 are possible"),
        ({"overall": "Q1"}, r"2 columns have the name 'Q1'"),
        ({"leading_columns": ["q1"]}, r"2 columns have the name 'q1'"),
        ({"overall": "safety_gold"}, r"overall: 'safety_gold' would be read as an attribute"),
        ({"titel": "?"}, r"The file: There is no key 'titel'\. Did you mean 'title'\?"),
        ({3: "?"}, r"The file: A key is a number\. Keys are text"),
    ],
)
def test_an_invalid_file_is_rejected(changes: dict[str, Any], message: str) -> None:
    data = {key: value for key, value in {**asking(), **changes}.items() if value is not None}
    assert re.search(message, parse_error(data))


def test_missing_languages_are_reported_once() -> None:
    data = asking()
    del data["languages"]
    assert parse_error(data).splitlines()[1:] == [
        "- languages: There are none, and there are wordings: 'questions[1].text (Q1)', 'title'. "
        'Name them: languages = ["en"].'
    ]


@pytest.mark.parametrize(("about", "n", "most"), [("item", 12, "240,000"), ("rater", 4, "80,000")])
def test_texts_fit_into_one_request(about: str, n: int, most: str) -> None:
    """Thirty texts of 20,000 characters would be refused by the site when a rater submits them."""
    prefix = "rater_" if about == "rater" else "Q"
    texts = [
        {"name": f"{prefix}{number}", "text": "Why?", "kind": "text", "max_length": 20_000} for number in range(n + 1)
    ]
    keys = {"name": "long", "languages": ["en"], "title": "Long", "about": about}
    assert len(parse_questionnaire({**keys, "questions": texts[:n]}).questions) == n
    message = parse_error({**keys, "questions": texts})
    assert f"questions: Their texts may have {20_000 * (n + 1):,} characters together, and {most} are" in message


def test_question_names_are_unique() -> None:
    data = asking()
    data["questions"] *= 2
    assert "2 columns have the name 'Q1'" in parse_error(data)


def test_the_text_that_an_answer_opens_needs_a_unique_column() -> None:
    data = followed_by(name="Q1_text")
    parse_questionnaire(data)
    data["questions"][0]["self_describe"] = "Unsure"
    assert "2 columns have the name 'Q1_text'" in parse_error(data)


def test_questions_of_a_heading_stand_together() -> None:
    data = {**asking(heading="harm"), "headings": {"harm": {"text": "Harm"}}}
    data["questions"] += [{**data["questions"][0], "name": name} for name in ("Q2", "Q3")]
    parse_questionnaire(data)
    del data["questions"][1]["heading"]
    assert "Questions under 'harm' are not consecutive. Put them one after another." in parse_error(data)


def test_the_parts_of_an_overall_need_one_scale() -> None:
    data = {**followed_by(kind="likert", scale=["1", "2"]), "overall": "Q_overall"}
    assert (
        "'Q_overall' is the worst of several answers, which needs one scale, and Q2 has another than Q1"
        in parse_error(data)
    )
    data["questions"][1]["in_overall"] = False
    assert parse_questionnaire(data).overalls == {"Q_overall": ("Q1",)}


def test_an_overall_without_questions_is_rejected() -> None:
    assert "Nothing counts towards 'Q_overall'" in parse_error({**asking(in_overall=False), "overall": "Q_overall"})


def test_missing_wordings_are_listed_by_language() -> None:
    data = translated(help={"en": "Help"}, examples=["One"], labels={"No": {"de": "Nein"}})
    data["introduction"] = "Welcome"
    assert parse_error(data).splitlines()[1:] == [
        "- languages: de lacks 5 wordings: questions[1].help (Q1), questions[1].examples[1] (Q1), "
        "questions[1].labels.'Unsure' (Q1), questions[1].labels.'Yes' (Q1), introduction. "
        "Write all, or take 'de' out of languages."
    ]


def test_wordings_may_be_missing_in_the_first_language() -> None:
    assert "languages: en lacks 1 wording: questions[1].help (Q1)" in parse_error(
        translated(help={"de": "Hilfe"}, scale=["1", "2"])
    )


def test_a_long_list_of_errors_is_truncated() -> None:
    data = asking()
    data["questions"] = [{"name": f"Q{number}", "scale": ["a"]} for number in range(300)]
    lines = parse_error(data).splitlines()
    assert lines[0] == "The questionnaire has 600 faults:"
    assert len(lines) == MAX_LISTED + 2
    assert lines[-1] == "- and 580 more."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", r"is not TOML: Invalid value"),
        ("a = " + "[" * 20_000, r"is not TOML: it nests too deep"),
        ("a = " + "1" * 5_000, r"is not TOML"),
        ("#" * (MAX_FILE_LENGTH + 1), r"has 1,000,001 characters, and 1,000,000 are allowed"),
        ("", r"name: It is missing.*\n- questions: There are none"),
        ("name = 2020-01-01", r"name: It is a date, not text"),
    ],
)
def test_an_invalid_text_is_rejected(text: str, message: str) -> None:
    assert re.search(message, parse_error(text))


@pytest.mark.parametrize("data", [None, 3, ["name"], b"name"])
def test_other_values_are_rejected(data: Any) -> None:
    assert parse_error(data).startswith("A questionnaire is a table, and this is")
