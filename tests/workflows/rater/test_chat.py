"""The way of somebody who talks with chatbots."""

from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import func, select, update
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import (
    HELPFUL,
    PLAIN,
    RED_TEAM,
    answer_exchange,
    begin_chat,
    open_chat_campaign,
    send_message,
)
from tests.support.raters import enter

from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.pipeline.collect.chat import ResponsePick, build_conversation, choose_next_step
from dissensus.store import chats, payments
from dissensus.store.chats import ChatbotResponse, ChatCandidateTable, ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.store.core.orm import Base
from dissensus.store.events import EventTable
from dissensus.workflows.campaign import audit
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat, chat_responses, journey, withdrawal
from dissensus.workflows.rater.chat import ConversationEnd, NewConversation

A_LITTLE, B_MUCH = ResponsePick(strength=-1), ResponsePick(strength=3)


def test_from_intent_to_success(platform: Platform) -> None:
    kept = open_chat_campaign(platform)
    rater = enter(platform, kept.key)
    assert (at := journey.next_state(platform, rater, now=NOW)).stage == "chat"
    assert at.chat is None
    chat_id = begin_chat(platform, rater)
    first, _ = send_message(platform, rater, chat_id, "Insult me.", worked_ms=4_000)
    chat.pick_response(platform, rater, first, A_LITTLE, worked_ms=2_000, now=NOW)
    second, at = send_message(platform, rater, chat_id, "Worse.", worked_ms=1_000)
    assert at.chat is not None
    turns = build_conversation(at.chat.exchanges).turns
    assert [turn.text for turn in turns] == ["Insult me.", "Response A", "Worse."]
    chat.pick_response(platform, rater, second, B_MUCH, now=NOW)
    at = chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=3, comment="It was polite."), now=NOW)
    assert (at.stage, at.progress.n_done) == ("chat", 1)
    with platform.database.reading() as tx:
        row = tx.execute(select(ChatTable)).one()
        assert (row.state, row.intent_text, row.success, row.comment_text) == ("done", "Insults.", 3, "It was polite.")
        (one,) = payments.load_work(tx, kept.id)
        # What the chatbots took is nobody's time.
        assert (one.n_rated, one.worked_ms) == (1, 7_000)
    assert audit.audit_campaign(platform, "pilot").holds


def test_as_many_conversations_as_one_person_has(platform: Platform) -> None:
    kept = open_chat_campaign(platform)
    rater = enter(platform, kept.key)
    for _ in range(2):
        chat_id = begin_chat(platform, rater, "helpful")
        exchange, _ = send_message(platform, rater, chat_id)
        chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
        at = chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    assert (at.stage, at.rater.id) == ("done", rater.id)
    with pytest.raises(Conflict, match="2 conversations"):
        begin_chat(platform, rater)


def test_who_wants_no_more_has_finished(platform: Platform) -> None:
    kept = open_chat_campaign(platform)
    rater = enter(platform, kept.key)
    with pytest.raises(Conflict, match="no conversation yet"):
        chat.finish_chatting(platform, rater, now=NOW)
    chat_id = begin_chat(platform, rater, "helpful")
    with pytest.raises(Conflict, match="Nothing was answered"):
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    with pytest.raises(Conflict, match="End your conversation"):
        chat.finish_chatting(platform, rater, now=NOW)
    chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    assert chat.finish_chatting(platform, rater, now=NOW).stage == "done"
    assert journey.next_state(platform, rater, now=NOW).rater.state == "finished"


def test_twice_is_once(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id, exchange = begin_chat(platform, rater), str(uuid4())
    chat.begin_conversation(platform, rater, NewConversation(id=chat_id, mode="red team", intent="Insults."), now=NOW)
    for _ in range(2):
        chat.send_message(platform, rater, chat_id, exchange, "Hello.", now=NOW)
    answer_exchange(platform, rater, exchange)
    for _ in range(2):
        chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    with pytest.raises(Conflict, match="picked already"):
        chat.pick_response(platform, rater, exchange, A_LITTLE, now=NOW)
    for _ in range(2):
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=0), now=NOW)
    with platform.database.reading() as tx:
        for table in (ChatTable, ChatExchangeTable, ChatPickTable):
            assert tx.scalar(select(func.count()).select_from(table)) == 1
    kinds = [event.kind for event in _events(platform)]
    assert [
        kinds.count(kind) for kind in ("conversation_begun", "message_sent", "response_picked", "conversation_ended")
    ] == [1, 1, 1, 1]


def _events(platform: Platform) -> list[EventTable]:
    with platform.database.reading() as tx:
        return list(tx.execute(select(EventTable).order_by(EventTable.number)))  # type: ignore[arg-type]


def test_each_thing_in_its_turn(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater)
    with pytest.raises(Conflict, match="has not ended"):
        begin_chat(platform, rater)
    with pytest.raises(InvalidInput, match="nothing to send"):
        chat.send_message(platform, rater, chat_id, "x", " \n", now=NOW)
    with pytest.raises(InvalidInput, match=r"20,001 characters, and 20,000"):
        chat.send_message(platform, rater, chat_id, "x", "a" * 20_001, now=NOW)
    chat.send_message(platform, rater, chat_id, "x", "Hello.", now=NOW)
    with pytest.raises(Conflict, match="still coming"):
        chat.send_message(platform, rater, chat_id, "y", "Hello?", now=NOW)
    with pytest.raises(Conflict, match="still coming"):
        chat.pick_response(platform, rater, "x", B_MUCH, now=NOW)
    answer_exchange(platform, rater, "x")
    with pytest.raises(Conflict, match="Pick one"):
        chat.send_message(platform, rater, chat_id, "y", "Hello?", now=NOW)
    with pytest.raises(InvalidInput, match="from -3 to 3"):
        chat.pick_response(platform, rater, "x", ResponsePick(strength=4), now=NOW)
    with pytest.raises(InvalidInput, match="Nothing can be edited"):
        chat.pick_response(platform, rater, "x", ResponsePick(strength=1, edit="Better."), now=NOW)
    with pytest.raises(NotFound, match="nothing to pick"):
        chat.pick_response(platform, rater, "z", B_MUCH, now=NOW)
    with pytest.raises(InvalidInput, match="Did you mean 'helpful'"):
        chat.begin_conversation(platform, rater, NewConversation(id="new", mode="helpfull"), now=NOW)


def test_nobody_is_in_the_conversation_of_another(platform: Platform) -> None:
    kept = open_chat_campaign(platform)
    one, other = enter(platform, kept.key), enter(platform, kept.key)
    chat_id = begin_chat(platform, one)
    chat.send_message(platform, one, chat_id, "x", "Hello.", now=NOW)
    with pytest.raises(NotFound, match="no such conversation"):
        chat.send_message(platform, other, chat_id, "y", "Hello.", now=NOW)
    with pytest.raises(Conflict, match="under this key"):
        chat.begin_conversation(platform, other, NewConversation(id=chat_id, mode="helpful"), now=NOW)
    theirs = begin_chat(platform, other)
    with pytest.raises(Conflict, match="under this key"):
        chat.send_message(platform, other, theirs, "x", "Hello.", now=NOW)
    assert chat_responses.claim_responses(platform, other, "x", now=NOW) is None


def test_an_intent_comes_first(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    with pytest.raises(InvalidInput, match="what you will try"):
        chat.begin_conversation(platform, rater, NewConversation(id="c", mode="red team", intent=" "), now=NOW)


def test_an_edited_response_goes_on(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater, "helpful")
    exchange, _ = send_message(platform, rater, chat_id)
    edited = ResponsePick(strength=2, edit="Response B, and more.")
    at = chat.pick_response(platform, rater, exchange, edited, now=NOW)
    assert at.chat is not None
    assert at.chat.exchanges[0].response == "Response B, and more."


def test_a_mode_changes_in_mid_conversation(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    _, at = send_message(platform, rater, chat_id, mode="helpful")
    assert at.chat is not None
    assert [one.mode for one in at.chat.exchanges] == ["red team", "helpful"]
    assert at.chat.last_mode == "helpful"


def test_one_response_needs_no_pick(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform, chat={"modes": [PLAIN]}).key)
    chat_id = begin_chat(platform, rater, "natural")
    _, at = send_message(platform, rater, chat_id)
    assert at.chat is not None
    assert at.campaign.chat is not None
    assert choose_next_step(at.campaign.chat, at.chat.exchanges) == "say"
    assert len(at.chat.exchanges[0].candidates) == 1


@pytest.mark.parametrize(("continues", "goes_on"), [("picked", "Response B"), ("other", "Response A")])
def test_with_which_response_it_goes_on(platform: Platform, continues: str, goes_on: str) -> None:
    modes = [{**RED_TEAM, "continues": continues}, HELPFUL]
    rater = enter(platform, open_chat_campaign(platform, chat={"modes": modes}).key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id)
    at = chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    assert at.chat is not None
    assert at.chat.exchanges[0].response == goes_on


def test_one_process_asks_and_another_goes_on_where_it_dies(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat.send_message(platform, rater, begin_chat(platform, rater), "x", "Hello.", now=NOW)
    asked = chat_responses.claim_responses(platform, rater, "x", now=NOW)
    assert asked is not None
    assert [one.place for one in asked.wanted] == [0, 1]
    chat_responses.store_chat_response(platform, rater, "x", asked.wanted[0], _come("First."), now=NOW)
    assert chat_responses.claim_responses(platform, rater, "x", now=NOW + timedelta(seconds=10)) is None
    later = chat_responses.claim_responses(platform, rater, "x", now=NOW + timedelta(seconds=15))
    assert later is not None
    # The same seed as before: what comes is the same.
    assert later.wanted == asked.wanted[1:]
    chat_responses.store_chat_response(platform, rater, "x", asked.wanted[0], _come("Another."), now=NOW)
    with platform.database.reading() as tx:
        talk = chats.find_last_chat(tx, rater.id)
        assert talk is not None
        assert [one.text for one in talk.exchanges[0].candidates] == ["First.", None]


def _come(text: str) -> ChatbotResponse:
    return ChatbotResponse(text=text, finish="stop", first_ms=1, total_ms=2)


def test_all_of_it_is_erased(platform: Platform) -> None:
    kept = open_chat_campaign(platform, pay={"currency": "GBP", "hour": 1200})
    rater = enter(platform, kept.key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id, worked_ms=60_000)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    chat.send_message(platform, rater, chat_id, "x", "And?", now=NOW)
    asked = chat_responses.claim_responses(platform, rater, "x", now=NOW)
    assert asked is not None
    assert withdrawal.preview_withdrawal(platform, rater.id).n_rated == 1
    assert withdrawal.withdraw_rater(platform, rater.id, now=NOW) == 1
    chat_responses.store_chat_response(platform, rater, "x", asked.wanted[0], _come("Too late."), now=NOW)
    with platform.database.reading() as tx:
        for table in (ChatTable, ChatExchangeTable, ChatCandidateTable, ChatPickTable):
            assert tx.scalar(select(func.count()).select_from(table)) == 0
        (one,) = payments.load_work(tx, kept.id)
        assert one.worked_ms == 60_000
    with pytest.raises(NotAllowed, match="withdrawn"):
        chat.send_message(platform, rater, chat_id, "y", "Hello.", now=NOW)
    assert audit.audit_campaign(platform, "pilot").holds


@pytest.mark.parametrize(
    ("table", "changed", "told"),
    [
        (ChatExchangeTable, {"message_text": "Hello!"}, "is not what was said"),
        (ChatPickTable, {"strength": -3}, "is not what was picked"),
        (ChatPickTable, {"edit_text": "Never."}, "is not what was picked"),
        (ChatPickTable, {"continues": 0}, "is not what was picked"),
    ],
)
def test_what_is_changed_later_is_found(
    platform: Platform, table: type[Base], changed: dict[str, object], told: str
) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater, "helpful")
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    assert audit.audit_campaign(platform, "pilot").holds
    with platform.database.writing() as tx:
        tx.execute(update(table).values(**changed))
    (fault,) = audit.audit_campaign(platform, "pilot").faults
    assert told in fault


def test_as_many_a_day_as_one_may_have_and_the_last_one_to_its_end(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform, most_a_day=1).key)
    chat_id = begin_chat(platform, rater, "helpful")
    exchange, at = send_message(platform, rater, chat_id)
    assert at.stage == "chat"
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    assert chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW).stage == "enough"
    assert journey.next_state(platform, rater, now=NOW + timedelta(days=2)).stage == "chat"
