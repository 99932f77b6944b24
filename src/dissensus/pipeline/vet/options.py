"""Questions and axes that vetting and filter audits share."""

from collections.abc import Sequence

from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings.table import Ratings


def granular_questions(ratings: Ratings, question: str) -> tuple[str, ...]:
    """Return the questions on the scale of the one asked that were answered themselves, not made from others."""
    made = {name for known in published_questionnaires() for name in load_questionnaire(known).overalls}
    scale = ratings.scale(question)
    return tuple(name for name in ratings.questions if name not in made and ratings.scale(name) == scale)


def axes_of(ratings: Ratings, by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return full names of the axes asked for, each once; all by default."""
    if by is None:
        return ratings.axes
    return tuple(dict.fromkeys(ratings.axis_name(text) for text in ([by] if isinstance(by, str) else by)))
