"""Computation of monitoring figures from the accumulated state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.monitor.results import (
    EDGES_S,
    CampaignFigures,
    FlaggedRater,
    GroupFigures,
    PoolAgreement,
    Quartiles,
    RaterMeasure,
    TimeBucket,
)
from dissensus.pipeline.monitor.state import MonitorState, QuestionScales
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.agreement_interval import Coefficient, agreement_interval, evenly_rated, halves
from dissensus.stats.bootstrap import resampled, two_way_interval
from dissensus.stats.criteria import Criteria, in_words, meets
from dissensus.stats.design import METRICS, Design, chunks, statistics
from dissensus.stats.distance import Level
from dissensus.stats.vetting import answer_times, label_use, plurality_agreement

Codes = npt.NDArray[np.integer[Any]]
REPLICATES: Final = 200
SEED: Final = 0
HOUR_S, DAY_S = 3600, 86_400
N_HOURS: Final = 48
IRR: Final = METRICS.index("irr")


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredRater:
    """A rater who takes part."""

    rater_id: str
    number: int
    groups: Mapping[str, str]  # Of each axis on which it is known


def compute_figures(
    collected: MonitorState,
    people: Sequence[MonitoredRater],
    items: Mapping[str, str | None],
    axes: Mapping[str, Sequence[str]],
    *,
    criteria: Criteria = Criteria(),  # noqa: B008 - frozen
    replicates: int = REPLICATES,
) -> CampaignFigures:
    """Return a campaign in figures."""
    found = _Ratings(collected, sorted(people, key=lambda one: one.number), list(items))
    pool = _groups(found, "", [""], np.zeros(len(found.people), np.int32), replicates)[0]
    groups: list[GroupFigures] = []
    for axis, known in axes.items():
        names, codes = _code_groups(found.people, axis, known)
        groups += _groups(found, axis, names, codes, replicates)
    return CampaignFigures(
        scales=collected.scales.all,
        counted=collected.scales.counted,
        n_items=len(items),
        loads=tuple(zip(*(part.tolist() for part in np.unique(found.loads, return_counts=True)), strict=True)),
        hours=_split_time(found, HOUR_S)[-N_HOURS:],
        days=_split_time(found, DAY_S),
        times=tuple(
            np.bincount(np.digitize(found.times, np.array(EDGES_S) * 1000), minlength=len(EDGES_S) + 1).tolist()
        ),
        pool=pool,
        groups=tuple(groups),
        measures=tuple(_measures(found, collected.scales, replicates)),
        gold=_gold(found, items),
        flagged=_list_flagged(found, axes, criteria),
    )


class _Ratings:
    """The ratings that count, by rater and item, as codes."""

    def __init__(self, collected: MonitorState, people: Sequence[MonitoredRater], names: Sequence[str]) -> None:
        raters, items = collected.raters([one.rater_id for one in people]), collected.items(names)
        order = np.lexsort((items, raters))
        order = order[(raters[order] >= 0) & (items[order] >= 0)]
        self.people, self.n_items = people, len(names)
        self.raters, self.items = raters[order], items[order]
        self.times, self.seconds = collected.times_ms[order], collected.seconds[order]
        self.scales, self.counted = collected.scales.all, collected.scales.counted
        self.answers = {name: collected.answers(name)[order] for name in self.scales}

    @cached_property
    def loads(self) -> Codes:
        """Ratings of each item."""
        return np.bincount(self.items, minlength=self.n_items)

    @cached_property
    def design(self) -> Design | None:
        """The answers to the question that agreement is about; None where there is none, or nobody rated."""
        if self.counted is None or not self.people or not self.n_items:
            return None
        given = self.answers[self.counted]
        known = given >= 0
        codes = (self.items[known], self.raters[known], given[known])
        return Design(*codes, self.n_items, len(self.people), len(self.scales[self.counted]))


def _code_groups(
    people: Sequence[MonitoredRater], axis: str, known: Sequence[str]
) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the groups of an axis that somebody is in, and the code of each rater's group."""
    said = {one.groups[axis] for one in people if axis in one.groups}
    names = [*(name for name in known if name in said), *sorted(said - set(known))]
    codes = {name: code for code, name in enumerate(names)}
    return names, np.array([codes.get(one.groups.get(axis, ""), -1) for one in people], np.int32)


def _groups(
    found: _Ratings, axis: str, names: Sequence[str], codes: npt.NDArray[np.int32], replicates: int
) -> list[GroupFigures]:
    """Return the groups of an axis that somebody is in; a pool always."""
    intervals = _intervals(found.design, codes, len(names), replicates)
    inside = [np.flatnonzero((codes == code)[found.raters]) for code in range(len(names))] if len(codes) else []
    return [
        _group(found, axis, name, rows, _agreement(found.design, codes == code, intervals[:, code]))
        for code, (name, rows) in enumerate(zip(names, inside or [np.zeros(0, np.int64)] * len(names), strict=True))
        if axis == "" or rows.size
    ]


def _group(found: _Ratings, axis: str, name: str, rows: Codes, agreement: PoolAgreement) -> GroupFigures:
    loads, times = np.bincount(found.items[rows], minlength=found.n_items), found.times[rows]
    quartiles = np.quantile(times, (0.25, 0.5, 0.75)).tolist() if times.size else None
    return GroupFigures(
        axis=axis,
        group=name,
        n_raters=np.unique(found.raters[rows]).size,
        n_ratings=rows.size,
        fewest=int(loads.min(initial=rows.size)),
        most=int(loads.max(initial=0)),
        answers={
            question: _count_answers(found.answers[question][rows], scale) for question, scale in found.scales.items()
        },
        times=quartiles and Quartiles(low=quartiles[0], median=quartiles[1], high=quartiles[2]),
        agreement=agreement,
    )


def _count_answers(given: Codes, scale: Sequence[str]) -> tuple[int, ...]:
    return tuple(np.bincount(given[given >= 0], minlength=len(scale)).tolist())


def _agreement(design: Design | None, member: npt.NDArray[np.bool_], ends: npt.NDArray[np.float64]) -> PoolAgreement:
    if design is None:
        return PoolAgreement(estimate=None, reason="Nothing is asked on a scale, or nothing is rated yet.")
    try:
        estimate = krippendorff_alpha(design.counts(np.where(member, 0, -1))[0]).estimate
    except UndefinedEstimate as error:
        return PoolAgreement(estimate=None, reason=str(error))
    low, high = (float(end) if np.isfinite(end) else None for end in ends)
    return PoolAgreement(estimate=estimate, low=low, high=high)


def _measures(found: _Ratings, scales: QuestionScales, replicates: int) -> Iterator[RaterMeasure]:
    """Yield what reviewers of a scale of steps are measured by: as steps, and in two classes."""
    if found.design is None or not scales.steps:
        return
    counts = found.design.counts()
    yield _measure("Krippendorff's alpha, ordinal", counts, "krippendorff_alpha", replicates, level="ordinal")
    yield _measure("Fleiss' kappa", counts, "fleiss_kappa", replicates)
    if scales.cut is not None:
        two, from_on = halves(counts, scales.cut), f"{scales.all[str(scales.counted)][scales.cut]} on or below it"
        yield _measure(f"Krippendorff's alpha, from {from_on}", two, "krippendorff_alpha", replicates)
        yield _measure(f"Fleiss' kappa, from {from_on}", two, "fleiss_kappa", replicates)


def _measure(
    name: str, counts: Codes, coefficient: Coefficient, replicates: int, *, level: Level = "nominal"
) -> RaterMeasure:
    try:
        used = evenly_rated(counts) if coefficient == "fleiss_kappa" else counts
        made = agreement_interval(used, coefficient, level=level, replicates=replicates, seed=SEED)
    except UndefinedEstimate as error:
        return RaterMeasure(name=name, n_items=0, agreement=PoolAgreement(estimate=None, reason=str(error)))
    agreement = PoolAgreement(estimate=made.estimate.estimate, low=made.low, high=made.high)
    return RaterMeasure(name=name, n_items=made.estimate.n_items, agreement=agreement)


def _intervals(
    design: Design | None, codes: npt.NDArray[np.int32], n_groups: int, replicates: int
) -> npt.NDArray[np.float64]:
    """Return the ends of the interval of each group, shape (2, G), resampled as `dissensus.analyse` does."""
    if design is None or not replicates or not design.items.size or not (codes >= 0).any():
        return np.full((2, n_groups), np.nan)
    inside, outside = np.arange(n_groups), np.full(n_groups, -1)
    seeds = np.random.SeedSequence(SEED).spawn(2)[1].spawn(replicates)
    parts: list[list[npt.NDArray[np.float64]]] = [[], [], []]
    for chunk in chunks(replicates, 4 * (design.n_raters + design.n_items) + design.row_bytes(n_groups)):
        raters, items = resampled([seeds[b] for b in chunk], codes, design.n_items)
        for part, weights in zip(parts, ((raters, items), (raters, None), (None, items)), strict=True):
            of_raters, of_items = weights
            drawn = statistics(design, codes[None], inside, outside, rater_weight=of_raters, item_weight=of_items)
            part.append(drawn[..., IRR])
    observed = statistics(design, codes[None], inside, outside)[0, :, IRR]
    return np.stack(two_way_interval(observed, *(np.concatenate(part) for part in parts)))


def _split_time(found: _Ratings, length_s: int) -> tuple[TimeBucket, ...]:
    starts, of_rating, n = np.unique(found.seconds // length_s * length_s, return_inverse=True, return_counts=True)
    pairs = np.unique(np.stack([of_rating, found.raters]), axis=1)
    n_raters = np.bincount(pairs[0], minlength=starts.size)
    rows = zip(starts.tolist(), n.tolist(), n_raters.tolist(), strict=True)
    return tuple(TimeBucket(start=start, n_ratings=ratings, n_raters=raters) for start, ratings, raters in rows)


def _gold(found: _Ratings, items: Mapping[str, str | None]) -> tuple[tuple[int, ...], ...] | None:
    scale = () if found.counted is None else found.scales[found.counted]
    gold = np.array([scale.index(label) if label in scale else -1 for label in items.values()], np.int64)
    if not (gold >= 0).any():
        return None
    table = np.zeros((len(scale), len(scale) + 1), np.int64)
    if found.design is not None:
        counts = found.design.counts()
        top = counts == counts.max(axis=1, keepdims=True)
        crowd = np.where(top.sum(axis=1) == 1, top.argmax(axis=1), len(scale))
        both = (gold >= 0) & (counts.sum(axis=1) > 0)
        np.add.at(table, (gold[both], crowd[both]), 1)
    return tuple(tuple(row) for row in table.tolist())


def _list_flagged(found: _Ratings, axes: Mapping[str, Sequence[str]], criteria: Criteria) -> tuple[FlaggedRater, ...]:
    if found.design is None:
        return ()
    design, n = found.design, len(found.people)
    times = answer_times(found.raters, found.times, n_raters=n)
    labels = label_use(design.raters, design.answers, n_raters=n, n_categories=design.n_categories)
    met = meets(times, labels, criteria)
    if not met.any():
        return ()
    pool = plurality_agreement(design)
    own = {
        axis: plurality_agreement(design, _code_groups(found.people, axis, known)[1]) for axis, known in axes.items()
    }
    scale = found.scales[str(found.counted)]
    n_ratings = np.bincount(found.raters, minlength=n)
    return tuple(
        FlaggedRater(
            rater_id=found.people[r].rater_id,
            number=found.people[r].number,
            n_ratings=int(n_ratings[r]),
            median_ms=_none_if_nan(times.median[r]),
            reasons=tuple(in_words(r, times, labels, scale, met[:, r])),
            agreement=_none_if_nan(pool[r]),
            own_groups={axis: float(values[r]) for axis, values in own.items() if not np.isnan(values[r])},
        )
        for r in np.flatnonzero(met.any(axis=0)).tolist()
    )


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
