"""Entries from Prolific and other panels, and completion addresses."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.pilot_study import CODES

from dissensus.errors import InvalidInput
from dissensus.recruit import entry as panel_entry
from dissensus.recruit.prolific import OUTCOMES, completion_url, entry_url, parse_completion_codes, parse_entry
from dissensus.schema.campaign.recruit import RecruitSettings

PID, STUDY, SESSION = "5f0" * 8, "ab1" * 8, "0c9" * 8
QUERY = {"PROLIFIC_PID": PID, "STUDY_ID": STUDY, "SESSION_ID": SESSION}
IDS = st.text("0123456789abcdefABCDEF", min_size=24, max_size=24)


def refusal_message(query: dict[str, Any]) -> str:
    with pytest.raises(InvalidInput) as error:
        parse_entry(query)
    return str(error.value)


@quick
@given(IDS, IDS, IDS)
def test_ids_are_case_insensitive(pid: str, study: str, session: str) -> None:
    query = {"PROLIFIC_PID": pid, "STUDY_ID": study, "SESSION_ID": session}
    entry = parse_entry(query)
    assert entry == parse_entry({name: value.lower() for name, value in query.items()})
    assert (entry.pid, entry.study, entry.submission) == (pid.lower(), study.lower(), session.lower())


def test_participant_ids_are_not_in_representations() -> None:
    assert PID not in repr(parse_entry(QUERY))


@pytest.mark.parametrize("name", QUERY)
@pytest.mark.parametrize("value", [None, "", "5f0", PID + "0", PID[:-1] + "g", PID[:-1] + "٣", f" {PID}", f"{PID}\n"])
def test_invalid_ids_are_explained_to_the_participant(name: str, value: str | None) -> None:
    words = refusal_message({**QUERY, name: value})
    assert f"{name} is {'not a valid id' if value else 'missing'}" in words
    assert "Open the study again on Prolific" in words
    assert "Nothing about you was stored" in words
    assert not any(one in words for one in QUERY.values())


def test_unfilled_placeholders_are_refused() -> None:
    query = dict(parse_qsl(urlsplit(entry_url("https://rate.example/c/pilot")).query))
    assert set(query) == set(QUERY)
    assert (
        "PROLIFIC_PID is not a valid id, STUDY_ID is not a valid id, SESSION_ID is not a valid id"
        in refusal_message(query)
    )


@pytest.mark.parametrize("address", ["https://rate.example/c/pilot", "https://rate.example/c/pilot?key=k%26x"])
def test_placeholders_are_filled_by_prolific(address: str) -> None:
    filled = entry_url(address)
    for name, value in QUERY.items():
        filled = filled.replace(f"{{{{%{name}%}}}}", value)
    assert filled.startswith(address)
    query = dict(parse_qsl(urlsplit(filled).query))
    assert parse_entry(query) == parse_entry(QUERY)


@pytest.mark.parametrize(
    "address",
    [
        "http://rate.example/c/pilot",
        "rate.example/c/pilot",
        "https://",
        "https://[",
        "https://me:secret@rate.example/",
        "https://rate.example/c/pilot\n",
        "https://rate.example/ c",
        "javascript:alert(1)",
        "",
    ],
)
def test_addresses_must_be_https(address: str) -> None:
    with pytest.raises(InvalidInput, match="is not an https address"):
        entry_url(address)


@pytest.mark.parametrize("address", ["https://rate.example/#top", "https://rate.example/?STUDY_ID=1"])
def test_an_address_with_ids_or_a_fragment_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="Give it without them"):
        entry_url(address)


def test_each_outcome_leads_to_its_code() -> None:
    codes = parse_completion_codes(CODES)
    addresses = [completion_url(codes, outcome) for outcome in OUTCOMES]
    assert addresses == [f"https://app.prolific.com/submissions/complete?cc={CODES[outcome]}" for outcome in OUTCOMES]
    assert len(set(addresses)) == len(OUTCOMES) == 5


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"completed": None}, "completed: It is missing"),
        ({"completed": 123456}, "completed: It is a number"),
        ({"completed": "SHORT"}, "completed: It is 'SHORT'. Write 6 to 32"),
        ({"completed": "C1A2B3C4&x=1"}, "completed: It is 'C1A2B3C4&x=1'"),
        ({"completed": "c1a2b3c4"}, "completed: It is 'c1a2b3c4'"),
        ({"no_consent": CODES["completed"]}, "no_consent: PILOT0 is the code of another outcome too"),
        ({"complete": "PILOT9"}, "'complete' is not an outcome. Did you mean 'completed'?"),
    ],
)
def test_ambiguous_codes_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_completion_codes({**CODES, **changes})
    assert words in str(error.value)


def test_all_faults_of_codes_are_reported_at_once() -> None:
    with pytest.raises(InvalidInput, match="has 5 faults"):
        parse_completion_codes({})


def test_an_outcome_without_a_code_has_no_address() -> None:
    with pytest.raises(InvalidInput, match="There is no code for 'no_consent'"):
        completion_url({"completed": "PILOT0"}, "no_consent")


PANEL = RecruitSettings(kind="link", name="Panel", parameter="pid")


@pytest.mark.parametrize("person", ["a" * 8, "a" * 128, "1234567Z", "A.b_c~d-"])
def test_ids_of_a_panel_are_hidden_and_give_another_submission_in_each_campaign(person: str) -> None:
    first, again, other = (panel_entry.parse_entry(PANEL, campaign, {"pid": person}) for campaign in ("a", "a", "b"))
    assert (first.person, first.query) == (person, {"pid": person})
    assert first == again
    assert first.submission != other.submission
    assert person not in repr(first)


@pytest.mark.parametrize(
    "person", ["", "a" * 7, "a" * 129, "12345678", "aaaaaaaé", "aaaa aaaa", "aaaaaaaa\n", "aaaa/aaaa"]
)
def test_ids_of_a_panel_that_could_be_guessed_are_refused(person: str) -> None:
    with pytest.raises(InvalidInput, match=f"pid {'is not a valid id' if person else 'is missing'}") as error:
        panel_entry.parse_entry(PANEL, "a", {"pid": person})
    assert not person or person not in str(error.value)
