"""Chatbots: parsing, errors, serialisation and digests."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chatbot import (
    BestOfNSettings,
    Chatbot,
    Endpoint,
    LocalModel,
    RequestPolicy,
    ScriptedResponses,
)
from dissensus.schema.campaign.chatbot_parser import parse_chatbot

TERN = """
name = "tern"
kind = "openai_compatible"
model_type = "rlhf"
num_params = "7B"
version = "2"
system_prompt = '''
Be kind.
Be brief.'''
max_length = 4000

[openai_compatible]
url = "https://api.example.com/v1/"
model = "tern-7b"
key_variable = "TERN_KEY"

[parameters]
temperature = 1.0
stop = ["\\n\\n"]

[request_policy]
max_concurrent = 8
total_s = 90
"""


def test_a_file_is_parsed() -> None:
    assert parse_chatbot(TERN) == Chatbot(
        name="tern",
        source=Endpoint(url="https://api.example.com/v1", model="tern-7b", key_variable="TERN_KEY"),
        model_type="rlhf",
        num_params="7B",
        version="2",
        system_prompt="Be kind.\nBe brief.",
        max_length=4000,
        parameters={"temperature": 1, "stop": ("\n\n",)},
        request_policy=RequestPolicy(max_concurrent=8, total_s=90.0),
    )


@pytest.mark.parametrize("kind", ["scripted", "local"])
def test_some_kinds_need_no_table(kind: str) -> None:
    chatbot = parse_chatbot(f'name = "a"\nkind = "{kind}"\nmodel_type = "our own"\nversion = "1"')
    assert chatbot.kind == kind
    assert chatbot.source == {"scripted": ScriptedResponses(), "local": LocalModel()}[kind]


LINE = st.text("abc xyzÄ語😀\u200d", min_size=1, max_size=8).map(str.strip).filter(bool)
VALUE = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-1e9, 1e9) | LINE,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(LINE, inner, max_size=2),
    max_leaves=4,
)
TYPES = st.sampled_from(["plain lm", "context distillation", "rejection sampling", "rlhf", "one of ours"])
SECONDS = st.floats(0.001, 86_400)
ENDPOINTS = st.builds(
    Endpoint,
    url=st.sampled_from(["https://api.example.com/v1", "http://127.0.0.1:8080/v1"]),
    model=LINE,
    key_variable=st.sampled_from(["", "TERN_KEY"]),
)
REQUEST_POLICY = st.builds(
    RequestPolicy,
    queue_s=SECONDS,
    total_s=SECONDS,
    max_attempts=st.integers(1, 10),
    max_concurrent=st.integers(1, 1000),
    recovery_s=SECONDS,
)


def chatbots(source: st.SearchStrategy[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Chatbot]:
    metadata = {"name": st.sampled_from(["a", "tern-7b"]), "model_type": TYPES, "version": LINE}
    return st.builds(Chatbot, source=source, num_params=st.sampled_from(["", "2.7B"]), **metadata, **fields)


PARAMETERS = st.dictionaries(LINE, VALUE, max_size=3).map(
    lambda parameters: parse_chatbot({**parse_chatbot(TERN).as_mapping(), "parameters": parameters}).parameters
)
REQUEST = {"system_prompt": st.text("a b\n\tÄ", max_size=9), "parameters": PARAMETERS, "request_policy": REQUEST_POLICY}
SERVED = chatbots(ENDPOINTS, max_length=st.integers(1, 9999), **REQUEST)
SCRIPTED = chatbots(
    st.builds(ScriptedResponses, style=st.sampled_from(["mixed", "evasive"]), pause_s=st.floats(0, 10))
    | st.builds(ScriptedResponses, responses=st.lists(st.text("a b\n😀"), min_size=1, max_size=3).map(tuple))
)
LOCAL = chatbots(st.builds(LocalModel, file=st.sampled_from(["", "/m.gguf"]), threads=st.integers(1, 8)), **REQUEST)
ANY = SERVED | SCRIPTED | LOCAL
BEST = chatbots(st.builds(BestOfNSettings, chatbot=ANY, scorer=LINE, n=st.integers(1, 16)))


@quick
@given(ANY | BEST)
def test_a_chatbot_survives_serialisation(chatbot: Chatbot) -> None:
    mapping = chatbot.as_mapping()
    assert parse_chatbot(mapping) == parse_chatbot(tomli_w.dumps(mapping)) == chatbot
    assert parse_chatbot(mapping).digest == chatbot.digest


def test_the_digest_changes_with_everything_that_affects_responses() -> None:
    tern = parse_chatbot(TERN)
    assert tern.digest[:16] == "0a5b9be4cb89c4bb"
    variants = [
        replace(tern, name="other"),
        replace(tern, model_type="plain lm"),
        replace(tern, version="3"),
        replace(tern, num_params=""),
        replace(tern, system_prompt=""),
        replace(tern, max_length=3999),
        replace(tern, parameters=MappingProxyType({"temperature": 0.5})),
        replace(tern, source=Endpoint(url="https://api.example.org/v1", model="tern-7b")),
        replace(tern, source=ScriptedResponses()),
    ]
    assert len({tern.digest, *(variant.digest for variant in variants)}) == len(variants) + 1


def test_request_policy_does_not_affect_the_digest() -> None:
    tern = parse_chatbot(TERN)
    hasty = replace(tern, request_policy=RequestPolicy(max_attempts=1))
    best = [replace(tern, source=BestOfNSettings(chatbot=chatbot, scorer="brevity")) for chatbot in (tern, hasty)]
    assert tern.digest == hasty.digest
    assert best[0].digest == best[1].digest != tern.digest


def test_equal_numbers_have_one_digest() -> None:
    chatbots = [parse_chatbot(TERN.replace("temperature = 1.0", f"temperature = {n}")) for n in ("1", "1.0", "1e0")]
    assert len({chatbot.digest for chatbot in chatbots}) == 1


def error_lines(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as raised:
        parse_chatbot(text)
    return str(raised.value).split("\n")


def test_all_errors_are_listed_together() -> None:
    assert error_lines(
        """
nam = "x"
kind = "openai_compatible"
model_type = "RLHF"
num_params = "many"
system_prompt = "\\u0007"
max_length = 0
[openai_compatible]
url = "http://gpu:8000/v1"
key_variable = "sk-123"
[parameters]
seed = 3
heat = nan
day = 2020-01-01
[request_policy]
max_attempts = 99
recovery_s = 0
total_s = "long"
"""
    ) == [
        "The chatbot has 16 faults:",
        "- The file: There is no key 'nam'. Did you mean 'name'? Keys are 'name', 'kind', 'model_type', 'num_params', "
        "'version', 'system_prompt', 'parameters', 'max_length', 'request_policy', 'openai_compatible'.",
        "- name: Write up to 60 of a to z, 0 to 9 and -, such as tern-7b; it is part of addresses.",
        "- model_type: It is 'RLHF'. Write 'rlhf', as the published attempts do.",
        "- version: It is missing.",
        "- num_params: It is 'many'. Write it like 2.7B or 135M, or leave it out.",
        "- system_prompt: It holds U+0007, which is not readable. Remove it.",
        "- parameters.seed: It is not set here. Each request has its own.",
        "- parameters.heat: It is out of range. Write a number from -2^63 to 2^63.",
        "- parameters.day: It is a date or a time. Write text, a number, true or false, or lists and tables of them.",
        "- max_length: It is 0. Write a whole number from 1 to 1,048,576, without quotes.",
        "- request_policy.max_attempts: It is 99. Write a whole number from 1 to 10, without quotes.",
        "- request_policy.total_s: It is text. Write seconds from 0.001 to 86,400, without quotes.",
        "- request_policy.recovery_s: It is 0. Write seconds from 0.001 to 86,400, without quotes.",
        "- openai_compatible.key_variable: It is not the name of an environment variable. Name the one that "
        "holds the key.",
        "- openai_compatible.url: 'http://gpu:8000/v1' is not an https address. Give one such as "
        "https://api.example.com/v1. On a private network, set plain_http = true.",
        "- openai_compatible.model: It is missing.",
    ]


SCRIPTED_ONE = 'name = "a"\nkind = "scripted"\nmodel_type = "x"\nversion = "1"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "kind: It is missing. Write one of 'openai_compatible'"),
        ("kind = 5", "kind: It is a number. Allowed are"),
        ("kind = 'openai-compatible'", "Did you mean 'openai_compatible'"),
        ("kind", "is not TOML"),
        (TERN.replace('"https://api.example.com/v1/"', "5"), "url: It is a number, not text"),
        (TERN.replace("/v1/", "/v1/chat/completions"), "url: Leave out /chat/completions"),
        (TERN.replace("/v1/", "/v1?key=5"), "the query and the fragment"),
        (TERN.replace("https://api.example.com", "https://me:word@api.example.com"), "is not an https address"),
        (TERN.replace("api.example.com", "api.example.com:nonsense"), "is not an https address"),
        (TERN.replace("[openai_compatible]\n", "[elsewhere]\n"), "url: It is missing"),
        (TERN.replace('"rlhf"', '"Rejection_Sampling"'), "Write 'rejection sampling', as the published"),
        (TERN + "\n[parameters.a.b.c.d.e]\nf = {}", "parameters.a: It nests deeper than 5 times"),
        (TERN.replace("temperature = 1.0", 'api_key = "x"'), "parameters.api_key: It is not set here. Name the var"),
        (TERN.replace("temperature = 1.0", f"heat = {10**400}"), "parameters.heat: It is out of range"),
        (SCRIPTED_ONE + 'system_prompt = "x"', "There is no key 'system_prompt'"),
        (SCRIPTED_ONE + '[scripted]\nstyle = "rude"', "style: It is 'rude'. Allowed are 'mixed'"),
        (SCRIPTED_ONE + "[scripted]\nresponses = []", "responses: It is 0 texts. Write a list of 1 to 1,000"),
        (SCRIPTED_ONE + '[scripted]\nresponses = ["\\u0000"]', "responses: Text 1 is not text"),
        (SCRIPTED_ONE + '[scripted]\nstyle = "helpful"\nresponses = ["Hi"]', "Leave out one of them"),
        (SCRIPTED_ONE + "[scripted]\npause_s = -1", "pause_s: It is -1. Write seconds from 0"),
        (SCRIPTED_ONE.replace("scripted", "best_of_n"), "best_of_n.chatbot: It is missing. Write the full"),
        (SCRIPTED_ONE.replace("scripted", "best_of_n") + "best_of_n = 5", "best_of_n: It is a number. Write a table"),
        (
            SCRIPTED_ONE.replace("scripted", "best_of_n")
            + '[best_of_n]\nscorer = "brevity"\n[best_of_n.chatbot]\nname = "a"\nkind = "best_of_n"\n',
            "best_of_n.chatbot.best_of_n: Best-of-n cannot be nested",
        ),
    ],
)
def test_an_invalid_file_is_rejected(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_chatbot(text)


@pytest.mark.parametrize("data", [5, None, []])
def test_other_values_are_rejected(data: Any) -> None:
    with pytest.raises(InvalidInput, match="A chatbot is a table, and this is"):
        parse_chatbot(data)


def test_messages_never_show_a_possible_key() -> None:
    secret = "sk-do-not-tell"
    for text in (
        TERN.replace("TERN_KEY", secret),
        TERN + f'api_key = "{secret}"',
        f'api_key = "{secret}"\n{TERN}',
        TERN.replace("TERN_KEY", f"{secret}\\q"),
    ):
        assert not any(secret in line for line in error_lines(text))


def test_plain_http_is_an_option() -> None:
    text = TERN.replace('url = "https://api.example.com/v1/"', 'url = "http://gpu:8000/v1"\nplain_http = true')
    assert parse_chatbot(text).as_mapping()["openai_compatible"]["plain_http"] is True
