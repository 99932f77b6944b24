"""Parser of plans of releases in TOML; one error lists everything that is wrong."""

import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime
from types import MappingProxyType
from typing import Any, Final

from dissensus.schema.definition_errors import DefinitionErrors, InvalidDefinition
from dissensus.schema.definition_table import SLUG, DefinitionTable, make_table, read_toml
from dissensus.schema.questionnaire.faults import describe_type
from dissensus.schema.ratings.columns import RATER_ID
from dissensus.schema.release.plan import (
    DEFAULT_K,
    MAX_CELL,
    PURPOSE,
    SMALL_CELLS,
    TIME_STEP_MS,
    TIMESTAMPS,
    AnonymityPlan,
    ReleasePlan,
    Signature,
)

MAX_LENGTH: Final = 1_000_000
"""Characters of a plan."""
MAX_TEXTS: Final = 200
MAX_SIGNATURES: Final = 200
VERSION: Final = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,2}")
KEYS: Final = tuple(field.name for field in fields(ReleasePlan))


def parse_plan(data: Mapping[str, object] | str) -> ReleasePlan:
    """Parse a plan from TOML, or from the mapping read from it.

    Examples
    --------
    >>> plan = parse_plan('''
    ... name = "pilot"
    ... version = "1.0"
    ... released = 2026-11-25
    ... creators = ["Ada Lovelace"]
    ... contact = "data@example.org"
    ... licence = "CC-BY-4.0"
    ... campaign = "pilot"
    ... ''')
    >>> plan.key_file, plan.anonymity.k, plan.anonymity.small_cells, plan.timestamps
    ('pilot-1.0.key', 5, 'refuse', 'none')
    """
    data = read_toml(data, "The plan", MAX_LENGTH) if isinstance(data, str) else data
    notes = DefinitionErrors()
    plan = _parse_table(make_table(data, notes))
    if notes.faults or plan is None:
        raise InvalidDefinition("The plan", notes.faults)
    return plan


def _parse_table(table: DefinitionTable) -> ReleasePlan | None:
    table.check_keys(KEYS)
    sources = [key for key in ("campaign", "ratings") if key in table.data]
    if len(sources) != 1:
        table.add_error("campaign", "Name either a campaign of the site, or a file of ratings.")
    if "older" in table.data and "previous" not in table.data:
        table.add_error("older", "Name the latest release as previous, and only those before it here.")
    for key in ("items", "consents"):
        if key in table.data and "campaign" in table.data:
            table.add_error(key, "The campaign has it. Remove it.")
    if "ratings" in table.data:
        if "with_images" in table.data:
            table.add_error("with_images", "Images are released from campaigns alone. Remove it.")
        for key in ("title", "warning"):
            if key not in table.data:
                table.add_error(key, "It is missing. No campaign says it. Write it.")
    released = _date(table)
    values: dict[str, Any] = {
        "name": _pattern(table, "name", SLUG, "up to 60 of a to z, 0 to 9 and -"),
        "version": _pattern(table, "version", VERSION, 'numbers with points: "1.0"'),
        "creators": table.get_texts("creators", MAX_TEXTS, needed=True),
        "contact": _get_required(table, "contact", "Write an address to which users and raters can turn."),
        "licence": _get_required(table, "licence", 'Write an identifier of https://spdx.org/licenses: "CC-BY-4.0".'),
        **{key: table.get_text(key) for key in ("campaign", "ratings", "items", "consents", "key", "previous")},
        **{key: table.get_text(key) for key in ("title", "question")},
        "warning": _long_text(table, "warning"),
        "languages": table.get_texts("languages", MAX_TEXTS),
        "purpose": table.get_text("purpose", PURPOSE) or PURPOSE,
        "linked_to": table.get_texts("linked_to", MAX_TEXTS),
        "older": table.get_texts("older", MAX_TEXTS),
        "drop": table.get_texts("drop", MAX_TEXTS),
        "with_text": table.get_flag("with_text", default=False),
        "with_images": table.get_flag("with_images", default=False),
        "redact": table.get_flag("redact", default=True),
        "timestamps": table.get_choice("timestamps", TIMESTAMPS, "none"),
        "round_times_ms": table.get_number("round_times_ms", TIME_STEP_MS, 86_400_000, least=1_000),
        "people": table.get_number("people", 1, 10),
        "anonymity": _anonymity(table),
        "answers": _answers(table),
        "signatures": tuple(map(_signature, table.get_tables("signatures", MAX_SIGNATURES))),
    }
    if "creators" not in table.data:
        table.add_error("creators", 'They are missing. Name who is to be cited: creators = ["Ada Lovelace"].')
    return None if released is None else ReleasePlan(released=released, **values)


def _get_required(table: DefinitionTable, key: str, remedy: str) -> str:
    if key not in table.data:
        table.add_error(key, f"It is missing. {remedy}")
    return table.get_text(key) or ""


def _pattern(table: DefinitionTable, key: str, pattern: re.Pattern[str], allowed: str) -> str:
    text = table.get_text(key) or ""
    if key not in table.invalid_keys and not pattern.fullmatch(text):
        table.add_error(key, f"Write {allowed}.")
    return text


def _date(table: DefinitionTable) -> date | None:
    released = table.data.get("released")
    if isinstance(released, date) and not isinstance(released, datetime):
        return released
    value = "missing" if released is None else describe_type(released)
    table.add_error("released", f"It is {value}. Write a day without quotes: released = 2026-11-25.")
    return None


def _long_text(table: DefinitionTable, key: str) -> str | None:
    """Return a text of any number of lines."""
    value = table.data.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        table.add_error(key, f"It is {describe_type(value)}. Write a text in quotes.")
        return None
    return value.strip()


def _anonymity(table: DefinitionTable) -> AnonymityPlan:
    anonymity = table.get_table("anonymity")
    if anonymity is None:
        return AnonymityPlan()
    anonymity.check_keys(tuple(field.name for field in fields(AnonymityPlan)))
    return AnonymityPlan(
        k=anonymity.get_number("k", DEFAULT_K, MAX_CELL, least=2),
        l=anonymity.get_number("l", 1, 1_000),
        small_cells=anonymity.get_choice("small_cells", SMALL_CELLS, "refuse"),
        blank_first=anonymity.get_texts("blank_first", MAX_TEXTS),
        groups=MappingProxyType(_groups(anonymity)),
    )


def _groups(table: DefinitionTable) -> dict[str, Mapping[str, tuple[str, ...]]]:
    result: dict[str, Mapping[str, tuple[str, ...]]] = {}
    groups = table.get_table("groups")
    if groups is None:
        return result
    for axis in groups.data:
        rows = groups.get_table(axis)
        if rows is None:
            continue
        if axis == RATER_ID:
            rows.add_error("", "It is the id of a rater, which is never released.")
        named = {name: rows.get_texts(name, MAX_TEXTS, needed=True) for name in rows.data}
        values = [value for texts in named.values() for value in texts]
        if len(set(values)) < len(values):
            rows.add_error("", "A value is in two groups. Leave it in one.")
        result[axis] = MappingProxyType(named)
    return result


def _answers(table: DefinitionTable) -> Mapping[str, str]:
    answers = table.get_table("answers")
    if answers is None:
        return MappingProxyType({})
    return MappingProxyType({key: _long_text(answers, key) or "" for key in answers.data})


def _signature(table: DefinitionTable) -> Signature:
    table.check_keys(("check", "by", "code"))
    return Signature(**{key: _get_required(table, key, "Write it.") for key in ("check", "by", "code")})
