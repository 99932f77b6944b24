"""The documentation of chatbots agrees with the code."""

import re
from dataclasses import fields

import pytest
from tests.support.paths import ROOT

from dissensus.schema.campaign.chatbot import (
    BestOfNSettings,
    Chatbot,
    Endpoint,
    LocalModel,
    RequestPolicy,
    ScriptedResponses,
)
from dissensus.schema.campaign.chatbot_parser import parse_chatbot

PAGE = (ROOT / "docs" / "chatbots.md").read_text("utf-8")
BLOCKS = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_definitions_can_be_read(block: str) -> None:
    assert parse_chatbot(block).name in ("tern", "tern-rs", "smol")


def test_the_documented_defaults_of_request_policy_are_right() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([\d.]+) \|$", PAGE, re.MULTILINE)
    assert {name: float(value) for name, value in rows} == {
        field.name: getattr(RequestPolicy(), field.name) for field in fields(RequestPolicy)
    }


@pytest.mark.parametrize("record", [Chatbot, Endpoint, BestOfNSettings, ScriptedResponses, LocalModel])
def test_every_key_is_documented(record: type) -> None:
    keys = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert {field.name for field in fields(record)} - {"source"} <= keys
