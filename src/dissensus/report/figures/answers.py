"""Shares of the answers: of all raters, of groups, and to each question."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from dissensus.pipeline.engine.ratings import PartitionedRatings, code_answers, select_pool
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.graphics.bars import BarPart, draw_whole_bars
from dissensus.report.graphics.layout import RowLabels
from dissensus.report.graphics.theme import pick_ramp_colors, pick_text_color
from dissensus.report.groups import EVERYBODY, DisplayedGroups, format_percent, join_with_and, list_groups
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import FloatArray, IntArray
from dissensus.stats.vetting import count_labels

# Most answers that a sentence names.
MOST_NAMED = 4


def answers(
    ratings: Ratings | PartitionedRatings, groups: DisplayedGroups | str | None = None, *, question: str | None = None
) -> Figure:
    """Draw the shares of answers of the whole pool and of each group.

    Parameters
    ----------
    ratings
        The ratings, also in blocks of items.
    groups
        An axis such as "race", or its groups; None for the whole pool alone.
    question
        The question, if more than one was read.
    """
    pool = select_pool(ratings)
    question = pool.resolve_question(question)
    scale, design = pool.scale(question), code_answers(ratings, question)
    counts = design.answer_counts[None]
    size = count_noun(pool.n_raters, "rater") if pool.has_raters else count_noun(design.n_ratings, "rating")
    names, labels = [EVERYBODY], [f"{EVERYBODY}\n{size}"]
    displayed = None if groups is None else list_groups(pool, groups)
    if displayed is not None:
        codes, group_names = pool.group_codes(displayed.axis)
        group_counts = np.zeros((len(group_names), len(scale)), np.int64)
        np.add.at(group_counts, codes[codes >= 0], count_labels(design)[codes >= 0])
        counts = np.concatenate([counts, group_counts[[group_names.index(name) for name in displayed.listed]]])
        names += displayed.listed
        labels += [displayed.label(name) for name in displayed.drawn]
    shares = compute_shares(counts)
    drawn_names = () if displayed is None else displayed.drawn
    drawn = shares[[0, *(index for index, name in enumerate(names) if index and name in drawn_names)]]
    return Figure(
        name="answers" if displayed is None else f"answers-{displayed.slug}",
        axis=None if displayed is None else displayed.axis,
        title="Answers" if displayed is None else f"Answers by {displayed.title}",
        reading=_reading(question, scale, shares, names),
        table=_table("group", names, counts, scale),
        draw=lambda width: draw_whole_bars(RowLabels(labels, width), drawn.tolist(), list_bar_parts(scale)),
        notes=() if displayed is None else displayed.notes,
    )


def questions(ratings: Ratings) -> Figure:
    """Draw the shares of answers to each of the questions that were read; those with another scale are left out."""
    scales = [ratings.scale(name) for name in ratings.questions]
    scale = max(scales, key=scales.count)
    names = [name for name, answer_scale in zip(ratings.questions, scales, strict=True) if answer_scale == scale]
    counts = np.array([np.bincount(ratings.codes(name)[2], minlength=len(scale)) for name in names])
    shares = compute_shares(counts)
    most, least = int(shares[:, -1].argmax()), int(shares[:, -1].argmin())
    left_out = [name for name in ratings.questions if name not in names]
    return Figure(
        name="questions",
        title="Answers to each question",
        reading=(
            f"{scale[-1]} ranges from {format_percent(shares[least, -1], 1)} ({format_question(names[least])}) to "
            f"{format_percent(shares[most, -1], 1)} ({format_question(names[most])})."
        ),
        table=_table("question", names, counts, scale),
        draw=lambda width: draw_whole_bars(
            RowLabels([escape_unprintable(format_question(name)) for name in names], width),
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


def compute_shares(counts: IntArray) -> FloatArray:
    """Return the counts of each row as shares; 0 in a row without counts."""
    return np.asarray(counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))


def _table(kind: str, names: Sequence[str], counts: IntArray, scale: Sequence[str]) -> pl.DataFrame:
    shares = compute_shares(counts)
    return pl.DataFrame(
        {
            kind: pl.Series(names, dtype=pl.String),
            "n_ratings": counts.sum(axis=1),
            **{f"share of {answer}": shares[:, k] for k, answer in enumerate(scale)},
        }
    )


def _reading(question: str, scale: Sequence[str], shares: FloatArray, groups: Sequence[str]) -> str:
    """Return a sentence on the answers of all raters, and on the range of the last answer over groups."""
    ranked = sorted(range(len(scale)), key=lambda k: -shares[0, k])[:MOST_NAMED]
    statements = [f"{format_percent(shares[0, k], 1)} are {scale[k]}" for k in ranked]
    text = f"Of all answers to {escape_unprintable(question)}, {join_with_and(statements)}"
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


def format_question(question: str) -> str:
    """Return the name of a question in words."""
    return question.replace("_", " ")
