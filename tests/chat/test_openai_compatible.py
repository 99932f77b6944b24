"""A chatbot behind a server on loopback that does whatever servers do."""

import asyncio
import json
import logging
import traceback
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.chat.conftest import KEY, TALK, Asker, heard
from tests.chat.loopback import Loopback, Play, Wire, answers, kept, says, streams

from dissensus.chat import Bot, Cost, Finish, Response, collect_response, open_chatbot
from dissensus.errors import DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.schema.campaign.chatbot import Endpoint
from dissensus.schema.records.conversation import Conversation

WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]}


def chunk(text: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n".encode()


def test_words_come_one_by_one_and_the_response_last(asker: Asker, server: Loopback) -> None:
    server.will(says("Swim", " well", "!", usage={"prompt_tokens": 9, "completion_tokens": 3}, model="tern-7b-0613"))
    asker.clock.step = 0.25
    pieces, response = asker.ask()
    assert pieces == ["Swim", " well", "!"]
    assert response == Response(
        text="Swim well!",
        finish="stop",
        finish_said="stop",
        seed=7,
        first_token_s=response.first_token_s,
        total_s=response.total_s,
        cost=Cost(prompt_tokens=9, response_tokens=3),
        model="tern-7b-0613",
    )
    assert response.first_token_s is not None
    assert 0 < response.first_token_s < response.total_s


def test_what_is_sent_is_the_conversation_under_its_own_seed(asker: Asker, server: Loopback) -> None:
    parameters = MappingProxyType({"temperature": 0.7, "stop": ("\n\n",), "template": MappingProxyType({"deep": True})})
    asker.chatbot = replace(asker.chatbot, system_prompt="Be brief.", parameters=parameters)
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!"), ("human", "\u202eMay I\n\n swim? ")])
    asker.ask(talk, seed=2**31 - 1)
    assert server.bodies == [
        {
            "model": "tern-7b",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": "\u202eMay I\n\n swim? "},
            ],
            "seed": 2**31 - 1,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.7,
            "stop": ["\n\n"],
            "template": {"deep": True},
        }
    ]
    assert server.heads[0].startswith("POST /v1/chat/completions ")
    assert f"authorization: Bearer {KEY}".lower() in server.heads[0].lower()


def test_without_a_key_none_is_sent(asker: Asker, server: Loopback) -> None:
    asker.chatbot = replace(asker.chatbot, source=Endpoint(url=server.url, model="tern-7b"))
    asker.environment = {}
    asker.ask()
    assert "authorization" not in server.heads[0].lower()


@pytest.mark.parametrize(
    ("key", "message"), [(None, "TERN_KEY is not set"), ("", "TERN_KEY is not set"), ("a b", "has blanks")]
)
def test_a_key_that_is_missing_or_cannot_be_one(asker: Asker, server: Loopback, key: str | None, message: str) -> None:
    asker.environment = {} if key is None else {"TERN_KEY": key}
    with pytest.raises(InvalidInput, match=message):
        asker.ask()
    assert server.bodies == []


@pytest.mark.parametrize(
    ("said", "finish"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filter"), ("tool_calls", "other"), ("�\x00", "other")],
)
def test_why_it_ended(asker: Asker, server: Loopback, said: str, finish: Finish) -> None:
    server.will(says("Yes.", finish=said))
    _, response = asker.ask()
    assert (response.text, response.finish) == ("Yes.", finish)
    assert response.finish_said == said.replace("\0", "\ufffd")


def test_a_server_that_never_says_why_it_ended(asker: Asker, server: Loopback) -> None:
    server.will(says("Yes.", finish=None))
    _, response = asker.ask()
    assert (response.text, response.finish, response.finish_said) == ("Yes.", "other", "")


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": -1, "completion_tokens": True}, {}])
def test_usage_that_is_absent_or_nonsense_is_not_known(asker: Asker, server: Loopback, usage: object) -> None:
    server.will(says("Yes.", usage=usage))
    assert asker.ask()[1].cost == Cost()


def test_a_chatbot_that_says_nothing_says_nothing(asker: Asker, server: Loopback) -> None:
    server.will(says())
    pieces, response = asker.ask()
    assert pieces == []
    assert (response.text, response.finish, response.first_token_s) == ("", "stop", None)


def test_a_server_that_does_not_stream_is_understood(asker: Asker, server: Loopback) -> None:
    server.will(answers(200, {**WHOLE, "usage": {"prompt_tokens": 3, "completion_tokens": 1}}))
    pieces, response = asker.ask()
    assert (pieces, response.text, response.finish) == (["Yes."], "Yes.", "stop")
    assert response.cost == Cost(prompt_tokens=3, response_tokens=1)


def test_signs_that_a_server_cuts_in_two_come_whole(asker: Asker, server: Loopback) -> None:
    server.will(says("\ud83d", "\ude00 or ", "\ud83d", " and \0"))
    pieces, response = asker.ask()
    assert pieces == ["😀 or ", "\ufffd and \ufffd"]
    assert response.text == "😀 or \ufffd and \ufffd"


def test_what_a_model_thinks_to_itself_is_not_said(asker: Asker, server: Loopback) -> None:
    def play(wire: Wire) -> None:
        wire.head()
        wire.event({"choices": [{"index": 0, "delta": {"reasoning_content": "Hmm …"}}]})
        wire.chunk("Yes.", finish_reason="stop")
        wire.event("[DONE]")

    server.will(play)
    assert asker.ask()[0] == ["Yes."]


def endless(wire: Wire) -> None:
    wire.head()
    while not wire.gone.is_set() and not wire.over.is_set():
        wire.chunk("and on " * 50)


def test_an_endless_response_is_cut(asker: Asker, server: Loopback) -> None:
    server.will(endless)
    asker.chatbot = replace(asker.chatbot, longest=1000)
    pieces, response = asker.ask()
    assert response.text == "".join(pieces) == ("and on " * 143)[:1000]
    assert (response.finish, response.finish_said) == ("cut", "")
    assert server.all_gone()


@pytest.mark.parametrize(("longest", "finish"), [(4, "stop"), (3, "cut")])
def test_only_what_is_longer_than_it_may_be_is_cut(
    asker: Asker, server: Loopback, longest: int, finish: Finish
) -> None:
    server.will(says("Ye", "s."))
    asker.chatbot = replace(asker.chatbot, longest=longest)
    _, response = asker.ask()
    assert (response.text, response.finish) == ("Yes."[:longest], finish)


BUSY: tuple[Play, ...] = (
    answers(500, "down"),
    answers(503, {"error": "loading"}),
    answers(429, {"error": {"message": "too many"}}),
    answers(408),
    streams(b""),
    streams(b"data: " + json.dumps({"error": {"message": "overloaded"}}).encode() + b"\n\n"),
    lambda wire: wire.connection.close(),
)


@pytest.mark.parametrize("trouble", BUSY)
def test_who_is_busy_or_broken_is_asked_again(asker: Asker, server: Loopback, trouble: Play) -> None:
    server.will(trouble, trouble)
    assert asker.ask()[1].text == "Hello there."
    assert asker.waits == [0.5, 1.0]
    assert len({json.dumps(body) for body in server.bodies}) == 1


@pytest.mark.parametrize(
    ("trouble", "says"),
    list(
        zip(
            BUSY,
            ("HTTP 500", "HTTP 503: load", "HTTP 429: too many", "HTTP 408", "broke off", "overloaded", "isconnected"),
            strict=True,
        )
    ),
)
def test_nobody_is_asked_for_ever(asker: Asker, server: Loopback, trouble: Play, says: str) -> None:
    server.will(*[trouble] * 9)
    with pytest.raises(Unavailable, match=rf"tern does not respond: .*{says}.*\(try 3 of 3\). Try later") as raised:
        asker.ask()
    assert len(server.bodies) == 3
    assert raised.value.__cause__ is None


def test_a_server_says_when_to_come_again(asker: Asker, server: Loopback) -> None:
    server.will(answers(429, "", "text/plain", "Retry-After: 7"))
    asker.clock.step = 0.5
    _, response = asker.ask()
    assert asker.waits == [7.0]
    assert response.total_s > 7.0


@pytest.mark.parametrize("after", ["3600", "9" * 400])
def test_nobody_waits_for_long(asker: Asker, server: Loopback, after: str) -> None:
    server.will(answers(429, "", "text/plain", f"Retry-After: {after}"))
    with pytest.raises(Unavailable, match=r"asks to wait [\dinf,]+ seconds \(try 1 of 3\)"):
        asker.ask()
    assert asker.waits == []


def test_what_would_not_be_done_in_time_is_not_begun(asker: Asker, server: Loopback) -> None:
    server.will(answers(429, "", "text/plain", "Retry-After: 7"))
    with pytest.raises(Unavailable, match="try 1 of 3"):
        asker.patient(total_s=5.0).ask()


def test_nobody_there(asker: Asker) -> None:
    asker.chatbot = replace(asker.chatbot, source=Endpoint(url="http://127.0.0.1:1/v1", model="tern-7b"))
    with pytest.raises(Unavailable, match=r"(?i)connect"):
        asker.ask()
    assert asker.waits == [0.5, 1.0]


@pytest.mark.parametrize(
    ("status", "error", "remedy"),
    [
        (401, NotAllowed, "Is the key in TERN_KEY right?"),
        (402, NotAllowed, ""),
        (403, NotAllowed, ""),
        (404, NotFound, "Is the url right, and the model tern-7b there?"),
        (400, InvalidInput, ""),
        (422, InvalidInput, ""),
    ],
)
def test_a_refusal_is_told_in_its_words_and_not_repeated(
    asker: Asker, server: Loopback, status: int, error: type[DissensusError], remedy: str
) -> None:
    server.will(answers(status, {"error": {"message": f"No:\n {KEY} is not it."}}))
    with pytest.raises(error) as raised:
        asker.ask()
    assert str(raised.value) == f"tern refuses this with HTTP {status}: No: … is not it. {remedy}".rstrip()
    assert len(server.bodies) == 1


def test_an_endless_refusal_is_read_in_part(asker: Asker, server: Loopback) -> None:
    def play(wire: Wire) -> None:
        wire.head(400, "application/json")
        while not wire.gone.is_set() and not wire.over.is_set():
            wire.send(b"no " * 1000)

    server.will(play)
    with pytest.raises(InvalidInput, match="refuses this with HTTP 400"):
        asker.ask()
    assert server.all_gone()


@pytest.mark.parametrize(
    ("play", "says"),
    [
        (answers(302, "", "text/plain", "Location: /elsewhere"), "HTTP 302, which is no response"),
        (answers(204), "HTTP 204"),
        (answers(200, "<h1>Hello", "text/html"), "content type is 'text/html'"),
        (answers(200, "", ""), "content type is ''"),
        (answers(200, "{", "application/json"), "is no JSON"),
        (answers(200, "[]", "application/json"), "'\\[\\]' is no object"),
        (answers(200, b"\xff", "application/json"), "not UTF-8"),
        (answers(200, "{}", "application/json"), "choices are no list"),
        (answers(200, {"choices": []}, "application/json"), "no choice"),
        (answers(200, {"choices": [{"message": {"content": 5}}]}, "application/json"), "'5', which is no text"),
        (answers(200, "", "application/json", "Content-Encoding: gzip"), "encoded as 'gzip'"),
        (streams(b"data: {nope}\n\n"), "'{nope}' is no JSON"),
        (streams(b"data: " + b"[" * 100_000 + b"\n\n"), "is no JSON"),
        (streams(b"data: \xff\xfe\n\n"), "not UTF-8"),
        (streams(b"data: 5\n\n"), "'5' is no object"),
        (streams(b'data: {"choices": [5]}\n\n'), "no list of objects"),
        (streams(b'data: {"choices": [{"delta": {"content": []}}]}\n\n'), "no text"),
        (streams(b'data: {"choices": [{"delta": "Hi"}]}\n\n'), "no text"),
        (streams(b"data: [DONE]\n\n"), "no choice"),
        (streams(b"data: " + b"x" * 2**21, hold=True), "more than 1,048,576 bytes"),
    ],
)
def test_what_is_no_chat_completion_is_refused_at_once(asker: Asker, server: Loopback, play: Play, says: str) -> None:
    server.will(play)
    with pytest.raises(Unavailable, match=f"tern does not respond: .*{says}"):
        asker.ask()
    assert len(server.bodies) == 1
    assert server.all_gone()


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        (b"", "broke off in mid-stream"),
        (b"data: {nope}\n\n", "no chat completion"),
        (b"data: \xff\n\n", "not UTF-8"),
        (b'data: {"error": {"message": "out of memory"}}\n\n', "out of memory"),
        (b'data: {"choices"', "broke off in mid-stream"),
    ],
)
def test_what_breaks_in_mid_stream_is_told_and_not_begun_again(
    asker: Asker, server: Loopback, rest: bytes, says: str
) -> None:
    server.will(streams(chunk("Yes, ") + rest))
    pieces: list[str] = []

    async def use(bot: Bot) -> None:
        async with aclosing(bot.stream(TALK, 7)) as stream:
            async for piece in stream:
                assert isinstance(piece, str)
                pieces.append(piece)

    with pytest.raises(Unavailable, match=says):
        asker.run(use)
    assert pieces == ["Yes, "]
    assert len(server.bodies) == 1


@pytest.mark.parametrize("rest", [b"data: {nope}\n\n", b"data: \xff\n\n", b'data: {"error": "late"}\n\n', b""])
def test_what_breaks_after_the_end_does_no_harm(asker: Asker, server: Loopback, rest: bytes) -> None:
    server.will(streams(chunk("Yes.") + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n' + rest))
    assert asker.ask()[1].text == "Yes."


def silent(*words: str) -> Play:
    def play(wire: Wire) -> None:
        wire.head()
        for word in words:
            wire.chunk(word)
        wire.hold()

    return play


def breathing(wire: Wire) -> None:
    """Keep the connection open, without a word."""
    wire.head()
    wire.chunk("")
    while not wire.gone.wait(0.005) and not wire.over.is_set():
        wire.send(b": still there\n\n")
        wire.chunk(None)


def rambling(wire: Wire) -> None:
    wire.head()
    while not wire.gone.wait(0.005) and not wire.over.is_set():
        wire.chunk("on ")


@pytest.mark.parametrize(
    ("play", "patience", "says"),
    [
        (Wire.hold, {"first_token_s": 0.1}, "no word came for 0.1 seconds"),
        (silent(), {"first_token_s": 0.1}, "no word came for 0.1 seconds"),
        (breathing, {"first_token_s": 0.1}, "no word came for 0.1 seconds"),
        (silent("Yes, "), {"between_tokens_s": 0.1}, "it fell silent for 0.1 seconds"),
        (rambling, {"total_s": 0.2}, "it was not done after 0.2 seconds"),
        (silent(), {"total_s": 0.1}, "it was not done after 0.1 seconds"),
    ],
)
def test_nobody_waits_longer_than_they_said(
    asker: Asker, server: Loopback, play: Play, patience: dict[str, Any], says: str
) -> None:
    server.will(play)
    with pytest.raises(Unavailable, match=says):
        asker.patient(**patience).ask()
    assert len(server.bodies) <= 1
    assert server.all_gone()


def test_a_server_that_never_hangs_up_after_the_end_holds_nobody(asker: Asker, server: Loopback) -> None:
    ended = chunk("Yes.") + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    server.will(streams(ended, hold=True), streams(ended + b"data: [DONE]\n\n", hold=True))
    asker.patient(between_tokens_s=0.1)
    assert asker.ask()[1].text == asker.ask()[1].text == "Yes."


def test_who_leaves_in_mid_stream_leaves_nothing_behind(asker: Asker, server: Loopback) -> None:
    server.will(silent("Yes, "), says("Back."))

    async def use(bot: Bot) -> str:
        async with aclosing(bot.stream(TALK, 7)) as stream:
            assert await anext(stream) == "Yes, "
        assert await asyncio.to_thread(server.all_gone)
        return (await collect_response(bot, TALK, 8)).text

    assert asker.patient(at_once=1).run(use) == "Back."


def test_a_stream_that_somebody_forgets_is_closed(asker: Asker, server: Loopback) -> None:
    server.will(silent("Yes, "), says("Back."))

    async def use(bot: Bot) -> str:
        async for piece in bot.stream(TALK, 7):
            assert piece == "Yes, "
            break
        assert await asyncio.to_thread(server.all_gone)
        return (await collect_response(bot, TALK, 8)).text

    assert asker.patient(at_once=1).run(use) == "Back."


@pytest.mark.parametrize("words", [(), ("Yes, ",)])
def test_who_is_cancelled_leaves_nothing_behind(asker: Asker, server: Loopback, words: tuple[str, ...]) -> None:
    server.will(silent(*words), says("Back."))

    async def use(bot: Bot) -> str:
        task = asyncio.create_task(heard(bot))
        while not server.bodies:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.all_gone)
        return (await collect_response(bot, TALK, 8)).text

    assert asker.patient(at_once=1).run(use) == "Back."


def test_many_talk_at_once_and_no_more_than_may(asker: Asker, server: Loopback) -> None:
    counts: list[int] = []
    talking = set[int]()

    def play(wire: Wire) -> None:
        with server.lock:
            talking.add(id(wire))
            counts.append(len(talking))
        wire.head()
        wire.chunk("Yes.", finish_reason="stop")
        with server.lock:
            talking.remove(id(wire))
        wire.event("[DONE]")

    async def use(bot: Bot) -> list[Response]:
        return await asyncio.gather(*(collect_response(bot, TALK, seed) for seed in range(32)))

    server.otherwise = play
    responses = asker.patient(at_once=3).run(use)
    assert [response.seed for response in responses] == list(range(32))
    assert {body["seed"] for body in server.bodies} == set(range(32))
    assert max(counts) <= 3


def test_a_connection_is_used_again(asker: Asker, server: Loopback) -> None:
    server.otherwise = kept("Swim", " well!")

    async def use(bot: Bot) -> list[str]:
        return [(await collect_response(bot, TALK, seed)).text for seed in range(3)]

    assert asker.run(use) == ["Swim well!"] * 3
    assert (len(server.bodies), len(server.wires)) == (3, 1)


def test_who_waits_for_a_place_does_not_wait_for_ever(asker: Asker, server: Loopback) -> None:
    server.will(silent("Yes, "))

    async def use(bot: Bot) -> None:
        async with aclosing(bot.stream(TALK, 7)) as stream:
            await anext(stream)
            with pytest.raises(Unavailable, match=r"it was busy with somebody else for 0\.05 seconds"):
                await collect_response(bot, TALK, 8)

    asker.patient(at_once=1, queue_s=0.05).run(use)
    assert len(server.bodies) == 1


def test_who_keeps_failing_is_left_alone_and_then_tried_by_one(asker: Asker, server: Loopback) -> None:
    asker.patient(tries=1, failures=2, rest_s=30.0)
    server.will(answers(500), answers(500))

    async def use(bot: Bot) -> str:
        for _ in range(2):
            with pytest.raises(Unavailable, match="HTTP 500"):
                await collect_response(bot, TALK, 7)
        with pytest.raises(Unavailable, match=r"tern failed 2 times .* left alone\. Try in 30 seconds"):
            await collect_response(bot, TALK, 7)
        assert len(server.bodies) == 2
        asker.clock.now += 30
        server.will(answers(500))
        with pytest.raises(Unavailable, match="HTTP 500"):
            await collect_response(bot, TALK, 7)
        with pytest.raises(Unavailable, match="left alone"):
            await collect_response(bot, TALK, 7)
        asker.clock.now += 30
        return (await collect_response(bot, TALK, 7)).text

    assert asker.run(use) == "Hello there."
    assert len(server.bodies) == 4


def test_a_refusal_is_no_failure_of_the_server(asker: Asker, server: Loopback) -> None:
    asker.patient(failures=1)
    server.will(answers(400))

    async def use(bot: Bot) -> str:
        with pytest.raises(InvalidInput):
            await collect_response(bot, TALK, 7)
        return (await collect_response(bot, TALK, 7)).text

    assert asker.run(use) == "Hello there."


def test_the_key_is_nowhere(asker: Asker, server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = [repr(asker.chatbot), json.dumps(asker.chatbot.as_mapping())]
    server.will(
        says("Yes."),
        answers(401, {"error": {"message": f"bad key {KEY}"}}),
        answers(200, f"key={KEY}"),
        streams(f'data: {{"error": "{KEY}"}}\n\n'.encode()),
        answers(500, {"error": KEY}),
        answers(500, {"error": KEY}),
    )

    async def use(bot: Bot) -> None:
        shown.append(repr(bot))
        await collect_response(bot, TALK, 7)
        for _ in range(3):
            try:
                await collect_response(bot, TALK, 7)
            except DissensusError as error:
                shown.append("".join(traceback.format_exception(error)))

    asker.run(use)
    assert len(shown) == 6
    assert not any(KEY in text for text in (*shown, caplog.text))


@pytest.mark.parametrize("seed", [-1, 2**31, True, 0.5])
def test_a_seed_that_some_server_would_not_take_is_refused(asker: Asker, server: Loopback, seed: Any) -> None:
    with pytest.raises(InvalidInput, match="seed is"):
        asker.ask(seed=seed)
    assert server.bodies == []


def test_a_client_that_cannot_be_made_says_why(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://nowhere")

    async def main() -> None:
        async with open_chatbot(asker.chatbot, environment=asker.environment):
            pass

    with pytest.raises(Unavailable, match="Look at SSL_CERT_FILE and the"):
        asyncio.run(main())
