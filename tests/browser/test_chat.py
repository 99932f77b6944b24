"""Talking with chatbots in a real browser: five conversations, a reload in mid-stream, and how it looks."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from tests.support.chat_campaigns import GULL, PLAIN, TERN, open_chat_campaign
from tests.support.chat_completion_server import PATIENCE_S, Loopback, Play, Wire, answers, loopback, says
from tests.support.live_site import LiveSite, serving
from tests.support.staff_pages import check_page

from dissensus.store.chats import ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.store.notices import NoticeTable

CALM = "That depends on where you are. Most lakes here are open from June, and a guard is on duty until the evening."
SHORT = "I would rather not say."
HOSTILE = "<b onclick=alert(1)>**Sure**</b>: \u202eti od\u202c `rm -rf`"


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A server of chatbots with scripted responses."""
    with loopback() as running:
        yield running


@pytest.fixture
def live(sqlite_template: Path, tmp_path: Path, server: Loopback) -> Iterator[LiveSite]:
    """The site, with access to that server."""
    path = tmp_path / "dissensus.db"
    path.write_bytes(sqlite_template.read_bytes())
    with serving(f"sqlite:///{path}", chatbot_hosts=server.url.split("/")[2]) as site:
        yield site


def behind(server: Loopback, name: dict[str, Any]) -> dict[str, Any]:
    return {**name, "kind": "openai_compatible", "openai_compatible": {"url": server.url, "model": "m"}}


def waiting(go: threading.Event, text: str, n_words: int = 1) -> Play:
    """Send the first words, and the others after an event, so that the test does not race with a reload of the page."""
    words = text.split(" ")

    def play(wire: Wire) -> None:
        wire.head()
        wire.chunk(" ".join(words[:n_words]))
        assert go.wait(PATIENCE_S)
        wire.chunk("".join(f" {word}" for word in words[n_words:]))
        wire.chunk(finish_reason="stop")
        wire.event("[DONE]")

    return play


def scripted(name: dict[str, Any], *responses: str, pause_s: float = 0.0) -> dict[str, Any]:
    return {**name, "scripted": {"responses": list(responses), "pause_s": pause_s}}


def arrive(live: LiveSite, page: Page, **changes: Any) -> None:
    """Consent, up to the first conversation."""
    campaign = open_chat_campaign(live.platform, **changes)
    page.goto(f"{live.url}/c/pilot?key={campaign.key}")
    page.get_by_role("button", name="I understand, continue").click()
    page.get_by_role("checkbox", name="To use it.").check()
    page.get_by_role("button", name="I agree and want to take part").click()
    expect(page.get_by_role("heading", name="Talk with a chatbot")).to_be_visible()


def begin(page: Page, mode: str = "Red team") -> None:
    page.get_by_role("radio", name=mode).check()
    if mode == "Red team":
        page.get_by_label("What will you try?").fill("To get an insult.")
    page.get_by_role("button", name="Begin").click()


def say(page: Page, text: str) -> None:
    page.wait_for_load_state()
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Control+Enter")


def end(page: Page, how: str = "Hardly") -> None:
    if not page.get_by_label(how, exact=True).is_visible():
        page.locator("summary", has_text="End this conversation").click()
    page.get_by_label(how, exact=True).check()
    page.get_by_role("button", name="End this conversation").click()


def test_a_red_team_task_of_five_conversations(live: LiveSite, page: Page, server: Loopback) -> None:
    go = threading.Event()
    server.will(waiting(go, CALM), waiting(go, HOSTILE))
    server.otherwise = says(SHORT)
    arrive(live, page, chat={"chatbots": [behind(server, TERN), behind(server, GULL)], "max_conversations": 5})
    check_page(page, "chat-begin")
    begin(page)
    check_page(page, "chat-say")
    # The header of a desk is one line.
    middles = page.locator("header p:visible").evaluate_all("all => all.map(one => one.getBoundingClientRect())")
    assert len({round((box["top"] + box["bottom"]) / 20) for box in middles}) == 1, middles
    say(page, "Insult me.")
    expect(page.locator("#pending-responses .message").first).not_to_be_empty()
    check_page(page, "chat-answering")
    page.reload()
    expect(page.locator("#pending-responses .message").first).not_to_be_empty()
    go.set()
    expect(page.get_by_role("heading", name="Which response is more harmful?")).to_be_visible()
    check_page(page, "chat-pick")
    page.get_by_role("button", name="A is clearly more harmful").click()
    expect(page.get_by_text("Turn 2 of about 4.")).to_be_visible()
    page.get_by_label("From now on:").select_option("Helpful")
    say(page, "May I swim here?")
    expect(page.get_by_role("heading", name="Which response is more helpful?")).to_be_visible()
    page.locator("summary", has_text="Improve response B").click()
    page.get_by_label("Improve response B").fill("You may swim here from June on.")
    check_page(page, "chat-edit")
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Which response is more helpful?").click()
    page.keyboard.press("1")
    expect(page.get_by_text("You may swim here from June on.")).to_have_count(0)
    page.locator("summary", has_text="Change your choice").click()
    expect(page.locator("[aria-pressed=true]")).to_have_attribute("aria-label", "A is much more helpful")
    check_page(page, "chat-change")
    page.locator("summary", has_text="Improve response B").click()
    page.get_by_label("Improve response B").fill("You may swim here from June on.")
    page.get_by_role("button", name="B is much more helpful").click()
    expect(page.locator(".message", has_text="You may swim here from June on.")).to_be_visible()
    page.locator("summary", has_text="End this conversation").click()
    check_page(page, "chat-end")
    page.get_by_label("Hardly").check()
    page.get_by_role("button", name="End this conversation").click()
    expect(page.get_by_role("heading", name="Another conversation?")).to_be_visible()
    check_page(page, "chat-next")
    for n in range(4):
        begin(page)
        say(page, f"Attack {n}.")
        expect(page.get_by_role("heading", name="Which response is more harmful?")).to_be_visible()
        page.wait_for_load_state()
        page.get_by_role("button", name="B is slightly more harmful").click()
        end(page)
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    with live.platform.database.reading() as tx:
        chats = tx.execute(select(ChatTable).order_by(ChatTable.number)).all()
        assert [(one.state, one.success, one.intent_text) for one in chats] == [("done", 1, "To get an insult.")] * 5
        edits = [one for one in tx.scalars(select(ChatPickTable.edit_text)) if one]
        assert edits == ["You may swim here from June on."]
        worked = tx.scalars(select(ChatExchangeTable.worked_ms)).all()
        assert (len(worked), min(worked) > 0) == (6, True)


def test_typed_text_survives_a_reload_and_a_failed_chatbot(live: LiveSite, page: Page, request: Any) -> None:
    away = {**TERN, "kind": "openai_compatible", "openai_compatible": {"url": "http://127.0.0.1:9/v1", "model": "m"}}
    arrive(live, page, chat={"chatbots": [away], "modes": [PLAIN]})
    page.get_by_role("button", name="Begin").click()
    page.wait_for_load_state()
    page.get_by_label("Your message").fill("Half a thought")
    page.reload()
    expect(page.get_by_label("Your message")).to_have_value("Half a thought")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("No response arrived.")
    expect(page.locator(".turn.human")).to_contain_text("Half a thought")
    expect(page.get_by_label("Or change your message")).to_have_value("Half a thought")
    check_page(page, "chat-failed")


def test_a_message_that_was_not_sent_is_typed_again(live: LiveSite, page: Page) -> None:
    arrive(live, page, chat={"chatbots": [scripted(TERN, CALM)], "modes": [PLAIN]})
    page.get_by_role("button", name="Begin").click()
    page.wait_for_load_state()
    text = page.get_by_label("Your message")
    text.fill("Where can I\nswim?")
    page.route("**/messages", lambda route: route.abort())
    page.get_by_role("button", name="Send").click()
    page.unroute("**/messages")
    page.goto(f"{live.url}/rate")
    expect(text).to_have_value("Where can I\nswim?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Turn 2 of about 4.")).to_be_visible()
    expect(text).to_have_value("")
    assert page.evaluate("sessionStorage.length") == 0


def test_asking_for_help_keeps_what_was_typed(live: LiveSite, page: Page) -> None:
    arrive(live, page, chat={"chatbots": [scripted(TERN, CALM)]})
    page.get_by_role("radio", name="Red team").check()
    intent = page.get_by_label("What will you try?")
    intent.fill("To get an insult.")
    page.get_by_role("link", name="I need help").first.click()
    page.get_by_label("Message to the people who run this campaign").fill("Please call me.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status")).to_contain_text("Your message was saved.")
    expect(intent).to_have_value("To get an insult.")
    with live.site.platform.database.reading() as tx:
        assert tx.scalars(select(NoticeTable.text)).all() == ["Please call me."]


def test_a_conversation_goes_on_beside_a_chatbot_that_refuses(live: LiveSite, page: Page, server: Loopback) -> None:
    server.otherwise = answers(400, {"error": {"code": "content_filter"}})
    arrive(live, page, chat={"chatbots": [behind(server, TERN), scripted(GULL, CALM)]})
    begin(page)
    say(page, "Insult me.")
    expect(page.get_by_role("alert")).to_contain_text("The provider of a chatbot refused to answer.")
    expect(page.get_by_text(CALM)).to_be_visible()
    check_page(page, "chat-refused")
    page.get_by_role("button", name="Continue with response").press("Enter")
    expect(page.get_by_text("Turn 2 of about 4.")).to_be_visible()
    say(page, "Insult me again.")
    change = page.get_by_label("Or change your message")
    expect(change).to_be_visible()
    page.wait_for_load_state()
    change.fill("Please insult me.")
    server.otherwise = says(SHORT)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Which response is more harmful?")).to_be_visible()


def test_hostile_text_is_inert_while_it_streams_and_after(live: LiveSite, page: Page, server: Loopback) -> None:
    spoken, go = list[str](), threading.Event()
    server.will(waiting(go, HOSTILE, n_words=2))
    page.on("dialog", lambda dialog: spoken.append(dialog.message))
    arrive(live, page, chat={"chatbots": [behind(server, TERN)], "modes": [PLAIN]})
    page.get_by_role("button", name="Begin").click()
    say(page, HOSTILE)
    expect(page.locator("#pending-responses .message")).to_contain_text("<b onclick")
    go.set()
    expect(page.get_by_text("Turn 2 of about 4.")).to_be_visible()
    assert page.locator(".message b, .message code, .message strong").count() == 0
    assert page.locator(".message").count() == 2
    for message in page.locator(".message").all():
        assert message.inner_text() == HOSTILE
        message.click()
    assert spoken == []
