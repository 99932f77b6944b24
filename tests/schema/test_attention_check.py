"""Checks: what would be unfair is refused, and nothing follows from an answer that must not."""

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
from dissensus.schema.definition_table import DefinitionErrors, make_table
from dissensus.schema.questionnaire.mapping import to_mapping

CHOOSE: dict[str, Any] = {
    "name": "choose",
    "kind": "instruction",
    "text": {"en": "Please choose Yes here.", "de": "Bitte wählen Sie hier Ja."},
    "scale": ["No", "Yes"],
    "labels": {"No": {"de": "Nein"}, "Yes": {"de": "Ja"}},
    "right": ["Yes"],
    "after": 5,
}
SWIM: dict[str, Any] = {
    "name": "swim",
    "kind": "nonsense",
    "text": {"en": "I swim across the Atlantic to work every day."},
    "scale": ["Strongly disagree", "Disagree", "Agree", "Strongly agree"],
    "right": ["Strongly disagree", "Disagree"],
    "after": 10,
}
RULES: dict[str, Any] = {
    "name": "rules",
    "kind": "comprehension",
    "text": {"en": "What do you judge?"},
    "scale": ["The last answer", "All answers"],
    "right": ["The last answer"],
}
MINUTES = st.floats(0, 600)


def changed(one: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A check with other values; None takes a key out."""
    return {key: value for key, value in {**deepcopy(one), **changes}.items() if value is not None}


def read(
    *checks: object, languages: tuple[str, ...] = ("en",), most_items: int | None = None
) -> tuple[tuple[AttentionCheck, ...], list[str]]:
    """What is read of a campaign with some checks, and what is wrong with it."""
    notes = DefinitionErrors(languages=languages)
    found = parse_checks(make_table({"checks": list(checks)}, notes), most_items)
    return found, notes.list_messages()


def parsed(*checks: object, languages: tuple[str, ...] = ("en",)) -> tuple[AttentionCheck, ...]:
    found, faults = read(*checks, languages=languages)
    assert not faults
    return found


def english(one: dict[str, Any], **changes: Any) -> dict[str, Any]:
    text = one["text"]["en"]
    return changed(one, **{"text": {"en": text}, "labels": None, **changes})


ALL = parsed(english(CHOOSE), english(CHOOSE, name="choose_again", after=20), SWIM, RULES)


def test_a_campaign_may_have_none() -> None:
    notes = DefinitionErrors(languages=("en",))
    assert parse_checks(make_table({}, notes)) == ()
    assert not notes.list_messages()


def test_they_come_back_as_they_were() -> None:
    found = parsed(CHOOSE, languages=("en", "de"))
    assert parsed(*(to_mapping(check) for check in found), languages=("en", "de")) == found
    assert found[0].label("Yes", "de") == "Ja"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (english(CHOOSE, text="Please answer carefully."), "does not say 'Yes', which is the right answer"),
        (english(CHOOSE, scale=["No", "Yes"], right=["No"], text="You know it."), "does not say 'No'"),
        (english(CHOOSE, scale=["No", "Unsure", "Yes"], right=["No", "Yes"]), "name one answer"),
        (english(CHOOSE, scale=["6", "16"], right=["6"], text="Please choose 16."), "does not say '6'"),
        (english(CHOOSE, right=["Maybe"]), "'Maybe' is no answer"),
        (english(CHOOSE, right=None), "Name those of the answers that pass"),
        (english(CHOOSE, right=[]), "It has 0 texts"),
        (english(CHOOSE, scale=["Yes"]), "never a text that raters write"),
        (english(CHOOSE, scale=None), "never a text that raters write"),
        (english(CHOOSE, kind="text"), "It is 'text'. Allowed are 'instruction', 'nonsense', 'comprehension'"),
        (english(CHOOSE, kind=None), "State which rule it keeps"),
        (english(CHOOSE, longest=100), "There is no key 'longest'"),
        (english(CHOOSE, after=None), "Write after how many items it comes"),
        (english(CHOOSE, after=-1), "Write a whole number from 0"),
        (english(CHOOSE, name="1st"), "Name a check by a letter"),
        (english(CHOOSE, name=None), "Name a check by a letter"),
        (english(CHOOSE, text=None), "Write the question that raters read"),
        (english(CHOOSE, labels={"Maybe": "?"}), "'Maybe' is no answer"),
        (english(CHOOSE, labels={"No": "Yes"}), "several answers are shown as 'Yes'"),
        (changed(SWIM, scale=["Disagree", "Neither", "Agree"], right=["Disagree"]), "one in the middle"),
        (changed(SWIM, right=["Strongly disagree"]), "Every answer on the right side passes"),
        (changed(SWIM, right=["Disagree", "Agree"]), "Every answer on the right side passes"),
        (changed(RULES, right=["The last answer", "All answers"]), "nobody could fail"),
        ("choose", "It is text. Write a table"),
    ],
)
def test_what_would_be_unfair_is_refused_with_its_place(check: object, words: str) -> None:
    _, faults = read(check)
    assert words in "\n".join(faults)
    assert all("checks[1]" in fault for fault in faults)


def test_an_instruction_names_the_right_answer_in_every_language() -> None:
    _, faults = read(
        changed(CHOOSE, text={"en": "Please choose Yes.", "de": "Bitte gut lesen."}), languages=("en", "de")
    )
    assert len(faults) == 1
    assert "In de it does not say 'Ja'" in faults[0]


def test_an_instruction_in_a_script_that_sets_no_words_apart() -> None:
    labels = {"No": {"en": "No", "zh": "不同意"}, "Yes": {"en": "Yes", "zh": "同意"}}
    text = {"en": "Choose “No”.", "zh": "请在这里选择不同意选项。"}
    assert parsed(changed(CHOOSE, labels=labels, text=text, right=["No"]), languages=("en", "zh"))


def test_all_languages_have_all_wordings() -> None:
    _, faults = read(changed(CHOOSE, labels={"Yes": {"de": "Ja"}}), languages=("en", "de"))
    assert [fault for fault in faults if "de lacks 1 wording: checks[1].labels.'No'" in fault]


def test_two_checks_do_not_share_a_name() -> None:
    _, faults = read(english(CHOOSE), english(CHOOSE, name="Choose"))
    assert any("Two have the name" in fault for fault in faults)


def test_a_check_that_nobody_would_reach() -> None:
    assert not read(english(CHOOSE), most_items=5)[1]
    assert "a rater has 4 items at most" in read(english(CHOOSE), most_items=4)[1][0]


@quick
@given(
    st.dictionaries(st.sampled_from([*CHOOSE, "kinds"]), st.none() | st.integers() | st.text() | st.lists(st.text()))
)
def test_nothing_that_a_file_may_hold_is_a_traceback(values: dict[str, Any]) -> None:
    found, faults = read({**CHOOSE, **values}, languages=("en", "de"))
    assert faults or parsed(*(to_mapping(check) for check in found), languages=("en", "de")) == found


@pytest.mark.parametrize(("minutes", "needed"), [(0, 1), (4.9, 1), (5, 2), (60, 2)])
def test_how_many_failures_something_may_follow_from(minutes: float, needed: int) -> None:
    assert failures_needed(minutes) == needed


def test_one_failure_of_attention_in_long_work_has_no_consequence() -> None:
    found = judge_checks(ALL, {"choose": ["No"], "choose_again": ["Yes"]}, minutes=20)
    assert found.failed == ("choose",)
    assert found.passed == ("choose_again",)
    assert found.unanswered == ("swim", "rules")
    assert not found.may_ask_return
    assert not found.may_reject


def test_two_failures_of_attention_may_have_one() -> None:
    found = judge_checks(ALL, {"choose": ["No"], "swim": ["Agree"]}, minutes=20)
    assert found.may_ask_return
    assert found.may_reject


def test_of_attention_the_first_answer_counts() -> None:
    assert judge_checks(ALL, {"choose": ["No", "Yes"]}, minutes=20).failed == ("choose",)


def test_to_comprehend_there_are_two_tries_and_never_a_rejection() -> None:
    wrong = "All answers"
    assert judge_checks(ALL, {"rules": [wrong]}, minutes=4).try_again == ("rules",)
    assert judge_checks(ALL, {"rules": [wrong, "The last answer"]}, minutes=4).passed == ("rules",)
    failed = judge_checks(ALL, {"rules": [wrong, wrong, "The last answer"]}, minutes=4)
    assert failed.failed == ("rules",)
    assert failed.may_ask_return
    assert not failed.may_reject


ANSWERS = st.fixed_dictionaries(
    {}, optional={check.name: st.lists(st.sampled_from(check.scale), max_size=3) for check in ALL}
)


@quick
@given(ANSWERS, MINUTES)
def test_every_check_is_in_one_list_and_rejection_needs_attention(
    answers: dict[str, list[str]], minutes: float
) -> None:
    found = judge_checks(ALL, answers, minutes)
    lists = [found.passed, found.failed, found.try_again, found.unanswered]
    assert sorted(name for names in lists for name in names) == sorted(check.name for check in ALL)
    of_attention = [check.name for check in ALL if check.of_attention]
    assert found.may_reject == (len(set(found.failed) & set(of_attention)) >= failures_needed(minutes))
    assert found.may_ask_return or not found.may_reject


@quick
@given(ANSWERS, MINUTES)
def test_nothing_follows_for_who_answers_rightly_or_not_at_all(answers: dict[str, list[str]], minutes: float) -> None:
    right = {check.name: [check.right[0]] * bool(answers.get(check.name)) for check in ALL}
    found = judge_checks(ALL, right, minutes)
    assert (found.failed, found.try_again, found.may_ask_return, found.may_reject) == ((), (), False, False)


@quick
@given(ANSWERS, MINUTES)
def test_more_tries_than_there_are_change_nothing(answers: dict[str, list[str]], minutes: float) -> None:
    allowed = {check.name: 1 if check.of_attention else MAX_TRIES for check in ALL}
    counted = {name: tries[: allowed[name]] for name, tries in answers.items()}
    assert judge_checks(ALL, answers, minutes) == judge_checks(ALL, counted, minutes)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({"chose": ["Yes"]}, "There is no check 'chose'. Did you mean 'choose'?"),
        ({"choose": ["yes"]}, "'yes' is no answer to choose"),
        ({"choose": "Yes"}, "Give a list of all tries"),
    ],
)
def test_answers_to_nothing_are_refused(answers: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        judge_checks(ALL, answers, minutes=20)
    assert words in str(error.value)


@pytest.mark.parametrize("minutes", [-1, float("nan"), float("inf")])
def test_a_length_that_makes_no_sense_is_refused(minutes: float) -> None:
    with pytest.raises(InvalidInput, match="minutes is"):
        failures_needed(minutes)


@pytest.mark.parametrize(
    ("checks", "minutes", "words"),
    [
        ([english(CHOOSE)], 20, "There is 1 check of attention"),
        ([changed(RULES, after=3)], 20, "It comes after 3 items"),
        ([english(CHOOSE, text="Yes is what you chose earlier. Choose it.")], 4, "may ask what somebody remembers"),
    ],
)
def test_what_is_allowed_and_may_not_be_meant_is_told(checks: list[Any], minutes: float, words: str) -> None:
    warnings = check_warnings(parsed(*checks), minutes)
    assert len(warnings) == 1
    assert words in warnings[0]


def test_what_keeps_all_rules_has_no_warning() -> None:
    assert check_warnings(ALL, 20) == ()
    assert check_warnings((), 20) == ()


def test_the_page_about_recruitment_shows_checks_that_are_taken() -> None:
    page = ROOT / "docs" / "recruitment.md"
    blocks = re.findall(r"^```toml\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (checks,) = (parsed(*read["checks"]) for read in map(tomllib.loads, blocks) if "checks" in read)
    assert [check.kind for check in checks] == list(KINDS)
    assert check_warnings(checks, 30) == ()
