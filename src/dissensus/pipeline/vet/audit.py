"""Audit of a rater filter: removal by group, label shifts, and matched random removals for comparison."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.vet.audit_result import AxisRemoval, FilterAudit, GroupRemoval, LabelMove
from dissensus.pipeline.vet.evidence import resolve_axes
from dissensus.pipeline.vet.result import Vetting
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_value, suggest
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import FLAG, RATER_ID, REST
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Design
from dissensus.stats.exact import freeman_halton, odds_ratio
from dissensus.stats.multiple_testing import adjust_tests, benjamini_hochberg
from dissensus.stats.permutation import draw_permutations, upper_p
from dissensus.stats.removal import LOAD_RATIO, MOVES, expected_shift, label_shift, load_strata, summarise_shifts
from dissensus.stats.result import BoolArray, Int32Array, Int64Array, IntArray, check_confidence, none_if_nan

# Least share of the removed raters with a match for a test: random removals of fewer hardly differ from the filter.
LEAST_MATCHED = 0.5
# Largest difference of the expected shift from that of random removals: relative, and in their standard deviations.
MAX_UNLIKE, MAX_Z = 0.05, 1.96


def audit_filter(
    ratings: Ratings,
    *,
    raters: Sequence[str] | None = None,
    question: str | None = None,
    by: str | Sequence[str] | None = None,
    draws: int = 1000,
    within: str | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> FilterAudit:
    """Audit a filter of raters: its removals by group, its label shifts, and those of random removals.

    Tests whether removal is independent of each demographic (`freeman_halton`, `odds_ratio`), measures the shift of the
    label of each item (`label_shift`), and compares the shifts with those of removing as many raters at random, matched
    by their numbers of ratings.

    Parameters
    ----------
    ratings
        All ratings, before the filter.
    raters
        Ids of the raters to remove; by default those flagged in the ratings (``rater_flagged``).
    question
        The question whose labels are compared, if more than one was read; ``Q_overall`` by default.
    by
        Axes to test; all by default.
    draws
        Number of random removals; 0 for none.
    within
        An axis whose groups lose the same numbers of raters at random as by the filter, so that a difference is not due
        to the mix of these groups.
    seed
        Seed of the random removals; the result does not depend on the number of threads.
    confidence
        Confidence level of the intervals, and of the central range of random removals.

    Returns
    -------
    FilterAudit

    Raises
    ------
    InvalidInput
        No rater or every rater is removed, or the ratings were read without raters.
    NotFound
        An unknown rater, axis or question.

    Notes
    -----
    The null hypothesis of the draws is that raters with like numbers of ratings are exchangeable (`load_strata`),
    within the groups of `within` if given; raters of unknown group are exchanged among themselves. A removed rater
    without a kept one of the same stratum is removed in every draw, with a note; if these are more than half, or if
    random removals take other numbers of ratings of the items (`expected_shift`), shifts are not tested, and the reason
    is reported. Raters of unknown group on an axis are excluded from its test. An axis is not tested if it has a single
    group, or if all or none of the raters of known group are removed; the reason is reported.

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
    _check(draws, seed, confidence)
    question = ratings.resolve_question(question)
    ratings = ratings.select_question(question)
    removed = (
        _mark_flagged(ratings)
        if raters is None
        else _mark_raters(ratings, [raters] if isinstance(raters, str) else raters)
    )
    item, rater, answer = ratings.codes(question)
    scale = ratings.scale(question)
    design = Design(item, rater, answer, ratings.n_items, ratings.n_raters, len(scale))
    items = _items(ratings, design, removed, scale)
    strata = load_strata(np.bincount(design.raters, minlength=design.n_raters), _within(ratings, within))
    unmatched = removed & ~np.isin(strata, strata[~removed])
    random_removals = removed[draw_permutations(np.random.SeedSequence(seed).spawn(draws), removed.size, strata)]
    reason = _explain_unmatched(unmatched, removed, within) or _explain_unlike(design, removed, random_removals)
    return FilterAudit(
        removed=tuple(ratings.raters[RATER_ID].filter(pl.Series(removed))),
        source="the file" if raters is None else "the caller",
        axes=_adjust([_audit_axis(ratings, axis, removed, seed, confidence) for axis in resolve_axes(ratings, by)]),
        moves=tuple(_summarise_moves(design, removed, random_removals[: 0 if reason else draws], confidence, reason)),
        items=items,
        question=question,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        draws=draws,
        within=None if within is None else ratings.axis_name(within),
        seed=seed,
        confidence=confidence,
        notes=(*ratings.notes, *_notes(ratings, items), *([] if reason else _note_unmatched(unmatched, removed))),
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
    """Audit the flags of the file, or those of vetting if the file has none; None if no rater is flagged.

    See `audit_filter` for the options.
    """
    run = partial(audit_filter, ratings, question=vetting.question, by=by, draws=draws, within=within, seed=seed)
    if vetting.raters["flagged_in_file"].any():
        audit = run()
    elif vetting.flagged:
        audit = replace(run(raters=vetting.flagged), source="the criteria")
    else:
        return None
    return replace(audit, notes=tuple(note for note in audit.notes if note not in vetting.notes))


def _check(draws: object, seed: object, confidence: float) -> None:
    check_whole("draws", draws)
    check_whole("seed", seed)
    check_confidence(confidence)


def _mark_flagged(ratings: Ratings) -> BoolArray:
    if FLAG not in ratings.raters.columns:
        reason = "No flags of raters are known, so there is no filter to audit."
        raise InvalidInput(
            Advice(
                f"{reason} Give a column {FLAG} in the ratings or in a table of raters (--raters FILE), or the ids of "
                "the raters (in Python: raters=[...]).",
                site=reason,
            )
        )
    return _require_some(ratings.raters[FLAG].to_numpy())


def _mark_raters(ratings: Ratings, raters: Sequence[str]) -> BoolArray:
    ids = ratings.raters[RATER_ID]
    known = set(ids)
    for rater in raters:
        if rater not in known:
            hint = suggest(str(rater), ids.head(1000).to_list())
            raise NotFound(f"There is no rater {format_value(rater)} with an answer to {ratings.questions[0]}.{hint}")
    if not raters:
        raise InvalidInput("raters is empty, so there is no filter to audit. Give the ids of the raters to remove.")
    return _require_some(ids.is_in(list(raters)).to_numpy())


def _require_some(removed: BoolArray) -> BoolArray:
    if not removed.any():
        raise InvalidInput("No rater is flagged, so there is no filter to audit.")
    if removed.all():
        raise InvalidInput("The filter removes every rater, so no ratings are left, and no labels to compare.")
    return removed


def _audit_axis(ratings: Ratings, axis: str, removed: BoolArray, seed: int, confidence: float) -> AxisRemoval:
    codes, names = ratings.group_codes(axis)
    has_group = codes >= 0
    sizes = np.bincount(codes[has_group], minlength=len(names))
    n_removed = np.bincount(codes[has_group & removed], minlength=len(names))
    table = np.stack([n_removed, sizes - n_removed], axis=1)
    groups = tuple(
        GroupRemoval(group=name, n_removed=int(n_removed[g]), n_raters=int(sizes[g])) for g, name in enumerate(names)
    )
    removal = AxisRemoval(axis=axis, groups=groups, n_unknown=int((~has_group).sum()))
    try:
        test = freeman_halton(table, seed=seed)
    except UndefinedEstimate as reason:
        return replace(removal, reason=f"not tested: {reason}")
    rest = table.sum(axis=0) - table
    pair = len(names) == 2
    with_odds = [
        _add_odds(group, names[1 - g] if pair else REST, table[g], rest[g], confidence)
        for g, group in enumerate(groups)
    ]
    groups = (with_odds[0], groups[1]) if pair else tuple(with_odds)
    return replace(removal, p=test.p, method=test.method, groups=groups)


def _add_odds(group: GroupRemoval, against: str, own: Int64Array, rest: Int64Array, confidence: float) -> GroupRemoval:
    """Add the odds ratio of being removed, and the reason if it is 0 or infinite."""
    odds = odds_ratio([own, rest], confidence=confidence)
    rest_name = "the rest" if against == REST else against
    reason = None
    if odds.estimate == 0:
        reason = "0: nobody of the group is removed" if own[0] == 0 else f"0: everybody of {rest_name} is removed"
    elif np.isinf(odds.estimate):
        subject = f"nobody of {rest_name}" if rest[0] == 0 else "everybody of the group"
        reason = f"infinite: {subject} is removed"
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
    adjusted = adjust_tests((axis.p for axis in axes), benjamini_hochberg)
    return tuple(replace(axis, p_adjusted=p) for axis, p in zip(axes, adjusted, strict=True))


def _items(ratings: Ratings, design: Design, removed: BoolArray, scale: tuple[str, ...]) -> pl.DataFrame:
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


def _most_frequent(counts: Int32Array, scale: tuple[str, ...]) -> pl.Series:
    tops = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    patterns, pattern = np.unique(tops, axis=0, return_inverse=True)
    named = pl.Series([[scale[k] for k in np.flatnonzero(row)] for row in patterns], dtype=pl.List(pl.String))
    return named.gather(pattern.ravel())


def _within(ratings: Ratings, within: str | None) -> IntArray | None:
    if within is None:
        return None
    codes, _ = ratings.group_codes(within)
    if (codes < 0).all():
        raise InvalidInput(f"No rater has a known {ratings.axis_name(within)}, so none can be removed within it.")
    return codes


def _explain_unmatched(unmatched: BoolArray, removed: BoolArray, within: str | None) -> str | None:
    """Return the reason if too few removed raters have a match for a test."""
    if (removed & ~unmatched).sum() >= LEAST_MATCHED * removed.sum():
        return None
    same_group = "" if within is None else f" of the same {within}"
    return (
        f"{unmatched.sum():,} of {removed.sum():,} removed raters have no match: nobody who is kept{same_group} has a "
        f"number of ratings within {100 * LOAD_RATIO - 100:.0f} % of theirs"
    )


def _explain_unlike(design: Design, removed: BoolArray, random_removals: BoolArray) -> str | None:
    """Return the reason if random removals take other numbers of ratings of the items than the filter."""
    if not len(random_removals):
        return None
    observed, null = expected_shift(design, removed[None])[0], expected_shift(design, random_removals)
    gap = abs(observed - null.mean())
    if gap <= MAX_UNLIKE * null.mean() or gap <= MAX_Z * null.std():
        return None
    unlike = (
        "the removed raters share other items than raters at random, so that labels shift by another extent even if "
        "all answer alike"
    )
    within = f"{unlike}; draw within the attribute that determined the items (--within AXIS), if there is one"
    return Advice(within, site=unlike)


def _note_unmatched(unmatched: BoolArray, removed: BoolArray) -> list[str]:
    if not unmatched.any():
        return []
    return [
        f"{unmatched.sum():,} of {removed.sum():,} removed raters have no match, and are removed in every draw: nobody "
        f"who is kept has a number of ratings within {100 * LOAD_RATIO - 100:.0f} % of theirs."
    ]


def _summarise_moves(
    design: Design, removed: BoolArray, random_removals: BoolArray, confidence: float, reason: str | None
) -> list[LabelMove]:
    observed, null = summarise_shifts(design, removed[None])[0], summarise_shifts(design, random_removals)
    if not len(random_removals):
        summaries = np.full((4, len(MOVES)), np.nan)
    else:
        ends = np.quantile(null, [0.5, (1 - confidence) / 2, (1 + confidence) / 2], axis=0)
        summaries = np.vstack([upper_p(observed, null), ends])
    return [
        LabelMove(
            measure=measure,
            observed=none_if_nan(value),
            p=none_if_nan(p),
            null_median=none_if_nan(median),
            null_low=none_if_nan(low),
            null_high=none_if_nan(high),
            reason=reason,
        )
        for measure, value, (p, median, low, high) in zip(MOVES, observed, summaries.T, strict=True)
    ]


def _notes(ratings: Ratings, items: pl.DataFrame) -> list[str]:
    n_unrated = int((items["n_after"] == 0).sum())
    notes = []
    if n_unrated:
        subject = "item has no rating left and is" if n_unrated == 1 else "items have no rating left and are"
        notes.append(f"{n_unrated:,} {subject} left out of the label shifts.")
    if not ratings.axes:
        notes.append("The ratings have no demographics, so independence of demographics was not tested.")
    return notes
