"""Agreement of reviewers with each other and with the red-teamer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.analyse.attempts.cells import Resampling, compute_mean_cells, relate_to_rating
from dissensus.pipeline.analyse.attempts.columns import AttemptColumns, mark_successes
from dissensus.pipeline.analyse.attempts.result import ReviewAgreement, ReviewResults
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.records.attempt import MAX_RATING, Review
from dissensus.stats.agreement import fleiss_kappa, krippendorff_alpha
from dissensus.stats.cluster_bootstrap import BootstrapEstimate, summarise_replicates
from dissensus.stats.result import Estimate, FloatArray, IndexArray, Int64Array

REVIEWERS, EVERYBODY = "reviewers", "reviewers and red-teamer"
POINTS, BINARY = "five points", "success or not"


class ReviewTable(NamedTuple):
    """Reviews of known attempts as columns."""

    attempt: IndexArray  # Index of the attempt
    reviewer: IndexArray  # Numbered from 0
    success: FloatArray
    tags: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def match_reviews(reviews: Sequence[Review], ids: Sequence[str]) -> ReviewTable:
    """Match reviews to attempts by id."""
    index = {name: number for number, name in enumerate(ids)}
    if len(index) < len(ids):
        duplicate = next(name for number, name in enumerate(ids) if index[name] != number)
        raise InvalidInput(f"Two attempts have the id {duplicate!r}, so reviews of it are ambiguous.")
    matched = [review for review in reviews if review.attempt_id in index]
    unknown_ids = list(dict.fromkeys(review.attempt_id for review in reviews if review.attempt_id not in index))
    if not matched:
        raise InvalidInput(
            f"No review is of any of the attempts, which are {format_list(list(ids), 3)}; reviews are of "
            f"{format_list(unknown_ids, 3)}. attempt_id is that of the attempts file, or the number of the record, "
            "from 1."
        )
    _check_unique(matched)
    reviewers = {name: number for number, name in enumerate(dict.fromkeys(review.reviewer_id for review in matched))}
    n_dropped = len(reviews) - len(matched)
    note = f"{count_noun(n_dropped, 'review')} left out: unknown attempts, {format_list(unknown_ids, 3)}."
    return ReviewTable(
        np.array([index[review.attempt_id] for review in matched], np.intp),
        np.array([reviewers[review.reviewer_id] for review in matched], np.intp),
        np.array([review.success for review in matched], np.float64),
        tuple(review.tags for review in matched),
        (note,) if n_dropped else (),
    )


def _check_unique(reviews: Sequence[Review]) -> None:
    keys = set()
    for review in reviews:
        if (key := (review.attempt_id, review.reviewer_id)) in keys:
            raise InvalidInput(
                f"Reviewer {review.reviewer_id!r} reviewed attempt {review.attempt_id!r} twice. Keep one of the two."
            )
        keys.add(key)


def add_tags(columns: AttemptColumns, table: ReviewTable) -> AttemptColumns:
    """Add the tags of reviews to attempts without tags."""
    review_tags: dict[int, dict[str, None]] = {}
    for index, tags in zip(table.attempt.tolist(), table.tags, strict=True):
        review_tags.setdefault(index, {}).update(dict.fromkeys(tags))
    merged = tuple(
        tuple(review_tags[index]) if tags is None and index in review_tags else tags
        for index, tags in enumerate(columns.tags)
    )
    return replace(columns, tags=merged)


def analyse_reviews(
    columns: AttemptColumns, table: ReviewTable, resampling: Resampling, *, success_from: int
) -> ReviewResults:
    """Compare reviewers with each other and with the red-teamer."""
    n = len(columns)
    n_reviews = np.bincount(table.attempt, minlength=n)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(table.attempt, weights=table.success, minlength=n) / n_reviews
    review_columns = replace(
        columns,
        kind=columns.kind[table.attempt],
        size=columns.size[table.attempt],
        red_teamer=columns.red_teamer[table.attempt],
        tags=tuple(columns.tags[index] for index in table.attempt.tolist()),
    )
    return ReviewResults(
        n_reviews=len(table.attempt),
        n_attempts=int((n_reviews > 0).sum()),
        n_reviewers=int(table.reviewer.max()) + 1,
        agreement=tuple(_agreement(columns, table, resampling, success_from)),
        success=compute_mean_cells(review_columns, mark_successes(table.success, success_from), resampling),
        relation=relate_to_rating(columns, mean, resampling),
        notes=table.notes,
    )


_COEFFICIENTS: Final[Mapping[str, Mapping[str, Callable[[Int64Array], Estimate]]]] = {
    POINTS: {
        "Krippendorff's alpha, ordinal": lambda counts: krippendorff_alpha(counts, level="ordinal"),
        "Fleiss' kappa": fleiss_kappa,
    },
    BINARY: {"Krippendorff's alpha, nominal": krippendorff_alpha, "Fleiss' kappa": fleiss_kappa},
}


def _agreement(
    columns: AttemptColumns, table: ReviewTable, resampling: Resampling, success_from: int
) -> Iterator[ReviewAgreement]:
    reviewed = np.unique(table.attempt)
    by_reviewers = np.zeros((len(columns), MAX_RATING + 1), np.int64)
    np.add.at(by_reviewers, (table.attempt, table.success.astype(np.intp)), 1)
    everybody = by_reviewers.copy()
    rated = np.flatnonzero(np.isfinite(columns.rating))
    everybody[rated, columns.rating[rated].astype(np.intp)] += 1
    for raters, counts in ((REVIEWERS, by_reviewers[reviewed]), (EVERYBODY, everybody[reviewed])):
        halves = np.column_stack([counts[:, :success_from].sum(axis=1), counts[:, success_from:].sum(axis=1)])
        for scale, table_of_scale in ((POINTS, counts), (BINARY, halves)):
            for name, coefficient in _COEFFICIENTS[scale].items():
                estimate = _estimate(coefficient, table_of_scale, columns.red_teamer[reviewed], resampling)
                yield ReviewAgreement(raters=raters, scale=scale, coefficient=name, estimate=estimate)


def _estimate(
    coefficient: Callable[[Int64Array], Estimate], counts: Int64Array, red_teamer: IndexArray, resampling: Resampling
) -> BootstrapEstimate:
    """Return a coefficient with an interval over red-teamers, or the reason why it is undefined."""
    several = counts.sum(axis=1) >= 2
    counts, red_teamer = counts[several], red_teamer[several]
    sizes = np.bincount(red_teamer, minlength=resampling.draws.shape[1]).astype(np.float64)
    try:
        estimate = coefficient(_require_equal_numbers(counts) if coefficient is fleiss_kappa else counts).estimate
    except UndefinedEstimate as reason:
        undefined = summarise_replicates(np.nan, np.empty(0), sizes, same=False, confidence=resampling.confidence)
        return replace(undefined, reason=str(reason))
    replicates = [
        _estimate_or_nan(coefficient, np.repeat(counts, _count_copies(draw, red_teamer), axis=0))
        for draw in resampling.draws
    ]
    return summarise_replicates(estimate, np.array(replicates), sizes, same=False, confidence=resampling.confidence)


def _require_equal_numbers(counts: Int64Array) -> Int64Array:
    """Return counts of items with one number of ratings, which Fleiss' kappa needs."""
    if len(np.unique(counts.sum(axis=1))) > 1:
        raise UndefinedEstimate("attempts have different numbers of ratings; alpha allows these")
    return counts


def _count_copies(draw: FloatArray, red_teamer: IndexArray) -> IndexArray:
    return draw[red_teamer].astype(np.intp)


def _estimate_or_nan(coefficient: Callable[[Int64Array], Estimate], counts: Int64Array) -> float:
    try:
        return coefficient(counts).estimate
    except UndefinedEstimate:
        return float("nan")
