"""What programs get of the labels of experts."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from dissensus.campaign.gold_labels import ItemState, State
from dissensus.schema.campaign.gold import Part
from dissensus.web.api.schemas import Shown

Answers = Annotated[dict[str, str | list[str]], Field(description="By question.")]


class LabelShown(Shown):
    """What one expert said of a part, at one time."""

    by: Annotated[str, Field(description="The name of the expert.")]
    revision: Annotated[int, Field(description="From 1; a correction is one more.")]
    said: Answers
    at: datetime


class GoldDecisionShown(Shown):
    """What somebody decided where experts differ."""

    by: Annotated[str, Field(description="The name of the member.")]
    revision: Annotated[int, Field(description="From 1; the last one holds.")]
    said: Answers
    why: str
    at: datetime


class PartShown(Shown):
    """How far one part of an item is."""

    part: Part
    state: State
    n_labels: int
    needed: Annotated[int, Field(description="How many experts label it.")]
    of_file: Annotated[str | None, Field(description="What the file of the items says; then no expert is asked.")]
    settled: Annotated[Answers | None, Field(description="What holds; null where nothing is settled by experts.")]
    labels: Annotated[
        list[LabelShown] | None,
        Field(description="With all corrections; null until all labels of the item are in."),
    ]
    decisions: list[GoldDecisionShown]


class GoldShown(Shown):
    """An item, and how far its labels are."""

    id: str
    position: int
    state: ItemState
    withheld: Annotated[bool, Field(description="Whether a rater reported it, so that nobody is shown it.")]
    labellers: Annotated[list[str], Field(description="Names of those who labelled it.")]
    columns: Annotated[dict[str, str], Field(description="What experts settled, as the export has it.")]
    parts: list[PartShown]


class SummaryShown(Shown):
    """How often gold and crowd call the same items safe and unsafe."""

    n_raters: int | None
    n_items: int
    both_safe: int
    both_unsafe: int
    gold_only: Annotated[int, Field(description="Items that gold alone calls unsafe.")]
    crowd_only: Annotated[int, Field(description="Items that the crowd alone calls unsafe.")]
    tied: int
    differ: Annotated[float | None, Field(description="The share of items that one alone calls unsafe.")]
    alpha: Annotated[float | None, Field(description="Krippendorff's, nominal, null where it is undefined.")]
    reason: Annotated[str | None, Field(description="Why it is undefined.")]


class ConfusionShown(Shown):
    """How many items have one combination of labels."""

    crowd: str
    gold: str
    platinum: Annotated[str | None, Field(description="Null where platinum is not compared.")] = None
    n_items: int
    share: float


class ComparedShown(Shown):
    """Labels of experts beside those of the crowd."""

    rule: Annotated[str, Field(description="How answers became safe and unsafe, in words.")]
    question: str
    notes: list[str]
    summary: SummaryShown
    confusion: list[ConfusionShown]


class ComparisonShown(Shown):
    """Experts beside the crowd so far, and beside an earlier one."""

    n_gold: int
    n_platinum: int
    n_items: int
    found: Annotated[ComparedShown | None, Field(description="Null where nothing can be compared yet.")]
    with_platinum: Annotated[ComparedShown | None, Field(description="Of items with both labels, null for none.")]
    reason: Annotated[str | None, Field(description="Why nothing is compared.")]


class Brought(Shown):
    """What was brought in."""

    items: Annotated[int, Field(description="How many items have such a label by it.")]


def compared(found: Any) -> ComparedShown:
    """Return a comparison of the whole pool."""
    told = found.to_dict()
    (summary,) = told["summary"]
    return ComparedShown.model_validate({**told, "summary": summary})
