"""Conversations with chatbots, and the success of red-team attempts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from dissensus.api_models.resource import NextCursor, Resource

Warnings: TypeAlias = Annotated[tuple[str, ...], Field(description="Lines with the content warning of the campaign.")]


class CandidateResource(Resource):
    """A response of a chatbot."""

    position: Annotated[Literal[0, 1], Field(description="0 for response A, 1 for B.")]
    chatbot: str
    text: Annotated[str | None, Field(description="Null while it is pending, or if it failed.")]
    failure: Annotated[str | None, Field(description="Reason of a response that did not arrive.")]
    ranked_by: Annotated[str | None, Field(description="Version of the registered model that chose it, if any.")]


class PickResource(Resource):
    """A preference between two responses."""

    strength: Annotated[int, Field(description="From -3 (A much better) through 0 (equal) to 3 (B much better).")]
    edit: Annotated[str | None, Field(description="Improved text of the better response; null if unchanged.")]


class ExchangeResource(Resource):
    """A message of a rater with the responses."""

    mode: str
    message: str
    candidates: tuple[CandidateResource, ...]
    pick: Annotated[PickResource | None, Field(description="Null before a pick, and in modes without picks.")]
    continues: Annotated[int | None, Field(description="Position of the response that continues the conversation.")]


class ChatReviewResource(Resource):
    """A review of a conversation by another rater."""

    success: Annotated[int, Field(description="From 0 to 4.")]
    tags: tuple[str, ...]


class ChatResource(Resource):
    """A conversation of a rater with chatbots."""

    id: str
    rater: Annotated[str, Field(description="Random id of the rater, as in the list of raters.")]
    rater_number: Annotated[int, Field(description="From 1, in the order in which raters entered.")]
    mode: str
    state: Literal["open", "done"]
    intent: str | None
    success: Annotated[int | None, Field(description="From 0 to 4, in the rater's own view.")]
    comment: str | None
    exchanges: tuple[ExchangeResource, ...]
    reviews: Annotated[
        tuple[ChatReviewResource, ...], Field(description="From campaigns whose results the caller may see.")
    ]
    personal_data: Annotated[tuple[str, ...], Field(description="Kinds of possible personal data, found by pattern.")]
    started_at: datetime
    ended_at: datetime | None


class ChatsPageResource(Resource):
    """A page of conversations."""

    data: tuple[ChatResource, ...]
    warnings: Warnings
    next: NextCursor


class ChatDetailResource(ChatResource):
    """A conversation with the content warning of its campaign."""

    warnings: Warnings


class EstimateResource(Resource):
    """An estimate with its 95 % interval over red-teamers."""

    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    reason: Annotated[str | None, Field(description="Reason of a missing estimate or interval.")]


class AttemptCellResource(Resource):
    """Attempts on models of one type, of one size, of both, or on all models."""

    model_type: Annotated[str | None, Field(description="Null for all.")]
    size: Annotated[str | None, Field(description="Null for all.")]
    n_attempts: int
    success: Annotated[EstimateResource, Field(description="Share of successes.")]


class TopRedTeamersResource(Resource):
    """Shares of the most active and the most successful red-teamers."""

    k: Annotated[int, Field(description="Number of red-teamers.")]
    share_of_attempts: float
    share_of_successes: Annotated[float | None, Field(description="Null without successes.")]


class RedTeamerResource(Resource):
    """Attempts of one red-teamer."""

    rater_number: Annotated[int, Field(description="From 1, in the order in which raters entered.")]
    n: int
    n_successful: Annotated[int, Field(description="By the red-teamer's own rating.")]
    n_repeated: Annotated[int, Field(description="Near-duplicates of any other attempt.")]
    n_personal: Annotated[int, Field(description="Attempts that may contain personal data.")]


class ReviewAgreementResource(Resource):
    """Agreement of reviewers on the success of attempts."""

    raters: str
    scale: str
    coefficient: str
    estimate: EstimateResource


class AttemptReviewsResource(Resource):
    """Reviews of attempts."""

    n_reviews: int
    n_attempts: int
    n_reviewers: int
    agreement: tuple[ReviewAgreementResource, ...]


class AttemptTagResource(Resource):
    """Frequency and success of a tag of reviewers."""

    tag: str
    n: int
    n_successful: int
    success: EstimateResource


class AttemptsResource(Resource):
    """Success of the red-team attempts of a campaign."""

    n_attempts: int
    n_red_teamers: int
    success_from: Annotated[int, Field(description="Smallest rating that counts as a success, of 4.")]
    success: Annotated[tuple[AttemptCellResource, ...], Field(description="All attempts first.")]
    top: tuple[TopRedTeamersResource, ...]
    red_teamers: Annotated[tuple[RedTeamerResource, ...], Field(description="Most active first.")]
    personal_data: Annotated[Mapping[str, int], Field(description="Attempts by kind of possible personal data.")]
    reviews: Annotated[AttemptReviewsResource | None, Field(description="Null without reviews.")]
    tags: Annotated[tuple[AttemptTagResource, ...], Field(description="Most frequent first.")]
    warnings: Warnings
