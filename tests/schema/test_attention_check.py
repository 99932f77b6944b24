"""Attention and comprehension checks: rejection of unfair ones, and consequences of failures."""

import re
import tomllib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.paths import ROOT

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.attention_check import (
    KINDS,
    MAX_TRIES,
    AttentionCheck,
    check_warnings,
    failures_needed,
    judge_checks,
)
from dissensus.schema.campaign.attention_check_parser import parse_checks
from dissensus.schema.definition_errors import DefinitionErrors
from dissensus.schema.definition_table import make_table
from dissensus.schema.questionnaire.mapping import to_mapping

CHOOSE: dict[str, Any] = {
    "name": "choose",
    "kind": "instruction",
    "text": {"en": "Please choose Yes here.", "de": "Bitte wählen Sie hier Ja."},
    "scale": ["No", "Yes"],
    "labels": {"No": {"de": "Nein"}, "Yes": {"de": "Ja"}},
    "correct_answers": ["Yes"],
    "after": 5,
}
SWIM: dict[str, Any] = {
    "name": "swim",
    "kind": "nonsense",
    "text": {"en": "I swim across the Atlantic to work every day."},
    "scale": ["Strongly disagree", "Disagree", "Agree", "Strongly agree"],
    "correct_answers": ["Strongly disagree", "Disagree"],
    "after": 10,
}
RULES: dict[str, Any] = {
    "name": "rules",
    "kind": "comprehension",
    "text": {"en": "What do you judge?"},
    "scale": ["The last answer", "All answers"],
    "correct_answers": ["The last answer"],
}
MINUTES = st.floats(0, 600)


def change_check(check: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a check with other values; None removes a key."""
    return {key: value for key, value in {**deepcopy(check), **changes}.items() if value is not None}


def parse(
    *checks: object, languages: tuple[str, ...] = ("en",), max_items: int | None = None
) -> tuple[tuple[AttentionCheck, ...], list[str]]:
    """Parse checks of a campaign; return them and the errors."""
    notes = DefinitionErrors(languages=languages)
    parsed_checks = parse_checks(make_table({"checks": list(checks)}, notes), max_items)
    return parsed_checks, [fault.text for fault in notes.list_faults()]


def parse_valid(*checks: object, languages: tuple[str, ...] = ("en",)) -> tuple[AttentionCheck, ...]:
    result, faults = parse(*checks, languages=languages)
    assert not faults
    return result


def english(check: dict[str, Any], **changes: Any) -> dict[str, Any]:
    text = check["text"]["en"]
    return change_check(check, **{"text": {"en": text}, "labels": None, **changes})


ALL = parse_valid(english(CHOOSE), english(CHOOSE, name="choose_again", after=20), SWIM, RULES)


def test_a_campaign_may_have_none() -> None:
    notes = DefinitionErrors(languages=("en",))
    assert parse_checks(make_table({}, notes)) == ()
    assert not notes.list_faults()


def test_checks_survive_serialisation() -> None:
    checks = parse_valid(CHOOSE, languages=("en", "de"))
    assert parse_valid(*(to_mapping(check) for check in checks), languages=("en", "de")) == checks
    assert checks[0].label("Yes", "de") == "Ja"


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (english(CHOOSE, text="Please answer carefully."), "does not say 'Yes', which is the right answer"),
        (english(CHOOSE, scale=["No", "Yes"], correct_answers=["No"], text="You know it."), "does not say 'No'"),
        (english(CHOOSE, scale=["No", "Unsure", "Yes"], correct_answers=["No", "Yes"]), "name one answer"),
        (english(CHOOSE, scale=["6", "16"], correct_answers=["6"], text="Please choose 16."), "does not say '6'"),
        (english(CHOOSE, correct_answers=["Maybe"]), "'Maybe' is not an answer"),
        (english(CHOOSE, correct_answers=None), "Name those of the answers that pass"),
        (english(CHOOSE, correct_answers=[]), "It has 0 texts"),
        (english(CHOOSE, scale=["Yes"]), "never a text that raters write"),
        (english(CHOOSE, scale=None), "never a text that raters write"),
        (english(CHOOSE, kind="text"), "It is 'text'. Allowed are 'instruction', 'nonsense', 'comprehension'"),
        (english(CHOOSE, kind=None), "State the rule that it follows"),
        (english(CHOOSE, max_length=100), "There is no key 'max_length'"),
        (english(CHOOSE, after=None), "Write after how many items it comes"),
        (english(CHOOSE, after=-1), "Write a whole number from 0"),
        (english(CHOOSE, name="1st"), "Name a check by a letter"),
        (english(CHOOSE, name=None), "Name a check by a letter"),
        (english(CHOOSE, text=None), "Write the question that raters read"),
        (english(CHOOSE, labels={"Maybe": "?"}), "'Maybe' is not an answer"),
        (english(CHOOSE, labels={"No": "Yes"}), "several answers are shown as 'Yes'"),
        (change_check(SWIM, scale=["Disagree", "Neither", "Agree"], correct_answers=["Disagree"]), "one in the middle"),
        (change_check(SWIM, correct_answers=["Strongly disagree"]), "Every answer on the right side passes"),
        (change_check(SWIM, correct_answers=["Disagree", "Agree"]), "Every answer on the right side passes"),
        (change_check(RULES, correct_answers=["The last answer", "All answers"]), "no rater could fail"),
        ("choose", "It is text. Write a table"),
    ],
)
def test_an_unfair_check_is_rejected_with_its_path(check: object, message: str) -> None:
    _, faults = parse(check)
    assert message in "\n".join(faults)
    assert all("checks[1]" in fault for fault in faults)


def test_an_instruction_names_the_right_answer_in_every_language() -> None:
    _, faults = parse(
        change_check(CHOOSE, text={"en": "Please choose Yes.", "de": "Bitte gut lesen."}), languages=("en", "de")
    )
    assert len(faults) == 1
    assert "In de it does not say 'Ja'" in faults[0]


def test_an_instruction_in_a_script_without_word_boundaries() -> None:
    labels = {"No": {"en": "No", "zh": "不同意"}, "Yes": {"en": "Yes", "zh": "同意"}}
    text = {"en": "Choose “No”.", "zh": "请在这里选择不同意选项。"}
    assert parse_valid(change_check(CHOOSE, labels=labels, text=text, correct_answers=["No"]), languages=("en", "zh"))


def test_all_languages_have_all_wordings() -> None:
    _, faults = parse(change_check(CHOOSE, labels={"Yes": {"de": "Ja"}}), languages=("en", "de"))
    assert [fault for fault in faults if "de lacks 1 wording: checks[1].labels.'No'" in fault]


def test_two_checks_do_not_share_a_name() -> None:
    _, faults = parse(english(CHOOSE), english(CHOOSE, name="Choose"))
    assert any("Two have the name" in fault for fault in faults)


def test_a_check_after_the_last_item_is_rejected() -> None:
    assert not parse(english(CHOOSE), max_items=5)[1]
    assert "at most 4 items" in parse(english(CHOOSE), max_items=4)[1][0]


@quick
@given(
    st.dictionaries(st.sampled_from([*CHOOSE, "kinds"]), st.none() | st.integers() | st.text() | st.lists(st.text()))
)
def test_arbitrary_values_are_parsed_or_rejected(values: dict[str, Any]) -> None:
    checks, faults = parse({**CHOOSE, **values}, languages=("en", "de"))
    assert faults or parse_valid(*(to_mapping(check) for check in checks), languages=("en", "de")) == checks


@pytest.mark.parametrize(("minutes", "needed"), [(0, 1), (4.9, 1), (5, 2), (60, 2)])
def test_failures_needed_depend_on_the_duration(minutes: float, needed: int) -> None:
    assert failures_needed(minutes) == needed


def test_one_failed_attention_check_in_long_work_has_no_consequence() -> None:
    verdict = judge_checks(ALL, {"choose": ["No"], "choose_again": ["Yes"]}, minutes=20)
    assert verdict.failed == ("choose",)
    assert verdict.passed == ("choose_again",)
    assert verdict.unanswered == ("swim", "rules")
    assert not verdict.may_ask_return
    assert not verdict.may_reject


def test_two_failed_attention_checks_may_have_consequences() -> None:
    verdict = judge_checks(ALL, {"choose": ["No"], "swim": ["Agree"]}, minutes=20)
    assert verdict.may_ask_return
    assert verdict.may_reject


def test_the_first_answer_to_an_attention_check_counts() -> None:
    assert judge_checks(ALL, {"choose": ["No", "Yes"]}, minutes=20).failed == ("choose",)


def test_a_comprehension_check_has_two_tries_and_never_leads_to_rejection() -> None:
    wrong_answer = "All answers"
    assert judge_checks(ALL, {"rules": [wrong_answer]}, minutes=4).try_again == ("rules",)
    assert judge_checks(ALL, {"rules": [wrong_answer, "The last answer"]}, minutes=4).passed == ("rules",)
    failed = judge_checks(ALL, {"rules": [wrong_answer, wrong_answer, "The last answer"]}, minutes=4)
    assert failed.failed == ("rules",)
    assert failed.may_ask_return
    assert not failed.may_reject


ANSWERS = st.fixed_dictionaries(
    {}, optional={check.name: st.lists(st.sampled_from(check.scale), max_size=3) for check in ALL}
)


@quick
@given(ANSWERS, MINUTES)
def test_every_check_has_one_state_and_rejection_needs_failed_attention_checks(
    answers: dict[str, list[str]], minutes: float
) -> None:
    verdict = judge_checks(ALL, answers, minutes)
    lists = [verdict.passed, verdict.failed, verdict.try_again, verdict.unanswered]
    assert sorted(name for names in lists for name in names) == sorted(check.name for check in ALL)
    attention = [check.name for check in ALL if check.is_attention_check]
    assert verdict.may_reject == (len(set(verdict.failed) & set(attention)) >= failures_needed(minutes))
    assert verdict.may_ask_return or not verdict.may_reject


@quick
@given(ANSWERS, MINUTES)
def test_right_or_missing_answers_have_no_consequence(answers: dict[str, list[str]], minutes: float) -> None:
    right = {check.name: [check.correct_answers[0]] * bool(answers.get(check.name)) for check in ALL}
    verdict = judge_checks(ALL, right, minutes)
    assert (verdict.failed, verdict.try_again, verdict.may_ask_return, verdict.may_reject) == ((), (), False, False)


@quick
@given(ANSWERS, MINUTES)
def test_tries_beyond_the_limit_are_ignored(answers: dict[str, list[str]], minutes: float) -> None:
    max_tries = {check.name: 1 if check.is_attention_check else MAX_TRIES for check in ALL}
    truncated = {name: attempts[: max_tries[name]] for name, attempts in answers.items()}
    assert judge_checks(ALL, answers, minutes) == judge_checks(ALL, truncated, minutes)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"chose": ["Yes"]}, "There is no check 'chose'. Did you mean 'choose'?"),
        ({"choose": ["yes"]}, "'yes' is not an answer to choose"),
        ({"choose": "Yes"}, "Give a list of all attempts"),
    ],
)
def test_answers_to_unknown_checks_are_rejected(answers: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        judge_checks(ALL, answers, minutes=20)
    assert message in str(error.value)


@pytest.mark.parametrize("minutes", [-1, float("nan"), float("inf")])
def test_an_invalid_duration_is_rejected(minutes: float) -> None:
    with pytest.raises(InvalidInput, match="minutes is"):
        failures_needed(minutes)


@pytest.mark.parametrize(
    ("checks", "minutes", "message"),
    [
        ([english(CHOOSE)], 20, "There is 1 attention check"),
        ([change_check(RULES, after=3)], 20, "It comes after 3 items"),
        ([english(CHOOSE, text="Yes is what you chose earlier. Choose it.")], 4, "may test memory"),
    ],
)
def test_doubtful_checks_have_a_warning(checks: list[Any], minutes: float, message: str) -> None:
    warnings = check_warnings(parse_valid(*checks), minutes)
    assert len(warnings) == 1
    assert message in warnings[0]


def test_sound_checks_have_no_warning() -> None:
    assert check_warnings(ALL, 20) == ()
    assert check_warnings((), 20) == ()


def test_the_checks_in_the_documentation_are_valid() -> None:
    page = ROOT / "docs" / "recruitment.md"
    blocks = re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (checks,) = (parse_valid(*data["checks"]) for data in map(tomllib.loads, blocks) if "checks" in data)
    assert [check.kind for check in checks] == list(KINDS)
    assert check_warnings(checks, 30) == ()
