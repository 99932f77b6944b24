"""Conversations with chatbots."""

from datetime import timedelta
from typing import Literal
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
    finish_chat,
    open_chat_campaign,
    send_message,
)
from tests.support.raters import enter

from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.pipeline.collect.chat import ResponsePick, build_conversation, choose_next_step
from dissensus.store import chats, payments
from dissensus.store.audit_log import EventTable
from dissensus.store.chats import ChatbotResponse, ChatCandidateTable, ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.store.core.orm import Base
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat, chat_responses, next_step, withdrawal
from dissensus.workflows.rater.chat import ConversationEnd, NewConversation

A_LITTLE, B_MUCH = ResponsePick(strength=-1), ResponsePick(strength=3)


def test_a_conversation_from_intent_to_success(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    rater = enter(platform, campaign.key)
    assert (state := next_step.find_next_step(platform, rater, now=NOW)).stage == "chat"
    assert state.chat is None
    chat_id = begin_chat(platform, rater)
    first, _ = send_message(platform, rater, chat_id, "Insult me.", worked_ms=4_000)
    chat.pick_response(platform, rater, first, A_LITTLE, worked_ms=2_000, now=NOW)
    second, state = send_message(platform, rater, chat_id, "Worse.", worked_ms=1_000)
    assert state.chat is not None
    turns = build_conversation(state.chat.exchanges).turns
    assert [turn.text for turn in turns] == ["Insult me.", "Response A", "Worse."]
    chat.pick_response(platform, rater, second, B_MUCH, now=NOW)
    state = chat.end_conversation(
        platform, rater, chat_id, ConversationEnd(success=3, comment="It was polite."), now=NOW
    )
    assert (state.stage, state.progress.n_done) == ("chat", 1)
    with platform.database.reading() as tx:
        row = tx.execute(select(ChatTable)).one()
        assert (row.state, row.intent_text, row.success, row.comment_text) == ("done", "Insults.", 3, "It was polite.")
        (work,) = payments.load_work(tx, campaign.id)
        # The time of the chatbots is not counted.
        assert (work.n_rated, work.worked_ms) == (1, 7_000)
    assert audit.audit_campaign(platform, "pilot").holds


def test_the_number_of_conversations_is_limited(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    rater = enter(platform, campaign.key)
    for _ in range(2):
        chat_id = begin_chat(platform, rater, "helpful")
        exchange, _ = send_message(platform, rater, chat_id)
        chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
        state = chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    assert (state.stage, state.rater.id) == ("done", rater.id)
    with pytest.raises(Conflict, match="2 conversations"):
        begin_chat(platform, rater)


def test_a_rater_can_finish_between_conversations(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    rater = enter(platform, campaign.key)
    with pytest.raises(Conflict, match="no conversation yet"):
        chat.finish_chatting(platform, rater, now=NOW)
    chat_id = begin_chat(platform, rater, "helpful")
    with pytest.raises(Conflict, match="no response yet"):
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    with pytest.raises(Conflict, match="End your conversation"):
        chat.finish_chatting(platform, rater, now=NOW)
    chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW)
    assert chat.finish_chatting(platform, rater, now=NOW).stage == "done"
    assert next_step.find_next_step(platform, rater, now=NOW).rater.state == "finished"


def test_a_pick_can_be_changed_until_the_next_message(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    changed = chat.pick_response(platform, rater, exchange, A_LITTLE, now=NOW)
    assert changed.chat is not None
    assert changed.chat.exchanges[-1].pick == A_LITTLE
    send_message(platform, rater, chat_id)
    with pytest.raises(Conflict, match="already picked"):
        chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    with platform.database.reading() as tx:
        picks = tx.execute(select(ChatPickTable.number, ChatPickTable.strength).order_by(ChatPickTable.number)).all()
    assert [tuple(pick) for pick in picks] == [(0, B_MUCH.strength), (1, A_LITTLE.strength)]
    assert audit.audit_campaign(platform, "pilot").holds


def test_repeated_requests_are_applied_once(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id, exchange = begin_chat(platform, rater), str(uuid4())
    chat.begin_conversation(platform, rater, NewConversation(id=chat_id, mode="red team", intent="Insults."), now=NOW)
    for _ in range(2):
        chat.send_message(platform, rater, chat_id, exchange, "Hello.", now=NOW)
    answer_exchange(platform, rater, exchange)
    for _ in range(2):
        chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    for _ in range(2):
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=0), now=NOW)
    with pytest.raises(Conflict, match="already picked"):
        chat.pick_response(platform, rater, exchange, A_LITTLE, now=NOW)
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


def test_requests_out_of_order_are_refused(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater)
    with pytest.raises(Conflict, match="has not ended"):
        begin_chat(platform, rater)
    with pytest.raises(InvalidInput, match="nothing to send"):
        chat.send_message(platform, rater, chat_id, "x", " \n", now=NOW)
    with pytest.raises(InvalidInput, match=r"20,001 characters, and 20,000"):
        chat.send_message(platform, rater, chat_id, "x", "a" * 20_001, now=NOW)
    chat.send_message(platform, rater, chat_id, "x", "Hello.", now=NOW)
    with pytest.raises(Conflict, match="not arrived yet"):
        chat.send_message(platform, rater, chat_id, "y", "Hello?", now=NOW)
    with pytest.raises(Conflict, match="not arrived yet"):
        chat.pick_response(platform, rater, "x", B_MUCH, now=NOW)
    answer_exchange(platform, rater, "x")
    with pytest.raises(Conflict, match="Pick one"):
        chat.send_message(platform, rater, chat_id, "y", "Hello?", now=NOW)
    with pytest.raises(InvalidInput, match="from -3 to 3"):
        chat.pick_response(platform, rater, "x", ResponsePick(strength=4), now=NOW)
    with pytest.raises(InvalidInput, match="cannot be edited here"):
        chat.pick_response(platform, rater, "x", ResponsePick(strength=1, edit="Better."), now=NOW)
    with pytest.raises(NotFound, match="nothing to pick"):
        chat.pick_response(platform, rater, "z", B_MUCH, now=NOW)
    with pytest.raises(InvalidInput, match="Did you mean 'helpful'"):
        chat.begin_conversation(platform, rater, NewConversation(id="new", mode="helpfull"), now=NOW)


def test_conversations_of_others_are_not_accessible(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    rater, other = enter(platform, campaign.key), enter(platform, campaign.key)
    chat_id = begin_chat(platform, rater)
    chat.send_message(platform, rater, chat_id, "x", "Hello.", now=NOW)
    with pytest.raises(NotFound, match="conversation does not exist"):
        chat.send_message(platform, other, chat_id, "y", "Hello.", now=NOW)
    with pytest.raises(NotFound, match="conversation does not exist"):
        chat.end_conversation(platform, other, chat_id, ConversationEnd(), now=NOW)
    with pytest.raises(NotFound, match="nothing to pick from"):
        chat.pick_response(platform, other, "x", B_MUCH, now=NOW)
    with pytest.raises(NotFound, match="no response to continue with"):
        chat.continue_with_response(platform, other, "x", now=NOW)
    assert chat.load_response(platform, other, "x", 0) is None
    with pytest.raises(Conflict, match="under this key"):
        chat.begin_conversation(platform, other, NewConversation(id=chat_id, mode="helpful"), now=NOW)
    other_chat_id = begin_chat(platform, other)
    with pytest.raises(Conflict, match="under this key"):
        chat.send_message(platform, other, other_chat_id, "x", "Hello.", now=NOW)
    assert chat_responses.claim_responses(platform, other, "x", now=NOW) is None


def test_an_intent_is_required(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    with pytest.raises(InvalidInput, match="what you will try"):
        chat.begin_conversation(platform, rater, NewConversation(id="c", mode="red team", intent=" "), now=NOW)


def test_an_edited_response_continues_the_conversation(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater, "helpful")
    exchange, _ = send_message(platform, rater, chat_id)
    edited = ResponsePick(strength=2, edit="Response B, and more.")
    state = chat.pick_response(platform, rater, exchange, edited, now=NOW)
    assert state.chat is not None
    assert state.chat.exchanges[0].response == "Response B, and more."


def test_the_mode_can_change_within_a_conversation(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    _, state = send_message(platform, rater, chat_id, mode="helpful")
    assert state.chat is not None
    assert [one.mode for one in state.chat.exchanges] == ["red team", "helpful"]
    assert state.chat.last_mode == "helpful"


def test_one_response_needs_no_pick(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform, chat={"modes": [PLAIN]}).key)
    chat_id = begin_chat(platform, rater, "natural")
    _, state = send_message(platform, rater, chat_id)
    assert state.chat is not None
    assert state.campaign.chat is not None
    assert choose_next_step(state.campaign.chat, state.chat.exchanges) == "say"
    assert len(state.chat.exchanges[0].candidates) == 1


@pytest.mark.parametrize(("continue_with", "response"), [("picked", "Response B"), ("other", "Response A")])
def test_the_mode_determines_the_response_that_continues(platform: Platform, continue_with: str, response: str) -> None:
    modes = [{**RED_TEAM, "continue_with": continue_with}, HELPFUL]
    rater = enter(platform, open_chat_campaign(platform, chat={"modes": modes}).key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id)
    state = chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    assert state.chat is not None
    assert state.chat.exchanges[0].response == response


def test_another_process_claims_responses_after_the_first_dies(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat.send_message(platform, rater, begin_chat(platform, rater), "x", "Hello.", now=NOW)
    claim = chat_responses.claim_responses(platform, rater, "x", now=NOW)
    assert claim is not None
    assert [one.position for one in claim.pending] == [0, 1]
    chat_responses.store_chat_response(platform, rater, "x", claim.pending[0], _make_response("First."), now=NOW)
    assert chat_responses.claim_responses(platform, rater, "x", now=NOW + timedelta(seconds=10)) is None
    later_claim = chat_responses.claim_responses(platform, rater, "x", now=NOW + timedelta(seconds=15))
    assert later_claim is not None
    # The seed is unchanged, and so is the response.
    assert later_claim.pending == claim.pending[1:]
    chat_responses.store_chat_response(platform, rater, "x", claim.pending[0], _make_response("Another."), now=NOW)
    with platform.database.reading() as tx:
        talk = chats.find_last_chat(tx, rater.id)
        assert talk is not None
        assert [one.text for one in talk.exchanges[0].candidates] == ["First.", None]


def _make_response(text: str) -> ChatbotResponse:
    return ChatbotResponse(text=text)


def test_a_withdrawal_erases_conversations(platform: Platform) -> None:
    campaign = open_chat_campaign(platform, pay={"currency": "GBP", "hourly_rate": 1200})
    rater = enter(platform, campaign.key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id, worked_ms=60_000)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    chat.send_message(platform, rater, chat_id, "x", "And?", now=NOW)
    claim = chat_responses.claim_responses(platform, rater, "x", now=NOW)
    assert claim is not None
    assert withdrawal.preview_withdrawal(platform, rater.id).n_rated == 1
    assert withdrawal.withdraw_rater(platform, rater.id, now=NOW) == 1
    chat_responses.store_chat_response(platform, rater, "x", claim.pending[0], _make_response("Too late."), now=NOW)
    with platform.database.reading() as tx:
        for table in (ChatTable, ChatExchangeTable, ChatCandidateTable, ChatPickTable):
            assert tx.scalar(select(func.count()).select_from(table)) == 0
        (work,) = payments.load_work(tx, campaign.id)
        assert work.worked_ms == 60_000
    with pytest.raises(NotAllowed, match="withdrawn"):
        chat.send_message(platform, rater, chat_id, "y", "Hello.", now=NOW)
    assert audit.audit_campaign(platform, "pilot").holds


CHAT_CHANGES: tuple[tuple[type[Base], dict[str, object], str], ...] = (
    (ChatTable, {"mode": "natural"}, "changed after the log was written: mode or intent"),
    (ChatTable, {"comment_text": "Bad."}, "messages, responses or outcome"),
    (ChatTable, {"success": 1}, "messages, responses or outcome"),
    (ChatExchangeTable, {"message_text": "Hello!"}, "changed after the log was written: text"),
    (ChatCandidateTable, {"response": "Never."}, "messages, responses or outcome"),
    (ChatCandidateTable, {"chatbot": "other"}, "messages, responses or outcome"),
    (ChatPickTable, {"strength": -3}, "changed after the log was written: preference"),
    (ChatPickTable, {"edit_text": "Never."}, "changed after the log was written: preference"),
    (ChatPickTable, {"continues": 0}, "changed after the log was written: preference"),
)


def test_the_audit_detects_changed_conversations(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater, "helpful")
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    with pytest.raises(InvalidInput, match=r"The comment has 2,001 characters. Say it in 2,000"):
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(comment="x" * 2001), now=NOW)
    chat.end_conversation(platform, rater, chat_id, ConversationEnd(comment="Good."), now=NOW)
    assert audit.audit_campaign(platform, "pilot").holds
    for table, changes, message in CHAT_CHANGES:
        with platform.database.writing() as tx:
            rows = tx.execute(select(table.__table__)).all()
            tx.execute(update(table).values(**changes))
        faults = audit.audit_campaign(platform, "pilot").faults
        assert any(message in fault for fault in faults), (changes, faults)
        with platform.database.writing() as tx:
            for row in rows:
                keys = [column == row._mapping[column.name] for column in table.__table__.primary_key]
                tx.execute(update(table).where(*keys).values(**{name: row._mapping[name] for name in changes}))
    assert audit.audit_campaign(platform, "pilot").holds


def test_the_daily_limit_lets_the_last_conversation_end(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform, max_per_day=1).key)
    chat_id = begin_chat(platform, rater, "helpful")
    exchange, state = send_message(platform, rater, chat_id)
    assert state.stage == "chat"
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    assert chat.end_conversation(platform, rater, chat_id, ConversationEnd(), now=NOW).stage == "enough"
    tomorrow = NOW + timedelta(hours=24)
    assert next_step.find_next_step(platform, rater, now=tomorrow - timedelta(seconds=1)).stage == "enough"
    assert next_step.find_next_step(platform, rater, now=tomorrow).stage == "chat"


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_no_message_is_sent_while_a_campaign_is_not_open(
    platform: Platform, state: Literal["paused", "closed"]
) -> None:
    campaign = open_chat_campaign(platform)
    rater, other = enter(platform, campaign.key), enter(platform, campaign.key)
    chat_id = begin_chat(platform, rater)
    campaigns.change_state(platform, "pilot", state, staff_id=campaign.staff_id, now=NOW)
    with pytest.raises(Conflict, match="nothing was sent"):
        chat.send_message(platform, rater, chat_id, str(uuid4()), "Hello.", now=NOW)
    with pytest.raises(Conflict, match="nothing was sent"):
        begin_chat(platform, other)


def test_the_daily_limit_holds_for_a_page_that_was_loaded_before(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform, max_per_day=1).key)
    finish_chat(platform, rater, B_MUCH)
    with pytest.raises(Conflict, match="nothing was sent"):
        begin_chat(platform, rater)


@pytest.mark.parametrize(
    ("mode", "success", "message"),
    [
        ("helpful", 2, "asks for no success rating"),
        ("red team", -1, "It is -1. Say how well it went from 0 to 4"),
        ("red team", 5, "It is 5. Say how well it went from 0 to 4"),
    ],
)
def test_a_success_rating_off_the_scale_or_not_asked_for_is_refused(
    platform: Platform, mode: str, success: int, message: str
) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    finish_chat(platform, rater, B_MUCH, mode, ends=False)
    with platform.database.reading() as tx:
        chat_id = str(tx.scalar(select(ChatTable.id)))
    with pytest.raises(InvalidInput, match=message):
        chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=success), now=NOW)


def test_a_conversation_that_has_ended_takes_no_message_and_no_other_pick(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform).key)
    chat_id = begin_chat(platform, rater)
    exchange, _ = send_message(platform, rater, chat_id)
    chat.pick_response(platform, rater, exchange, B_MUCH, now=NOW)
    chat.end_conversation(platform, rater, chat_id, ConversationEnd(success=0), now=NOW)
    with pytest.raises(Conflict, match="This conversation has ended"):
        chat.send_message(platform, rater, chat_id, "x", "One more thing.", now=NOW)
    with pytest.raises(Conflict, match="You have already picked"):
        chat.pick_response(platform, rater, exchange, A_LITTLE, now=NOW)
    assert audit.audit_campaign(platform, "pilot").holds
