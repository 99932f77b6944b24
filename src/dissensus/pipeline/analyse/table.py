"""From ratings to the table of groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.comparisons import Axis, axis_of, exchangeable, question_of, whole_pool
from dissensus.pipeline.analyse.result import CALIBRATED_FROM, Analysis, Row
from dissensus.pipeline.analyse.settings import REST, Adjust, Family, Settings
from dissensus.schema.ratings import Ratings
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.association import gai
from dissensus.stats.bootstrap import Resample, interval, resampled, two_way_interval
from dissensus.stats.cohesion import negentropy, plurality_size
from dissensus.stats.crossgroup import cross_negentropy, voting_agreement, xrr
from dissensus.stats.design import METRICS, Design, chunks, statistics
from dissensus.stats.permutation import shuffles
from dissensus.stats.result import Estimate
from dissensus.stats.significance import ROUNDING, Method, benjamini_hochberg, max_t, medians, permutation_p

WITHIN: dict[str, Callable[..., Estimate]] = {
    "irr": krippendorff_alpha,
    "negentropy": negentropy,
    "plurality_size": plurality_size,
}
ACROSS: dict[str, Callable[..., Estimate]] = {
    "xrr": xrr,
    "cross_negentropy": cross_negentropy,
    "voting_agreement": voting_agreement,
    "gai": gai,
}
Floats = npt.NDArray[np.float64]
Progress = Callable[[float], None]


def analyse(
    ratings: Ratings,
    *,
    by: str | Sequence[str] = (),
    cross: str | Sequence[str] = (),
    question: str | None = None,
    against: str = REST,
    permutations: int = 0,
    permute_within: str | None = None,
    method: Method = "two-sided",
    adjust: Adjust = "bh",
    family: Family = "table",
    bootstrap: int = 0,
    resample: Resample = "both",
    level: float = 0.95,
    seed: int = 0,
    min_raters: int = 5,
    progress: Progress | None = None,
) -> Analysis:
    """Measure agreement within and between groups of raters.

    For every group of every axis: Krippendorff's alpha (`irr`), negentropy and plurality size within; XRR,
    cross-negentropy, voting agreement and GAI across; for every axis the DSI (Prabhakaran et al. 2024).

    Parameters
    ----------
    ratings
        The ratings; see `read_ratings`.
    by, cross
        Axes, such as "race" or "rater_race", and crossed axes, such as "race*gender".
    question
        The question to analyse, if more than one was read.
    against
        Compare each group with "rest", everybody else on the axis, or with one named group.
    permutations
        Permutations of the raters' demographic rows; 0 for no test.
    permute_within
        Attribute within whose values alone raters change places, where the design sampled raters by it.
    method
        "two-sided", or "grasp" for the published rule, which rejects about twice as often as it says.
    adjust, family
        "bh" for the false discovery rate or "max-t" for the family-wise error rate, over all tests of the "table", or
        those of each "metric", "axis" or "axis-metric".
    bootstrap
        Bootstrap replicates; 0 for no intervals.
    resample
        Whether raters and items are samples ("both"), or "raters" or "items" alone.
    level
        Confidence level of the intervals.
    seed
        The same seed gives the same result on any number of threads.
    min_raters
        Groups with fewer raters are marked.
    progress
        Called with the share that is done, from 0 to 1.

    Returns
    -------
    Analysis

    Raises
    ------
    InvalidInput
        An option that is not one of its choices, an axis with a single group, a group that is not there.
    NotFound
        An axis or question that is not there.

    Notes
    -----
    A statistic that the data do not determine is None in its row, with the reason. Raters whose value on an axis is
    unknown take no part in its comparisons, and a note counts them. There is no interval for GAI's maximum, DSI: a
    maximum of noisy values has no honest one.

    Examples
    --------
    >>> import dissensus as ds
    >>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    >>> analysis = ds.analyse(ratings, by=["gender"], permutations=99)
    >>> row = next(row for row in analysis.rows if row.metric == "xrr")
    >>> row.axis, row.group, row.against, round(row.estimate, 3), row.n_raters
    ('rater_gender', 'Man', 'rest', 0.091, 18)
    """
    settings = Settings(
        question=question_of(ratings, question),
        axes=_axis_names(ratings, by, cross),
        against=against,
        permutations=permutations,
        permute_within=permute_within,
        method=method,
        adjust=adjust,
        family=family,
        bootstrap=bootstrap,
        resample=resample,
        level=level,
        seed=seed,
        min_raters=min_raters,
    )
    ratings = ratings.answering(settings.question)
    item, rater, answer = ratings.coded(settings.question)
    categories = ratings.scale(settings.question)
    design = Design(item, rater, answer, ratings.n_items, ratings.n_raters, len(categories))
    axes = [axis_of(ratings, name, settings.against) for name in settings.axes]
    pool = whole_pool(design.n_raters)
    tick = _Ticks(progress, settings)
    for_permutation, for_bootstrap = np.random.SeedSequence(settings.seed).spawn(2)
    within = exchangeable(ratings, settings.permute_within, axes)
    tables = [_Table(axis, _estimates(design, axis)) for axis in (pool, *axes)]
    if settings.bootstrap:
        seeds = for_bootstrap.spawn(settings.bootstrap)
        tables = [replace(table, intervals=_intervals(design, table, seeds, settings, tick)) for table in tables]
    if settings.permutations and axes:
        seeds = for_permutation.spawn(settings.permutations)
        tables = [tables[0], *_tested(design, tables[1:], seeds, within, tick)]
    overall = tuple(_rows(tables[0]))
    rows, null = _with_significance([row for table in tables[1:] for row in _rows(table)], tables, settings)
    return Analysis(
        overall=overall,
        rows=tuple(rows),
        settings=settings,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        n_ratings=item.size,
        categories=categories,
        notes=(*ratings.notes, *_unknown(axes)),
        warnings=tuple(_warnings(design, settings, axes, within)),
        version=version("dissensus"),
        null=null,
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """One axis on its way: estimates (C, M), intervals (2, C, M), observed (C, M) and null (B, C, M) by the kernels."""

    axis: Axis
    estimates: list[dict[str, Estimate | UndefinedEstimate]]
    intervals: Floats | None = None
    observed: Floats | None = None
    null: Floats | None = None


class _Ticks:
    """Progress over all replicates of all axes."""

    def __init__(self, report: Progress | None, settings: Settings) -> None:
        self._report = report
        self._total = (1 + len(settings.axes)) * settings.bootstrap + len(settings.axes) * settings.permutations
        self._done = 0

    def __call__(self, replicates: int) -> None:
        self._done += replicates
        if self._report is not None:
            self._report(self._done / max(1, self._total))


def _axis_names(ratings: Ratings, *asked: str | Sequence[str]) -> tuple[str, ...]:
    """Return full names, each axis and each crossing once, whatever the order of its parts."""
    texts = [text for part in asked for text in ([part] if isinstance(part, str) else part)]
    names = [ratings.axis_name(text) for text in texts]
    return tuple({frozenset(name.split("*")): name for name in reversed(names)}.values())[::-1]


def _estimates(design: Design, axis: Axis) -> list[dict[str, Estimate | UndefinedEstimate]]:
    counts = design.counts(axis.codes)
    total = counts.sum(axis=0)
    found = []
    for g, h in zip(axis.inside, axis.outside, strict=True):
        rest = total - counts[g] if h < 0 else counts[h]
        values = {name: _attempt(function, counts[g]) for name, function in WITHIN.items()}
        if axis.name is not None and g != h:
            values |= {name: _attempt(function, counts[g], rest) for name, function in ACROSS.items()}
        found.append(values)
    return found


def _attempt(function: Callable[..., Estimate], *counts: npt.NDArray[np.int32]) -> Estimate | UndefinedEstimate:
    try:
        return function(*counts)
    except UndefinedEstimate as reason:
        return reason


def _intervals(
    design: Design, table: _Table, seeds: list[np.random.SeedSequence], settings: Settings, tick: _Ticks
) -> Floats:
    """Return the lower and upper ends, shape (2, C, M); each axis resamples raters within its groups."""
    axis = table.axis
    group = axis.codes[None]
    parts: dict[str, list[Floats]] = {"both": [], "raters": [], "items": []}
    for chunk in chunks(len(seeds), 4 * (design.n_raters + design.n_items) + design.row_bytes(len(axis.inside))):
        chosen = [seeds[b] for b in chunk]
        raters, items = resampled(chosen, axis.codes, design.n_items, settings.resample)
        if settings.resample == "both":
            parts["both"].append(_resampled(design, axis, group, raters, items))
        if settings.resample != "items":
            parts["raters"].append(_resampled(design, axis, group, raters, None))
        if settings.resample != "raters":
            parts["items"].append(_resampled(design, axis, group, None, items))
        tick(len(chosen))
    observed = statistics(design, group, axis.inside, axis.outside)[0]
    replicates = {name: np.concatenate(drawn) for name, drawn in parts.items() if drawn}
    if settings.resample == "both":
        ends = two_way_interval(
            observed, replicates["both"], replicates["raters"], replicates["items"], level=settings.level
        )
    else:
        ends = interval(observed, replicates[settings.resample], level=settings.level)
    return np.stack(ends)


def _resampled(
    design: Design,
    axis: Axis,
    group: npt.NDArray[np.int32],
    raters: npt.NDArray[np.int32] | None,
    items: npt.NDArray[np.int32] | None,
) -> Floats:
    return statistics(design, group, axis.inside, axis.outside, rater_weight=raters, item_weight=items)


def _tested(
    design: Design,
    tables: list[_Table],
    seeds: list[np.random.SeedSequence],
    within: npt.NDArray[np.int32],
    tick: _Ticks,
) -> list[_Table]:
    """Add the replicates of the null: every axis sees the same permutations, so crossings stay intact."""
    null: list[list[Floats]] = [[] for _ in tables]
    most = max(len(table.axis.inside) for table in tables)
    for chunk in chunks(len(seeds), 8 * design.n_raters + design.row_bytes(most)):
        drawn = shuffles([seeds[b] for b in chunk], design.n_raters, within)
        for table, collected in zip(tables, null, strict=True):
            axis = table.axis
            collected.append(statistics(design, axis.codes[drawn], axis.inside, axis.outside))
            tick(len(drawn))
    return [
        replace(
            table,
            observed=statistics(design, table.axis.codes[None], table.axis.inside, table.axis.outside)[0],
            null=np.concatenate(collected),
        )
        for table, collected in zip(tables, null, strict=True)
    ]


def _rows(table: _Table) -> Iterator[Row]:
    axis = table.axis
    for c, estimates in enumerate(table.estimates):
        for m, metric in enumerate(METRICS):
            ends = None if table.intervals is None else table.intervals[:, c, m]
            yield _row(axis, c, metric, estimates.get(metric), ends)
    yield _dsi(table)


def _row(axis: Axis, c: int, metric: str, found: Estimate | UndefinedEstimate | None, ends: Floats | None) -> Row:
    n_raters = int(axis.sizes[axis.inside[c]])
    blank = Row(
        axis=axis.name,
        group=None if axis.name is None else axis.groups[axis.inside[c]],
        against=axis.against(c) if axis.name is not None and metric in ACROSS else None,
        metric=metric,
        estimate=None,
        n_raters=n_raters,
        n_items=0,
    )
    if found is None:
        what = "name an axis" if axis.name is None else "this is the one that others are compared with"
        return replace(blank, reason=f"compares groups; {what}")
    if isinstance(found, UndefinedEstimate):
        return replace(blank, reason=str(found))
    low, high = (None, None) if ends is None else (_known(ends[0]), _known(ends[1]))
    enough = CALIBRATED_FROM[metric]
    few = low is not None and n_raters < enough
    return replace(
        blank,
        estimate=found.estimate,
        n_items=found.n_items,
        ties=found.ties,
        ci_low=low,
        ci_high=high,
        warning=f"intervals of {metric} are too narrow with fewer than {enough} raters" if few else None,
        reason="every bootstrap replicate is undefined" if ends is not None and low is None else None,
    )


def _dsi(table: _Table) -> Row:
    axis = table.axis
    n_raters = int(axis.sizes.sum())
    blank = Row(axis=axis.name, group=None, against=None, metric="dsi", estimate=None, n_raters=n_raters, n_items=0)
    if axis.name is None:
        return replace(blank, reason="compares groups; name an axis")
    if axis.outside[0] >= 0:
        return replace(blank, reason="DSI compares each group with the rest, not with one group.")
    defined = [found for values in table.estimates if isinstance(found := values["gai"], Estimate)]
    if not defined:
        return replace(blank, reason="DSI is undefined: no group has a defined GAI.")
    top = max(defined, key=float)
    reason = "a maximum of noisy values has no honest interval" if table.intervals is not None else None
    return replace(blank, against=axis.against(0), estimate=top.estimate, n_items=top.n_items, reason=reason)


def _with_significance(rows: list[Row], tables: list[_Table], settings: Settings) -> tuple[list[Row], Floats]:
    """Add p-values, raw and adjusted, and directions; return the replicates of all rows beside them."""
    if settings.permutations == 0 or not rows:
        return rows, np.empty((0, len(rows)))
    observed = np.concatenate([_flat(table.observed) for table in tables[1:]])
    null = np.concatenate([_flat(table.null) for table in tables[1:]], axis=-1)
    observed = np.where([row.estimate is None for row in rows], np.nan, observed)
    p, middle = permutation_p(observed, null, method=settings.method), medians(null)
    adjusted = np.full(len(rows), np.nan)
    for members in _families(rows, settings.family):
        if settings.adjust == "bh":
            adjusted[members] = benjamini_hochberg(p[members])
        else:  # a skewed statistic may lie far out by its standard deviation and not by its ranks
            adjusted[members] = np.maximum(p[members], max_t(observed[members], null[:, members]))
    tested = [
        _untested(row)
        if np.isnan(p[r])
        else replace(row, p=float(p[r]), p_adjusted=_known(adjusted[r]), direction=_direction(observed[r], middle[r]))
        for r, row in enumerate(rows)
    ]
    return tested, null


def _flat(values: Floats | None) -> Floats:
    """Return the statistics of an axis in the order of its rows, DSI last: (…, C, M) to (…, C × M + 1)."""
    assert values is not None  # noqa: S101 - tables are tested before they are read
    gais = values[..., METRICS.index("gai")]
    undefined = np.isnan(gais).all(axis=-1)
    top = np.where(undefined, np.nan, np.where(np.isnan(gais), -np.inf, gais).max(axis=-1))
    return np.concatenate([values.reshape(*values.shape[:-2], -1), top[..., None]], axis=-1)


def _families(rows: list[Row], family: Family) -> list[list[int]]:
    keys: dict[str, Callable[[Row], object]] = {
        "table": lambda _: None,
        "metric": lambda row: row.metric,
        "axis": lambda row: row.axis,
        "axis-metric": lambda row: (row.axis, row.metric),
    }
    members: dict[object, list[int]] = {}
    for r, row in enumerate(rows):
        members.setdefault(keys[family](row), []).append(r)
    return list(members.values())


def _untested(row: Row) -> Row:
    return row if row.estimate is None else replace(row, reason="every permutation replicate is undefined")


def _direction(observed: float, middle: float) -> str | None:
    if abs(observed - middle) <= ROUNDING * (1 + abs(observed)):
        return None
    return "above" if observed > middle else "below"


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _unknown(axes: list[Axis]) -> Iterator[str]:
    for axis in axes:
        if axis.n_unknown:
            who = "1 rater without a" if axis.n_unknown == 1 else f"{axis.n_unknown} raters without a"
            yield f"Left out of the comparisons on {axis.name}: {who} known value."


def _warnings(design: Design, settings: Settings, axes: list[Axis], within: npt.NDArray[np.int32]) -> Iterator[str]:
    if 0 < settings.bootstrap < 2 / (1 - settings.level):
        tails = f"{100 * settings.level:g} % interval"
        yield f"{settings.bootstrap} bootstrap replicates do not reach the tails of a {tails}."
    if settings.permutations == 0:
        return
    if not settings.axes:
        yield "Permutations compare groups, and no axis was named, so nothing was tested."
        return
    if settings.permutations < 39 and settings.method == "two-sided":
        least = 2 / (settings.permutations + 1)
        yield f"With {settings.permutations} permutations no p-value can be below {least:.2g}; 1,000 are usual."
    share = design.items.size / (design.n_items * design.n_raters)
    if settings.permute_within is None and share < 0.9:
        yield (
            f"Raters rated {100 * share:.2g} % of the items on average, and permutations moved them freely. If an "
            "attribute, such as phase or locale, decided who rates what, restrict them: --permute-within COLUMN."
        )
    for axis in axes:
        if len(np.unique(np.stack([within, axis.codes]), axis=1)[0]) == len(np.unique(within)):
            yield f"Within the strata everybody has the same {axis.name}: no shuffle changes it, and every p is 1."
    if settings.method == "grasp":
        yield "The grasp rule picks its side after looking: at 5 % it rejects a true null nearly 10 % of the time."
