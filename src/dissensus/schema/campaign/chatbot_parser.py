"""Parser of chatbots in TOML; one error lists everything that is wrong."""

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
    MANNERS,
    MAX_RESPONSE_LENGTH,
    MODEL_TYPES,
    BestOfNSettings,
    Chatbot,
    ChatbotKind,
    Endpoint,
    LocalModel,
    RequestPolicy,
    ScriptedResponses,
    Source,
)
from dissensus.schema.campaign.parameter_parser import parse_parameters
from dissensus.schema.definition_table import (
    LINE_CHARACTERS,
    SLUG,
    DefinitionErrors,
    DefinitionTable,
    make_table,
    read_toml,
)
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.faults import combine_problems, describe_type, find_control_character
from dissensus.schema.records.conversation import MAX_TURN_LENGTH
from dissensus.schema.registered_model import names_registered_model, parse_registered_model

MAX_FILE_LENGTH: Final = 1_000_000
MAX_PROMPT_LENGTH: Final = 100_000
MAX_RESPONSES: Final = 1_000
MAX_SECONDS: Final = 86_400
MAX_SAMPLES: Final = 1_000
MAX_CONCURRENT: Final = 1_000
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PARAMS: Final = re.compile(r"[0-9]+(\.[0-9]+)?[KMBT]")

MODEL_KEYS: Final = ("name", "kind", "model_type", "num_params", "version")
REQUEST_KEYS: Final = ("system_prompt", "parameters", "longest", "patience")
KEYS: Final[Mapping[ChatbotKind, tuple[str, ...]]] = MappingProxyType(
    {
        "openai_compatible": (*MODEL_KEYS, *REQUEST_KEYS, "openai_compatible"),
        "best_of_n": (*MODEL_KEYS, "best_of_n"),
        "scripted": (*MODEL_KEYS, "scripted"),
        "local": (*MODEL_KEYS, *REQUEST_KEYS, "local"),
    }
)
MIN_SECONDS: Final = 0.001
COUNTS: Final[Mapping[str, int]] = MappingProxyType({"tries": 10, "at_once": MAX_CONCURRENT, "failures": 1_000})
"""What a patience counts, and how far."""


def parse_chatbot(data: Mapping[str, object] | str) -> Chatbot:
    """Parse a chatbot from a TOML text, or from the mapping read from it; the error lists everything that is wrong.

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
    data = read_toml(data, "The chatbot", MAX_FILE_LENGTH) if isinstance(data, str) else data
    if not isinstance(data, Mapping):
        raise InvalidInput(f"A chatbot is a table, and this is {describe_type(data)}. docs/chatbots.md shows one.")
    notes = DefinitionErrors()
    found = parse_chatbot_table(make_table(data, notes))
    faults = notes.list_messages()
    if faults or found is None:
        raise combine_problems("The chatbot", faults)
    return found


def parse_chatbot_table(table: DefinitionTable, *, inner: bool = False) -> Chatbot | None:
    """Parse the table of a chatbot; errors are recorded."""
    kind = table.get_choice("kind", KINDS, "openai_compatible") if "kind" in table.data else None
    if kind is None:
        table.add_error("kind", f"It is missing. Write one of {format_list(KINDS)}.")
    known = kind is not None and "kind" not in table.invalid_keys
    table.check_keys(KEYS[kind] if kind is not None and known else tuple(dict.fromkeys(sum(KEYS.values(), ()))))
    # All of it is read before anything is given up, so that nothing that is wrong stays untold.
    found: dict[str, Any] = {
        "name": _name(table),
        "model_type": _model_type(table),
        "version": _needed(table, "version"),
        "num_params": _num_params(table),
        "system_prompt": _prompt(table),
        "parameters": parse_parameters(table),
        "longest": table.get_number("longest", MAX_RESPONSE_LENGTH, MAX_TURN_LENGTH),
        "patience": _patience(table),
    }
    source = _source(table, kind, inner=inner) if kind is not None and known else None
    return None if source is None else Chatbot(source=source, **found)


def _needed(table: DefinitionTable, key: str) -> str:
    if key not in table.data:
        table.add_error(key, "It is missing.")
    return table.get_text(key) or ""


def _name(table: DefinitionTable) -> str:
    name = table.get_text("name") or ""
    if "name" not in table.invalid_keys and not SLUG.fullmatch(name):
        table.add_error("name", "Write up to 60 of a to z, 0 to 9 and -, such as tern-7b; it stands in addresses.")
    return name


def _model_type(table: DefinitionTable) -> str:
    if "model_type" not in table.data:
        table.add_error("model_type", f"It is missing. Write {format_list(MODEL_TYPES)}, or words of your own.")
        return ""
    found = table.get_text("model_type") or ""
    meant = re.sub("[-_ ]+", " ", found).casefold()
    if meant in MODEL_TYPES and found != meant:
        table.add_error(
            "model_type", f"It is {format_value(found)}. Write {format_value(meant)}, as the published attempts do."
        )
    return found


def _num_params(table: DefinitionTable) -> str:
    found = table.get_text("num_params") or ""
    if found and not PARAMS.fullmatch(found):
        table.add_error("num_params", f"It is {format_value(found)}. Write it like 2.7B or 135M, or leave it out.")
    return found


def _prompt(table: DefinitionTable) -> str:
    value = table.data.get("system_prompt", "")
    if not isinstance(value, str):
        table.add_error("system_prompt", f"It is {describe_type(value)}, not text. Put it in quotes.")
        return ""
    text = value.replace("\r\n", "\n")
    bad = find_control_character(text, but=LINE_CHARACTERS)
    if bad is not None:
        table.add_error("system_prompt", f"It holds {bad}, which nobody can read. Remove it.")
    if len(text) > MAX_PROMPT_LENGTH:
        table.add_error(
            "system_prompt", f"It has {len(text):,} characters, and {MAX_PROMPT_LENGTH:,} are allowed. Shorten it."
        )
    return text


def _patience(table: DefinitionTable) -> RequestPolicy:
    every = table.get_table("patience")
    if every is None:
        return RequestPolicy()
    names = tuple(field.name for field in fields(RequestPolicy))
    every.check_keys(names)
    default = RequestPolicy()
    counts: dict[str, Any] = {
        name: every.get_number(name, getattr(default, name), most) for name, most in COUNTS.items()
    }
    seconds: dict[str, Any] = {
        name: _seconds(every, name, getattr(default, name), least=MIN_SECONDS) for name in names if name not in COUNTS
    }
    return RequestPolicy(**counts, **seconds)


def _seconds(table: DefinitionTable, key: str, default: float, *, least: float = 0.0) -> float:
    value = table.data.get(key, default)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= MAX_SECONDS:
        return float(value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63
    given = f"{value:g}" if number else describe_type(value)
    table.add_error(key, f"It is {given}. Write seconds from {least:g} to {MAX_SECONDS:,}, without quotes.")
    return default


def _source(table: DefinitionTable, kind: ChatbotKind, *, inner: bool) -> Source | None:
    own = table.get_table(kind)
    if own is None:
        if kind in table.invalid_keys:
            return None
        own = make_table({}, table.notes, path=table.path_of(kind))
    match kind:
        case "openai_compatible":
            return _endpoint(own)
        case "best_of_n":
            return _samples(own, inner=inner)
        case "scripted":
            return _script(own)
    own.check_keys(("file", "threads"))
    return LocalModel(file=own.get_text("file") or "", threads=own.get_number("threads", 1, 256))


def _endpoint(table: DefinitionTable) -> Endpoint:
    table.check_keys(("url", "model", "key_variable", "plain_http"))
    plain = table.get_flag("plain_http", default=False)
    variable = table.data.get("key_variable", "")
    if variable != "" and (not isinstance(variable, str) or not VARIABLE.fullmatch(variable)):
        # What stands here may be the key itself, which no message shows.
        table.add_error("key_variable", "It is no name of an environment variable. Name the one that holds the key.")
    return Endpoint(
        url=_url(table, plain=plain), model=_needed(table, "model"), key_variable=str(variable), plain_http=plain
    )


def _url(table: DefinitionTable, *, plain: bool) -> str:
    if "url" not in table.data:
        table.add_error("url", 'It is missing. Write where the API is: url = "https://api.example.com/v1".')
        return ""
    url = (table.get_text("url") or "").rstrip("/")
    if "url" in table.invalid_keys:
        return ""
    try:
        check_secure_url(url, "https://api.example.com/v1", plain=plain)
    except InvalidInput as error:
        remedy = " Where the network between is yours, set plain_http = true." if url.startswith("http://") else ""
        table.add_error("url", f"{error}{remedy}")
        return ""
    if url.endswith("/chat/completions") or "?" in url or "#" in url:
        table.add_error("url", "Leave out /chat/completions, which is added, and what begins with ? or #.")
    return url


def _samples(table: DefinitionTable, *, inner: bool) -> BestOfNSettings | None:
    table.check_keys(("of", "n", "scorer", "purpose", "sha256"))
    n, scorer, of = table.get_number("n", 16, MAX_SAMPLES), _needed(table, "scorer"), table.get_table("of")
    purpose, sha256 = table.get_choice("purpose", AIMS, "harmless"), table.get_text("sha256") or ""
    if sha256 and not re.fullmatch("[0-9a-f]{64}", sha256):
        table.add_error(
            "sha256", f"{format_value(sha256)} is no SHA-256. It has 64 of 0-9 and a-f, as sha256sum prints."
        )
    _check_registered_model(table, scorer, sha256)
    if inner:
        table.add_error("", "The best of others is ranked again. Name the chatbot whose responses those are.")
        return None
    if of is None:
        if "of" not in table.invalid_keys:
            table.add_error("of", "It is missing. Describe there, as a whole, the chatbot that is asked.")
        return None
    found = parse_chatbot_table(of, inner=True)
    return None if found is None else BestOfNSettings(of=found, scorer=scorer, n=n, purpose=purpose, sha256=sha256)


def _check_registered_model(table: DefinitionTable, scorer: str, sha256: str) -> None:
    if not names_registered_model(scorer):
        return
    try:
        model = parse_registered_model(scorer)
    except InvalidInput as error:
        table.add_error("scorer", str(error))
        return
    if sha256 and model.version is None:
        table.add_error("sha256", f"A registered model has many versions. Name one, {scorer}/1, or leave this out.")


def _script(table: DefinitionTable) -> ScriptedResponses:
    table.check_keys(("manner", "responses", "pause_s"))
    if "manner" in table.data and "responses" in table.data:
        table.add_error(
            "responses", "There is a manner too, which chooses among those that ship. Leave out one of them."
        )
    return ScriptedResponses(
        manner=table.get_choice("manner", MANNERS, "mixed"),
        responses=_responses(table),
        pause_s=_seconds(table, "pause_s", 0.0),
    )


def _responses(table: DefinitionTable) -> tuple[str, ...]:
    value = table.data.get("responses", ())
    if not isinstance(value, (list, tuple)) or len(value) > MAX_RESPONSES or ("responses" in table.data and not value):
        given = f"{len(value):,} texts" if isinstance(value, (list, tuple)) else describe_type(value)
        table.add_error("responses", f"It is {given}. Write a list of 1 to {MAX_RESPONSES:,} texts.")
        return ()
    for place, one in enumerate(value, 1):
        if (
            not isinstance(one, str)
            or len(one) > MAX_RESPONSE_LENGTH
            or find_control_character(one, but=LINE_CHARACTERS) is not None
        ):
            table.add_error(
                "responses", f"Text {place} is none of up to {MAX_RESPONSE_LENGTH:,} characters that can be read."
            )
    return tuple(map(str, value))
