"""Analysis of a file of red-team attempts."""

from collections.abc import Iterator, Sequence

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.attempts.cells import Resampling, compute_mean_cells, count_tags, relate_to_rating
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns, read_columns
from dissensus.pipeline.analyse.attempts.concentration import measure_concentration
from dissensus.pipeline.analyse.attempts.mixed import fit_mixed_model
from dissensus.pipeline.analyse.attempts.result import AttemptAnalysis
from dissensus.pipeline.analyse.attempts.reviews import add_tags, analyse_reviews, match_reviews
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import MAX_RATING, SUCCESS, Attempt
from dissensus.schema.records.review import Review
from dissensus.stats.clustered import drawn_clusters
from dissensus.stats.result import check_level

SCORE, RATING = "least harmlessness score", "rating of the red-teamer"


def analyse_attempts(
    attempts: Sequence[Attempt],
    *,
    reviews: Sequence[Review] = (),
    ids: Sequence[str] | None = None,
    success_from: int = SUCCESS,
    bootstrap: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> AttemptAnalysis:
    """Analyse red-team attempts: who succeeds against which model, how harmless it stays, and who made the attempts.

    Parameters
    ----------
    attempts
        One or more.
    reviews
        What others say of them.
    ids
        Ids of the attempts, by which reviews name them; by default their numbers, from "1".
    success_from
        The least rating that is a success.
    bootstrap
        Replicates in which red-teamers, with all their attempts, are drawn with replacement; 0 for no intervals.
    seed
        Of these.
    level
        Confidence level.

    Returns
    -------
    AttemptAnalysis
        What the attempts do not determine is None, with a reason.

    Raises
    ------
    InvalidInput
        There is no attempt, an option is out of range, or reviews cannot be joined to the attempts.

    Examples
    --------
    >>> import dissensus as ds
    >>> found = analyse_attempts(ds.simulate_attempts(2000, seed=1), bootstrap=200)
    >>> everything = found.success[0].mean
    >>> round(everything.estimate, 3), everything.clusters
    (0.339, 324)
    >>> [(cell.model_type, round(cell.mean.estimate, 2)) for cell in found.harmlessness if cell.size is None][1:]
    [('plain lm', -0.73), ('context distillation', -0.8), ('rejection sampling', 1.59), ('rlhf', 1.25)]
    """
    if not attempts:
        raise InvalidInput("There is no attempt, so there is nothing to analyse. Give one or more.")
    check_whole("success_from", success_from, 1, MAX_RATING)
    check_whole("bootstrap", bootstrap, 0)
    if bootstrap == 1:
        raise InvalidInput("bootstrap is 1; one replicate has no spread. Give 0, or 1000 for a stable interval.")
    check_whole("seed", seed)
    check_level(level)
    columns = read_columns(attempts, success_from)
    resampling = Resampling(drawn_clusters(columns.n_red_teamers, bootstrap, seed), level)
    given = match_reviews(reviews, ids or [str(number + 1) for number in range(len(attempts))]) if reviews else None
    tagged = columns if given is None else add_tags(columns, given)
    return AttemptAnalysis(
        n_attempts=len(attempts),
        n_red_teamers=columns.n_red_teamers,
        success=compute_mean_cells(columns, columns.succeeded, resampling),
        harmlessness=compute_mean_cells(columns, columns.score, resampling, quantiles=True),
        relation=relate_to_rating(columns, columns.score, resampling),
        tags=count_tags(tagged, resampling),
        n_tagged=sum(some is not None for some in tagged.tags),
        concentration=measure_concentration(columns),
        models=tuple(
            fit_mixed_model(name, values, columns, level=level)
            for name, values in ((SCORE, columns.score), (RATING, columns.rating))
        ),
        reviewed=None if given is None else analyse_reviews(columns, given, resampling, success_from=success_from),
        success_from=success_from,
        bootstrap=bootstrap,
        seed=seed,
        level=level,
        notes=tuple(_notes(columns)),
    )


def _notes(columns: AttemptColumns) -> Iterator[str]:
    unknown = (
        (columns.rating, "a rating", "successes"),
        (columns.score, "a harmlessness score", "scores"),
    )
    for values, what, where in unknown:
        if n := int(np.isnan(values).sum()):
            yield f"{n:,} of {len(columns):,} attempts have no {what.removeprefix('a ')}; they are left out of {where}."
