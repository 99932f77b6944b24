"""Fields of the plan form of each question, with defaults from the draft."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from dissensus.pipeline.plan.shipped_presets import list_pilots
from dissensus.schema.campaign.definition import Campaign, Pay
from dissensus.schema.money import to_major_units
from dissensus.stats.planning.comparison import COMPARISON_METRICS
from dissensus.stats.planning.simulated_power import PLANNED_STATISTICS

FieldKind = Literal["number", "text", "lines", "choice", "check", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanField:
    """A field of the form."""

    name: str
    label: str
    kind: FieldKind = "number"
    default: str = ""
    hint: str = ""
    options: tuple[tuple[str, str], ...] = ()  # values and labels


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """A question that a plan answers, with its fields."""

    name: str
    title: str
    lead: str
    fields: tuple[PlanField, ...]


STATISTIC_LABELS: Final = {
    "share": "share of the answer",
    "interaction": "interaction of two axes",
    "agreement": "pairwise agreement",
    "alpha": "Krippendorff's alpha",
    "gai": "group association index",
    "decomposition": "disagreement between groups",
}
METRIC_LABELS: Final = {
    "share": "share of the last answer to two chatbots",
    "accuracy": "accuracy of two models beside people",
    "tv": "distance of two models from people",
    "wins": "items on which a model is nearer to people",
}
POPULATION_FIELDS: Final = (
    PlanField(
        name="preset",
        label="Population",
        kind="choice",
        options=tuple((name, f"{name}, published") for name in list_pilots()),
    ),
    PlanField(
        name="pilot",
        label="or ratings of a pilot",
        kind="file",
        hint="CSV, JSON Lines or Parquet. Its standard deviations are measured; the file is not kept.",
    ),
)
AXIS_FIELD: Final = PlanField(
    name="by", label="Axis of the groups", kind="text", hint="Such as race; empty: groups do not differ on items."
)


def build_questions(campaign: Campaign, n_items: int) -> Mapping[str, PlanQuestion]:
    """Return the questions with their fields; defaults are the numbers of a draft."""
    items = PlanField(name="items", label="Items", default=str(n_items or 350))
    cost = _list_cost_fields(campaign.pay)
    questions = (
        _groups_question(campaign, items, cost),
        _precision_question(campaign, items, cost),
        _pool_question(campaign, items, cost),
        _comparison_question(campaign, cost),
    )
    return {question.name: question for question in questions}


def _list_cost_fields(pay: Pay | None) -> tuple[PlanField, ...]:
    return (
        PlanField(
            name="hourly_rate",
            label="Pay of an hour",
            default=f"{to_major_units(pay.currency, pay.hourly_rate)}" if pay else "",
            hint=f"In {pay.currency if pay else 'GBP'}; empty: no cost.",
        ),
        PlanField(name="minutes_per_item", label="Minutes of a rating", hint="Empty: those of the population."),
    )


def _groups_question(campaign: Campaign, items: PlanField, cost: Sequence[PlanField]) -> PlanQuestion:
    return PlanQuestion(
        name="groups",
        title="Raters of a group",
        lead="How many raters of each group show a difference between two groups?",
        fields=(
            *POPULATION_FIELDS,
            AXIS_FIELD,
            _choice("statistic", "Compare", PLANNED_STATISTICS, STATISTIC_LABELS),
            PlanField(name="difference", label="Difference to detect", default="0.1", hint="0.1 is ten points."),
            PlanField(name="power", label="Power", default="0.8"),
            PlanField(name="level", label="Level of the test", default="0.05"),
            PlanField(
                name="n_items", label=items.label, kind="text", default=items.default, hint="Several such as 100,350."
            ),
            PlanField(
                name="per_items",
                label="Ratings per item",
                kind="text",
                default=str(campaign.replication or ""),
                hint="Several such as 5,10,20; empty: every rater rates every item.",
            ),
            PlanField(
                name="raters",
                label="Raters of a group",
                kind="text",
                hint="Such as 20,40,80; empty: around the smallest.",
            ),
            *cost,
        ),
    )


def _precision_question(campaign: Campaign, items: PlanField, cost: Sequence[PlanField]) -> PlanQuestion:
    return PlanQuestion(
        name="precision",
        title="Precision",
        lead="How wide are the intervals of shares, differences and items?",
        fields=(
            *POPULATION_FIELDS,
            AXIS_FIELD,
            PlanField(name="raters", label="Raters in all", kind="text", default="20,50,100,200"),
            PlanField(name="per_items", label="Ratings per item", kind="text", hint="Such as 5,10,20."),
            items,
            PlanField(name="groups", label="Groups of one size", default=str(_count_groups(campaign))),
            *cost,
        ),
    )


def _pool_question(campaign: Campaign, items: PlanField, cost: Sequence[PlanField]) -> PlanQuestion:
    return PlanQuestion(
        name="pool",
        title="People to invite",
        lead="How many people must begin, so that enough usable raters of every cell remain?",
        fields=(
            PlanField(
                name="axes",
                label="Axes, with the shares of their groups in the pool",
                kind="lines",
                default=_write_axes(campaign),
                hint="One axis a line. Several axes are crossed.",
            ),
            PlanField(
                name="seats",
                label="Usable raters of a cell",
                default=str(campaign.quota.seats if campaign.quota else 10),
            ),
            PlanField(name="dropout", label="Share that drops out", default="0.1"),
            PlanField(
                name="removal",
                label="Share removed for quality",
                kind="lines",
                default="0.154",
                hint="Of all, or of a group a line, such as Man = 0.23. DICES-350 removed 19 of 123.",
            ),
            PlanField(name="confidence", label="Probability of enough raters", default="0.9"),
            items,
            PlanField(
                name="per_item",
                label="Ratings per item",
                default=str(campaign.replication or ""),
                hint="Empty: every rater rates every item.",
            ),
            *cost,
        ),
    )


def _comparison_question(campaign: Campaign, cost: Sequence[PlanField]) -> PlanQuestion:
    return PlanQuestion(
        name="comparison",
        title="Two chatbots",
        lead="How many items and ratings tell two chatbots or models apart under a budget?",
        fields=(
            *POPULATION_FIELDS,
            _choice("metric", "Compare", COMPARISON_METRICS, METRIC_LABELS),
            PlanField(name="budget", label="Budget", default="2000"),
            PlanField(name="perturbation", label="Answers that differ", default="0.1", hint="0.1 is one in ten."),
            PlanField(name="per_items", label="Ratings of a response", kind="text", default="1,5,20"),
            PlanField(name="load", label="Answers of a rater", default=str(campaign.max_items or 20)),
            PlanField(name="different_raters", label="Different raters for each chatbot", kind="check", default=""),
            *cost,
        ),
    )


def _choice(name: str, label: str, values: Sequence[str], labels: Mapping[str, str]) -> PlanField:
    return PlanField(
        name=name,
        label=label,
        kind="choice",
        default=values[0],
        options=tuple((value, labels[value]) for value in values),
    )


def _count_groups(campaign: Campaign) -> int:
    return len(next(iter(campaign.quota.axes.values()))) if campaign.quota else 2


def _write_axes(campaign: Campaign) -> str:
    """Return the axes of the quota, else the first single-choice question about raters, with equal shares of groups."""
    if campaign.quota is not None:
        axes: dict[str, list[str]] = {axis: list(groups) for axis, groups in campaign.quota.axes.items()}
    else:
        asked = campaign.demographics.questions if campaign.demographics else ()
        first = next((question for question in asked if question.kind == "single"), None)
        axes = {first.name: [answer for answer in first.scale if answer != first.self_describe]} if first else {}
    lines = []
    for axis, groups in axes.items():
        shares = ",".join(f"{group}:{1 / len(groups):.3f}" for group in groups)
        lines.append(f"{axis}={shares}")
    return "\n".join(lines)
