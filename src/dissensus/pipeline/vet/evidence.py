"""Evidence on the care of each rater."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import polars as pl

from dissensus.pipeline.engine.ratings import PartitionedRatings, code_answers, select_pool
from dissensus.pipeline.vet.consistency import summarise_consistency
from dissensus.pipeline.vet.result import AGREEMENT, Vetting
from dissensus.pipeline.vet.times import read_times, summarise_times
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings.columns import ANSWER_TIME, BULK_SHARE, FLAG, RATER_ID, REPEAT
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.criteria import PARTS, Criteria, describe_criteria, meets_criteria
from dissensus.stats.design import BlockedDesign, Design
from dissensus.stats.raters.consistency import RepeatedAnswers, match_repeats, rater_consistency
from dissensus.stats.result import BoolArray, FloatArray
from dissensus.stats.vetting import (
    Labels,
    Times,
    answer_times,
    count_labels,
    flat_items,
    outlier_score,
    plurality_agreement,
    share_by_rater,
    summarise_labels,
)

COMPREHENSION = "Q1_whole_conversation_evaluation"
SCORED = ("label_entropy", f"{AGREEMENT}pool", "non_comprehension", "flat")
"""Measures of answers in the outlier score; the share of one label follows their entropy."""
OUTLIER, ANSWERS_OUTLIER = "outlier_score", "answers_outlier_score"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measure of every rater."""

    name: str
    values: FloatArray  # Shape (R,); NaN if unknown
    unknown_reason: str  # Reason for an unknown value of a rater
    absent_reason: str  # Reason if the values of all raters are unknown


def vet(
    ratings: Ratings | PartitionedRatings,
    *,
    question: str | None = None,
    criteria: Criteria = Criteria(),  # noqa: B008 - frozen
    by: str | Sequence[str] | None = None,
) -> Vetting:
    """Collect evidence on the care of each rater, and flag raters who meet a criterion. No rating is removed.

    Only the measures of DICES flag a rater: many conversations answered much faster than by the pool, and one label
    throughout (Aroyo et al. 2023, sections 3.3 and 4). The other measures are shown beside them: a rater who differs
    from all others may represent a group, and the paper warns against treating sincere beliefs as noise.

    Parameters
    ----------
    ratings
        The ratings. Times are read from a column ``answer_time_ms``, granular questions with ``questions="all"``. Of
        a folder of Parquet files one question is read, without repeated ratings and shares of answers in bulk.
    question
        The question whose answers are used, if more than one was read; ``Q_overall`` by default.
    criteria
        The thresholds.
    by
        Axes on which raters are compared with their own group; all by default.

    Returns
    -------
    Vetting

    Raises
    ------
    InvalidInput
        The ratings were read without raters, or the question is ambiguous.
    NotFound
        An unknown axis or question.

    Notes
    -----
    Unknown values are null, with a reason; they never flag. The pool's median and the pluralities include raters whom
    the file flags, unless you leave them out with `Ratings.exclude_flagged`.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({
    ...     "item_id": [f"{i:02}" for i in range(30) for _ in range(3)],
    ...     "rater_id": ["ann", "bob", "eve"] * 30,
    ...     "Q_overall": [answer for i in range(30) for answer in ("Yes" if i % 3 else "No", "No", "No")],
    ...     "answer_time_ms": [time for _ in range(30) for time in (60_000, 55_000, 9_000)],
    ... })
    >>> vetting = vet(Ratings.from_frame(table))
    >>> vetting.flagged
    ('bob', 'eve')
    >>> vetting.raters["flagged_for"][1].to_list()
    ['one label: 100.0 % of 30 answers are No']
    """
    pool = select_pool(ratings)
    pool.require_raters("Vetting raters")
    question, axes = pool.resolve_question(question), resolve_axes(pool, by)
    n_raters, scale = pool.n_raters, pool.scale(question)
    design = code_answers(ratings, question)
    if isinstance(ratings, PartitionedRatings):
        times, n_items = read_times(ratings.split_times, n_raters), design.n_items
    else:
        times = answer_times(ratings.answers["rater"].to_numpy(), _times(ratings), n_raters=n_raters)
        n_items = ratings.n_items
    labels = summarise_labels(count_labels(design))
    repeated = match_repeats(*pool.showing_codes(question))
    evidence = [
        *_measure_times_and_labels(times, labels),
        _measure_consistency(repeated, n_raters, was_read=pool is ratings),
        _measure_comprehension(pool),
        _measure_flatness(pool, question),
        *_measure_bulk_answers(pool),
        *_measure_agreement(pool, design, axes),
    ]
    evidence += _measure_outliers(evidence, times, labels, criteria.min_ratings)
    met = meets_criteria(times, labels, criteria)
    raters = _table(pool, times, labels, scale, evidence, met)
    return Vetting(
        raters=raters,
        times=summarise_times(pool, raters, axes),
        consistency=summarise_consistency(pool, repeated, axes),
        question=question,
        categories=scale,
        criteria=criteria,
        pool_median_ms=None if np.isnan(times.pool_median) else times.pool_median,
        absent={each.name: each.absent_reason for each in evidence if np.isnan(each.values).all()},
        axes=axes,
        n_items=n_items,
        n_ratings=design.n_ratings,
        notes=pool.notes,
        version=version("dissensus"),
    )


def _times(ratings: Ratings) -> FloatArray:
    if ANSWER_TIME not in ratings.answers.columns:
        return np.full(ratings.n_ratings, np.nan)
    return np.asarray(ratings.answers[ANSWER_TIME].fill_null(float("nan")).to_numpy())


def _measure_times_and_labels(times: Times, labels: Labels) -> Iterator[Evidence]:
    """Yield the measures of a rater's own times and labels."""
    reasons = "the rater has no known time", f"there are no times in the file ({ANSWER_TIME})"
    yield Evidence("median_time_ms", times.median, *reasons)
    yield Evidence("total_time_ms", times.total, *reasons)
    for name in PARTS:
        yield Evidence(name, getattr(times, name), *reasons)
    reasons = "the rater did not answer this question", "nobody answered this question"
    yield Evidence("same_label", labels.same_label, *reasons)
    yield Evidence("label_entropy", labels.entropy, *reasons)


def _measure_consistency(repeated: RepeatedAnswers, n_raters: int, *, was_read: bool) -> Evidence:
    each = rater_consistency(repeated.raters, repeated.first, repeated.second, n_raters=n_raters)
    nobody = f"nobody answered an item twice ({REPEAT})"
    absent = nobody if was_read else "repeated ratings are not read from a folder"
    return Evidence("consistency", each.share, "the rater answered no item twice", absent)


def _measure_comprehension(ratings: Ratings) -> Evidence:
    was_read = COMPREHENSION in ratings.questions
    unclear = np.full(ratings.n_ratings, np.nan)
    if was_read:  # every answer but the first on the scale names a problem
        problem = ratings.answers[COMPREHENSION].to_physical() > 0
        unclear = problem.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return Evidence(
        "non_comprehension",
        share_by_rater(unclear, ratings.answers["rater"].to_numpy(), n_raters=ratings.n_raters),
        f"the rater did not answer {COMPREHENSION}",
        f"nobody answered {COMPREHENSION}" if was_read else f"{COMPREHENSION} was not read, or is not in the file",
    )


def _measure_flatness(ratings: Ratings, question: str) -> Evidence:
    granular = list_granular_questions(ratings, question)
    enough = len(granular) > 1
    codes = [ratings.answers[name].to_physical().cast(pl.Int16).fill_null(-1).to_numpy() for name in granular]
    flat = flat_items(codes) if enough else np.full(ratings.n_ratings, np.nan)
    few = "fewer than two granular questions were read, or are in the file"
    return Evidence(
        "flat",
        share_by_rater(flat, ratings.answers["rater"].to_numpy(), n_raters=ratings.n_raters),
        "the rater never answered two granular questions",
        "nobody answered two granular questions" if enough else few,
    )


def _measure_bulk_answers(ratings: Ratings) -> Iterator[Evidence]:
    """Yield the share of answers given in bulk, if the campaign offered it."""
    if BULK_SHARE in ratings.answers.columns:
        shares = ratings.answers[BULK_SHARE].fill_null(float("nan")).to_numpy()
        by_rater = share_by_rater(shares, ratings.answers["rater"].to_numpy(), n_raters=ratings.n_raters)
        yield Evidence(BULK_SHARE, by_rater, f"the rater has no {BULK_SHARE}", f"{BULK_SHARE} is empty")


def _measure_agreement(ratings: Ratings, design: Design | BlockedDesign, axes: Sequence[str]) -> Iterator[Evidence]:
    """Yield agreement with the plurality of the pool and of the rater's own groups."""
    reasons = "nobody else rated an item of the rater", "no item was rated by two raters"
    yield Evidence(f"{AGREEMENT}pool", plurality_agreement(design), *reasons)
    for axis in axes:
        codes, _ = ratings.group_codes(axis)
        yield Evidence(
            f"{AGREEMENT}{axis}",
            plurality_agreement(design, codes),
            f"{axis} of the rater is not known, or nobody else of the group rated an item of the rater",
            f"no item was rated by two raters of one group on {axis}",
        )


def _measure_outliers(
    evidence: Sequence[Evidence], times: Times, labels: Labels, min_ratings: int
) -> Iterator[Evidence]:
    """Yield the distance of raters from the bulk by their answers and times, and by their answers alone."""
    by_name = {each.name: each.values for each in evidence}
    answers = [by_name[name] for name in SCORED if not np.isnan(by_name[name]).all()]
    enough = labels.n_ratings >= min_ratings
    reasons = (
        f"a measure of the rater is unknown, or the rater has fewer than {min_ratings:,} ratings",
        "fewer than two measures vary among raters with enough ratings",
    )
    timed = [np.log(np.maximum(times.median, 1.0))] if np.isfinite(times.median).any() else []
    for name, measures in ((OUTLIER, [*timed, *answers]), (ANSWERS_OUTLIER, answers)):
        values = np.where(enough[:, None], np.column_stack(measures), np.nan)
        yield Evidence(name, outlier_score(values), *reasons)


def _table(
    ratings: Ratings,
    times: Times,
    labels: Labels,
    scale: tuple[str, ...],
    evidence: Sequence[Evidence],
    met: BoolArray,
) -> pl.DataFrame:
    """Return one row of evidence per rater."""
    columns = {each.name: pl.Series(each.values).fill_nan(None) for each in evidence}
    top = pl.Series(labels.top).replace(-1, None).cast(pl.UInt32)
    met_criteria: list[list[str]] = [[] for _ in range(ratings.n_raters)]
    for r in np.flatnonzero(met.any(axis=0)).tolist():
        met_criteria[r] = list(describe_criteria(r, times, labels, scale, met[:, r]))
    present = [each for each in evidence if not np.isnan(each.values).all()]
    reasons = [
        pl.when(pl.col(each.name).is_null()).then(pl.lit(f"{each.name}: {each.unknown_reason}")) for each in present
    ]
    frame = pl.DataFrame(
        {
            RATER_ID: ratings.raters[RATER_ID],
            "n_ratings": labels.n_ratings,
            "n_timed": times.n_timed,
            **columns,
            "most_frequent": pl.Series(scale, dtype=pl.String).gather(top),
            "flagged_for": pl.Series(met_criteria, dtype=pl.List(pl.String)),
            FLAG: met.any(axis=0),
        }
    )
    in_file = ratings.raters[FLAG] if FLAG in ratings.raters.columns else pl.lit(None, dtype=pl.Boolean)
    unknown = pl.concat_str(reasons, separator="; ", ignore_nulls=True).replace("", None)
    return frame.with_columns(in_file.alias("flagged_in_file"), unknown.alias("unknown"))


def list_granular_questions(ratings: Ratings, question: str) -> tuple[str, ...]:
    """Return the granular questions with the scale of a question, without overalls of published questionnaires."""
    overalls = {name for shipped in published_questionnaires() for name in load_questionnaire(shipped).overalls}
    scale = ratings.scale(question)
    return tuple(name for name in ratings.questions if name not in overalls and ratings.scale(name) == scale)


def resolve_axes(ratings: Ratings, by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the full names of axes without repetition; all axes by default."""
    if by is None:
        return ratings.axes
    return tuple(dict.fromkeys(ratings.axis_name(text) for text in ([by] if isinstance(by, str) else by)))
