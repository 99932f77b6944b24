"""Parser of chatbots in TOML and of the parameters of their models; one error lists everything that is wrong."""

import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import date, time
from types import MappingProxyType
from typing import Any, Final

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chatbot import (
    AIMS,
    KINDS,
    MAX_RESPONSE_LENGTH,
    STYLES,
    BestOfNSettings,
    Chatbot,
    ChatbotKind,
    Endpoint,
    LocalModel,
    RequestPolicy,
    ScriptedResponses,
    Source,
)
from dissensus.schema.characters import find_control_character, find_unstorable_character, normalise_line_ends
from dissensus.schema.definition_errors import DefinitionErrors, InvalidDefinition
from dissensus.schema.definition_table import (
    LINE_CHARACTERS,
    SLUG,
    DefinitionTable,
    make_table,
    read_toml,
)
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.faults import describe_number, describe_type
from dissensus.schema.records.attempt import MODEL_TYPES
from dissensus.schema.records.conversation import MAX_TURN_LENGTH
from dissensus.schema.registered_model import names_registered_model, parse_registered_model
from dissensus.schema.urls import check_secure_url

MAX_FILE_LENGTH: Final = 1_000_000
MAX_PROMPT_LENGTH: Final = 100_000
MAX_RESPONSES: Final = 1_000
MAX_SECONDS: Final = 86_400
MAX_SAMPLES: Final = 1_000
MAX_CONCURRENT: Final = 1_000
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PARAMS: Final = re.compile(r"[0-9]+(\.[0-9]+)?[KMBT]")

MODEL_KEYS: Final = ("name", "kind", "model_type", "num_params", "version")
REQUEST_KEYS: Final = ("system_prompt", "parameters", "max_length", "request_policy")
KEYS: Final[Mapping[ChatbotKind, tuple[str, ...]]] = MappingProxyType(
    {
        "openai_compatible": (*MODEL_KEYS, *REQUEST_KEYS, "openai_compatible"),
        "best_of_n": (*MODEL_KEYS, "best_of_n"),
        "scripted": (*MODEL_KEYS, "scripted"),
        "local": (*MODEL_KEYS, *REQUEST_KEYS, "local"),
    }
)
MIN_SECONDS: Final = 0.001
COUNTS: Final[Mapping[str, int]] = MappingProxyType(
    {"max_attempts": 10, "max_concurrent": MAX_CONCURRENT, "failure_threshold": 1_000}
)
"""Upper limits of the counts in a request policy."""
MAX_PARAMETERS: Final = 100
MAX_DEPTH: Final = 5
MAX_PARAMETER_LENGTH: Final = 10_000
RESERVED_PARAMETERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model": "Write it in [openai_compatible].",
        "messages": "They are the conversation, and system_prompt before it.",
        "stream": "All responses are streamed.",
        "stream_options": "They ask for the number of tokens.",
        "seed": "Each request has its own.",
        "n": "Each response is a separate request; for the best of several see best_of_n.",
        "api_key": "Name the variable that holds it: key_variable.",
    }
)


def parse_chatbot(data: Mapping[str, object] | str) -> Chatbot:
    """Parse a chatbot from TOML, or from the mapping read from it; the error lists everything that is wrong.

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
    >>> tern.kind, tern.source.model, dict(tern.parameters), tern.request_policy.max_attempts
    ('openai_compatible', 'tern-7b', {'temperature': 0.7}, 3)
    """
    data = read_toml(data, "The chatbot", MAX_FILE_LENGTH) if isinstance(data, str) else data
    if not isinstance(data, Mapping):
        raise InvalidInput(
            f"A chatbot is a table, and this is {describe_type(data)}. Give its keys, such as name and kind."
        )
    notes = DefinitionErrors()
    chatbot = parse_chatbot_table(make_table(data, notes))
    faults = notes.list_faults()
    if faults or chatbot is None:
        raise InvalidDefinition("The chatbot", faults)
    return chatbot


def parse_chatbot_table(table: DefinitionTable, *, inner: bool = False) -> Chatbot | None:
    """Parse the table of a chatbot; errors are recorded."""
    kind = table.get_choice("kind", KINDS, "openai_compatible") if "kind" in table.data else None
    if kind is None:
        table.add_error("kind", f"It is missing. Write one of {format_list(KINDS)}.")
    if "kind" in table.invalid_keys:
        kind = None
    table.check_keys(KEYS[kind] if kind is not None else tuple(dict.fromkeys(sum(KEYS.values(), ()))))
    # Everything is read before the first return, so that all errors are listed.
    values: dict[str, Any] = {
        "name": _name(table),
        "model_type": _model_type(table),
        "version": _required_text(table, "version"),
        "num_params": _num_params(table),
        "system_prompt": _prompt(table),
        "parameters": parse_parameters(table),
        "max_length": table.get_number("max_length", MAX_RESPONSE_LENGTH, MAX_TURN_LENGTH),
        "request_policy": _request_policy(table),
    }
    source = _parse_source(table, kind, inner=inner) if kind is not None else None
    return None if source is None else Chatbot(source=source, **values)


def _required_text(table: DefinitionTable, key: str) -> str:
    if key not in table.data:
        table.add_error(key, "It is missing.")
    return table.get_text(key) or ""


def _name(table: DefinitionTable) -> str:
    name = table.get_text("name") or ""
    if "name" not in table.invalid_keys and not SLUG.fullmatch(name):
        table.add_error("name", "Write up to 60 of a to z, 0 to 9 and -, such as tern-7b; it is part of addresses.")
    return name


def _model_type(table: DefinitionTable) -> str:
    if "model_type" not in table.data:
        table.add_error("model_type", f"It is missing. Write {format_list(MODEL_TYPES)}, or another type.")
        return ""
    model_type = table.get_text("model_type") or ""
    normalised = re.sub("[-_ ]+", " ", model_type).casefold()
    if normalised in MODEL_TYPES and model_type != normalised:
        table.add_error(
            "model_type",
            f"It is {format_value(model_type)}. Write {format_value(normalised)}, as the published attempts do.",
        )
    return model_type


def _num_params(table: DefinitionTable) -> str:
    size = table.get_text("num_params") or ""
    if size and not PARAMS.fullmatch(size):
        table.add_error("num_params", f"It is {format_value(size)}. Write it like 2.7B or 135M, or leave it out.")
    return size


def _prompt(table: DefinitionTable) -> str:
    value = table.data.get("system_prompt", "")
    if not isinstance(value, str):
        table.add_error("system_prompt", f"It is {describe_type(value)}, not text. Put it in quotes.")
        return ""
    text = normalise_line_ends(value)
    bad = find_control_character(text, but=LINE_CHARACTERS)
    if bad is not None:
        table.add_error("system_prompt", f"It holds {bad}, which is not readable. Remove it.")
    if len(text) > MAX_PROMPT_LENGTH:
        table.add_error(
            "system_prompt", f"It has {len(text):,} characters, and {MAX_PROMPT_LENGTH:,} are allowed. Shorten it."
        )
    return text


def _request_policy(table: DefinitionTable) -> RequestPolicy:
    policy = table.get_table("request_policy")
    if policy is None:
        return RequestPolicy()
    names = tuple(field.name for field in fields(RequestPolicy))
    policy.check_keys(names)
    default = RequestPolicy()
    counts: dict[str, Any] = {
        name: policy.get_number(name, getattr(default, name), most) for name, most in COUNTS.items()
    }
    seconds: dict[str, Any] = {
        name: _seconds(policy, name, getattr(default, name), least=MIN_SECONDS) for name in names if name not in COUNTS
    }
    return RequestPolicy(**counts, **seconds)


def _seconds(table: DefinitionTable, key: str, default: float, *, least: float = 0.0) -> float:
    value = table.data.get(key, default)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= MAX_SECONDS:
        return float(value)
    table.add_error(
        key, f"It is {describe_number(value)}. Write seconds from {least:g} to {MAX_SECONDS:,}, without quotes."
    )
    return default


def _parse_source(table: DefinitionTable, kind: ChatbotKind, *, inner: bool) -> Source | None:
    own = table.get_table(kind)
    if own is None:
        if kind in table.invalid_keys:
            return None
        own = make_table({}, table.notes, keys=table.path_of(kind))
    match kind:
        case "openai_compatible":
            return _parse_endpoint(own)
        case "best_of_n":
            return _parse_best_of_n(own, inner=inner)
        case "scripted":
            return _parse_scripted(own)
    own.check_keys(("file", "threads"))
    return LocalModel(file=own.get_text("file") or "", threads=own.get_number("threads", 1, 256))


def _parse_endpoint(table: DefinitionTable) -> Endpoint:
    table.check_keys(("url", "model", "key_variable", "plain_http"))
    plain = table.get_flag("plain_http", default=False)
    variable = table.data.get("key_variable", "")
    if variable != "" and (not isinstance(variable, str) or not VARIABLE.fullmatch(variable)):
        # The value may be the key itself, which no message shows.
        table.add_error(
            "key_variable", "It is not the name of an environment variable. Name the one that holds the key."
        )
    return Endpoint(
        url=_url(table, plain=plain), model=_required_text(table, "model"), key_variable=str(variable), plain_http=plain
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
        remedy = " On a private network, set plain_http = true." if url.startswith("http://") else ""
        table.add_error("url", f"{error}{remedy}")
        return ""
    if url.endswith("/chat/completions") or "?" in url or "#" in url:
        table.add_error("url", "Leave out /chat/completions, which is added, the query and the fragment.")
    return url


def _parse_best_of_n(table: DefinitionTable, *, inner: bool) -> BestOfNSettings | None:
    table.check_keys(("chatbot", "n", "scorer", "purpose", "sha256"))
    n, scorer, row = table.get_number("n", 16, MAX_SAMPLES), _required_text(table, "scorer"), table.get_table("chatbot")
    purpose, sha256 = table.get_choice("purpose", AIMS, "harmless"), table.get_text("sha256") or ""
    if sha256 and not re.fullmatch("[0-9a-f]{64}", sha256):
        table.add_error(
            "sha256", f"{format_value(sha256)} is not a SHA-256. It has 64 of 0-9 and a-f, as sha256sum prints."
        )
    _check_registered_model(table, scorer, sha256)
    if inner:
        table.add_error("", "Best-of-n cannot be nested. Name the chatbot that gives the responses.")
        return None
    if row is None:
        if "chatbot" not in table.invalid_keys:
            table.add_error(
                "chatbot", "It is missing. Write the full definition of the chatbot that gives the responses."
            )
        return None
    chatbot = parse_chatbot_table(row, inner=True)
    if chatbot is None:
        return None
    return BestOfNSettings(chatbot=chatbot, scorer=scorer, n=n, purpose=purpose, sha256=sha256)


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


def _parse_scripted(table: DefinitionTable) -> ScriptedResponses:
    table.check_keys(("style", "responses", "pause_s"))
    if "style" in table.data and "responses" in table.data:
        table.add_error(
            "responses", "There is a style too, which chooses among the shipped responses. Leave out one of them."
        )
    return ScriptedResponses(
        style=table.get_choice("style", STYLES, "mixed"),
        responses=_responses(table),
        pause_s=_seconds(table, "pause_s", 0.0),
    )


def _responses(table: DefinitionTable) -> tuple[str, ...]:
    value = table.data.get("responses", ())
    if not isinstance(value, (list, tuple)) or len(value) > MAX_RESPONSES or ("responses" in table.data and not value):
        description = f"{len(value):,} texts" if isinstance(value, (list, tuple)) else describe_type(value)
        table.add_error("responses", f"It is {description}. Write a list of 1 to {MAX_RESPONSES:,} texts.")
        return ()
    for number, text in enumerate(value, 1):
        if (
            not isinstance(text, str)
            or len(text) > MAX_RESPONSE_LENGTH
            or find_control_character(text, but=LINE_CHARACTERS) is not None
        ):
            table.add_error(
                "responses", f"Text {number} is not text of up to {MAX_RESPONSE_LENGTH:,} readable characters."
            )
    return tuple(map(str, value))


def parse_parameters(table: DefinitionTable) -> Mapping[str, Any]:
    """Parse the parameters of a chatbot; errors are recorded."""
    rows = table.get_table("parameters", MAX_PARAMETERS)
    if rows is None:
        return MappingProxyType({})
    parameters = {}
    for key, value in rows.data.items():
        fault = RESERVED_PARAMETERS.get(key) or _find_error(key, 0) or _find_error(value, MAX_DEPTH)
        if fault is not None:
            rows.add_error(key, f"It is not set here. {fault}" if key in RESERVED_PARAMETERS else fault)
        else:
            parameters[key] = _freeze(value)
    return MappingProxyType(parameters)


def _find_error(value: object, depth: int) -> str | None:
    match value:
        case bool():
            return None
        case int() | float():
            return None if abs(value) < 2**63 else "It is out of range. Write a number from -2^63 to 2^63."
        case str():
            valid = len(value) <= MAX_PARAMETER_LENGTH and find_unstorable_character(value) is None
            return (
                None if valid else f"It is not storable text of up to {MAX_PARAMETER_LENGTH:,} characters. Correct it."
            )
        case Mapping() | list() | tuple() if depth:
            parts = [*value, *value.values()] if isinstance(value, Mapping) else value
            return next((fault for part in parts if (fault := _find_error(part, depth - 1)) is not None), None)
        case Mapping() | list() | tuple():
            return f"It nests deeper than {MAX_DEPTH} times. Flatten it."
    description = "a date or a time" if isinstance(value, (date, time)) else describe_type(value)
    return f"It is {description}. Write text, a number, true or false, or lists and tables of them."


def _freeze(value: Any) -> Any:
    """Return an immutable value, with whole floats as integers, so that equal values have one digest."""
    match value:
        case Mapping():
            return MappingProxyType({str(key): _freeze(part) for key, part in value.items()})
        case list() | tuple():
            return tuple(_freeze(part) for part in value)
        case float() if value.is_integer():
            return int(value)
    return value
