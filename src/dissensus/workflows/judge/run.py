"""Run a judge over items: requests with a rate limit and a cache, and files of its answers."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dissensus.chat import ContentRefusal, Response, open_chatbot
from dissensus.chat.local import identify_weights
from dissensus.chat.openai_compatible import OpenAICompatible
from dissensus.errors import DissensusError, InvalidInput, Unavailable
from dissensus.files.judge.folder import CACHE, check_same_run, make_judge_folder, write_judge_run
from dissensus.files.judge.response_cache import ResponseCache
from dissensus.pipeline.judge.estimate import CostEstimate, Prices, estimate_cost
from dissensus.pipeline.judge.pairs import check_pairs, check_swaps
from dissensus.pipeline.judge.ratings import tabulate_ratings
from dissensus.pipeline.judge.records import JudgeRecord, build_record
from dissensus.pipeline.judge.request_plan import JudgeRequest, JudgeSettings, list_judged_questions, plan_requests
from dissensus.pipeline.judge.response import OUTCOMES, RawResponse
from dissensus.schema.advice import error_message
from dissensus.schema.campaign.chatbot import Chatbot, Endpoint, LocalModel
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.records.image import IMAGE
from dissensus.schema.records.item import Item

MAX_FAILURES_IN_ROW: Final = 5
"""Failed requests in a row, over all workers, from which on each failure stops its worker."""
JudgeProgress = Callable[[int, int], None]
"""Called with the number of requests answered in this run, and of all that it sends."""
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRun:
    """A judge, its items and questions, and the folder of its answers."""

    judge: Chatbot
    items: tuple[Item, ...]
    questionnaire: Questionnaire
    settings: JudgeSettings = field(default_factory=JudgeSettings)
    folder: Path
    per_minute: int | None = None  # Rate limit
    campaign: str | None = None  # Name of the campaign of the items

    def __post_init__(self) -> None:
        check_judge(self.judge)
        list_judged_questions(self.questionnaire)
        ids = Counter(item.item_id for item in self.items)
        if not ids:
            raise InvalidInput("There are no items. Give one conversation or more.")
        repeated = next((name for name, n in ids.items() if n > 1), None)
        if repeated is not None:
            raise InvalidInput(f"Item {format_value(repeated)} occurs twice. Give each item once.")
        if image := next((item.item_id for item in self.items if IMAGE in item.attributes), None):
            raise InvalidInput(f"Item {format_value(image)} has an image, which a judge does not see. Leave it out.")
        check_pairs(self.items, self.questionnaire)
        check_swaps(self.items, self.settings.probes)

    @property
    def url(self) -> str | None:
        """Address to which texts are sent; None if they stay on this machine."""
        return self.judge.source.url if isinstance(self.judge.source, Endpoint) else None

    def iterate_requests(self) -> Iterator[tuple[str, JudgeRequest]]:
        """Yield all requests with their keys; equal ones are sent once."""
        digest = self.judge.digest
        if isinstance(self.judge.source, LocalModel):
            digest = f"{digest} {identify_weights(self.judge.source)}"
        for request in plan_requests(self.items, self.questionnaire, self.settings):
            yield request.key(digest), request


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeResult:
    """Numbers of a complete run."""

    n_requests: int
    n_sent: int  # In this run; the others were answered before
    outcomes: Mapping[str, int]
    n_ratings: int
    prompt_tokens: int | None  # None if the server does not report them
    response_tokens: int | None


def check_judge(judge: Chatbot) -> None:
    """Refuse chatbots that cannot be asked for structured answers."""
    if not isinstance(judge.source, Endpoint | LocalModel):
        raise InvalidInput(
            f"{judge.name} is of kind {judge.kind}. A judge is a chatbot of kind openai_compatible or local."
        )


def estimate_run(run: JudgeRun, *, prices: Prices | None = None) -> CostEstimate:
    """Estimate the requests that are not answered yet, their tokens and cost."""
    check_same_run(run.folder, run.judge.digest, run.questionnaire)
    cache = ResponseCache(run.folder / CACHE)
    keys: set[str] = set()
    n_answered = 0

    def missing() -> Iterator[JudgeRequest]:
        nonlocal n_answered
        for key, request in run.iterate_requests():
            if cache.get(key) is not None:
                n_answered += 1
            elif key not in keys:
                keys.add(key)
                yield request

    questions = list(list_judged_questions(run.questionnaire).values())
    estimate = estimate_cost(missing(), questions, prices=prices)
    return replace(estimate, n_answered=n_answered)


def run_judge(
    run: JudgeRun,
    *,
    environment: Mapping[str, str],
    progress: JudgeProgress | None = None,
    sleep: Sleep = asyncio.sleep,
) -> JudgeResult:
    """Send the requests that are not answered yet, and write answers, ratings and settings."""
    make_judge_folder(run.folder)
    check_same_run(run.folder, run.judge.digest, run.questionnaire)
    with ResponseCache(run.folder / CACHE) as cache:
        missing = {key: request for key, request in run.iterate_requests() if cache.get(key) is None}
        if missing:
            asyncio.run(_send_all(run, missing, cache, environment, progress, sleep))
        questions = list_judged_questions(run.questionnaire)
        records = [build_record(request, _require(cache, key), questions) for key, request in run.iterate_requests()]
        return _write(run, records, n_sent=len(missing))


async def _send_all(
    run: JudgeRun,
    requests: Mapping[str, JudgeRequest],
    cache: ResponseCache,
    environment: Mapping[str, str],
    progress: JudgeProgress | None,
    sleep: Sleep,
) -> None:
    """Send requests by as many workers as the judge allows; all stop if requests keep failing."""
    waiting, pace = iter(requests.items()), Pace(run.per_minute, sleep)
    failures: list[Unavailable] = []
    n_done = n_in_row = 0

    async def work(bot: OpenAICompatible) -> None:
        nonlocal n_done, n_in_row
        for key, request in waiting:
            await pace.wait()
            try:
                cache.add(await _send(bot, key, request))
            except Unavailable as error:
                failures.append(error)
                n_in_row += 1
                if n_in_row >= MAX_FAILURES_IN_ROW:
                    return
                continue
            n_done, n_in_row = n_done + 1, 0
            if progress is not None:
                progress(n_done, len(requests))

    async with open_chatbot(run.judge, environment=environment, sleep=sleep) as bot:
        assert isinstance(bot, OpenAICompatible)  # noqa: S101 - both kinds of judges are
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(run.judge.request_policy.max_concurrent, len(requests))):
                    group.create_task(work(bot))
        except* DissensusError as errors:
            raise next(_list_errors(errors)) from None
    if failures:
        raise Unavailable(
            f"{failures[0]} {n_done:,} of {len(requests):,} requests were answered and are kept in {run.folder}; the "
            "same command goes on from there."
        )


def _list_errors(group: BaseExceptionGroup[DissensusError]) -> Iterator[DissensusError]:
    for error in group.exceptions:
        if isinstance(error, DissensusError):
            yield error


class Pace:
    """Rate limit: consecutive requests begin at least one interval apart."""

    def __init__(self, per_minute: int | None, sleep: Sleep) -> None:
        self._interval_s = 60 / per_minute if per_minute else 0.0
        self._sleep = sleep
        self._next = 0.0

    async def wait(self) -> None:
        """Wait until the next request may begin."""
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._interval_s
        if start > now:
            await self._sleep(start - now)


async def _send(bot: OpenAICompatible, key: str, request: JudgeRequest) -> RawResponse:
    parameters = {} if request.response_format is None else {"response_format": request.response_format}
    try:
        async with aclosing(bot.stream_messages(request.messages, request.seed, **parameters)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Response):
                    return RawResponse(
                        key=key,
                        text=piece.text,
                        refusal=_find_refusal(piece),
                        is_cut=piece.finish in ("length", "cut"),
                        model=piece.model,
                        prompt_tokens=piece.cost.prompt_tokens,
                        response_tokens=piece.cost.response_tokens,
                    )
    except ContentRefusal as error:
        return RawResponse(key=key, refusal=error_message(error))
    raise Unavailable("The judge ended without a response: its stream method is faulty.")


def _find_refusal(response: Response) -> str:
    """Return the text of a refusal; empty for a response."""
    if response.finish == "filter":
        return response.refusal or "The content filter of the provider ended the response."
    return "" if response.text.strip() else response.refusal


def _require(cache: ResponseCache, key: str) -> RawResponse:
    response = cache.get(key)
    assert response is not None  # noqa: S101 - all were sent
    return response


def _write(run: JudgeRun, records: Sequence[JudgeRecord], *, n_sent: int) -> JudgeResult:
    questions = list_judged_questions(run.questionnaire)
    outcomes = Counter(record.outcome for record in records)
    ratings = tabulate_ratings(records, run.questionnaire, questions, run.judge.name)
    result = JudgeResult(
        n_requests=len(records),
        n_sent=n_sent,
        outcomes={name: outcomes[name] for name in OUTCOMES if outcomes[name]},
        n_ratings=ratings.height,
        prompt_tokens=_sum_known(record.prompt_tokens for record in records),
        response_tokens=_sum_known(record.response_tokens for record in records),
    )
    write_judge_run(run.folder, _describe(run, records, result), records, ratings if ratings.height else None)
    if not outcomes["answered"]:
        first = records[0]
        raise InvalidInput(
            f"{run.judge.name} answered none of {len(records):,} requests "
            f"({', '.join(f'{n:,} {name}' for name, n in result.outcomes.items())}). The first response: "
            f"{format_value(first.raw)}. {first.fault} All are in {run.folder}; try another judge, or another "
            "--response-format, with a new folder."
        )
    return result


def _describe(run: JudgeRun, records: Sequence[JudgeRecord], result: JudgeResult) -> dict[str, Any]:
    """Return everything that reproduces a run, but the texts of the items and the key of the judge."""
    ids = [(item.item_id, item.conversation.digest, *item.responses()[1:]) for item in run.items]
    settings = asdict(run.settings)
    return {
        "schema_version": 1,
        "dissensus_version": version("dissensus"),
        "judge": run.judge.as_mapping(),
        "judge_sha256": run.judge.digest,
        "models": sorted({record.model for record in records if record.model}),
        "campaign": run.campaign,
        "sent_to": run.url,
        "questionnaire": run.questionnaire.as_mapping(),
        "settings": {**settings, "personas": [persona.label for persona in run.settings.personas]},
        "n_items": len(run.items),
        "items_sha256": hashlib.sha256(json.dumps(ids).encode()).hexdigest(),
        **asdict(result),
    }


def _sum_known(values: Iterable[int | None]) -> int | None:
    counts = list(values)
    return sum(counts, start=0) if all(n is not None for n in counts) else None  # type: ignore[arg-type]
