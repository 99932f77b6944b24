"""Scoring service: a preference model behind ``POST /score``, for PyRIT, garak and other HTTP clients."""

import hmac
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

import dissensus
from dissensus.errors import DissensusError, InvalidInput, NotAllowed, NotFound
from dissensus.preference.data.examples import RATER
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.jury.group_scorer import GroupScorer, list_groups
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.models.groups import Groups, find_group
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Model, ModelIdentity
from dissensus.schema.advice import site_message
from dissensus.schema.records.conversation import Conversation
from dissensus.text.messages import parse_messages
from dissensus.text.transcripts import is_hh, parse_hh
from dissensus.web.core.json_body import JsonRoute
from dissensus.web.middleware.request_limits import (
    MAX_API_BYTES,
    RequestLimitsMiddleware,
    RequestTooLarge,
    RequestTooSlow,
)
from dissensus.web.middleware.request_origin import SameOriginMiddleware
from dissensus.web.middleware.security_headers import SecurityHeadersMiddleware

MAX_TRANSCRIPTS: Final = 1_000
"""Maximum number of transcripts in a request."""

MAX_GROUP_LENGTH: Final = 1_000
"""Maximum characters of a group name."""

DESCRIPTION: Final = f"""Scores of chatbot responses by a preference model.

Each turn of the bot is scored given all turns before it. Scores are comparable within one model only: the difference
of two is the log odds of being chosen. At most {MAX_TRANSCRIPTS:,} transcripts and
{MAX_API_BYTES:,} bytes are allowed in a request.
"""


class Message(BaseModel):
    """One turn."""

    role: str = Field(description="`user` or `assistant`; `system` messages before the first turn are ignored.")
    content: str


class ScoreRequest(BaseModel):
    """Transcripts to score."""

    model_config = ConfigDict(extra="forbid")
    transcripts: Annotated[list[str | list[Message]], Field(min_length=1, max_length=MAX_TRANSCRIPTS)] = Field(
        description="Each a list of messages, a transcript in the format of hh-rlhf, or a single response."
    )
    as_group: Annotated[str, Field(max_length=MAX_GROUP_LENGTH)] | None = Field(
        default=None,
        description="For models with groups: the group to score for, such as `rater_gender=Woman`; see `GET /score`.",
    )
    quantile: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="For models with spreads: the score that this share of people does not exceed.",
    )


class ModelInfo(BaseModel):
    """Identity of the scoring model."""

    name: str
    sha256: str
    purpose: Literal["helpful", "harmless"]


class ScoringModelInfo(ModelInfo):
    """The model, and the groups that it can score for."""

    groups: dict[str, list[str]] = Field(description="Groups allowed in `as_group`, by axis; empty for most models.")
    quantiles: bool = Field(description="True if `quantile` is supported.")


class ScoreResponse(BaseModel):
    """Scores in the order of the transcripts."""

    model: ModelInfo
    scores: list[list[float]] = Field(description="For each transcript, a score for each turn of the bot.")
    minimums: list[float | None] = Field(
        description="Minimum score of each transcript; null without a turn of the bot."
    )


def create_scoring_app(model: Model, identity: ModelIdentity, *, key: str = "") -> FastAPI:
    """Create the ASGI application of the service."""
    model_info = ScoringModelInfo(
        **_model_info(identity, model.purpose).model_dump(),
        groups={axis: list(names) for axis, names in list_groups(model).items()},
        quantiles=isinstance(model, MeanVariance),
    )
    app = FastAPI(
        title="Dissensus scores",
        version=dissensus.__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        # For the document; the route checks the key.
        dependencies=[Depends(HTTPBearer(auto_error=False))] if key else [],
    )
    app.state.key = key
    app.router.route_class = KeyedRoute

    @app.get("/score")
    def get_model() -> ScoringModelInfo:
        """Return the model and the groups that it can score for."""
        return model_info

    @app.post("/score", responses={413: {"description": "The request is too large."}})
    def score(body: ScoreRequest) -> ScoreResponse:
        """Score transcripts."""
        scorer = _group_scorer(model, body)
        conversations = [_parse_transcript(number, text) for number, text in enumerate(body.transcripts, start=1)]
        scores = scorer.score(conversations)
        return ScoreResponse(
            model=_model_info(scorer.identify(identity), model.purpose),
            scores=scores,
            minimums=[min(turn_scores, default=None) for turn_scores in scores],
        )

    @app.get("/healthz", include_in_schema=False)
    def live() -> dict[str, str]:
        return {"status": "ok"}

    app.add_exception_handler(DissensusError, _handle_domain_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_middleware(SameOriginMiddleware)
    app.add_middleware(RequestLimitsMiddleware, upload_paths=(), max_bytes=MAX_API_BYTES)
    app.add_middleware(SecurityHeadersMiddleware)
    return app


class KeyedRoute(JsonRoute):
    """Route that checks the key before any of the request body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the handler."""
        handle = super().get_route_handler()

        async def handle_authorized(request: Request) -> Response:
            _check_key(request)
            return await handle(request)

        return handle_authorized


def _check_key(request: Request) -> None:
    key: str = request.app.state.key
    scheme, _, sent_key = request.headers.get("authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer"
    if key and not (is_bearer and hmac.compare_digest(sent_key.strip().encode(), key.encode())):
        raise NotAllowed("The key is missing or wrong. Send it as Authorization: Bearer KEY.")


def _model_info(identity: ModelIdentity, purpose: Purpose) -> ModelInfo:
    return ModelInfo(name=identity.name, sha256=identity.sha256, purpose=purpose)


def _group_scorer(model: Model, body: ScoreRequest) -> GroupScorer:
    """Return the scorer of a model for a group; single raters are not available."""
    if body.as_group is not None and isinstance(model, Groups | JuryModel):
        if body.as_group.partition("=")[0] == RATER:
            raise InvalidInput(
                "Scores of single raters are not available over a network. Use a group that GET /score lists."
            )
        find_group(list_groups(model), body.as_group)
    return GroupScorer(model=model, as_group=body.as_group, quantile=body.quantile)


def _parse_transcript(number: int, transcript: str | Sequence[Message]) -> Conversation:
    try:
        if isinstance(transcript, str):
            return Conversation.from_turns(parse_hh(transcript) if is_hh(transcript) else (("bot", transcript),))
        return Conversation.from_turns(parse_messages([message.model_dump() for message in transcript]).turns)
    except InvalidInput as error:
        raise InvalidInput(f"Transcript {number:,}: {site_message(error)}") from None


def _handle_domain_error(_request: Request, error: Exception) -> JSONResponse:
    status = 401 if isinstance(error, NotAllowed) else 422 if isinstance(error, (InvalidInput, NotFound)) else 503
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"detail": site_message(error)}, status, headers)


def _handle_http_error(_request: Request, error: Exception) -> JSONResponse:
    """Answer framework errors; the middleware answers oversized and slow requests."""
    if isinstance(error.__cause__, (RequestTooLarge, RequestTooSlow)):
        raise error.__cause__
    status = error.status_code if isinstance(error, HTTPException) else 500
    return JSONResponse({"detail": getattr(error, "detail", "")}, status)


def _handle_validation_error(_request: Request, error: Exception) -> JSONResponse:
    """Answer validation errors without echoing the input."""
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    details = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in errors[:5]]
    return JSONResponse({"detail": "; ".join(details)}, 422)
