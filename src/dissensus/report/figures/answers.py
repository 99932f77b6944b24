"""Shares of the answers: of everybody, of groups, and to each question."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.figures.bars import BarPart, draw_whole_bars
from dissensus.report.groups import EVERYBODY, DisplayedGroups, format_count, format_percent, groups_of, join_with_and
from dissensus.report.layout import RowLabels
from dissensus.report.theme import pick_ramp_colors, pick_text_color
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.counts import count_answers
from dissensus.stats.result import FloatArray

Counts = npt.NDArray[np.integer[Any]]
# Answers that a sentence names.
NAMED = 4


def answers(ratings: Ratings, groups: DisplayedGroups | str | None = None, *, question: str | None = None) -> Figure:
    """Draw the shares of answers of the whole pool and of each group.

    Parameters
    ----------
    ratings
        The ratings.
    groups
        An axis such as "race", or its groups; None for the whole pool alone.
    question
        The question, if more than one was read.
    """
    question = ratings.asked(question)
    scale = ratings.scale(question)
    _, rater, answer = ratings.coded(question)
    counts = np.bincount(answer, minlength=len(scale))[None]
    who = format_count(ratings.n_raters, "rater") if ratings.has_raters else format_count(answer.size, "rating")
    names, labels = [EVERYBODY], [f"{EVERYBODY}\n{who}"]
    of = None if groups is None else groups_of(ratings, groups)
    if of is not None:
        codes, every = ratings.group_codes(of.axis)
        known = codes[rater] >= 0
        by = count_answers(codes[rater][known], answer[known], n_items=len(every), n_categories=len(scale))
        counts = np.concatenate([counts, by[[every.index(name) for name in of.listed]]])
        names += of.listed
        labels += [of.label(name) for name in of.drawn]
    shares = compute_shares(counts)
    drawn = shares[[0, *(1 + place for place, name in enumerate(names[1:]) if of is not None and name in of.drawn)]]
    return Figure(
        name="answers" if of is None else f"answers-{of.slug}",
        axis=None if of is None else of.axis,
        title="Answers" if of is None else f"Answers by {of.title}",
        reading=_reading(question, scale, shares, names),
        table=_table("group", names, counts, scale),
        draw=lambda width: draw_whole_bars(RowLabels(labels, width), drawn.tolist(), list_bar_parts(scale)),
        notes=() if of is None else of.notes,
    )


def questions(ratings: Ratings) -> Figure:
    """Draw the shares of answers to each of the questions that were read; those with another scale are left out."""
    scales = [ratings.scale(name) for name in ratings.questions]
    scale = max(scales, key=scales.count)
    names = [name for name, its in zip(ratings.questions, scales, strict=True) if its == scale]
    counts = np.array([np.bincount(ratings.coded(name)[2], minlength=len(scale)) for name in names])
    shares = compute_shares(counts)
    most, least = int(shares[:, -1].argmax()), int(shares[:, -1].argmin())
    left_out = [name for name in ratings.questions if name not in names]
    return Figure(
        name="questions",
        title="Answers to each question",
        reading=(
            f"{scale[-1]} ranges from {format_percent(shares[least, -1], 1)} ({_format_question(names[least])}) to "
            f"{format_percent(shares[most, -1], 1)} ({_format_question(names[most])})."
        ),
        table=_table("question", names, counts, scale),
        draw=lambda width: draw_whole_bars(
            RowLabels([escape_unprintable(_format_question(name)) for name in names], width),
            shares.tolist(),
            list_bar_parts(scale),
        ),
        notes=(f"Not shown, since its answers are others: {join_with_and(left_out)}.",) if left_out else (),
    )


def list_bar_parts(scale: Sequence[str]) -> list[BarPart]:
    """Return the answers as parts of a bar, from the lightest to the darkest."""
    return [
        BarPart(escape_unprintable(name), color, pick_text_color(color))
        for name, color in zip(scale, pick_ramp_colors(len(scale)), strict=True)
    ]


def compute_shares(counts: Counts) -> FloatArray:
    """Return the counts of each line as shares."""
    return np.asarray(counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))


def _table(kind: str, names: Sequence[str], counts: Counts, scale: Sequence[str]) -> pl.DataFrame:
    shares = compute_shares(counts)
    return pl.DataFrame(
        {
            kind: pl.Series(names, dtype=pl.String),
            "n_ratings": counts.sum(axis=1),
            **{f"share of {answer}": shares[:, k] for k, answer in enumerate(scale)},
        }
    )


def _reading(question: str, scale: Sequence[str], shares: FloatArray, groups: Sequence[str]) -> str:
    """Say what everybody answers, and between which groups the last answer of the scale differs most."""
    ranked = sorted(range(len(scale)), key=lambda k: -shares[0, k])[:NAMED]
    named = [f"{format_percent(shares[0, k], 1)} are {scale[k]}" for k in ranked]
    text = f"Of all answers to {escape_unprintable(question)}, {join_with_and(named)}"
    if len(groups) < 3:
        return text + "."
    of_groups = shares[1:, -1]
    low, high = int(of_groups.argmin()), int(of_groups.argmax())
    if format_percent(of_groups[low], 1) == format_percent(of_groups[high], 1):
        return f"{text}; the share of {scale[-1]} is {format_percent(of_groups[low], 1)} in every group."
    return (
        f"{text}; {scale[-1]} ranges from {format_percent(of_groups[low], 1)} "
        f"({escape_unprintable(groups[low + 1])}) to "
        f"{format_percent(of_groups[high], 1)} ({escape_unprintable(groups[high + 1])})."
    )


def _format_question(question: str) -> str:
    return question.replace("_", " ")
