"""Scoring service: a preference model behind ``POST /score``, for PyRIT, garak and other HTTP clients."""

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
from dissensus.preference.models.group_view import GroupView, check_groups
from dissensus.preference.models.groups import Groups, find_group
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Model, ModelIdentity
from dissensus.schema.records.conversation import Conversation
from dissensus.text.messages import parse_messages
from dissensus.text.transcripts import is_hh, parse_hh
from dissensus.web.core.request_limits import MAX_API_BYTES, RequestLimitsMiddleware, RequestTooLarge, RequestTooSlow

MAX_TRANSCRIPTS: Final = 1_000
"""Maximum transcripts of a request."""

MAX_GROUP_LENGTH: Final = 1_000
"""Maximum characters of a group name."""

DESCRIPTION: Final = f"""Scores of what chatbots say, by a model of what people choose.

Each turn of the bot is scored given all before it. Scores of one model can be compared with each other and with nothing
else: the difference of two is the log odds of being chosen. At most {MAX_TRANSCRIPTS:,} transcripts and
{MAX_API_BYTES:,} bytes in a request.
"""


class Message(BaseModel):
    """One turn."""

    role: str = Field(description="`user` or `assistant`; `system` messages before the first turn are passed over.")
    content: str


class ScoreRequest(BaseModel):
    """Transcripts to score."""

    model_config = ConfigDict(extra="forbid")
    transcripts: Annotated[list[str | list[Message]], Field(min_length=1, max_length=MAX_TRANSCRIPTS)] = Field(
        description="Each a list of messages, a transcript as hh-rlhf writes it, or a response alone."
    )
    as_group: Annotated[str, Field(max_length=MAX_GROUP_LENGTH)] | None = Field(
        default=None,
        description="As this group sees it, by a model of groups: `rater_gender=Woman`, one that `GET /score` names.",
    )
    quantile: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="What this share of people thinks it is worth at most, by a model that knows spreads.",
    )


class ModelInfo(BaseModel):
    """Identity of the scoring model."""

    name: str
    sha256: str
    purpose: Literal["helpful", "harmless"]


class ScoringModelInfo(ModelInfo):
    """The model, and the groups that it can score for."""

    groups: dict[str, list[str]] = Field(
        description="By axis the groups that `as_group` may name; none by most models."
    )
    quantiles: bool = Field(description="Whether `quantile` may be asked for.")


class ScoreResponse(BaseModel):
    """Scores in the order of the transcripts."""

    model: ModelInfo
    scores: list[list[float]] = Field(description="Of each transcript, a score for each turn of the bot.")
    minimums: list[float | None] = Field(description="The least of them; null where the bot says nothing.")


def create_scoring_app(model: Model, identity: ModelIdentity, *, key: str = "") -> FastAPI:
    """Create the ASGI application of the service."""
    known = ScoringModelInfo(
        **_about(identity, model.purpose).model_dump(),
        groups={axis: list(names) for axis, names in check_groups(model).items()},
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
    def tell() -> ScoringModelInfo:
        """Return the model and the groups that it can score for."""
        return known

    @app.post("/score", responses={413: {"description": "Too much at once."}})
    def score(asked: ScoreRequest) -> ScoreResponse:
        """Score transcripts."""
        seen = _seen(model, asked)
        talks = [_talk(number, given) for number, given in enumerate(asked.transcripts, start=1)]
        scores, about = seen.score(talks), _about(seen.named(identity), model.purpose)
        return ScoreResponse(model=about, scores=scores, minimums=[min(some, default=None) for some in scores])

    @app.get("/healthz", include_in_schema=False)
    def live() -> dict[str, str]:
        return {"status": "ok"}

    app.add_exception_handler(DissensusError, _refused)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _turned_away)
    app.add_middleware(RequestLimitsMiddleware, large=(), most=MAX_API_BYTES)
    return app


def _checking(key: str) -> Any:
    given = HTTPBearer(auto_error=False)

    def check(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(given)]) -> None:
        told = "" if credentials is None else credentials.credentials
        if not hmac.compare_digest(told.encode(), key.encode()):
            raise NotAllowed("Send the key of this service: Authorization: Bearer KEY.")

    return check


def _about(identity: ModelIdentity, purpose: Purpose) -> ModelInfo:
    return ModelInfo(name=identity.name, sha256=identity.sha256, purpose=purpose)


def _seen(model: Model, asked: ScoreRequest) -> GroupView:
    """Return the view of the model for a group; single raters cannot be asked for."""
    if asked.as_group is not None and isinstance(model, Groups):
        if asked.as_group.partition("=")[0] == RATER:
            raise InvalidInput("Single raters are not told apart across a network. Ask as a group of GET /score.")
        find_group(check_groups(model), asked.as_group)
    return GroupView(model=model, as_group=asked.as_group, quantile=asked.quantile)


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
    """Answer framework errors; the middleware answers oversized and slow requests."""
    if isinstance(error.__cause__, (RequestTooLarge, RequestTooSlow)):
        raise error.__cause__
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse({"detail": getattr(error, "detail", "")}, status)


def _unreadable(_request: Request, error: Exception) -> JSONResponse:
    """Answer validation errors without echoing the input."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:5]]
    return JSONResponse({"detail": "; ".join(told)}, 422)
