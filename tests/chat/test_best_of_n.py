"""Best-of-n sampling."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.chat.conftest import TALK, Asker, ManualClock, collect_stream
from tests.strategies import quick
from tests.support.chat_completion_server import Loopback, Wire, answers, says

from dissensus.chat import (
    SCORERS,
    BestOfN,
    Bot,
    Cost,
    Response,
    Scorer,
    ScriptedBot,
    Stream,
    collect_response,
    derive_seeds,
)
from dissensus.chat.best_of_n import brevity, scorer_from_model
from dissensus.errors import InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.preference.data.pairs import Purpose
from dissensus.schema.campaign.chatbot import BestOfNSettings, ScriptedResponses
from dissensus.schema.records.conversation import Conversation

SEVERAL = ScriptedResponses(responses=("a", "bb", "ccc", "dddd", "eeeee"))


@dataclass
class NumberedBot:
    """A chatbot whose responses are numbered in the order in which their seeds are derived."""

    n: int
    failing: frozenset[int] = frozenset()
    seeds: list[int] = field(default_factory=list)

    async def stream(self, conversation: Conversation, seed: int) -> Stream:
        number = derive_seeds(7, self.n).index(seed)
        self.seeds.append(seed)
        # The first ones take the longest, so that responses arrive in another order.
        for _ in range(self.n - number):
            await asyncio.sleep(0)
        if number in self.failing:
            raise Unavailable(f"{number} failed")
        yield f"response {number}"
        cost = Cost(prompt_tokens=10, response_tokens=number)
        yield Response(text=f"response {number}", finish="stop", seed=seed, first_token_s=0, total_s=0, cost=cost)


def score_by_number(scores: Sequence[float]) -> Scorer:
    def scorer(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
        return np.array([scores[int(one.rated_turn.text.split()[1])] for one in conversations], dtype=np.float64)

    return scorer


@quick
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=16), st.data())
def test_the_best_are_returned_with_ties_in_order_of_seeds(scores: list[int], data: st.DataObject) -> None:
    n = len(scores)
    failing = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    keep = data.draw(st.integers(1, n - len(failing)))
    bot = NumberedBot(n, frozenset(failing))
    best = asyncio.run(BestOfN(bot=bot, scorer=score_by_number(scores), n=n).best(TALK, 7, keep))
    arrived = [number for number in range(n) if number not in failing]
    expected = sorted(arrived, key=lambda number: (-scores[number], number))[:keep]
    assert [one.text for one in best] == [f"response {number}" for number in expected]
    assert [one.score for one in best] == [scores[number] for number in expected]
    cost = Cost(samples=n, failed=len(failing), prompt_tokens=10 * len(arrived), response_tokens=sum(arrived))
    assert all((one.cost, one.seed) == (cost, 7) for one in best)
    assert len(set(bot.seeds)) == n


def test_the_best_response_is_streamed_as_one_piece() -> None:
    clock = ManualClock(step=1.0)
    bot = BestOfN(bot=ScriptedBot(script=SEVERAL), scorer=brevity, n=16, clock=clock)
    pieces, response = asyncio.run(collect_stream(bot))
    assert pieces == [response.text] == ["a"]
    assert response.first_token_s == response.total_s == 1.0
    assert response.cost == Cost(samples=16)


def test_two_best_responses_come_from_one_draw() -> None:
    bot = BestOfN(bot=NumberedBot(16), scorer=score_by_number([*range(16)]))
    assert [one.text for one in asyncio.run(bot.best(TALK, 7, keep=2))] == ["response 15", "response 14"]


def test_without_any_sample_the_chatbot_fails() -> None:
    bot = BestOfN(bot=NumberedBot(3, frozenset({0, 1, 2})), scorer=brevity, n=3)
    with pytest.raises(Unavailable, match="0 failed"):
        asyncio.run(collect_response(bot, TALK, 7))


def test_fewer_samples_than_requested_is_a_failure() -> None:
    bot = BestOfN(bot=NumberedBot(3, frozenset({0, 1})), scorer=score_by_number([0, 0, 0]), n=3)
    assert asyncio.run(collect_response(bot, TALK, 7)).cost == Cost(
        samples=3, failed=2, prompt_tokens=10, response_tokens=2
    )
    with pytest.raises(Unavailable, match="0 failed"):
        asyncio.run(bot.best(TALK, 7, keep=2))


@pytest.mark.parametrize("keep", [0, 17, True])
def test_keep_must_be_between_1_and_n(keep: int) -> None:
    with pytest.raises(InvalidInput, match="keep is"):
        asyncio.run(BestOfN(bot=ScriptedBot(), scorer=brevity).best(TALK, 7, keep))


@pytest.mark.parametrize("scores", [[np.nan] * 16, [np.inf] * 16, [0.0] * 15, [[0.0] * 16], ["high"] * 16])
def test_invalid_scores_are_refused(scores: list[float]) -> None:
    bot = BestOfN(bot=ScriptedBot(), scorer=lambda _: np.array(scores))
    with pytest.raises(InvalidInput, match="The scorer gives"):
        asyncio.run(collect_response(bot, TALK, 7))


def test_the_scorer_sees_whole_conversations() -> None:
    scored: list[Conversation] = []

    def scorer(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
        scored.extend(conversations)
        return np.zeros(len(conversations))

    asyncio.run(collect_response(BestOfN(bot=NumberedBot(2), scorer=scorer, n=2), TALK, 7))
    assert [one.context for one in scored] == [TALK.turns] * 2
    assert [one.rated_turn.text for one in scored] == ["response 0", "response 1"]


def test_an_empty_response_is_the_worst_for_brevity() -> None:
    talks = [Conversation.from_turns([("human", "Hi"), ("bot", text)]) for text in (" \n", "x" * 2**20, "xx", "x")]
    assert np.argsort(brevity(talks)).tolist() == [0, 1, 2, 3]


def test_each_sample_is_requested_with_its_own_seed(asker: Asker, server: Loopback) -> None:
    server.will(says("aaa"), answers(500), says("a"), says("aa"))
    server.otherwise = says("aaaa", usage={"prompt_tokens": 2, "completion_tokens": 1})
    asker.with_request_policy(max_concurrent=1, max_attempts=1)
    asker.chatbot = replace(asker.chatbot, source=BestOfNSettings(chatbot=asker.chatbot, scorer="brevity", n=6))
    _, response = asker.ask(seed=3)
    assert (response.text, response.score) == ("a", -np.log(2))
    assert response.cost == Cost(samples=6, failed=1)
    assert tuple(body["seed"] for body in server.bodies) == derive_seeds(3, 6)


def test_a_refused_key_is_reported(asker: Asker, server: Loopback) -> None:
    server.otherwise = answers(401)
    asker.chatbot = replace(asker.chatbot, source=BestOfNSettings(chatbot=asker.chatbot, scorer="brevity", n=4))
    with pytest.raises(NotAllowed, match="Check the key in TERN_KEY"):
        asker.ask()


def test_cancellation_closes_all_samples(asker: Asker, server: Loopback) -> None:
    server.otherwise = Wire.hold
    asker.chatbot = replace(asker.chatbot, source=BestOfNSettings(chatbot=asker.chatbot, scorer="brevity", n=4))

    async def use(bot: Bot) -> None:
        task = asyncio.create_task(collect_stream(bot))
        while len(server.bodies) < 4:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.wait_all_closed)

    asker.run(use)


def test_an_unknown_scorer_is_refused(asker: Asker) -> None:
    asker.chatbot = replace(asker.chatbot, source=BestOfNSettings(chatbot=asker.chatbot, scorer="brevety"))
    with pytest.raises(NotFound, match=r"no scorer 'brevety'. Did you mean 'brevity'\? There are 'brevity'"):
        asker.ask()
    assert list(SCORERS) == ["brevity"]


@quick
@given(st.integers(0, 2**31 - 1), st.integers(1, 64))
def test_derived_seeds_are_distinct_and_stable(seed: int, count: int) -> None:
    seeds = derive_seeds(seed, count)
    assert len(set(seeds)) == count
    assert all(0 <= one < 2**31 for one in seeds)
    assert seeds == derive_seeds(seed, 64)[:count]


def test_an_empty_response_is_never_the_best() -> None:
    script = ScriptedResponses(responses=("", "kind", "  "))

    def likes_silence(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
        return np.array([-len(one.rated_turn.text) for one in conversations], dtype=np.float64)

    bot = BestOfN(bot=ScriptedBot(script=script), scorer=likes_silence, n=32)
    best = asyncio.run(bot.best(TALK, 7, keep=32))
    texts = [one.text for one in best]
    assert {"", "kind", "  "} == set(texts)
    assert texts == sorted(texts, key=lambda text: (not text.strip(), len(text)))


def test_a_model_ranks_by_the_last_turn_given_all_before() -> None:
    class Model:
        purpose: Purpose = "harmless"

        def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
            return [[float(len(turn.text)) for turn in talk.turns if turn.speaker == "bot"] for talk in transcripts]

    talk = Conversation.from_turns([("human", "Hi"), ("bot", "a very long answer"), ("human", "And?")])
    bot = BestOfN(bot=ScriptedBot(script=SEVERAL), scorer=scorer_from_model(Model()), n=64)
    first, second = asyncio.run(bot.best(talk, 7, keep=2))
    assert (first.text, first.score) == ("eeeee", 5)
    assert second.score == 5
    assert first.cost.samples == 64


def test_a_failing_scorer_fails_the_chatbot() -> None:
    def fail(conversations: Sequence[Conversation]) -> NDArray[np.float64]:
        raise Unavailable("nobody scores")

    with pytest.raises(Unavailable, match="nobody scores"):
        asyncio.run(collect_stream(BestOfN(bot=ScriptedBot(script=SEVERAL), scorer=fail, n=4)))
