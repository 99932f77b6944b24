"""Effects of groups of raters for the datasheet of a release, from its published ratings alone."""

from typing import Final

from dissensus.errors import DissensusError
from dissensus.pipeline.model import fit_model
from dissensus.pipeline.release.assessment import AssessedRelease
from dissensus.pipeline.release.description import ReleasedEffect, ReleasedEffects
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.schema.formula import Formula, GroupTerm
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings

MIN_GROUP: Final = 8
"""Raters of each group of an attribute whose effects are stated."""
MAX_MODELLED: Final = 200_000
"""Ratings that are modelled when a release is written."""


def estimate_effects(source: ReleaseSource, assessed: AssessedRelease) -> ReleasedEffects:
    """Return the effects of all attributes whose groups are large enough, or the reason without one."""
    ratings, question = assessed.ratings, assessed.question
    if source.by_authors or source.preferences:
        return ReleasedEffects(reason="Preferences between two responses are not modelled.")
    if ratings.n_ratings > MAX_MODELLED:
        return ReleasedEffects(reason=f"More than {MAX_MODELLED:,} ratings are not modelled when a release is written.")
    axes = [axis for axis in assessed.publication.axes if _has_large_groups(ratings, axis)]
    if not axes:
        return ReleasedEffects(reason=f"No attribute has two groups or more, of {MIN_GROUP} raters each.")
    intercepts = tuple(GroupTerm((), intercept=True, group=(group,)) for group in (names.RATER_ID, names.ITEM_ID))
    formula = Formula(question, tuple((axis,) for axis in axes), intercepts)
    try:
        model = fit_model(ratings.select_question(question), formula, draws=0)
    except DissensusError as error:
        return ReleasedEffects(reason=str(error))
    return ReleasedEffects(
        effects=tuple(
            ReleasedEffect(
                axis=row.term,
                group=str(row.level),
                base=model.base[row.term],
                estimate=row.estimate,
                low=row.ci_low,
                high=row.ci_high,
            )
            for row in model.effects
        ),
        formula=model.formula,
        n_raters=model.n_raters,
        towards=model.categories[-1],
    )


def _has_large_groups(ratings: Ratings, axis: str) -> bool:
    if axis not in ratings.axes:
        return False
    sizes = ratings.raters[axis].drop_nulls().value_counts()["count"]
    return len(sizes) > 1 and bool((sizes >= MIN_GROUP).all())
