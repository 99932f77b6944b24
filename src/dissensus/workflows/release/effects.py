"""Effects of groups of raters for the datasheet of a release, from its published ratings alone."""

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from dissensus.errors import DissensusError
from dissensus.pipeline.model import fit_model
from dissensus.pipeline.release.assessment import AssessedRelease
from dissensus.pipeline.release.description import ReleasedEffect, ReleasedEffects
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.schema.advice import site_message
from dissensus.schema.formula import Formula, GroupTerm
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings

MIN_GROUP: Final = 8
"""Minimum number of raters in each group of an attribute whose effects are stated."""
MAX_MODELLED: Final = 200_000
"""Maximum number of ratings that are modelled when a release is written."""


def estimate_effects(source: ReleaseSource, assessed: AssessedRelease) -> ReleasedEffects:
    """Return the effects of all attributes whose groups are large enough, or the reason why there are none."""
    ratings, question = assessed.ratings, assessed.question
    if source.by_authors or source.preferences:
        return ReleasedEffects(reason="Preferences between two responses are not modelled.")
    if ratings.n_ratings > MAX_MODELLED:
        return ReleasedEffects(reason=f"More than {MAX_MODELLED:,} ratings are not modelled when a release is written.")
    ratings = ratings.select_question(question)
    sizes = _count_groups(ratings, assessed.publication.axes)
    axes = tuple(sizes)
    if not axes:
        return ReleasedEffects(reason=f"No attribute has two groups or more, of {MIN_GROUP} raters each.")
    intercepts = tuple(GroupTerm((), intercept=True, group=(group,)) for group in (names.RATER_ID, names.ITEM_ID))
    formula = Formula(question, tuple((axis,) for axis in axes), intercepts)
    try:
        model = fit_model(ratings, formula, draws=0)
    except DissensusError as error:
        return ReleasedEffects(reason=site_message(error))
    return ReleasedEffects(
        effects=tuple(
            ReleasedEffect(
                axis=row.term,
                group=str(row.level),
                n_group=sizes[row.term][str(row.level)],
                base=model.base[row.term],
                n_base=sizes[row.term][model.base[row.term]],
                estimate=row.estimate,
                low=row.ci_low,
                high=row.ci_high,
            )
            for row in model.effects
        ),
        formula=model.formula,
        n_raters=model.n_raters,
        towards=model.categories[-1],
        warnings=model.warnings,
    )


def _count_groups(ratings: Ratings, axes: Iterable[str]) -> Mapping[str, Mapping[str, int]]:
    """Return the raters of each group of the axes that are modelled.

    The model has the raters with a value on each axis: as long as some of their groups are small, the axis that most
    raters lack is left out.
    """
    raters = ratings.raters
    candidates = [axis for axis in axes if axis in ratings.axes and _is_large(_count_values(raters[axis]))]
    while candidates:
        known = raters.drop_nulls(candidates)
        sizes = {axis: _count_values(known[axis]) for axis in candidates}
        if all(map(_is_large, sizes.values())):
            return sizes
        candidates.remove(max(candidates, key=lambda axis: raters[axis].null_count()))
    return {}


def _count_values(groups: pl.Series) -> dict[str, int]:
    return {str(group): n for group, n in groups.drop_nulls().value_counts().iter_rows()}


def _is_large(sizes: Mapping[str, int]) -> bool:
    return len(sizes) > 1 and min(sizes.values()) >= MIN_GROUP
