"""Chatbots behind OpenAI-compatible servers: streams, errors, time limits and concurrency."""

import asyncio
import json
import logging
import traceback
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.chat.conftest import KEY, TALK, Asker, collect_stream
from tests.support.chat_completion_server import Loopback, Play, Wire, answers, keeps_alive, says, streams

from dissensus.chat import Bot, ContentRefusal, Cost, Finish, ProviderRefusal, Response, collect_response, open_chatbot
from dissensus.errors import DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.schema.campaign.chatbot import Endpoint
from dissensus.schema.records.conversation import Conversation

WHOLE = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]}


def chunk(text: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n".encode()


def test_pieces_are_streamed_and_the_response_comes_last(asker: Asker, server: Loopback) -> None:
    server.will(says("Swim", " well", "!", usage={"prompt_tokens": 9, "completion_tokens": 3}, model="tern-7b-0613"))
    asker.clock.step = 0.25
    pieces, response = asker.ask()
    assert pieces == ["Swim", " well", "!"]
    assert response == Response(
        text="Swim well!",
        finish="stop",
        finish_reason="stop",
        seed=7,
        first_token_s=response.first_token_s,
        total_s=response.total_s,
        cost=Cost(prompt_tokens=9, response_tokens=3),
        model="tern-7b-0613",
    )
    assert response.first_token_s is not None
    assert 0 < response.first_token_s < response.total_s


def test_the_request_holds_the_conversation_seed_and_parameters(asker: Asker, server: Loopback) -> None:
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


def test_without_a_key_no_authorization_is_sent(asker: Asker, server: Loopback) -> None:
    asker.chatbot = replace(asker.chatbot, source=Endpoint(url=server.url, model="tern-7b"))
    asker.environment = {}
    asker.ask()
    assert "authorization" not in server.heads[0].lower()


@pytest.mark.parametrize(
    ("key", "message"), [(None, "TERN_KEY is not set"), ("", "TERN_KEY is not set"), ("a b", "invalid characters")]
)
def test_missing_and_invalid_keys_are_refused(asker: Asker, server: Loopback, key: str | None, message: str) -> None:
    asker.environment = {} if key is None else {"TERN_KEY": key}
    with pytest.raises(InvalidInput, match=message):
        asker.ask()
    assert server.bodies == []


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filter"), ("tool_calls", "other"), ("�\x00", "other")],
)
def test_the_finish_reason_of_the_server_is_mapped(asker: Asker, server: Loopback, reason: str, finish: Finish) -> None:
    server.will(says("Yes.", finish=reason))
    _, response = asker.ask()
    assert (response.text, response.finish) == ("Yes.", finish)
    assert response.finish_reason == reason.replace("\0", "\ufffd")


def test_a_response_that_is_filtered_as_a_whole_is_a_refusal(asker: Asker, server: Loopback) -> None:
    server.will(says(finish="content_filter"))
    with pytest.raises(ContentRefusal, match="tern filters the whole response: content_filter"):
        asker.ask()
    server.will(answers(400, {"error": {"message": "No.", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}))
    with pytest.raises(ContentRefusal, match="HTTP 400: No"):
        asker.ask()
    server.will(streams(b'data: {"choices": [{"delta": {"refusal": "Not so."}, "finish_reason": "stop"}]}\n\n'))
    with pytest.raises(ContentRefusal, match="tern refuses this: Not so"):
        asker.ask()


def test_a_missing_finish_reason_is_other(asker: Asker, server: Loopback) -> None:
    server.will(says("Yes.", finish=None))
    _, response = asker.ask()
    assert (response.text, response.finish, response.finish_reason) == ("Yes.", "other", "")


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": -1, "completion_tokens": True}, {}])
def test_missing_and_invalid_usage_is_ignored(asker: Asker, server: Loopback, usage: object) -> None:
    server.will(says("Yes.", usage=usage))
    assert asker.ask()[1].cost == Cost()


def test_an_empty_response_is_returned(asker: Asker, server: Loopback) -> None:
    server.will(says())
    pieces, response = asker.ask()
    assert pieces == []
    assert (response.text, response.finish, response.first_token_s) == ("", "stop", None)


def test_a_server_that_does_not_stream_is_supported(asker: Asker, server: Loopback) -> None:
    server.will(answers(200, {**WHOLE, "usage": {"prompt_tokens": 3, "completion_tokens": 1}}))
    pieces, response = asker.ask()
    assert (pieces, response.text, response.finish) == (["Yes."], "Yes.", "stop")
    assert response.cost == Cost(prompt_tokens=3, response_tokens=1)


def test_surrogate_pairs_split_between_chunks_are_joined(asker: Asker, server: Loopback) -> None:
    server.will(says("\ud83d", "\ude00 or ", "\ud83d", " and \0"))
    pieces, response = asker.ask()
    assert pieces == ["😀 or ", "\ufffd and \ufffd"]
    assert response.text == "😀 or \ufffd and \ufffd"


def test_reasoning_content_is_left_out(asker: Asker, server: Loopback) -> None:
    def play(wire: Wire) -> None:
        wire.head()
        wire.event({"choices": [{"index": 0, "delta": {"reasoning_content": "Hmm …"}}]})
        wire.chunk("Yes.", finish_reason="stop")
        wire.event("[DONE]")

    server.will(play)
    assert asker.ask()[0] == ["Yes."]


def play_endless(wire: Wire) -> None:
    wire.head()
    while not wire.closed.is_set() and not wire.over.is_set():
        wire.chunk("and on " * 50)


def test_an_endless_response_is_cut(asker: Asker, server: Loopback) -> None:
    server.will(play_endless)
    asker.chatbot = replace(asker.chatbot, max_length=1000)
    pieces, response = asker.ask()
    assert response.text == "".join(pieces) == ("and on " * 143)[:1000]
    assert (response.finish, response.finish_reason) == ("cut", "")
    assert server.wait_all_closed()


@pytest.mark.parametrize(("max_length", "finish"), [(4, "stop"), (3, "cut")])
def test_only_responses_above_the_limit_are_cut(
    asker: Asker, server: Loopback, max_length: int, finish: Finish
) -> None:
    server.will(says("Ye", "s."))
    asker.chatbot = replace(asker.chatbot, max_length=max_length)
    _, response = asker.ask()
    assert (response.text, response.finish) == ("Yes."[:max_length], finish)


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
def test_busy_and_broken_servers_are_retried(asker: Asker, server: Loopback, trouble: Play) -> None:
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
def test_retries_are_limited(asker: Asker, server: Loopback, trouble: Play, says: str) -> None:
    server.will(*[trouble] * 9)
    with pytest.raises(Unavailable, match=rf"tern does not respond: .*{says}.*\(try 3 of 3\). Try later") as raised:
        asker.ask()
    assert len(server.bodies) == 3
    assert raised.value.__cause__ is None


def test_retry_after_is_honoured(asker: Asker, server: Loopback) -> None:
    server.will(answers(429, "", "text/plain", "Retry-After: 7"))
    asker.clock.step = 0.5
    _, response = asker.ask()
    assert asker.waits == [7.0]
    assert response.total_s > 7.0


@pytest.mark.parametrize("after", ["3600", "9" * 400])
def test_a_long_retry_after_is_refused(asker: Asker, server: Loopback, after: str) -> None:
    server.will(answers(429, "", "text/plain", f"Retry-After: {after}"))
    with pytest.raises(Unavailable, match=r"asks to wait [\dinf,]+ seconds \(try 1 of 3\)"):
        asker.ask()
    assert asker.waits == []


def test_backoff_grows_up_to_its_maximum(asker: Asker, server: Loopback) -> None:
    server.will(*[answers(503, "", "text/plain")] * 9)
    asker.with_request_policy(max_attempts=10, total_s=600.0).ask()
    assert asker.waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_no_retry_starts_beyond_the_total_limit(asker: Asker, server: Loopback) -> None:
    server.will(answers(429, "", "text/plain", "Retry-After: 7"))
    with pytest.raises(Unavailable, match="try 1 of 3"):
        asker.with_request_policy(total_s=5.0).ask()


def test_a_refused_connection_is_retried_and_reported(asker: Asker) -> None:
    asker.chatbot = replace(asker.chatbot, source=Endpoint(url="http://127.0.0.1:1/v1", model="tern-7b"))
    with pytest.raises(Unavailable, match=r"(?i)connect"):
        asker.ask()
    assert asker.waits == [0.5, 1.0]


@pytest.mark.parametrize(
    ("status", "error", "remedy"),
    [
        (401, NotAllowed, "Check the key in TERN_KEY."),
        (402, NotAllowed, ""),
        (403, ProviderRefusal, ""),
        (404, NotFound, "Check the url, and the model tern-7b."),
        (400, ProviderRefusal, ""),
        (422, InvalidInput, ""),
    ],
)
def test_a_refusal_is_reported_with_its_message_and_not_retried(
    asker: Asker, server: Loopback, status: int, error: type[DissensusError], remedy: str
) -> None:
    server.will(answers(status, {"error": {"message": f"No:\n {KEY} is not it."}}))
    with pytest.raises(error) as raised:
        asker.ask()
    assert type(raised.value) is error
    assert str(raised.value) == f"tern refuses this with HTTP {status}: No: … is not it. {remedy}".rstrip()
    assert len(server.bodies) == 1


def test_an_endless_refusal_is_cut(asker: Asker, server: Loopback) -> None:
    def play(wire: Wire) -> None:
        wire.head(400, "application/json")
        while not wire.closed.is_set() and not wire.over.is_set():
            wire.send(b"no " * 1000)

    server.will(play)
    with pytest.raises(InvalidInput, match="refuses this with HTTP 400"):
        asker.ask()
    assert server.wait_all_closed()


@pytest.mark.parametrize(
    ("play", "says"),
    [
        (answers(302, "", "text/plain", "Location: /elsewhere"), "HTTP 302, which is not a response"),
        (answers(204), "HTTP 204"),
        (answers(200, "<h1>Hello", "text/html"), "content type is 'text/html'"),
        (answers(200, "", ""), "content type is ''"),
        (answers(200, "{", "application/json"), "is not JSON"),
        (answers(200, "[]", "application/json"), "'\\[\\]' is not an object"),
        (answers(200, b"\xff", "application/json"), "not UTF-8"),
        (answers(200, "{}", "application/json"), "choices are not a list"),
        (answers(200, {"choices": []}, "application/json"), "no choice"),
        (answers(200, {"choices": [{"message": {"content": 5}}]}, "application/json"), "'5', which is not text"),
        (answers(200, "", "application/json", "Content-Encoding: gzip"), "encoded as 'gzip'"),
        (streams(b"data: {nope}\n\n"), "'{nope}' is not JSON"),
        (streams(b"data: " + b"[" * 100_000 + b"\n\n"), "is not JSON"),
        (streams(b"data: \xff\xfe\n\n"), "not UTF-8"),
        (streams(b"data: 5\n\n"), "'5' is not an object"),
        (streams(b'data: {"choices": [5]}\n\n'), "not a list of objects"),
        (streams(b'data: {"choices": [{"delta": {"content": []}}]}\n\n'), "not text"),
        (streams(b'data: {"choices": [{"delta": "Hi"}]}\n\n'), "not text"),
        (streams(b"data: [DONE]\n\n"), "no choice"),
        (streams(b"data: " + b"x" * 2**21, hold=True), "more than 1,048,576 bytes"),
    ],
)
def test_a_malformed_chat_completion_is_refused_at_once(asker: Asker, server: Loopback, play: Play, says: str) -> None:
    server.will(play)
    with pytest.raises(Unavailable, match=f"tern does not respond: .*{says}"):
        asker.ask()
    assert len(server.bodies) == 1
    assert server.wait_all_closed()


@pytest.mark.parametrize(
    ("remainder", "message"),
    [
        (b"", "broke off in mid-stream"),
        (b"data: {nope}\n\n", "does not send a chat completion"),
        (b"data: \xff\n\n", "not UTF-8"),
        (b'data: {"error": {"message": "out of memory"}}\n\n', "out of memory"),
        (b'data: {"choices"', "broke off in mid-stream"),
    ],
)
def test_a_broken_stream_is_reported_and_not_retried(
    asker: Asker, server: Loopback, remainder: bytes, message: str
) -> None:
    server.will(streams(chunk("Yes, ") + remainder))
    pieces: list[str] = []

    async def use(bot: Bot) -> None:
        async with aclosing(bot.stream(TALK, 7)) as stream:
            async for piece in stream:
                assert isinstance(piece, str)
                pieces.append(piece)

    with pytest.raises(Unavailable, match=message):
        asker.run(use)
    assert pieces == ["Yes, "]
    assert len(server.bodies) == 1


@pytest.mark.parametrize("remainder", [b"data: {nope}\n\n", b"data: \xff\n\n", b'data: {"error": "late"}\n\n', b""])
def test_errors_after_the_end_are_ignored(asker: Asker, server: Loopback, remainder: bytes) -> None:
    server.will(streams(chunk("Yes.") + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n' + remainder))
    assert asker.ask()[1].text == "Yes."


def play_silent(*words: str) -> Play:
    def play(wire: Wire) -> None:
        wire.head()
        for word in words:
            wire.chunk(word)
        wire.hold()

    return play


def play_keep_alive(wire: Wire) -> None:
    """Keep the connection open with empty events."""
    wire.head()
    wire.chunk("")
    while not wire.closed.wait(0.005) and not wire.over.is_set():
        wire.send(b": still there\n\n")
        wire.chunk(None)


def play_rambling(wire: Wire) -> None:
    wire.head()
    while not wire.closed.wait(0.005) and not wire.over.is_set():
        wire.chunk("on ")


@pytest.mark.parametrize(
    ("play", "request_policy", "says"),
    [
        (Wire.hold, {"first_token_s": 0.1}, "no text arrived for 0.1 seconds"),
        (play_silent(), {"first_token_s": 0.1}, "no text arrived for 0.1 seconds"),
        (play_keep_alive, {"first_token_s": 0.1}, "no text arrived for 0.1 seconds"),
        (play_silent("Yes, "), {"between_tokens_s": 0.1}, "no further text arrived for 0.1 seconds"),
        (play_rambling, {"total_s": 0.2}, "it was not done after 0.2 seconds"),
        (play_silent(), {"total_s": 0.1}, "it was not done after 0.1 seconds"),
    ],
)
def test_time_limits_hold(
    asker: Asker, server: Loopback, play: Play, request_policy: dict[str, Any], says: str
) -> None:
    server.will(play)
    with pytest.raises(Unavailable, match=says):
        asker.with_request_policy(**request_policy).ask()
    assert len(server.bodies) <= 1
    assert server.wait_all_closed()


def test_a_server_that_keeps_the_connection_open_is_not_waited_for(asker: Asker, server: Loopback) -> None:
    ended = chunk("Yes.") + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    server.will(streams(ended, hold=True), streams(ended + b"data: [DONE]\n\n", hold=True))
    asker.with_request_policy(between_tokens_s=0.1)
    assert asker.ask()[1].text == asker.ask()[1].text == "Yes."


def test_closing_a_stream_closes_the_connection(asker: Asker, server: Loopback) -> None:
    server.will(play_silent("Yes, "), says("Back."))

    async def use(bot: Bot) -> str:
        async with aclosing(bot.stream(TALK, 7)) as stream:
            assert await anext(stream) == "Yes, "
        assert await asyncio.to_thread(server.wait_all_closed)
        return (await collect_response(bot, TALK, 8)).text

    assert asker.with_request_policy(max_concurrent=1).run(use) == "Back."


def test_an_abandoned_stream_is_closed(asker: Asker, server: Loopback) -> None:
    server.will(play_silent("Yes, "), says("Back."))

    async def use(bot: Bot) -> str:
        async for piece in bot.stream(TALK, 7):
            assert piece == "Yes, "
            break
        assert await asyncio.to_thread(server.wait_all_closed)
        return (await collect_response(bot, TALK, 8)).text

    assert asker.with_request_policy(max_concurrent=1).run(use) == "Back."


@pytest.mark.parametrize("words", [(), ("Yes, ",)])
def test_cancellation_closes_the_connection(asker: Asker, server: Loopback, words: tuple[str, ...]) -> None:
    server.will(play_silent(*words), says("Back."))

    async def use(bot: Bot) -> str:
        task = asyncio.create_task(collect_stream(bot))
        while not server.bodies:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.wait_all_closed)
        return (await collect_response(bot, TALK, 8)).text

    assert asker.with_request_policy(max_concurrent=1).run(use) == "Back."


def test_concurrent_requests_are_limited(asker: Asker, server: Loopback) -> None:
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
    responses = asker.with_request_policy(max_concurrent=3).run(use)
    assert [response.seed for response in responses] == list(range(32))
    assert {body["seed"] for body in server.bodies} == set(range(32))
    assert max(counts) <= 3


def test_connections_are_reused(asker: Asker, server: Loopback) -> None:
    server.otherwise = keeps_alive("Swim", " well!")

    async def use(bot: Bot) -> list[str]:
        return [(await collect_response(bot, TALK, seed)).text for seed in range(3)]

    assert asker.run(use) == ["Swim well!"] * 3
    assert (len(server.bodies), len(server.wires)) == (3, 1)


def test_waiting_for_a_free_connection_is_limited(asker: Asker, server: Loopback) -> None:
    server.will(play_silent("Yes, "))

    async def use(bot: Bot) -> None:
        async with aclosing(bot.stream(TALK, 7)) as stream:
            await anext(stream)
            with pytest.raises(Unavailable, match=r"it was busy with another request for 0\.05 seconds"):
                await collect_response(bot, TALK, 8)

    asker.with_request_policy(max_concurrent=1, queue_s=0.05).run(use)
    assert len(server.bodies) == 1


def test_repeated_failures_open_the_circuit_breaker(asker: Asker, server: Loopback) -> None:
    asker.with_request_policy(max_attempts=1, failure_threshold=2, recovery_s=30.0)
    server.will(answers(500), answers(500))

    async def use(bot: Bot) -> str:
        for _ in range(2):
            with pytest.raises(Unavailable, match="HTTP 500"):
                await collect_response(bot, TALK, 7)
        with pytest.raises(Unavailable, match=r"tern failed 2 times .* requests are paused\. Try again in 30 seconds"):
            await collect_response(bot, TALK, 7)
        assert len(server.bodies) == 2
        asker.clock.now += 30
        server.will(answers(500))
        with pytest.raises(Unavailable, match="HTTP 500"):
            await collect_response(bot, TALK, 7)
        with pytest.raises(Unavailable, match="requests are paused"):
            await collect_response(bot, TALK, 7)
        asker.clock.now += 30
        return (await collect_response(bot, TALK, 7)).text

    assert asker.run(use) == "Hello there."
    assert len(server.bodies) == 4


def test_a_refusal_does_not_count_as_a_failure(asker: Asker, server: Loopback) -> None:
    asker.with_request_policy(failure_threshold=1)
    server.will(answers(400))

    async def use(bot: Bot) -> str:
        with pytest.raises(InvalidInput):
            await collect_response(bot, TALK, 7)
        return (await collect_response(bot, TALK, 7)).text

    assert asker.run(use) == "Hello there."


def test_the_key_is_in_no_representation_error_or_log(
    asker: Asker, server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    texts: list[str] = [repr(asker.chatbot), json.dumps(asker.chatbot.as_mapping())]
    server.will(
        says("Yes."),
        answers(401, {"error": {"message": f"bad key {KEY}"}}),
        answers(200, f"key={KEY}"),
        streams(f'data: {{"error": "{KEY}"}}\n\n'.encode()),
        answers(500, {"error": KEY}),
        answers(500, {"error": KEY}),
    )

    async def use(bot: Bot) -> None:
        texts.append(repr(bot))
        await collect_response(bot, TALK, 7)
        for _ in range(3):
            try:
                await collect_response(bot, TALK, 7)
            except DissensusError as error:
                texts.append("".join(traceback.format_exception(error)))

    asker.run(use)
    assert len(texts) == 6
    assert not any(KEY in text for text in (*texts, caplog.text))


@pytest.mark.parametrize("seed", [-1, 2**31, True, 0.5])
def test_invalid_seeds_are_refused(asker: Asker, server: Loopback, seed: Any) -> None:
    with pytest.raises(InvalidInput, match="seed is"):
        asker.ask(seed=seed)
    assert server.bodies == []


def test_an_invalid_proxy_is_reported(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "nonsense://nowhere")

    async def main() -> None:
        async with open_chatbot(asker.chatbot, environment=asker.environment):
            pass

    with pytest.raises(Unavailable, match="Check SSL_CERT_FILE and"):
        asyncio.run(main())
