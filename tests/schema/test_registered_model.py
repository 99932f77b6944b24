"""Names of registered models, in chatbots and campaigns."""

from typing import Any

import pytest
from tests.support.campaign_definitions import REST
from tests.support.chat_campaigns import CHAT, TERN

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chatbot import Chatbot
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.registered_model import (
    RegisteredModelName,
    check_registered_model_name,
    names_registered_model,
    parse_registered_model,
)

WRONG = (
    "registry:",
    "registry:../models",
    "registry:Harmless",
    "registry:a/0",
    "registry:a/01",
    "registry:a/b",
    "registry:a/",
    "registry:a/1\n",
)


def ranked_by(scorer: str, **fields: Any) -> Chatbot:
    best = {"chatbot": TERN, "scorer": scorer, **fields}
    return parse_chatbot({**TERN, "name": "best", "kind": "best_of_n", "best_of_n": best})


def test_a_registered_model_or_one_version_of_it() -> None:
    assert ranked_by("registry:harmless").registered_model == RegisteredModelName("harmless", None)
    assert ranked_by("registry:harmless/12").registered_model == RegisteredModelName("harmless", 12)
    assert ranked_by("brevity").registered_model is None
    assert parse_chatbot(TERN).registered_model is None
    assert not names_registered_model("models/registry:harmless")
    assert ranked_by("registry:harmless").digest != ranked_by("registry:harmless/1").digest


@pytest.mark.parametrize("scorer", WRONG)
def test_an_invalid_name_is_rejected(scorer: str) -> None:
    with pytest.raises(InvalidInput, match="scorer: "):
        ranked_by(scorer)
    with pytest.raises(InvalidInput, match="names no registered model"):
        parse_registered_model(scorer)


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-a", "a" * 61])
def test_a_name_cannot_leave_the_folder(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a registered model"):
        check_registered_model_name(name)


def test_a_sha256_needs_a_version() -> None:
    assert ranked_by("registry:harmless/1", sha256="0" * 64).registered_model == RegisteredModelName("harmless", 1)
    with pytest.raises(InvalidInput, match=r"A registered model has many versions. Name one, registry:harmless/1"):
        ranked_by("registry:harmless", sha256="0" * 64)


def test_a_campaign_names_the_models_that_learn_from_it() -> None:
    campaign = parse_campaign({**REST, "chat": CHAT, "registered_models": ["harmless", "helpful-2"]})
    assert campaign.registered_models == ("harmless", "helpful-2")
    assert parse_campaign(campaign.as_mapping()) == campaign
    # Digests of campaigns without registered models are stable.
    assert "registered_models" not in parse_campaign({**REST, "chat": CHAT}).as_mapping()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"chat": CHAT, "registered_models": ["Harm"]},
            "registered_models: 'Harm' cannot be the name of a registered model",
        ),
        ({"chat": CHAT, "registered_models": "harm"}, "registered_models: It is text. Write a list of texts"),
        ({"chat": CHAT, "registered_models": ["a", "a"]}, "'a' is listed twice"),
        (
            {"questionnaire": "dices-350", "registered_models": ["a"]},
            "registered_models: Models learn from preferences",
        ),
    ],
)
def test_invalid_names_in_a_campaign_are_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_campaign({**REST, **changes})
