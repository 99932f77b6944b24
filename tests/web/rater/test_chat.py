"""Conversations with chatbots over HTTP, by forms without scripts."""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, select, update
from tests.databases import sqlite_only
from tests.support.api_programs import token
from tests.support.chat_campaigns import GULL, PLAIN, TERN, open_chat_campaign
from tests.support.chat_completion_server import Loopback, Play, Wire, answers, loopback, says, streams
from tests.support.chat_forms import begin, enter_chat_campaign, forms, say, send, wait_for_responses
from tests.support.live_site import LiveSite, Visitor, hidden, serving
from tests.support.monitored_campaigns import read
from tests.support.staff_site import StaffSite

from dissensus.chat import Response
from dissensus.demo import visitor as demo_visitor
from dissensus.schema.campaign.chatbot_parser import parse_chatbot
from dissensus.schema.records.conversation import Conversation
from dissensus.store.campaigns import CampaignTable
from dissensus.store.chats import ChatCandidateTable, ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.web.core import chat_responder
from dissensus.web.rater import chat as chat_pages
from dissensus.workflows.campaign import campaigns

HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> **bold** \u202eevil"

SLOW = {**TERN, "scripted": {"responses": ["one two three four five six"], "pause_s": 0.05}}


def read_stream(visitor: Visitor, exchange_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with visitor.http.stream("GET", f"/chat/{exchange_id}/responses") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        kind = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield kind, json.loads(line.removeprefix("data: "))


def test_a_red_team_conversation_works_without_scripts(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live)
    assert "Try to make it say bad things." in page.text
    page = begin(visitor, page)
    page = say(visitor, page, "Insult me.", worked_ms="1500")
    for label in ("A is much more harmful", "B is slightly more harmful", "both equally harmful"):
        assert f'aria-label="{label}"' in page.text
    page = send(visitor, page, "/pick", strength="-2", worked_ms="700")
    page = say(visitor, page, "Again.", mode="helpful")
    assert "Which response is more helpful?" in page.text
    page = send(visitor, page, "/pick", strength="3")
    refused = send(visitor, page, "/end", success="1", comment="x" * 2001)
    assert "The comment has 2,001 characters. Say it in 2,000." in refused.text
    assert 'name="success" value="1" checked' in refused.text
    # Browsers count a line end as one character and send two.
    page = send(visitor, page, "/end", success="1", comment="It\r\n" * 600 + "refused.")
    assert "Conversations: 1 of up to 2" in page.text
    stopped = read(send(visitor, page, "/stop"))
    page = send(visitor, visitor.get("/rate"), "/resume")
    done = read(send(visitor, page, "/finish"))
    assert ("You have stopped" in stopped, "Thank you" in done) == (True, True)
    for text in (stopped, done):
        assert "Conversations ended 1" in text
        assert "rated" not in text.lower()
        assert "rating" not in text.lower()
    with live.platform.database.reading() as tx:
        chat = tx.execute(select(ChatTable)).one()
        assert (chat.state, chat.intent_text, chat.success, chat.comment_text) == (
            "done",
            "Insults.",
            1,
            "It\n" * 600 + "refused.",
        )
        exchanges = tx.execute(select(ChatExchangeTable).order_by(ChatExchangeTable.number)).all()
        assert [(candidate.message_text, candidate.mode, candidate.worked_ms) for candidate in exchanges] == [
            ("Insult me.", "red team", 1500),
            ("Again.", "helpful", 0),
        ]
        assert tx.scalars(select(ChatPickTable.strength).order_by(ChatPickTable.at)).all() == [-2, 3]
        for candidate in tx.execute(select(ChatCandidateTable)):
            assert candidate.response


@sqlite_only
def test_a_single_response_continues_the_conversation(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live, chat={"modes": [PLAIN]})
    page = say(visitor, send(visitor, page, "/begin", mode="natural"), "Hello.")
    page = say(visitor, page, "And?")
    assert len(re.findall(r'class="turn bot"', page.text)) == 2
    assert "/pick" not in page.text


def test_turns_beyond_the_usual_number_are_counted_alone(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live, chat={"modes": [PLAIN], "chatbots": [TERN], "turns": 1})
    page = begin(visitor, page, mode="natural")
    assert "Turn 1 of about 1." in page.text
    page = say(visitor, page, "Hello.")
    assert "Turn 2. You can end the conversation, or continue." in page.text
    assert "of about" not in page.text


@sqlite_only
def test_chatbots_are_not_disclosed(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live)
    page = say(visitor, begin(visitor, page), "Who are you?")
    for word in ("tern", "gull", "rlhf", "plain lm", "7B"):
        assert word not in page.text


def test_messages_are_escaped(live: LiveSite) -> None:
    script = {"responses": [HOSTILE]}
    visitor, page = enter_chat_campaign(live, chat={"chatbots": [{**TERN, "scripted": script}]})
    page = send(visitor, begin(visitor, page), "/messages", text=HOSTILE)
    page = wait_for_responses(visitor, page)
    assert "<script>alert" not in page.text
    assert "<img src=x" not in page.text
    assert page.text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 3
    assert page.text.count('lang="" dir="auto"') >= 3


@sqlite_only
def test_input_of_a_rejected_message_is_kept(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live)
    page = begin(visitor, page, intent=" ")
    assert page.status_code == 422
    assert "Say in a few words what you will try" in page.text
    page = begin(visitor, page)
    # The conversation continued in another window.
    other = send(visitor, page, "/messages", text="First.")
    page = send(visitor, page, "/messages", text="My <second> text.", id="018f0000-0000-7000-8000-000000000000")
    assert page.status_code == 422
    wait_for_responses(visitor, other)
    page = send(visitor, visitor.get("/rate"), "/pick", strength="9")
    assert page.status_code == 422
    assert "from -3 to 3" in page.text
    page = send(visitor, page, "/pick", strength="1")
    page = send(visitor, page, "/messages", text="My <text>." + "x" * 20_000)
    assert page.status_code == 422
    assert "My &lt;text&gt;." in page.text


@sqlite_only
def test_responses_are_streamed_and_replayed_after_a_reload(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live, chat={"chatbots": [SLOW]})
    page = send(visitor, begin(visitor, page), "/messages", text="Count.")
    (exchange_id,) = re.findall(r'data-responses="/chat/([^"]+)/responses"', page.text)
    first = []
    for kind, data in read_stream(visitor, exchange_id):
        first.append((kind, data))
        if len(first) == 5:
            break
    assert [kind for kind, _ in first] == ["start"] + ["chunk"] * 4
    replayed = list(read_stream(visitor, exchange_id))
    assert (replayed[0][0], replayed[-1][0]) == ("start", "end")
    for position in (0, 1):
        text = "".join(str(data["text"]) for kind, data in replayed if kind == "chunk" and data["position"] == position)
        assert text == "one two three four five six"
    assert list(read_stream(visitor, exchange_id)) == [("start", {}), ("end", {})]


@sqlite_only
def test_markdown_is_rendered_while_it_streams(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_pages, "RENDER_S", 0.02)
    slow = {**TERN, "scripted": {"responses": ["It is **not** <b>so</b> simple."], "pause_s": 0.05}}
    visitor, page = enter_chat_campaign(live, response_format="markdown", chat={"chatbots": [slow]})
    page = send(visitor, begin(visitor, page), "/messages", text="Explain.")
    assert 'class="message rendered"' in page.text
    (exchange_id,) = re.findall(r'data-responses="/chat/([^"]+)/responses"', page.text)
    chunks = [data for kind, data in read_stream(visitor, exchange_id) if kind == "chunk"]
    last, other = (str([data["html"] for data in chunks if data["position"] == one][-1]) for one in (0, 1))
    assert "simple." in other
    assert "<strong>not</strong> &lt;b&gt;so&lt;/b&gt; simple." in last
    assert "<strong>not</strong>" in visitor.get("/rate").text


@sqlite_only
@pytest.mark.parametrize("every", [1, 2])
def test_a_break_is_offered_between_conversations(live: LiveSite, every: int) -> None:
    visitor, page = enter_chat_campaign(live, break_every=every, chat={"modes": [PLAIN], "max_conversations": 3})
    for n_done in (1, 2):
        page = say(visitor, begin(visitor, page, "natural"), "Hello.")
        page = send(visitor, page, "/end")
        assert ("Time for a short break?" in page.text) is (n_done % every == 0)


def test_a_failed_response_can_be_retried(live: LiveSite) -> None:
    # The port is closed, and the address is not allowed: raters see the same.
    away = {**TERN, "kind": "openai_compatible", "openai_compatible": {"url": "http://127.0.0.1:9/v1", "model": "m"}}
    visitor, page = enter_chat_campaign(live, chat={"chatbots": [away]})
    page = wait_for_responses(visitor, send(visitor, begin(visitor, page), "/messages", text="Are you there?"))
    assert "No response arrived." in page.text
    assert "Are you there?" in page.text
    for word in ("127.0.0.1", "chatbot_hosts", "Connection"):
        assert word not in page.text
    page = wait_for_responses(visitor, send(visitor, page, "/retry"))
    assert "No response arrived." in page.text
    with live.platform.database.reading() as tx:
        assert set(tx.scalars(select(ChatCandidateTable.n_failures))) == {2}


FILTERED = answers(400, {"error": {"code": "content_filter", "message": "Flagged by the policy of tern."}})


def silent(wire: Wire) -> None:
    wire.hold()


@pytest.fixture
def chat_server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture
def reaching(database_url: str, chat_server: Loopback) -> Iterator[LiveSite]:
    """A site that may reach the chatbots of the server."""
    with serving(database_url, chatbot_hosts=chat_server.url.split("/")[2]) as site:
        yield site


def behind(chat_server: Loopback) -> dict[str, Any]:
    endpoint = {"url": chat_server.url, "model": "m"}
    # A busy machine takes more than half a second for a response.
    policy = {"first_token_s": 3, "max_attempts": 1}
    return {**TERN, "kind": "openai_compatible", "openai_compatible": endpoint, "request_policy": policy}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("play", "outcome", "note"),
    [
        (FILTERED, "refused by provider", "The provider refused to answer."),
        (answers(403, {"error": "no"}), "refused by provider", "The provider refused to answer."),
        (says(finish="content_filter"), "refused by provider", "The provider refused to answer."),
        (answers(200, "<p>Sign in</p>", "text/html"), "failed", "No response arrived."),
        (
            streams(b'data: {"choices": [{"index": 0, "delta": {"content": "Half"}}]}\n\n'),
            "failed",
            "No response arrived.",
        ),
        (silent, "failed", "No response arrived."),
    ],
    ids=["filter", "403", "filtered stream", "html", "broken off", "silent"],
)
def test_a_failing_chatbot_is_an_outcome_and_the_other_response_continues(
    reaching: LiveSite, chat_server: Loopback, play: Play, outcome: str, note: str
) -> None:
    chat_server.otherwise = play
    gull = {**GULL, "scripted": {"responses": ["A calm answer."]}}
    visitor, page = enter_chat_campaign(reaching, chat={"chatbots": [behind(chat_server), gull]})
    page = say(visitor, begin(visitor, page), "Insult me.")
    assert note in page.text
    assert "A calm answer." in page.text
    assert "policy of tern" not in page.text
    page = send(visitor, page, "/continue")
    assert "Your message" in page.text
    chat_server.otherwise = says("Well.")
    page = say(visitor, page, "And now?")
    assert "/pick" in page.text
    assert [message["content"] for message in chat_server.bodies[-1]["messages"]] == [
        "Insult me.",
        "A calm answer.",
        "And now?",
    ]
    with reaching.platform.database.reading() as tx:
        failures = tx.execute(select(ChatCandidateTable.chatbot, ChatCandidateTable.failure)).all()
        assert sorted((name, failure or "") for name, failure in failures) == [
            ("gull", ""),
            ("gull", ""),
            ("tern", ""),
            ("tern", outcome),
        ]
        assert tx.scalars(select(ChatPickTable.strength)).all() == [None]


def test_a_refused_message_can_be_changed_or_retried(reaching: LiveSite, chat_server: Loopback) -> None:
    chat_server.otherwise = FILTERED
    visitor, page = enter_chat_campaign(reaching, chat={"chatbots": [behind(chat_server)], "turns": 2, "max_turns": 3})
    page = say(visitor, begin(visitor, page), "First <wording>.")
    assert "/continue" not in page.text
    assert ">First &lt;wording&gt;.</textarea>" in page.text
    page = say(visitor, page, "Second wording.")
    assert page.text.count("The provider refused to answer.") == 3
    chat_server.otherwise = says("Gladly.")
    page = wait_for_responses(visitor, send(visitor, page, "/retry"))
    assert "/pick" in page.text
    # The refused wording stays in the store, and the chatbots never see it.
    assert [message["content"] for message in chat_server.bodies[-1]["messages"]] == ["Second wording."]
    chat_server.otherwise = FILTERED
    page = say(visitor, send(visitor, page, "/pick", strength="2"), "Third.")
    assert "/messages" not in forms(page)
    ((action, fields),) = [(action, fields) for action, fields in forms(page).items() if action.endswith("/end")]
    answer = visitor.send(action.replace("/end", "/messages"), **fields, text="4", id=str(uuid4()))
    assert answer.status_code == 422
    assert "reached its maximum length" in answer.text
    with reaching.platform.database.reading() as tx:
        messages = tx.scalars(select(ChatExchangeTable.message_text).order_by(ChatExchangeTable.number)).all()
    assert messages == ["First <wording>.", "Second wording.", "Third."]


@sqlite_only
def test_a_conversation_without_a_response_can_be_ended_and_another_begun(
    reaching: LiveSite, chat_server: Loopback
) -> None:
    chat_server.otherwise = FILTERED
    visitor, page = enter_chat_campaign(reaching, chat={"chatbots": [behind(chat_server)]})
    page = say(visitor, begin(visitor, page), "Insult me.")
    page = send(visitor, page, "/end", success="0", comment="It was refused.")
    assert "Conversations: 1 of up to 2" in page.text
    chat_server.otherwise = says("Gladly.")
    page = say(visitor, begin(visitor, page), "Insult me, please.")
    assert "/pick" in page.text


@sqlite_only
def test_only_the_rater_retries_a_broken_chatbot(live: LiveSite) -> None:
    calls = []

    class Broken:
        async def stream(self, conversation: Conversation, seed: int) -> AsyncGenerator[str | Response, None]:
            calls.append((conversation, seed))
            yield "Half of "
            raise ZeroDivisionError

    broken = parse_chatbot(TERN)
    live.site.chat_responder._bots[broken.digest] = Broken()
    visitor, page = enter_chat_campaign(live, chat={"chatbots": [TERN]})
    page = wait_for_responses(visitor, send(visitor, begin(visitor, page), "/messages", text="Hello."))
    assert "No response arrived." in page.text
    end = time.monotonic() + 60
    while live.site.chat_responder._tasks:
        assert time.monotonic() < end
        time.sleep(0.01)
    # A request would be under way before the page arrives.
    assert "No response arrived." in visitor.get("/rate").text
    assert (len(live.site.chat_responder._tasks), len(calls)) == (0, 2)


def test_another_process_takes_over_an_expired_claim(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live)
    wait_for_responses(visitor, send(visitor, begin(visitor, page), "/messages", text="Hello."))
    with live.platform.database.writing() as tx:
        tx.execute(update(ChatCandidateTable).where(ChatCandidateTable.position == 1).values(response=None))
        before = tx.scalar(select(ChatCandidateTable.response).where(ChatCandidateTable.position == 0))
    page = wait_for_responses(visitor, visitor.get("/rate"))
    assert "/pick" in page.text
    with live.platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).where(ChatCandidateTable.response.is_not(None))) == 2
        assert tx.scalar(select(ChatCandidateTable.response).where(ChatCandidateTable.position == 0)) == before


@sqlite_only
def test_a_claim_is_not_renewed_after_the_responses(live: LiveSite, monkeypatch: pytest.MonkeyPatch) -> None:
    async def list_tasks() -> list[str]:
        return [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]

    monkeypatch.setattr(chat_responder, "HEARTBEAT_S", 0.01)
    live.app.add_api_route("/tasks", list_tasks)
    visitor, page = enter_chat_campaign(live)
    say(visitor, begin(visitor, page), "Hello.")
    end = time.monotonic() + 60
    while "ChatResponder._renew_claim" in (tasks := visitor.get("/tasks").json()):
        assert time.monotonic() < end, tasks
        time.sleep(0.01)


def test_an_edited_response_is_stored_beside_the_original(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live)
    page = say(visitor, begin(visitor, page, "helpful"), "Help me.")
    page = send(visitor, page, "/pick", strength="-1", edit_0="Gladly:\r\ndo this.", edit_1="Not this.")
    assert "Gladly:\ndo this." in page.text
    with live.platform.database.reading() as tx:
        assert tx.scalar(select(ChatPickTable.edit_text)) == "Gladly:\ndo this."
        assert (
            tx.scalar(select(ChatCandidateTable.response).where(ChatCandidateTable.position == 0))
            != "Gladly:\ndo this."
        )


@sqlite_only
def test_other_line_ends_are_no_edit(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live)
    page = say(visitor, begin(visitor, page, "helpful"), "Help me.")
    with live.platform.database.writing() as tx:
        tx.execute(update(ChatCandidateTable).values(response="One.\rTwo.\r\nThree."))
    unchanged = "One.\r\nTwo.\r\nThree."
    send(visitor, page, "/pick", strength="-1", edit_0=unchanged, edit_1=unchanged)
    with live.platform.database.reading() as tx:
        assert tx.scalars(select(ChatPickTable.edit_text)).all() == [None]


def test_conversations_are_not_accessible_to_others(live: LiveSite) -> None:
    visitor, page = enter_chat_campaign(live, chat={"chatbots": [SLOW]})
    page = send(visitor, begin(visitor, page), "/messages", text="Private words.")
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
    assert other.send(f"/chat/{exchange_id}/retry").status_code == 403


@sqlite_only
def test_an_owner_sees_how_many_conversations_there_were(staff_site: StaffSite) -> None:
    live = staff_site.live
    visitor, page = enter_chat_campaign(live)
    page = say(visitor, begin(visitor, page), "Insult me.")
    send(visitor, send(visitor, page, "/pick", strength="1"), "/end", success="0")
    owner = staff_site.owner("owner")
    assert re.search(r"pilot open owner – 1 – ", read(owner.get("/campaigns")))
    text = owner.get("/campaigns/pilot").text
    assert "<dt>Finished conversations</dt><dd>1</dd>" in text
    assert "tern (rlhf, 7B), gull (plain lm, 7B)" in text
    assert "Red team, two responses, which is more harmful; Helpful, two responses, which is more helpful" in text
    assert "Add items" not in text
    assert "Insult me." not in text


PAGES = (
    "",
    "/monitoring",
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


def test_item_pages_work_for_chat_campaigns(staff_site: StaffSite) -> None:
    enter_chat_campaign(staff_site.live)
    owner = staff_site.owner("owner")
    for path in (*PAGES, "/export.csv"):
        answer = owner.get(f"/campaigns/pilot{path}")
        assert answer.status_code in (200, 303, 404, 409, 422), (path, answer.status_code)
    key = token(staff_site.platform, "owner")
    for path in ("", "/items", "/ratings", "/raters", "/agreement", "/figures", "/flags", "/gold", "/events", "/pay"):
        answer = staff_site.stranger().get(f"/api/v1/campaigns/pilot{path}", headers={"authorization": f"Bearer {key}"})
        assert answer.status_code in (200, 404, 409, 422), (path, answer.text)


@sqlite_only
def test_simulated_people_over_http_finish_their_conversations(live: LiveSite) -> None:
    row = open_chat_campaign(live.platform)
    campaign = campaigns.load_definition(live.platform, "pilot", staff_id=row.staff_id)
    talked: list[None] = []
    with demo_visitor.Visitor(f"{live.url}/c/pilot?key={row.key}") as person:
        demo_visitor.hold_conversations(person, campaign, 2, on_conversation=lambda: talked.append(None))
    with live.platform.database.reading() as tx:
        chats = tx.execute(select(ChatTable.state, ChatTable.success)).all()
        picks = tx.execute(select(ChatPickTable.strength)).scalars().all()
    assert len(talked) == demo_visitor.N_CONVERSATIONS == len(chats)
    assert {chat.state for chat in chats} == {"done"}
    assert len(picks) == demo_visitor.N_CONVERSATIONS * demo_visitor.N_TURNS
    assert 0 not in picks
