"""Names of model lines, in chatbots and campaigns."""

from typing import Any

import pytest
from tests.schema.test_chat import REST
from tests.workflows.talking import CHAT, TERN

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.chatbot import Chatbot
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.registered_model import RegisteredModelName, check_registered_model_name, parse_registered_model, names_registered_model

WRONG = ("line:", "line:../models", "line:Harmless", "line:a/0", "line:a/01", "line:a/b", "line:a/", "line:a/1\n")


def on_line(scorer: str, **more: Any) -> Chatbot:
    best = {"of": TERN, "scorer": scorer, **more}
    return parse_chatbot({**TERN, "name": "best", "kind": "best_of_n", "best_of_n": best})


def test_a_line_or_one_version_of_it() -> None:
    assert on_line("line:harmless").line == RegisteredModelName("harmless", None)
    assert on_line("line:harmless/12").line == RegisteredModelName("harmless", 12)
    assert on_line("brevity").line is None
    assert parse_chatbot(TERN).line is None
    assert not names_registered_model("models/line:harmless")
    assert on_line("line:harmless").digest != on_line("line:harmless/1").digest


@pytest.mark.parametrize("scorer", WRONG)
def test_what_is_no_line(scorer: str) -> None:
    with pytest.raises(InvalidInput, match="scorer: "):
        on_line(scorer)
    with pytest.raises(InvalidInput, match="names no line"):
        parse_registered_model(scorer)


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-a", "a" * 61])
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a line"):
        check_registered_model_name(name)


def test_a_sha_is_of_one_version() -> None:
    assert on_line("line:harmless/1", sha256="0" * 64).line == RegisteredModelName("harmless", 1)
    with pytest.raises(InvalidInput, match=r"A line goes from version to version. Name one, line:harmless/1"):
        on_line("line:harmless", sha256="0" * 64)


def test_a_campaign_names_the_lines_that_learn_from_it() -> None:
    found = parse_campaign({**REST, "chat": CHAT, "lines": ["harmless", "helpful-2"]})
    assert found.lines == ("harmless", "helpful-2")
    assert parse_campaign(found.as_mapping()) == found
    # Of campaigns that were made before there were lines, the digest is what it was.
    assert "lines" not in parse_campaign({**REST, "chat": CHAT}).as_mapping()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"chat": CHAT, "lines": ["Harm"]}, "lines: 'Harm' cannot be the name of a line"),
        ({"chat": CHAT, "lines": "harm"}, "lines: It is text. Write a list of texts"),
        ({"chat": CHAT, "lines": ["a", "a"]}, "'a' stands there twice"),
        ({"questionnaire": "dices-350", "lines": ["a"]}, "lines: Lines learn from what raters prefer"),
    ],
)
def test_what_a_campaign_cannot_name(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        parse_campaign({**REST, **changes})
