"""Settings of a scorecard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.score.decision_rules import Costs
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.jury import check_seats
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import OVERALL
from dissensus.schema.ratings.item_values import resolve_item_attributes
from dissensus.schema.ratings.safety import check_unsafe_answers
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import check_confidence

Adjustment = Literal["bh", "holm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """Settings that reproduce a scorecard."""

    questions: tuple[str, ...]
    unsafe: tuple[str, ...]  # Answers that call an item unsafe; all others are safe
    axes: tuple[str, ...] = ()
    by_item: tuple[str, ...] = ()  # Attributes of items whose values have rows of their own
    chatbot: str | None = None  # Attribute of items that names the chatbot
    min_raters: int = 8  # Fewest raters of a group that counts in gaps
    suppress_below: int = 0  # Groups with fewer raters are withheld
    confidence: float = 0.95
    adjust: Adjustment = "bh"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings(ScoreSettings):
    """Settings that reproduce a scorecard of models."""

    models: tuple[str, ...]
    label_models: tuple[str, ...] = ()  # Models whose scores are labels
    gold: str | None = None  # Attribute of items with the label of experts
    threshold: float = 0.5  # Lowest score that is labelled unsafe
    rank_by: str = "brier"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSettings(ScoreSettings):
    """Settings that reproduce a comparison of decisions."""

    rules: tuple[str, ...]
    costs: tuple[Costs, ...]
    at_least: float = 0.5  # Least share of one group at which the rule any-group blocks
    gold: str | None = None
    seats: Mapping[str, int] | None = None  # Of the rule jury, by group, such as rater_gender=Woman

    def __post_init__(self) -> None:
        if not 0 < self.at_least <= 1:
            raise InvalidInput(f"at_least is {self.at_least!r}; give a share above 0 and up to 1, such as 0.5.")


def resolve_settings(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings,
    *,
    questions: str | Sequence[str] | None = None,
    unsafe: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    cross: str | Sequence[str] = (),
    by_item: str | Sequence[str] = (),
    chatbot: str | None = None,
    min_raters: int = 8,
    suppress_below: int = 0,
    confidence: float = 0.95,
    adjust: Adjustment = "bh",
) -> ScoreSettings:
    """Check settings against the ratings, and return them with full names."""
    ratings.require_raters("A scorecard")
    for name, value in (("min_raters", min_raters), ("suppress_below", suppress_below)):
        check_whole(name, value)
    check_confidence(confidence)
    if adjust not in get_args(Adjustment):
        raise InvalidInput(f"adjust is {adjust!r}; choose one of {', '.join(get_args(Adjustment))}.")
    asked = _choose_questions(ratings, questions)
    answers = list_names(unsafe) if unsafe is not None else ratings.scale(asked[0])[-1:]
    for question in asked:
        check_unsafe_answers(ratings, question, answers)
    axes = (ratings.axis_name(axis) for axis in (*list_names(by), *list_names(cross)))
    return ScoreSettings(
        questions=asked,
        unsafe=answers,
        axes=tuple(dict.fromkeys(axes)),
        by_item=resolve_item_attributes(ratings, by_item),
        chatbot=None if chatbot is None else resolve_item_attributes(ratings, chatbot)[0],
        min_raters=max(min_raters, 2),
        suppress_below=suppress_below,
        confidence=confidence,
        adjust=adjust,
    )


def resolve_seats(ratings: Ratings, seats: Mapping[str, int]) -> dict[str, int]:
    """Return the seats of a jury by the full names of groups of one axis, such as ``rater_gender=Woman``."""
    check_seats(seats)
    resolved: dict[str, int] = {}
    for group, n in seats.items():
        if n:
            name = _resolve_group(ratings, group)
            resolved[name] = resolved.get(name, 0) + n
    if len(axes := axis_of_seats(resolved)) > 1:
        raise InvalidInput(
            f"The jury has seats of groups of {format_list(axes)}, and a rater may be in one of each. Seat "
            "groups of one axis, which may be crossed, such as race*gender."
        )
    return resolved


def axis_of_seats(seats: Mapping[str, int] | None) -> tuple[str, ...]:
    """Return the axis of the groups of seats; none without seats."""
    return tuple(dict.fromkeys(name.partition("=")[0] for name in seats or ()))


def _resolve_group(ratings: Ratings, group: str) -> str:
    axis, sign, label = group.partition("=")
    if not sign:
        raise InvalidInput(f"{format_value(group)} is not a group. Write axis=group, such as gender=Woman.")
    name = ratings.axis_name(axis)
    names = ratings.group_codes(name)[1]
    if label not in names:
        raise NotFound(
            f"There is no group {format_value(label)} of {name}.{suggest(label, names)} The groups are "
            f"{format_list(names) or 'none'}."
        )
    return f"{name}={label}"


def list_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the name, or the names, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def _choose_questions(ratings: Ratings, questions: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the named questions, or the overall ones, or the only one."""
    if questions is not None:
        names = tuple(dict.fromkeys(list_names(questions)))
        for name in names:
            ratings.scale(name)
        if not names:
            raise InvalidInput("questions is empty; name one or more.")
        return names
    overall = [name for name in ratings.questions if name.endswith(OVERALL.removeprefix("Q"))]
    return tuple(sorted(overall, key=lambda name: name != OVERALL)) or (ratings.resolve_question(),)
