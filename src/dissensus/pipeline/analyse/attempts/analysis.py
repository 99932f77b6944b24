"""Analysis of a file of red-team attempts."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.attempts.cells import Resampling, compute_mean_cells, count_tags, relate_to_rating
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns, read_columns
from dissensus.pipeline.analyse.attempts.mixed import fit_mixed_model
from dissensus.pipeline.analyse.attempts.result import AttemptAnalysis, Concentration, TopRedTeamers
from dissensus.pipeline.analyse.attempts.reviews import add_tags, analyse_reviews, match_reviews
from dissensus.schema.records.attempt import SUCCESS, Attempt, Review
from dissensus.stats.result import IndexArray

SCORE, RATING = "least harmlessness score", "rating of the red-teamer"
TOP: Final = (1, 5, 10, 20, 50, 100)
"""Numbers of the most active red-teamers whose share is reported; the red-team paper reports 50."""


def analyse_attempts(
    attempts: Sequence[Attempt],
    *,
    reviews: Sequence[Review] = (),
    ids: Sequence[str] | None = None,
    success_from: int = SUCCESS,
    bootstrap: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> AttemptAnalysis:
    """Analyse red-team attempts: success and harmlessness by model, tags, red-teamers and reviews.

    Parameters
    ----------
    attempts
        One or more attempts.
    reviews
        Reviews of the attempts by other people.
    ids
        Ids of the attempts in reviews; by default their numbers, from "1".
    success_from
        Smallest rating that counts as a success.
    bootstrap
        Number of replicates in which red-teamers, with all their attempts, are drawn with replacement; 0 for no
        intervals.
    seed
        Seed of the replicates.
    confidence
        Confidence level.

    Returns
    -------
    AttemptAnalysis
        Undefined estimates are None, with a reason.

    Raises
    ------
    InvalidInput
        There are no attempts, an option is out of range, or reviews do not match the attempts.

    Examples
    --------
    >>> import dissensus as ds
    >>> analysis = analyse_attempts(ds.simulate_attempts(2000, seed=1), bootstrap=200)
    >>> overall = analysis.success[0].mean
    >>> round(overall.estimate, 3), overall.clusters
    (0.339, 324)
    >>> [(cell.model_type, round(cell.mean.estimate, 2)) for cell in analysis.harmlessness if cell.size is None][1:]
    [('plain lm', -0.73), ('context distillation', -0.8), ('rejection sampling', 1.59), ('rlhf', 1.25)]
    """
    if not attempts:
        raise InvalidInput("There are no attempts to analyse. Give one or more.")
    if ids is not None and len(ids) != len(attempts):
        raise InvalidInput(f"There are {len(ids):,} ids and {len(attempts):,} attempts. Give one id for each attempt.")
    columns = read_columns(attempts, success_from)
    resampling = Resampling.draw(columns, bootstrap, seed, confidence)
    default_ids = [str(number) for number in range(1, len(attempts) + 1)]
    table = match_reviews(reviews, ids or default_ids) if reviews else None
    tagged = columns if table is None else add_tags(columns, table)
    return AttemptAnalysis(
        n_attempts=len(attempts),
        n_red_teamers=columns.n_red_teamers,
        success=compute_mean_cells(columns, columns.succeeded, resampling),
        harmlessness=compute_mean_cells(columns, columns.score, resampling, quantiles=True),
        relation=relate_to_rating(columns, columns.score, resampling),
        tags=count_tags(tagged, resampling),
        n_tagged=sum(tags is not None for tags in tagged.tags),
        concentration=measure_concentration(columns),
        models=tuple(
            fit_mixed_model(name, values, columns, confidence=confidence)
            for name, values in ((SCORE, columns.score), (RATING, columns.rating))
        ),
        reviewed=None if table is None else analyse_reviews(columns, table, resampling, success_from=success_from),
        success_from=success_from,
        bootstrap=bootstrap,
        seed=seed,
        confidence=confidence,
        notes=tuple(_notes(columns)),
    )


def _notes(columns: AttemptColumns) -> Iterator[str]:
    for values, name, results in (
        (columns.rating, "rating", "successes"),
        (columns.score, "harmlessness score", "scores"),
    ):
        if n := int(np.isnan(values).sum()):
            yield f"{n:,} of {len(columns):,} attempts have no {name}; they are left out of {results}."


def measure_concentration(columns: AttemptColumns) -> Concentration:
    """Return the distributions of attempts and of successes, each in descending order."""
    n = columns.n_red_teamers
    attempts = _sort_descending(np.bincount(columns.red_teamer, minlength=n))
    successes = _sort_descending(np.bincount(columns.red_teamer[columns.succeeded == 1], minlength=n))
    return Concentration(
        attempts=tuple(attempts.tolist()),
        successes=tuple(successes.tolist()),
        top=tuple(
            TopRedTeamers(k, float(attempts[:k].sum() / attempts.sum()), _share(successes, k))
            for k in TOP
            if k < n or k == 1
        ),
        gini_attempts=compute_gini(attempts),
        gini_successes=compute_gini(successes) if successes.any() else None,
    )


def compute_gini(counts: npt.ArrayLike) -> float:
    r"""Return the Gini coefficient, half the mean absolute difference of all pairs over the mean.

    .. math:: G = \frac{\sum_i (2 i - n - 1) x_{(i)}}{n \sum_i x_i}

    Examples
    --------
    >>> compute_gini([5, 5, 5]), compute_gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    ascending = np.sort(np.asarray(counts, np.float64))
    n = len(ascending)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ascending / (n * ascending.sum()))


def _sort_descending(counts: IndexArray) -> IndexArray:
    return np.sort(counts)[::-1]


def _share(successes: IndexArray, k: int) -> float | None:
    return float(successes[:k].sum() / successes.sum()) if successes.any() else None
