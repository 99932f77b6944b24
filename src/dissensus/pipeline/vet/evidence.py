"""Evidence on each rater, from ratings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.pipeline.vet.result import AGREEMENT, Vetting
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings.columns import ANSWER_TIME, FLAG, RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.criteria import PARTS, Criteria, in_words, meets
from dissensus.stats.design import Design
from dissensus.stats.vetting import (
    Labels,
    Times,
    answer_times,
    flat_items,
    label_use,
    plurality_agreement,
    share_by_rater,
)

Floats = npt.NDArray[np.float64]
COMPREHENSION = "Q1_whole_conversation_evaluation"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measure of every rater, shape (R,), NaN where unknown: why, and why where nobody has any."""

    name: str
    values: Floats
    unknown: str
    absent: str


def vet(
    ratings: Ratings,
    *,
    question: str | None = None,
    criteria: Criteria = Criteria(),  # noqa: B008 - frozen
    by: str | Sequence[str] | None = None,
) -> Vetting:
    """Gather evidence on the care that each rater took, and flag those who meet a criterion. Nothing is deleted.

    Only what DICES names flags a rater: many conversations answered much faster than the pool does, and one label
    throughout (Aroyo et al. 2023, sections 3.3 and 4). The rest is shown beside: a rater who differs from all others
    may be the one who is right for his or her group, and the paper warns against taking sincere beliefs for noise.

    Parameters
    ----------
    ratings
        The ratings. Times are read where there is a column ``answer_time_ms``; with ``questions="all"`` the granular
        questions tell more.
    question
        The question whose answers are looked at, if more than one was read; ``Q_overall`` by default.
    criteria
        The thresholds.
    by
        Axes on which a rater is compared with his or her own group; all by default.

    Returns
    -------
    Vetting

    Raises
    ------
    InvalidInput
        The ratings were read without raters, or it is not clear which question is meant.
    NotFound
        An axis or question that is not there.

    Notes
    -----
    What is not known is null, with the reason; it never flags. All raters make the pool's median and the pluralities,
    those whom the file flags too: leave them out beforehand with `Ratings.exclude_flagged` if they should not.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({
    ...     "item_id": [f"{i:02}" for i in range(30) for _ in range(3)],
    ...     "rater_id": ["ann", "bob", "eve"] * 30,
    ...     "Q_overall": [answer for i in range(30) for answer in ("Yes" if i % 3 else "No", "No", "No")],
    ...     "answer_time_ms": [time for _ in range(30) for time in (60_000, 55_000, 9_000)],
    ... })
    >>> found = vet(Ratings.from_frame(table))
    >>> found.flagged
    ('bob', 'eve')
    >>> found.raters["flagged_for"][1].to_list()
    ['one label: 100.0 % of 30 answers are No']
    """
    ratings.require_raters("Vetting raters")
    asked, axes = ratings.asked(question), resolve_axes(ratings, by)
    n_raters, scale = ratings.n_raters, ratings.scale(asked)
    item, rater, answer = ratings.coded(asked)
    design = Design(item, rater, answer, ratings.n_items, n_raters, len(scale))
    times = answer_times(ratings.answers["rater"].to_numpy(), _times(ratings), n_raters=n_raters)
    labels = label_use(rater, answer, n_raters=n_raters, n_categories=len(scale))
    evidence = [
        *_measure_times_and_labels(times, labels),
        _comprehension(ratings),
        _measure_flatness(ratings, asked),
        *_measure_agreement(ratings, design, axes),
    ]
    met = meets(times, labels, criteria)
    return Vetting(
        raters=_table(ratings, times, labels, scale, evidence, met),
        question=asked,
        categories=scale,
        criteria=criteria,
        pool_median_ms=None if np.isnan(times.pool_median) else times.pool_median,
        absent={each.name: each.absent for each in evidence if np.isnan(each.values).all()},
        axes=axes,
        n_items=ratings.n_items,
        n_ratings=item.size,
        notes=ratings.notes,
        version=version("dissensus"),
    )


def _times(ratings: Ratings) -> Floats:
    if ANSWER_TIME not in ratings.answers.columns:
        return np.full(ratings.n_ratings, np.nan)
    return np.asarray(ratings.answers[ANSWER_TIME].fill_null(float("nan")).to_numpy())


def _measure_times_and_labels(times: Times, labels: Labels) -> Iterator[Evidence]:
    """Yield what a rater's own times and labels tell."""
    why = "the rater has no known time", f"there are no times in the file ({ANSWER_TIME})"
    yield Evidence("median_time_ms", times.median, *why)
    for name in PARTS:
        yield Evidence(name, getattr(times, name), *why)
    why = "the rater did not answer this question", "nobody answered this question"
    yield Evidence("same_label", labels.same_label, *why)
    yield Evidence("label_entropy", labels.entropy, *why)


def _comprehension(ratings: Ratings) -> Evidence:
    known = COMPREHENSION in ratings.questions
    unclear = np.full(ratings.n_ratings, np.nan)
    if known:  # the first answer on its scale names no problem, all others do
        problem = ratings.answers[COMPREHENSION].to_physical() > 0
        unclear = problem.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return Evidence(
        "non_comprehension",
        share_by_rater(unclear, ratings.answers["rater"].to_numpy(), n_raters=ratings.n_raters),
        f"the rater did not answer {COMPREHENSION}",
        f"nobody answered {COMPREHENSION}" if known else f"{COMPREHENSION} was not read, or is not in the file",
    )


def _measure_flatness(ratings: Ratings, asked: str) -> Evidence:
    granular = list_granular_questions(ratings, asked)
    known = len(granular) > 1
    codes = [ratings.answers[name].to_physical().cast(pl.Int16).fill_null(-1).to_numpy() for name in granular]
    flat = flat_items(codes) if known else np.full(ratings.n_ratings, np.nan)
    few = "fewer than two granular questions were read, or are in the file"
    return Evidence(
        "flat",
        share_by_rater(flat, ratings.answers["rater"].to_numpy(), n_raters=ratings.n_raters),
        "the rater never answered two granular questions",
        "nobody answered two granular questions" if known else few,
    )


def _measure_agreement(ratings: Ratings, design: Design, axes: Sequence[str]) -> Iterator[Evidence]:
    """Yield agreement with the plurality of the pool and of the rater's own groups."""
    alone = "nobody else rated an item of the rater", "no item was rated by two raters"
    yield Evidence(f"{AGREEMENT}pool", plurality_agreement(design), *alone)
    for axis in axes:
        codes, _ = ratings.group_codes(axis)
        yield Evidence(
            f"{AGREEMENT}{axis}",
            plurality_agreement(design, codes),
            f"{axis} of the rater is not known, or nobody else of the group rated an item of the rater",
            f"no item was rated by two raters of one group on {axis}",
        )


def _table(
    ratings: Ratings,
    times: Times,
    labels: Labels,
    scale: tuple[str, ...],
    evidence: Sequence[Evidence],
    met: npt.NDArray[np.bool_],
) -> pl.DataFrame:
    """Return one row per rater with all that is known."""
    columns = {each.name: pl.Series(each.values).fill_nan(None) for each in evidence}
    top = pl.Series(labels.top).replace(-1, None).cast(pl.UInt32)
    words: list[list[str]] = [[] for _ in range(ratings.n_raters)]
    for r in np.flatnonzero(met.any(axis=0)).tolist():
        words[r] = list(in_words(r, times, labels, scale, met[:, r]))
    partly = [each for each in evidence if not np.isnan(each.values).all()]
    reasons = [pl.when(pl.col(each.name).is_null()).then(pl.lit(f"{each.name}: {each.unknown}")) for each in partly]
    frame = pl.DataFrame(
        {
            RATER_ID: ratings.raters[RATER_ID],
            "n_ratings": labels.n_ratings,
            "n_timed": times.n_timed,
            **columns,
            "most_frequent": pl.Series(scale, dtype=pl.String).gather(top),
            "flagged_for": pl.Series(words, dtype=pl.List(pl.String)),
            FLAG: met.any(axis=0),
        }
    )
    in_file = ratings.raters[FLAG] if FLAG in ratings.raters.columns else pl.lit(None, dtype=pl.Boolean)
    because = pl.concat_str(reasons, separator="; ", ignore_nulls=True).replace("", None)
    return frame.with_columns(in_file.alias("flagged_in_file"), because.alias("unknown"))


def list_granular_questions(ratings: Ratings, question: str) -> tuple[str, ...]:
    """Return the questions on the scale of the one asked that were answered themselves, not made from others."""
    made = {name for known in published_questionnaires() for name in load_questionnaire(known).overalls}
    scale = ratings.scale(question)
    return tuple(name for name in ratings.questions if name not in made and ratings.scale(name) == scale)


def resolve_axes(ratings: Ratings, by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return full names of the axes asked for, each once; all by default."""
    if by is None:
        return ratings.axes
    return tuple(dict.fromkeys(ratings.axis_name(text) for text in ([by] if isinstance(by, str) else by)))
