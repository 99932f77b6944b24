"""Shares of the answers: of everybody, of groups, and to each question."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.pipeline.page import printable
from dissensus.report.figure import Figure
from dissensus.report.figures.bars import Part, whole_bars
from dissensus.report.groups import Groups, counted, enumerated, groups_of, percent
from dissensus.report.theme import on_ramp, ramp
from dissensus.schema.ratings import Ratings
from dissensus.stats.counts import FloatArray, count_answers

Counts = npt.NDArray[np.integer[Any]]
EVERYBODY = "everybody"
# Answers that a sentence names.
NAMED = 4


def answers(ratings: Ratings, groups: Groups | str | None = None, *, question: str | None = None) -> Figure:
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
    groups = groups_of(ratings, groups) if isinstance(groups, str) else groups
    scale = ratings.scale(question)
    _, rater, answer = ratings.coded(question)
    pool = np.bincount(answer, minlength=len(scale))[None]
    who = counted(ratings.n_raters, "rater") if ratings.has_raters else counted(answer.size, "rating")
    if groups is None:
        return _figure("answers", "Answers", question, scale, [EVERYBODY], pool, [f"{EVERYBODY}\n{who}"])
    codes, names = ratings.group_codes(groups.axis)
    known = codes[rater] >= 0
    counts = count_answers(codes[rater][known], answer[known], n_items=len(names), n_categories=len(scale))
    counts = np.concatenate([pool, counts[[names.index(name) for name in groups.listed]]])
    labels = {name: groups.label(name) for name in groups.drawn}
    return _figure(
        f"answers-{groups.slug}",
        f"Answers by {groups.title}",
        question,
        scale,
        [EVERYBODY, *groups.listed],
        counts,
        [f"{EVERYBODY}\n{who}", *(labels.get(name) for name in groups.listed)],
        groups.notes,
    )


def questions(ratings: Ratings) -> Figure:
    """Draw the shares of answers to each of the questions that were read; those with another scale are left out."""
    scales = [ratings.scale(name) for name in ratings.questions]
    scale = max(scales, key=scales.count)
    names = [name for name, its in zip(ratings.questions, scales, strict=True) if its == scale]
    counts = np.array([np.bincount(ratings.coded(name)[2], minlength=len(scale)) for name in names])
    shares = _shares(counts)
    most, least = int(shares[:, -1].argmax()), int(shares[:, -1].argmin())
    left_out = [name for name in ratings.questions if name not in names]
    return Figure(
        name="questions",
        title="Answers to each question",
        reading=(
            f"{scale[-1]} ranges from {percent(shares[least, -1], 1)} ({_spoken(names[least])}) to "
            f"{percent(shares[most, -1], 1)} ({_spoken(names[most])})."
        ),
        table=_table("question", names, counts, scale),
        draw=lambda width: whole_bars([_spoken(name) for name in names], shares.tolist(), parts(scale), width),
        notes=(f"Not shown, since its answers are others: {enumerated(left_out)}.",) if left_out else (),
    )


def parts(scale: Sequence[str]) -> list[Part]:
    """Return the answers as parts of a bar, from the lightest to the darkest."""
    return [Part(printable(name), color, on_ramp(color)) for name, color in zip(scale, ramp(len(scale)), strict=True)]


def _figure(
    name: str,
    title: str,
    question: str,
    scale: Sequence[str],
    groups: Sequence[str],
    counts: Counts,
    labels: Sequence[str | None],
    notes: tuple[str, ...] = (),
) -> Figure:
    shares = _shares(counts)
    drawn = [place for place, label in enumerate(labels) if label is not None]
    shown = [label for label in labels if label is not None]
    return Figure(
        name=name,
        title=title,
        reading=_reading(question, scale, shares, groups),
        table=_table("group", groups, counts, scale),
        draw=lambda width: whole_bars(shown, shares[drawn].tolist(), parts(scale), width),
        notes=notes,
    )


def _shares(counts: Counts) -> FloatArray:
    return np.asarray(counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))


def _table(kind: str, names: Sequence[str], counts: Counts, scale: Sequence[str]) -> pl.DataFrame:
    shares = _shares(counts)
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
    named = [f"{percent(shares[0, k], 1)} are {scale[k]}" for k in ranked]
    text = f"Of all answers to {_spoken(question)}, {enumerated(named)}"
    if len(groups) < 3:
        return text + "."
    of_groups = shares[1:, -1]
    low, high = int(of_groups.argmin()), int(of_groups.argmax())
    if percent(of_groups[low], 1) == percent(of_groups[high], 1):
        return f"{text}; the share of {scale[-1]} is {percent(of_groups[low], 1)} in every group."
    return (
        f"{text}; {scale[-1]} ranges from {percent(of_groups[low], 1)} ({printable(groups[low + 1])}) to "
        f"{percent(of_groups[high], 1)} ({printable(groups[high + 1])})."
    )


def _spoken(question: str) -> str:
    return question.replace("_", " ")
