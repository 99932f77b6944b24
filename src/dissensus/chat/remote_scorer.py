"""Remote preference model, reached by ``POST /score``."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, get_args
from urllib.parse import urlsplit

import httpx

from dissensus.errors import DissensusError, InvalidInput, NotFound, Unavailable
from dissensus.http_client import NotJson, RemoteService, ServiceClient, check_environment, check_token
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.models.groups import find_group
from dissensus.preference.models.mean_variance import check_quantile
from dissensus.preference.models.model import ModelIdentity
from dissensus.schema.hints import count_noun
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.urls import check_secure_url
from dissensus.text.messages import write_messages

SCORING_SERVICE: Final = RemoteService(name="The scoring server", remedies={})
BATCH_SIZE: Final = 100
"""Conversations per request."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RemoteModel:
    """A model on a scoring server; see `open_remote_model`."""

    service: ServiceClient
    address: str
    identity: ModelIdentity  # Identity reported by the server
    purpose: Purpose
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # Groups reported by the server, by axis
    quantiles: bool = False  # True if the server reports support of quantiles

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return the scores of all turns of the bot, for each conversation."""
        return self.score_as(transcripts)

    def score_as(
        self, transcripts: Iterable[Conversation], *, as_group: str | None = None, quantile: float | None = None
    ) -> list[list[float]]:
        """Return the scores for a group, such as ``rater_gender=Woman``, or at a quantile of people."""
        options = self._check_options(as_group, quantile)
        remaining, scores = iter(transcripts), list[list[float]]()
        while batch := list(islice(remaining, BATCH_SIZE)):
            scores += self._request_scores(batch, options)
        return scores

    def _check_options(self, as_group: str | None, quantile: float | None) -> dict[str, str | float]:
        options: dict[str, str | float] = {}
        if as_group is not None:
            if not self.groups:
                raise InvalidInput(f"The server at {self.address} does not report that its model has groups.")
            find_group(self.groups, as_group)
            options["as_group"] = as_group
        if quantile is not None:
            if not self.quantiles:
                raise InvalidInput(f"The server at {self.address} does not report that its model has spreads.")
            check_quantile(quantile)
            options["quantile"] = quantile
        return options

    def _request_scores(
        self, conversations: Sequence[Conversation], options: Mapping[str, str | float]
    ) -> list[list[float]]:
        body = {
            "transcripts": [
                write_messages([(turn.speaker, turn.text) for turn in conversation.turns])
                for conversation in conversations
            ],
            **options,
        }
        answer = _parse_body(self.service.request("POST", self.address, body=body))
        model = answer.get("model") if isinstance(answer, dict) else None
        sha256 = model.get("sha256", "") if isinstance(model, dict) else ""
        if self.identity.sha256 and sha256 and sha256 != self.identity.sha256:
            raise Unavailable("The scoring server has another model than before. Start again with that one.")
        return _parse_scores(answer, conversations)


@contextmanager
def open_remote_model(
    url: str,
    *,
    purpose: Purpose | None = None,
    key: str = "",
    timeout: float = 60.0,
    max_attempts: int = 3,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[RemoteModel]:
    """Connect to a scoring server; `purpose` is needed only if the server does not report it."""
    check_secure_url(url, "https://scores.example/score")
    if key:
        check_token(key, "where it was made")
    address = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/score"
    headers = {"user-agent": "dissensus", **({"authorization": f"Bearer {key}"} if key else {})}
    with check_environment():
        client = httpx.Client(headers=headers, timeout=timeout, follow_redirects=False)
    with client as http:
        service = ServiceClient(SCORING_SERVICE, http, key, max_attempts, sleep)
        description = _fetch_description(service, address)
        reported = description.get("purpose")
        model_purpose: Purpose | None = next((name for name in get_args(Purpose) if name == reported), purpose)
        if model_purpose is None:
            raise InvalidInput(
                f"{url} does not report the purpose of its model. Give it: --purpose harmless or helpful."
            )
        identity = ModelIdentity(str(description.get("name") or url), str(description.get("sha256") or ""))
        yield RemoteModel(
            service=service,
            address=address,
            identity=identity,
            purpose=model_purpose,
            groups=_parse_groups(description.get("groups")),
            quantiles=description.get("quantiles") is True,
        )


def _fetch_description(service: ServiceClient, address: str) -> dict[str, Any]:
    """Return the server's description of its model; an empty one if it does not support the request."""
    try:
        description = _parse_body(service.request("GET", address))
    except (InvalidInput, NotFound, NotJson):
        return {}
    return description if isinstance(description, dict) else {}


def _parse_body(response: httpx.Response) -> Any:
    return response.json() if response.content else None


def _parse_groups(value: object) -> dict[str, tuple[str, ...]]:
    """Return the groups of a description by axis; entries in another format are ignored."""
    axes = value.items() if isinstance(value, dict) else ()
    return {str(axis): tuple(map(str, names)) for axis, names in axes if isinstance(names, list) and names}


def _parse_scores(answer: object, conversations: Sequence[Conversation]) -> list[list[float]]:
    scores = answer.get("scores") if isinstance(answer, dict) else None
    if not isinstance(scores, list) or len(scores) != len(conversations):
        size = f"{len(scores):,} lists" if isinstance(scores, list) else "no list"
        raise _unexpected_answer(f"{size} of scores for {count_noun(len(conversations), 'conversation')}")
    for number, (conversation, values) in enumerate(zip(conversations, scores, strict=True), start=1):
        n = sum(turn.speaker == "bot" for turn in conversation.turns)
        if not isinstance(values, list) or len(values) != n:
            raise _unexpected_answer(
                f"{values!r:.60} for conversation {number:,}, which has {count_noun(n, 'turn')} of the bot"
            )
        for value in values:
            if not _is_finite_number(value):
                raise _unexpected_answer(f"{value!r:.60} for conversation {number:,}, which is not a finite number")
    return [[float(value) for value in values] for values in scores]


def _is_finite_number(value: object) -> bool:
    try:
        return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # An integer beyond the largest float.
        return False


def _unexpected_answer(content: str) -> DissensusError:
    return Unavailable(f"The scoring server gives {content}. See its log; this answer is not used.")
