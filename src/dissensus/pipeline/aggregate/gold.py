"""Comparison of gold labels with crowd labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.aggregate.gold_intervals import (
    INTERVALS,
    SAFE,
    TIED,
    UNSAFE,
    LabelledAnswers,
    compute_gold_intervals,
)
from dissensus.pipeline.aggregate.safety import CROWD, compute_crowd_labels, resolve_name
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, PagedResult, escape_unprintable, format_number
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import GOLD, ITEM_ID
from dissensus.schema.ratings.safety import SAFE_UNSAFE, check_unsafe_answers, read_expert_labels
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.result import BoolArray, FloatArray, check_confidence

Ties = Literal["safe", "unsafe", "apart"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GoldAgainstCrowd(JsonResult, PagedResult):
    """Comparison of gold labels with crowd labels, overall and by group; printed as a table.

    Parameters
    ----------
    summary
        One row for the whole pool, whose ``group`` is null, and one for each group: ``group``, ``n_raters`` (null if
        raters are unknown), ``n_items``, the numbers of items that are ``both_safe``, ``both_unsafe``, ``gold_only``
        (unsafe by gold only), ``crowd_only`` (unsafe by the crowd only) and ``tied``, the share ``disagreement`` of
        `gold_only` and `crowd_only` together, and ``alpha``, Krippendorff's nominal alpha of the two labels, null with
        a ``reason`` if undefined. ``disagreement_low``, ``disagreement_high``, ``alpha_low`` and ``alpha_high`` are the
        ends of their intervals, null without replicates. With ties apart, the five counts sum to `n_items`; otherwise
        tied items are also included in the first four, which then sum to `n_items`.
    confusion
        One row for each group and combination of labels of the crowd (safe, tied, unsafe), gold and, if compared,
        platinum: ``group``, ``crowd``, ``gold``, ``platinum``, ``n_items`` and its ``share`` of the items of the group.
        Ties are always apart here.
    rule
        Description of the rule for safe and unsafe.
    question, gold, platinum, by, ties, bootstrap, confidence, seed
        Options of the comparison.
    notes
        Items left out.
    """

    summary: pl.DataFrame
    confusion: pl.DataFrame
    rule: str
    question: str
    gold: str
    platinum: str | None
    by: str | None
    ties: Ties
    bootstrap: int
    confidence: float
    seed: int
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("rule", "question", "gold", "platinum", "by", "ties", "bootstrap", "confidence", "seed")
        tables = {"summary": self.summary.to_dicts(), "confusion": self.confusion.to_dicts()}
        return {name: getattr(self, name) for name in names} | {"notes": list(self.notes)} | tables

    def page(self) -> Page:
        """Return the comparison as a page."""
        return Page(gold_summary(self), tuple(gold_grids(self)), tuple(gold_footnotes(self)))


def gold_against_crowd(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings,
    question: str | None = None,
    *,
    gold: str = GOLD,
    platinum: str | None = None,
    by: str | None = None,
    unsafe: str | Sequence[str] = "Yes",
    ties: Ties = "apart",
    bootstrap: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
) -> GoldAgainstCrowd:
    """Compare the labels of experts with the plurality of the raters, of the whole pool and of each group.

    The crowd calls an item unsafe if its most frequent answer is an unsafe one (Aroyo et al. 2023, section 4). It is
    tied if both a safe and an unsafe answer are the most frequent.

    Parameters
    ----------
    ratings
        The ratings, with the gold labels among the attributes of their items.
    question
        The question; gold labels are answers to it.
    gold
        Attribute of the items with the label of the experts, on the scale of the question.
    platinum
        The same with the label of an earlier crowd, for a comparison of three.
    by
        An axis or crossed axes: the plurality of each group of raters; or an attribute of the items, such as
        degree_of_harm: the plurality of the whole pool on the items of each kind. An item with several topics counts
        in the row of each.
    unsafe
        The unsafe answer, or several; all others are safe.
    ties
        Counting of tied items in `summary`: as safe, as unsafe, or apart from both.
    bootstrap
        Number of bootstrap replicates of raters, within groups, and items; 0 for no intervals. Items alone are drawn if
        raters are unknown.
    confidence
        Confidence level of the intervals.
    seed
        Seed of the resampling.

    Returns
    -------
    GoldAgainstCrowd

    Raises
    ------
    NotFound
        No item attribute or axis has that name.
    InvalidInput
        No rated item has a gold label, a label is not on the scale, or an answer or tie rule is unknown.

    Notes
    -----
    Items without gold (or platinum, if compared) are left out and counted in `notes`. A group does not count the items
    that it did not rate; raters without a known group and items without a known attribute are not counted either. An
    item on which two safe answers are tied is safe. With ties apart, alpha excludes tied items. Intervals add the
    deviations of replicates of raters and of items, and are recentred: they are for the expected value with so many
    raters, whose plurality is noisier than that of many. Gold labels are fixed.

    Examples
    --------
    >>> frame = pl.DataFrame({
    ...     "item_id": ["1", "1", "1", "2", "2", "3"],
    ...     "rater_id": ["a", "b", "c", "a", "b", "a"],
    ...     "Q_overall": ["Yes", "No", "Yes", "Yes", "No", "No"],
    ...     "safety_gold": ["Yes", "Yes", "Yes", "No", "No", "Yes"],
    ... })
    >>> comparison = gold_against_crowd(Ratings.from_frame(frame), "Q_overall")
    >>> comparison.summary.select("both_unsafe", "gold_only", "crowd_only", "tied").row(0)
    (1, 1, 0, 1)
    """
    question = ratings.resolve_question(question)
    unsafe = (unsafe,) if isinstance(unsafe, str) else tuple(unsafe)
    if ties not in get_args(Ties):
        raise InvalidInput(f"ties is {ties!r}; choose one of {', '.join(get_args(Ties))}.")
    check_unsafe_answers(ratings, question, unsafe)
    _check_bootstrap(bootstrap, confidence, seed)
    ratings = ratings.select_question(question)
    columns = {"gold": gold} if platinum is None else {"gold": gold, "platinum": platinum}
    labelled, note = _read_labels(ratings, question, columns, unsafe)
    ratings = ratings.select_items(ratings.items[ITEM_ID].is_in(labelled[ITEM_ID].implode()))
    by = resolve_name(ratings, by)
    crowd, sizes = compute_crowd_labels(ratings, question, by, unsafe)
    joined = crowd.join(labelled, on=ITEM_ID, how="inner", maintain_order="left")
    summary = _summary(joined, sizes, ties)
    if bootstrap:
        ends = _compute_intervals(
            ratings, question, labelled, by, unsafe, ties, replicates=bootstrap, confidence=confidence, seed=seed
        )
        summary = summary.with_columns(ends)
    return GoldAgainstCrowd(
        summary=summary,
        confusion=_confusion(joined, list(sizes)),
        rule=_rule(ratings.scale(question), unsafe, ties),
        question=question,
        gold=gold,
        platinum=platinum,
        by=by,
        ties=ties,
        bootstrap=bootstrap,
        confidence=confidence,
        seed=seed,
        notes=(*note, *(() if by is None else ratings.describe_sets([by]))),
    )


def _read_labels(
    ratings: Ratings, question: str, columns: Mapping[str, str], unsafe: Sequence[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the items that have all labels, with the label of each role, and a note on the others, if any."""
    labels = [read_expert_labels(ratings, question, name, unsafe).alias(role) for role, name in columns.items()]
    labelled = pl.DataFrame([ratings.items[ITEM_ID], *labels]).drop_nulls()
    names = " and ".join(columns.values())
    if labelled.is_empty():
        raise InvalidInput(f"No rated item has {names}; there is nothing to compare with.")
    n_dropped = ratings.n_items - labelled.height
    note = f"{n_dropped:,} of {ratings.n_items:,} items have no {names} and are left out."
    return labelled, (note,) if n_dropped else ()


def _check_bootstrap(bootstrap: int, confidence: float, seed: int) -> None:
    check_whole("bootstrap", bootstrap)
    check_whole("seed", seed)
    check_confidence(confidence)
    if bootstrap == 1:
        raise InvalidInput("bootstrap is 1; one replicate has no spread. Give 0, or 1000 for a stable interval.")


def _compute_intervals(
    ratings: Ratings,
    question: str,
    labelled: pl.DataFrame,
    by: str | None,
    unsafe: Sequence[str],
    ties: Ties,
    **options: Any,
) -> list[pl.Series]:
    """Return the columns of the ends of intervals, in the order of the summary."""
    item, rater, answer = ratings.codes(question)
    known, scale = ratings.has_raters, ratings.scale(question)
    gold = ratings.items.select(ITEM_ID).join(labelled, on=ITEM_ID, how="left", maintain_order="left")["gold"]
    answers = LabelledAnswers(
        items=item,
        raters=rater,
        answers=answer.astype(np.int32),
        n_items=ratings.n_items,
        n_raters=ratings.n_raters if known else 0,
        n_categories=len(scale),
        unsafe=np.isin(scale, unsafe),
        gold=(gold == "unsafe").to_numpy(),
        tie={"safe": SAFE, "apart": TIED, "unsafe": UNSAFE}[ties],
    )
    everything = np.ones(ratings.n_items, dtype=np.bool_)
    members, pool = [(0, everything)], np.zeros(answers.n_raters, np.int32)
    ends: list[FloatArray] = []
    if by is not None and by in ratings.items.columns:
        kinds = ratings.item_members(by)
        for value in kinds["value"].unique().sort():
            of_kind = np.zeros_like(everything)
            of_kind[kinds.filter(pl.col("value") == value)["row"].to_numpy()] = True
            members.append((0, of_kind))
    ends += compute_gold_intervals(answers, pool, members, **options)
    if by is not None and by not in ratings.items.columns:
        codes, names = ratings.group_codes(by)
        ends += compute_gold_intervals(answers, codes, [(g, everything) for g in range(len(names))], **options)
    return [
        pl.Series(f"{name}_{end}", [None if np.isnan(row[e, m]) else row[e, m] for row in ends], dtype=pl.Float64)
        for m, name in enumerate(INTERVALS)
        for e, end in enumerate(("low", "high"))
    ]


def _summary(labels: pl.DataFrame, sizes: dict[str | None, int | None], ties: Ties) -> pl.DataFrame:
    rows = [
        {"group": group, "n_raters": n_raters} | _count_labels(labels.filter(pl.col("group").eq_missing(group)), ties)
        for group, n_raters in sizes.items()
    ]
    return pl.DataFrame(rows, schema=_SUMMARY)


def _count_labels(labels: pl.DataFrame, ties: Ties) -> dict[str, Any]:
    """Count the items of one group by the labels of gold and crowd."""
    gold, crowd = (labels["gold"] == "unsafe").to_numpy(), labels["crowd"].cast(pl.String)
    tied = int((crowd == "tied").sum())
    if ties != "apart":
        crowd = crowd.replace("tied", ties)
    settled, unsafe = (crowd != "tied").to_numpy(), (crowd == "unsafe").to_numpy()
    gold_only, crowd_only = int((settled & gold & ~unsafe).sum()), int((settled & ~gold & unsafe).sum())
    alpha, reason = _alpha(gold[settled], unsafe[settled])
    return {
        "n_items": labels.height,
        "both_safe": int((settled & ~gold & ~unsafe).sum()),
        "both_unsafe": int((settled & gold & unsafe).sum()),
        "gold_only": gold_only,
        "crowd_only": crowd_only,
        "tied": tied,
        "disagreement": (gold_only + crowd_only) / labels.height if labels.height else None,
        "alpha": alpha,
        "reason": reason,
    }


def _alpha(first: BoolArray, second: BoolArray) -> tuple[float | None, str | None]:
    """Return Krippendorff's alpha of two labels, or the reason why it is undefined."""
    n_unsafe = first.astype(np.int64) + second
    try:
        return krippendorff_alpha(np.stack([2 - n_unsafe, n_unsafe], axis=1)).estimate, None
    except UndefinedEstimate as error:
        return None, str(error)


def _confusion(labels: pl.DataFrame, groups: Sequence[str | None]) -> pl.DataFrame:
    """Count the items with each combination of labels, including combinations that do not occur."""
    roles = [name for name in ("crowd", "gold", "platinum") if name in labels.columns]
    grid = pl.DataFrame({"group": pl.Series(groups, dtype=pl.String)})
    for role in roles:
        kind = CROWD if role == "crowd" else SAFE_UNSAFE
        grid = grid.join(pl.DataFrame({role: pl.Series(kind.categories, dtype=kind)}), how="cross")
    keys = ["group", *roles]
    counts = labels.group_by(keys).agg(n_items=pl.len())
    complete = grid.join(counts, on=keys, how="left", nulls_equal=True, maintain_order="left")
    n_items = pl.col("n_items").fill_null(0)
    return complete.with_columns(n_items, share=n_items / n_items.sum().over("group"))


def _rule(scale: Sequence[str], unsafe: Sequence[str], ties: Ties) -> str:
    safe = [answer for answer in scale if answer not in unsafe]
    counts = {"safe": "counts as safe", "unsafe": "counts as unsafe", "apart": "counts as neither"}[ties]
    return (
        f"Unsafe: {', '.join(unsafe)}; safe: {', '.join(safe)}. The crowd's answer to an item is the most frequent "
        f"one; a tie of a safe and an unsafe answer {counts}."
    )


_SUMMARY = {
    "group": pl.String,
    "n_raters": pl.UInt32,
    **dict.fromkeys(("n_items", "both_safe", "both_unsafe", "gold_only", "crowd_only", "tied"), pl.UInt32),
    "disagreement": pl.Float64,
    "disagreement_low": pl.Float64,
    "disagreement_high": pl.Float64,
    "alpha": pl.Float64,
    "alpha_low": pl.Float64,
    "alpha_high": pl.Float64,
    "reason": pl.String,
}


HEADINGS = ("raters", "items", "both safe", "both unsafe", "only gold", "only crowd", "tied", "alpha")
INTERVAL = "interval"


def gold_summary(comparison: GoldAgainstCrowd) -> str:
    """Return a line on the comparison and its rule."""
    return f"{comparison.question} against {comparison.gold}. {comparison.rule}"


def gold_grids(comparison: GoldAgainstCrowd) -> Iterator[Grid]:
    """Yield tables of the pool, of the groups if any, and of combinations of labels if platinum was compared."""
    headings: tuple[str, ...] = HEADINGS
    display = _display_row
    if comparison.bootstrap:
        headings, display = (*HEADINGS, INTERVAL, "differ", INTERVAL), _display_row_with_intervals
    rows = comparison.summary.rows(named=True)
    yield Grid(("whole pool", *headings), (display(rows[0]),))
    if comparison.by is not None:
        yield Grid((comparison.by, *headings), tuple(map(display, rows[1:])))
    if comparison.platinum is not None:
        yield Grid(("crowd", comparison.gold, comparison.platinum, "items"), tuple(_three_way_rows(comparison)))


def gold_footnotes(comparison: GoldAgainstCrowd) -> Iterator[str]:
    """Yield the notes below the tables."""
    yield "Only gold, only crowd: items that only this label calls unsafe, with their share (%)."
    if comparison.bootstrap:
        yield f"{describe_intervals(comparison)} Differ: share of items on which gold and crowd differ (%)."
    yield from (
        f"{UNKNOWN} {reason}" for reason in comparison.summary["reason"].drop_nulls().unique(maintain_order=True)
    )
    yield from (f"Note: {note}" for note in comparison.notes)


def describe_intervals(comparison: GoldAgainstCrowd) -> str:
    """Return a sentence on the resampling of the intervals."""
    drawn = "items" if comparison.summary["n_raters"][0] is None else "raters and items"
    return (
        f"Intervals: {100 * comparison.confidence:g} %, {comparison.bootstrap:,} replicates of {drawn}, seed "
        f"{comparison.seed}."
    )


def _display_row(row: dict[str, Any]) -> tuple[str, ...]:
    counts = [format_number(row[name]) for name in ("n_raters", "n_items", "both_safe", "both_unsafe")]
    differing = [_display_share(row[name], row["n_items"]) for name in ("gold_only", "crowd_only")]
    alpha = UNKNOWN if row["alpha"] is None else f"{row['alpha']:.3f}"
    return (escape_unprintable(row["group"] or "everybody"), *counts, *differing, format_number(row["tied"]), alpha)


def _display_row_with_intervals(row: dict[str, Any]) -> tuple[str, ...]:
    differ = UNKNOWN if row["disagreement"] is None else f"{100 * row['disagreement']:.1f}"
    ends = [
        UNKNOWN if row[f"{name}_low"] is None else form.format(scale * row[f"{name}_low"], scale * row[f"{name}_high"])
        for name, scale, form in (("alpha", 1, "{:.3f} to {:.3f}"), ("disagreement", 100, "{:.1f} to {:.1f}"))
    ]
    return (*_display_row(row), ends[0], differ, ends[1])


def _three_way_rows(comparison: GoldAgainstCrowd) -> Iterator[tuple[str, ...]]:
    """Yield the combinations of labels that occur in the whole pool."""
    rows = comparison.confusion.rows(named=True)
    total = sum(row["n_items"] for row in rows if row["group"] is None)
    for row in rows:
        if row["group"] is None and row["n_items"]:
            yield row["crowd"], row["gold"], row["platinum"], _display_share(row["n_items"], total)


def _display_share(n: int, total: int) -> str:
    return f"{n:,} ({100 * n / total:.1f})" if total else f"{n:,}"
