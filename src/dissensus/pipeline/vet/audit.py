"""Audit of a filter: removed raters, label shifts, and the same for random removal."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.vet.audit_result import AxisRemoval, FilterAudit, GroupRemoval, LabelMove
from dissensus.pipeline.vet.evidence import resolve_axes
from dissensus.pipeline.vet.result import Vetting
from dissensus.schema.hints import format_value, suggest
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import FLAG, RATER_ID, REST
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Design
from dissensus.stats.exact import freeman_halton, odds_ratio
from dissensus.stats.permutation import shuffles
from dissensus.stats.removal import MOVES, label_shift, moves
from dissensus.stats.result import check_level
from dissensus.stats.significance import benjamini_hochberg, upper_p

Bools = npt.NDArray[np.bool_]


def audit_filter(
    ratings: Ratings,
    *,
    raters: Sequence[str] | None = None,
    question: str | None = None,
    by: str | Sequence[str] | None = None,
    draws: int = 1000,
    within: str | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> FilterAudit:
    """Tell whom a filter of raters removes, how far labels move, and whether chance would move them as far.

    Three questions about a filter before it is used: is removal independent of each demographic (`freeman_halton`,
    `odds_ratio`); how far does the label of each item move (`label_shift`); do labels move further than if as many
    raters were removed at random?

    Parameters
    ----------
    ratings
        The ratings of everybody, before the filter.
    raters
        Ids of the raters to remove; by default those whom the ratings flag (``rater_flagged``).
    question
        The question whose labels are looked at, if more than one was read; ``Q_overall`` by default.
    by
        Axes to test; all by default.
    draws
        Random removals; 0 for none.
    within
        An axis: at random, as many raters of each of its groups are removed as were, so that what is left of a
        difference is not the mix of these groups.
    seed
        The same seed gives the same result on any number of threads.
    level
        Confidence level of the intervals, and share of the range of random removals.

    Returns
    -------
    FilterAudit

    Raises
    ------
    InvalidInput
        Nobody is flagged or everybody, or the ratings were read without raters.
    NotFound
        A rater, axis or question that is not there.

    Notes
    -----
    The null of the draws is that *who* is removed does not matter: raters are exchangeable, within groups of `within`
    if given; those whose group is unknown change places among themselves. Raters whose group on an axis is unknown
    take no part in its test. An axis with a single group, or where
    everybody or nobody with a known group is removed, is left untested with the reason. Where raters rate different
    items, removing as many raters does not remove as many ratings.

    Examples
    --------
    >>> import dissensus as ds
    >>> from dissensus.pipeline.vet import audit_filter
    >>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    >>> audit = audit_filter(ratings, raters=["rater-01", "rater-02", "rater-03", "rater-04"], by="gender")
    >>> axis = audit.axes[0]
    >>> [(group.group, group.n_removed, group.n_raters) for group in axis.groups], round(axis.p, 3), axis.method
    ([('Man', 4, 18), ('Woman', 0, 18)], 0.104, "Fisher's exact test")
    >>> move = audit.moves[0]
    >>> move.measure, round(move.observed, 4), round(move.null_median, 4), round(move.p, 2)
    ('mean_total_variation', 0.0255, 0.0261, 0.58)
    """
    ratings.require_raters("The audit of a filter")
    _check(draws, seed, level)
    ratings = ratings.answering(ratings.asked(question))
    asked = ratings.questions[0]
    removed = (
        _mark_flagged(ratings)
        if raters is None
        else _mark_named(ratings, [raters] if isinstance(raters, str) else raters)
    )
    item, rater, answer = ratings.coded(asked)
    scale = ratings.scale(asked)
    design = Design(item, rater, answer, ratings.n_items, ratings.n_raters, len(scale))
    items = _items(ratings, design, removed, scale)
    return FilterAudit(
        removed=tuple(ratings.raters[RATER_ID].filter(pl.Series(removed))),
        source="the file" if raters is None else "the caller",
        axes=_adjust([_axis(ratings, axis, removed, seed, level) for axis in resolve_axes(ratings, by)]),
        moves=tuple(_moves(design, removed, _random(ratings, removed, draws, within, seed), level)),
        items=items,
        question=asked,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        draws=draws,
        within=None if within is None else ratings.axis_name(within),
        seed=seed,
        level=level,
        notes=(*ratings.notes, *_notes(ratings, items)),
        version=version("dissensus"),
    )


def audit_flagged(
    ratings: Ratings,
    vetting: Vetting,
    *,
    by: str | Sequence[str] | None = None,
    draws: int = 1000,
    within: str | None = None,
    seed: int = 0,
) -> FilterAudit | None:
    """Audit the flags of the file, or where it has none those that vetting proposes; None where nobody is flagged.

    See `audit_filter` for the options.
    """
    run = partial(audit_filter, ratings, question=vetting.question, by=by, draws=draws, within=within, seed=seed)
    if vetting.raters["flagged_in_file"].any():
        found = run()
    elif vetting.flagged:
        found = replace(run(raters=vetting.flagged), source="the criteria")
    else:
        return None
    return replace(found, notes=tuple(note for note in found.notes if note not in vetting.notes))


def _check(draws: object, seed: object, level: float) -> None:
    check_whole("draws", draws)
    check_whole("seed", seed)
    check_level(level)


def _mark_flagged(ratings: Ratings) -> Bools:
    if FLAG not in ratings.raters.columns:
        raise InvalidInput(
            f"It is not known which raters are flagged, so there is no filter to audit. A column {FLAG} in the ratings "
            "or in a table of raters (--raters FILE) would tell, or the ids of the raters (in Python: raters=[...])."
        )
    return _require_some(ratings.raters[FLAG].to_numpy())


def _mark_named(ratings: Ratings, raters: Sequence[str]) -> Bools:
    ids = ratings.raters[RATER_ID]
    for rater in (wanted := list(dict.fromkeys(raters))):
        if rater not in ids:
            hint = suggest(str(rater), ids.head(1000).to_list())
            raise NotFound(f"There is no rater {format_value(rater)} with an answer to {ratings.questions[0]}.{hint}")
    if not wanted:
        raise InvalidInput("raters names nobody, so there is no filter to audit. Give the ids of those to remove.")
    return _require_some(ids.is_in(wanted).to_numpy())


def _require_some(removed: Bools) -> Bools:
    if not removed.any():
        raise InvalidInput("No rater is flagged, so there is no filter to audit.")
    if removed.all():
        raise InvalidInput("Every rater is flagged, so no ratings are left after the filter, and no labels to compare.")
    return removed


def _axis(ratings: Ratings, axis: str, removed: Bools, seed: int, level: float) -> AxisRemoval:
    codes, groups = ratings.group_codes(axis)
    known = codes >= 0
    sizes = np.bincount(codes[known], minlength=len(groups))
    gone = np.bincount(codes[known & removed], minlength=len(groups))
    table = np.stack([gone, sizes - gone], axis=1)
    counted = tuple(
        GroupRemoval(group=group, n_removed=int(gone[g]), n_raters=int(sizes[g])) for g, group in enumerate(groups)
    )
    found = AxisRemoval(axis=axis, groups=counted, n_unknown=int((~known).sum()))
    try:
        test = freeman_halton(table, seed=seed)
    except UndefinedEstimate as reason:
        return replace(found, reason=f"not tested: {reason}")
    rest = table.sum(axis=0) - table
    pair = len(groups) == 2
    with_odds = [
        _add_odds(group, groups[1 - g] if pair else REST, table[g], rest[g], level) for g, group in enumerate(counted)
    ]
    return replace(found, p=test.p, method=test.method, groups=(with_odds[0], counted[1]) if pair else tuple(with_odds))


def _add_odds(
    group: GroupRemoval, against: str, own: npt.NDArray[np.int64], others: npt.NDArray[np.int64], level: float
) -> GroupRemoval:
    """Add the odds ratio of being removed, of the group against others, and say why it has no two finite ends."""
    odds = odds_ratio([own, others], level=level)
    who = {"own": "of the group", "others": f"of {against}" if against != REST else "of the rest"}
    reason = None
    if odds.estimate == 0:
        reason = f"0: nobody {who['own']} is removed" if own[0] == 0 else f"0: everybody {who['others']} is removed"
    elif np.isinf(odds.estimate):
        alone = others[0] == 0
        reason = f"infinite: {'nobody ' + who['others'] if alone else 'everybody ' + who['own']} is removed"
    return replace(
        group,
        against=against,
        odds_ratio=odds.estimate,
        ci_low=odds.ci_low,
        ci_high=odds.ci_high,
        reason=reason,
    )


def _adjust(axes: Sequence[AxisRemoval]) -> tuple[AxisRemoval, ...]:
    """Adjust the p-values over the axes."""
    adjusted = benjamini_hochberg([np.nan if axis.p is None else axis.p for axis in axes])
    return tuple(
        axis if axis.p is None else replace(axis, p_adjusted=float(p)) for axis, p in zip(axes, adjusted, strict=True)
    )


def _items(ratings: Ratings, design: Design, removed: Bools, scale: tuple[str, ...]) -> pl.DataFrame:
    before = design.counts()
    after = design.counts(np.where(removed, -1, 0))[0]
    shift = label_shift(before, after)
    return pl.DataFrame(
        {
            "item_id": ratings.items["item_id"],
            "n_before": before.sum(axis=1),
            "n_after": after.sum(axis=1),
            "total_variation": pl.Series(shift.total_variation).fill_nan(None),
            "jensen_shannon": pl.Series(shift.jensen_shannon).fill_nan(None),
            "before": _most_frequent(before, scale),
            "after": _most_frequent(after, scale),
            "changed": shift.changed,
            "disjoint": shift.disjoint,
        }
    )


def _most_frequent(counts: npt.NDArray[np.int32], scale: tuple[str, ...]) -> pl.Series:
    tops = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    return pl.Series([[scale[k] for k in np.flatnonzero(row)] for row in tops], dtype=pl.List(pl.String))


def _random(ratings: Ratings, removed: Bools, draws: int, within: str | None, seed: int) -> Bools:
    """Return who is removed in each draw: as many raters, at random, within groups if asked, shape (B, R)."""
    strata = None if within is None else ratings.group_codes(within)[0]
    if strata is not None and (strata < 0).all():
        raise InvalidInput(f"No rater has a known {ratings.axis_name(str(within))}, so none can be removed within it.")
    return np.asarray(removed[shuffles(np.random.SeedSequence(seed).spawn(draws), removed.size, strata)])


def _moves(design: Design, removed: Bools, drawn: Bools, level: float) -> list[LabelMove]:
    observed, null = moves(design, removed[None])[0], moves(design, drawn)
    if not len(drawn):
        summaries = np.full((4, len(MOVES)), np.nan)
    else:
        ends = np.quantile(null, [0.5, (1 - level) / 2, (1 + level) / 2], axis=0)
        summaries = np.vstack([upper_p(observed, null), ends])
    return [
        LabelMove(
            measure=measure,
            observed=_none_if_nan(value),
            p=_none_if_nan(p),
            null_median=_none_if_nan(middle),
            null_low=_none_if_nan(low),
            null_high=_none_if_nan(high),
        )
        for measure, value, (p, middle, low, high) in zip(MOVES, observed, summaries.T, strict=True)
    ]


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _notes(ratings: Ratings, items: pl.DataFrame) -> list[str]:
    lost = int((items["n_after"] == 0).sum())
    notes = []
    if lost:
        what = "item has no rating left and counts" if lost == 1 else "items have no rating left and count"
        notes.append(f"{lost:,} {what} in no measure of how labels move.")
    if not ratings.axes:
        notes.append("Nothing is known about the raters, so independence of demographics was not tested.")
    return notes
