"""Items with the answers about them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import Field

from dissensus.api_models.campaigns import ItemResource
from dissensus.api_models.resource import Resource, RestrictedCount

Counts = Annotated[tuple[int, ...], Field(description="Number of answers in each category, in the order of the scale.")]
Number = Annotated[int, Field(description="Place in the order of the campaign, from 1.")]


class ItemSummaryResource(Resource):
    """An item with the answers to one question."""

    number: Number
    id: str
    text: Annotated[str, Field(description="Text of the first turn.")]
    question: Annotated[str | None, Field(description="Null in campaigns without scales.")]
    answers: Annotated[Mapping[str, int], Field(description="Raters by answer; empty without ratings.")]
    disagreement: Annotated[
        float | None, Field(description="Share of pairs of raters who answered differently; null with fewer than two.")
    ]
    distance: Annotated[
        float | None,
        Field(description="Largest distance of two groups; null unless the list is sorted by an axis."),
    ]
    withheld: Annotated[bool, Field(description="True if it is withheld from everybody.")]
    n_skipped: int
    n_reports: RestrictedCount


class GroupAnswersResource(Resource):
    """Answers of a group about an item."""

    axis: str
    group: str
    counts: Annotated[tuple[int, ...] | None, Field(description="Null where the group is too small to be shown.")]


class QuestionAnswersResource(Resource):
    """Answers to a question about an item."""

    question: str
    scale: tuple[str, ...]
    counts: Counts
    disagreement: float | None
    groups: tuple[GroupAnswersResource, ...]


class ItemReportResource(Resource):
    """A report of an item by a rater, open or settled."""

    id: str
    text: str
    at: datetime
    settled_at: datetime | None
    settled_by: Annotated[str | None, Field(description="Name of the member of staff who decided.")]
    shown_again: Annotated[bool | None, Field(description="Decision; null while it is open.")]


class ItemAnswersResource(Resource):
    """An item with the answers of raters, its gold label and its reports."""

    number: Number
    item: ItemResource
    withheld: Annotated[bool, Field(description="True if it is withheld from everybody.")]
    n_skipped: int
    answers: tuple[QuestionAnswersResource, ...]
    gold: Annotated[str | None, Field(description="Label of the file, or else of the experts once it is settled.")]
    reports: Annotated[
        tuple[ItemReportResource, ...] | None, Field(description="Earliest first; null if the caller may not see them.")
    ]
