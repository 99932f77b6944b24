"""Gold labels of experts, and their comparison with the crowd."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import Field

from dissensus.api_models.resource import Resource
from dissensus.schema.campaign.gold import GoldItemState, GoldPart, GoldPartState

GoldAnswers = Annotated[Mapping[str, str | tuple[str, ...]], Field(description="Answers by question.")]


class GoldLabelResource(Resource):
    """A label of one expert for a part of an item."""

    by: Annotated[str, Field(description="Name of the expert.")]
    revision: Annotated[int, Field(description="Counts from 1; each correction adds 1.")]
    answers: GoldAnswers
    at: datetime


class GoldDecisionResource(Resource):
    """A decision on a part about which experts disagree."""

    by: Annotated[str, Field(description="Name of the member who decided.")]
    revision: Annotated[int, Field(description="Counts from 1; the latest one is in force.")]
    answers: GoldAnswers
    reason: str
    at: datetime


class GoldPartResource(Resource):
    """Labelling progress of one part of an item."""

    part: GoldPart
    state: GoldPartState
    n_labels: int
    n_needed: Annotated[int, Field(description="Number of experts who label it.")]
    file_label: Annotated[str | None, Field(description="Label from the item file; if set, no expert is asked.")]
    settled_answers: Annotated[GoldAnswers | None, Field(description="Label in force; null until experts settle one.")]
    labels: Annotated[
        tuple[GoldLabelResource, ...] | None,
        Field(description="All revisions; null until all labels of the item are in."),
    ]
    decisions: tuple[GoldDecisionResource, ...]


class GoldItemResource(Resource):
    """An item and its labelling progress."""

    id: str
    position: Annotated[int, Field(description="Place in the order of the campaign, from 0.")]
    state: GoldItemState
    withheld: Annotated[bool, Field(description="True if it is hidden because a rater reported it.")]
    labellers: Annotated[tuple[str, ...], Field(description="Names of the experts who labelled it.")]
    columns: Annotated[Mapping[str, str], Field(description="Settled labels, by column of the export.")]
    parts: tuple[GoldPartResource, ...]


class GoldSummaryResource(Resource):
    """Numbers of items by safety in gold and in the crowd."""

    n_raters: int | None
    n_items: int
    both_safe: int
    both_unsafe: int
    gold_only: Annotated[int, Field(description="Items called unsafe by gold alone.")]
    crowd_only: Annotated[int, Field(description="Items called unsafe by the crowd alone.")]
    tied: int
    disagreement: Annotated[float | None, Field(description="Share of items called unsafe by one of the two alone.")]
    alpha: Annotated[
        float | None, Field(description="Krippendorff's nominal alpha of gold and crowd; null if undefined.")
    ]
    reason: Annotated[str | None, Field(description="Reason if it is undefined.")]


class ConfusionResource(Resource):
    """Number of items with one combination of labels."""

    crowd: str
    gold: str
    platinum: Annotated[str | None, Field(description="Null if platinum is not compared.")] = None
    n_items: int
    share: float


class CrowdComparisonResource(Resource):
    """Comparison of expert labels with the crowd."""

    rule: Annotated[str, Field(description="Rule that maps answers to safe and unsafe, in words.")]
    question: str
    notes: tuple[str, ...]
    summary: GoldSummaryResource
    confusion: tuple[ConfusionResource, ...]


class GoldComparisonResource(Resource):
    """Comparison of experts with the crowd so far, and with an earlier crowd (platinum)."""

    n_gold: int
    n_platinum: int
    n_items: int
    with_crowd: Annotated[CrowdComparisonResource | None, Field(description="Null if nothing can be compared yet.")]
    with_platinum: Annotated[
        CrowdComparisonResource | None,
        Field(description="Comparison on items with gold and platinum labels; null if there are none."),
    ]
    reason: Annotated[str | None, Field(description="Reason if nothing is compared.")]


class PlatinumCountResource(Resource):
    """Result of adding platinum labels."""

    items: Annotated[int, Field(description="Number of items that now have a platinum label.")]
