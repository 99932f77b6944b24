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
from dissensus.http_client import RemoteService, ServiceClient, check_token
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.models.groups import find_group
from dissensus.preference.models.mean_variance import check_quantile
from dissensus.preference.models.model import ModelIdentity
from dissensus.schema.address import check_secure_url
from dissensus.schema.records.conversation import Conversation

SCORING_SERVICE: Final = RemoteService(name="The scoring server", remedies={})
BATCH_SIZE: Final = 100
"""Conversations of one request."""

ROLES: Final[Mapping[str, str]] = {"human": "user", "bot": "assistant"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RemoteModel:
    """A model that scores across a network; see `open_remote_model`."""

    service: ServiceClient  # The connection, and where to ask
    address: str
    identity: ModelIdentity  # What the server says that it is
    purpose: Purpose  # What people chose by
    # By axis the groups that the server says it can score as
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quantiles: bool = False  # True if it says that it knows spreads

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot."""
        return self.score_as(transcripts)

    def score_as(
        self, transcripts: Iterable[Conversation], *, as_group: str | None = None, quantile: float | None = None
    ) -> list[list[float]]:
        """Return the same as a group sees it, such as ``rater_gender=Woman``, or at most this share of people."""
        how = self._checked(as_group, quantile)
        given, found = iter(transcripts), list[list[float]]()
        while some := list(islice(given, BATCH_SIZE)):
            found += self._ask(some, how)
        return found

    def _checked(self, as_group: str | None, quantile: float | None) -> dict[str, str | float]:
        how: dict[str, str | float] = {}
        if as_group is not None:
            if not self.groups:
                raise InvalidInput(f"The server at {self.address} does not say that its model knows groups.")
            find_group(self.groups, as_group)
            how["as_group"] = as_group
        if quantile is not None:
            if not self.quantiles:
                raise InvalidInput(f"The server at {self.address} does not say that its model knows a spread.")
            check_quantile(quantile)
            how["quantile"] = quantile
        return how

    def _ask(self, talks: Sequence[Conversation], how: Mapping[str, str | float]) -> list[list[float]]:
        body = {"transcripts": [to_chat_messages(talk) for talk in talks], **how}
        said = self.service.request("POST", self.address, body=body).json()
        model = said.get("model") if isinstance(said, dict) else None
        sha256 = model.get("sha256", "") if isinstance(model, dict) else ""
        if self.identity.sha256 and sha256 and sha256 != self.identity.sha256:
            raise Unavailable("The scoring server has another model than before. Begin anew with that one.")
        return _parse_scores(said, talks)


def to_chat_messages(talk: Conversation) -> list[dict[str, str]]:
    """Return a conversation as chat messages.

    Examples
    --------
    >>> to_chat_messages(Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")]))
    [{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': 'Hello!'}]
    """
    return [{"role": ROLES[turn.speaker], "content": turn.text} for turn in talk.turns]


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
    """Connect to a server that scores."""
    check_secure_url(url, "https://scores.example/score")
    if key:
        check_token(key, "where it was made")
    address = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/score"
    headers = {"user-agent": "dissensus", **({"authorization": f"Bearer {key}"} if key else {})}
    with httpx.Client(headers=headers, timeout=timeout, follow_redirects=False) as http:
        service = ServiceClient(SCORING_SERVICE, http, key, max_attempts, sleep)
        about = _fetch_description(service, address)
        said: list[Purpose] = [one for one in get_args(Purpose) if one == about.get("purpose", purpose)]
        if not said:
            raise InvalidInput(f"{url} does not say what its model is for. Say it: --purpose harmless or helpful.")
        identity = ModelIdentity(str(about.get("name") or url), str(about.get("sha256") or ""))
        yield RemoteModel(
            service=service,
            address=address,
            identity=identity,
            purpose=said[0],
            groups=_parse_groups(about.get("groups")),
            quantiles=about.get("quantiles") is True,
        )


def _fetch_description(service: ServiceClient, address: str) -> dict[str, Any]:
    """Return what the server says of its model; nothing where it does not know the question."""
    try:
        said = service.request("GET", address).json()
    except (InvalidInput, NotFound):
        return {}
    except Unavailable as error:
        if "something else than JSON" in str(error):
            return {}
        raise
    return said if isinstance(said, dict) else {}


def _parse_groups(said: object) -> dict[str, tuple[str, ...]]:
    """Return the groups that a server names; nothing of what is named otherwise than ours are."""
    axes = said.items() if isinstance(said, dict) else ()
    return {str(axis): tuple(map(str, names)) for axis, names in axes if isinstance(names, list) and names}


def _parse_scores(said: object, talks: Sequence[Conversation]) -> list[list[float]]:
    scores = said.get("scores") if isinstance(said, dict) else None
    if not isinstance(scores, list) or len(scores) != len(talks):
        got = f"{len(scores):,} lists" if isinstance(scores, list) else "no list"
        raise _unexpected_answer(f"{got} of scores for {len(talks):,} conversations")
    for number, (talk, values) in enumerate(zip(talks, scores, strict=True), start=1):
        n = sum(turn.speaker == "bot" for turn in talk.turns)
        if not isinstance(values, list) or len(values) != n:
            raise _unexpected_answer(f"{values!r:.60} for conversation {number:,}, which has {n:,} turns of the bot")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise _unexpected_answer(f"{value!r:.60} for conversation {number:,}, which is no finite number")
    return [[float(value) for value in values] for values in scores]


def _unexpected_answer(what: str) -> DissensusError:
    return Unavailable(f"The scoring server gives {what}. Look at its log; nothing of this answer is used.")
