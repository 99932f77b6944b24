"""From TOML to a chatbot: every key is read, everything that is wrong is told at once."""

import re
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final

from dissensus.errors import InvalidInput
from dissensus.schema.address import check_secure_url
from dissensus.schema.campaign.chatbot import (
    AIMS,
    KINDS,
    LONGEST_RESPONSE,
    MANNERS,
    MODEL_TYPES,
    Chatbot,
    Endpoint,
    Kind,
    Patience,
    Samples,
    Script,
    Source,
    Weights,
)
from dissensus.schema.campaign.parameter_parser import parameters_from
from dissensus.schema.definition_table import SLUG, LINE_CHARACTERS, DefinitionErrors, DefinitionTable, read_toml, make_table
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.faults import find_control_character, describe_type, combine_problems
from dissensus.schema.records.conversation import LONGEST_TURN
from dissensus.schema.registered_model import parse_registered_model, names_registered_model

LARGEST_FILE: Final = 1_000_000
LONGEST_PROMPT: Final = 100_000
MOST_RESPONSES: Final = 1_000
MOST_SECONDS: Final = 86_400
MOST_SAMPLES: Final = 1_000
MOST_AT_ONCE: Final = 1_000
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PARAMS: Final = re.compile(r"[0-9]+(\.[0-9]+)?[KMBT]")

ABOUT: Final = ("name", "kind", "model_type", "num_params", "version")
ASKED: Final = ("system_prompt", "parameters", "longest", "patience")
KEYS: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {
        "openai_compatible": (*ABOUT, *ASKED, "openai_compatible"),
        "best_of_n": (*ABOUT, "best_of_n"),
        "scripted": (*ABOUT, "scripted"),
        "local": (*ABOUT, *ASKED, "local"),
    }
)
LEAST_SECONDS: Final = 0.001
COUNTS: Final[Mapping[str, int]] = MappingProxyType({"tries": 10, "at_once": MOST_AT_ONCE, "failures": 1_000})
"""What a patience counts, and how far."""


def parse_chatbot(data: Mapping[str, object] | str) -> Chatbot:
    """Return the chatbot that a TOML text, or the mapping read from it, describes.

    Examples
    --------
    >>> tern = parse_chatbot('''
    ... name = "tern"
    ... kind = "openai_compatible"
    ... model_type = "rlhf"
    ... num_params = "7B"
    ... version = "2"
    ... [openai_compatible]
    ... url = "https://api.example.com/v1"
    ... model = "tern-7b"
    ... key_variable = "TERN_KEY"
    ... [parameters]
    ... temperature = 0.7
    ... ''')
    >>> tern.kind, tern.source.model, dict(tern.parameters), tern.patience.tries
    ('openai_compatible', 'tern-7b', {'temperature': 0.7}, 3)
    """
    data = read_toml(data, "The chatbot", LARGEST_FILE) if isinstance(data, str) else data
    if not isinstance(data, Mapping):
        raise InvalidInput(f"A chatbot is a table, and this is {describe_type(data)}. docs/chatbots.md shows one.")
    notes = DefinitionErrors()
    found = chatbot_from(make_table(data, notes))
    faults = notes.told()
    if faults or found is None:
        raise combine_problems("The chatbot", faults)
    return found


def chatbot_from(table: DefinitionTable, *, inner: bool = False) -> Chatbot | None:
    """Return the chatbot that a table of a definition describes; what is wrong is noted."""
    kind = table.one_of("kind", KINDS, "openai_compatible") if "kind" in table.data else None
    if kind is None:
        table.note("kind", f"It is missing. Write one of {format_list(KINDS)}.")
    known = kind is not None and "kind" not in table.wrong
    table.only(KEYS[kind] if kind is not None and known else tuple(dict.fromkeys(sum(KEYS.values(), ()))))
    # All of it is read before anything is given up, so that nothing that is wrong stays untold.
    found: dict[str, Any] = {
        "name": _name(table),
        "model_type": _model_type(table),
        "version": _needed(table, "version"),
        "num_params": _num_params(table),
        "system_prompt": _prompt(table),
        "parameters": parameters_from(table),
        "longest": table.number("longest", LONGEST_RESPONSE, LONGEST_TURN),
        "patience": _patience(table),
    }
    source = _source(table, kind, inner=inner) if kind is not None and known else None
    return None if source is None else Chatbot(source=source, **found)


def _needed(table: DefinitionTable, key: str) -> str:
    if key not in table.data:
        table.note(key, "It is missing.")
    return table.text(key) or ""


def _name(table: DefinitionTable) -> str:
    name = table.text("name") or ""
    if "name" not in table.wrong and not SLUG.fullmatch(name):
        table.note("name", "Write up to 60 of a to z, 0 to 9 and -, such as tern-7b; it stands in addresses.")
    return name


def _model_type(table: DefinitionTable) -> str:
    if "model_type" not in table.data:
        table.note("model_type", f"It is missing. Write {format_list(MODEL_TYPES)}, or words of your own.")
        return ""
    found = table.text("model_type") or ""
    meant = re.sub("[-_ ]+", " ", found).casefold()
    if meant in MODEL_TYPES and found != meant:
        table.note("model_type", f"It is {format_value(found)}. Write {format_value(meant)}, as the published attempts do.")
    return found


def _num_params(table: DefinitionTable) -> str:
    found = table.text("num_params") or ""
    if found and not PARAMS.fullmatch(found):
        table.note("num_params", f"It is {format_value(found)}. Write it like 2.7B or 135M, or leave it out.")
    return found


def _prompt(table: DefinitionTable) -> str:
    value = table.data.get("system_prompt", "")
    if not isinstance(value, str):
        table.note("system_prompt", f"It is {describe_type(value)}, not text. Put it in quotes.")
        return ""
    text = value.replace("\r\n", "\n")
    bad = find_control_character(text, but=LINE_CHARACTERS)
    if bad is not None:
        table.note("system_prompt", f"It holds {bad}, which nobody can read. Remove it.")
    if len(text) > LONGEST_PROMPT:
        table.note("system_prompt", f"It has {len(text):,} characters, and {LONGEST_PROMPT:,} are allowed. Shorten it.")
    return text


def _patience(table: DefinitionTable) -> Patience:
    every = table.table("patience")
    if every is None:
        return Patience()
    names = tuple(field.name for field in fields(Patience))
    every.only(names)
    default = Patience()
    counts: dict[str, Any] = {name: every.number(name, getattr(default, name), most) for name, most in COUNTS.items()}
    seconds: dict[str, Any] = {
        name: _seconds(every, name, getattr(default, name), least=LEAST_SECONDS) for name in names if name not in COUNTS
    }
    return Patience(**counts, **seconds)


def _seconds(table: DefinitionTable, key: str, default: float, *, least: float = 0.0) -> float:
    value = table.data.get(key, default)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= MOST_SECONDS:
        return float(value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63
    given = f"{value:g}" if number else describe_type(value)
    table.note(key, f"It is {given}. Write seconds from {least:g} to {MOST_SECONDS:,}, without quotes.")
    return default


def _source(table: DefinitionTable, kind: Kind, *, inner: bool) -> Source | None:
    own = table.table(kind)
    if own is None:
        if kind in table.wrong:
            return None
        own = make_table({}, table.notes, place=table.at(kind))
    match kind:
        case "openai_compatible":
            return _endpoint(own)
        case "best_of_n":
            return _samples(own, inner=inner)
        case "scripted":
            return _script(own)
    own.only(("file", "threads"))
    return Weights(file=own.text("file") or "", threads=own.number("threads", 1, 256))


def _endpoint(table: DefinitionTable) -> Endpoint:
    table.only(("url", "model", "key_variable", "plain_http"))
    plain = table.flag("plain_http", default=False)
    variable = table.data.get("key_variable", "")
    if variable != "" and (not isinstance(variable, str) or not VARIABLE.fullmatch(variable)):
        # What stands here may be the key itself, which no message shows.
        table.note("key_variable", "It is no name of an environment variable. Name the one that holds the key.")
    return Endpoint(
        url=_url(table, plain=plain), model=_needed(table, "model"), key_variable=str(variable), plain_http=plain
    )


def _url(table: DefinitionTable, *, plain: bool) -> str:
    if "url" not in table.data:
        table.note("url", 'It is missing. Write where the API is: url = "https://api.example.com/v1".')
        return ""
    url = (table.text("url") or "").rstrip("/")
    if "url" in table.wrong:
        return ""
    try:
        check_secure_url(url, "https://api.example.com/v1", plain=plain)
    except InvalidInput as error:
        remedy = " Where the network between is yours, set plain_http = true." if url.startswith("http://") else ""
        table.note("url", f"{error}{remedy}")
        return ""
    if url.endswith("/chat/completions") or "?" in url or "#" in url:
        table.note("url", "Leave out /chat/completions, which is added, and what begins with ? or #.")
    return url


def _samples(table: DefinitionTable, *, inner: bool) -> Samples | None:
    table.only(("of", "n", "scorer", "purpose", "sha256"))
    n, scorer, of = table.number("n", 16, MOST_SAMPLES), _needed(table, "scorer"), table.table("of")
    purpose, sha256 = table.one_of("purpose", AIMS, "harmless"), table.text("sha256") or ""
    if sha256 and not re.fullmatch("[0-9a-f]{64}", sha256):
        table.note("sha256", f"{format_value(sha256)} is no SHA-256. It has 64 of 0-9 and a-f, as sha256sum prints.")
    _check_line(table, scorer, sha256)
    if inner:
        table.note("", "The best of others is ranked again. Name the chatbot whose responses those are.")
        return None
    if of is None:
        if "of" not in table.wrong:
            table.note("of", "It is missing. Describe there, as a whole, the chatbot that is asked.")
        return None
    found = chatbot_from(of, inner=True)
    return None if found is None else Samples(of=found, scorer=scorer, n=n, purpose=purpose, sha256=sha256)


def _check_line(table: DefinitionTable, scorer: str, sha256: str) -> None:
    if not names_registered_model(scorer):
        return
    try:
        line = parse_registered_model(scorer)
    except InvalidInput as error:
        table.note("scorer", str(error))
        return
    if sha256 and line.version is None:
        table.note("sha256", f"A line goes from version to version. Name one, {scorer}/1, or leave this out.")


def _script(table: DefinitionTable) -> Script:
    table.only(("manner", "responses", "pause_s"))
    if "manner" in table.data and "responses" in table.data:
        table.note("responses", "There is a manner too, which chooses among those that ship. Leave out one of them.")
    return Script(
        manner=table.one_of("manner", MANNERS, "mixed"),
        responses=_responses(table),
        pause_s=_seconds(table, "pause_s", 0.0),
    )


def _responses(table: DefinitionTable) -> tuple[str, ...]:
    value = table.data.get("responses", ())
    if not isinstance(value, (list, tuple)) or len(value) > MOST_RESPONSES or ("responses" in table.data and not value):
        given = f"{len(value):,} texts" if isinstance(value, (list, tuple)) else describe_type(value)
        table.note("responses", f"It is {given}. Write a list of 1 to {MOST_RESPONSES:,} texts.")
        return ()
    for place, one in enumerate(value, 1):
        if not isinstance(one, str) or len(one) > LONGEST_RESPONSE or find_control_character(one, but=LINE_CHARACTERS) is not None:
            table.note("responses", f"Text {place} is none of up to {LONGEST_RESPONSE:,} characters that can be read.")
    return tuple(map(str, value))
