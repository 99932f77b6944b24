"""Agreement of reviewers with each other and with the red-teamer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.analyse.attempts.cells import Resampling, compute_mean_cells, relate_to_rating
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns, mark_successes
from dissensus.pipeline.analyse.attempts.result import ReviewAgreement, ReviewResults
from dissensus.schema.hints import format_list
from dissensus.schema.records.attempt import MAX_RATING
from dissensus.schema.records.review import Review
from dissensus.stats.agreement import fleiss_kappa, krippendorff_alpha
from dissensus.stats.clustered import Clustered, Codes, clustered
from dissensus.stats.result import Estimate, FloatArray

REVIEWERS, EVERYBODY = "reviewers", "reviewers and red-teamer"
POINTS, BINARY = "five points", "success or not"

Counts = npt.NDArray[np.int64]


class ReviewTable(NamedTuple):
    """Reviews of attempts that are there: place of the attempt, number of the reviewer, success, and tags."""

    attempt: Codes
    reviewer: Codes
    success: FloatArray
    tags: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def match_reviews(reviews: Sequence[Review], ids: Sequence[str]) -> ReviewTable:
    """Join reviews to attempts by the ids of these."""
    place = {name: number for number, name in enumerate(ids)}
    if len(place) < len(ids):
        twice = next(name for number, name in enumerate(ids) if place[name] != number)
        raise InvalidInput(f"Two attempts have the id {twice!r}, so nobody knows which one was reviewed.")
    known = [review for review in reviews if review.attempt_id in place]
    strange = list(dict.fromkeys(review.attempt_id for review in reviews if review.attempt_id not in place))
    if not known:
        raise InvalidInput(
            f"No review is of any of the attempts, which are {format_list(list(ids), 3)}; reviews are of "
            f"{format_list(strange, 3)}. attempt_id is that of the attempts file, or the number of the record, from 1."
        )
    _check_once(known)
    people = {name: number for number, name in enumerate(dict.fromkeys(review.reviewer_id for review in known))}
    n_left = len(reviews) - len(known)
    reviews_left = f"{n_left:,} review{'s' if n_left > 1 else ''} left out"
    left = (f"{reviews_left}: attempts that are not there, as {format_list(strange, 3)}.",)
    return ReviewTable(
        np.array([place[review.attempt_id] for review in known], np.intp),
        np.array([people[review.reviewer_id] for review in known], np.intp),
        np.array([review.success for review in known], np.float64),
        tuple(review.tags for review in known),
        left if n_left else (),
    )


def _check_once(reviews: Sequence[Review]) -> None:
    seen = set()
    for review in reviews:
        if (both := (review.attempt_id, review.reviewer_id)) in seen:
            raise InvalidInput(
                f"Reviewer {review.reviewer_id!r} reviewed attempt {review.attempt_id!r} twice. Keep one of the two."
            )
        seen.add(both)


def add_tags(columns: AttemptColumns, given: ReviewTable) -> AttemptColumns:
    """Return attempts with the tags of their reviews where the file has none."""
    found: dict[int, dict[str, None]] = {}
    for place, some in zip(given.attempt.tolist(), given.tags, strict=True):
        found.setdefault(place, {}).update(dict.fromkeys(some))
    tags = tuple(
        tuple(found[place]) if tags is None and place in found else tags for place, tags in enumerate(columns.tags)
    )
    return replace(columns, tags=tags)


def analyse_reviews(
    columns: AttemptColumns, given: ReviewTable, resampling: Resampling, *, success_from: int
) -> ReviewResults:
    """Compare reviewers with each other and with the red-teamer."""
    n = len(columns)
    number = np.bincount(given.attempt, minlength=n)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(given.attempt, weights=given.success, minlength=n) / number
    of_reviews = replace(
        columns,
        kind=columns.kind[given.attempt],
        size=columns.size[given.attempt],
        red_teamer=columns.red_teamer[given.attempt],
        tags=tuple(columns.tags[place] for place in given.attempt.tolist()),
    )
    return ReviewResults(
        n_reviews=len(given.attempt),
        n_attempts=int((number > 0).sum()),
        n_reviewers=int(given.reviewer.max()) + 1,
        agreement=tuple(_agreement(columns, given, resampling, success_from)),
        success=compute_mean_cells(of_reviews, mark_successes(given.success, success_from), resampling),
        relation=relate_to_rating(columns, mean, resampling),
        notes=given.notes,
    )


_COEFFICIENTS: Final[Mapping[str, Mapping[str, Callable[[Counts], Estimate]]]] = {
    POINTS: {
        "Krippendorff's alpha, ordinal": lambda counts: krippendorff_alpha(counts, level="ordinal"),
        "Fleiss' kappa": fleiss_kappa,
    },
    BINARY: {"Krippendorff's alpha, nominal": krippendorff_alpha, "Fleiss' kappa": fleiss_kappa},
}


def _agreement(
    columns: AttemptColumns, given: ReviewTable, resampling: Resampling, success_from: int
) -> Iterator[ReviewAgreement]:
    there = np.unique(given.attempt)
    alone = np.zeros((len(columns), MAX_RATING + 1), np.int64)
    np.add.at(alone, (given.attempt, given.success.astype(np.intp)), 1)
    everybody = alone.copy()
    rated = np.flatnonzero(np.isfinite(columns.rating))
    everybody[rated, columns.rating[rated].astype(np.intp)] += 1
    for raters, counts in ((REVIEWERS, alone[there]), (EVERYBODY, everybody[there])):
        halves = np.column_stack([counts[:, :success_from].sum(axis=1), counts[:, success_from:].sum(axis=1)])
        for scale, of in ((POINTS, counts), (BINARY, halves)):
            for name, coefficient in _COEFFICIENTS[scale].items():
                estimate = _estimate(coefficient, of, columns.red_teamer[there], resampling)
                yield ReviewAgreement(raters=raters, scale=scale, coefficient=name, estimate=estimate)


def _estimate(
    coefficient: Callable[[Counts], Estimate], counts: Counts, red_teamer: Codes, resampling: Resampling
) -> Clustered:
    """Return a coefficient over attempts that come in clusters of red-teamers, or why there is none."""
    several = counts.sum(axis=1) >= 2
    counts, red_teamer = counts[several], red_teamer[several]
    sizes = np.bincount(red_teamer, minlength=resampling.draws.shape[1]).astype(np.float64)
    try:
        estimate = coefficient(_even(counts) if coefficient is fleiss_kappa else counts).estimate
    except UndefinedEstimate as reason:
        nothing = clustered(np.nan, np.empty(0), sizes, same=False, level=resampling.level)
        return replace(nothing, reason=str(reason))
    replicates = [
        _or_nan(coefficient, np.repeat(counts, _times(draw, red_teamer), axis=0)) for draw in resampling.draws
    ]
    return clustered(estimate, np.array(replicates), sizes, same=False, level=resampling.level)


def _even(counts: Counts) -> Counts:
    if len(np.unique(counts.sum(axis=1))) > 1:
        raise UndefinedEstimate("attempts have different numbers of ratings, for which alpha allows")
    return counts


def _times(draw: FloatArray, red_teamer: Codes) -> Codes:
    return draw[red_teamer].astype(np.intp)


def _or_nan(coefficient: Callable[[Counts], Estimate], counts: Counts) -> float:
    try:
        return coefficient(counts).estimate
    except UndefinedEstimate:
        return float("nan")
