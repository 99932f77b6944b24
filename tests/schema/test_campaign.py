"""Campaigns: parsing, errors, serialisation and digests."""

import re
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.campaign_definitions import PILOT, pilot

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.campaign.completion_codes import OUTCOMES
from dissensus.schema.campaign.definition import localise, write_campaign
from dissensus.schema.campaign.parser import KEYS, parse_campaign
from dissensus.schema.campaign.shipped import campaigns, load_campaign, load_campaign_toml, rename_campaign
from dissensus.schema.definition_errors import InvalidDefinition

BOTH = {"en": "We keep it.", "de": "Wir behalten es."}
CODES = {name: f"CODE0{index}" for index, name in enumerate(OUTCOMES)}
PANEL = {
    "kind": "link",
    "name": "Panel",
    "parameter": "pid",
    "addresses": {"completed": "https://panel.example/done?pid={id}"},
}


def test_missing_keys_have_defaults() -> None:
    campaign = parse_campaign(PILOT)
    assert (campaign.replication, campaign.max_items, campaign.max_per_day, campaign.demographics) == (None,) * 4
    assert (campaign.break_every, campaign.reclaim_after_h, campaign.seed) == (20, 48, 0)
    assert not campaign.click_to_reveal
    assert campaign.demographics_position == "after"
    assert dict(campaign.help) == dict(campaign.thanks) == {}


@quick
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "replication": st.integers(1, 10**6),
            "max_items": st.integers(1, 10**6),
            "max_per_day": st.integers(1, 10**6),
            "break_every": st.integers(0, 10**6),
            "reclaim_after_h": st.integers(1, 10**6),
            "seed": st.integers(0, 2**32 - 1),
            "click_to_reveal": st.booleans(),
            "demographics": st.just("demographics-dices"),
            "demographics_position": st.sampled_from(["after", "before"]),
            "help": st.just({"en": "Here.", "de": "Hier."}),
            "thanks": st.just({"en": "Thanks.", "de": "Danke."}),
            "estimated_minutes": st.just(20),
            "recruit": st.sampled_from(
                [{"kind": "prolific", "codes": CODES}, {**PANEL, "codes": {"stopped": "CODE99"}}]
            ),
            "pay": st.just({"currency": "GBP", "hourly_rate": 1200, "finished": 600}),
            "gold": st.just({"verifiers": 0, "scale": ["No", "Yes"], "topics": ["A", "B"]}) | st.just({}),
        },
    )
)
def test_a_campaign_survives_serialisation(changes: dict[str, Any]) -> None:
    campaign = parse_campaign(pilot(**changes))
    reparsed = parse_campaign(campaign.as_mapping())
    assert reparsed == campaign
    assert reparsed.digest == campaign.digest


HOSTILE = st.one_of(
    st.text("\"'\\\n\t#=[]{}.,é\u00a0\u200b\u202e\u2028\u2066\ufeff\u0301𝄞 ab", max_size=30),
    st.sampled_from(
        ['"""', "'''", "\\", "\\u0041", "C:\\new", "a \\\n  b", '"]\nname = "other"', "\r\n\r\n", "\ue000\U0010ffff"]
    ),
).map(lambda text: f"<{text}>")
LINES = HOSTILE.map(lambda text: re.sub(r"[\r\n\t]", " ", text))


@st.composite
def hostile_campaigns(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a campaign with hostile texts, answers and labels."""
    answers = draw(st.lists(LINES, min_size=2, max_size=3, unique=True))
    question = {
        "name": "Q_one",
        "text": draw(HOSTILE),
        "scale": answers,
        "labels": {answers[0]: draw(HOSTILE.filter(lambda text: text not in answers))},
        "examples": [draw(HOSTILE), draw(HOSTILE)],
        "heading": "h",
    }
    questionnaire = {
        "name": "one",
        "languages": ["en"],
        "title": draw(HOSTILE),
        "headings": {"h": {"text": draw(HOSTILE)}},
        "questions": [question],
    }
    return pilot(
        languages=["en"],
        title=draw(HOSTILE),
        warning=draw(HOSTILE),
        questionnaire=questionnaire,
        consent={
            "text": draw(HOSTILE),
            "purposes": [{"name": "rating", "text": draw(HOSTILE), "required": True}],
        },
    )


@quick
@given(hostile_campaigns())
def test_a_campaign_survives_toml(data: dict[str, Any]) -> None:
    campaign = parse_campaign(data)
    text = write_campaign(campaign)
    assert parse_campaign(text).digest == campaign.digest
    # Line ends of browser forms and of Windows.
    assert parse_campaign(text.replace("\n", "\r\n")).digest == campaign.digest


@pytest.mark.parametrize("name", campaigns())
def test_shipped_campaigns_survive_toml(name: str) -> None:
    campaign = load_campaign(name)
    assert parse_campaign(write_campaign(campaign)) == campaign


def test_control_characters_are_rejected_and_never_written() -> None:
    for character in ("\x00", "\x07", "\x1b", "\x7f", "\x85", "\ud800"):
        with pytest.raises(InvalidInput, match=f"holds U\\+{ord(character):04X}"):
            parse_campaign(pilot(title={"en": f"Is {character}it?", "de": "x"}))
    by_hand = replace(parse_campaign(PILOT), title={"en": "a\x07\x7fb", "de": "x"})
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", write_campaign(by_hand))


def test_the_digest_changes_with_the_content_only() -> None:
    first = parse_campaign(PILOT)
    backwards = parse_campaign(dict(reversed(PILOT.items())))
    assert backwards.digest == first.digest
    changes: list[dict[str, Any]] = [
        {"name": "other"},
        {"seed": 1},
        {"click_to_reveal": True},
        {"replication": 3},
        {"questionnaire": "dices-990"},
        {"demographics": "demographics-dices"},
        {"title": {"en": "Is it safe? ", "de": "Ist es sicher!"}},
        {"languages": ["de", "en"]},
    ]
    digests = {parse_campaign(pilot(**change)).digest for change in changes}
    assert len(digests | {first.digest}) == len(changes) + 1


def test_the_consent_has_a_separate_digest() -> None:
    first, other_seed = parse_campaign(PILOT), parse_campaign(pilot(seed=5))
    assert first.consent.digest == other_seed.consent.digest
    other_consent = deepcopy(PILOT)
    other_consent["consent"]["purposes"][1]["required"] = True
    assert parse_campaign(other_consent).consent.digest != first.consent.digest


def test_all_errors_are_listed_together() -> None:
    definition = pilot(
        name="My Pilot",
        titel="?",
        title=None,
        warning={"en": "Cruel."},
        replication=0,
        click_to_reveal="yes",
        demographics_position="between",
        demographics="dices-350",
        consent={"text": PILOT["consent"]["text"], "purposes": [{"name": "a b", "text": {"en": "x", "de": "x"}}]},
    )
    with pytest.raises(InvalidInput) as caught:
        parse_campaign(definition)
    message = str(caught.value)
    for part in (
        "name: Write up to 60 of a to z, 0 to 9 and -, such as pilot-2",
        "There is no key 'titel'. Did you mean 'title'?",
        "title: It is missing. Write what raters read.",
        "languages: de lacks 1 wording: warning",
        "replication: It is 0. Write a whole number from 1 to 1,000,000",
        "click_to_reveal: It is",
        "demographics_position: It is 'between'",
        "demographics: dices-350 asks about the item. Give one about the rater",
        "consent.purposes[1]",
        "Name a purpose by a letter",
    ):
        assert part in message, part


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"consent": None}, r"consent: It is missing. Write \[consent\]"),
        ({"questionnaire": None}, "questionnaire: It is .*Name one that ships, such as dices-350"),
        ({"questionnaire": "dices-35"}, "There is no questionnaire 'dices-35'.*Did you mean 'dices-350'"),
        ({"questionnaire": {"name": "x"}}, "questionnaire: The questionnaire"),
        ({"languages": ["en", "de", "fr"]}, "dices-350 has no wordings in fr"),
        ({"languages": None}, 'languages: They are missing.*languages = \\["en"\\]'),
        ({"languages": ["english language"]}, "is not a BCP 47 tag"),
        ({"name": "-x"}, "name: Write up to 60"),
        ({"name": "x" * 61}, "name: Write up to 60"),
        ({"seed": 2**32}, "seed: It is 4,294,967,296"),
        ({"replication": True}, "replication: It is"),
        ({"break_every": -1}, "break_every: It is -1"),
        ({"repeat": {"distance": 5}}, "repeat.share: It is missing. Write the share of items to repeat"),
        ({"repeat": {"share": 0.9}}, "repeat.share: It is 0.9. Write the share"),
        ({"repeat": {"share": 0.1, "distance": 0}}, "repeat.distance: It is 0. Write a whole number from 1"),
        ({"show_topic": True}, "show_topic: It is about covered conversations. Write click_to_reveal = true"),
    ],
)
def test_an_invalid_value_is_rejected(changes: dict[str, Any], message: str) -> None:
    definition = {key: value for key, value in {**deepcopy(PILOT), **changes}.items() if value is not None}
    with pytest.raises(InvalidInput, match=message):
        parse_campaign(definition)


def test_consent_has_distinct_purposes_and_a_required_one() -> None:
    optional = deepcopy(PILOT)
    optional["consent"]["purposes"][0]["required"] = False
    with pytest.raises(InvalidInput, match=r"None is required\. Mark at least one"):
        parse_campaign(optional)
    duplicate = deepcopy(PILOT)
    duplicate["consent"]["purposes"][1]["name"] = "rating"
    with pytest.raises(InvalidInput, match="Two have the same name"):
        parse_campaign(duplicate)


@pytest.mark.parametrize("text", ["name = ", "a = 1\na = 2", "[[[", "x = " + "[" * 5000])
def test_a_text_that_is_not_toml(text: str) -> None:
    with pytest.raises(InvalidInput, match="The campaign is not TOML"):
        parse_campaign(text)


def test_a_text_that_is_too_long() -> None:
    with pytest.raises(InvalidInput, match="3,000,001 characters, and 3,000,000 are allowed"):
        parse_campaign("#" * 3_000_001)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a." * 50_000 + "b=1", "a key of more than 6 parts in line 1"),
        ("x = 1\n[\"a\" . b . 'c'.d.e.f.g]", "a key of more than 6 parts in line 2"),
        ("x='" + "y" * 200_000 + "'", "200,004 characters in line 1, and 150,000 are allowed"),
        ("x=[" + "[]," * 30_000 + "]", "30,002 of the characters '=', '\\[' and '{', and 25,000 are allowed"),
    ],
    ids=["a dotted key", "a quoted header", "a long line", "arrays"],
)
def test_a_definition_that_would_take_much_memory_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_campaign(text)


@pytest.mark.parametrize("title", ["A. B. C. D. E. F. G. H.", "1.2.3.4.5.6.7.8.9", "www.a.b.c.d.e.f.example.org"])
def test_a_text_may_have_many_dots(title: str) -> None:
    campaign = parse_campaign(pilot(title={"en": title, "de": title}))
    assert localise(parse_campaign(write_campaign(campaign)).title, "en") == title


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"[{number:x}.aaaaa.aaaaa.aaaaa.aaaaa.b]\n" for number in range(24_000)),
        "".join(f"{number:x}.aaaaa.aaaaa.aaaaa.aaaaa.b=1\n" for number in range(24_000)),
        "x = [" + ('"ab",' * 1_000 + "\n") * 580 + "]",
    ],
    ids=["headers", "keys", "texts"],
)
def test_the_largest_definition_takes_bounded_memory(text: str, tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(text)
    code = (
        "import pathlib, resource\n"
        "from dissensus.schema.definition_table import read_toml\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "read_toml(pathlib.Path('campaign.toml').read_text(), 'The campaign', 3_000_000)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert int(result.stdout) < 200 * 1024


def test_a_wording_falls_back_to_the_first_language() -> None:
    title = parse_campaign(PILOT).title
    assert localise(title, "de") == "Ist es sicher?"
    assert localise(title, "fr") == "Is it safe?"
    assert localise({}, "fr") == ""


@pytest.mark.parametrize("name", campaigns())
def test_shipped_campaigns_are_complete(name: str) -> None:
    campaign = load_campaign(name)
    assert campaign.name == name
    assert parse_campaign(campaign.as_mapping()) == campaign
    assert parse_campaign(load_campaign_toml(name)) == campaign
    texts = (campaign.title, campaign.warning, campaign.help, campaign.thanks, campaign.consent.text)
    for wording in (*texts, *(purpose.text for purpose in campaign.consent.purposes)):
        assert set(wording) == {"en", "de"}
        assert len(set(wording.values())) == 2


def test_the_twelve_cells_of_dices_350_are_a_comment_to_remove() -> None:
    quota = parse_campaign(load_campaign_toml("dices-350").replace("#~ ", "")).quota
    assert quota is not None
    assert set(quota.targets.values()) == {10}
    assert len(quota.targets) == 12 + 1
    assert load_campaign("dices-350").quota is None


def test_dices_990_balances_countries_and_genders() -> None:
    campaign = load_campaign("dices-990")
    assert campaign.quota is not None
    assert campaign.quota.shares(70) == {
        "Man × India": 17,
        "Man × US": 17,
        "Woman × India": 16,
        "Woman × US": 16,
        "rest": 4,
    }
    assert campaign.screener is not None
    assert [question.name for question in campaign.screener.questions] == ["rater_gender", "rater_locale"]


def test_an_unknown_shipped_campaign() -> None:
    with pytest.raises(NotFound, match=r"There is no campaign 'dices-35'; there are 'dices-350'.*Did you mean"):
        load_campaign("dices-35")


def test_a_new_name_is_validated() -> None:
    renamed = rename_campaign(parse_campaign(PILOT), "pilot-2")
    assert (renamed.name, renamed.consent) == ("pilot-2", parse_campaign(PILOT).consent)
    with pytest.raises(InvalidInput, match="name: Write up to 60"):
        rename_campaign(renamed, "../pilot")


def test_keys_are_the_fields_of_a_campaign() -> None:
    from dataclasses import fields

    from dissensus.schema.campaign.definition import Campaign

    assert set(KEYS) == {field.name for field in fields(Campaign)}


CHOOSE = {
    "name": "choose",
    "kind": "instruction",
    "text": {"en": "Please choose Blue.", "de": "Bitte wählen Sie Blau."},
    "scale": ["Red", "Blue"],
    "labels": {"Red": {"en": "Red", "de": "Rot"}, "Blue": {"en": "Blue", "de": "Blau"}},
    "correct_answers": ["Blue"],
    "after": 1,
}


def test_a_campaign_with_checks_survives_serialisation() -> None:
    campaign = parse_campaign(pilot(checks=[CHOOSE], estimated_minutes=20))
    assert [check.name for check in campaign.checks] == ["choose"]
    assert parse_campaign(campaign.as_mapping()) == campaign
    assert parse_campaign(write_campaign(campaign)).digest == campaign.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"checks": [CHOOSE]}, "estimated_minutes: It is missing. Write how long the work takes"),
        ({"checks": [{**CHOOSE, "after": 0}], "estimated_minutes": 20}, "after .choose.: It is missing or 0"),
        ({"recruit": {"kind": "prolific"}}, "recruit.codes: The completion codes"),
        (
            {"recruit": {"codes": {"completed": "SHORT"}}},
            "completed: It is 'SHORT'. Write 6 to 32 random characters from A to Z",
        ),
        ({"recruit": {"token": "t"}}, "recruit: There is no key 'token'"),
        ({"recruit": {}}, "recruit.kind: It is missing. Write kind = .prolific., or kind = .link. for any other panel"),
        ({"recruit": {"kind": "prolific", "parameter": "pid"}}, "recruit.parameter: It is about links of other panels"),
        ({"recruit": {**PANEL, "name": " "}}, "recruit.name: "),
        ({"recruit": {**PANEL, "parameter": "1 d"}}, "recruit.parameter: It is '1 d'. Name the parameter"),
        ({"recruit": {**PANEL, "parameter": "Key"}}, "recruit.parameter: The site itself uses 'key'"),
        ({"recruit": {**PANEL, "addresses": {"done": "x"}}}, "recruit.addresses: There is no key 'done'"),
        (
            {"recruit": {**PANEL, "codes": {"stopped": "x"}}},
            "stopped: It is 'x'. Write 6 to 32 random characters from A to Z",
        ),
        *(
            ({"recruit": {**PANEL, "addresses": {"completed": address}}}, message)
            for address, message in (
                ("http://panel.example/done", "completed: 'http://panel.example/done' is not an https address"),
                ("javascript:alert(1)", "completed: 'javascript:alert.1.' is not an https address"),
                ("https://panel.example/?p={pid}", "completed: Only {id} is filled in"),
                ("https://{id}.example/", "completed: Only {id} is filled in"),
                (f"https://panel.example/{'a' * 1000}", "completed: It has 1,022 characters"),
            )
        ),
        ({"pay": {"currency": "pounds", "hourly_rate": 1200}}, "pay.currency: It is 'pounds'. Write its code of three"),
        ({"pay": {"currency": "GBP"}}, "pay.hourly_rate: It is missing"),
        ({"pay": {"currency": "GBP", "hourly_rate": 12.5}}, "pay.hourly_rate: It is a number. Write a whole number"),
        ({"pay": {"currency": "GBP", "hourly_rate": -1}}, "pay.hourly_rate: It is -1. Write a whole number from 0"),
        ({"pay": "12 GBP"}, "pay: It is text"),
        ({"care": {"survey_every": 0}}, "care.survey_every: It is 0. Write a whole number from 1"),
        ({"care": {"survey": "dices-350"}}, "care.survey: dices-350 asks about the item. Give one about the rater"),
        ({"care": {"contacts": "Mia"}}, "There is no key 'contacts'. Did you mean 'contact'"),
        ({"care": {"topics": {"a, b": "A and b"}}}, "Name a topic as items do, on one line, without a comma"),
        ({"care": {"topics": {"a\u2028b": "A and b"}}}, "Name a topic as items do, on one line, without a comma"),
        ({"care": {"topics": ["a"]}}, "care.topics: It is a list. Write a table"),
    ],
)
def test_an_invalid_table_is_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_campaign(pilot(**changes))


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({"pay": {"hourly_rate": 5}}, ["pay.currency: It is missing. Write its code"]),
        (
            {"recruit": {"kind": "link"}},
            ["recruit.name: It is missing. Write the name", "recruit.parameter: It is missing. Name the parameter"],
        ),
        ({"consent": {"text": BOTH}}, ["consent.purposes: They are missing. Write at least one"]),
        (
            {"show_topic": True, "click_to_reveal": "yes"},
            ["click_to_reveal: It is text. Write true or false"],
        ),
        ({"repeat": {"share": 1}}, ["repeat.share: It is 1. Write the share"]),
        (
            {"max_per_day": 3, "demographics": "demographics-dices", "quota": {"hold_minutes": "x"}},
            ["quota.axes: There is none."],
        ),
        (
            {"demographics": "demographics-dices", "quota": {"axes": {"rater_age": {}}, "cells": [{"groups": {}}]}},
            ["quota.axes.rater_age: It has no group."],
        ),
    ],
)
def test_each_fault_is_listed_once_with_its_cause(changes: dict[str, Any], faults: list[str]) -> None:
    with pytest.raises(InvalidDefinition) as error:
        parse_campaign({**pilot(), **changes})
    assert [fault.text[: len(start)] for fault, start in zip(error.value.faults, faults, strict=True)] == faults


def test_names_that_are_missing_are_not_the_same() -> None:
    purposes = [{"text": BOTH, "required": True}, {"text": BOTH}]
    with pytest.raises(InvalidDefinition) as error:
        parse_campaign({**pilot(), "consent": {"text": BOTH, "purposes": purposes}})
    assert [fault.path for fault in error.value.faults] == [("consent", "purposes", row, "name") for row in (0, 1)]


def test_a_list_that_is_too_long_loses_rows() -> None:
    purposes = [{"name": f"p{number}", "text": BOTH, "required": True} for number in range(21)]
    with pytest.raises(InvalidInput, match=r"There are 21, and at most 20 are possible. Remove some."):
        parse_campaign({**pilot(), "consent": {"text": BOTH, "purposes": purposes}})


def test_a_campaign_without_questions_lacks_a_questionnaire() -> None:
    without = {key: value for key, value in pilot().items() if key != "questionnaire"}
    with pytest.raises(InvalidInput, match=r"questionnaire: It is missing. Name one that ships"):
        parse_campaign(without)


def test_guidelines_need_every_language() -> None:
    with pytest.raises(InvalidInput, match=r"guidelines.*'de'"):
        parse_campaign(pilot(guidelines={"en": "Judge it."}))
    campaign = parse_campaign(pilot(guidelines={"en": "Judge it.", "de": "Beurteilen Sie."}))
    assert parse_campaign(write_campaign(campaign)).guidelines == campaign.guidelines
