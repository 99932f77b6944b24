"""Attempts: validation, and parsing of file records."""

import polars as pl
import pytest
from tests.support.attempt_records import RECORD

from dissensus.errors import InvalidInput
from dissensus.schema.records.attempt import KEYS, SCHEMA, TAGS, Attempt, to_attempts_table
from dissensus.schema.records.attempt_parser import RELEASED_SPELLING, parse_attempt, parse_attempts, parse_whole_number


def test_a_record_is_parsed_to_an_attempt() -> None:
    attempt = parse_attempt(RECORD)
    assert attempt.rating == 3
    assert attempt.succeeded is True
    assert attempt.tags == ("Other", "Theft")
    assert parse_attempt({**RECORD, "rating": 2}).succeeded is False
    assert parse_attempt({**RECORD, "rating": None}).succeeded is None


def test_keys_are_those_of_the_published_file_in_its_order() -> None:
    assert tuple(RECORD) == KEYS
    assert len(TAGS) == 20


def test_both_spellings_are_read() -> None:
    record = dict(RECORD)
    record[RELEASED_SPELLING] = record.pop("task_description_harmlessness_score")
    assert parse_attempt(record) == parse_attempt(RECORD)
    assert parse_attempt({**RECORD, RELEASED_SPELLING: 0.5}) == parse_attempt(RECORD)
    with pytest.raises(InvalidInput, match="in both spellings, with two values"):
        parse_attempt({**RECORD, RELEASED_SPELLING: 0.75})


def test_values_may_be_text() -> None:
    text_record = {
        **RECORD,
        "min_harmlessness_score_transcript": "-0.25",
        "rating": "3.0",
        "task_description_harmlessness_score": "0.5",
        "red_team_member_id": "7",
        "is_upworker": "False",
        "tags": '["Other", "Theft"]',
    }
    assert parse_attempt(text_record) == parse_attempt(RECORD)
    blank = {**text_record, "rating": "", "tags": "", "is_upworker": "", "num_params": None, "task_description": None}
    attempt = parse_attempt(blank)
    assert (attempt.rating, attempt.tags, attempt.is_upworker) == (None, None, None)
    assert (attempt.num_params, attempt.task_description) == (None, "")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("transcript", None, "transcript is null; it is text"),
        ("transcript", "a\0b", "transcript has a NUL"),
        ("task_description", "\ud800", "half of a surrogate pair"),
        ("rating", 5, "rating is 5; give a whole number from 0 to 4"),
        ("rating", 2.5, "rating is '2.5'; it is a whole number"),
        ("rating", True, "rating is 'True'"),
        ("rating", "good", "rating is 'good'; it is a number"),
        ("red_team_member_id", -1, "red_team_member_id is -1;"),
        ("red_team_member_id", 10**30, "red_team_member_id is 1000000"),
        ("red_team_member_id", None, "red_team_member_id is None;"),
        ("min_harmlessness_score_transcript", float("nan"), "it is a number, or null where nothing was scored"),
        ("min_harmlessness_score_transcript", "1e999", "it is a number, or null"),
        ("is_upworker", "perhaps", "is_upworker is 'perhaps'; it is true, false or null"),
        ("is_upworker", 1, "is_upworker is '1'"),
        ("tags", "Theft", "tags is 'Theft'; it is a list of texts"),
        ("tags", [1], "it is a list of texts"),
        ("tags", "[" * 100_000, "it is a list of texts"),
        ("model_type", 3, "model_type is '3'; it is text"),
    ],
)
def test_an_invalid_value_is_rejected(key: str, value: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_attempt({**RECORD, key: value})
    assert message in str(caught.value)


def test_a_missing_key_is_named() -> None:
    record = {key: value for key, value in RECORD.items() if key != "rating"}
    with pytest.raises(InvalidInput, match=r"there is no 'rating'.*Did you mean 'ratings'\?"):
        parse_attempt({**record, "ratings": 3})
    assert parse_attempt({key: RECORD[key] for key in KEYS if key not in ("tags", "is_upworker")}).tags is None


def test_attempts_convert_to_a_table_and_back() -> None:
    attempts = [parse_attempt(RECORD), parse_attempt({**RECORD, "tags": None, "is_upworker": None, "rating": None})]
    table = to_attempts_table(attempts)
    assert dict(table.schema) == SCHEMA
    assert list(parse_attempts(table)) == attempts
    assert dict(to_attempts_table([]).schema) == SCHEMA
    invalid = table.with_columns(rating=pl.Series([1, 9]))
    with pytest.raises(InvalidInput, match="Row 2: rating is 9;"):
        list(parse_attempts(invalid))


def test_the_constructor_validates() -> None:
    with pytest.raises(InvalidInput, match="is_upworker is 'no'"):
        Attempt(**{**RECORD, "rating": 3, "is_upworker": "no"})


def test_long_numbers_as_text_are_not_rounded() -> None:
    assert parse_whole_number("red_team_member_id", str(2**53 + 1)) == 2**53 + 1
    assert parse_whole_number("rating", "3.0") == 3
    with pytest.raises(InvalidInput, match="it is a whole number"):
        parse_whole_number("rating", "3.5")
