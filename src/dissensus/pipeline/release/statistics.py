"""Statistics of a published table, and what its protection changed in them."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.scale import find_scale
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cleaning import CellCleaner, CleaningRules
from dissensus.schema.ratings.headers import strip_headers
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.agreement_interval import alpha_intervals
from dissensus.stats.design import Design
from dissensus.stats.result import IntArray

REPLICATES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStatistic:
    """One statistic before and after the protection of raters."""

    statistic: str  # alpha, share or gap
    axis: str | None
    group: str | None
    before: float | None
    after: float | None


def read_published(table: pl.DataFrame, answers: Collection[str], question: str | None = None) -> tuple[Ratings, str]:
    """Return the checked ratings of a table, of all answers in a known order, and the question for statistics."""
    plain, _ = strip_headers(table)
    published = [name for name, header in zip(plain.columns, table.columns, strict=True) if header in answers]
    ordered = [name for name in published if _has_order(plain[name])]
    ratings = Ratings.from_frame(plain, questions=ordered or published or "all")
    if question is not None and question not in ratings.questions:
        raise InvalidInput(
            f"question: {format_value(question)} is not a published question. They are "
            f"{format_list(ratings.questions, 60)}."
        )
    return ratings, ratings.resolve_question(question)


def _has_order(answers: pl.Series) -> bool:
    """Return whether the order of answers is known, so that ratings can be read with them."""
    clean = CellCleaner(CleaningRules()).clean_answers(answers, known_scale(answers.name))
    return find_scale(clean) is not None


def estimate_alpha(ratings: Ratings, question: str) -> float | None:
    """Return Krippendorff's alpha, None if it is undefined."""
    item, _, answer = ratings.codes(question)
    n_answers = len(ratings.scale(question))
    counts = np.bincount(item * n_answers + answer, minlength=ratings.n_items * n_answers)
    try:
        return krippendorff_alpha(counts.reshape(-1, n_answers)).estimate
    except UndefinedEstimate:
        return None


def estimate_alpha_interval(ratings: Ratings, question: str) -> tuple[float, float] | None:
    """Return the two-way bootstrap interval of alpha, None if it is undefined."""
    item, rater, answer = ratings.codes(question)
    design = Design(item, rater, answer, ratings.n_items, ratings.n_raters, len(ratings.scale(question)))
    seeds = np.random.SeedSequence(0).spawn(REPLICATES)
    low, high = alpha_intervals(design, np.zeros(ratings.n_raters, np.int32), seeds)
    return None if np.isnan(low[0]) else (float(low[0]), float(high[0]))


def compare_statistics(before: Ratings, after: Ratings, question: str, axes: tuple[str, ...]) -> list[ReleaseStatistic]:
    """Return alpha, the share of the last answer in each group, and the gap between groups, before and after."""
    alpha = (estimate_alpha(before, question), estimate_alpha(after, question))
    rows = [ReleaseStatistic(statistic="alpha", axis=None, group=None, before=alpha[0], after=alpha[1])]
    for axis in axes:
        shares = [_shares(ratings, question, axis) for ratings in (before, after)]
        for group in dict.fromkeys((*shares[0], *shares[1])):
            values = [by_group.get(group) for by_group in shares]
            rows.append(ReleaseStatistic(statistic="share", axis=axis, group=group, before=values[0], after=values[1]))
        gaps = [max(by_group.values()) - min(by_group.values()) if by_group else None for by_group in shares]
        rows.append(ReleaseStatistic(statistic="gap", axis=axis, group=None, before=gaps[0], after=gaps[1]))
    return rows


def _shares(ratings: Ratings, question: str, axis: str) -> dict[str, float]:
    """Return the share of the last answer, such as Yes, in each group."""
    if axis not in ratings.axes:
        return {}
    groups, labels = ratings.group_codes(axis)
    _, rater, answer = ratings.codes(question)
    last = len(ratings.scale(question)) - 1
    return {
        label: float((answer[groups[rater] == code] == last).mean())
        for code, label in enumerate(labels)
        if (groups[rater] == code).any()
    }


def number_cells(ratings: Ratings, raters: pl.DataFrame, quasi_identifiers: tuple[str, ...]) -> IntArray:
    """Return the number of the cell of each rater, from a table of raters with what is counted towards k."""
    if not quasi_identifiers:
        return np.zeros(ratings.n_raters, np.int64)
    ordered = ratings.raters.select(names.RATER_ID).join(raters, on=names.RATER_ID, how="left", maintain_order="left")
    return ordered.select(pl.struct(quasi_identifiers).rank("dense")).to_series().to_numpy().astype(np.int64)
