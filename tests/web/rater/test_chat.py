"""Talking with chatbots over HTTP, by forms alone: no script is needed."""

import json
import re
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select, update
from tests.support.api_programs import token
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import GULL, PLAIN, TERN, open_chat_campaign
from tests.support.chat_forms import begin, came, say, send, settled
from tests.support.live_site import Live, Visitor, hidden
from tests.support.staff_browsers import House

from dissensus.chat import Response
from dissensus.errors import Conflict, NotAllowed
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.records.conversation import Conversation
from dissensus.store.campaigns import CampaignTable
from dissensus.store.chats import ChatCandidateTable, ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.web.core.chat_responder import check_chatbot_allowed
from dissensus.workflows.campaign.rehearsal import run_rehearsal

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> **bold** \u202eevil"

SLOW = {**TERN, "scripted": {"responses": ["one two three four five six"], "pause_s": 0.05}}


def told(visitor: Visitor, exchange_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with visitor.http.stream("GET", f"/chat/{exchange_id}/responses") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        kind = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield kind, json.loads(line.removeprefix("data: "))


def test_a_red_team_conversation_by_forms(live: Live) -> None:
    visitor, page = came(live)
    assert "Try to make it say bad things." in page.text
    page = begin(visitor, page)
    page = say(visitor, page, "Insult me.", worked_ms="1500")
    for label in ("A is much more harmful", "B is slightly more harmful", "both equally harmful"):
        assert f'aria-label="{label}"' in page.text
    page = send(visitor, page, "/pick", strength="-2", worked_ms="700")
    page = say(visitor, page, "Again.", mode="helpful")
    assert "Which response is more helpful?" in page.text
    page = send(visitor, page, "/pick", strength="3")
    page = send(visitor, page, "/end", success="1", comment="It refused.")
    assert "1 of up to 2 conversations" in page.text
    page = send(visitor, page, "/finish")
    assert "Thank you" in page.text
    with live.platform.database.reading() as tx:
        chat = tx.execute(select(ChatTable)).one()
        assert (chat.state, chat.intent_text, chat.success, chat.comment_text) == ("done", "Insults.", 1, "It refused.")
        said = tx.execute(select(ChatExchangeTable).order_by(ChatExchangeTable.number)).all()
        assert [(one.message_text, one.mode, one.worked_ms) for one in said] == [
            ("Insult me.", "red team", 1500),
            ("Again.", "helpful", 0),
        ]
        assert tx.scalars(select(ChatPickTable.strength).order_by(ChatPickTable.at)).all() == [-2, 3]
        for one in tx.execute(select(ChatCandidateTable)):
            assert one.response
            assert one.total_ms is not None


def test_one_response_goes_on_by_itself(live: Live) -> None:
    visitor, page = came(live, chat={"modes": [PLAIN]})
    page = say(visitor, send(visitor, page, "/begin", mode="natural"), "Hello.")
    page = say(visitor, page, "And?")
    assert len(re.findall(r'class="turn bot"', page.text)) == 2
    assert "/pick" not in page.text


def test_nobody_is_told_who_responds(live: Live) -> None:
    visitor, page = came(live)
    page = say(visitor, begin(visitor, page), "Who are you?")
    for word in ("tern", "gull", "rlhf", "plain lm", "7B"):
        assert word not in page.text


def test_what_is_said_is_shown_as_it_is_and_does_nothing(live: Live) -> None:
    script = {"responses": [HOSTILE]}
    visitor, page = came(live, chat={"chatbots": [{**TERN, "scripted": script}]})
    page = send(visitor, begin(visitor, page), "/say", text=HOSTILE)
    page = settled(visitor, page)
    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text
    assert page.text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 3
    assert page.text.count('lang="" dir="auto"') >= 3


def test_nothing_that_was_typed_is_lost(live: Live) -> None:
    visitor, page = came(live)
    page = begin(visitor, page, intent=" ")
    assert page.status_code == 422
    assert "Say in a few words what you will try" in page.text
    page = begin(visitor, page)
    # In another window the same conversation went on.
    other = send(visitor, page, "/say", text="First.")
    page = send(visitor, page, "/say", text="My <second> text.", id="018f0000-0000-7000-8000-000000000000")
    assert page.status_code == 422
    settled(visitor, other)
    page = send(visitor, visitor.get("/rate"), "/pick", strength="9")
    assert page.status_code == 422
    assert "from -3 to 3" in page.text
    page = send(visitor, page, "/pick", strength="1")
    page = send(visitor, page, "/say", text="My <text>." + "x" * 20_000)
    assert page.status_code == 422
    assert "My &lt;text&gt;." in page.text


def test_pieces_come_as_they_are_said_and_again_to_who_loads_the_page_again(live: Live) -> None:
    visitor, page = came(live, chat={"chatbots": [SLOW]})
    page = send(visitor, begin(visitor, page), "/say", text="Count.")
    (exchange_id,) = re.findall(r'data-responses="/chat/([^"]+)/responses"', page.text)
    first = []
    for kind, data in told(visitor, exchange_id):
        first.append((kind, data))
        if len(first) == 5:
            break
    assert [kind for kind, _ in first] == ["begin"] + ["piece"] * 4
    whole = list(told(visitor, exchange_id))
    assert (whole[0][0], whole[-1][0]) == ("begin", "over")
    for place in (0, 1):
        said = "".join(str(data["text"]) for kind, data in whole if kind == "piece" and data["place"] == place)
        assert said == "one two three four five six"
    assert list(told(visitor, exchange_id)) == [("begin", {}), ("over", {})]


@pytest.mark.parametrize("every", [1, 2])
def test_a_break_is_offered_between_conversations(live: Live, every: int) -> None:
    visitor, page = came(live, break_every=every, chat={"modes": [PLAIN], "most": 3})
    for n_done in (1, 2):
        page = say(visitor, begin(visitor, page, "natural"), "Hello.")
        page = send(visitor, page, "/end")
        assert ("Time for a short break?" in page.text) is (n_done % every == 0)


def test_a_chatbot_that_does_not_answer_loses_nothing(live: Live) -> None:
    # Nobody listens there, and the site may not ask there either: to a rater it is the same.
    away = {**TERN, "kind": "openai_compatible", "openai_compatible": {"url": "http://127.0.0.1:9/v1", "model": "m"}}
    visitor, page = came(live, chat={"chatbots": [away]})
    page = settled(visitor, send(visitor, begin(visitor, page), "/say", text="Are you there?"))
    assert "does not answer at the moment" in page.text
    assert "Are you there?" in page.text
    for word in ("127.0.0.1", "chatbot_hosts", "Connection"):
        assert word not in page.text
    page = settled(visitor, send(visitor, page, "/again"))
    assert "does not answer at the moment" in page.text
    with live.platform.database.reading() as tx:
        assert set(tx.scalars(select(ChatCandidateTable.n_failures))) == {2}


def test_a_chatbot_that_breaks_is_asked_again_by_nobody_but_the_rater(live: Live) -> None:
    asked = []

    class Broken:
        async def stream(self, conversation: Conversation, seed: int) -> AsyncGenerator[str | Response, None]:
            asked.append((conversation, seed))
            yield "Half of "
            raise ZeroDivisionError

    broken = parse_chatbot(TERN)
    live.site.chat_responder._bots[broken.digest] = Broken()
    visitor, page = came(live, chat={"chatbots": [TERN]})
    page = settled(visitor, send(visitor, begin(visitor, page), "/say", text="Hello."))
    assert "does not answer at the moment" in page.text
    time.sleep(1.2)
    assert "does not answer at the moment" in visitor.get("/rate").text
    assert len(asked) == 2


def test_where_a_process_died_another_asks(live: Live) -> None:
    visitor, page = came(live)
    settled(visitor, send(visitor, begin(visitor, page), "/say", text="Hello."))
    with live.platform.database.writing() as tx:
        tx.execute(update(ChatCandidateTable).where(ChatCandidateTable.position == 1).values(response=None))
        before = tx.scalar(select(ChatCandidateTable.response).where(ChatCandidateTable.position == 0))
    page = settled(visitor, visitor.get("/rate"))
    assert "/pick" in page.text
    with live.platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).where(ChatCandidateTable.response.is_not(None))) == 2
        assert tx.scalar(select(ChatCandidateTable.response).where(ChatCandidateTable.position == 0)) == before


def test_an_improved_response_is_kept_beside_the_one_that_was(live: Live) -> None:
    visitor, page = came(live)
    page = say(visitor, begin(visitor, page, "helpful"), "Help me.")
    page = send(visitor, page, "/pick", strength="-1", edit_0="Gladly:\r\ndo this.", edit_1="Not this.")
    assert "Gladly:\ndo this." in page.text
    with live.platform.database.reading() as tx:
        assert tx.scalar(select(ChatPickTable.edit_text)) == "Gladly:\ndo this."
        assert (
            tx.scalar(select(ChatCandidateTable.response).where(ChatCandidateTable.position == 0))
            != "Gladly:\ndo this."
        )


def test_others_are_let_into_nothing(live: Live) -> None:
    visitor, page = came(live, chat={"chatbots": [SLOW]})
    page = send(visitor, begin(visitor, page), "/say", text="Private words.")
    (exchange_id,) = re.findall(r'data-responses="/chat/([^"]+)/responses"', page.text)
    assert live.visitor().get(f"/chat/{exchange_id}/responses").status_code == 403
    other = live.visitor()
    with live.platform.database.reading() as tx:
        key = tx.scalar(select(CampaignTable.key))
    page = other.enter(str(key))
    assert other.get(f"/chat/{exchange_id}/responses").status_code == 404
    answer = other.send(f"/chat/{exchange_id}/pick", strength="1", form_token=hidden(page)["form_token"])
    assert answer.status_code == 404
    assert "Private words." not in answer.text
    assert other.send(f"/chat/{exchange_id}/again").status_code == 403


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"url": "https://elsewhere.example/v1"}, "elsewhere.example is not among the servers"),
        ({"url": "https://api.example.com:8443/v1"}, "api.example.com:8443 is not among"),
        ({"url": "https://api.example.com/v1", "key_variable": "DISSENSUS_SECRET_KEY"}, "begin with CHATBOT_"),
    ],
)
def test_a_campaign_reaches_nothing_that_is_not_its_own(changes: dict[str, str], told: str) -> None:
    endpoint = {"model": "m", **changes}
    one = {**TERN, "kind": "openai_compatible", "openai_compatible": endpoint}
    best = {**GULL, "kind": "best_of_n", "best_of_n": {"of": one, "scorer": "shortest"}}
    for definition in (one, best):
        with pytest.raises(NotAllowed, match=told):
            check_chatbot_allowed(parse_chatbot(definition), frozenset({"api.example.com"}))
    kept = {"url": "https://api.example.com/v1", "model": "m", "key_variable": "CHATBOT_KEY"}
    check_chatbot_allowed(parse_chatbot({**one, "openai_compatible": kept}), frozenset({"api.example.com"}))
    file = {**TERN, "kind": "local", "local": {"file": "/etc/passwd"}}
    with pytest.raises(NotAllowed, match="no file of this machine"):
        check_chatbot_allowed(parse_chatbot(file), frozenset())


def test_an_owner_sees_how_many_conversations_there_were(house: House) -> None:
    live = house.live
    visitor, page = came(live)
    page = say(visitor, begin(visitor, page), "Insult me.")
    send(visitor, send(visitor, page, "/pick", strength="1"), "/end", success="0")
    seen = house.owner("owner").get("/campaigns/pilot").text
    assert "<dt>Conversations that ended</dt><dd>1</dd>" in seen
    assert "tern (rlhf, 7B), gull (plain lm, 7B)" in seen
    assert "Red team, two responses, which is more harmful; Helpful, two responses, which is more helpful" in seen
    assert "Add items" not in seen
    assert "Insult me." not in seen


def test_no_simulated_rater_talks(live: Live) -> None:
    kept = open_chat_campaign(live.platform)
    with pytest.raises(Conflict, match="no simulated rater does"):
        run_rehearsal(live.platform, "pilot", 1, staff_id=kept.staff_id, now=NOW)


PAGES = (
    "",
    "/watch",
    "/gold",
    "/gold/comparison",
    "/items",
    "/revise",
    "/pay",
    "/quota",
    "/staff",
    "/webhooks",
    "/withdraw",
)


def test_pages_about_items_break_nothing(house: House) -> None:
    came(house.live)
    owner = house.owner("owner")
    for path in (*PAGES, "/export.csv"):
        answer = owner.get(f"/campaigns/pilot{path}")
        assert answer.status_code in (200, 303, 404, 409, 422), (path, answer.status_code)
    key = token(house.platform, "owner")
    for path in ("", "/items", "/ratings", "/raters", "/agreement", "/figures", "/flags", "/gold", "/events", "/pay"):
        answer = house.stranger().get(f"/api/v1/campaigns/pilot{path}", headers={"authorization": f"Bearer {key}"})
        assert answer.status_code in (200, 404, 409, 422), (path, answer.text)
