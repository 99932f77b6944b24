"""Settings of a scorecard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dissensus.errors import InvalidInput
from dissensus.pipeline.score.rules import Costs
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
    answers = _list_names(unsafe) if unsafe is not None else ratings.scale(asked[0])[-1:]
    for question in asked:
        check_unsafe_answers(ratings, question, answers)
    axes = (ratings.axis_name(axis) for axis in (*_list_names(by), *_list_names(cross)))
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


def _list_names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _choose_questions(ratings: Ratings, questions: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the named questions, or the overall ones, or the only one."""
    if questions is not None:
        names = tuple(dict.fromkeys(_list_names(questions)))
        for name in names:
            ratings.scale(name)
        if not names:
            raise InvalidInput("questions is empty; name one or more.")
        return names
    overall = [name for name in ratings.questions if name.endswith(OVERALL.removeprefix("Q"))]
    return tuple(sorted(overall, key=lambda name: name != OVERALL)) or (ratings.resolve_question(),)
