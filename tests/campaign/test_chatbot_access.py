"""Chatbots of campaigns: allowed servers, secrets and files."""

import pytest
from tests.support.chat_campaigns import GULL, TERN

from dissensus.campaign.chatbot_access import check_chatbot_allowed
from dissensus.errors import NotAllowed
from dissensus.schema.campaign.chatbot_parser import parse_chatbot


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"url": "https://elsewhere.example/v1"}, r"elsewhere\.example is not an allowed chatbot server"),
        ({"url": "https://api.example.com:8443/v1"}, r"api\.example\.com:8443 is not an allowed"),
        ({"url": "https://api.example.com/v1", "key_variable": "DISSENSUS_SECRET_KEY"}, "begin with CHATBOT_"),
    ],
)
def test_campaigns_cannot_name_other_hosts_secrets_or_files(changes: dict[str, str], message: str) -> None:
    endpoint = {"model": "m", **changes}
    chatbot = {**TERN, "kind": "openai_compatible", "openai_compatible": endpoint}
    best = {**GULL, "kind": "best_of_n", "best_of_n": {"chatbot": chatbot, "scorer": "shortest"}}
    for definition in (chatbot, best):
        with pytest.raises(NotAllowed, match=message):
            check_chatbot_allowed(parse_chatbot(definition), frozenset({"api.example.com"}))
    allowed = {"url": "https://api.example.com/v1", "model": "m", "key_variable": "CHATBOT_KEY"}
    check_chatbot_allowed(parse_chatbot({**chatbot, "openai_compatible": allowed}), frozenset({"api.example.com"}))
    file = {**TERN, "kind": "local", "local": {"file": "/etc/passwd"}}
    with pytest.raises(NotAllowed, match="cannot name a file on this machine"):
        check_chatbot_allowed(parse_chatbot(file), frozenset())
