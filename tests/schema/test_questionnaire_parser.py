"""Questionnaires: parsing, serialisation, digests, and their documentation."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.paths import ROOT
from tests.support.questionnaires import asking, followed_by, parse_error, translated

from dissensus.errors import InvalidInput
from dissensus.schema.definition_table import MAX_KEYS
from dissensus.schema.questionnaire import question as limits
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.faults import MAX_LISTED
from dissensus.schema.questionnaire.parser import (
    KEYS,
    MAX_FILE_LENGTH,
    MAX_FLAGGED_RATERS,
    MAX_LANGUAGES,
    MAX_QUESTIONS,
    QUESTION_KEYS,
    parse_questionnaire,
)
from dissensus.schema.questionnaire.question import Question, When
from dissensus.schema.questionnaire.shipped import load_questionnaire

PAGE = (ROOT / "docs" / "questionnaires.md").read_text("utf-8")
NAMES = ["dices-350", "dices-990", "red-team-review", "demographics-dices", "care-survey"]


def example() -> str:
    """Return the example of the documentation."""
    match = re.search(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


def test_the_documented_example_is_parsed() -> None:
    kitchen = parse_questionnaire(example())
    assert kitchen.overalls == {"Q_harm_overall": ("Q_health", "Q_injury"), "Q_overall": ("Q_health", "Q_injury")}
    question = kitchen.questions[2]
    assert question.when == When(question="Q_injury", answers=("Unsure", "Yes"))
    assert (question.kind, question.own_words, question.in_overall) == ("multiple", "Q_injury_by_text", False)
    assert question.label("fire", "de") == "Feuer oder Hitze"
    trust = kitchen.questions[3]
    assert trust.answers == ("1", "2", "3", "4", "5", "Prefer not to answer")
    assert (trust.label("5", "de"), trust.label("3", "de")) == ("Ganz", "3")


def test_the_documented_message_is_right() -> None:
    injury = 'name = "Q_injury"\n'
    text = example().replace(injury, injury + 'when = { question = "Q_helth", is = ["Yes"] }\n')
    without = "".join(line for line in text.splitlines(keepends=True) if "Küchenroboters" not in line)
    assert f"```text\n{parse_error(without)}\n```" in PAGE


def test_the_documentation_has_every_key() -> None:
    file, question = PAGE.split("## A question")
    assert [key for key in KEYS if f"| `{key}` |" not in file] == []
    assert [key for key in QUESTION_KEYS if f"| `{key}` |" not in question] == []


@pytest.mark.parametrize(
    ("subject", "limit"),
    [
        ("characters of a file", MAX_FILE_LENGTH),
        ("questions", MAX_QUESTIONS),
        ("answers of a scale", limits.MAX_ANSWERS),
        ("languages", MAX_LANGUAGES),
        ("labels for the whole file, headings", MAX_KEYS),
        ("examples of a question", limits.MAX_EXAMPLES),
        ("characters of a name", limits.MAX_COLUMN_NAME),
        ("characters of an answer", limits.MAX_ANSWER_LENGTH),
        ("characters of a wording", limits.MAX_WORDING_LENGTH),
        ("characters that `max_length` may allow", limits.MAX_TEXT_LENGTH),
        ("flagged raters", MAX_FLAGGED_RATERS),
        ("faults that one message lists", MAX_LISTED),
    ],
)
def test_the_documentation_has_every_limit(subject: str, limit: int) -> None:
    assert f"| {subject} | {limit:,} |" in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_a_questionnaire_survives_being_stored(name: str) -> None:
    shipped = load_questionnaire(name)
    parsed = parse_questionnaire(json.loads(json.dumps(shipped.as_mapping())))
    assert parsed == shipped
    assert parsed.digest == shipped.digest


def test_digests_are_stable() -> None:
    """Stored answers refer to digests."""
    assert parse_questionnaire(example()).digest == "9ef16cd4fb9f3199ad599df56d49057cb5a17fc927949b02dcd5fa7a81da7ed6"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Could somebody be injured?", "Could anybody be injured?"),
        ('languages = ["en", "de"]', 'languages = ["de", "en"]'),
        ('is = ["Unsure", "Yes"]', 'is = ["Yes"]'),
        ("required = false", "required = true"),
        ('["fire", "blades", "other", "unclear"]', '["blades", "fire", "other", "unclear"]'),
    ],
)
def test_a_change_changes_the_digest(old: str, new: str) -> None:
    assert example().count(old) == 1
    assert parse_questionnaire(example().replace(old, new)).digest != parse_questionnaire(example()).digest


def test_the_order_of_keys_does_not_change_the_digest() -> None:
    data = parse_questionnaire(example()).as_mapping()
    turned = {key: data[key] for key in reversed(data)}
    assert parse_questionnaire(turned).digest == parse_questionnaire(example()).digest


def test_a_questionnaire_may_have_no_wordings() -> None:
    plain = parse_questionnaire({"name": "plain", "questions": [{"name": "Q1", "scale": ["No", "Yes"]}]})
    assert plain == Questionnaire(name="plain", questions=(Question(name="Q1", scale=("No", "Yes")),), overalls={})


def test_html_in_answers_and_wordings_is_kept() -> None:
    data = asking(text="<b>Safe?</b>", scale=["<No>", "Yes & no", '"Yes"'])
    assert parse_questionnaire(data).questions[0].scale == ("<No>", "Yes & no", '"Yes"')


def test_wordings_are_stripped_of_blanks_and_carriage_returns() -> None:
    data = asking(help="\n One.\r\nTwo.\rThree. \n", text="شلون؟\u200f")
    question = parse_questionnaire(data).questions[0]
    assert (question.help["en"], question.text["en"]) == ("One.\nTwo.\nThree.", "شلون؟\u200f")


def test_numbers_need_no_translation() -> None:
    data = translated(kind="likert", scale=["-1", "0", "1.5"])
    assert parse_questionnaire(data).questions[0].label("-1", "de") == "-1"
    labels = {"-1": {"en": "Bad"}, "1.5": {"en": "Good"}}
    assert "de lacks 2 wordings" in parse_error(translated(kind="likert", scale=["-1", "0", "1.5"], labels=labels))


def test_labels_of_a_question_override_those_of_the_file() -> None:
    data = {**followed_by(kind="single", scale=["No", "Yes"], labels={"No": "Not"}), "labels": {"No": "Nope"}}
    first, second = parse_questionnaire(data).questions
    assert (first.label("No", "en"), second.label("No", "en")) == ("Nope", "Not")


WORDS = st.sampled_from(["No", "Yes", "Q1", "Q2", "en", "de", "text", "", " ", "\0", "\ud800", "<b>", "x" * 600])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 10**25), st.floats(), WORDS)
KNOWN = st.sampled_from([*KEYS, *QUESTION_KEYS, "en", "de", "is", "question", "No", "Yes"])
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KNOWN, inner, max_size=3)),
    max_leaves=8,
)


@quick
@given(key=st.sampled_from(KEYS), value=ANYTHING, question=st.dictionaries(KNOWN, ANYTHING, max_size=3))
def test_arbitrary_values_are_parsed_or_rejected(key: str, value: Any, question: dict[str, Any]) -> None:
    for data in ({**translated(), key: value}, translated(**question)):
        assert is_parsed_or_rejected(data)


def is_parsed_or_rejected(data: dict[str, Any]) -> bool:
    """Return whether data survive serialisation, or are rejected with a message."""
    try:
        questionnaire = parse_questionnaire(data)
    except InvalidInput as error:
        return str(error).startswith("The questionnaire has ")
    return parse_questionnaire(questionnaire.as_mapping()) == questionnaire


@st.composite
def valid_questionnaires(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a valid questionnaire in one or two languages."""
    languages = draw(st.sampled_from([["en"], ["en", "de"], ["pt-BR", "zh-Hant"]]))
    wording = st.text("aäß字<&\n", min_size=1).filter(str.strip).map(lambda text: dict.fromkeys(languages, text))
    questions: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(limits.KINDS))
        question: dict[str, Any] = {"name": f"Q{number}", "kind": kind, "text": draw(wording)}
        if kind != "text":
            question["scale"] = [str(step) for step in range(draw(st.integers(2, 4)))]
        if kind in ("single", "multiple"):
            question["self_describe"] = draw(st.sampled_from(question["scale"]))
        if kind == "multiple":
            question["exclusive"] = draw(st.lists(st.sampled_from(question["scale"]), unique=True))
            question["max_answers"] = draw(st.integers(1, len(question["scale"]) - 1))
        if kind == "likert":
            question["threshold"] = draw(st.sampled_from(question["scale"][1:]))
        earlier = [row for row in questions if row["kind"] != "text"]
        conditional = draw(st.booleans())
        if earlier and conditional:
            condition = draw(st.sampled_from(earlier))
            question["when"] = {"question": condition["name"], "is": condition["scale"][:1]}
        question["required"] = draw(st.booleans())
        question["help"] = draw(wording)
        questions.append(question)
    return {"name": "drawn", "languages": languages, "title": draw(wording), "questions": questions}


@quick
@given(data=valid_questionnaires())
def test_a_questionnaire_survives_serialisation(data: dict[str, Any]) -> None:
    questionnaire = parse_questionnaire(data)
    serialised = json.loads(json.dumps(questionnaire.as_mapping()))
    assert parse_questionnaire(serialised) == questionnaire
    assert parse_questionnaire(serialised).digest == questionnaire.digest
    assert parse_questionnaire(serialised).as_mapping() == questionnaire.as_mapping()
