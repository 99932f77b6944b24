"""Computation of monitoring figures from the accumulated state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.monitor.results import (
    EDGES_S,
    CampaignFigures,
    GroupFigures,
    PoolAgreement,
    Quartiles,
    RaterFigures,
    RaterMeasure,
    TimeBucket,
)
from dissensus.pipeline.monitor.state import MonitorState, QuestionScales
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.agreement_interval import agreement_interval, alpha_intervals, dichotomise, select_equally_rated
from dissensus.stats.counts import count_answers
from dissensus.stats.criteria import Criteria, describe_criteria, meets_criteria
from dissensus.stats.design import Design
from dissensus.stats.groups.coverage import describe_interval_designs, warn_of_coverage
from dissensus.stats.groups.scale import build_ordered_scale
from dissensus.stats.result import BoolArray, FloatArray, Int32Array, IntArray, none_if_nan
from dissensus.stats.vetting import answer_times, label_use, plurality_agreement

REPLICATES: Final = 200
SEED: Final = 0
HOUR_S, DAY_S = 3600, 86_400
N_HOURS: Final = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredRater:
    """A participating rater."""

    rater_id: str
    number: int
    groups: Mapping[str, str]  # Known groups by axis


def compute_figures(
    state: MonitorState,
    people: Sequence[MonitoredRater],
    items: Mapping[str, str | None],
    axes: Mapping[str, Sequence[str]],
    *,
    criteria: Criteria = Criteria(),  # noqa: B008 - frozen
    replicates: int = REPLICATES,
) -> CampaignFigures:
    """Compute the figures of a campaign."""
    ratings = _Ratings(state, sorted(people, key=lambda rater: rater.number), list(items))
    pool = _compute_groups(ratings, "", [""], np.zeros(len(ratings.people), np.int32), replicates)[0]
    groups: list[GroupFigures] = []
    for axis, values in axes.items():
        names, codes = code_groups(ratings.people, axis, values)
        groups += _compute_groups(ratings, axis, names, codes, replicates)
    return CampaignFigures(
        scales=state.scales.all,
        primary_question=state.scales.primary_question,
        n_items=len(items),
        loads=tuple(zip(*(part.tolist() for part in np.unique(ratings.loads, return_counts=True)), strict=True)),
        hours=_split_time(ratings, HOUR_S)[-N_HOURS:],
        days=_split_time(ratings, DAY_S),
        times=tuple(
            np.bincount(np.digitize(ratings.times, np.array(EDGES_S) * 1000), minlength=len(EDGES_S) + 1).tolist()
        ),
        pool=pool,
        groups=tuple(groups),
        measures=tuple(_list_measures(ratings, state.scales, replicates)),
        gold=_tabulate_gold(ratings, items),
        flagged=_list_flagged(ratings, axes, criteria),
    )


class _Ratings:
    """Codes of the ratings that count, sorted by rater and item."""

    def __init__(self, state: MonitorState, people: Sequence[MonitoredRater], names: Sequence[str]) -> None:
        raters, items = state.raters([rater.rater_id for rater in people]), state.items(names)
        order = np.lexsort((items, raters))
        order = order[(raters[order] >= 0) & (items[order] >= 0)]
        self.people, self.n_items = people, len(names)
        self.raters, self.items = raters[order], items[order]
        self.times, self.seconds = state.times_ms[order], state.seconds[order]
        self.scales, self.primary_question = state.scales.all, state.scales.primary_question
        self.answers = {name: state.answers(name)[order] for name in self.scales}

    @cached_property
    def loads(self) -> IntArray:
        """Ratings of each item."""
        return np.bincount(self.items, minlength=self.n_items)

    @cached_property
    def design(self) -> Design | None:
        """Answers to the primary question; None without one, without raters or without items."""
        if self.primary_question is None or not self.people or not self.n_items:
            return None
        answers = self.answers[self.primary_question]
        answered = answers >= 0
        codes = (self.items[answered], self.raters[answered], answers[answered])
        return Design(*codes, self.n_items, len(self.people), len(self.scales[self.primary_question]))


def code_groups(people: Sequence[MonitoredRater], axis: str, values: Sequence[str]) -> tuple[list[str], Int32Array]:
    """Return the nonempty groups of an axis and the code of each rater's group."""
    observed = {rater.groups[axis] for rater in people if axis in rater.groups}
    names = [*(name for name in values if name in observed), *sorted(observed - set(values))]
    codes = {name: code for code, name in enumerate(names)}
    return names, np.array([codes.get(rater.groups.get(axis, ""), -1) for rater in people], np.int32)


def _compute_groups(
    ratings: _Ratings, axis: str, names: Sequence[str], codes: Int32Array, replicates: int
) -> list[GroupFigures]:
    """Return the figures of the groups of an axis that have ratings; of the pool always."""
    intervals = _compute_intervals(ratings.design, codes, len(names), replicates)
    warnings = _warn_of_intervals(ratings.design, codes, len(names))
    rows_by_group = [np.flatnonzero((codes == code)[ratings.raters]) for code in range(len(names))]
    return [
        _compute_group(
            ratings,
            axis,
            name,
            rows,
            _measure_agreement(ratings.design, codes == code, intervals[:, code], warnings[code]),
        )
        for code, (name, rows) in enumerate(zip(names, rows_by_group, strict=True))
        if axis == "" or rows.size
    ]


def _compute_group(ratings: _Ratings, axis: str, name: str, rows: IntArray, agreement: PoolAgreement) -> GroupFigures:
    loads, times = np.bincount(ratings.items[rows], minlength=ratings.n_items), ratings.times[rows]
    quartiles = np.quantile(times, (0.25, 0.5, 0.75)).tolist() if times.size else None
    return GroupFigures(
        axis=axis,
        group=name,
        n_raters=np.unique(ratings.raters[rows]).size,
        n_ratings=rows.size,
        min_ratings=int(loads.min(initial=rows.size)),
        max_ratings=int(loads.max(initial=0)),
        answers={
            question: _count_answers(ratings.answers[question][rows], scale)
            for question, scale in ratings.scales.items()
        },
        times=quartiles and Quartiles(low=quartiles[0], median=quartiles[1], high=quartiles[2]),
        agreement=agreement,
    )


def _count_answers(codes: IntArray, scale: Sequence[str]) -> tuple[int, ...]:
    return tuple(np.bincount(codes[codes >= 0], minlength=len(scale)).tolist())


def _measure_agreement(
    design: Design | None, member: BoolArray, ends: FloatArray, warning: str | None
) -> PoolAgreement:
    if design is None:
        return PoolAgreement(estimate=None, reason="Nothing is asked on a scale, or nothing is rated yet.")
    try:
        counts, scale = design.counts(np.where(member, 0, -1))[0], design.scale
        estimate = krippendorff_alpha(counts, level="nominal" if scale is None else scale.level).estimate
    except UndefinedEstimate as error:
        return PoolAgreement(estimate=None, reason=str(error))
    low, high = (float(end) if np.isfinite(end) else None for end in ends)
    return PoolAgreement(estimate=estimate, low=low, high=high, warning=warning if low is not None else None)


def _warn_of_intervals(design: Design | None, codes: Int32Array, n_groups: int) -> list[str | None]:
    """Return the warning of the interval of each group."""
    if design is None:
        return [None] * n_groups
    rated = np.bincount(design.raters, minlength=design.n_raters) > 0
    described = describe_interval_designs(
        design, np.where(rated, codes, -1), np.arange(n_groups), np.full(n_groups, -1)
    )
    return [warn_of_coverage("irr", numbers) for numbers in described]


def _list_measures(ratings: _Ratings, scales: QuestionScales, replicates: int) -> Iterator[RaterMeasure]:
    """Yield the coefficients for a scale of steps: ordinal, nominal, and in two classes."""
    design = ratings.design
    if design is None or not scales.steps:
        return
    counts = design.counts()
    ordinal = replace(design, scale=build_ordered_scale("ordinal", None, counts.sum(axis=0)))
    yield _measure_alpha("Krippendorff's alpha, ordinal", ordinal, replicates)
    yield _measure_kappa("Fleiss' kappa", counts, replicates)
    if scales.cut is not None:
        cut = f"from {scales.all[str(scales.primary_question)][scales.cut]} on or below it"
        classes = replace(design, answers=(design.answers >= scales.cut).astype(np.int32), n_categories=2)
        yield _measure_alpha(f"Krippendorff's alpha, {cut}", classes, replicates)
        yield _measure_kappa(f"Fleiss' kappa, {cut}", dichotomise(counts, scales.cut), replicates)


def _measure_alpha(name: str, design: Design, replicates: int) -> RaterMeasure:
    """Return alpha of all raters, with an interval over raters and items."""
    pool = np.zeros(design.n_raters, np.int32)
    ends = _compute_intervals(design, pool, 1, replicates)[:, 0]
    agreement = _measure_agreement(design, pool == 0, ends, _warn_of_intervals(design, pool, 1)[0])
    n_items = 0 if agreement.estimate is None else int((design.counts().sum(axis=1) > 1).sum())
    return RaterMeasure(name=name, n_items=n_items, agreement=agreement)


def _measure_kappa(name: str, counts: IntArray, replicates: int) -> RaterMeasure:
    """Return Fleiss' kappa, with an interval over items.

    Resampled raters would leave items with unequal numbers of ratings, which Fleiss' kappa does not allow.
    """
    try:
        used = select_equally_rated(counts)
        interval = agreement_interval(used, "fleiss_kappa", replicates=replicates, seed=SEED)
    except UndefinedEstimate as error:
        return RaterMeasure(name=name, n_items=0, agreement=PoolAgreement(estimate=None, reason=str(error)))
    agreement = PoolAgreement(
        estimate=interval.estimate.estimate, low=interval.low, high=interval.high, warning=interval.warning
    )
    return RaterMeasure(name=name, n_items=interval.estimate.n_items, agreement=agreement)


def _compute_intervals(design: Design | None, codes: Int32Array, n_groups: int, replicates: int) -> FloatArray:
    """Return the ends of the interval of each group, shape (2, G), with the resampling of `dissensus.analyse`."""
    if design is None or not replicates or not design.items.size or not (codes >= 0).any():
        return np.full((2, n_groups), np.nan)
    seeds = np.random.SeedSequence(SEED).spawn(2)[1].spawn(replicates)
    return np.stack(alpha_intervals(design, codes, seeds))


def _split_time(ratings: _Ratings, length_s: int) -> tuple[TimeBucket, ...]:
    starts, bucket, n_ratings = np.unique(
        ratings.seconds // length_s * length_s, return_inverse=True, return_counts=True
    )
    pairs = np.unique(np.stack([bucket, ratings.raters]), axis=1)
    n_raters = np.bincount(pairs[0], minlength=starts.size)
    rows = zip(starts.tolist(), n_ratings.tolist(), n_raters.tolist(), strict=True)
    return tuple(TimeBucket(start=start, n_ratings=n, n_raters=raters) for start, n, raters in rows)


def _tabulate_gold(ratings: _Ratings, items: Mapping[str, str | None]) -> tuple[tuple[int, ...], ...] | None:
    scale = () if ratings.primary_question is None else ratings.scales[ratings.primary_question]
    gold = np.array([scale.index(label) if label in scale else -1 for label in items.values()], np.int64)
    if not (gold >= 0).any():
        return None
    table = np.zeros((len(scale), len(scale) + 1), np.int64)
    if ratings.design is not None:
        counts = ratings.design.counts()
        top = counts == counts.max(axis=1, keepdims=True)
        crowd = np.where(top.sum(axis=1) == 1, top.argmax(axis=1), len(scale))
        labelled = (gold >= 0) & (counts.sum(axis=1) > 0)
        np.add.at(table, (gold[labelled], crowd[labelled]), 1)
    return tuple(tuple(row) for row in table.tolist())


def list_rater_figures(
    state: MonitorState,
    people: Sequence[MonitoredRater],
    items: Sequence[str],
    axes: Mapping[str, Sequence[str]],
    *,
    criteria: Criteria = Criteria(),  # noqa: B008 - frozen
) -> tuple[RaterFigures, ...]:
    """Return the figures of all raters who have ratings, in the order of entry."""
    ratings = _Ratings(state, sorted(people, key=lambda rater: rater.number), items)
    n_ratings = np.bincount(ratings.raters, minlength=len(ratings.people))
    return _list_raters(ratings, axes, _meet_criteria(ratings, criteria), np.flatnonzero(n_ratings))


def _list_flagged(ratings: _Ratings, axes: Mapping[str, Sequence[str]], criteria: Criteria) -> tuple[RaterFigures, ...]:
    reasons = _meet_criteria(ratings, criteria)
    flagged = np.array([r for r, met in enumerate(reasons) if met], np.int64)
    return _list_raters(ratings, axes, reasons, flagged) if flagged.size else ()


def _meet_criteria(ratings: _Ratings, criteria: Criteria) -> list[tuple[str, ...]]:
    """Return the criteria that each rater meets, in words."""
    design, n = ratings.design, len(ratings.people)
    if design is None:
        return [()] * n
    times = answer_times(ratings.raters, ratings.times, n_raters=n)
    labels = label_use(design.raters, design.answers, n_raters=n, n_categories=design.n_categories)
    met = meets_criteria(times, labels, criteria)
    scale = ratings.scales[str(ratings.primary_question)]
    return [tuple(describe_criteria(r, times, labels, scale, met[:, r])) if met[:, r].any() else () for r in range(n)]


def _list_raters(
    ratings: _Ratings, axes: Mapping[str, Sequence[str]], reasons: Sequence[tuple[str, ...]], selected: IntArray
) -> tuple[RaterFigures, ...]:
    """Return the figures of some raters, given by their indices."""
    n = len(ratings.people)
    pool, by_axis = _measure_votes(ratings, axes)
    medians = answer_times(ratings.raters, ratings.times, n_raters=n).median
    n_ratings = np.bincount(ratings.raters, minlength=n)
    answers = {
        question: count_answers(ratings.raters, ratings.answers[question], n_items=n, n_categories=len(scale))
        for question, scale in ratings.scales.items()
    }
    return tuple(
        RaterFigures(
            rater_id=ratings.people[r].rater_id,
            number=ratings.people[r].number,
            n_ratings=int(n_ratings[r]),
            median_ms=none_if_nan(medians[r]),
            reasons=reasons[r],
            agreement=none_if_nan(pool[r]),
            group_agreement={axis: float(values[r]) for axis, values in by_axis.items() if not np.isnan(values[r])},
            answers={question: tuple(counts[r].tolist()) for question, counts in answers.items()},
        )
        for r in selected.tolist()
    )


def _measure_votes(ratings: _Ratings, axes: Mapping[str, Sequence[str]]) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return the voting agreement of each rater with all others, and with others of their group by axis."""
    if ratings.design is None:
        return np.full(len(ratings.people), np.nan), {}
    by_axis = {
        axis: plurality_agreement(ratings.design, code_groups(ratings.people, axis, groups)[1])
        for axis, groups in axes.items()
    }
    return plurality_agreement(ratings.design), by_axis
