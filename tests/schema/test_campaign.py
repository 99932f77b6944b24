"""Campaigns as TOML: read whole, refused whole, the same again."""

import re
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.campaign_definitions import PILOT, pilot

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.campaign.completion_codes import OUTCOMES
from dissensus.schema.campaign.definition import localise
from dissensus.schema.campaign.parser import KEYS, parse_campaign
from dissensus.schema.campaign.shipped import campaigns, load_campaign, load_campaign_toml, rename_campaign
from dissensus.schema.campaign.writer import write_campaign


def test_what_is_left_out_has_its_default() -> None:
    found = parse_campaign(PILOT)
    assert (found.replication, found.most_items, found.most_a_day, found.demographics) == (None,) * 4
    assert (found.break_every, found.preview, found.reclaim_after_h, found.seed) == (20, False, 48, 0)
    assert found.demographics_placed == "after"
    assert dict(found.help) == dict(found.thanks) == {}


@quick
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "replication": st.integers(1, 10**6),
            "most_items": st.integers(1, 10**6),
            "most_a_day": st.integers(1, 10**6),
            "break_every": st.integers(0, 10**6),
            "reclaim_after_h": st.integers(1, 10**6),
            "seed": st.integers(0, 2**32 - 1),
            "preview": st.booleans(),
            "demographics": st.just("demographics-dices"),
            "demographics_placed": st.sampled_from(["after", "before"]),
            "help": st.just({"en": "Here.", "de": "Hier."}),
            "thanks": st.just({"en": "Thanks.", "de": "Danke."}),
            "minutes": st.just(20),
            "prolific": st.just({"codes": {name: f"CODE0{place}" for place, name in enumerate(OUTCOMES)}}),
            "pay": st.just({"currency": "GBP", "hour": 1200, "finished": 600}),
            "gold": st.just({"verifiers": 0, "scale": ["No", "Yes"], "topics": ["A", "B"]}) | st.just({}),
        },
    )
)
def test_a_campaign_comes_back_as_it_was(changes: dict[str, Any]) -> None:
    found = parse_campaign(pilot(**changes))
    again = parse_campaign(found.as_mapping())
    assert again == found
    assert again.digest == found.digest


HOSTILE = st.one_of(
    st.text("\"'\\\n\t#=[]{}.,é\u00a0\u200b\u202e\u2028\u2066\ufeff\u0301𝄞 ab", max_size=30),
    st.sampled_from(
        ['"""', "'''", "\\", "\\u0041", "C:\\new", "a \\\n  b", '"]\nname = "other"', "\r\n\r\n", "\ue000\U0010ffff"]
    ),
).map(lambda text: f"<{text}>")
LINES = HOSTILE.map(lambda text: re.sub(r"[\r\n\t]", " ", text))


@st.composite
def hostile_campaigns(draw: st.DrawFn) -> dict[str, Any]:
    """A campaign whose texts, answers and labels try to be something else."""
    answers = draw(st.lists(LINES, min_size=2, max_size=3, unique=True))
    question = {
        "name": "Q_one",
        "text": draw(HOSTILE),
        "scale": answers,
        "labels": {answers[0]: draw(HOSTILE)},
        "examples": [draw(HOSTILE), draw(HOSTILE)],
        "heading": "h",
    }
    asked = {
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
        questionnaire=asked,
        consent={
            "text": draw(HOSTILE),
            "purposes": [{"name": "rating", "text": draw(HOSTILE), "required": True}],
        },
    )


@quick
@given(hostile_campaigns())
def test_a_campaign_comes_back_from_what_is_written(data: dict[str, Any]) -> None:
    found = parse_campaign(data)
    text = write_campaign(found)
    assert parse_campaign(text).digest == found.digest
    # As a form of a browser and a file of Windows bring it.
    assert parse_campaign(text.replace("\n", "\r\n")).digest == found.digest


@pytest.mark.parametrize("name", campaigns())
def test_campaigns_that_ship_come_back_from_what_is_written(name: str) -> None:
    found = load_campaign(name)
    assert parse_campaign(write_campaign(found)) == found


def test_control_characters_never_get_into_a_campaign_nor_into_its_file() -> None:
    for mark in ("\x00", "\x07", "\x1b", "\x7f", "\x85", "\r", "\ud800"):
        with pytest.raises(InvalidInput, match=f"holds U\\+{ord(mark):04X}"):
            parse_campaign(pilot(title={"en": f"Is {mark}it?", "de": "x"}))
    by_hand = replace(parse_campaign(PILOT), title={"en": "a\x07\x7fb", "de": "x"})
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", write_campaign(by_hand))


def test_the_digest_tells_every_change_and_nothing_else() -> None:
    first = parse_campaign(PILOT)
    backwards = parse_campaign(dict(reversed(PILOT.items())))
    assert backwards.digest == first.digest
    changes: list[dict[str, Any]] = [
        {"name": "other"},
        {"seed": 1},
        {"preview": True},
        {"replication": 3},
        {"questionnaire": "dices-990"},
        {"demographics": "demographics-dices"},
        {"title": {"en": "Is it safe? ", "de": "Ist es sicher!"}},
        {"languages": ["de", "en"]},
    ]
    digests = {parse_campaign(pilot(**change)).digest for change in changes}
    assert len(digests | {first.digest}) == len(changes) + 1


def test_a_consent_text_has_a_digest_of_its_own() -> None:
    first, other = parse_campaign(PILOT), parse_campaign(pilot(seed=5))
    assert first.consent.digest == other.consent.digest
    changed = deepcopy(PILOT)
    changed["consent"]["purposes"][1]["required"] = True
    assert parse_campaign(changed).consent.digest != first.consent.digest


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = pilot(
        name="My Pilot",
        titel="?",
        title=None,
        warning={"en": "Cruel."},
        replication=0,
        preview="yes",
        demographics_placed="between",
        demographics="dices-350",
        consent={"text": PILOT["consent"]["text"], "purposes": [{"name": "a b", "text": {"en": "x", "de": "x"}}]},
    )
    with pytest.raises(InvalidInput) as caught:
        parse_campaign(wrong)
    told = str(caught.value)
    for part in (
        "name: Write up to 60 of a to z, 0 to 9 and -, such as pilot-2",
        "There is no key 'titel'. Did you mean 'title'?",
        "title: It is missing. Write what raters read.",
        "languages: de lacks 1 wording: warning",
        "replication: It is 0. Write a whole number from 1 to 1,000,000",
        "preview: It is",
        "demographics_placed: It is 'between'",
        "demographics: dices-350 asks about the item. Give one about the rater",
        "consent.purposes[1]",
        "Name a purpose by a letter",
    ):
        assert part in told, part


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"consent": None}, r"consent: It is missing. Write \[consent\]"),
        ({"questionnaire": None}, "questionnaire: It is .*Name one that ships, such as dices-350"),
        ({"questionnaire": "dices-35"}, "There is no questionnaire 'dices-35'.*Did you mean 'dices-350'"),
        ({"questionnaire": {"name": "x"}}, "questionnaire: The questionnaire"),
        ({"languages": ["en", "de", "fr"]}, "dices-350 has no wordings in fr"),
        ({"languages": None}, 'languages: They are missing.*languages = \\["en"\\]'),
        ({"languages": ["english language"]}, "is no BCP 47 tag"),
        ({"name": "-x"}, "name: Write up to 60"),
        ({"name": "x" * 61}, "name: Write up to 60"),
        ({"seed": 2**32}, "seed: It is 4,294,967,296"),
        ({"replication": True}, "replication: It is"),
        ({"break_every": -1}, "break_every: It is -1"),
    ],
)
def test_one_thing_that_is_wrong(changes: dict[str, Any], says: str) -> None:
    wrong = {key: value for key, value in {**deepcopy(PILOT), **changes}.items() if value is not None}
    with pytest.raises(InvalidInput, match=says):
        parse_campaign(wrong)


def test_nobody_can_be_asked_for_nothing() -> None:
    optional = deepcopy(PILOT)
    optional["consent"]["purposes"][0]["required"] = False
    with pytest.raises(InvalidInput, match=r"None is required\. Name at least one"):
        parse_campaign(optional)
    twice = deepcopy(PILOT)
    twice["consent"]["purposes"][1]["name"] = "rating"
    with pytest.raises(InvalidInput, match="Two have one name"):
        parse_campaign(twice)


@pytest.mark.parametrize("text", ["name = ", "a = 1\na = 2", "[[[", "x = " + "[" * 5000])
def test_a_text_that_is_not_toml(text: str) -> None:
    with pytest.raises(InvalidInput, match="The campaign is not TOML"):
        parse_campaign(text)


def test_a_text_that_is_too_long() -> None:
    with pytest.raises(InvalidInput, match="3,000,001 characters, and 3,000,000 are allowed"):
        parse_campaign("#" * 3_000_001)


def test_a_wording_falls_back_to_the_first_language() -> None:
    title = parse_campaign(PILOT).title
    assert localise(title, "de") == "Ist es sicher?"
    assert localise(title, "fr") == "Is it safe?"
    assert localise({}, "fr") == ""


@pytest.mark.parametrize("name", campaigns())
def test_campaigns_that_ship_are_whole(name: str) -> None:
    found = load_campaign(name)
    assert found.name == name
    assert parse_campaign(found.as_mapping()) == found
    assert parse_campaign(load_campaign_toml(name)) == found
    texts = (found.title, found.warning, found.help, found.thanks, found.consent.text)
    for wording in (*texts, *(purpose.text for purpose in found.consent.purposes)):
        assert set(wording) == {"en", "de"}
        assert len(set(wording.values())) == 2


def test_a_campaign_that_does_not_ship() -> None:
    with pytest.raises(NotFound, match=r"There is no campaign 'dices-35'; there are 'dices-350'.*Did you mean"):
        load_campaign("dices-35")


def test_another_name_is_checked_as_the_first_was() -> None:
    other = rename_campaign(parse_campaign(PILOT), "pilot-2")
    assert (other.name, other.consent) == ("pilot-2", parse_campaign(PILOT).consent)
    with pytest.raises(InvalidInput, match="name: Write up to 60"):
        rename_campaign(other, "../pilot")


def test_every_key_is_one_of_a_campaign() -> None:
    from dataclasses import fields

    from dissensus.schema.campaign.definition import Campaign

    assert set(KEYS) == {field.name for field in fields(Campaign)}


CHOOSE = {
    "name": "choose",
    "kind": "instruction",
    "text": {"en": "Please choose Blue.", "de": "Bitte wählen Sie Blau."},
    "scale": ["Red", "Blue"],
    "labels": {"Red": {"en": "Red", "de": "Rot"}, "Blue": {"en": "Blue", "de": "Blau"}},
    "right": ["Blue"],
    "after": 1,
}


def test_a_campaign_with_checks_comes_back_as_it_was() -> None:
    found = parse_campaign(pilot(checks=[CHOOSE], minutes=20))
    assert [check.name for check in found.checks] == ["choose"]
    assert parse_campaign(found.as_mapping()) == found
    assert parse_campaign(write_campaign(found)).digest == found.digest


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"checks": [CHOOSE]}, "minutes: It is missing. Write how long the work takes"),
        ({"checks": [{**CHOOSE, "after": 0}], "minutes": 20}, "after .choose.: It is missing or 0"),
        ({"prolific": {}}, "prolific.codes: The completion codes"),
        ({"prolific": {"codes": {"completed": "SHORT"}}}, "completed: It is 'SHORT'. Write 6 to 32 of A to Z"),
        ({"prolific": {"token": "t"}}, "prolific: There is no key 'token'"),
        ({"pay": {"currency": "pounds", "hour": 1200}}, "pay.currency: It is 'pounds'. Write its code of three"),
        ({"pay": {"currency": "GBP"}}, "pay.hour: It is missing"),
        ({"pay": {"currency": "GBP", "hour": 12.5}}, "pay.hour: It is a number. Write a whole number from 0"),
        ({"pay": {"currency": "GBP", "hour": -1}}, "pay.hour: It is -1. Write a whole number from 0"),
        ({"pay": "12 GBP"}, "pay: It is text"),
        ({"care": {"every": 0}}, "care.every: It is 0. Write a whole number from 1"),
        ({"care": {"survey": "dices-350"}}, "care.survey: dices-350 asks about the item. Give one about the rater"),
        ({"care": {"contacts": "Mia"}}, "There is no key 'contacts'. Did you mean 'contact'"),
        ({"care": {"topics": {"a, b": "A and b"}}}, "Name a topic as items do, without a comma"),
        ({"care": {"topics": ["a"]}}, "care.topics: It is a list. Write a table"),
    ],
)
def test_what_is_wrong_with_recruitment(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        parse_campaign(pilot(**changes))
