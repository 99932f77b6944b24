"""A preference model as a service of its own: ``POST /score``, for PyRIT, garak and whatever else asks by HTTP."""

import hmac
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

import dissensus
from dissensus.errors import DissensusError, InvalidInput, NotAllowed, NotFound
from dissensus.preference.data.examples import RATER
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.models.group_view import Seen, groups_known
from dissensus.preference.models.groups import Groups, group_among
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Identity, Model
from dissensus.schema.records.conversation import Conversation
from dissensus.text.messages import parse_messages
from dissensus.text.transcripts import is_hh, parse_hh
from dissensus.web.core.request_limits import MOST_FROM_PROGRAMS, Guard, TooLarge, TooSlow

MOST: Final = 1_000
"""Transcripts of one request."""

MOST_NAMED: Final = 1_000
"""Characters of the name of a group."""

DESCRIPTION: Final = f"""Scores of what chatbots say, by a model of what people choose.

Each turn of the bot is scored given all before it. Scores of one model can be compared with each other and with nothing
else: the difference of two is the log odds of being chosen. At most {MOST:,} transcripts and {MOST_FROM_PROGRAMS:,}
bytes in a request.
"""


class Message(BaseModel):
    """One turn."""

    role: str = Field(description="`user` or `assistant`; `system` messages before the first turn are passed over.")
    content: str


class Asked(BaseModel):
    """What is to be scored."""

    model_config = ConfigDict(extra="forbid")
    transcripts: Annotated[list[str | list[Message]], Field(min_length=1, max_length=MOST)] = Field(
        description="Each a list of messages, a transcript as hh-rlhf writes it, or a response alone."
    )
    as_group: Annotated[str, Field(max_length=MOST_NAMED)] | None = Field(
        default=None,
        description="As this group sees it, by a model of groups: `rater_gender=Woman`, one that `GET /score` names.",
    )
    quantile: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="What this share of people thinks it is worth at most, by a model that knows spreads.",
    )


class About(BaseModel):
    """The model that scores."""

    name: str
    sha256: str
    purpose: Literal["helpful", "harmless"]


class Known(About):
    """The model, and as whom it can score."""

    groups: dict[str, list[str]] = Field(
        description="By axis the groups that `as_group` may name; none by most models."
    )
    quantiles: bool = Field(description="Whether `quantile` may be asked for.")


class Scored(BaseModel):
    """Scores in the order of the transcripts."""

    model: About
    scores: list[list[float]] = Field(description="Of each transcript, a score for each turn of the bot.")
    minimums: list[float | None] = Field(description="The least of them; null where the bot says nothing.")


def create_scoring_app(model: Model, identity: Identity, *, key: str = "") -> FastAPI:
    """Return the service as an ASGI application."""
    known = Known(
        **_about(identity, model.purpose).model_dump(),
        groups={axis: list(names) for axis, names in groups_known(model).items()},
        quantiles=isinstance(model, MeanVariance),
    )
    app = FastAPI(
        title="Dissensus scores",
        version=dissensus.__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(_checking(key))] if key else [],
    )

    @app.get("/score")
    def tell() -> Known:
        """Tell which model scores, and as whom it can."""
        return known

    @app.post("/score", responses={413: {"description": "Too much at once."}})
    def score(asked: Asked) -> Scored:
        """Score transcripts."""
        seen = _seen(model, asked)
        talks = [_talk(number, given) for number, given in enumerate(asked.transcripts, start=1)]
        scores, about = seen.score(talks), _about(seen.named(identity), model.purpose)
        return Scored(model=about, scores=scores, minimums=[min(some, default=None) for some in scores])

    @app.get("/healthz", include_in_schema=False)
    def live() -> dict[str, str]:
        return {"status": "ok"}

    app.add_exception_handler(DissensusError, _refused)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _turned_away)
    app.add_middleware(Guard, large=(), most=MOST_FROM_PROGRAMS)
    return app


def _checking(key: str) -> Any:
    given = HTTPBearer(auto_error=False)

    def check(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(given)]) -> None:
        told = "" if credentials is None else credentials.credentials
        if not hmac.compare_digest(told.encode(), key.encode()):
            raise NotAllowed("Send the key of this service: Authorization: Bearer KEY.")

    return check


def _about(identity: Identity, purpose: Purpose) -> About:
    return About(name=identity.name, sha256=identity.sha256, purpose=purpose)


def _seen(model: Model, asked: Asked) -> Seen:
    """Return the model as somebody sees it; what single raters like stays where their ids are known."""
    if asked.as_group is not None and isinstance(model, Groups):
        if asked.as_group.partition("=")[0] == RATER:
            raise InvalidInput("Single raters are not told apart across a network. Ask as a group of GET /score.")
        group_among(groups_known(model), asked.as_group)
    return Seen(model=model, as_group=asked.as_group, quantile=asked.quantile)


def _talk(number: int, given: str | Sequence[Message]) -> Conversation:
    try:
        if isinstance(given, str):
            return Conversation.from_turns(parse_hh(given) if is_hh(given) else (("bot", given),))
        return Conversation.from_turns(parse_messages([one.model_dump() for one in given]).turns)
    except InvalidInput as error:
        raise InvalidInput(f"Transcript {number:,}: {error}") from None


def _refused(_request: Request, error: Exception) -> JSONResponse:
    status = 401 if isinstance(error, NotAllowed) else 422 if isinstance(error, (InvalidInput, NotFound)) else 503
    return JSONResponse({"detail": str(error)}, status)


def _turned_away(_request: Request, error: Exception) -> JSONResponse:
    """Say what the framework refuses; what came too large or too slow is the guard's to refuse."""
    if isinstance(error.__cause__, (TooLarge, TooSlow)):
        raise error.__cause__
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse({"detail": getattr(error, "detail", "")}, status)


def _unreadable(_request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong, without what was sent, which may be long."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:5]]
    return JSONResponse({"detail": "; ".join(told)}, 422)
